//! The rounds that a run has played so far, or has taken from its journal, for its report.

use std::path::Path;

use serde_json::Value;

use crate::encodings::Encodings;
use crate::error::LabError;
use crate::journal::{Entry, Journal};
use crate::plan::Plan;
use crate::progress::Progress;
use crate::report::{Environment, LeftOut, Measured, Report};
use crate::round::{Extent, RoundError};
use crate::scenario::ScenarioInfo;

/// The rounds that were played.
#[derive(Debug)]
pub(crate) struct Played<'a> {
    environment: Environment,
    pub(crate) measured: Vec<Measured<'a>>,
    left_out: Vec<LeftOut>,
    pub(crate) encodings: Encodings,
}

impl<'a> Played<'a> {
    pub(crate) fn new(plan: &'a Plan, environment: Environment) -> Self {
        let pairs = plan.pairs.iter();
        let measured = pairs.map(|(case, index)| Measured {
            case,
            contender: &plan.contenders[*index],
            rounds: Vec::new(),
            is_out: false,
        });
        Self {
            environment,
            measured: measured.collect(),
            left_out: plan.left_out.clone(),
            encodings: Encodings::default(),
        }
    }

    /// Takes over what the journal has of the run, and gives the journal.
    pub(crate) fn resume(&mut self, path: &Path, identity: &Value) -> Result<Journal, LabError> {
        let (journal, recorded) = Journal::open(path, identity, &self.environment)?;
        if let Some(recorded) = recorded {
            self.environment = recorded.environment;
            recorded
                .entries
                .into_iter()
                .for_each(|entry| self.add(entry));
        }
        Ok(journal)
    }

    /// Returns true if somebody has not played this round.
    pub(crate) fn lacks(&self, round: usize) -> bool {
        self.measured.iter().any(|pair| pair.lacks(round))
    }

    pub(crate) fn add(&mut self, entry: Entry) {
        match entry {
            Entry::Measured {
                case,
                contender,
                sample,
            } => {
                let mut pairs = self.measured.iter_mut();
                let is_meant = |pair: &&mut Measured<'_>| {
                    pair.case == case && pair.contender.name == contender && !pair.is_out
                };
                if let Some(pair) = pairs.find(is_meant) {
                    pair.rounds.push(sample);
                }
            }
            Entry::LeftOut(left_out) => {
                for pair in &mut self.measured {
                    let is_of_case = left_out.cases.iter().any(|case| case == pair.case);
                    if pair.contender.name == left_out.contender && is_of_case {
                        pair.is_out = true;
                        pair.rounds.clear();
                    }
                }
                self.left_out.push(left_out);
            }
            Entry::RoundEnded(disturbance) => self.environment.disturbances.push(disturbance),
        }
    }

    /// Of a contender that has failed: the cases that it is left out of, which are its case or all in which it still is.
    /// What it has measured of them goes too, since figures of fewer rounds would stand beside those of all.
    pub(crate) fn failed(&self, index: usize, place: &str, failure: &RoundError) -> LeftOut {
        let Measured {
            case, contender, ..
        } = self.measured[index];
        let is_meant = |pair: &&Measured<'_>| {
            let is_case = failure.extent == Extent::AllCases || pair.case == case;
            pair.contender.name == contender.name && is_case && !pair.is_out
        };
        let cases = self.measured.iter().filter(is_meant);
        LeftOut {
            contender: contender.name.to_owned(),
            cases: cases.map(|pair| pair.case.to_owned()).collect(),
            reason: format!("in {place}, {}", failure.reason()),
            has_failed: true,
        }
    }

    pub(crate) fn measuring(&self, index: usize, rounds: usize) -> Progress {
        let measured = &self.measured;
        Progress::Measuring {
            case: measured[index].case.to_owned(),
            contender: measured[index].contender.name.to_owned(),
            done: measured.iter().map(|pair| pair.rounds.len()).sum(),
            total: rounds * measured.iter().filter(|pair| !pair.is_out).count(),
        }
    }

    pub(crate) fn into_report(self, scenario: &ScenarioInfo) -> Report {
        Report::new(scenario, self.environment, &self.measured, self.left_out)
    }
}
