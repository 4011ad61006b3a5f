//! Reports: the results of a run, with its environment.
//!
//! - `environment.rs` beside this folder: the machine
//! - `case_result.rs`: what a contender needed for a case
//! - `case_ratio.rs`: how two contenders compare in a case
//! - `json.rs`, `table.rs`: the two forms
//! - `read.rs`: reports that were written before

mod case_ratio;
mod case_result;
mod json;
mod read;
mod table;

pub(crate) use case_result::CarriedBytes;
pub(crate) use read::Object;
pub(crate) use table::aligned;

use std::fmt;

use crate::contender::Ready;
use crate::error::LabError;
use crate::sample::Sample;
use crate::scenario::{ScenarioInfo, remarks};
use crate::slow_line::RELAY_NOTE;

pub use crate::environment::Environment;
pub use case_ratio::{CaseRatio, Quotients};
pub use case_result::{CaseResult, ServiceCost};

/// The results of a run.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Report {
    /// The scenario.
    pub scenario: String,
    /// Where and with what it was measured.
    pub environment: Environment,
    /// The figures of each contender for each case.
    pub results: Vec<CaseResult>,
    /// How contenders compare.
    pub ratios: Vec<CaseRatio>,
    /// The cases that were not measured, and why.
    pub left_out: Vec<LeftOut>,
    /// Notes to read before the figures.
    pub notes: Vec<String>,
}

/// Cases of which there are no figures of a contender.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct LeftOut {
    /// The contender.
    pub contender: String,
    /// The cases.
    pub cases: Vec<String>,
    /// Why it does not offer them, cannot run on this machine, or in which round it failed and how.
    pub reason: String,
    /// True if it began to measure, and failed.
    pub has_failed: bool,
}

impl fmt::Display for LeftOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (contender, cases) = (&self.contender, self.cases.join(", "));
        if !self.has_failed {
            return write!(f, "not offered by {contender}: {cases}: {}", self.reason);
        }
        // What a process has said may be a stack trace.
        let reason: Vec<_> = self.reason.lines().map(str::trim).collect();
        write!(
            f,
            "left out {contender}: {cases}: failed {}",
            reason.join("; ")
        )
    }
}

/// The rounds that a contender has measured in a case.
#[derive(Debug)]
pub(crate) struct Measured<'a> {
    pub(crate) case: &'a str,
    pub(crate) contender: &'a Ready,
    pub(crate) rounds: Vec<Sample>,
    /// It has failed, and does not measure any more.
    pub(crate) is_out: bool,
}

impl Measured<'_> {
    /// Returns true if it is still to measure in this round.
    pub(crate) fn lacks(&self, round: usize) -> bool {
        !self.is_out && self.rounds.len() <= round
    }
}

