//! What became of events, counted.

use std::ops::AddAssign;

/// What became of the events that were meant for one subscriber, or for all of a topic.
///
/// Every event is in exactly one place:
/// `offered = delivered + lost + queued + outstanding`, the last two being those of the
/// [`Snapshot`](super::Snapshot).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Accounts {
    /// Events that were published while the subscription existed.
    pub(crate) offered: u64,
    /// Events that reached the subscriber: answered, for a twoway subscriber; else handed to its
    /// connection, where a break may still lose them unnoticed: nobody answers oneway requests.
    pub(crate) delivered: u64,
    /// Events that did not.
    pub(crate) lost: Losses,
}

/// Events that were not delivered, by reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Losses {
    /// The queue was full.
    pub(crate) overflow: u64,
    /// They came, or waited, while the subscriber was offline after a failure.
    pub(crate) offline: u64,
    /// Their delivery failed: it may have happened all the same.
    pub(crate) failed: u64,
    /// They waited when the subscription ended, or came after it had failed for good.
    pub(crate) removed: u64,
}

impl AddAssign for Accounts {
    fn add_assign(&mut self, other: Self) {
        self.offered += other.offered;
        self.delivered += other.delivered;
        self.lost += other.lost;
    }
}

impl AddAssign for Losses {
    fn add_assign(&mut self, other: Self) {
        self.overflow += other.overflow;
        self.offline += other.offline;
        self.failed += other.failed;
        self.removed += other.removed;
    }
}
