//! Leaves out events that newer ones of their keys have replaced.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};

use super::catalog::{Index, Segment};
use super::segment::{Header, IndexEntry, Trailer};
use super::{Division, PerKey, Record, Stamp};
use crate::core::context::value_of;

/// Decides which events stay: the newest of each key. It first counts all events of a log, and then decides about each,
/// in the same order.
#[derive(Debug)]
pub(crate) struct Compaction {
    per_key: PerKey,
    hashers: [RandomState; 2],
    /// How many events of each key are still to come. Keys are known by a hash of 128 bits.
    counts: HashMap<[u64; 2], u64>,
}

impl Compaction {
    /// The maximum number of keys. Events of further keys stay. This limits the memory to some 50 MB.
    const KEYS_MAX: usize = 1 << 20;

    pub(crate) fn new(per_key: PerKey, hashers: [RandomState; 2]) -> Self {
        Self {
            per_key,
            hashers,
            counts: HashMap::new(),
        }
    }

    /// Counts an event.
    pub(crate) fn count(&mut self, event: &[u8]) {
        if let Some(key) = self.key(event)
            && (self.counts.len() < Self::KEYS_MAX || self.counts.contains_key(&key))
        {
            *self.counts.entry(key).or_default() += 1;
        }
    }

    /// Returns true if an event stays.
    pub(crate) fn keeps(&mut self, event: &[u8]) -> bool {
        let count = self.key(event).and_then(|key| self.counts.get_mut(&key));
        match count {
            Some(count) if *count > self.per_key.count.max(1) => {
                *count -= 1;
                false
            }
            _ => true,
        }
    }

    fn key(&self, event: &[u8]) -> Option<[u64; 2]> {
        let key = value_of(event, &self.per_key.context_key)?;
        Some([self.hashers[0].hash_one(key), self.hashers[1].hash_one(key)])
    }
}

/// A segment that is written again without some of its events.
#[derive(Debug)]
pub(crate) struct Compacted {
    segment: Segment,
    division: Division,
    /// Bytes that have not been written yet, and where they stand.
    bytes: Vec<u8>,
    offset: u64,
}

impl Compacted {
    /// Begins with a segment that is no longer written.
    pub(crate) fn new(of: &Segment, division: Division) -> Self {
        let header = Header {
            first: of.first,
            follows: of.follows,
            created: of.first_time,
            salt: of.salt,
        };
        let mut segment = Segment::created(&header);
        segment.is_compacted = true;
        segment.last_time = of.last_time;
        segment.next = of.next;
        Self {
            segment,
            division,
            bytes: header.encode(),
            offset: 0,
        }
    }

    /// Adds an event that stays.
    pub(crate) fn add(&mut self, record: &Record<'_>, stamp: &Stamp) {
        let segment = &mut self.segment;
        if segment.events == 0 {
            segment.first_time = record.time;
        }
        segment.events += 1;
        let offset = segment.records_end;
        if let Index::Kept(index) = &mut segment.index {
            let is_far = |last: &IndexEntry| offset >= last.offset + self.division.index_bytes;
            if index.last().is_none_or(is_far) {
                index.push(IndexEntry {
                    sequence: record.sequence,
                    time: record.time,
                    offset,
                });
            }
        }
        let start = self.bytes.len();
        Record::encode(
            &mut self.bytes,
            segment.salt,
            stamp,
            record.synced,
            record.event,
        );
        segment.records_end += (self.bytes.len() - start) as u64;
    }

    /// The bytes that can be written now, and where: none until there are many.
    pub(crate) fn take(&mut self) -> Option<(Vec<u8>, u64)> {
        if self.bytes.len() < Self::WRITTEN_MIN {
            return None;
        }
        let bytes = std::mem::take(&mut self.bytes);
        let offset = self.offset;
        self.offset += bytes.len() as u64;
        Some((bytes, offset))
    }

    /// The segment, and its last bytes with the place where they stand.
    pub(crate) fn finish(mut self) -> Option<(Segment, Vec<u8>, u64)> {
        let footer = self.segment.trailer().encode(self.segment.kept_index());
        let len = self.segment.records_end + footer.len() as u64;
        let trailer = Trailer::parse(&footer, len)?;
        self.segment.index = Index::InFile(trailer);
        self.bytes.extend_from_slice(&footer);
        Some((self.segment, self.bytes, self.offset))
    }

    const WRITTEN_MIN: usize = 1 << 20;
}
