//! A log on disk, in segments.
//!
//! - `opening.rs`: puts the log together from its files
//! - `group_commit.rs`: writes what was appended: many appends, one sync
//! - `reading.rs`: reads events, and finds positions
//! - `compacting.rs`: leaves out events that newer ones of their keys have replaced

mod compacting;
mod group_commit;
mod opening;
mod reading;

use std::collections::VecDeque;
use std::fmt;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard};

use tokio::runtime::Handle;

use super::storage::{Folder, Storage};
use super::{
    Acknowledged, Append, AppendError, Behind, Contents, Damage, Done, EventLog, EventTime, Level,
    LogError, Position, ReadBatch, ReadLimits, Retention, WaitingReaders, Wake,
};
use crate::core::log::{Catalog, Division, checked, segment_name};
use group_commit::GroupCommit;
use reading::Hints;

/// How a log on disk works.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogSettings {
    /// How long events are kept.
    pub retention: Retention,
    /// A file is finished, and another begun, once it has this many bytes. A log that keeps few bytes has smaller files.
    pub segment_bytes: u64,
    /// How many bytes may wait to be written before publishers are held back. Four times as many are refused.
    pub waiting_bytes: usize,
}

impl Default for LogSettings {
    /// Keeps all events, in files of 64 MiB. 4 MiB may wait.
    fn default() -> Self {
        Self {
            retention: Retention::default(),
            segment_bytes: 64 << 20,
            waiting_bytes: 4 << 20,
        }
    }
}

impl LogSettings {
    /// The shortest segment. Opening a log looks at each of them.
    const SEGMENT_MIN: u64 = 1 << 20;
    /// Bytes of records between two entries of the index, in long segments.
    const INDEX_BYTES: u64 = 64 << 10;

    /// A log drops whole segments, so a log of few bytes needs short ones.
    fn division(&self) -> Division {
        let wished = self.retention.bytes.map_or(u64::MAX, |bytes| bytes / 8);
        let segment_bytes = self.segment_bytes.min(wished.max(Self::SEGMENT_MIN));
        Division {
            segment_bytes,
            index_bytes: Self::INDEX_BYTES.min(segment_bytes / 16),
        }
    }
}

/// A log on disk.
///
/// It writes on threads of a tokio runtime that may block, one commit after another. A commit writes the events that
/// were appended during the previous one, and syncs them once.
pub struct SegmentLog {
    shared: Arc<Shared>,
    /// Where commits run. `None` if the owner runs them.
    runtime: Option<Handle>,
}

/// The state that publishers, readers and commits share. Locks are taken in the order of the fields.
#[derive(Debug)]
struct Shared {
    storage: Box<dyn Storage>,
    /// Guards the maintenance.
    maintenance: Mutex<Maintenance>,
    /// Guards the files. It is held while a commit writes and syncs.
    writer: Mutex<GroupCommit>,
    /// Guards the appends that wait to be written. Its owner does no I/O.
    queue: Mutex<AppendQueue>,
    /// Guards the readers that wait for events. Its owner does no I/O.
    readers: Mutex<WaitingReaders>,
    /// Guards where recent reads ended. Its owner does no I/O.
    hints: Mutex<Hints>,
    /// Guards the catalog of the segments. Its owners do no I/O, except that they open and rename files. The owner of
    /// `writer` changes the last segment, and the owner of `maintenance` the others.
    catalog: RwLock<Catalog>,
    /// Guards the damage found so far.
    damage: Mutex<Vec<Damage>>,
}

#[derive(Debug, Default)]
struct Maintenance {
    /// Finished segments hold only the newest events of each key, up to this sequence.
    compacted: u64,
    /// No kept event is older.
    oldest: EventTime,
}

#[derive(Debug)]
struct AppendQueue {
    settings: LogSettings,
    waiting: VecDeque<Waiting>,
    /// The bytes of all waiting events.
    bytes: usize,
    /// True if a commit runs or is about to.
    is_committing: bool,
    is_closed: bool,
    /// True if another log may use the folder.
    is_released: bool,
    /// Acknowledged events that were lost.
    lost: u64,
    /// Why the last commit failed, if it did.
    failure: Option<LogError>,
}

/// An append that waits to be written.
struct Waiting {
    append: Append,
    level: Level,
    /// `None` if it has been answered.
    done: Option<Done>,
}

impl SegmentLog {
    /// Opens the log in a folder, or begins one. It waits for the disk. Commits run on a thread of the runtime that may
    /// block.
    ///
    /// # Errors
    /// [`LogError`] if the operating system failed. Damage is not an error: [`EventLog::damage`] returns it.
    pub fn open(folder: &Path, settings: LogSettings, runtime: Handle) -> Result<Self, LogError> {
        let storage = Folder::open(folder)
            .map_err(|error| LogError::new("open the log in", folder, error))?;
        Self::open_in(Box::new(storage), settings, Some(runtime))
    }

    fn open_in(
        storage: Box<dyn Storage>,
        settings: LogSettings,
        runtime: Option<Handle>,
    ) -> Result<Self, LogError> {
        let division = settings.division();
        let mut opened = opening::open(&*storage, division)?;
        opened.catalog.events_max = settings.retention.events;
        let shared = Shared {
            writer: Mutex::new(GroupCommit::new(
                division,
                &opened.catalog,
                opened.is_last_open,
            )),
            queue: Mutex::new(AppendQueue {
                settings,
                waiting: VecDeque::new(),
                bytes: 0,
                is_committing: false,
                is_closed: false,
                is_released: false,
                lost: 0,
                failure: None,
            }),
            readers: Mutex::default(),
            catalog: RwLock::new(opened.catalog),
            hints: Mutex::default(),
            maintenance: Mutex::default(),
            damage: Mutex::new(opened.damage),
            storage,
        };
        shared.drop_surplus()?;
        Ok(Self {
            shared: Arc::new(shared),
            runtime,
        })
    }
}

