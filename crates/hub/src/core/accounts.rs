//! Counts what happened to events.

use std::ops::AddAssign;
use std::time::Duration;

/// The fate of the events for one subscriber, or for all subscribers of a topic, in numbers.
///
/// Every event is in exactly one place: `offered = delivered + lost + queued + outstanding`, where
/// [`Snapshot`](super::Snapshot) has the last two.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Accounts {
    /// Events that were published while the subscription existed.
    pub(crate) offered: u64,
    /// Events that reached the subscriber. A twoway subscriber has answered them. For other subscribers they were
    /// handed to the connection, and may still be lost if it breaks: nothing answers oneway requests.
    pub(crate) delivered: u64,
    /// Events that did not reach the subscriber.
    pub(crate) lost: Losses,
    /// For how long publishers were held back until now, without the hold that lasts.
    pub(crate) held: Duration,
}

/// Lost events, by reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Losses {
    /// The queue was full.
    pub(crate) overflow: u64,
    /// The events came, or were queued, while the subscriber was offline after a failure.
    pub(crate) offline: u64,
    /// Their delivery failed. The subscriber may have received them nevertheless.
    pub(crate) failed: u64,
    /// The events were queued when the subscription ended, or came after it had failed for good.
    pub(crate) removed: u64,
    /// The events had passed the maximum number of hubs, so they go round in a loop.
    pub(crate) looped: u64,
    /// Their lifespan was over before they were delivered.
    pub(crate) expired: u64,
    /// The log of the topic no longer kept them: the retention overtook the subscriber.
    pub(crate) retention: u64,
}

impl Losses {
    /// Lost events, for any reason.
    pub(crate) fn sum(&self) -> u64 {
        let of_queue = self.overflow + self.offline + self.failed + self.removed;
        of_queue + self.looped + self.expired + self.retention
    }

    /// The losses since an earlier count of the same subscriber; `None` if that was not of the same one.
    pub(crate) fn since(&self, earlier: &Self) -> Option<Self> {
        Some(Self {
            overflow: self.overflow.checked_sub(earlier.overflow)?,
            offline: self.offline.checked_sub(earlier.offline)?,
            failed: self.failed.checked_sub(earlier.failed)?,
            removed: self.removed.checked_sub(earlier.removed)?,
            looped: self.looped.checked_sub(earlier.looped)?,
            expired: self.expired.checked_sub(earlier.expired)?,
            retention: self.retention.checked_sub(earlier.retention)?,
        })
    }
}

impl AddAssign for Accounts {
    fn add_assign(&mut self, other: Self) {
        self.offered += other.offered;
        self.delivered += other.delivered;
        self.lost += other.lost;
        self.held += other.held;
    }
}

impl AddAssign for Losses {
    fn add_assign(&mut self, other: Self) {
        self.overflow += other.overflow;
        self.offline += other.offline;
        self.failed += other.failed;
        self.removed += other.removed;
        self.looped += other.looped;
        self.expired += other.expired;
        self.retention += other.retention;
    }
}
