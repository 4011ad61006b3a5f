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
}

impl Case {
    /// What the name of a case says: `inflight-N`, `batch-N`.
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
            _ => None,
        }
    }

    /// The most events that are unanswered at a time.
    pub(crate) fn unanswered(self) -> usize {
        match self {
            Self::InFlight(count) | Self::Batch(count) => count,
        }
    }
}

/// Bytes of the parameters of an event.
pub(crate) const PAYLOAD_LEN: usize = 100;

const COUNTS: RangeInclusive<usize> = 1..=10_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_case_says_how_many_events_are_under_way() {
        let case = |name| Case::parse(name).ok();
        assert_eq!(case("inflight-100"), Some(Case::InFlight(100)));
        assert_eq!(case("batch-1"), Some(Case::Batch(1)));
        for name in ["batch", "batch-0", "batch-04", "inflight-10001", "one-1"] {
            assert_eq!(case(name), None, "{name}");
        }
    }
}
