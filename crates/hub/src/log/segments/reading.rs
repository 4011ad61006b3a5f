//! Reads events of a log on disk, and finds positions.

use std::collections::VecDeque;
use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use floe::forwarding::EventsBuilder;

use super::super::clock;
use super::super::storage::StoredFile;
use super::super::{
    Damage, Gap, GapReason, LogError, Origin, Position, ReadBatch, ReadLimits, Stamp,
};
use super::{EventTime, Maintenance, POISONED, Shared};
use crate::core::log::{
    Cursor, Index, IndexEntry, Item, Located, PlausibleTimes, Record, Segment, Trailer,
    segment_name,
};

/// Where recent reads ended, so that a reader goes on without a search.
#[derive(Debug, Default)]
pub(super) struct Hints {
    recent: VecDeque<Hint>,
}

#[derive(Debug, Clone, Copy)]
struct Hint {
    /// The sequence that is read next.
    next: u64,
    segment: u64,
    offset: u64,
}

impl Hints {
    /// About one for each reader that is behind.
    const COUNT_MAX: usize = 64;

    /// Forgets a segment whose records have moved.
    pub(super) fn forget(&mut self, segment: u64) {
        self.recent.retain(|hint| hint.segment != segment);
    }

    fn note(&mut self, hint: Hint) {
        if self.recent.len() == Self::COUNT_MAX {
            self.recent.pop_front();
        }
        self.recent.push_back(hint);
    }

    fn find(&self, next: u64, segment: u64) -> Option<u64> {
        let mut newest_first = self.recent.iter().rev();
        let found = newest_first.find(|hint| hint.next == next && hint.segment == segment);
        found.map(|hint| hint.offset)
    }
}

/// A segment that is about to be read.
#[derive(Debug)]
pub(super) struct Source {
    first: u64,
    next: u64,
    records_end: u64,
    /// The mean length of its records, in bytes.
    record_len: u64,
    salt: u32,
    is_compacted: bool,
    /// The bounds of its times as readers see them, if the clock was wrong.
    times: Option<PlausibleTimes>,
    /// Where to begin. `None` if the index in the file must be asked.
    offset: Option<u64>,
    trailer: Option<Trailer>,
}

impl Source {
    pub(super) fn new(segment: &Segment, find: impl FnOnce(&[IndexEntry]) -> u64) -> Self {
        let (offset, trailer) = match &segment.index {
            Index::Kept(index) => (Some(find(index)), None),
            Index::InFile(trailer) => (None, Some(*trailer)),
        };
        Self {
            first: segment.first,
            next: segment.next,
            records_end: segment.records_end,
            record_len: segment.records_end / segment.events.max(1),
            salt: segment.salt,
            is_compacted: segment.is_compacted,
            times: None,
            offset,
            trailer,
        }
    }

    /// The cursor at the place where to begin.
    pub(super) fn cursor(
        &self,
        file: &dyn StoredFile,
        find: impl FnOnce(&[IndexEntry]) -> u64,
    ) -> io::Result<Cursor> {
        let offset = match (self.offset, self.trailer) {
            (Some(offset), _) => offset,
            (None, Some(trailer)) => find(&read_index(file, &trailer)?),
            (None, None) => find(&[]),
        };
        let sequences = self.first..self.next;
        Ok(Cursor::new(self.salt, offset, self.records_end, sequences))
    }
}

/// A segment that a read has opened.
struct Opened {
    source: Source,
    /// The first sequence that must not be read.
    visible: u64,
    file: io::Result<Box<dyn StoredFile>>,
}

/// The index of a finished segment. A damaged one is taken as empty: the segment is then read from its beginning.
fn read_index(file: &dyn StoredFile, trailer: &Trailer) -> io::Result<Vec<IndexEntry>> {
    let range = trailer.index_range();
    let mut bytes = vec![0; (range.end - range.start) as usize];
    let len = file.read_at(&mut bytes, range.start)?;
    Ok(trailer.parse_index(&bytes[..len]).unwrap_or_default())
}

pub(super) fn fill(
    cursor: &mut Cursor,
    file: &dyn StoredFile,
    wished_len: usize,
) -> io::Result<()> {
    let (room, offset) = cursor.room(wished_len);
    let room_len = room.len();
    let len = file.read_at(room, offset)?;
    cursor.filled(len, room_len);
    Ok(())
}

