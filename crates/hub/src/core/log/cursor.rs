//! A cursor that walks over the records of a segment, and past damaged bytes.

use std::ops::Range;

use super::Record;
use super::record::Parsed;

/// Walks over the records of a segment. Its owner reads the bytes into [`Cursor::room`] when it gets [`Item::Wanted`].
#[derive(Debug)]
pub(crate) struct Cursor {
    /// Bytes of the segment, from `offset` on.
    bytes: Vec<u8>,
    /// How many of the bytes have been walked over.
    at: usize,
    /// Where the bytes stand in the segment.
    offset: u64,
    /// Where the records of the segment end at the latest.
    end: u64,
    /// Sequences that the next record may have.
    sequences: Range<u64>,
    /// How many bytes the next step needs.
    needed: usize,
    /// The number with which the checksums of the segment begin.
    salt: u32,
    /// Where the damage began that the cursor is walking over.
    bad_from: Option<u64>,
    /// How many more bytes may be checksummed in search of a record.
    search_left: usize,
    /// How many more bytes may be passed in search of a record.
    pass_left: usize,
}

/// The item at the cursor.
#[derive(Debug)]
pub(crate) enum Item<'a> {
    /// A record.
    Record(Record<'a>),
    /// These bytes are no record. The next item is a record or the end.
    Bad(Range<u64>),
    /// Bytes must be read first.
    Wanted,
    /// The records end here.
    End,
}

impl Cursor {
    /// A search for the next record after damage ends after this many bytes of checksums, and the rest of the segment
    /// counts as damaged. Bytes that only look like records would otherwise cost a checksum of the segment each.
    const SEARCH_MAX: usize = 1 << 30;
    /// All searches of a segment pass at most this many bytes: four segments. A file with a hole of terabytes would otherwise be
    /// read for hours.
    const PASSED_MAX: usize = 256 << 20;

    /// Begins at the record at an offset. Records end at `end` or before; their sequences are in this range, and rise.
    pub(crate) fn new(salt: u32, offset: u64, end: u64, sequences: Range<u64>) -> Self {
        Self {
            bytes: Vec::new(),
            at: 0,
            offset,
            end: end.max(offset),
            sequences,
            needed: Record::PREFIX_LEN,
            salt,
            bad_from: None,
            search_left: Self::SEARCH_MAX,
            pass_left: Self::PASSED_MAX,
        }
    }

    /// The offset at which the next item begins. At the end, the offset at which the records end.
    pub(crate) fn offset(&self) -> u64 {
        self.offset + self.at as u64
    }

    /// Room for the bytes that must be read next, and their offset in the segment. It has the wished length, unless
    /// more bytes are needed or the segment is shorter.
    pub(crate) fn room(&mut self, wished_len: usize) -> (&mut [u8], u64) {
        self.bytes.drain(..self.at);
        self.offset += self.at as u64;
        self.at = 0;
        let kept = self.bytes.len();
        let start = self.offset + kept as u64;
        let missing = self.needed.saturating_sub(kept).max(wished_len) as u64;
        let len = missing.min(self.end - start) as usize;
        self.bytes.resize(kept + len, 0);
        (&mut self.bytes[kept..], start)
    }

    /// Notes that the first `len` bytes of a room of `room_len` bytes have been read. If `len` is less, the segment is
    /// shorter than it seemed.
    pub(crate) fn filled(&mut self, len: usize, room_len: usize) {
        self.bytes.truncate(self.bytes.len() - (room_len - len));
        if len < room_len {
            self.end = self.offset + self.bytes.len() as u64;
        }
    }

