//! How many logs are open, for the limits.

use std::sync::atomic::{AtomicUsize, Ordering};

/// How many logs there are on disk, and how many durable subscriptions they have.
#[derive(Debug, Default)]
pub(crate) struct LogCounts {
    topics: AtomicUsize,
    subscriptions: AtomicUsize,
}

impl LogCounts {
    pub(crate) fn topics(&self) -> usize {
        self.topics.load(Ordering::Relaxed)
    }

    pub(crate) fn subscriptions(&self) -> usize {
        self.subscriptions.load(Ordering::Relaxed)
    }

    pub(super) fn add_topic(&self) {
        self.topics.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn remove_topic(&self) {
        self.topics.fetch_sub(1, Ordering::Relaxed);
    }

    pub(super) fn add_subscriptions(&self, count: usize) {
        self.subscriptions.fetch_add(count, Ordering::Relaxed);
    }

    pub(super) fn remove_subscriptions(&self, count: usize) {
        self.subscriptions.fetch_sub(count, Ordering::Relaxed);
    }
}
