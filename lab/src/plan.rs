//! The plan of a run: which contender measures which case, and which cases are left out and why.

use crate::contender::{Contender, Ready};
use crate::error::LabError;
use crate::options::RunOptions;
use crate::progress::Progress;
use crate::report::LeftOut;
use crate::scenario::{ScenarioInfo, group};

/// Contenders and cases of a run, before it starts.
#[derive(Debug)]
pub(crate) struct Plan {
    /// Those that can run here, in the order of the report.
    pub(crate) contenders: Vec<Ready>,
    /// The pairs to measure, in the order of the report: a case, and the index of a contender.
    pub(crate) pairs: Vec<(String, usize)>,
    /// The cases that are not measured.
    pub(crate) left_out: Vec<LeftOut>,
}

impl Plan {
    /// Makes the contenders ready that were asked for.
    ///
    /// # Errors
    /// [`LabError`]: a name that does not exist, a contender that was asked for by its own name and is not
    /// available, or nothing to run.
    pub(crate) fn new(
        scenario: &ScenarioInfo,
        options: &RunOptions,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Self, LabError> {
        let cases = chosen_cases(scenario, &options.cases)?;
        let (contenders, mut left_out) = ready_contenders(scenario, options, &cases, progress)?;
        left_out.extend(contenders.iter().flat_map(|ready| refused(ready, &cases)));
        let pairs: Vec<_> = cases
            .iter()
            .flat_map(|case| {
                let able = contenders.iter().enumerate();
                let able = able.filter(|(_, contender)| (contender.refusal)(case).is_none());
                able.map(|(index, _)| (case.clone(), index))
            })
            .collect();
        if pairs.is_empty() {
            return Err(LabError::NothingToRun { left_out });
        }
        Ok(Self {
            contenders,
            pairs,
            left_out,
        })
    }
}

/// Listed cases in the order of the report, then others as they were asked for.
pub(crate) fn chosen_cases(
    scenario: &ScenarioInfo,
    asked: &[String],
) -> Result<Vec<String>, LabError> {
    let listed = scenario.cases.iter().map(|case| case.name);
    let means = |asked: &str, case: &str| asked == case || asked == group(case);
    let is_listed = |asked: &str| listed.clone().any(|case| means(asked, case));
    let others = || asked.iter().filter(|asked| !is_listed(asked));
    if let Some(unknown) = others().find(|name| !(scenario.knows)(name)) {
        return Err(scenario.unknown_case(unknown));
    }
    let is_chosen = |case: &&str| asked.is_empty() || asked.iter().any(|asked| means(asked, case));
    let chosen = listed.clone().filter(is_chosen).map(str::to_owned);
    Ok(chosen.chain(others().cloned()).collect())
}

/// The contenders that were asked for, or all, in the order of the report.
pub(crate) fn chosen_contenders<'a>(
    scenario: &'a ScenarioInfo,
    asked: &'a [String],
) -> Result<impl Iterator<Item = &'static Contender> + 'a, LabError> {
    let known = scenario.contender_names();
    let exists = |asked: &&String| known.iter().any(|name| scenario.means(asked, name));
    if let Some(unknown) = asked.iter().find(|asked| !exists(asked)) {
        let groups = scenario.groups.iter().map(|(name, _)| *name);
        return Err(LabError::unknown(
            "contender",
            unknown,
            known.into_iter().chain(groups),
        ));
    }
    let all = scenario.contenders.iter().copied();
    Ok(all.filter(|candidate| {
        asked.is_empty()
            || asked
                .iter()
                .any(|asked| scenario.means(asked, candidate.name))
    }))
}

/// Those of them that are available here, and those that are not.
fn ready_contenders(
    scenario: &ScenarioInfo,
    options: &RunOptions,
    cases: &[String],
    progress: &mut dyn FnMut(Progress),
) -> Result<(Vec<Ready>, Vec<LeftOut>), LabError> {
    let asked = &options.contenders;
    let own = options.program()?;
    let (mut ready, mut left_out) = (Vec::new(), Vec::new());
    for candidate in chosen_contenders(scenario, asked)? {
        let contender = candidate.name.to_owned();
        if options.stop.is_set() {
            return Err(LabError::Stopped);
        }
        progress(Progress::Preparing {
            contender: contender.clone(),
        });
        match candidate.prepare(scenario.name, &own) {
            Ok(prepared) => ready.push(prepared),
            Err(reason) if asked.contains(&contender) => {
                return Err(LabError::Unavailable { contender, reason });
            }
            Err(reason) => {
                left_out.push(LeftOut {
                    contender: contender.clone(),
                    cases: cases.to_vec(),
                    reason: reason.clone(),
                    has_failed: false,
                });
                progress(Progress::Skipped { contender, reason });
            }
        }
    }
    Ok((ready, left_out))
}

