//! A segment: the file that holds a range of a log.

use std::ops::Range;

use super::record::{checksum, u32_at, u64_at};
use super::{EventTime, Record};

/// The name of the segment that begins with a sequence.
pub(crate) fn segment_name(first: u64) -> String {
    format!("{first:020}{SUFFIX}")
}

/// The sequence that a segment with this name begins with. `None` if it is not the name of a segment.
pub(crate) fn segment_first(name: &str) -> Option<u64> {
    let digits = name.strip_suffix(SUFFIX)?;
    let is_number = digits.len() == 20 && digits.bytes().all(|byte| byte.is_ascii_digit());
    let first = is_number.then(|| digits.parse().ok())?;
    first.filter(|first| *first <= SEQUENCE_MAX)
}

/// The largest sequence of an event. No log comes near it. A file that claims more is damaged, or does not belong to a
/// log, and would let the next sequences overflow.
pub(crate) const SEQUENCE_MAX: u64 = 1 << 62;

const SUFFIX: &str = ".log";

/// The header of a segment, which begins with it twice. Integers are little-endian.
///
/// ```text
/// 0       8       16        24        32     36       40
/// | magic | first | follows | created | salt | CRC32C |
/// ```
///
/// Records follow. The second copy of the header is there because no record can be read without the salt. A segment
/// that is no longer written ends with its index and a [`Trailer`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Header {
    /// The sequence of the first event that the segment may hold.
    pub(crate) first: u64,
    /// Where the segment before this one ended. The events between are lost, and the log knew it.
    pub(crate) follows: u64,
    pub(crate) created: EventTime,
    /// The salt of the checksums of the records: a random number.
    pub(crate) salt: u32,
}

impl Header {
    /// The length of both copies.
    pub(crate) const LEN: usize = 2 * Self::COPY_LEN;
    const COPY_LEN: usize = 40;
    const MAGIC: &[u8; 8] = b"FLOELOG\x01";

    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut bytes = Self::MAGIC.to_vec();
        for field in [self.first, self.follows, self.created.0] {
            bytes.extend_from_slice(&field.to_le_bytes());
        }
        bytes.extend_from_slice(&self.salt.to_le_bytes());
        bytes.extend_from_slice(&checksum(0, &bytes, &[]).to_le_bytes());
        bytes.repeat(2)
    }

    /// Parses the header that a file begins with. `None` if neither copy is whole.
    pub(crate) fn parse(bytes: &[u8]) -> Option<Self> {
        let mut copies = bytes.chunks_exact(Self::COPY_LEN).take(2);
        copies.find_map(Self::parse_copy)
    }

    fn parse_copy(bytes: &[u8]) -> Option<Self> {
        let is_whole =
            bytes.starts_with(Self::MAGIC) && checksum(0, &bytes[..36], &[]) == u32_at(bytes, 36);
        let header = is_whole.then(|| Self {
            first: u64_at(bytes, 8),
            follows: u64_at(bytes, 16),
            created: EventTime(u64_at(bytes, 24)),
            salt: u32_at(bytes, 32),
        });
        header.filter(|header| header.first.max(header.follows) <= SEQUENCE_MAX)
    }
}

/// The offset of a record. An index has an entry for the first record, and then one for every few kilobytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct IndexEntry {
    pub(crate) sequence: u64,
    pub(crate) time: EventTime,
    /// From the beginning of the file.
    pub(crate) offset: u64,
}

impl IndexEntry {
    pub(crate) const LEN: usize = 24;
}

/// The end of a segment that is no longer written, integers little-endian. The index stands before it.
///
/// ```text
/// index:   | 0xFFFFFFFF | count | sequence, time, offset | ...
/// trailer: | records end | count | CRC32C of the index | flags | CRC32C |
///          0             8       12                    16      20       24
///          | first | next | events | first time | last time | salt | 0  | magic |
///          24      32     40       48           56          64     68   72      80
/// ```
///
/// The checksum of the trailer covers it without the checksum itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Trailer {
    /// Where the records end and the index begins.
    pub(crate) records_end: u64,
    /// The number of entries in the index.
    pub(crate) index_count: u32,
    pub(crate) index_crc: u32,
    /// True if events were left out because newer ones of their keys replaced them.
    pub(crate) is_compacted: bool,
    /// The sequence of the first event that the segment may hold.
    pub(crate) first: u64,
    /// The sequence after its last.
    pub(crate) next: u64,
    /// How many events it holds.
    pub(crate) events: u64,
    pub(crate) first_time: EventTime,
    pub(crate) last_time: EventTime,
    /// The salt of the checksums of the records, as in the [`Header`].
    pub(crate) salt: u32,
}

