//! Reports: the results of a run, with its environment.
//!
//! - `environment.rs` beside this folder: the machine
//! - `json.rs`, `table.rs`: the two forms
//! - `read.rs`: reports that were written before

mod json;
mod read;
mod table;

pub(crate) use read::Object;
pub(crate) use table::aligned;

use std::fmt;

use crate::contender::Ready;
use crate::error::LabError;
use crate::sample::{Carried, Sample};
use crate::scenario::{ScenarioInfo, Unit, remarks};
use crate::slow_line::RELAY_NOTE;
use crate::statistics::{Spread, inner_range, interval_of_median, paired_ratios};

pub use crate::environment::Environment;

/// What a run found.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Report {
    /// The scenario.
    pub scenario: String,
    /// Where and with what it was measured.
    pub environment: Environment,
    /// What each contender needed for each case.
    pub results: Vec<CaseResult>,
    /// How contenders compare.
    pub ratios: Vec<CaseRatio>,
    /// What was not measured, and why.
    pub left_out: Vec<LeftOut>,
    /// What to know before reading the figures, in words.
    pub notes: Vec<String>,
}

/// What a contender needed for a case.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct CaseResult {
    /// The contender.
    pub contender: String,
    /// The case.
    pub case: String,
    /// Of all figures: `us`, microseconds a call, or `events/s`, events a second at a subscriber.
    pub unit: &'static str,
    /// Calls that were measured, in all rounds.
    pub count: u64,
    /// Bytes that were encoded or decoded, if that was measured.
    pub encoded_len: Option<u64>,
    /// Mean of all calls of all rounds.
    pub mean: f64,
    /// What half of all calls did not exceed.
    pub p50: f64,
    /// What 90 of 100 calls did not exceed.
    pub p90: f64,
    /// What 99 of 100 calls did not exceed.
    pub p99: f64,
    /// What 999 of 1,000 calls did not exceed.
    pub p999: f64,
    /// The shortest call of all rounds.
    pub min: f64,
    /// The longest call of all rounds.
    pub max: f64,
    /// Standard deviation of all calls of all rounds.
    pub deviation: f64,
    /// Shares of the calls in percent, and what they did not exceed.
    pub percentiles: Vec<(f64, f64)>,
    /// Where the median of `rounds` lies with a confidence of 95 %; `None` if there are fewer than three.
    pub interval: Option<(f64, f64)>,
    /// The median of each round. Unlike a mean it is not moved by the few calls during which the
    /// machine did something else.
    ///
    /// Of events a second, the mean over the subscribers.
    pub rounds: Vec<f64>,
    /// The mean of all calls of each round.
    pub mean_rounds: Vec<f64>,
    /// What 99 of 100 calls of each round did not exceed.
    pub p99_rounds: Vec<f64>,
    /// What the service between publishers and subscribers needed, if there is one.
    pub service: Option<ServiceCost>,
    /// Bytes that a slow line has carried for each call, if there was one.
    pub carried: Option<CarriedBytes>,
}

/// Bytes that a slow line has carried for each call, in both directions: the mean of all rounds.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct CarriedBytes {
    /// In messages, without the headers of TCP and of what is below.
    pub messages: f64,
    /// At the network device.
    pub line: f64,
}

/// What a service between publishers and subscribers needed.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct ServiceCost {
    /// Time of the processor for each event that one subscriber got, in microseconds, over all rounds.
    pub cpu_per_delivery: f64,
    /// Memory that was resident at the end of a round, in megabytes of 1,000,000 bytes; of the round with the most.
    pub resident: f64,
    /// Memory that a subscriber added before the first event was measured, in kilobytes of 1,000 bytes, on the mean of all rounds;
    /// `None` if that was not measured.
    pub subscriber: Option<f64>,
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

