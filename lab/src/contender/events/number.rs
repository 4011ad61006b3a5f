//! The number in an event, which identifies its publisher and its position.
//!
//! ```text
//! 63  62   61 60       56 55                0
//! | 0 0 | what | publisher | value          |
//! ```

use rustix::time::{ClockId, clock_gettime};

/// The content of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Number {
    /// Shows that the way from a publisher to a subscriber is open; not counted.
    Probe,
    /// An event that counts. In a case of latency the value is when it was published, by [`now`]; else how
    /// many this publisher has published before it, which is also the order.
    Tick(u64),
    /// Events after this one are measured; the value is how many ticks this publisher has published before.
    Mark(u64),
    /// Nothing follows; the value is how many ticks this publisher has published.
    End(u64),
}

impl Number {
    /// As it travels.
    pub(crate) fn encode(self, publisher: usize) -> i64 {
        let (what, value) = match self {
            Self::Probe => (0, 0),
            Self::Tick(value) => (1, value),
            Self::Mark(value) => (2, value),
            Self::End(value) => (3, value),
        };
        let bits = what << WHAT_SHIFT | (publisher as u64) << PUBLISHER_SHIFT | value;
        bits.cast_signed()
    }

    /// The publisher, and what it says.
    pub(crate) fn decode(number: i64) -> (usize, Self) {
        let bits = number.cast_unsigned();
        let value = bits & ((1 << PUBLISHER_SHIFT) - 1);
        let publisher = (bits >> PUBLISHER_SHIFT) & ((1 << (WHAT_SHIFT - PUBLISHER_SHIFT)) - 1);
        let number = match (bits >> WHAT_SHIFT) & 3 {
            0 => Self::Probe,
            1 => Self::Tick(value),
            2 => Self::Mark(value),
            _ => Self::End(value),
        };
        (publisher as usize, number)
    }
}

/// Nanoseconds on the one clock that all processes of a host share, since some time before its start.
pub(crate) fn now() -> u64 {
    let time = clock_gettime(ClockId::Monotonic);
    time.tv_sec.cast_unsigned() * 1_000_000_000 + time.tv_nsec.cast_unsigned()
}

const WHAT_SHIFT: u32 = 61;
/// Two years of nanoseconds stand below it.
const PUBLISHER_SHIFT: u32 = 56;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_read_as_it_was_written() {
        for number in [
            Number::Probe,
            Number::Tick(now()),
            Number::Mark(0),
            Number::End((1 << PUBLISHER_SHIFT) - 1),
        ] {
            assert_eq!(Number::decode(number.encode(29)), (29, number));
            assert!(number.encode(29) >= 0);
        }
    }
}
