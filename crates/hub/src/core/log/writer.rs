//! Decides which bytes of a log are written where, when a segment is finished, and what is true after a failure.
//!
//! ```text
//! commit: [cut] [finish, sync] [create] [reserve] [write] [sync]
//! ```
//!
//! A sync takes a third less time if the file does not grow and no block is new to it. Before short synced commits that
//! follow short ones, the writer therefore writes zeros behind the records, and later records replace them. The zeros
//! are cut off when the segment is finished or the log is opened, where they look like a torn tail.
//!
//! Steps that are not needed are left out. A failed step ends the commit: its events are not kept, and the next commit
//! first cleans up after the failure.

use std::ops::Range;

use super::catalog::{Catalog, Index, Segment, Written};
use super::entry::numbered;
use super::segment::{Header, IndexEntry, Trailer};
use super::{Append, EventTime, Record, Stamp, is_ahead};

/// How a log is divided into segments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Division {
    /// A segment is finished once it has this many bytes.
    pub(crate) segment_bytes: u64,
    /// Bytes of records between two entries of the index.
    pub(crate) index_bytes: u64,
}

/// Writes a log in commits.
#[derive(Debug)]
pub(crate) struct Writer {
    division: Division,
    /// The segment that is being written.
    active: Option<Active>,
    last_time: EventTime,
    commit: Option<Commit>,
    /// True if the events that were written last were those of a short commit.
    follows_short: bool,
    /// Memory for records that is used again.
    buffer: Vec<u8>,
}

/// The segment that is being written: the last of the catalog.
#[derive(Debug, Clone, Copy)]
struct Active {
    first: u64,
    /// The records up to here are synced.
    synced_end: u64,
    /// How many events are synced.
    synced_events: u64,
    /// The file may be longer than its records.
    needs_cut: bool,
    /// Zeros stand behind the records up to here, if this is behind them.
    reserved_end: u64,
    /// It is finished before anything else is written: a sync failed, so the file is no longer trusted.
    is_condemned: bool,
    /// Its index and this trailer are written.
    footer: Option<Trailer>,
}

/// The task of a commit.
#[derive(Debug, Clone)]
pub(crate) struct Commit {
    /// The events to write.
    pub(crate) appends: Vec<Append>,
    /// True if everything that is written is synced, too.
    pub(crate) wants_sync: bool,
    /// True if the commit begins a new segment.
    pub(crate) wants_roll: bool,
    pub(crate) now: EventTime,
    /// A random number for a new segment.
    pub(crate) salt: u32,
}

/// The next step of the shell. A segment is named by its first sequence.
#[derive(Debug)]
pub(crate) enum Step {
    /// Create the file, or empty it, write the header, and make its name permanent.
    Create { segment: u64, header: Header },
    /// Cut the file to this length.
    Cut { segment: u64, len: u64 },
    /// Write zeros, which the next records replace. If that fails, nothing is lost.
    Reserve { segment: u64, bytes: Range<u64> },
    /// Write records.
    Write {
        segment: u64,
        offset: u64,
        records: Records,
    },
    /// Write the index and the trailer.
    Finish {
        segment: u64,
        offset: u64,
        footer: Vec<u8>,
    },
    /// Sync the file.
    Sync { segment: u64 },
}

/// Records of a commit in their encoded form.
#[derive(Debug)]
pub(crate) struct Records {
    pub(crate) bytes: Vec<u8>,
    written: Written,
}

/// The loss after a failure, beside the events of the commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Lost {
    /// Events that had been written, but not synced.
    pub(crate) events: u64,
}

impl Commit {
    /// A commit of at most this many bytes is short: the events of a hundred publishers, and not a batch.
    const SHORT_MAX: u64 = 32 * 1024;

    /// The bytes of its events.
    fn byte_len(&self) -> u64 {
        let appends = self.appends.iter();
        let len: usize = appends.map(|append| append.events.byte_len()).sum();
        len as u64
    }

    fn is_short(&self) -> bool {
        self.byte_len() <= Self::SHORT_MAX
    }
}

impl Writer {
    /// Continues a log, or begins one. If `is_last_open`, the last segment of the catalog is not finished yet.
    /// Everything in it is synced.
    pub(crate) fn new(division: Division, catalog: &Catalog, is_last_open: bool) -> Self {
        let last = catalog.segments.back();
        Self {
            division,
            active: last.filter(|_| is_last_open).map(|last| Active {
                first: last.first,
                synced_end: last.records_end,
                synced_events: last.events,
                needs_cut: false,
                reserved_end: 0,
                is_condemned: false,
                footer: None,
            }),
            last_time: last.map_or_else(EventTime::default, |last| last.last_time),
            commit: None,
            follows_short: false,
            buffer: Vec::new(),
        }
    }

