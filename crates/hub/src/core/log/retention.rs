//! How long a log keeps its events.

use std::time::Duration;

use super::EventTime;

/// How long a log keeps its events. Without a limit it keeps all of them.
///
/// No reader gets an event beyond the limit on events, nor one that is older than the age and a hundredth of it. A log on disk
/// removes whole files: those of which it keeps no event, and the oldest while the others have as many bytes as it keeps. So its
/// files may be a segment longer than the limit on bytes, and it never removes the segment that it is writing.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Retention {
    /// Older events are dropped.
    pub age: Option<Duration>,
    /// If the log is longer, its oldest events are dropped. Bytes include the records' own headers.
    pub bytes: Option<u64>,
    /// If there are more, the oldest are dropped.
    pub events: Option<u64>,
    /// Only the newest events of each key are kept.
    pub per_key: Option<PerKey>,
}

/// The newest events of a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct NewestEvents {
    pub(crate) events: u64,
    pub(crate) bytes: u64,
    /// The time of the first of them, if there is any.
    pub(crate) since: Option<EventTime>,
}

impl Retention {
    /// How much these events are of all that it keeps, in percent, by the limit that they reach first.
    pub(crate) fn percent(&self, held: &NewestEvents, now: EventTime) -> u64 {
        let percent = |part: u64, of: u64| {
            let percent = u128::from(part) * 100 / u128::from(of.max(1));
            u64::try_from(percent).unwrap_or(u64::MAX)
        };
        let micros = |age: Duration| u64::try_from(age.as_micros()).unwrap_or(u64::MAX);
        let age = self.age.zip(held.since);
        let shares = [
            self.events.map(|max| percent(held.events, max)),
            self.bytes.map(|max| percent(held.bytes, max)),
            age.map(|(age, since)| percent(now.0.saturating_sub(since.0), micros(age))),
        ];
        shares.into_iter().flatten().max().unwrap_or(0)
    }
}

/// Only the newest events of each key are kept. Events without a key stay.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PerKey {
    /// The entry of an event's context whose value is its key.
    pub context_key: String,
    /// How many events of each key are kept; at least 1.
    pub count: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_that_is_reached_first_counts() {
        let held = NewestEvents {
            events: 30,
            bytes: 4000,
            since: Some(EventTime(5_000_000)),
        };
        let now = EventTime(9_000_000);
        let mut retention = Retention::default();
        assert_eq!(retention.percent(&held, now), 0);
        retention.events = Some(60);
        assert_eq!(retention.percent(&held, now), 50);
        retention.bytes = Some(5000);
        assert_eq!(retention.percent(&held, now), 80);
        retention.age = Some(Duration::from_secs(4));
        assert_eq!(retention.percent(&held, now), 100);
        assert_eq!(retention.percent(&NewestEvents::default(), now), 0);
    }
}
