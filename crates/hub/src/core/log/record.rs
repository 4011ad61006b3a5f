//! A record: one event as it stands in a segment.

use std::ops::Range;

use super::{EVENT_LEN_MAX, EventTime, Origin, Stamp};

/// An event as it stands in a segment, with integers little-endian.
///
/// ```text
/// 0        4        8          16     24       32          34
/// | length | CRC32C | sequence | time | synced | publisher | name, number | event |
/// ```
///
/// `length` counts the bytes after the checksum, and the checksum covers them and `length`. It begins with the salt of
/// the segment, so that no publisher can hide a record in the bytes of an event. `publisher` is 0 if the
/// publisher does not number its events; otherwise it is the length of its name plus 1, and the name and its number of
/// the event (8 bytes) follow. The highest bit of `publisher` is set if the event came over a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Record<'a> {
    pub(crate) sequence: u64,
    pub(crate) time: EventTime,
    /// The lowest sequence that was not synced when this record was written. It tells a torn tail from damage: events
    /// below it have been on the disk.
    pub(crate) synced: u64,
    /// The publisher's name and its number of the event.
    pub(crate) origin: Option<(&'a str, u64)>,
    /// True if the event came over a link.
    pub(crate) is_forwarded: bool,
    pub(crate) event: &'a [u8],
}

/// The meaning of the bytes at an offset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Parsed<'a> {
    /// A record of this length in bytes.
    Record(Record<'a>, usize),
    /// More bytes are needed: at least this many in total.
    Short(usize),
    /// No record.
    Bad,
}

impl<'a> Record<'a> {
    /// The bytes before those that `length` counts.
    pub(crate) const PREFIX_LEN: usize = 8;
    /// The bytes before the name and the event.
    pub(crate) const HEAD_LEN: usize = 34;
    /// The longest record.
    pub(crate) const LEN_MAX: usize =
        Self::HEAD_LEN + Origin::NAME_LEN_MAX + Self::NUMBER_LEN + EVENT_LEN_MAX;
    const NUMBER_LEN: usize = 8;
    /// Added to `publisher` if the event came over a link.
    const FORWARDED: u16 = 1 << 15;

    /// Appends the record of an event.
    ///
    /// # Panics
    /// If the event or the name of its publisher is longer than a log takes.
    pub(crate) fn encode(
        buffer: &mut Vec<u8>,
        salt: u32,
        stamp: &Stamp,
        synced: u64,
        event: &[u8],
    ) {
        let name = stamp.origin.as_ref().map(|origin| &*origin.publisher);
        let name_len = name.map_or(0, |name| name.len() + Self::NUMBER_LEN);
        let len = Self::HEAD_LEN - Self::PREFIX_LEN + name_len + event.len();
        assert!(
            Self::PREFIX_LEN + len <= Self::LEN_MAX,
            "the event was checked"
        );
        let start = buffer.len();
        buffer.reserve(Self::PREFIX_LEN + len);
        buffer.extend_from_slice(&(len as u32).to_le_bytes());
        buffer.extend_from_slice(&[0; 4]);
        buffer.extend_from_slice(&stamp.sequence.to_le_bytes());
        buffer.extend_from_slice(&stamp.time.0.to_le_bytes());
        buffer.extend_from_slice(&synced.to_le_bytes());
        let forwarded = if stamp.is_forwarded {
            Self::FORWARDED
        } else {
            0
        };
        let publisher = name.map_or(0, |name| name.len() as u16 + 1) | forwarded;
        buffer.extend_from_slice(&publisher.to_le_bytes());
        if let Some(origin) = &stamp.origin {
            buffer.extend_from_slice(origin.publisher.as_bytes());
            buffer.extend_from_slice(&origin.sequence.to_le_bytes());
        }
        buffer.extend_from_slice(event);
        let crc = checksum(
            salt,
            &buffer[start..start + 4],
            &buffer[start + Self::PREFIX_LEN..],
        );
        buffer[start + 4..start + 8].copy_from_slice(&crc.to_le_bytes());
    }

    /// The facts about the event, apart from its bytes.
    pub(crate) fn stamp(&self) -> Stamp {
        Stamp {
            is_forwarded: self.is_forwarded,
            sequence: self.sequence,
            time: self.time,
            origin: self.origin.map(|(name, sequence)| Origin {
                publisher: name.into(),
                sequence,
            }),
        }
    }

