//! The records of a store, each sealed with its own checksum, and the summary of all of them. No file is touched here.

use std::fmt;

use floe::encoding::Decoder;
use floe::{DecodeError, EncodingVersion, Identity};

/// The subject of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Topic = 0,
    Subscription = 1,
    Link = 2,
}

impl Kind {
    pub(super) const fn number(self) -> u8 {
        self as u8
    }

    pub(super) fn of_number(number: u8) -> Option<Self> {
        let all = [Self::Topic, Self::Subscription, Self::Link];
        all.into_iter().find(|kind| kind.number() == number)
    }
}

/// Identifies a record: its topic, its kind, and the encoded identity of the subscriber or of the other topic. The
/// identity of a topic's own record is empty.
pub(super) type Key<'a> = (&'a str, u8, &'a [u8]);

/// A record that verifies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct StoreRecord {
    pub(super) topic: String,
    pub(super) kind: Kind,
    pub(super) identity: Vec<u8>,
    /// Counts the records of a store, so that their order is known.
    pub(super) number: u64,
    /// The encoded subscription or link; empty for a topic.
    pub(super) payload: Vec<u8>,
}

impl StoreRecord {
    pub(super) fn key(&self) -> Key<'_> {
        (&self.topic, self.kind.number(), &self.identity)
    }

    pub(super) fn sealed(&self) -> Vec<u8> {
        seal(self.key(), self.number, &self.payload)
    }

    /// Reads a record as it stands in a file; `None` if it does not verify.
    pub(super) fn open(key: Key<'_>, value: &[u8]) -> Option<Self> {
        let (topic, kind, identity) = key;
        let (checksum, sealed) = value.split_first_chunk::<8>()?;
        let (number, payload) = sealed.split_first_chunk::<8>()?;
        let number = u64::from_le_bytes(*number);
        if u64::from_le_bytes(*checksum) != checksum_of(key, number, payload) {
            return None;
        }
        Some(Self {
            topic: topic.to_owned(),
            kind: Kind::of_number(kind)?,
            identity: identity.to_owned(),
            number,
            payload: payload.to_owned(),
        })
    }
}

/// The value of a record, integers little-endian. The checksum covers the key too, so that a record that moved to
/// another key does not verify.
///
/// ```text
/// 0           8         16
/// | checksum | number | payload ...
/// ```
pub(super) fn seal(key: Key<'_>, number: u64, payload: &[u8]) -> Vec<u8> {
    let checksum = checksum_of(key, number, payload);
    let mut value = Vec::with_capacity(16 + payload.len());
    value.extend_from_slice(&checksum.to_le_bytes());
    value.extend_from_slice(&number.to_le_bytes());
    value.extend_from_slice(payload);
    value
}

/// The checksum in a sealed value; 0 if the value is too short to have one.
pub(super) fn checksum_in(value: &[u8]) -> u64 {
    let checksum = value.first_chunk::<8>();
    checksum.map_or(0, |checksum| u64::from_le_bytes(*checksum))
}

/// Names a record in messages.
pub(super) struct Named<'a>(pub(super) Key<'a>);

impl fmt::Display for Named<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (topic, kind, identity) = self.0;
        let identity = decode_identity(identity).map_or_else(
            |_| format!("{:?}", String::from_utf8_lossy(identity)),
            |identity| format!("{:?}", identity.to_string()),
        );
        match Kind::of_number(kind) {
            Some(Kind::Topic) => write!(f, "topic {topic:?}"),
            Some(Kind::Subscription) => write!(f, "subscription of {identity} to topic {topic:?}"),
            Some(Kind::Link) => write!(f, "link of topic {topic:?} to {identity}"),
            None => write!(f, "record of unknown kind {kind} of topic {topic:?}"),
        }
    }
}

fn decode_identity(bytes: &[u8]) -> Result<Identity, DecodeError> {
    let mut decoder = Decoder::new(bytes, EncodingVersion::V1_1);
    let identity = decoder.get()?;
    decoder.finish_exact("identity")?;
    Ok(identity)
}

/// The summary of all records of a store. A record that vanished is missed by it.
///
/// ```text
/// 0           8            16            24      32    40
/// | checksum | generation | next number | count | sum |
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Summary {
    /// Counts the changes since the store was created.
    pub(super) generation: u64,
    /// The number of the next record.
    pub(super) next_number: u64,
    /// How many records there are.
    pub(super) count: u64,
    /// The sum of their checksums.
    sum: u64,
}

impl Summary {
    /// The summary of a store without records.
    pub(super) fn empty(generation: u64, next_number: u64) -> Self {
        Self {
            generation,
            next_number,
            count: 0,
            sum: 0,
        }
    }

    pub(super) fn encoded(&self) -> [u8; SUMMARY_LEN] {
        let mut bytes = [0; SUMMARY_LEN];
        let fields = [self.generation, self.next_number, self.count, self.sum];
        for (slot, field) in bytes[8..].chunks_exact_mut(8).zip(fields) {
            slot.copy_from_slice(&field.to_le_bytes());
        }
        let checksum = crc_64(&[&bytes[8..]]);
        bytes[..8].copy_from_slice(&checksum.to_le_bytes());
        bytes
    }

