//! Where a reader of a log begins, how much it takes, and what it finds missing.

use std::ops::Range;

use super::{EventTime, Level};

/// Where a reader of a log begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Position {
    /// At the oldest kept event.
    First,
    /// After the newest event: the reader gets only later ones.
    End,
    /// At the newest events, as many as this. `Last(0)` is [`Position::End`].
    Last(u64),
    /// At the event with this sequence.
    Sequence(u64),
    /// At the first event that arrived at this time or later.
    Time(EventTime),
}

/// How much a read takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReadLimits {
    /// The most events.
    pub events: usize,
    /// The most bytes of events. A single event may be longer.
    pub bytes: usize,
    /// Only events that are this safe are read. `Accepted` reads the events that are written: others have no sequence
    /// yet.
    pub level: Level,
}

impl Default for ReadLimits {
    /// 1,000 events or 1 MiB, synced.
    fn default() -> Self {
        Self {
            events: 1000,
            bytes: 1 << 20,
            level: Level::Synced,
        }
    }
}

/// Missing events that a reader does not get.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gap {
    /// Their sequences.
    pub sequences: Range<u64>,
    /// Why they are missing.
    pub reason: GapReason,
}

/// Why a reader does not get events.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum GapReason {
    /// They were older than the topic keeps.
    Expired,
    /// They were written, but the disk lost or changed them. The hub's log names the file.
    Damaged,
}

/// How many events of these lengths a read takes: as many as the limits allow, but at least one if there is any.
pub(crate) fn until_full(lens: impl Iterator<Item = usize>, limits: &ReadLimits) -> usize {
    let mut bytes = 0_usize;
    let fits = |len: &usize| {
        let is_first = bytes == 0;
        bytes = bytes.saturating_add(*len);
        is_first || bytes <= limits.bytes
    };
    lens.take(limits.events.max(1)).take_while(fits).count()
}
