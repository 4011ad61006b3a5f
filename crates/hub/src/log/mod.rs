//! Keeps the events of durable topics.
//!
//! [`EventLog`] is the promise. The trait leaves room for an engine that replicates: an append is answered later,
//! through [`Done`], and gets its sequences only then.
//!
//! - `memory.rs`: keeps events as long as the process lives
//! - `segments.rs`: keeps events on disk
//! - `storage.rs`: what a log on disk asks of a file system
//! - `clock.rs`: the time of events
//! - `error.rs`: why a log refuses events, cannot be read, or lacks events

mod clock;
mod error;
mod memory;
mod segments;
mod storage;
mod waiting_readers;

use std::fmt;
use std::ops::Range;

use floe::forwarding::Events;
use tokio::sync::oneshot;

pub use crate::core::log::{
    Append, EVENT_LEN_MAX, EventTime, Gap, GapReason, Inspection, Level, LevelError, Origin,
    PerKey, Position, ReadLimits, Refusal, Retention, Stamp, inspect_segment,
};
pub use error::{AppendError, Damage, LogError};
pub use memory::MemoryLog;
pub use segments::{LogSettings, SegmentLog};
pub(crate) use storage::is_lasting;
use waiting_readers::WaitingReaders;

/// The events of one topic, in the order in which they were appended.
///
/// All methods take `&self`: publishers, readers and the maintenance run side by side. A reader never delays a
/// publisher.
pub trait EventLog: fmt::Debug + Send + Sync {
    /// Appends events, and calls `done` as soon as they are as safe as `level` says, or are surely not kept. Does not
    /// wait for a disk.
    ///
    /// Appends are kept in the order of the calls. `done` is called exactly once: within this call, or later on a
    /// thread of the log, where it must not block. Appends of one level are answered in their order.
    ///
    /// If more bytes wait to be written than the log's limit, `Accepted` is answered only when some of them have been
    /// written. So callers that wait for `done` hold no more than the limit and one batch each.
    fn append(&self, append: Append, level: Level, done: Done);

    /// Reads events from a sequence on, as many as the limits allow, but at least one if there is any.
    ///
    /// It may wait for a disk: call it where a thread may block.
    ///
    /// # Errors
    /// [`LogError`] if the operating system failed. Damaged events are not an error: they are a [`Gap`], and the rest
    /// is read.
    fn read(&self, from: u64, limits: &ReadLimits) -> Result<ReadBatch, LogError>;

    /// The sequence from which a reader must read to begin at a position. Like [`EventLog::read`], it may wait for a
    /// disk.
    ///
    /// # Errors
    /// [`LogError`] if the operating system failed.
    fn locate(&self, position: Position) -> Result<u64, LogError>;

    /// Sends `wake` as soon as there is an event with this sequence or a higher one that is as safe as `level` says, or
    /// the log is closed: within this call, or later. A log forgets readers whose receivers were dropped.
    fn when_readable(&self, from: u64, level: Level, wake: Wake);

    /// Returns a summary of what the log holds now.
    fn contents(&self) -> Contents;

    /// Why the last events could not be kept; `None` if they were.
    fn failure(&self) -> Option<LogError> {
        None
    }

    /// How much of what the retention keeps comes from this sequence on, in percent. At 100, the next events that are published
    /// drop those at the sequence. It is 0 if nothing is ever dropped.
    fn percent_kept_from(&self, from: u64, now: EventTime) -> u64;

    /// How much a reader has to read that is at this sequence. It does no I/O; bytes within a file may be estimated.
    fn behind(&self, from: u64) -> Behind {
        Behind::estimated(&self.contents(), from)
    }

    /// Drops what the retention no longer keeps, and syncs what has been written for a while. Call it about once a
    /// second. It may wait for a disk.
    ///
    /// # Errors
    /// [`LogError`] if the operating system failed. The next call tries again.
    fn maintain(&self, now: EventTime) -> Result<(), LogError>;

    /// Changes how long events are kept. The next [`EventLog::maintain`] applies this.
    fn set_retention(&self, retention: Retention);