    /// Reads a summary; `None` if it does not verify.
    pub(super) fn decode(bytes: &[u8]) -> Option<Self> {
        let bytes: &[u8; SUMMARY_LEN] = bytes.try_into().ok()?;
        let (words, _) = bytes.as_chunks::<8>();
        let [checksum, generation, next_number, count, sum] =
            <[_; 5]>::try_from(words).ok()?.map(u64::from_le_bytes);
        (checksum == crc_64(&[&bytes[8..]])).then_some(Self {
            generation,
            next_number,
            count,
            sum,
        })
    }

    /// Notes a new record with this value.
    pub(super) fn add(&mut self, value: &[u8]) {
        self.count = self.count.wrapping_add(1);
        self.sum = self.sum.wrapping_add(checksum_in(value));
    }

    /// Notes that the record with this value is gone.
    pub(super) fn take(&mut self, value: &[u8]) {
        self.count = self.count.wrapping_sub(1);
        self.sum = self.sum.wrapping_sub(checksum_in(value));
    }

    /// Returns true if both summaries are about the same records.
    pub(super) fn has_records_of(&self, other: &Self) -> bool {
        (self.count, self.sum) == (other.count, other.sum)
    }
}

const SUMMARY_LEN: usize = 40;

fn checksum_of((topic, kind, identity): Key<'_>, number: u64, payload: &[u8]) -> u64 {
    let len = |bytes: &[u8]| (bytes.len() as u64).to_le_bytes();
    crc_64(&[
        &len(topic.as_bytes()),
        topic.as_bytes(),
        &[kind],
        &len(identity),
        identity,
        &number.to_le_bytes(),
        payload,
    ])
}

/// CRC-64 as xz computes it. It finds every change within 8 bytes, and misses one of 2^64 of all others.
///
/// Source: ECMA-182, with the bits reflected and both ends inverted.
fn crc_64(parts: &[&[u8]]) -> u64 {
    let bytes = parts.iter().copied().flatten();
    !bytes.fold(u64::MAX, |crc, byte| {
        CRC_TABLE[usize::from(crc.to_le_bytes()[0] ^ byte)] ^ (crc >> 8)
    })
}

const CRC_TABLE: [u64; 256] = {
    let mut table = [0; 256];
    let mut at = 0;
    while at < table.len() {
        let mut crc = at as u64;
        let mut bit = 0;
        while bit < 8 {
            crc = match crc & 1 {
                1 => (crc >> 1) ^ 0xC96C_5795_D787_0F42,
                _ => crc >> 1,
            };
            bit += 1;
        }
        table[at] = crc;
        at += 1;
    }
    table
};

#[cfg(test)]
mod tests {
    use super::*;

    fn record() -> StoreRecord {
        StoreRecord {
            topic: "t".to_owned(),
            kind: Kind::Subscription,
            identity: b"\x01s\x00".to_vec(),
            number: 7,
            payload: b"payload".to_vec(),
        }
    }

    #[test]
    fn the_checksum_is_that_of_the_catalogue() {
        assert_eq!(crc_64(&[b"1234", b"56789"]), 0x995D_C9BB_DF19_39FA);
    }

    #[test]
    fn a_record_verifies_only_under_its_own_key_and_with_every_bit() {
        let record = record();
        let sealed = record.sealed();
        assert_eq!(
            StoreRecord::open(record.key(), &sealed),
            Some(record.clone())
        );
        let others: [Key<'_>; 3] = [
            ("u", 1, &record.identity),
            ("t", 2, &record.identity),
            ("t", 1, b"\x01t\x00"),
        ];
        for other in others {
            assert_eq!(StoreRecord::open(other, &sealed), None);
        }
        for bit in 0..sealed.len() * 8 {
            let mut flipped = sealed.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(StoreRecord::open(record.key(), &flipped), None, "bit {bit}");
        }
        for len in 0..sealed.len() {
            assert_eq!(
                StoreRecord::open(record.key(), &sealed[..len]),
                None,
                "{len}"
            );
        }
    }

    #[test]
    fn a_summary_verifies_with_every_bit_and_misses_what_is_gone() {
        let mut summary = Summary::default();
        summary.add(&record().sealed());
        summary.generation = 3;
        let bytes = summary.encoded();
        assert_eq!(Summary::decode(&bytes), Some(summary));
        for bit in 0..bytes.len() * 8 {
            let mut flipped = bytes;
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(Summary::decode(&flipped), None, "bit {bit}");
        }
        assert!(!summary.has_records_of(&Summary::default()));
        summary.take(&record().sealed());
        assert!(summary.has_records_of(&Summary::default()));
    }

    #[test]
    fn records_are_named_by_what_they_are_about() {
        let record = record();
        let named = Named(record.key()).to_string();
        assert_eq!(named, "subscription of \"s\" to topic \"t\"");
        assert_eq!(Named(("t", 0, b"")).to_string(), "topic \"t\"");
    }
}
