//! Counts what arrives at a subscriber, so that its session knows whether the hub still delivers.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use tokio::sync::Notify;

use crate::condition::wait_for;

/// Counts the requests that arrived at a subscriber.
#[derive(Debug, Default)]
pub(super) struct Arrivals {
    count: AtomicU64,
    /// Requests that are not answered yet.
    unanswered: AtomicUsize,
    changed: Notify,
}

impl Arrivals {
    /// How many requests have arrived.
    pub(super) fn count(&self) -> u64 {
        self.count.load(Ordering::Acquire)
    }

    /// Returns true if a request is not answered yet: then the consumer may delay the hub.
    pub(super) fn has_unanswered(&self) -> bool {
        self.unanswered.load(Ordering::Acquire) > 0
    }

    /// Waits until more than this many have arrived.
    pub(super) async fn wait_beyond(&self, count: u64) {
        wait_for(&self.changed, || self.count() > count).await;
    }

    /// Counts requests that have arrived.
    pub(super) fn note_arrived(&self, count: usize) {
        self.count.fetch_add(count as u64, Ordering::AcqRel);
        self.changed.notify_waiters();
    }

    /// Counts requests that are answered later.
    pub(super) fn note_deferred(&self, count: usize) {
        self.unanswered.fetch_add(count, Ordering::AcqRel);
    }

    /// Counts requests that are answered.
    pub(super) fn note_answered(&self, count: usize) {
        self.unanswered.fetch_sub(count, Ordering::AcqRel);
    }
}
