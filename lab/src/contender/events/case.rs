//! The cases of the scenario `events`, taken apart.

use std::ops::RangeInclusive;
use std::time::Duration;

use crate::contender::Failure;

/// The work of the publishers, and how many programs there are on each side.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Case {
    pub(crate) work: Work,
    pub(crate) publishers: usize,
    pub(crate) subscribers: usize,
    /// Events that a publisher hands over together; 1 where it does not.
    pub(crate) batch_len: usize,
}

/// The work that a publisher repeats.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Work {
    /// An event every [`INTERVAL`], acknowledged at both ends.
    Latency,
    /// As [`Work::Twoway`], but the time that each event takes is measured, not their rate.
    Load,
    /// One event after the other, each acknowledged at both ends.
    Twoway,
    /// Batches of events, without acknowledgements.
    Batched,
}

/// Between two events of [`Work::Latency`].
pub(crate) const INTERVAL: Duration = Duration::from_millis(2);
/// Events of a batch, and of one as the published test had them.
const BATCH_LEN: usize = 1_000;
const SMALL_BATCH_LEN: usize = 100;

impl Case {
    /// Parses the name of a case: `latency-1-N`, `load-P-S`, `twoway-P-S`, `batched-P-S`, `batched100-P-S`, publishers first.
    ///
    /// # Errors
    /// It is no name of a case.
    pub(crate) fn parse(name: &str) -> Result<Self, Failure> {
        Self::parsed(name)
            .ok_or_else(|| format!("expected a case of the scenario events, got \"{name}\"").into())
    }

    fn parsed(name: &str) -> Option<Self> {
        let (work, shape) = name.split_once('-')?;
        let (publishers, subscribers) = shape.split_once('-')?;
        let (publishers, subscribers) = (count(publishers)?, count(subscribers)?);
        let (work, batch_len) = match work {
            // With more, an event may wait for that of another publisher.
            "latency" if publishers == 1 => (Work::Latency, 1),
            "load" => (Work::Load, 1),
            "twoway" => (Work::Twoway, 1),
            "batched" => (Work::Batched, BATCH_LEN),
            "batched100" => (Work::Batched, SMALL_BATCH_LEN),
            _ => return None,
        };
        Some(Self {
            work,
            publishers,
            subscribers,
            batch_len,
        })
    }

    /// Returns true if an event says when it was published, so that a subscriber knows how long it took.
    pub(crate) fn is_timed(self) -> bool {
        matches!(self.work, Work::Latency | Work::Load)
    }

    /// Returns true if events are acknowledged at both ends.
    pub(crate) fn is_acknowledged(self) -> bool {
        self.work != Work::Batched
    }
}

/// Publishers or subscribers; no number has two names: neither `01` nor `+1`.
fn count(digits: &str) -> Option<usize> {
    let count = digits.parse().ok()?;
    (format!("{count}") == digits && COUNTS.contains(&count)).then_some(count)
}

/// Publishers, and subscribers: a process each.
const COUNTS: RangeInclusive<usize> = 1..=30;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_case_says_what_it_is() {
        let case = Case::parse("latency-1-20").unwrap();
        assert_eq!((case.work, case.subscribers), (Work::Latency, 20));
        let case = Case::parse("load-2-3").unwrap();
        assert_eq!((case.work, case.publishers), (Work::Load, 2));
        assert!(case.is_timed() && case.is_acknowledged());
        let case = Case::parse("batched-10-1").unwrap();
        assert_eq!((case.publishers, case.subscribers), (10, 1));
        assert_eq!((case.is_acknowledged(), case.batch_len), (false, 1_000));
        assert_eq!(Case::parse("batched100-5-5").unwrap().batch_len, 100);
        for name in [
            "twoway",
            "twoway-1",
            "twoway-0-1",
            "twoway-01-1",
            "twoway-31-1",
            "latency-2-1",
            "threeway-1-1",
        ] {
            assert!(Case::parse(name).is_err(), "{name}");
        }
    }
}