/// How two contenders compare in a case: quotients of their figures of the same round.
///
/// What slows the machine down for a while slows both, so that the quotient moves less than either.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct CaseRatio {
    /// The case.
    pub case: String,
    /// The contender above the line.
    pub of: String,
    /// The contender below the line.
    pub to: String,
    /// Of the medians.
    pub median: Quotients,
    /// Of the means.
    pub mean: Quotients,
    /// Of what 99 of 100 calls did not exceed.
    pub p99: Quotients,
}

/// The quotients of two contenders' figures, round by round.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Quotients {
    /// The middle one of all rounds.
    pub middle: f64,
    /// A quarter of the rounds was below.
    pub low: f64,
    /// A quarter of the rounds was above.
    pub high: f64,
    /// Where the middle one lies with a confidence of 95 %; `None` if there were fewer than three rounds.
    pub interval: Option<(f64, f64)>,
}

/// What was measured of a contender in a case.
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

    /// What to tell of a run that ended before its last round.
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

/// What to know of lines that were relays: names them.
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

/// The slow rounds may take this much longer than the fast ones before it is worth a note.
const SPREAD_MAX: f64 = 1.3;

impl CaseResult {
    /// Says from where to where the rounds went, if that is far. A single odd round is not looked at.
    fn wide_spread(&self) -> Option<String> {
        let (low, high) = inner_range(&self.rounds)?;
        let (contender, unit) = (&self.contender, self.unit);
        (high > low * SPREAD_MAX).then(|| {
            let (low, high) = (duration(low, 1), duration(high, 1));
            format!("{contender} {low} to {high} {unit}")
        })
    }

    /// `None` if there was no round.
    fn new(measured: &Measured<'_>, unit: Unit) -> Option<Self> {
        let (first, rest) = measured.rounds.split_first()?;
        let mut all = first.clone();
        rest.iter().for_each(|round| all.add(round));
        let shown = |value| match unit {
            Unit::Microseconds => microseconds(value),
            Unit::EventsPerSecond => value,
        };
        let of_round = |round: &Sample| match unit {
            Unit::Microseconds => round.quantile(0.5),
            Unit::EventsPerSecond => round.mean(),
        };
        let rounds = measured.rounds.iter().map(of_round);
        let rounds: Vec<f64> = rounds.map(shown).collect();
        let mean_rounds = measured.rounds.iter().map(Sample::mean);
        let p99_rounds = measured.rounds.iter().map(|round| round.quantile(0.99));
        Some(Self {
            contender: measured.contender.name.to_owned(),
            case: measured.case.to_owned(),
            unit: unit.name(),
            count: all.count(),
            encoded_len: first.encoded.as_ref().map(|encoded| encoded.len),
            mean: shown(all.mean()),
            p50: shown(all.quantile(0.5)),
            p90: shown(all.quantile(0.9)),
            p99: shown(all.quantile(0.99)),
            p999: shown(all.quantile(0.999)),
            min: shown(all.quantile(0.0)),
            max: shown(all.quantile(1.0)),
            deviation: shown(all.deviation()),
            percentiles: SHARES
                .iter()
                .map(|percent| (*percent, shown(all.quantile(percent / 100.0))))
                .collect(),
            interval: interval_of_median(&rounds),
            rounds,
            mean_rounds: mean_rounds.map(shown).collect(),
            p99_rounds: p99_rounds.map(shown).collect(),
            service: ServiceCost::of(&measured.rounds),
            carried: CarriedBytes::of(&measured.rounds),
        })
    }
}

impl CarriedBytes {
    /// `None` if there was no slow line.
    fn of(rounds: &[Sample]) -> Option<Self> {
        let carried: Option<Vec<_>> = rounds.iter().map(|round| round.carried).collect();
        let carried = carried.filter(|rounds| !rounds.is_empty())?;
        let calls: u64 = rounds.iter().map(Sample::count).sum();
        let sum = |bytes: fn(&Carried) -> u64| carried.iter().map(bytes).sum::<u64>() as f64;
        Some(Self {
            messages: sum(|round| round.messages) / calls as f64,
            line: sum(|round| round.line) / calls as f64,
        })
    }
}

