//! Scenarios: the questions that the lab can answer.

mod rpc;

use crate::error::LabError;

/// All scenarios, as `floe lab list` shows them.
pub fn scenarios() -> &'static [ScenarioInfo] {
    &SCENARIOS
}

static SCENARIOS: [ScenarioInfo; 1] = [rpc::RPC];

/// A question, and who is asked.
#[derive(Debug, Clone, Copy)]
pub struct ScenarioInfo {
    /// What it is called on the command line.
    pub name: &'static str,
    /// What it measures, in a line.
    pub summary: &'static str,
    /// Contenders by name, in the order of the report.
    pub contenders: &'static [&'static str],
    /// Cases, in the order of the report.
    pub cases: &'static [CaseInfo],
    /// Pairs of contenders whose quotient the report gives: the first over the second.
    pub ratios: &'static [(&'static str, &'static str)],
}

/// One thing that a scenario measures.
#[derive(Debug, Clone, Copy)]
pub struct CaseInfo {
    /// What it is called on the command line.
    pub name: &'static str,
    /// What it measures, in a line.
    pub summary: &'static str,
}

impl ScenarioInfo {
    /// Finds the scenario of this name.
    pub(crate) fn named(name: &str) -> Result<&'static Self, LabError> {
        let found = SCENARIOS.iter().position(|scenario| scenario.name == name);
        let names = || {
            SCENARIOS
                .iter()
                .map(|scenario| scenario.name.to_owned())
                .collect()
        };
        found
            .and_then(|index| scenarios().get(index))
            .ok_or_else(|| LabError::Unknown {
                kind: "scenario",
                name: name.to_owned(),
                known: names(),
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contender::Contender;

    #[test]
    fn scenarios_name_contenders_that_exist_and_can_do_a_case() {
        for scenario in scenarios() {
            for name in scenario.contenders {
                let contender = Contender::named(name).unwrap();
                let cases = scenario.cases.iter();
                let can = cases.filter(|case| contender.cases.contains(&case.name));
                assert_ne!(can.count(), 0, "{name} in {}", scenario.name);
            }
        }
    }

    #[test]
    fn ratios_are_between_contenders_of_the_scenario() {
        for scenario in scenarios() {
            for (of, to) in scenario.ratios {
                assert!(scenario.contenders.contains(of) && scenario.contenders.contains(to));
            }
        }
    }
}