    /// The damage found so far: when the log was opened, and by reads since.
    fn damage(&self) -> Vec<Damage>;

    /// Syncs what has been appended, refuses further appends and wakes all waiting readers. Kept events can still be
    /// read. This waits for the disk.
    fn close(&self);

    /// Returns true if the log was closed. Closing it wakes its readers.
    fn is_closed(&self) -> bool;
}

/// Appends events without a wait. The future ends as soon as they are as safe as `level` says, or are surely not kept.
/// Dropping it does not stop the append.
pub fn appended(
    log: &dyn EventLog,
    append: Append,
    level: Level,
) -> impl Future<Output = Result<Acknowledged, AppendError>> + Send + use<> {
    let (sender, receiver) = oneshot::channel();
    // If no caller waits any more, the result is of no use.
    let done = Box::new(move |result| drop(sender.send(result)));
    log.append(append, level, done);
    async move { receiver.await.unwrap_or(Err(AppendError::Closed)) }
}

/// Waits until there is an event with this sequence or a higher one that is as safe as `level` says, or the log is
/// closed. It may be cancelled.
pub fn readable(
    log: &dyn EventLog,
    from: u64,
    level: Level,
) -> impl Future<Output = ()> + Send + use<> {
    let (sender, receiver) = oneshot::channel();
    log.when_readable(from, level, sender);
    async move {
        let _ = receiver.await;
    }
}

/// Learns how an append ended.
pub type Done = Box<dyn FnOnce(Result<Acknowledged, AppendError>) + Send>;

/// Learns that there is something to read.
pub type Wake = oneshot::Sender<()>;

/// Events are as safe as was asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Acknowledged {
    /// The log took them. They have no sequences yet. If they cannot be written later, they are counted in
    /// [`Contents::lost`].
    Accepted,
    /// They are written or synced, with these sequences, one for each event in its order.
    Stored(Range<u64>),
}

/// Events that were read together.
#[derive(Debug, Clone)]
pub struct ReadBatch {
    /// The events. `None` if there were none to read.
    pub events: Option<Events>,
    /// The stamps of the events, in the same order.
    pub stamps: Vec<Stamp>,
    /// Events that are missing before the first of these, from the sequence that was asked for.
    pub gap: Option<Gap>,
    /// Where to read next. If this is the sequence that was asked for, there is nothing to read yet.
    pub next: u64,
}

/// A summary of what a log holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Contents {
    /// The sequence of the oldest kept event. It is `next` if there is none.
    pub first: u64,
    /// The sequence that the next event gets. Every lower one is written.
    pub next: u64,
    /// The lowest sequence that is not synced. Every lower one is.
    pub synced: u64,
    /// How many events are kept.
    pub events: u64,
    /// The bytes that they take, with all that is kept beside them.
    pub bytes: u64,
    /// How many events were accepted and could not be written since the log was opened.
    pub lost: u64,
}

impl Contents {
    /// About how many bytes of events a read with these limits takes: at least one event, however long it is.
    pub(crate) fn bytes_of_read(&self, limits: &ReadLimits) -> u64 {
        let mean = self.bytes / self.events.max(1);
        let wanted = mean.saturating_mul(limits.events as u64);
        wanted.min(limits.bytes as u64).max(mean).max(1)
    }
}

/// The kept events from a sequence on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Behind {
    /// How many there are.
    pub events: u64,
    /// The bytes that they take.
    pub bytes: u64,
}

impl Behind {
    /// Takes all events for equally long, and those that are missing for spread evenly.
    pub(crate) fn estimated(contents: &Contents, from: u64) -> Self {
        let kept = contents.next.saturating_sub(contents.first);
        let wanted = contents.next.saturating_sub(from.max(contents.first));
        let share =
            |all: u64| (u128::from(all) * u128::from(wanted) / u128::from(kept.max(1))) as u64;
        Self {
            events: share(contents.events),
            bytes: share(contents.bytes),
        }
    }
}

#[cfg(test)]
mod conformance;
