//! The state and accounts of a subscriber at one moment.

use std::time::{Duration, Instant};

use super::accounts::Accounts;

/// The state of a subscription.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SubscriptionState {
    /// Events are delivered.
    Online,
    /// A delivery failed; events are discarded for an interval.
    Offline,
    /// Deliveries failed too often, or for good. The next event ends the subscription.
    Failed,
    /// The subscription has ended.
    Gone,
}

/// A subscriber at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Snapshot {
    /// The state of the subscription.
    pub(crate) state: SubscriptionState,
    /// True if it was removed and its last batch is still to be sent.
    pub(crate) is_leaving: bool,
    /// The counts of its events.
    pub(crate) accounts: Accounts,
    /// Events in the queue.
    pub(crate) queued: u64,
    /// Bytes of the events in the queue.
    pub(crate) queued_bytes: u64,
    /// Events that are being sent, or are in flight.
    pub(crate) outstanding: u64,
    /// When the oldest queued event came.
    pub(crate) oldest: Option<Instant>,
    /// Events whose publishers are held back.
    pub(crate) held: u64,
    /// Bytes of the events whose publishers are held back.
    pub(crate) held_bytes: u64,
    /// Since when at least one publisher is held back.
    pub(crate) held_since: Option<Instant>,
}

impl Snapshot {
    /// For how long publishers have been held back.
    pub(crate) fn held_time(&self, now: Instant) -> Duration {
        let current = self
            .held_since
            .map(|since| now.saturating_duration_since(since));
        self.accounts.held + current.unwrap_or_default()
    }

    /// Adds events that wait in the log of the topic.
    pub(crate) fn with_waiting(mut self, count: u64) -> Self {
        self.queued += count;
        self.accounts.offered += count;
        self
    }

    /// Lost events, for any reason.
    pub(crate) fn lost(&self) -> u64 {
        self.accounts.lost.sum()
    }
}
