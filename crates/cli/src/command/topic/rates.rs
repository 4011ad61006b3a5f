//! Rates of a topic: the difference between two readings of its counts.

use floe_hub::contracts::floe::TopicTotals;
use serde_json::{Value as Json, json};

use crate::hub;

/// Events a second.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Rates {
    published: f64,
    delivered: f64,
    lost: f64,
}

impl Rates {
    /// From one look to a later one, at these uptimes of the hub in microseconds. None if no time has
    /// passed, or the hub or the topic is another one.
    pub(super) fn between(
        first: &TopicTotals,
        from: i64,
        second: &TopicTotals,
        to: i64,
    ) -> Option<Self> {
        let microseconds = to.checked_sub(from).filter(|passed| *passed > 0)?;
        let rate = |before: i64, after: i64| {
            let count = after.checked_sub(before).filter(|count| *count >= 0)?;
            Some(count as f64 * 1e6 / microseconds as f64)
        };
        Some(Self {
            published: rate(first.published, second.published)?,
            delivered: rate(first.delivered, second.delivered)?,
            lost: rate(hub::lost(&first.lost), hub::lost(&second.lost))?,
        })
    }

    /// Both together.
    pub(super) fn plus(self, other: Self) -> Self {
        Self {
            published: self.published + other.published,
            delivered: self.delivered + other.delivered,
            lost: self.lost + other.lost,
        }
    }
}

/// Adds rates, queues and lag to what is told of a topic. Rates that are not known are null.
pub(super) fn describe(totals: &TopicTotals, rates: Option<Rates>, about: &mut Json) {
    let rounded = |rate: fn(&Rates) -> f64| rates.as_ref().map(|rates| rate(rates).round() as i64);
    about["published_per_second"] = rounded(|rates| rates.published).into();
    about["delivered_per_second"] = rounded(|rates| rates.delivered).into();
    about["lost_per_second"] = rounded(|rates| rates.lost).into();
    about["queued"] = totals.queued.into();
    about["queued_bytes"] = totals.queued_bytes.into();
    about["outstanding"] = totals.outstanding.into();
    about["lag_ms"] = milliseconds(totals.lag);
}

/// Microseconds as people read them: milliseconds with one digit behind the point.
pub(super) fn milliseconds(microseconds: i64) -> Json {
    json!((microseconds as f64 / 100.0).round() / 10.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_what_happened_in_the_time_of_the_hub() {
        let mut first = TopicTotals::default();
        let mut second = TopicTotals::default();
        (first.published, second.published) = (100, 150);
        (second.delivered, second.lost.overflow) = (10, 5);
        let rates = Rates::between(&first, 1_000_000, &second, 1_500_000);
        let expected = Rates {
            published: 100.0,
            delivered: 20.0,
            lost: 10.0,
        };
        assert_eq!(rates, Some(expected));
    }

    #[test]
    fn of_a_hub_that_was_restarted_there_are_no_rates() {
        let first = TopicTotals {
            published: 100,
            ..TopicTotals::default()
        };
        let second = TopicTotals::default();
        assert_eq!(Rates::between(&first, 9, &second, 3), None);
        assert_eq!(Rates::between(&first, 3, &second, 9), None);
    }
}