    /// Changes how the log is divided from now on.
    pub(crate) fn set_division(&mut self, division: Division) {
        self.division = division;
    }

    /// Begins a commit.
    ///
    /// # Panics
    /// The previous commit has not ended: [`Writer::poll`] would return a step.
    pub(crate) fn begin(&mut self, commit: Commit) {
        assert!(self.commit.is_none(), "the commit before has ended");
        self.commit = Some(commit);
    }

    /// The next step of the commit. `None` if it has ended. Each step must be answered with [`Writer::handle_done`] or
    /// [`Writer::handle_failed`].
    pub(crate) fn poll(&mut self, catalog: &Catalog) -> Option<Step> {
        let wants_write = self
            .commit
            .as_ref()
            .is_some_and(|commit| !commit.appends.is_empty());
        let wants_roll = self.commit.as_ref().is_some_and(|commit| commit.wants_roll);
        // The clock was wrong when the last event came. The next ones have right times, in a segment of their own: within one,
        // times never go back.
        let recovers = self.recovers() && (wants_write || wants_roll);
        if let (Some(active), Some(last)) = (&self.active, catalog.segments.back()) {
            let segment = active.first;
            let cut = Step::Cut {
                segment,
                len: last.records_end,
            };
            if active.needs_cut {
                return Some(cut);
            }
            let commit = self.commit.as_ref()?;
            let is_full = wants_write && last.records_end >= self.division.segment_bytes;
            if active.footer.is_some() {
                return Some(Step::Sync { segment });
            }
            let is_left = (wants_roll || recovers) && last.events > 0;
            if active.is_condemned || is_full || is_left {
                if active.reserved_end > last.records_end {
                    return Some(cut);
                }
                let footer = last.trailer().encode(last.kept_index());
                return Some(Step::Finish {
                    segment,
                    offset: last.records_end,
                    footer,
                });
            }
            if wants_write {
                if let Some(bytes) = self.reserve(commit, active, last) {
                    return Some(Step::Reserve { segment, bytes });
                }
                let records = self.encode(catalog, last);
                return Some(Step::Write {
                    segment,
                    offset: last.records_end,
                    records,
                });
            }
            if commit.wants_sync && catalog.synced < catalog.next {
                return Some(Step::Sync { segment });
            }
        } else if wants_write || wants_roll {
            return self.commit.as_ref().map(|commit| Step::Create {
                segment: catalog.next,
                header: Header {
                    first: catalog.next,
                    follows: catalog
                        .segments
                        .back()
                        .map_or(catalog.next, |last| last.next),
                    created: match recovers {
                        true => commit.now,
                        false => commit.now.max(self.last_time),
                    },
                    salt: commit.salt,
                },
            });
        }
        self.commit = None;
        None
    }

    /// Returns true if the last event is dated far ahead of the commit.
    fn recovers(&self) -> bool {
        let commit = self.commit.as_ref();
        commit.is_some_and(|commit| is_ahead(self.last_time, commit.now))
    }

    /// The step has been taken.
    pub(crate) fn handle_done(&mut self, step: Step, catalog: &mut Catalog) {
        match step {
            Step::Create { segment, header } => {
                if self.recovers() {
                    self.last_time = header.created;
                }
                catalog.segments.push_back(Segment::created(&header));
                self.active = Some(Active {
                    first: segment,
                    synced_end: Header::LEN as u64,
                    synced_events: 0,
                    needs_cut: false,
                    reserved_end: 0,
                    is_condemned: false,
                    footer: None,
                });
                if let Some(commit) = &mut self.commit {
                    commit.wants_roll = false;
                }
            }
            Step::Cut { .. } => self.change_active(|active| {
                active.needs_cut = false;
                active.reserved_end = 0;
            }),
            Step::Reserve { bytes, .. } => {
                self.change_active(|active| active.reserved_end = bytes.end);
            }
            Step::Write { mut records, .. } => {
                if let Some(last) = catalog.segments.back_mut() {
                    last.note_written(&records.written, self.division.index_bytes);
                }
                catalog.next = records.written.next;
                // What it cannot drop now, the maintenance drops.
                let _ = catalog.drop_surplus();
                self.last_time = records.written.last_time;
                if let Some(commit) = &mut self.commit {
                    self.follows_short = commit.is_short();
                    commit.appends.clear();
                }
                records.bytes.clear();
                records.bytes.shrink_to(Self::KEPT_CAPACITY_MAX);
                self.buffer = records.bytes;
            }
            Step::Finish { offset, footer, .. } => {
                let trailer = Trailer::parse(&footer, offset + footer.len() as u64);
                self.change_active(|active| active.footer = trailer);
            }
            Step::Sync { .. } => {
                catalog.synced = catalog.next;
                let (Some(active), Some(last)) = (&mut self.active, catalog.segments.back_mut())
                else {
                    return;
                };
                active.synced_end = last.records_end;
                active.synced_events = last.events;
                if let Some(trailer) = active.footer {
                    last.index = Index::InFile(trailer);
                    self.active = None;
                }
            }
        }
    }

