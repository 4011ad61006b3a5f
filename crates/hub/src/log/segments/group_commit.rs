//! Group commit: writes what was appended, many appends with one sync.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::io;
use std::ops::Range;
use std::sync::Arc;

use tokio::runtime::Handle;

use super::super::clock;
use super::super::storage::StoredFile;
use super::super::{Acknowledged, AppendError, Done, EventTime, Level, LogError};
use super::{POISONED, Shared, Waiting};
use crate::blocking_work::{self, WorkKind};
use crate::core::log::{Catalog, Commit, Division, Lost, Segment, Step, Writer, segment_name};

/// Writes the files of a log.
#[derive(Debug)]
pub(super) struct GroupCommit {
    writer: Writer,
    /// The open segment, with its first sequence.
    file: Option<(u64, Box<dyn StoredFile>)>,
    /// True if the last commit failed.
    is_failing: bool,
    /// True if something was written since [`GroupCommit::let_go_of_removed`].
    is_unchecked: bool,
}

/// The publishers of the events of a commit.
#[derive(Default)]
struct Waiters {
    /// The appends that wait, in the order of their events.
    waiting: Vec<Waiter>,
    /// The appends that waited only until there was room for their events.
    held_back: Vec<Done>,
    /// How many of the events were acknowledged before they were written.
    accepted: u64,
    /// True if the events are written.
    is_written: bool,
}

struct Waiter {
    level: Level,
    sequences: Range<u64>,
    done: Done,
}

impl GroupCommit {
    pub(super) fn new(division: Division, catalog: &Catalog, is_last_open: bool) -> Self {
        Self {
            writer: Writer::new(division, catalog, is_last_open),
            file: None,
            is_failing: false,
            is_unchecked: false,
        }
    }

    pub(super) fn set_division(&mut self, division: Division) {
        self.writer.set_division(division);
    }

    /// Writes events, and syncs them if it was asked for. Publishers are answered on the way.
    fn commit(
        &mut self,
        shared: &Shared,
        commit: Commit,
        mut waiters: Waiters,
    ) -> Result<(), LogError> {
        self.writer.begin(commit);
        let result = self.take_steps(shared, &mut waiters);
        match &result {
            Ok(()) if self.is_failing => {
                tracing::info!(
                    "writing to the log in \"{}\" works again",
                    shared.storage.path("").display()
                );
            }
            Err(error) if !self.is_failing => {
                tracing::error!("{error}; events are refused until it can be written again");
            }
            _ => {}
        }
        self.is_failing = result.is_err();
        shared.queue().failure = result.as_ref().err().cloned();
        result
    }

    fn take_steps(&mut self, shared: &Shared, waiters: &mut Waiters) -> Result<(), LogError> {
        loop {
            let polled = self.writer.poll(&shared.catalog());
            let Some(step) = polled else {
                return Ok(());
            };
            if let Err(error) = self.perform(shared, &step) {
                let lost = self.writer.handle_failed(step, &mut shared.catalog_mut());
                shared.queue().lost += waiters.fail(&error, lost);
                self.clean_up(shared);
                return Err(error);
            }
            let reached = match step {
                Step::Write { .. } => Some(Level::Written),
                Step::Sync { .. } => Some(Level::Synced),
                _ => None,
            };
            self.writer.handle_done(step, &mut shared.catalog_mut());
            if let Some(level) = reached {
                waiters.reach(level);
                shared.wake_readers();
            }
        }
    }

    /// After a failure, the rest of a commit is cut off. If that fails, too, the next commit tries again.
    fn clean_up(&mut self, shared: &Shared) {
        let polled = self.writer.poll(&shared.catalog());
        if let Some(step) = polled {
            match self.perform(shared, &step) {
                Ok(()) => self.writer.handle_done(step, &mut shared.catalog_mut()),
                Err(_) => {
                    self.writer.handle_failed(step, &mut shared.catalog_mut());
                }
            }
        }
    }

    fn perform(&mut self, shared: &Shared, step: &Step) -> Result<(), LogError> {
        let (segment, action) = match step {
            Step::Create { segment, .. } => (*segment, "create"),
            Step::Cut { segment, .. } => (*segment, "cut"),
            Step::Reserve { segment, .. }
            | Step::Write { segment, .. }
            | Step::Finish { segment, .. } => (*segment, "write"),
            Step::Sync { segment } => (*segment, "sync"),
        };
        let performed = self.perform_on(shared, segment, step);
        performed.map_err(|error| shared.error(action, segment, error))
    }