    /// Parses the record that the bytes begin with. The bytes may come from anywhere.
    pub(crate) fn parse(bytes: &'a [u8], salt: u32) -> Parsed<'a> {
        let Some(prefix) = bytes.first_chunk::<{ Record::PREFIX_LEN }>() else {
            return Parsed::Short(Self::PREFIX_LEN);
        };
        let len = u32_at(prefix, 0) as usize;
        if !(Self::HEAD_LEN - Self::PREFIX_LEN..=Self::LEN_MAX - Self::PREFIX_LEN).contains(&len) {
            return Parsed::Bad;
        }
        let Some(body) = bytes.get(Self::PREFIX_LEN..Self::PREFIX_LEN + len) else {
            return Parsed::Short(Self::PREFIX_LEN + len);
        };
        if checksum(salt, &prefix[..4], body) != u32_at(prefix, 4) {
            return Parsed::Bad;
        }
        match Self::parse_body(body) {
            Some(record) => Parsed::Record(record, Self::PREFIX_LEN + len),
            None => Parsed::Bad,
        }
    }

    /// Returns true if the bytes can begin a record with a sequence in this range. This is a quick look, without the
    /// checksum.
    pub(crate) fn may_begin(bytes: &[u8], sequences: &Range<u64>) -> bool {
        bytes.len() >= Self::HEAD_LEN
            && (u32_at(bytes, 0) as usize) <= Self::LEN_MAX - Self::PREFIX_LEN
            && sequences.contains(&u64_at(bytes, 8))
    }

    /// The length of the record that these bytes seem to begin.
    pub(super) fn len_of(bytes: &[u8]) -> usize {
        Self::PREFIX_LEN + u32_at(bytes, 0) as usize
    }

    /// Parses the bytes after the checksum, which has been checked.
    pub(super) fn parse_body(body: &'a [u8]) -> Option<Self> {
        let (head, rest) = body.split_at_checked(Self::HEAD_LEN - Self::PREFIX_LEN)?;
        let publisher = u16::from_le_bytes([head[24], head[25]]);
        let name_len = usize::from(publisher & !Self::FORWARDED);
        let (origin, event) = match name_len {
            0 => (None, rest),
            _ => {
                let (name, rest) = rest.split_at_checked(name_len - 1)?;
                let (number, event) = rest.split_at_checked(Self::NUMBER_LEN)?;
                (Some((str::from_utf8(name).ok()?, u64_at(number, 0))), event)
            }
        };
        Some(Self {
            sequence: u64_at(head, 0),
            time: EventTime(u64_at(head, 8)),
            synced: u64_at(head, 16),
            origin,
            is_forwarded: publisher & Self::FORWARDED != 0,
            event,
        })
    }
}

/// The CRC32C of the parts, one after the other, with a salt.
pub(super) fn checksum(salt: u32, first: &[u8], second: &[u8]) -> u32 {
    crc32c::crc32c_append(crc32c::crc32c_append(salt, first), second)
}

/// The integer at an offset.
///
/// # Panics
/// If the bytes are too short: the caller has checked their length.
pub(super) fn u32_at(bytes: &[u8], offset: usize) -> u32 {
    let bytes = bytes[offset..]
        .first_chunk()
        .expect("the length was checked");
    u32::from_le_bytes(*bytes)
}

/// The integer at an offset.
///
/// # Panics
/// If the bytes are too short: the caller has checked their length.
pub(super) fn u64_at(bytes: &[u8], offset: usize) -> u64 {
    let bytes = bytes[offset..]
        .first_chunk()
        .expect("the length was checked");
    u64::from_le_bytes(*bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stamp(origin: Option<Origin>) -> Stamp {
        Stamp {
            is_forwarded: false,
            sequence: 0x0102_0304_0506_0708,
            time: EventTime(99),
            origin,
        }
    }

    #[test]
    fn a_record_has_its_layout() {
        let mut bytes = Vec::new();
        let origin = Some(Origin {
            publisher: "p".into(),
            sequence: 5,
        });
        Record::encode(&mut bytes, 3, &stamp(origin), 7, b"event");
        assert_eq!(bytes[0..4], 40_u32.to_le_bytes());
        assert_eq!(bytes[8..16], [8, 7, 6, 5, 4, 3, 2, 1]);
        assert_eq!(
            bytes[16..34],
            *b"\x63\0\0\0\0\0\0\0\x07\0\0\0\0\0\0\0\x02\0"
        );
        assert_eq!(bytes[34..], *b"p\x05\0\0\0\0\0\0\0event");
        let Parsed::Record(record, len) = Record::parse(&bytes, 3) else {
            panic!("it is a record");
        };
        assert_eq!(len, bytes.len());
        assert_eq!(record.origin, Some(("p", 5)));
        assert_eq!((record.synced, record.event), (7, &b"event"[..]));
    }

    #[test]
    fn no_changed_or_cut_record_is_taken_for_one() {
        let mut bytes = Vec::new();
        Record::encode(&mut bytes, 3, &stamp(None), 1, b"an event");
        for cut in 0..bytes.len() {
            assert!(
                matches!(Record::parse(&bytes[..cut], 3), Parsed::Short(_)),
                "{cut}"
            );
        }
        for bit in 0..bytes.len() * 8 {
            let mut changed = bytes.clone();
            changed[bit / 8] ^= 1 << (bit % 8);
            let is_taken = matches!(Record::parse(&changed, 3), Parsed::Record(..));
            assert!(!is_taken, "bit {bit}");
        }
        assert_eq!(Record::parse(&bytes, 4), Parsed::Bad);
    }
}