    /// Notes that the step failed, and with it the commit. The next step cleans up, if there is something to clean up.
    /// The owner may try it immediately.
    pub(crate) fn handle_failed(&mut self, step: Step, catalog: &mut Catalog) -> Lost {
        self.commit = None;
        match step {
            Step::Create { .. } | Step::Cut { .. } => Lost::default(),
            Step::Reserve { .. } | Step::Write { .. } | Step::Finish { .. } => {
                self.change_active(|active| active.needs_cut = true);
                Lost::default()
            }
            Step::Sync { .. } => self.forget_unsynced(catalog),
        }
    }

    /// Notes that a sync failed. The operating system may have dropped the unsynced bytes, and reports this only once,
    /// so they count as lost.
    fn forget_unsynced(&mut self, catalog: &mut Catalog) -> Lost {
        let synced = std::mem::replace(&mut catalog.synced, catalog.next);
        let (Some(active), Some(last)) = (&mut self.active, catalog.segments.back_mut()) else {
            return Lost::default();
        };
        active.needs_cut = true;
        active.is_condemned = true;
        active.footer = None;
        let lost = last.events - active.synced_events;
        last.cut(active.synced_end, synced, active.synced_events);
        Lost { events: lost }
    }

    fn change_active(&mut self, change: impl FnOnce(&mut Active)) {
        if let Some(active) = &mut self.active {
            change(active);
        }
    }

    /// Where zeros must be written before the records of the commit. A long commit would gain nothing, and would
    /// overwrite the zeros that a following short one needs. A file of few records shall stay short.
    fn reserve(&self, commit: &Commit, active: &Active, last: &Segment) -> Option<Range<u64>> {
        let end = last.records_end + commit.byte_len();
        let gains = commit.wants_sync && commit.is_short() && self.follows_short;
        if !gains || active.reserved_end >= end {
            return None;
        }
        let start = active.reserved_end.max(last.records_end);
        let wanted = start + last.records_end.min(Self::RESERVED_MAX);
        let bytes = start..wanted.min(self.division.segment_bytes);
        (bytes.end > end).then_some(bytes)
    }

    /// Encodes the events of the commit for the end of a segment.
    fn encode(&mut self, catalog: &Catalog, last: &Segment) -> Records {
        let mut bytes = std::mem::take(&mut self.buffer);
        let appends = self.commit.iter().flat_map(|commit| &commit.appends);
        let mut written = Written {
            next: catalog.next,
            last_time: self.last_time,
            ..Written::default()
        };
        let mut indexed_len = None;
        for append in appends {
            // A clock may go back; the times of a log never do, so that a time can be found by bisection.
            let time = append.time.max(written.last_time);
            if written.events == 0 {
                written.time = time;
            }
            written.last_time = time;
            for (event, origin) in append.events.iter().zip(numbered(append.origin.clone())) {
                let sequence = written.next;
                let is_far = |len: usize| (bytes.len() - len) as u64 >= self.division.index_bytes;
                if indexed_len.is_none_or(is_far) {
                    indexed_len = Some(bytes.len());
                    written.index.push(IndexEntry {
                        sequence,
                        time,
                        offset: last.records_end + bytes.len() as u64,
                    });
                }
                let stamp = Stamp {
                    is_forwarded: append.is_forwarded,
                    sequence,
                    time,
                    origin,
                };
                Record::encode(&mut bytes, last.salt, &stamp, catalog.synced, event);
                written.next += 1;
                written.events += 1;
            }
        }
        written.len = bytes.len() as u64;
        Records { bytes, written }
    }

    /// Zeros that are written at a time: enough for some seventeen commits of a hundred publishers. They delay one sync
    /// by the time in which the disk writes them.
    const RESERVED_MAX: u64 = 256 * 1024;
    /// The buffer keeps its memory only up to this many bytes.
    const KEPT_CAPACITY_MAX: usize = 256 * 1024;
}