    fn perform_on(&mut self, shared: &Shared, segment: u64, step: &Step) -> io::Result<()> {
        match step {
            Step::Create { header, .. } => self.create(shared, segment, &header.encode()),
            Step::Cut { len, .. } => self.file(shared, segment)?.set_len(*len),
            Step::Reserve { bytes, .. } => {
                let file = self.file(shared, segment)?;
                let zeros = vec![0; (bytes.end - bytes.start) as usize];
                // Without them a sync takes longer. If the disk is full, the write of the records says so.
                let _ = file.write_at(&zeros, bytes.start);
                Ok(())
            }
            Step::Write {
                offset, records, ..
            } => {
                self.is_unchecked = true;
                self.file(shared, segment)?
                    .write_at(&records.bytes, *offset)
            }
            Step::Finish { offset, footer, .. } => {
                self.file(shared, segment)?.write_at(footer, *offset)
            }
            Step::Sync { .. } => self.file(shared, segment)?.sync(),
        }
    }

    /// Creates a segment. Its name is permanent before anything in it is acknowledged, and so is its header: the name
    /// says which sequence comes next when all older segments have been dropped.
    fn create(&mut self, shared: &Shared, segment: u64, header: &[u8]) -> io::Result<()> {
        let name = segment_name(segment);
        self.file = None;
        let file = shared.storage.create(&name)?;
        let written = file
            .write_at(header, 0)
            .and_then(|()| file.sync())
            .and_then(|()| shared.storage.sync_names());
        if let Err(error) = written {
            // The next commit creates it again: nothing is lost if it stays.
            let _ = shared.storage.remove(&name);
            return Err(error);
        }
        self.file = Some((segment, file));
        Ok(())
    }

    /// Closes the open file if it was removed from the folder, so that the next commit fails. Otherwise the commit would
    /// write to a file that no reader can open.
    fn let_go_of_removed(&mut self, shared: &Shared) {
        let is_unchecked = std::mem::take(&mut self.is_unchecked);
        let Some((segment, _)) = self.file.as_ref().filter(|_| is_unchecked) else {
            return;
        };
        let found = shared.storage.open(&segment_name(*segment));
        if found.is_err_and(|error| error.kind() == io::ErrorKind::NotFound) {
            self.file = None;
        }
    }

    fn file(&mut self, shared: &Shared, segment: u64) -> io::Result<&dyn StoredFile> {
        let file = match self.file.take() {
            Some((first, file)) if first == segment => file,
            _ => shared.storage.open(&segment_name(segment))?,
        };
        Ok(&*self.file.insert((segment, file)).1)
    }
}

impl Waiters {
    /// Adds an append to a commit. Its events begin with this sequence. Returns the sequence after them.
    fn add(&mut self, waiting: Waiting, first: u64, commit: &mut Commit) -> u64 {
        let count = waiting.append.events.len() as u64;
        let sequences = first..first + count;
        commit.wants_sync |= waiting.level == Level::Synced;
        commit.appends.push(waiting.append);
        match (waiting.level, waiting.done) {
            (Level::Accepted, done) => {
                self.accepted += count;
                self.held_back.extend(done);
            }
            (level, Some(done)) => self.waiting.push(Waiter {
                level,
                sequences,
                done,
            }),
            (_, None) => {}
        }
        first + count
    }

    /// Events are as safe as a level says: those of the commit, if they are written, and all before.
    fn reach(&mut self, level: Level) {
        self.is_written |= level == Level::Written;
        if !self.is_written {
            return;
        }
        for answer in self.waiting.extract_if(.., |answer| answer.level <= level) {
            (answer.done)(Ok(Acknowledged::Stored(answer.sequences)));
        }
    }

    /// The commit failed. Returns how many acknowledged events are lost.
    fn fail(&mut self, error: &LogError, lost: Lost) -> u64 {
        let mut refused = 0;
        for answer in self.waiting.drain(..) {
            refused += answer.sequences.end - answer.sequences.start;
            (answer.done)(Err(AppendError::Failed(error.clone())));
        }
        match self.is_written {
            true => lost.events - refused,
            false => lost.events + self.accepted,
        }
    }
}

impl Shared {
    /// A commit writes at most this many bytes of events, unless one append has more. It limits the memory of a commit, and
    /// how long its first publisher waits for the others.
    const TURN_BYTES_MAX: usize = 4 << 20;

    /// Writes all waiting appends, on a thread that may block. If other logs wait for such a thread, one of them gets
    /// it after each commit.
    pub(super) fn begin_commits(self: Arc<Self>, runtime: &Handle) {
        let next = runtime.clone();
        blocking_work::start(runtime, WorkKind::Commit, move || {
            while self.run_commit() {
                if blocking_work::is_full(WorkKind::Commit) {
                    return self.begin_commits(&next);
                }
            }
        });
    }

    /// Writes all waiting appends.
    pub(super) fn run_commits(&self) {
        while self.run_commit() {}
    }

    /// Writes waiting appends, up to the limit of a commit. Returns false if none waits.
    fn run_commit(&self) -> bool {
        let mut writer = self.writer();
        let Some((commit, waiters)) = self.next_commit() else {
            return false;
        };
        // The publishers have been told, and so has the log of the hub.
        let _ = writer.commit(self, commit, waiters);
        true
    }

