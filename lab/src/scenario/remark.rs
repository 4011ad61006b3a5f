//! Remarks on single figures, for readers who compare them: some contenders lack a feature, and measure the nearest to it.

/// A remark on a case, which a report has as a note if one of the contenders has measured it.
struct Remark {
    scenarios: &'static [&'static str],
    /// How the names of the cases begin.
    case: &'static str,
    contenders: &'static [&'static str],
    text: &'static str,
}

const REMARKS: [Remark; 2] = [
    Remark {
        scenarios: &["rpc", "latency"],
        case: "oneway",
        contenders: &["tonic", "grpc-cpp"],
        text: "gRPC has no call without a reply: its messages are parts of one call, name no object and no operation, and are not \
               dispatched one by one; the server counts them, and its reply confirms the count",
    },
    Remark {
        scenarios: &["qos"],
        case: "batched-throughput",
        contenders: &["floe", "icestorm"],
        text: "its service collects events of a batch subscriber for up to 10 ms, as it is set here: the last of 10,000 events \
               waits that long, which is up to 1 us of the figure of each",
    },
];

/// The remarks of a scenario on these results, each a case and a contender.
pub(crate) fn remarks<'a>(
    scenario: &str,
    results: impl Iterator<Item = (&'a str, &'a str)> + Clone,
) -> Vec<String> {
    let of_scenario = REMARKS
        .iter()
        .filter(|remark| remark.scenarios.contains(&scenario));
    let notes = of_scenario.filter_map(|remark| {
        let is_meant = |case: &str, contender: &str| {
            case.starts_with(remark.case) && remark.contenders.contains(&contender)
        };
        let mut names: Vec<_> = results
            .clone()
            .filter(|(case, contender)| is_meant(case, contender))
            .map(|(_, contender)| contender)
            .collect();
        names.sort_unstable();
        names.dedup();
        let names = names.join(", ");
        (!names.is_empty()).then(|| format!("{}, {names}: {}", remark.case, remark.text))
    });
    notes.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::ScenarioInfo;

    #[test]
    fn a_remark_names_those_that_have_measured_its_case() {
        let results = [
            ("oneway", "floe"),
            ("oneway", "tonic"),
            ("oneway-unix", "tonic"),
            ("twoway", "grpc-cpp"),
        ];
        let notes = remarks("rpc", results.into_iter());
        let [note] = notes.as_slice() else {
            panic!("expected one note, got {notes:?}");
        };
        assert!(
            note.starts_with("oneway, tonic: gRPC has no call without a reply"),
            "{note}"
        );
        assert!(remarks("codec", results.into_iter()).is_empty());
    }

    #[test]
    fn remarks_are_on_what_there_is() {
        for remark in &REMARKS {
            for name in remark.scenarios {
                let scenario = ScenarioInfo::named(name).unwrap();
                let mut cases = scenario.cases.iter();
                assert!(cases.any(|case| case.name.starts_with(remark.case)));
                for contender in remark.contenders {
                    scenario.contender(contender).unwrap();
                }
            }
        }
    }
}
