//! The recovery of a log: its contents, judged by the files that were found.

use std::ops::Range;

use super::catalog::{Catalog, Index, Segment};
use super::cursor::{Cursor, Item};
use super::floor::Floor;
use super::segment::{Header, IndexEntry, SEQUENCE_MAX, Trailer};
use super::{Division, EventTime};

/// Puts a log together from its files, which are given in the order of their names.
#[derive(Debug)]
pub(crate) struct Recovery {
    segments: Vec<Segment>,
    damage: Vec<FoundDamage>,
    next: u64,
    is_last_open: bool,
}

/// Damage that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FoundDamage {
    /// The segment, by its first sequence.
    pub(crate) segment: u64,
    /// The sequences that are missing.
    pub(crate) sequences: Range<u64>,
    pub(crate) what: String,
}

/// The next step for a file.
#[derive(Debug)]
pub(crate) enum Examined {
    /// Nothing: it is finished, and its trailer says what it holds.
    Finished,
    /// Its records must be read: give it to [`Recovery::take_scanned`] then.
    Scan(Box<Scan>),
    /// It cannot be read. If it is the last one and has no records, its creation was interrupted.
    Unreadable,
}

/// Instructions for the last file after it was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Tail {
    /// The file must end here.
    pub(crate) end: u64,
    /// From here on its bytes must be written again. A sync that failed in an earlier process may have left them in the
    /// memory of the operating system only, and marked as if they were on the disk.
    pub(crate) unsure_from: u64,
}

impl Recovery {
    pub(crate) fn new() -> Self {
        Self {
            segments: Vec::new(),
            damage: Vec::new(),
            next: 1,
            is_last_open: false,
        }
    }

    /// Judges a file by its name, its length, its first [`Header::LEN`] bytes and its last [`Trailer::LEN`] bytes, as far
    /// as it has them.
    pub(crate) fn examine(
        &mut self,
        first: u64,
        file_len: u64,
        head: &[u8],
        tail: &[u8],
        is_last: bool,
    ) -> Examined {
        let header = Header::parse(head).filter(|header| header.first == first);
        let trailer = Trailer::parse(tail, file_len).filter(|trailer| trailer.first == first);
        let follows = header.map_or(first, |header| header.follows);
        match (header, trailer) {
            // The last one is read even if it is finished: its trailer may have reached the disk before its records.
            (Some(header), trailer) if is_last || trailer.is_none() => {
                Examined::Scan(Box::new(Scan::new(&header, trailer, file_len)))
            }
            (_, Some(trailer)) if !is_last || trailer.events > 0 => {
                self.add(Segment::finished(trailer, follows));
                Examined::Finished
            }
            _ => Examined::Unreadable,
        }
    }

    /// Notes a file whose creation was interrupted.
    pub(crate) fn take_interrupted(&mut self, first: u64) {
        self.next = self.next.max(first);
    }

    /// Notes a file that cannot be read.
    pub(crate) fn take_unreadable(&mut self, first: u64) {
        self.damage.push(FoundDamage {
            segment: first,
            // The next file tells where it ends.
            sequences: first..first,
            what: "neither its beginning nor its end can be read".to_owned(),
        });
        self.next = self.next.max(first);
    }

    /// Takes a segment that is not the last one, and has been read because it has no readable end.
    pub(crate) fn take_scanned(&mut self, scan: Scan) {
        let Scan { segment, bad, .. } = scan;
        let what = "its end cannot be read, and some of its records are no longer what was written";
        self.damage.extend(bad.iter().map(|bad| FoundDamage {
            segment: segment.first,
            sequences: bad.sequences.clone(),
            what: what.to_owned(),
        }));
        self.add(segment);
    }

    /// Takes the last segment. `None` if it cannot follow those before it.
    pub(crate) fn take_last(&mut self, scan: Scan) -> Option<Tail> {
        let torn = scan.torn_from();
        let Scan {
            mut segment,
            trailer,
            file_len,
            bad,
            synced,
            ..
        } = scan;
        let kept = torn.as_ref().map_or(bad.len(), |torn| torn.at);
        self.damage
            .extend(bad[..kept].iter().map(|bad| FoundDamage {
                segment: segment.first,
                sequences: bad.sequences.clone(),
                what: "some of its records are no longer what was written".to_owned(),
            }));
        if let Some(torn) = torn {
            segment.cut(torn.offset, torn.next, torn.events);
            segment.last_time = torn.last_time;
        }
        let unsure_from = match Segment::offset_of(segment.kept_index(), synced) {
            // Its header, too.
            start if start <= Header::LEN as u64 => 0,
            offset => offset.min(segment.records_end),
        };
        // Writing continues in an empty one, because the next one would have its name.
        let trailer = trailer.filter(|trailer| torn.is_none() && trailer.events > 0);
        let end = trailer.map_or(segment.records_end, |_| file_len);
        if let Some(trailer) = trailer {
            segment = Segment::finished(trailer, segment.follows);
        }
        let is_added = self.add(segment);
        self.is_last_open = is_added && trailer.is_none();
        is_added.then_some(Tail { end, unsure_from })
    }