/// The cases that a contender does not offer, by reason.
fn refused(contender: &Ready, cases: &[String]) -> Vec<LeftOut> {
    let mut refused: Vec<LeftOut> = Vec::new();
    for case in cases {
        let Some(reason) = (contender.refusal)(case) else {
            continue;
        };
        match refused.iter_mut().find(|other| other.reason == reason) {
            Some(other) => other.cases.push(case.clone()),
            None => refused.push(LeftOut {
                contender: contender.name.to_owned(),
                cases: vec![case.clone()],
                reason: reason.to_owned(),
                has_failed: false,
            }),
        }
    }
    refused
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    fn owned(names: &[&str]) -> Vec<String> {
        names.iter().map(|&name| name.to_owned()).collect()
    }

    #[test]
    fn names_that_do_not_exist_are_answered_with_those_that_do() {
        let rpc = ScenarioInfo::named("rpc").unwrap();
        let error = chosen_cases(rpc, &owned(&["echo-5", "threeway"])).unwrap_err();
        let text = error.to_string();
        assert_eq!(
            text,
            "expected a case of twoway, twoway-blocking, ami, ami-1000, oneway, batch, \
             echo-N (N doubles, returned: 1 to 1,000,000), \
             ack-bytes-N (N bytes, acknowledged: 1 to 1,000,000), \
             ack-nested-N (N records of 4 records each, acknowledged: 1 to 1,024), \
             each also with -unix, -poll, -unix-poll, got \"threeway\""
        );
        let options = RunOptions {
            contenders: owned(&["flow"]),
            ..RunOptions::default()
        };
        let error = Plan::new(rpc, &options, &mut |_| ()).unwrap_err();
        assert!(error.to_string().contains("floor, floe"), "{error}");
        assert_eq!(
            ScenarioInfo::named("cpr").unwrap_err().to_string(),
            "expected a scenario of rpc, codec, events, latency, rtt, pubsub-rtt, scale, qos, durable, slow, gateway, got \"cpr\": did you mean rpc?"
        );
    }

    #[test]
    fn an_unknown_case_is_answered_with_kinds_and_limits_and_not_with_all_cases() {
        let said = |scenario: &str, name: &str| {
            let scenario = ScenarioInfo::named(scenario).unwrap();
            chosen_cases(scenario, &owned(&[name]))
                .unwrap_err()
                .to_string()
        };
        assert_eq!(
            said("events", "nonsense"),
            "expected a case of latency-1-N (one publisher and N subscribers, up to 30), \
             load-P-S (P publishers and S subscribers, up to 30), \
             twoway-P-S (P publishers and S subscribers, up to 30), \
             batched-P-S (P publishers and S subscribers, up to 30), \
             batched100-P-S (P publishers and S subscribers, up to 30), got \"nonsense\""
        );
        let text = said("codec", "txt/encode");
        assert!(text.contains(" of bytes-1000, "), "{text}");
        let end = "bibliography, each also with /encode, /decode, got \"txt/encode\": \
                   did you mean text/encode?";
        assert!(text.ends_with(end), "{text}");
        let text = said("rpc", "echo-2000000");
        assert!(text.ends_with("did you mean echo-1000000?"), "{text}");
        let text = said("slow", "nonsense");
        assert_eq!(text.matches("bibliography-again").count(), 1, "{text}");
    }

    #[test]
    fn a_name_before_a_slash_stands_for_all_cases_that_begin_so() {
        let codec = ScenarioInfo::named("codec").unwrap();
        let chosen = |names: &[&str]| chosen_cases(codec, &owned(names)).unwrap();
        assert_eq!(chosen(&["text"]), ["text/encode", "text/decode"]);
        assert_eq!(chosen(&["nested/decode"]), ["nested/decode"]);
        assert_eq!(chosen(&[]).len(), codec.cases.len());
    }

    #[test]
    fn a_case_of_a_family_can_have_any_number() {
        let rpc = ScenarioInfo::named("rpc").unwrap();
        let chosen = chosen_cases(rpc, &owned(&["echo-77-unix", "echo-1000", "twoway"])).unwrap();
        assert_eq!(chosen, ["twoway", "echo-1000", "echo-77-unix"]);
    }

    #[test]
    fn what_a_contender_does_not_offer_is_left_out_with_the_reason() {
        let codec = ScenarioInfo::named("codec").unwrap();
        let options = RunOptions {
            contenders: owned(&["floe", "floe-view"]),
            cases: owned(&["text", "nested"]),
            program: Some(PathBuf::from("floe")),
            ..RunOptions::default()
        };
        let plan = Plan::new(codec, &options, &mut |_| ()).unwrap();
        assert_eq!(plan.pairs.len(), 6);
        let [left_out] = plan.left_out.as_slice() else {
            panic!("expected one reason, got {:?}", plan.left_out);
        };
        assert_eq!(left_out.contender, "floe-view");
        assert_eq!(left_out.cases, ["nested/encode", "text/encode"]);
        let alone = RunOptions {
            contenders: owned(&["floe-view"]),
            cases: owned(&["text/encode"]),
            ..options
        };
        let error = Plan::new(codec, &alone, &mut |_| ())
            .unwrap_err()
            .to_string();
        assert!(
            error.ends_with("not offered by floe-view: text/encode: a view is only decoded"),
            "{error}"
        );
    }
}
