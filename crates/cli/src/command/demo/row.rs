//! The row of one subscriber in the picture, and the formats of its figures.

use std::time::Duration;

use serde_json::{Value as Json, json};

use super::stage::Subscriber;
use super::summary::Line;

/// One subscriber in a picture. Latencies are in nanoseconds.
pub(super) struct Row {
    pub(super) mode: &'static str,
    pub(super) about: &'static str,
    /// Events a second since the last picture.
    pub(super) rate: Option<f64>,
    pub(super) delivered: u64,
    pub(super) lost: u64,
    pub(super) p50: u64,
    pub(super) p99: u64,
}

impl Row {
    pub(super) fn new(subscriber: &Subscriber, lost: u64, span: Duration) -> Self {
        let recent = subscriber.tally.take_recent();
        Self {
            mode: subscriber.mode,
            about: subscriber.about,
            rate: Some(recent.len() as f64 / span.as_secs_f64()),
            delivered: subscriber.tally.delivered(),
            lost,
            p50: recent.value_at_quantile(0.5),
            p99: recent.value_at_quantile(0.99),
        }
    }

    /// The whole time, latencies of the calm part.
    pub(super) fn finally(line: &Line) -> Self {
        Self {
            mode: line.mode,
            about: line.about,
            rate: None,
            delivered: line.delivered,
            lost: line.lost,
            p50: line.steady.value_at_quantile(0.5),
            p99: line.steady.value_at_quantile(0.99),
        }
    }

    pub(super) fn to_json(&self) -> Json {
        json!({
            "mode": self.mode,
            "events_per_second": self.rate.map(f64::round),
            "delivered": self.delivered,
            "lost": self.lost,
            "p50_us": self.p50 as f64 / 1e3,
            "p99_us": self.p99 as f64 / 1e3,
        })
    }
}

/// A count with its thousands apart.
pub(super) fn grouped(count: u64) -> String {
    let digits = count.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A time in the unit that suits it.
pub(super) fn time(nanoseconds: u64) -> String {
    let microseconds = nanoseconds as f64 / 1e3;
    match nanoseconds {
        0 => "-".to_owned(),
        1..1_000_000 => format!("{microseconds:.0} us"),
        1_000_000..10_000_000 => format!("{:.1} ms", microseconds / 1e3),
        _ => format!("{:.0} ms", microseconds / 1e3),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_have_their_thousands_apart() {
        let counts = [0, 999, 1_000, 1_234_567].map(grouped);
        assert_eq!(counts, ["0", "999", "1,000", "1,234,567"]);
    }

    #[test]
    fn times_are_in_the_unit_that_suits_them() {
        let times = [0, 85_400, 1_250_000, 27_400_000].map(time);
        assert_eq!(times, ["-", "85 us", "1.2 ms", "27 ms"]);
    }
}