impl ServiceCost {
    /// `None` if there is no service.
    fn of(rounds: &[Sample]) -> Option<Self> {
        let uses: Vec<_> = rounds.iter().filter_map(|round| round.service).collect();
        let deliveries: u64 = uses.iter().map(|one| one.deliveries).sum();
        let cpu: f64 = uses.iter().map(|one| one.cpu.as_secs_f64()).sum();
        let resident = uses.iter().map(|one| one.resident).max()?;
        let of_subscribers: Vec<_> = uses.iter().filter_map(|one| one.of_subscribers).collect();
        let subscribers: u64 = of_subscribers.iter().map(|one| one.count).sum();
        let bytes: u64 = of_subscribers.iter().map(|one| one.bytes).sum();
        Some(Self {
            cpu_per_delivery: cpu * 1e6 / deliveries.max(1) as f64,
            resident: resident as f64 / 1e6,
            subscriber: (subscribers > 0).then(|| bytes as f64 / subscribers as f64 / 1e3),
        })
    }
}

impl CaseRatio {
    /// `None` if one of the two did not run.
    fn new(case: &str, of: &str, to: &str, results: &[CaseResult]) -> Option<Self> {
        let result = |name: &str| {
            let mut all = results.iter();
            all.find(|result| result.case == case && result.contender == name)
        };
        let (of, to) = (result(of)?, result(to)?);
        Some(Self {
            case: case.to_owned(),
            of: of.contender.clone(),
            to: to.contender.clone(),
            median: Quotients::of(&of.rounds, &to.rounds)?,
            mean: Quotients::of(&of.mean_rounds, &to.mean_rounds)?,
            p99: Quotients::of(&of.p99_rounds, &to.p99_rounds)?,
        })
    }
}

impl Quotients {
    /// `None` if there was no round.
    fn of(of: &[f64], to: &[f64]) -> Option<Self> {
        let quotients = paired_ratios(of, to);
        let Spread { median, low, high } = Spread::of(&quotients)?;
        Some(Self {
            middle: median,
            low,
            high,
            interval: interval_of_median(&quotients),
        })
    }
}

/// The percentiles of a result, in percent.
const SHARES: [f64; 14] = [
    0.0, 10.0, 25.0, 50.0, 75.0, 90.0, 95.0, 97.5, 99.0, 99.5, 99.9, 99.95, 99.99, 100.0,
];

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

fn microseconds(nanoseconds: f64) -> f64 {
    nanoseconds / 1_000.0
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::placement::Placement;

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

    /// The same of a contender beside Floe, with their ratio.
    pub(crate) fn with_ratio(name: &str, of: &[f64], to: &[f64]) -> Report {
        let mut report = of_rounds("rpc", "us", &[("floe", to), (name, of)]);
        let ratio = CaseRatio::new("twoway", name, "floe", &report.results);
        report.ratios = vec![ratio.unwrap()];
        report
    }

    #[test]
    fn a_ratio_pairs_the_rounds() {
        let ratio = &example().ratios[0];
        for quotients in [ratio.median, ratio.mean, ratio.p99] {
            assert!((quotients.middle - 1.175).abs() < 1e-9);
            assert!((quotients.low - 1.1625).abs() < 1e-9);
            assert!((quotients.high - 1.1875).abs() < 1e-9);
        }
    }

    #[test]
    fn one_round_with_slow_calls_does_not_move_the_ratio_of_the_slow_calls() {
        let mut results = example().results;
        for result in &mut results {
            result.rounds = vec![10.0; 5];
            result.p99_rounds = vec![30.0; 5];
        }
        results[1].p99_rounds[2] = 5_000.0;
        let ratio = CaseRatio::new("twoway", "floe", "floor", &results).unwrap();
        assert_eq!((ratio.p99.middle, ratio.p99.high), (1.0, 1.0));
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

    #[test]
    fn there_is_no_ratio_to_a_contender_that_did_not_run() {
        assert_eq!(
            CaseRatio::new("twoway", "ice", "floe", &example().results),
            None
        );
    }
}
