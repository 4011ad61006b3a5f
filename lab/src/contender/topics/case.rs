//! The cases of the scenario `pubsub-rtt`, taken apart.

use std::ops::RangeInclusive;

use crate::contender::Failure;

/// The content of a message beside its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Case {
    pub(crate) payload: Payload,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Payload {
    /// So many bytes.
    Bytes(usize),
    /// So many records, each with a sequence of 4 records.
    Records(usize),
}

/// Messages of a round that are not measured.
pub(crate) const PRIMERS: i32 = 100;
/// Messages of a round that are measured: the 15 rounds of a run make the 10,000 of the published test.
pub(crate) const MEASURED: i32 = 700;
/// The number of the message that opens the way; it is answered, and not counted.
pub(crate) const PROBE: i32 = -1;

impl Case {
    /// Parses the name of a case: `bytes-N`, `nested-N`.
    ///
    /// # Errors
    /// It is no name of a case.
    pub(crate) fn parse(name: &str) -> Result<Self, Failure> {
        let payload = Self::parse_payload(name);
        let payload = payload
            .ok_or_else(|| format!("expected a case of the scenario pubsub-rtt, got \"{name}\""))?;
        Ok(Self { payload })
    }

    fn parse_payload(name: &str) -> Option<Payload> {
        let (kind, digits) = name.split_once('-')?;
        let count: usize = digits.parse().ok()?;
        // No case has two names: neither `bytes-04` nor `bytes-+4`.
        let is_plain = format!("{count}") == digits;
        match kind {
            "bytes" if is_plain && BYTES.contains(&count) => Some(Payload::Bytes(count)),
            "nested" if is_plain && RECORDS.contains(&count) => Some(Payload::Records(count)),
            _ => None,
        }
    }
}

const BYTES: RangeInclusive<usize> = 1..=65_536;
const RECORDS: RangeInclusive<usize> = 1..=1_024;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_case_says_what_a_message_holds() {
        let payload = |name| Case::parse(name).map(|case| case.payload).ok();
        assert_eq!(payload("bytes-16384"), Some(Payload::Bytes(16_384)));
        assert_eq!(payload("nested-1"), Some(Payload::Records(1)));
        for name in ["bytes", "bytes-0", "bytes-04", "nested-1025", "text-1"] {
            assert_eq!(payload(name), None, "{name}");
        }
    }
}
