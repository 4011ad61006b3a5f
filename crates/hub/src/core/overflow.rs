//! Losses to a full queue: since when there are any, and what people are to be told of them.

use super::limits::{OverflowPolicy, QueueLimits};

/// Whether events are being lost because the queue is full, and what is not told of it yet.
#[derive(Debug, Default)]
pub(super) struct Overflow {
    /// How many events had been lost when it began, while it lasts: until the queue is half empty, so that a subscriber
    /// that is always a little too slow is told of once.
    since: Option<u64>,
    notice: Option<OverflowNotice>,
}

/// What is worth telling people of a full queue, once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OverflowNotice {
    /// The queue is full: from now on events are lost, by this policy.
    Began {
        /// Which.
        policy: OverflowPolicy,
    },
    /// There is room again, after so many events were lost.
    Ended {
        /// How many.
        lost: u64,
    },
    /// The queue is full, and the subscription has ended for that.
    Disconnected,
    /// An event was lost that is longer than all that may wait, in bytes. Of those that are published together the
    /// first is told, unless an overflow begins with them, which is told instead.
    TooLong {
        /// How long it is.
        len: usize,
        /// How long the events may be together that wait.
        max: usize,
    },
}

impl Overflow {
    /// Whether events are being lost.
    pub(super) fn lasts(&self) -> bool {
        self.since.is_some()
    }

    /// Events are lost from now on, by this policy, after so many that were lost before; nothing if they are already.
    pub(super) fn begin(&mut self, policy: OverflowPolicy, lost: u64) {
        if self.since.is_none() {
            self.since = Some(lost);
            self.notice = Some(OverflowNotice::Began { policy });
        }
    }

    /// There is room again, and so many were lost in all.
    pub(super) fn end(&mut self, lost: u64) {
        if let Some(before) = self.since.take() {
            let lost = lost - before;
            self.notice = Some(OverflowNotice::Ended { lost });
        }
    }

    /// The subscription has ended for it.
    pub(super) fn disconnect(&mut self) {
        self.notice = Some(OverflowNotice::Disconnected);
    }

    /// An event of this length is lost, for which an empty queue has no room either. It does not take the place of what
    /// tells that an overflow began or ended.
    pub(super) fn note_too_long(&mut self, len: usize, limits: &QueueLimits) {
        let max = limits.bytes;
        self.notice
            .get_or_insert(OverflowNotice::TooLong { len, max });
    }

    /// What is worth telling people since the last call.
    pub(super) fn poll_notice(&mut self) -> Option<OverflowNotice> {
        self.notice.take()
    }
}
