//! The segments of a log, and which of them holds an event.

use std::collections::VecDeque;

use super::segment::{Header, IndexEntry, Trailer, indexed_offset};
use super::{EventTime, Level, Position, Retention};

/// The segments of a log, from the oldest to the one that is being written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Catalog {
    pub(crate) segments: VecDeque<Segment>,
    /// The sequence that the next event gets.
    pub(crate) next: u64,
    /// Every lower sequence is synced.
    pub(crate) synced: u64,
}

/// The facts about a segment that are known without reading it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Segment {
    /// The sequence of the first event that it may hold; also its name.
    pub(crate) first: u64,
    /// Where the segment before it ended.
    pub(crate) follows: u64,
    /// The sequence after its last.
    pub(crate) next: u64,
    pub(crate) events: u64,
    /// The time of its first event.
    pub(crate) first_time: EventTime,
    /// The time of its last event.
    pub(crate) last_time: EventTime,
    /// Where its records end.
    pub(crate) records_end: u64,
    pub(crate) salt: u32,
    /// True if events were left out because newer ones of their keys replaced them.
    pub(crate) is_compacted: bool,
    pub(crate) index: Index,
}

/// Where the index of a segment is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Index {
    /// Here: the segment is being written, or has no readable end.
    Kept(Vec<IndexEntry>),
    /// At the end of the file, as the trailer says.
    InFile(Trailer),
}

/// Where a position is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Located {
    /// At this sequence.
    At(u64),
    /// In the segment that begins with this sequence, after this many of its events.
    After { segment: u64, skipped: u64 },
    /// In the segment that begins with this sequence, at the first event of this time or later.
    Since { segment: u64, time: EventTime },
}

impl Catalog {
    /// The lowest sequence that may be kept. It is `next` if no event is kept.
    pub(crate) fn first(&self) -> u64 {
        let first = self.segments.iter().find(|segment| segment.events > 0);
        first.map_or(self.next, |segment| segment.first)
    }

    /// The lowest sequence that is not as safe as a level says.
    pub(crate) fn visible(&self, level: Level) -> u64 {
        match level {
            Level::Accepted | Level::Written => self.next,
            Level::Synced => self.synced,
        }
    }

    /// How many events are kept.
    pub(crate) fn events(&self) -> u64 {
        self.segments.iter().map(|segment| segment.events).sum()
    }

    /// The length of all files in bytes.
    pub(crate) fn bytes(&self) -> u64 {
        self.segments.iter().map(Segment::file_len).sum()
    }

    /// The events from a sequence on, and their bytes. Within a segment, events count as equally long.
    pub(crate) fn behind(&self, from: u64) -> (u64, u64) {
        let (mut events, mut bytes) = (0, 0);
        for segment in self.segments.iter().rev().take_while(|it| it.next > from) {
            let held = segment.next.saturating_sub(segment.first).max(1);
            let wanted = segment.next - from.max(segment.first);
            let share = |all: u64| (u128::from(all) * u128::from(wanted) / u128::from(held)) as u64;
            events += share(segment.events);
            bytes += share(segment.file_len());
        }
        (events, bytes)
    }

    /// The first segment that may hold an event with this sequence or a higher one, and its place.
    pub(crate) fn segment_from(&self, from: u64) -> Option<(usize, &Segment)> {
        let at = self
            .segments
            .partition_point(|segment| segment.next <= from);
        Some((at, self.segments.get(at)?))
    }

    /// The segment with this first sequence.
    pub(crate) fn segment(&self, first: u64) -> Option<&Segment> {
        let at = self
            .segments
            .partition_point(|segment| segment.first < first);
        self.segments
            .get(at)
            .filter(|segment| segment.first == first)
    }

    /// Where a position is.
    pub(crate) fn locate(&self, position: Position, now: EventTime) -> Located {
        match position {
            Position::First => Located::At(self.first()),
            Position::End => Located::At(self.next),
            // A position behind the end would let a reader miss the events up to there.
            Position::Sequence(sequence) => Located::At(sequence.max(1).min(self.next)),
            Position::Last(count) => self.locate_last(count),
            Position::Time(time) => {
                let bounds = self.plausible_times(now);
                let mut held = self.segments.iter().zip(bounds);
                let segment = held.find(|(segment, bounds)| {
                    segment.events > 0 && bounds.of(segment.last_time) >= time
                });
                segment.map_or(Located::At(self.next), |(segment, _)| Located::Since {
                    segment: segment.first,
                    time,
                })
            }
        }
    }

    fn locate_last(&self, count: u64) -> Located {
        let mut missing = count;
        for segment in self.segments.iter().rev() {
            if missing == 0 {
                break;
            }
            if segment.events >= missing {
                let skipped = segment.events - missing;
                let is_whole = segment.events == segment.next - segment.first;
                return match is_whole {
                    true => Located::At(segment.first + skipped),
                    false => Located::After {
                        segment: segment.first,
                        skipped,
                    },
                };
            }
            missing -= segment.events;
        }
        Located::At(match count {
            0 => self.next,
            _ => self.first(),
        })
    }