    /// Returns the contents of the log, true if its last segment is still being written, and the damage.
    pub(crate) fn finish(self) -> (Catalog, bool, Vec<FoundDamage>) {
        let catalog = Catalog {
            segments: self.segments.into(),
            next: self.next,
            synced: self.next,
            floor: Floor::default(),
            events_max: None,
        };
        (catalog, self.is_last_open, self.damage)
    }

    /// Adds a segment. Returns false if it cannot follow those before it.
    fn add(&mut self, segment: Segment) -> bool {
        let is_first = self.segments.is_empty() && self.damage.is_empty();
        if segment.first < self.next && !is_first {
            self.damage.push(FoundDamage {
                segment: segment.first,
                sequences: segment.first..segment.first,
                what: format!(
                    "it begins before the segment that precedes it ends, at {}",
                    self.next
                ),
            });
            return false;
        }
        if segment.follows > self.next && !is_first {
            self.note_missing(segment.follows);
        }
        self.next = self.next.max(segment.next);
        self.is_last_open = false;
        self.segments.push(segment);
        true
    }

    /// Notes that the events before this sequence should have been found by now.
    fn note_missing(&mut self, follows: u64) {
        let missing = self.next..follows;
        match self.damage.last_mut() {
            Some(last) if last.sequences == (self.next..self.next) => last.sequences = missing,
            _ => {
                let last = self.segments.last();
                self.damage.push(FoundDamage {
                    segment: last.map_or(self.next, |last| last.first),
                    sequences: missing,
                    what: "its last records, or the segments after it, are gone".to_owned(),
                });
            }
        }
    }
}

/// Reads the last segment, or one that has no end because it is damaged.
#[derive(Debug)]
pub(crate) struct Scan {
    segment: Segment,
    trailer: Option<Trailer>,
    file_len: u64,
    cursor: Cursor,
    /// Damage. There is a record between each two, so they need no more memory than the segment has bytes.
    bad: Vec<Bad>,
    /// The end of the bytes that were synced when the last record was written, as that record says.
    synced: u64,
}

/// Bytes that are no records.
#[derive(Debug, Clone)]
struct Bad {
    offset: u64,
    /// The sequences that they had.
    sequences: Range<u64>,
    /// How many events stand before them.
    events: u64,
    /// The time of the event before them.
    last_time: EventTime,
}

/// Where the tail that was never synced begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Torn {
    /// The first of the bad ranges that belong to it.
    at: usize,
    offset: u64,
    next: u64,
    events: u64,
    last_time: EventTime,
}

/// The next step of a scan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ScanStep {
    /// Bytes must be read into [`Scan::cursor`].
    Wanted,
    /// Nothing: it has ended.
    Ended,
}

impl Scan {
    fn new(header: &Header, trailer: Option<Trailer>, file_len: u64) -> Self {
        let start = Header::LEN as u64;
        let end = trailer.map_or(file_len, |trailer| trailer.records_end);
        Self {
            segment: Segment::created(header),
            trailer,
            file_len,
            cursor: Cursor::new(header.salt, start, end, header.first..SEQUENCE_MAX),
            bad: Vec::new(),
            synced: 0,
        }
    }

    /// Where the bytes that it wants are read into.
    pub(crate) fn cursor(&mut self) -> &mut Cursor {
        &mut self.cursor
    }

    /// Takes all steps that need no further bytes.
    pub(crate) fn run(&mut self, division: &Division) -> ScanStep {
        loop {
            let offset = self.cursor.offset();
            let segment = &mut self.segment;
            match self.cursor.step() {
                Item::Wanted => return ScanStep::Wanted,
                Item::End => return ScanStep::Ended,
                Item::Bad(bytes) => {
                    self.bad.push(Bad {
                        offset: bytes.start,
                        sequences: segment.next..segment.next,
                        events: segment.events,
                        last_time: segment.last_time,
                    });
                }
                Item::Record(record) => {
                    if let Some(bad) = self.bad.last_mut()
                        && bad.sequences.start == segment.next
                    {
                        bad.sequences.end = record.sequence;
                    }
                    self.synced = record.synced;
                    if segment.events == 0 {
                        segment.first_time = record.time;
                    }
                    segment.last_time = record.time;
                    segment.next = record.sequence + 1;
                    segment.events += 1;
                    if let Index::Kept(index) = &mut segment.index {
                        let last = index.last();
                        if last.is_none_or(|last| offset >= last.offset + division.index_bytes) {
                            index.push(IndexEntry {
                                sequence: record.sequence,
                                time: record.time,
                                offset,
                            });
                        }
                    }
                    segment.records_end = self.cursor.offset();
                }
            }
        }
    }

    /// Finds the beginning of the torn tail. A power failure may have written some later pages of the tail and not
    /// earlier ones, so records may follow the torn ones. If these say that the torn ones had been synced before, it is
    /// damage, not a torn tail.
    fn torn_from(&self) -> Option<Torn> {
        let at = self
            .bad
            .iter()
            .position(|bad| bad.sequences.start >= self.synced)?;
        let bad = &self.bad[at];
        Some(Torn {
            at,
            offset: bad.offset,
            next: bad.sequences.start,
            events: bad.events,
            last_time: bad.last_time,
        })
    }
}
