//! The cases of the scenario `durable`, taken apart.

use std::ops::RangeInclusive;

use crate::contender::Failure;

/// How events follow one another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Case {
    /// So many are unanswered: the answer to one makes room for the next.
    InFlight(usize),
    /// So many are sent together, then all their answers are awaited.
    Batch(usize),
    /// So many are stored, and then read by a subscriber from files that are no longer in memory.
    Replay(u64),
}

impl Case {
    /// Parses the name of a case: `inflight-N`, `batch-N`, `replay-N`.
    ///
    /// # Errors
    /// It is no name of a case.
    pub(crate) fn parse(name: &str) -> Result<Self, Failure> {
        let case = Self::of_words(name);
        case.ok_or_else(|| {
            format!("expected a case of the scenario durable, got \"{name}\"").into()
        })
    }

    fn of_words(name: &str) -> Option<Self> {
        let (kind, digits) = name.split_once('-')?;
        let count: usize = digits.parse().ok()?;
        // No case has two names: neither `batch-04` nor `batch-+4`.
        let is_plain = format!("{count}") == digits;
        match kind {
            "inflight" if is_plain && COUNTS.contains(&count) => Some(Self::InFlight(count)),
            "batch" if is_plain && COUNTS.contains(&count) => Some(Self::Batch(count)),
            "replay" if is_plain && REPLAYED.contains(&count) => Some(Self::Replay(count as u64)),
            _ => None,
        }
    }

    /// The most events of a publisher that are unanswered at a time.
    pub(crate) fn unanswered(self) -> usize {
        match self {
            Self::InFlight(count) | Self::Batch(count) => count,
            Self::Replay(_) => STORED_TOGETHER,
        }
    }
}

/// Why a contender that only stores does not offer a case.
pub(super) fn refuse_replay(name: &str) -> Option<&'static str> {
    match Case::parse(name) {
        Ok(Case::Replay(_)) => Some("the lab has no subscriber for it that reads what was stored"),
        _ => None,
    }
}

/// Bytes of the parameters of an event.
pub(crate) const PAYLOAD_LEN: usize = 100;

const COUNTS: RangeInclusive<usize> = 1..=10_000;
/// Fewer events would be read within the time of a connection.
const REPLAYED: RangeInclusive<usize> = 1_000..=100_000_000;
/// Events that are stored together before they are read.
const STORED_TOGETHER: usize = 1_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_case_says_how_many_events_are_under_way() {
        let case = |name| Case::parse(name).ok();
        assert_eq!(case("inflight-100"), Some(Case::InFlight(100)));
        assert_eq!(case("batch-1"), Some(Case::Batch(1)));
        assert_eq!(case("replay-1000"), Some(Case::Replay(1000)));
        for name in [
            "batch",
            "batch-0",
            "batch-04",
            "inflight-10001",
            "replay-999",
            "one-1",
        ] {
            assert_eq!(case(name), None, "{name}");
        }
    }
}