    /// Takes the appends of the next commit. Returns `None` if nothing waits.
    fn next_commit(&self) -> Option<(Commit, Waiters)> {
        let mut queue = self.queue();
        if queue.waiting.is_empty() {
            queue.is_committing = false;
            return None;
        }
        let mut commit = empty_commit();
        let mut waiters = Waiters::default();
        let mut next = self.catalog().next;
        let mut bytes = 0;
        while let Some(front) = queue.waiting.front() {
            let len = front.append.events.byte_len();
            if bytes > 0 && bytes + len > Self::TURN_BYTES_MAX {
                break;
            }
            bytes += len;
            if let Some(waiting) = queue.waiting.pop_front() {
                next = waiters.add(waiting, next, &mut commit);
            }
        }
        queue.bytes -= bytes;
        drop(queue);
        // There is room again for the appends that were held back.
        for done in waiters.held_back.drain(..) {
            done(Ok(Acknowledged::Accepted));
        }
        Some((commit, waiters))
    }

    pub(super) fn maintain(&self, now: EventTime) -> Result<(), LogError> {
        let mut maintenance = self.maintenance.lock().expect(POISONED);
        let mut writer = self.writer();
        if self.queue().is_released {
            // Another log may use the folder.
            return Ok(());
        }
        writer.let_go_of_removed(self);
        let retention = self.queue().settings.retention.clone();
        let oldest = retention.age.map(|age| clock::oldest(now, age));
        // The log is about to close, which drops nothing.
        let is_closing = now == EventTime::default();
        let (is_unsynced, wants_roll) = {
            let catalog = self.catalog();
            let is_unsynced = catalog.synced < catalog.next;
            let wants_roll = catalog.is_last_expired(oldest, now) || catalog.is_last_ahead(now);
            (is_unsynced, wants_roll && !is_closing)
        };
        if is_unsynced || wants_roll {
            let commit = Commit {
                wants_sync: true,
                wants_roll,
                now,
                ..empty_commit()
            };
            writer.commit(self, commit, Waiters::default())?;
        }
        drop(writer);
        self.drop_surplus()?;
        if let Some(age) = retention.age {
            self.drop_old(now, age, &mut maintenance)?;
        }
        let count = self.catalog().expired(&retention, oldest, now);
        for _ in 0..count {
            let dropped = {
                let mut catalog = self.catalog_mut();
                let dropped = catalog.segments.pop_front();
                if let Some(dropped) = &dropped {
                    catalog.handle_dropped(dropped);
                }
                dropped
            };
            if let Some(dropped) = dropped {
                self.remove(dropped)?;
            }
        }
        match &retention.per_key {
            Some(per_key) => self.compact(per_key, &mut maintenance.compacted),
            None => Ok(()),
        }
    }

    /// Removes the file of the oldest segment. It is permanent before the next one is removed, so that a power failure
    /// leaves no hole.
    fn remove(&self, dropped: Segment) -> Result<(), LogError> {
        let first = dropped.first;
        match self.storage.remove(&segment_name(first)) {
            // Another process has removed it.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => {
                self.catalog_mut().segments.push_front(dropped);
                return Err(self.error("remove", first, error));
            }
            Ok(()) => {}
        }
        let synced = self.storage.sync_names();
        synced.map_err(|error| self.error("remove", first, error))
    }

    /// Writes and syncs all waiting appends, and wakes all readers.
    pub(super) fn close(&self) {
        self.run_commits();
        if let Err(error) = self.maintain(EventTime::default()) {
            tracing::error!("{error}; events that were acknowledged as written may be lost");
        }
        self.end();
        self.readers().wake(|_| u64::MAX);
    }

    /// Ends all writing, and lets another log use the folder. Waiting appends are refused. Waits for a commit that
    /// runs.
    pub(super) fn end(&self) {
        let _maintenance = self.maintenance.lock().expect(POISONED);
        let _writer = self.writer();
        let refused = {
            let mut queue = self.queue();
            queue.is_closed = true;
            queue.is_released = true;
            queue.bytes = 0;
            std::mem::take(&mut queue.waiting)
        };
        self.storage.release();
        for done in refused.into_iter().filter_map(|waiting| waiting.done) {
            done(Err(AppendError::Closed));
        }
    }

    fn wake_readers(&self) {
        let mut readers = self.readers();
        if readers.is_empty() {
            return;
        }
        let catalog = self.catalog();
        readers.wake(|level| catalog.visible(level));
    }
}

/// A commit that does nothing yet.
fn empty_commit() -> Commit {
    Commit {
        appends: Vec::new(),
        wants_sync: false,
        wants_roll: false,
        now: EventTime::now(),
        // A random number: the hasher is seeded by the operating system.
        salt: RandomState::new().build_hasher().finish() as u32,
    }
}