impl Trailer {
    pub(crate) const LEN: usize = 80;
    const MAGIC: &[u8; 8] = b"FLOEEND\x01";
    const COMPACTED: u32 = 1;
    /// The length of the head of the index, before its entries.
    const INDEX_HEAD_LEN: usize = 8;
    /// A length that no record has.
    const INDEX_MARK: u32 = u32::MAX;

    /// The index and the trailer. The fields of the trailer that say how long the index is are set.
    pub(crate) fn encode(mut self, index: &[IndexEntry]) -> Vec<u8> {
        let index = encode_index(index);
        self.index_count = ((index.len() - Self::INDEX_HEAD_LEN) / IndexEntry::LEN) as u32;
        self.index_crc = checksum(0, &index, &[]);
        let mut bytes = Vec::with_capacity(Self::LEN);
        bytes.extend_from_slice(&self.records_end.to_le_bytes());
        let flags = if self.is_compacted {
            Self::COMPACTED
        } else {
            0
        };
        for field in [self.index_count, self.index_crc, flags, 0] {
            bytes.extend_from_slice(&field.to_le_bytes());
        }
        let times = [self.first_time.0, self.last_time.0];
        for field in [self.first, self.next, self.events].iter().chain(&times) {
            bytes.extend_from_slice(&field.to_le_bytes());
        }
        for field in [self.salt, 0] {
            bytes.extend_from_slice(&field.to_le_bytes());
        }
        bytes.extend_from_slice(Self::MAGIC);
        let crc = checksum(0, &bytes[..20], &bytes[24..]);
        bytes[20..24].copy_from_slice(&crc.to_le_bytes());
        [index, bytes].concat()
    }

    /// Parses the trailer that a file of this length ends with. Returns `None` if it has no trailer: the segment was
    /// not finished, or it is damaged.
    pub(crate) fn parse(last_bytes: &[u8], file_len: u64) -> Option<Self> {
        let bytes = last_bytes.last_chunk::<{ Self::LEN }>()?;
        let is_whole = bytes.ends_with(Self::MAGIC)
            && checksum(0, &bytes[..20], &bytes[24..]) == u32_at(bytes, 20);
        let trailer = is_whole.then(|| Self {
            records_end: u64_at(bytes, 0),
            index_count: u32_at(bytes, 8),
            index_crc: u32_at(bytes, 12),
            is_compacted: u32_at(bytes, 16) & Self::COMPACTED != 0,
            first: u64_at(bytes, 24),
            next: u64_at(bytes, 32),
            events: u64_at(bytes, 40),
            first_time: EventTime(u64_at(bytes, 48)),
            last_time: EventTime(u64_at(bytes, 56)),
            salt: u32_at(bytes, 64),
        })?;
        let len = trailer.records_end.checked_add(trailer.footer_len())?;
        let is_sane = len == file_len
            && trailer.records_end >= Header::LEN as u64
            && trailer.next <= SEQUENCE_MAX
            && trailer.next.checked_sub(trailer.first)? >= trailer.events;
        is_sane.then_some(trailer)
    }

    /// Where the index stands in the file.
    pub(crate) fn index_range(&self) -> Range<u64> {
        let len =
            Self::INDEX_HEAD_LEN as u64 + u64::from(self.index_count) * IndexEntry::LEN as u64;
        self.records_end..self.records_end.saturating_add(len)
    }