/// Events that are being read.
struct LogRead<'a> {
    limits: &'a ReadLimits,
    builder: EventsBuilder,
    stamps: Vec<Stamp>,
    bytes: usize,
    gap: Option<Gap>,
    /// The sequence that is read next.
    next: u64,
}

/// An event that is sought in a segment.
#[derive(Debug, Clone, Copy)]
enum Sought {
    /// The one behind this many others.
    After(u64),
    /// The first one of this time or later.
    Since(EventTime),
}

impl Sought {
    /// Where to begin.
    fn offset(&self, index: &[IndexEntry]) -> u64 {
        match *self {
            Self::After(_) => Segment::offset_of(index, 0),
            Self::Since(time) => Segment::offset_since(index, time),
        }
    }

    /// Returns true if the record is the event that is sought.
    fn is(&mut self, record: &Record<'_>) -> bool {
        match self {
            Self::After(0) => true,
            Self::After(left) => {
                *left -= 1;
                false
            }
            Self::Since(time) => record.time >= *time,
        }
    }
}

/// How a segment was left.
enum Left {
    /// There may be more to read in the next one.
    Finished,
    /// The read ends here.
    Full,
}

impl LogRead<'_> {
    /// Notes that the events up to a sequence are missing. Returns false if the read must end before them.
    fn skip(&mut self, to: u64, reason: GapReason) -> bool {
        if self.next >= to {
            return true;
        }
        if !self.stamps.is_empty() {
            return false;
        }
        match &mut self.gap {
            Some(gap) if gap.reason == reason => gap.sequences.end = to,
            Some(_) => return false,
            none => {
                *none = Some(Gap {
                    sequences: self.next..to,
                    reason,
                });
            }
        }
        self.next = to;
        true
    }

    /// Adds an event. Returns false if the limits do not allow it.
    fn add(&mut self, record: &Record<'_>, times: Option<PlausibleTimes>) -> bool {
        let is_first = self.stamps.is_empty();
        let fits = self.stamps.len() < self.limits.events
            && self.bytes + record.event.len() <= self.limits.bytes;
        if !is_first && !fits {
            return false;
        }
        let added = self.builder.push_with(|buffer| {
            buffer.extend_from_slice(record.event);
            Ok(())
        });
        if added.is_err() {
            // The limits allow more than 4 GiB: the rest comes with the next read.
            return false;
        }
        self.bytes += record.event.len();
        self.next = record.sequence + 1;
        let origin = record.origin.map(|origin| self.origin(origin));
        self.stamps.push(Stamp {
            is_forwarded: record.is_forwarded,
            sequence: record.sequence,
            time: times.map_or(record.time, |times| times.of(record.time)),
            origin,
        });
        true
    }

    /// How many bytes of a segment to read at a time: those of as many events as the limits still allow, and of the one behind them,
    /// which ends the read.
    fn wished_len(&self, source: &Source) -> usize {
        let left = self.limits.events.saturating_sub(self.stamps.len()) as u64;
        let records_len = left.saturating_add(1).saturating_mul(source.record_len);
        // Some are longer than the mean.
        let len = records_len.saturating_add(READ_LEN_MIN as u64 / 2);
        let max = self.limits.bytes.clamp(READ_LEN_MIN, READ_LEN_MAX);
        usize::try_from(len).map_or(max, |len| len.clamp(READ_LEN_MIN, max))
    }

    /// The origin of an event. Events of one publisher that follow one another share its name.
    fn origin(&self, (name, sequence): (&str, u64)) -> Origin {
        let last = self.stamps.last().and_then(|stamp| stamp.origin.as_ref());
        let publisher = match last {
            Some(last) if &*last.publisher == name => last.publisher.clone(),
            _ => Arc::from(name),
        };
        Origin {
            publisher,
            sequence,
        }
    }

    fn finish(mut self) -> ReadBatch {
        ReadBatch {
            events: self.builder.finish(),
            stamps: self.stamps,
            gap: self.gap,
            next: self.next,
        }
    }
}