    /// The number of segments, from the oldest, that are no longer kept, `oldest` being the time of the oldest event that is
    /// kept. The last one stays, because it knows which sequence comes next.
    pub(crate) fn expired(
        &self,
        retention: &Retention,
        oldest: Option<EventTime>,
        now: EventTime,
    ) -> usize {
        let bounds = match oldest {
            Some(_) => self.plausible_times(now),
            None => Vec::new(),
        };
        let (mut bytes, mut events) = (self.bytes(), self.events());
        let mut count = 0;
        for (at, segment) in self
            .segments
            .iter()
            .take(self.segments.len().saturating_sub(1))
            .enumerate()
        {
            // The log without this segment.
            (bytes, events) = (bytes - segment.file_len(), events - segment.events);
            let last_time = bounds.get(at).map(|bounds| bounds.of(segment.last_time));
            let is_expired = oldest
                .zip(last_time)
                .is_some_and(|(oldest, last)| last < oldest)
                || retention.bytes.is_some_and(|max| bytes >= max)
                || retention.events.is_some_and(|max| events >= max);
            if !is_expired {
                break;
            }
            count += 1;
        }
        count
    }

    /// Returns true if the segment that is being written holds only events that are no longer kept, so that another
    /// must take its place.
    pub(crate) fn is_last_expired(&self, oldest: Option<EventTime>, now: EventTime) -> bool {
        let Some((last, oldest)) = self.segments.back().zip(oldest) else {
            return false;
        };
        // Its time may lie before that of the segment before it.
        let bounds = self.corrected_times(self.segments.len() - 1, now);
        let last_time = bounds.map_or(last.last_time, |bounds| bounds.of(last.last_time));
        last.events > 0 && last_time < oldest
    }
}

impl Segment {
    /// A segment that has just been created.
    pub(crate) fn created(header: &Header) -> Self {
        Self {
            first: header.first,
            follows: header.follows,
            next: header.first,
            events: 0,
            first_time: header.created,
            last_time: header.created,
            records_end: Header::LEN as u64,
            salt: header.salt,
            is_compacted: false,
            index: Index::Kept(Vec::new()),
        }
    }

    /// A segment that is no longer written.
    pub(crate) fn finished(trailer: Trailer, follows: u64) -> Self {
        Self {
            first: trailer.first,
            follows,
            next: trailer.next,
            events: trailer.events,
            first_time: trailer.first_time,
            last_time: trailer.last_time,
            records_end: trailer.records_end,
            salt: trailer.salt,
            is_compacted: trailer.is_compacted,
            index: Index::InFile(trailer),
        }
    }

    /// The trailer that it gets when it is no longer written.
    pub(crate) fn trailer(&self) -> Trailer {
        Trailer {
            records_end: self.records_end,
            index_count: 0,
            index_crc: 0,
            is_compacted: self.is_compacted,
            first: self.first,
            next: self.next,
            events: self.events,
            first_time: self.first_time,
            last_time: self.last_time,
            salt: self.salt,
        }
    }

    /// The index, as long as it is kept here.
    pub(crate) fn kept_index(&self) -> &[IndexEntry] {
        match &self.index {
            Index::Kept(entries) => entries,
            Index::InFile(_) => &[],
        }
    }

    /// Where to look for the first event with this sequence or a higher one, with the segment's index.
    pub(crate) fn offset_of(index: &[IndexEntry], sequence: u64) -> u64 {
        indexed_offset(index, |entry| entry.sequence <= sequence)
    }

    /// Where to look for the first event of this time or later, with the segment's index.
    pub(crate) fn offset_since(index: &[IndexEntry], time: EventTime) -> u64 {
        indexed_offset(index, |entry| entry.time < time)
    }

    /// The length of its file in bytes.
    pub(crate) fn file_len(&self) -> u64 {
        match &self.index {
            Index::Kept(_) => self.records_end,
            Index::InFile(trailer) => trailer.index_range().end + Trailer::LEN as u64,
        }
    }

    /// Notes records that have been written after the others.
    pub(crate) fn note_written(&mut self, written: &Written, index_bytes: u64) {
        if self.events == 0 {
            self.first_time = written.time;
        }
        self.last_time = written.last_time;
        self.events += written.events;
        self.next = written.next;
        self.records_end += written.len;
        if let Index::Kept(index) = &mut self.index {
            for entry in &written.index {
                let last = index.last();
                if last.is_none_or(|last| entry.offset >= last.offset + index_bytes) {
                    index.push(*entry);
                }
            }
        }
    }

    /// Forgets the records from an offset on, the first of which has this sequence.
    pub(crate) fn cut(&mut self, offset: u64, next: u64, events: u64) {
        self.records_end = offset;
        self.next = next;
        self.events = events;
        if let Index::Kept(index) = &mut self.index {
            index.retain(|entry| entry.offset < offset);
        }
    }
}

/// Records that have been written.
#[derive(Debug, Clone, Default)]
pub(crate) struct Written {
    /// The time of the first.
    pub(crate) time: EventTime,
    /// The time of the last.
    pub(crate) last_time: EventTime,
    pub(crate) events: u64,
    /// The sequence after the last.
    pub(crate) next: u64,
    /// Their length in bytes.
    pub(crate) len: u64,
    /// Where some of them stand.
    pub(crate) index: Vec<IndexEntry>,
}
