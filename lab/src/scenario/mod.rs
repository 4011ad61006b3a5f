//! Scenarios: the questions that the lab can answer.

mod codec;
mod rpc;

use crate::contender::Contender;
use crate::error::LabError;

/// All scenarios, as `floe lab list` shows them.
pub fn scenarios() -> &'static [ScenarioInfo] {
    &SCENARIOS
}

static SCENARIOS: [ScenarioInfo; 2] = [rpc::RPC, codec::CODEC];

/// A question, and who is asked.
#[derive(Debug, Clone, Copy)]
pub struct ScenarioInfo {
    /// What it is called on the command line.
    pub name: &'static str,
    /// What it measures, in a line.
    pub summary: &'static str,
    /// In the order of the report.
    pub(crate) contenders: &'static [&'static Contender],
    /// What a contender starts to measure.
    pub(crate) processes: Processes,
    /// Cases, in the order of the report.
    pub cases: &'static [CaseInfo],
    /// Pairs of contenders whose quotient the report gives: the first over the second.
    pub ratios: &'static [(&'static str, &'static str)],
}

/// The processes of a contender in a round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Processes {
    /// A server, and a client that calls it.
    ServerAndClient,
    /// One that works alone.
    One,
}

/// One thing that a scenario measures.
#[derive(Debug, Clone, Copy)]
pub struct CaseInfo {
    /// What it is called on the command line. What stands before a slash names all cases that begin
    /// so.
    pub name: &'static str,
    /// What it measures, in a line.
    pub summary: &'static str,
}

/// What stands before the slash in the name of a case: the name of all cases that begin so.
pub(crate) fn group(case: &str) -> &str {
    case.split_once('/').map_or(case, |(group, _)| group)
}

impl ScenarioInfo {
    /// Contenders by name, in the order of the report.
    pub fn contender_names(&self) -> Vec<&'static str> {
        let names = self.contenders.iter().map(|contender| contender.name);
        names.collect()
    }

    /// Finds the contender of this name.
    ///
    /// # Errors
    /// [`LabError::Unknown`].
    pub(crate) fn contender(&self, name: &str) -> Result<&'static Contender, LabError> {
        let found = self.contenders.iter().find(|other| other.name == name);
        found.copied().ok_or_else(|| LabError::Unknown {
            kind: "contender",
            name: name.to_owned(),
            known: self
                .contender_names()
                .into_iter()
                .map(str::to_owned)
                .collect(),
        })
    }

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

    #[test]
    fn scenarios_have_contenders_of_different_names_that_can_do_a_case() {
        for scenario in scenarios() {
            let mut names = scenario.contender_names();
            names.sort_unstable();
            names.dedup();
            assert_eq!(names.len(), scenario.contenders.len());
            for contender in scenario.contenders {
                let cases = scenario.cases.iter();
                let can = cases.filter(|case| contender.cases.contains(&case.name));
                assert_ne!(can.count(), 0, "{} in {}", contender.name, scenario.name);
            }
        }
    }

    #[test]
    fn contenders_name_only_cases_that_exist() {
        for scenario in scenarios() {
            for contender in scenario.contenders {
                for name in contender.cases {
                    let exists = scenario.cases.iter().any(|case| case.name == *name);
                    assert!(exists, "{name} of {}", contender.name);
                }
            }
        }
    }

    #[test]
    fn ratios_are_between_contenders_of_the_scenario() {
        for scenario in scenarios() {
            let names = scenario.contender_names();
            for (of, to) in scenario.ratios {
                assert!(names.contains(of) && names.contains(to), "{of}/{to}");
            }
        }
    }
}