impl Shared {
    pub(super) fn read(&self, from: u64, limits: &ReadLimits) -> Result<ReadBatch, LogError> {
        let mut reading = LogRead {
            limits,
            builder: EventsBuilder::default(),
            stamps: Vec::new(),
            bytes: 0,
            gap: None,
            next: from.max(1),
        };
        while let Some(opened) = self.source(&mut reading) {
            let (source, visible) = (opened.source, opened.visible);
            let file = match opened.file {
                Ok(file) => file,
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    self.note_damage(source.first, reading.next..source.next, "it is gone");
                    match reading.skip(source.next, GapReason::Damaged) {
                        true => continue,
                        false => break,
                    }
                }
                Err(error) => return Err(self.error("open", source.first, error)),
            };
            let read = self.read_segment(&source, &*file, visible, &mut reading);
            match read.map_err(|error| self.error("read", source.first, error))? {
                Left::Finished => {}
                Left::Full => break,
            }
        }
        Ok(reading.finish())
    }

    /// The segment where a read goes on. `None` if there is nothing more.
    fn source(&self, reading: &mut LogRead<'_>) -> Option<Opened> {
        let hints = self.hints.lock().expect(POISONED);
        let catalog = self.catalog();
        let visible = catalog.visible(reading.limits.level);
        if !reading.skip(catalog.floor.sequence, GapReason::Expired) {
            return None;
        }
        if reading.next >= visible {
            return None;
        }
        let segment = catalog.segment_from(reading.next);
        let Some((at, segment)) = segment.filter(|(_, segment)| segment.first < visible) else {
            // A failed sync lost the last events.
            reading.skip(visible, GapReason::Damaged);
            return None;
        };
        let is_oldest = catalog
            .segments
            .front()
            .is_some_and(|oldest| oldest.first == segment.first);
        let reason = match is_oldest {
            true => GapReason::Expired,
            false => GapReason::Damaged,
        };
        if !reading.skip(segment.first, reason) {
            return None;
        }
        let hint = hints.find(reading.next, segment.first);
        let next = reading.next;
        let mut source = Source::new(segment, |index| {
            hint.unwrap_or_else(|| Segment::offset_of(index, next))
        });
        source.offset = hint.or(source.offset);
        source.times = catalog.corrected_times(at, EventTime::now());
        // Opened as long as the catalog cannot change: the file is the one that the catalog describes.
        let file = self.storage.open(&segment_name(source.first));
        Some(Opened {
            source,
            visible,
            file,
        })
    }

    fn read_segment(
        &self,
        source: &Source,
        file: &dyn StoredFile,
        visible: u64,
        reading: &mut LogRead<'_>,
    ) -> io::Result<Left> {
        let mut cursor = source.cursor(file, |index| Segment::offset_of(index, reading.next))?;
        // Where damage begins that ends at the cursor.
        let mut bad_from = None;
        let left = loop {
            let offset = bad_from.unwrap_or(cursor.offset());
            match cursor.step() {
                Item::Wanted => fill(&mut cursor, file, reading.wished_len(source))?,
                Item::Bad(bytes) => bad_from = Some(bytes.start),
                Item::Record(record) if record.sequence < reading.next => bad_from = None,
                Item::Record(record) if record.sequence >= visible => break (Left::Full, offset),
                Item::Record(record) => {
                    let is_missing = bad_from.is_some() || !source.is_compacted;
                    if is_missing && record.sequence > reading.next {
                        self.note_damage(source.first, reading.next..record.sequence, CHANGED);
                        if !reading.skip(record.sequence, GapReason::Damaged) {
                            break (Left::Full, offset);
                        }
                    }
                    bad_from = None;
                    if !reading.add(&record, source.times) {
                        break (Left::Full, offset);
                    }
                }
                Item::End => {
                    let end = source.next.min(visible);
                    if reading.next < end && (bad_from.is_some() || !source.is_compacted) {
                        self.note_damage(source.first, reading.next..end, CHANGED);
                        if !reading.skip(end, GapReason::Damaged) {
                            break (Left::Full, offset);
                        }
                    }
                    reading.next = reading.next.max(end);
                    break (Left::Finished, offset);
                }
            }
        };
        let (left, offset) = left;
        self.note_hint(source, reading.next, offset);
        Ok(left)
    }

    /// Notes where a read ended, unless the segment has been written again meanwhile.
    fn note_hint(&self, source: &Source, next: u64, offset: u64) {
        let mut hints = self.hints.lock().expect(POISONED);
        let catalog = self.catalog();
        let is_same = |now: &Segment| {
            now.is_compacted == source.is_compacted
                && (!now.is_compacted || now.records_end == source.records_end)
        };
        if catalog.segment(source.first).is_some_and(is_same) {
            hints.note(Hint {
                next,
                segment: source.first,
                offset,
            });
        }
    }

    pub(super) fn locate(&self, position: Position) -> Result<u64, LogError> {
        let located = self.catalog().locate(position, EventTime::now());
        self.find(located)
    }

    /// The sequence at a place. It reads the segment if it must.
    fn find(&self, located: Located) -> Result<u64, LogError> {
        let (segment, mut sought) = match located {
            Located::At(sequence) => return Ok(sequence),
            Located::After { segment, skipped } => (segment, Sought::After(skipped)),
            Located::Since { segment, time } => (segment, Sought::Since(time)),
        };
        let (source, opened) = {
            let catalog = self.catalog();
            let Some(found) = catalog.segment(segment) else {
                // It expired in the meantime.
                return Ok(catalog.first());
            };
            let source = Source::new(found, |index| sought.offset(index));
            (source, self.storage.open(&segment_name(segment)))
        };
        let found = opened.and_then(|file| search(&source, &*file, &mut sought));
        let found = found.map_err(|error| self.error("read", segment, error))?;
        // It may have been dropped, and its file not yet.
        Ok(found.max(self.catalog().floor.sequence))
    }

    /// Drops the oldest events if there are more than the log keeps, those in segments that lack events included.
    pub(super) fn drop_surplus(&self) -> Result<(), LogError> {
        let Some(unknown) = self.catalog_mut().drop_surplus() else {
            return Ok(());
        };
        let opened = {
            let catalog = self.catalog();
            let Some(found) = catalog.segment(unknown.segment) else {
                return Ok(());
            };
            let source = Source::new(found, |index| Segment::offset_of(index, 0));
            (source, self.storage.open(&segment_name(unknown.segment)))
        };
        let (source, opened) = opened;
        let mut sought = Sought::After(unknown.passed);
        let found = opened.and_then(|file| search(&source, &*file, &mut sought));
        let found = found.map_err(|error| self.error("read", unknown.segment, error))?;
        self.catalog_mut().set_floor(found, unknown);
        Ok(())
    }

    /// Drops the events that are older than this by a hundredth or more: so a log that is always written is searched a hundred
    /// times in the age of its events, and not each second.
    pub(super) fn drop_old(
        &self,
        now: EventTime,
        age: Duration,
        maintenance: &mut Maintenance,
    ) -> Result<(), LogError> {
        let grace = age / 100;
        if clock::oldest(now, age.saturating_add(grace)) < maintenance.oldest {
            return Ok(());
        }
        let oldest = clock::oldest(now, age);
        let located = self.catalog().locate(Position::Time(oldest), now);
        let first = match located {
            Located::At(sequence) => sequence,
            Located::Since { segment, .. } if self.is_corrected(segment, now) => segment,
            located => self.find(located)?,
        };
        self.catalog_mut().drop_before(first);
        maintenance.oldest = oldest;
        Ok(())
    }

    /// Returns true if the clock was wrong when some events of a segment came: its records do not say how old they are.
    fn is_corrected(&self, segment: u64, now: EventTime) -> bool {
        let catalog = self.catalog();
        let at = catalog.segment_from(segment).map(|(at, _)| at);
        at.is_some_and(|at| catalog.corrected_times(at, now).is_some())
    }

    fn note_damage(&self, segment: u64, sequences: Range<u64>, what: &str) {
        let mut damage = self.damage.lock().expect(POISONED);
        let path = self.storage.path(&segment_name(segment));
        let is_known = damage.iter().any(|known| {
            known.path == path
                && known.sequences.start <= sequences.start
                && known.sequences.end >= sequences.end
        });
        if is_known || damage.len() >= DAMAGE_COUNT_MAX {
            return;
        }
        let found = Damage {
            path,
            sequences,
            what: what.to_owned(),
        };
        tracing::error!("{found}");
        damage.push(found);
    }
}

/// The sequence of the event that is sought, or the end of the segment.
fn search(source: &Source, file: &dyn StoredFile, sought: &mut Sought) -> io::Result<u64> {
    let mut cursor = source.cursor(file, |index| sought.offset(index))?;
    loop {
        match cursor.step() {
            Item::Wanted => fill(&mut cursor, file, READ_LEN_MAX)?,
            Item::Record(record) if sought.is(&record) => return Ok(record.sequence),
            Item::End => return Ok(source.next),
            Item::Record(_) | Item::Bad(_) => {}
        }
    }
}

const CHANGED: &str = "some of its records are no longer what was written";

/// At least this many bytes are read at a time, if there are as many.
const READ_LEN_MIN: usize = 4 << 10;

/// At most this many bytes are read at a time, unless a record is longer.
const READ_LEN_MAX: usize = 256 << 10;

/// More damage is not listed: the list must not grow with each read.
const DAMAGE_COUNT_MAX: usize = 1000;
