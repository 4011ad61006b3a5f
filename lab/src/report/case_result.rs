//! The needs of a contender in a case, and those of the service and the line between its programs.

use super::{Measured, duration};
use crate::sample::{Carried, Sample};
use crate::scenario::Unit;
use crate::statistics::{inner_range, interval_of_median};

/// The figures of a contender for a case.
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
    /// Median of all calls of all rounds.
    pub p50: f64,
    /// 90th percentile of all calls of all rounds.
    pub p90: f64,
    /// 99th percentile of all calls of all rounds.
    pub p99: f64,
    /// 99.9th percentile of all calls of all rounds.
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
    /// 99th percentile of the calls of each round.
    pub p99_rounds: Vec<f64>,
    /// The cost of the service between publishers and subscribers, if there is one.
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

/// The cost of a service between publishers and subscribers.
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

impl CaseResult {
    /// Says from where to where the rounds went, if that is far. A single odd round is not looked at.
    pub(super) fn wide_spread(&self) -> Option<String> {
        let (low, high) = inner_range(&self.rounds)?;
        let (contender, unit) = (&self.contender, self.unit);
        (high > low * SPREAD_MAX).then(|| {
            let (low, high) = (duration(low, 1), duration(high, 1));
            format!("{contender} {low} to {high} {unit}")
        })
    }

    /// `None` if there was no round.
    pub(super) fn new(measured: &Measured<'_>, unit: Unit) -> Option<Self> {
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

/// The slow rounds may take this much longer than the fast ones before it is worth a note.
const SPREAD_MAX: f64 = 1.3;

/// The percentiles of a result, in percent.
const SHARES: [f64; 14] = [
    0.0, 10.0, 25.0, 50.0, 75.0, 90.0, 95.0, 97.5, 99.0, 99.5, 99.9, 99.95, 99.99, 100.0,
];

fn microseconds(nanoseconds: f64) -> f64 {
    nanoseconds / 1_000.0
}