    /// Takes the next step.
    pub(crate) fn step(&mut self) -> Item<'_> {
        if self.bad_from.is_some() {
            return self.search();
        }
        let rest = self.end - self.offset();
        if rest == 0 {
            return Item::End;
        }
        let len = match Record::parse(&self.bytes[self.at..], self.salt) {
            Parsed::Record(record, len) if self.sequences.contains(&record.sequence) => {
                self.sequences.start = record.sequence + 1;
                len
            }
            Parsed::Short(needed) if needed as u64 <= rest => {
                self.needed = needed;
                return Item::Wanted;
            }
            _ => {
                self.bad_from = Some(self.offset());
                self.at = self.bytes.len().min(self.at + 1);
                return self.search();
            }
        };
        let body = self.at + Record::PREFIX_LEN..self.at + len;
        self.at += len;
        self.needed = Record::PREFIX_LEN;
        Item::Record(Record::parse_body(&self.bytes[body]).expect("it was parsed above"))
    }

    /// Looks for the next record after damage.
    fn search(&mut self) -> Item<'_> {
        loop {
            let rest = self.end - self.offset();
            if rest < Record::HEAD_LEN as u64 || self.search_left == 0 || self.pass_left == 0 {
                let end = self.end;
                self.end = self.offset();
                return self.found(end);
            }
            let bytes = &self.bytes[self.at..];
            if bytes.len() < Record::HEAD_LEN {
                self.needed = Record::HEAD_LEN;
                return Item::Wanted;
            }
            if Record::may_begin(bytes, &self.sequences) {
                match Record::parse(bytes, self.salt) {
                    Parsed::Record(..) => return self.found(self.offset()),
                    Parsed::Short(needed) if needed as u64 <= rest => {
                        self.needed = needed;
                        return Item::Wanted;
                    }
                    _ => self.search_left = self.search_left.saturating_sub(Record::len_of(bytes)),
                }
            }
            self.at += 1;
            self.pass_left = self.pass_left.saturating_sub(1);
        }
    }

    fn found(&mut self, end: u64) -> Item<'_> {
        self.needed = Record::PREFIX_LEN;
        match self.bad_from.take() {
            Some(start) => Item::Bad(start..end),
            None => Item::End,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{EventTime, Stamp};
    use super::*;

    /// The records of the events 1 to `count`, and where each begins.
    fn records(count: u64) -> (Vec<u8>, Vec<usize>) {
        let mut bytes = Vec::new();
        let mut starts = Vec::new();
        for sequence in 1..=count {
            starts.push(bytes.len());
            let stamp = Stamp {
                is_forwarded: false,
                sequence,
                time: EventTime(sequence),
                origin: None,
            };
            let event = vec![sequence as u8; 3 * sequence as usize];
            Record::encode(&mut bytes, 3, &stamp, 1, &event);
        }
        (bytes, starts)
    }

    /// Returns the items that a cursor finds when it is given this many bytes at a time.
    fn walk(bytes: &[u8], wished_len: usize) -> (Vec<u64>, Vec<Range<u64>>, u64) {
        let mut cursor = Cursor::new(3, 0, bytes.len() as u64, 1..u64::MAX);
        let (mut sequences, mut bad) = (Vec::new(), Vec::new());
        loop {
            match cursor.step() {
                Item::Record(record) => sequences.push(record.sequence),
                Item::Bad(range) => bad.push(range),
                Item::End => return (sequences, bad, cursor.offset()),
                Item::Wanted => {
                    let (room, offset) = cursor.room(wished_len);
                    let len = room.len();
                    assert!(len > 0, "something is missing");
                    room.copy_from_slice(&bytes[offset as usize..][..len]);
                    cursor.filled(len, len);
                }
            }
        }
    }

    #[test]
    fn records_are_found_whatever_is_read_at_a_time() {
        let (bytes, _) = records(9);
        for wished_len in [1, 7, 64, 1 << 20] {
            let (sequences, bad, end) = walk(&bytes, wished_len);
            assert!(sequences.into_iter().eq(1..=9));
            assert_eq!((bad, end), (vec![], bytes.len() as u64));
        }
    }

    #[test]
    fn a_hole_of_any_length_is_not_searched_to_its_end() {
        let (bytes, _) = records(2);
        let mut cursor = Cursor::new(3, 0, u64::MAX / 2, 1..u64::MAX);
        cursor.pass_left = 4 << 20;
        let (mut found, mut read) = (0, 0);
        loop {
            match cursor.step() {
                Item::Record(_) => found += 1,
                Item::Bad(range) => assert_eq!(range, bytes.len() as u64..u64::MAX / 2),
                Item::End => break,
                Item::Wanted => {
                    let (room, offset) = cursor.room(1 << 20);
                    let len = room.len();
                    for (at, byte) in room.iter_mut().enumerate() {
                        *byte = bytes.get(offset as usize + at).copied().unwrap_or(0);
                    }
                    cursor.filled(len, len);
                    read += len;
                    assert!(read <= 8 << 20, "it does not end");
                }
            }
        }
        assert_eq!(found, 2);
    }

    #[test]
    fn every_changed_byte_costs_one_record_and_is_named() {
        let (bytes, starts) = records(6);
        for at in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[at] ^= 0x40;
            let hit = starts.partition_point(|start| *start <= at) - 1;
            let end = starts.get(hit + 1).copied().unwrap_or(bytes.len());
            for wished_len in [1, 1 << 20] {
                let (sequences, bad, _) = walk(&changed, wished_len);
                let expected = (1..=6).filter(|sequence| *sequence != hit as u64 + 1);
                assert!(
                    sequences.iter().copied().eq(expected),
                    "{at}: {sequences:?}"
                );
                assert_eq!(
                    (bad[0].start, bad[0].end),
                    (starts[hit] as u64, end as u64),
                    "{at}"
                );
                assert_eq!(bad.len(), 1, "{at}");
            }
        }
    }

    #[test]
    fn a_cut_segment_ends_with_its_last_whole_record() {
        let (bytes, starts) = records(4);
        for cut in 0..bytes.len() {
            let (sequences, bad, _) = walk(&bytes[..cut], 16);
            let whole = starts.partition_point(|start| *start <= cut) - 1;
            assert!(sequences.into_iter().eq(1..=whole as u64), "{cut}");
            let is_torn = starts[whole] < cut;
            assert_eq!(bad.len(), usize::from(is_torn), "{cut}: {bad:?}");
        }
    }
}
