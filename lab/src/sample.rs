//! What one client measured in one round, on its way through a pipe.

use hdrhistogram::Histogram;
use serde_json::{Value, json};

/// Durations of calls in nanoseconds, to three digits.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Sample {
    histogram: Histogram<u64>,
}

impl Sample {
    pub(crate) fn new() -> Self {
        Self {
            histogram: Histogram::new(DIGITS).expect("three digits are allowed"),
        }
    }

    /// Counts `count` calls of `nanoseconds` each.
    pub(crate) fn record(&mut self, nanoseconds: u64, count: u64) {
        // The histogram grows by itself; it refuses only what no clock measures.
        let _ = self.histogram.record_n(nanoseconds, count);
    }

    /// Adds the calls of another round.
    pub(crate) fn add(&mut self, other: &Self) {
        // As above.
        let _ = self.histogram.add(&other.histogram);
    }

    /// Calls.
    pub(crate) fn count(&self) -> u64 {
        self.histogram.len()
    }

    /// In nanoseconds.
    pub(crate) fn mean(&self) -> f64 {
        self.histogram.mean()
    }

    /// The duration that this share of the calls does not exceed, in nanoseconds.
    pub(crate) fn quantile(&self, share: f64) -> f64 {
        self.histogram.value_at_quantile(share) as f64
    }

    /// One line of JSON: `{"calls": [[nanoseconds, count], ..]}`.
    pub(crate) fn to_line(&self) -> String {
        let recorded = self.histogram.iter_recorded();
        let calls: Vec<Value> = recorded
            .map(|step| json!([step.value_iterated_to(), step.count_at_value()]))
            .collect();
        json!({ "calls": calls }).to_string()
    }

    /// Reads what [`Sample::to_line`] wrote, or a contender in another language.
    ///
    /// # Errors
    /// What is wrong with the line.
    pub(crate) fn from_line(line: &str) -> Result<Self, String> {
        let wrong = || {
            let start: String = line.chars().take(80).collect();
            format!("expected {{\"calls\": [[nanoseconds, count], ..]}}, got \"{start}\"")
        };
        let value: Value = serde_json::from_str(line).map_err(|_| wrong())?;
        let calls = value.get("calls").and_then(Value::as_array);
        let mut sample = Self::new();
        for call in calls.ok_or_else(wrong)? {
            let number = |index: usize| call.get(index).and_then(Value::as_u64);
            let (Some(nanoseconds), Some(count)) = (number(0), number(1)) else {
                return Err(wrong());
            };
            sample.record(nanoseconds, count);
        }
        if sample.count() == 0 {
            return Err("expected at least one call, got none".to_owned());
        }
        Ok(sample)
    }
}

/// Significant digits that are kept.
const DIGITS: u8 = 3;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_survives_the_pipe() {
        let mut sample = Sample::new();
        for nanoseconds in (1..2_000_000).step_by(777) {
            sample.record(nanoseconds, 1 + nanoseconds % 3);
        }
        let received = Sample::from_line(&sample.to_line()).unwrap();
        assert_eq!(received.count(), sample.count());
        for share in [0.5, 0.99, 1.0] {
            assert_eq!(received.quantile(share), sample.quantile(share));
        }
        assert!((received.mean() / sample.mean() - 1.0).abs() < 0.001);
    }

    #[test]
    fn rounds_add_up() {
        let mut all = Sample::new();
        all.record(1_000, 3);
        let mut other = Sample::new();
        other.record(3_000, 1);
        all.add(&other);
        assert_eq!(all.count(), 4);
        assert!((all.mean() / 1_500.0 - 1.0).abs() < 0.001);
    }

    #[test]
    fn a_wrong_line_is_shown() {
        for line in [
            "",
            "hello",
            "{}",
            "{\"calls\":[[1]]}",
            "{\"calls\":[[-1,2]]}",
        ] {
            let error = Sample::from_line(line).unwrap_err();
            assert!(error.contains("expected {\"calls\""), "{error}");
        }
        let error = Sample::from_line("{\"calls\":[]}").unwrap_err();
        assert!(error.contains("at least one call"), "{error}");
    }
}
