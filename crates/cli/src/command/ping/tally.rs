//! The times of calls, and their summary.

use std::time::Duration;

use serde_json::{Value as Json, json};

use crate::size::Size;

/// The times of calls with one payload.
#[derive(Debug)]
pub(super) struct Tally {
    /// The size of the parameter of each call, and of its result.
    pub(super) size: Size,
    times: Vec<Duration>,
}

/// The keys of [`Tally::to_json`], in the order of the table.
pub(super) const COLUMNS: [&str; 8] = [
    "bytes",
    "count",
    "min_us",
    "mean_us",
    "max_us",
    "stddev_us",
    "p50_us",
    "p99_us",
];

/// A summary of some times, in microseconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Summary {
    pub(super) min: f64,
    pub(super) mean: f64,
    pub(super) max: f64,
    /// Standard deviation of the sample; 0 for a single time.
    pub(super) deviation: f64,
    pub(super) p50: f64,
    pub(super) p99: f64,
}

impl Tally {
    /// No times yet.
    pub(super) fn new(size: Size) -> Self {
        Self {
            size,
            times: Vec::new(),
        }
    }

    /// Adds the time of a call.
    pub(super) fn add(&mut self, time: Duration) {
        self.times.push(time);
    }

    /// How many there are.
    pub(super) fn count(&self) -> usize {
        self.times.len()
    }

    /// Returns a summary of them; `None` if there are none.
    pub(super) fn summary(&self) -> Option<Summary> {
        let mut micros: Vec<f64> = self.times.iter().map(|it| it.as_secs_f64() * 1e6).collect();
        micros.sort_by(f64::total_cmp);
        let (min, max) = (*micros.first()?, *micros.last()?);
        let count = micros.len() as f64;
        let mean = micros.iter().sum::<f64>() / count;
        let squares: f64 = micros.iter().map(|it| (it - mean).powi(2)).sum();
        Some(Summary {
            min,
            mean,
            max,
            deviation: (squares / (count - 1.0).max(1.0)).sqrt(),
            p50: percentile(&micros, 0.50),
            p99: percentile(&micros, 0.99),
        })
    }

    /// The summary as a row; `None` without times.
    pub(super) fn to_json(&self) -> Option<Json> {
        let summary = self.summary()?;
        Some(json!({
            "bytes": self.size.bytes(),
            "count": self.count(),
            "min_us": tenths(summary.min),
            "mean_us": tenths(summary.mean),
            "max_us": tenths(summary.max),
            "stddev_us": tenths(summary.deviation),
            "p50_us": tenths(summary.p50),
            "p99_us": tenths(summary.p99),
        }))
    }
}

/// The smallest of the sorted values that is not below this share of them.
fn percentile(sorted: &[f64], share: f64) -> f64 {
    let rank = (share * sorted.len() as f64).ceil() as usize;
    sorted[rank.clamp(1, sorted.len()) - 1]
}

fn tenths(micros: f64) -> f64 {
    (micros * 10.0).round() / 10.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tally(micros: impl IntoIterator<Item = u64>) -> Tally {
        let mut tally = Tally::new(Size::of(16));
        let times = micros.into_iter().map(Duration::from_micros);
        times.for_each(|time| tally.add(time));
        tally
    }

    #[test]
    fn a_hundred_times_have_the_summary_of_the_textbook() {
        let summary = tally((1..=100).rev()).summary().expect("there are times");
        assert_eq!((summary.min, summary.max), (1.0, 100.0));
        assert!((summary.mean - 50.5).abs() < 1e-6, "{summary:?}");
        assert!((summary.deviation - 29.0115).abs() < 1e-3, "{summary:?}");
        assert_eq!((summary.p50, summary.p99), (50.0, 99.0));
    }

    #[test]
    fn a_single_time_does_not_deviate() {
        let row = tally([7]).to_json().expect("there is one");
        let expected = json!({"bytes": 16, "count": 1, "min_us": 7.0, "mean_us": 7.0, "max_us": 7.0,
            "stddev_us": 0.0, "p50_us": 7.0, "p99_us": 7.0});
        assert_eq!(row, expected);
        assert!(COLUMNS.iter().all(|column| !row[column].is_null()));
    }

    #[test]
    fn no_times_have_no_summary() {
        assert!(tally([]).to_json().is_none());
    }
}