    /// Parses the bytes of [`Trailer::index_range`]. `None` if they are damaged.
    pub(crate) fn parse_index(&self, bytes: &[u8]) -> Option<Vec<IndexEntry>> {
        if checksum(0, bytes, &[]) != self.index_crc {
            return None;
        }
        let entries = bytes
            .get(Self::INDEX_HEAD_LEN..)?
            .chunks_exact(IndexEntry::LEN);
        let parsed = entries.map(|entry| IndexEntry {
            sequence: u64_at(entry, 0),
            time: EventTime(u64_at(entry, 8)),
            offset: u64_at(entry, 16),
        });
        Some(parsed.collect())
    }

    fn footer_len(&self) -> u64 {
        let index = self.index_range();
        index.end - index.start + Self::LEN as u64
    }
}

fn encode_index(index: &[IndexEntry]) -> Vec<u8> {
    let mut bytes = Trailer::INDEX_MARK.to_le_bytes().to_vec();
    bytes.extend_from_slice(&(index.len() as u32).to_le_bytes());
    for entry in index {
        for field in [entry.sequence, entry.time.0, entry.offset] {
            bytes.extend_from_slice(&field.to_le_bytes());
        }
    }
    bytes
}

/// Where to look for an event: at the last entry for which `is_before` holds, or at the first record.
pub(crate) fn indexed_offset(index: &[IndexEntry], is_before: impl Fn(&IndexEntry) -> bool) -> u64 {
    let at = index.partition_point(is_before);
    let entry = at.checked_sub(1).and_then(|at| index.get(at));
    entry.map_or(Header::LEN as u64, |entry| entry.offset)
}

// A trailer must not be taken for the beginning of a record.
const _: () = assert!(Trailer::INDEX_MARK as usize > Record::LEN_MAX);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_sort_by_sequence_and_no_other_file_has_one() {
        let last = SEQUENCE_MAX;
        assert_eq!(segment_first(&segment_name(last)), Some(last));
        for beyond in [last + 1, u64::MAX] {
            assert_eq!(segment_first(&segment_name(beyond)), None);
        }
        assert!(segment_name(9) < segment_name(10));
        for name in [
            "1.log",
            "+0000000000000000001.log",
            "lock",
            "99999999999999999999.log",
        ] {
            assert_eq!(segment_first(name), None, "{name}");
        }
    }

    #[test]
    fn headers_and_trailers_survive_and_changed_ones_do_not() {
        let header = Header {
            first: 3,
            follows: 2,
            created: EventTime(1),
            salt: 77,
        };
        let bytes = header.encode();
        assert_eq!(Header::parse(&bytes), Some(header));
        let entry = |sequence| IndexEntry {
            sequence,
            time: EventTime(sequence * 10),
            offset: 40 + sequence,
        };
        let index = [entry(3), entry(5)];
        let trailer = Trailer {
            records_end: 100,
            index_count: 2,
            index_crc: 0,
            is_compacted: true,
            first: 3,
            next: 9,
            events: 4,
            first_time: EventTime(30),
            last_time: EventTime(60),
            salt: 77,
        };
        let footer = trailer.encode(&index);
        let len = 100 + footer.len() as u64;
        let parsed = Trailer::parse(&footer, len).expect("it is whole");
        let index_len = (parsed.index_range().end - parsed.index_range().start) as usize;
        assert_eq!(
            parsed.parse_index(&footer[..index_len]),
            Some(index.to_vec())
        );
        assert_eq!(
            Trailer {
                index_crc: 0,
                ..parsed
            },
            trailer
        );
        assert_eq!(Trailer::parse(&footer, len + 1), None);
        for bit in 0..Header::COPY_LEN * 8 {
            let mut changed = bytes.clone();
            changed[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(Header::parse(&changed), Some(header));
            changed[Header::COPY_LEN + 5] ^= 1;
            assert_eq!(Header::parse(&changed), None);
        }
        for bit in 0..footer.len() * 8 {
            let mut changed = footer.clone();
            changed[bit / 8] ^= 1 << (bit % 8);
            let index = Trailer::parse(&changed, len)
                .and_then(|trailer| trailer.parse_index(&changed[..index_len]));
            assert_eq!(index, None, "bit {bit}");
        }
    }
}