impl Report {
    pub(crate) fn new(
        scenario: &ScenarioInfo,
        environment: Environment,
        measured: &[Measured<'_>],
        left_out: Vec<LeftOut>,
    ) -> Self {
        let results: Vec<_> = measured
            .iter()
            .filter_map(|measured| CaseResult::new(measured, (scenario.unit)(measured.case)))
            .collect();
        let ratios = cases_of(&results).into_iter().flat_map(|case| {
            let pairs = scenario.ratios.iter();
            pairs.filter_map(|(of, to)| CaseRatio::new(case, of, to, &results))
        });
        let mut notes = environment.disturbed();
        notes.extend(two_speeds(&results));
        notes.extend(relayed(measured));
        let measured = results.iter();
        let measured = measured.map(|result| (result.case.as_str(), result.contender.as_str()));
        notes.extend(remarks(scenario.name, measured));
        Self {
            scenario: scenario.name.to_owned(),
            environment,
            ratios: ratios.collect(),
            left_out,
            notes,
            results,
        }
    }

    /// The error of a run that ended before its last round, with its results.
    pub(crate) fn unfinished(mut self, error: LabError) -> LabError {
        if self.results.is_empty() {
            return error;
        }
        self.notes.push(format!(
            "the run ended early, some figures are of fewer rounds than others: {error}"
        ));
        LabError::Unfinished {
            report: Box::new(self),
            source: Box::new(error),
        }
    }
}

/// A note that names the cases whose lines were relays.
fn relayed(measured: &[Measured<'_>]) -> Option<String> {
    let is_relayed = |measured: &&Measured<'_>| {
        let mut carried = measured.rounds.iter().filter_map(|round| round.carried);
        carried.any(|carried| carried.is_relayed)
    };
    let mut cases: Vec<_> = measured
        .iter()
        .filter(is_relayed)
        .map(|one| one.case)
        .collect();
    cases.dedup();
    let cases = cases.join(", ");
    (!cases.is_empty()).then(|| format!("{cases}: {RELAY_NOTE}"))
}

/// The cases in the order of the results, each once.
fn cases_of(results: &[CaseResult]) -> Vec<&str> {
    let mut cases: Vec<_> = results.iter().map(|result| result.case.as_str()).collect();
    cases.dedup();
    cases
}

/// A note for each case in which the rounds of a contender differ so much that the machine must have
/// had two speeds, as virtual machines have.
fn two_speeds(results: &[CaseResult]) -> Vec<String> {
    let note = |case: &str| {
        let of_case = results.iter().filter(|result| result.case == case);
        let spreads: Vec<_> = of_case.filter_map(CaseResult::wide_spread).collect();
        (!spreads.is_empty()).then(|| {
            let spreads = spreads.join(", ");
            format!("{case}: two speeds seen: compare the ratios, not the times ({spreads})")
        })
    };
    cases_of(results).into_iter().filter_map(note).collect()
}

/// With so many digits after the point, and with more if too few would be left to compare.
pub(crate) fn duration(microseconds: f64, digits: usize) -> String {
    let more = match microseconds {
        ..0.1 => 4,
        ..1.0 => 3,
        ..10.0 => 2,
        _ => 0,
    };
    format!("{microseconds:.0$}", digits.max(more))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::placement::Placement;
    use crate::scenario::Unit;
    use crate::statistics::interval_of_median;

    /// A report of two contenders and two rounds.
    pub(crate) fn example() -> Report {
        let result = |contender: &str, rounds: [f64; 2]| CaseResult {
            contender: contender.to_owned(),
            case: "twoway".to_owned(),
            unit: "us",
            count: 1000,
            encoded_len: None,
            mean: f64::midpoint(rounds[0], rounds[1]),
            p50: rounds[0],
            p90: rounds[1],
            p99: 2.0 * rounds[1],
            p999: 3.0 * rounds[1],
            min: rounds[0] / 2.0,
            max: 4.0 * rounds[1],
            deviation: 1.5,
            percentiles: vec![(50.0, rounds[0]), (100.0, 4.0 * rounds[1])],
            interval: None,
            rounds: rounds.to_vec(),
            mean_rounds: rounds.map(|median| 2.0 * median).to_vec(),
            p99_rounds: vec![3.0 * rounds[0], 2.0 * rounds[1]],
            service: None,
            carried: None,
        };
        let results = vec![result("floor", [10.0, 20.0]), result("floe", [12.0, 23.0])];
        Report {
            scenario: "rpc".to_owned(),
            environment: Environment::of_this_machine(&[], Placement::Free),
            ratios: vec![CaseRatio::new("twoway", "floe", "floor", &results).unwrap()],
            left_out: vec![LeftOut {
                contender: "ice".to_owned(),
                cases: vec!["twoway-poll".to_owned()],
                reason: "Ice cannot poll".to_owned(),
                has_failed: false,
            }],
            notes: two_speeds(&results),
            results,
        }
    }

    /// A report of one case with these rounds of these contenders.
    pub(crate) fn of_rounds(scenario: &str, unit: &str, contenders: &[(&str, &[f64])]) -> Report {
        let mut report = example();
        report.scenario = scenario.to_owned();
        let of_contender = |(name, rounds): &(&str, &[f64])| CaseResult {
            contender: (*name).to_owned(),
            unit: Unit::named(unit).unwrap().name(),
            rounds: rounds.to_vec(),
            mean_rounds: rounds.to_vec(),
            p99_rounds: rounds.to_vec(),
            interval: interval_of_median(rounds),
            ..report.results[0].clone()
        };
        let results: Vec<_> = contenders.iter().map(of_contender).collect();
        report.ratios = Vec::new();
        report.results = results;
        report
    }

    /// A report of a contender beside Floe, with their ratio.
    pub(crate) fn with_ratio(name: &str, of: &[f64], to: &[f64]) -> Report {
        let mut report = of_rounds("rpc", "us", &[("floe", to), (name, of)]);
        let ratio = CaseRatio::new("twoway", name, "floe", &report.results);
        report.ratios = vec![ratio.unwrap()];
        report
    }

    /// A report whose ratio is that of Floe to the contender.
    pub(crate) fn with_turned_ratio(name: &str, of: &[f64], to: &[f64]) -> Report {
        let mut report = with_ratio(name, of, to);
        let ratio = CaseRatio::new("twoway", "floe", name, &report.results);
        report.ratios = vec![ratio.unwrap()];
        report
    }

    #[test]
    fn two_speeds_are_noted_once_for_a_case() {
        let [note] = &example().notes[..] else {
            panic!("expected one note, got {:?}", example().notes);
        };
        assert_eq!(
            note,
            "twoway: two speeds seen: compare the ratios, not the times (floor 11.0 to 19.0 us, \
             floe 13.1 to 21.9 us)"
        );
    }

    #[test]
    fn short_durations_keep_digits_to_compare() {
        let shown = [12.345, 1.234_5, 0.123_45, 0.012_345].map(|time| duration(time, 1));
        assert_eq!(shown, ["12.3", "1.23", "0.123", "0.0123"]);
    }

    #[test]
    fn one_odd_round_of_many_is_no_second_speed() {
        let mut result = example().results.remove(0);
        result.rounds = vec![10.0; 15];
        result.rounds[7] = 25.0;
        assert_eq!(two_speeds(&[result.clone()]), [""; 0]);
        result.rounds[8] = 25.0;
        assert_eq!(two_speeds(&[result]).len(), 1);
    }
}