impl EventLog for SegmentLog {
    fn append(&self, append: Append, level: Level, done: Done) {
        if let Err(refusal) = checked(&append) {
            return done(Err(refusal.into()));
        }
        let mut queue = self.shared.queue();
        if let Err(error) = queue.admit() {
            drop(queue);
            return done(Err(error));
        }
        let answered = queue.push(append, level, done);
        let begins = !std::mem::replace(&mut queue.is_committing, true);
        drop(queue);
        if let Some(done) = answered {
            done(Ok(Acknowledged::Accepted));
        }
        if let Some(runtime) = &self.runtime
            && begins
        {
            self.shared.clone().begin_commits(runtime);
        }
    }

    fn read(&self, from: u64, limits: &ReadLimits) -> Result<ReadBatch, LogError> {
        self.shared.read(from, limits)
    }

    fn locate(&self, position: Position) -> Result<u64, LogError> {
        self.shared.locate(position)
    }

    fn when_readable(&self, from: u64, level: Level, wake: Wake) {
        // The queue stays locked so that the log is not closed in between.
        let queue = self.shared.queue();
        let mut readers = self.shared.readers();
        if queue.is_closed || self.shared.catalog().visible(level) > from {
            let _ = wake.send(());
            return;
        }
        readers.push(from, level, wake);
    }

    fn contents(&self) -> Contents {
        let lost = self.shared.queue().lost;
        let catalog = self.shared.catalog();
        Contents {
            first: catalog.first(),
            next: catalog.next,
            synced: catalog.synced,
            events: catalog.events(),
            bytes: catalog.bytes(),
            lost,
        }
    }

    fn failure(&self) -> Option<LogError> {
        self.shared.queue().failure.clone()
    }

    fn percent_kept_from(&self, from: u64, now: EventTime) -> u64 {
        let retention = self.shared.queue().settings.retention.clone();
        let catalog = self.shared.catalog();
        retention.percent(&catalog.held_from(from), now)
    }

    fn behind(&self, from: u64) -> Behind {
        let held = self.shared.catalog().held_from(from);
        Behind {
            events: held.events,
            bytes: held.bytes,
        }
    }

    fn maintain(&self, now: EventTime) -> Result<(), LogError> {
        self.shared.maintain(now)
    }

    fn set_retention(&self, retention: Retention) {
        let mut writer = self.shared.writer();
        let mut queue = self.shared.queue();
        let mut catalog = self.shared.catalog_mut();
        catalog.events_max = retention.events;
        // What it cannot drop now, the maintenance drops.
        let _ = catalog.drop_surplus();
        queue.settings.retention = retention;
        writer.set_division(queue.settings.division());
    }

    fn damage(&self) -> Vec<Damage> {
        self.shared.damage.lock().expect(POISONED).clone()
    }

    fn close(&self) {
        self.shared.queue().is_closed = true;
        self.shared.close();
    }

    fn is_closed(&self) -> bool {
        self.shared.queue().is_closed
    }
}

/// Stops as if the process ended: waiting appends are not written any more.
impl Drop for SegmentLog {
    fn drop(&mut self) {
        self.shared.end();
    }
}

impl fmt::Debug for SegmentLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SegmentLog")
            .field("folder", &self.shared.storage.path(""))
            .field("contents", &self.contents())
            .finish_non_exhaustive()
    }
}

impl AppendQueue {
    /// Checks that another append may wait.
    fn admit(&self) -> Result<(), AppendError> {
        let max = self.settings.waiting_bytes.saturating_mul(4);
        if self.is_closed {
            return Err(AppendError::Closed);
        }
        if self.bytes > max {
            return Err(AppendError::Overloaded {
                waiting: self.bytes,
                max,
            });
        }
        Ok(())
    }

    /// Adds an append. Returns `done` if it can be answered.
    fn push(&mut self, append: Append, level: Level, done: Done) -> Option<Done> {
        self.bytes += append.events.byte_len();
        let is_answered = level == Level::Accepted && self.bytes <= self.settings.waiting_bytes;
        let (kept, answered) = match is_answered {
            true => (None, Some(done)),
            false => (Some(done), None),
        };
        self.waiting.push_back(Waiting {
            append,
            level,
            done: kept,
        });
        answered
    }
}

impl Shared {
    fn writer(&self) -> MutexGuard<'_, GroupCommit> {
        self.writer.lock().expect(POISONED)
    }

    fn queue(&self) -> MutexGuard<'_, AppendQueue> {
        self.queue.lock().expect(POISONED)
    }

    fn readers(&self) -> MutexGuard<'_, WaitingReaders> {
        self.readers.lock().expect(POISONED)
    }

    fn catalog(&self) -> RwLockReadGuard<'_, Catalog> {
        self.catalog.read().expect(POISONED)
    }

    fn catalog_mut(&self) -> RwLockWriteGuard<'_, Catalog> {
        self.catalog.write().expect(POISONED)
    }

    /// An error of an action on a segment.
    fn error(&self, action: &'static str, segment: u64, source: std::io::Error) -> LogError {
        LogError::new(action, self.storage.path(&segment_name(segment)), source)
    }
}

const POISONED: &str = "no owner of the lock panics";

impl fmt::Debug for Waiting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Waiting")
            .field("append", &self.append)
            .field("level", &self.level)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod faulty;
#[cfg(test)]
mod simulation;
