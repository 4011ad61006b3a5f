//! The cases of the scenarios `scale` and `qos`, taken apart.

use std::ops::RangeInclusive;

use crate::contender::Failure;

/// The numbers of publishers and subscribers, and how events are published.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Case {
    pub(crate) quality: Quality,
    pub(crate) publishers: usize,
    pub(crate) subscribers: usize,
    /// Events of each publisher in a wave.
    pub(crate) burst: usize,
    /// Bytes that follow the number of an event.
    pub(crate) payload_len: usize,
}

/// The quality that is asked of the service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Quality {
    /// Nothing is acknowledged.
    Oneway,
    /// Each event is acknowledged at both ends.
    Twoway,
    /// As [`Quality::Twoway`], and an event leaves when the one before was acknowledged.
    Ordered,
    /// Of what waits for a subscriber only the last event is kept.
    KeepLast,
    /// The event goes before those of lower priority.
    Priority,
    /// Events travel together, [`BATCH_LEN`] in a message of a publisher, without acknowledgements.
    Batched,
    /// Compressed on both ways, without acknowledgements.
    Compressed,
}

/// The figure that a case of the scenario `qos` measures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Extent {
    Latency,
    Throughput,
}

/// Events of a publisher's batch.
pub(crate) const BATCH_LEN: usize = 100;

/// Publishers of a case, at most; the number of an event has room for one more bit.
pub(crate) const PUBLISHERS_MAX: i32 = 128;

impl Case {
    /// Parses the name of a case of `scale`, `fan-P-S`, publishers first.
    ///
    /// # Errors
    /// It is no name of a case.
    pub(crate) fn parse_scale(name: &str) -> Result<Self, Failure> {
        let shape = name.strip_prefix("fan-").and_then(|shape| {
            let (publishers, subscribers) = shape.split_once('-')?;
            Some((
                count(publishers, PUBLISHERS)?,
                count(subscribers, SUBSCRIBERS)?,
            ))
        });
        let (publishers, subscribers) = shape
            .ok_or_else(|| format!("expected a case of the scenario scale, got \"{name}\""))?;
        Ok(Self {
            quality: Quality::Oneway,
            publishers,
            subscribers,
            burst: 1,
            payload_len: 16,
        })
    }

    /// Parses the name of a case of `qos`, `QUALITY-latency` or `QUALITY-throughput`.
    ///
    /// # Errors
    /// It is no name of a case.
    pub(crate) fn parse_qos(name: &str) -> Result<Self, Failure> {
        let parts = name
            .rsplit_once('-')
            .and_then(|(quality, extent)| Some((Quality::named(quality)?, Extent::named(extent)?)));
        let (quality, extent) =
            parts.ok_or_else(|| format!("expected a case of the scenario qos, got \"{name}\""))?;
        Ok(Self {
            quality,
            publishers: 1,
            subscribers: 1,
            burst: match (extent, quality) {
                (Extent::Latency, _) => 1,
                // Far more than a service collects before it sends a batch.
                (Extent::Throughput, Quality::Batched) => 10_000,
                (Extent::Throughput, _) => 100,
            },
            payload_len: 1_000,
        })
    }

    /// Of either scenario: their cases have different names.
    ///
    /// # Errors
    /// It is no name of a case.
    pub(crate) fn parse(name: &str) -> Result<Self, Failure> {
        Self::parse_scale(name).or_else(|_| Self::parse_qos(name))
    }
}

impl Quality {
    fn named(name: &str) -> Option<Self> {
        Some(match name {
            "oneway" => Self::Oneway,
            "twoway" => Self::Twoway,
            "ordered" => Self::Ordered,
            "keep-last" => Self::KeepLast,
            "priority" => Self::Priority,
            "batched" => Self::Batched,
            "compressed" => Self::Compressed,
            _ => return None,
        })
    }
}

impl Extent {
    fn named(name: &str) -> Option<Self> {
        match name {
            "latency" => Some(Self::Latency),
            "throughput" => Some(Self::Throughput),
            _ => None,
        }
    }
}

/// No number has two names: neither `01` nor `+1`.
fn count(digits: &str, limits: RangeInclusive<usize>) -> Option<usize> {
    let count = digits.parse().ok()?;
    (format!("{count}") == digits && limits.contains(&count)).then_some(count)
}

const PUBLISHERS: RangeInclusive<usize> = 1..=100;
const SUBSCRIBERS: RangeInclusive<usize> = 1..=1_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_case_says_who_publishes_to_whom_and_how() {
        let case = Case::parse("fan-100-1000").unwrap();
        assert_eq!(
            (case.publishers, case.subscribers, case.burst),
            (100, 1_000, 1)
        );
        let case = Case::parse("keep-last-latency").unwrap();
        assert_eq!((case.quality, case.burst), (Quality::KeepLast, 1));
        assert_eq!(Case::parse("twoway-throughput").unwrap().burst, 100);
        assert_eq!(Case::parse("batched-throughput").unwrap().burst, 10_000);
        for name in [
            "fan-1",
            "fan-0-1",
            "fan-101-1",
            "fan-1-1001",
            "fan-1-01",
            "twoway",
            "slow-latency",
        ] {
            assert!(Case::parse(name).is_err(), "{name}");
        }
        assert!(
            Case::parse_qos("fan-1-1").is_err() && Case::parse_scale("oneway-latency").is_err()
        );
    }
}
