//! The progress of a durable subscription, for observers.

use std::time::Duration;

/// The progress of a durable subscription through the log of its topic.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Progress {
    /// The first event that is not acknowledged.
    pub(crate) floor: u64,
    /// The first event that was never delivered.
    pub(crate) next: u64,
    /// Events that the log has, and that were never delivered.
    pub(crate) waiting: u64,
    /// Events that were delivered and are not acknowledged.
    pub(crate) pending: u64,
    /// Events that were acknowledged since the hub started.
    pub(crate) acknowledged: u64,
    /// Events whose lifespan was over before they were delivered, since the hub started.
    pub(crate) expired: u64,
}

/// How far a durable subscription is behind, by what the log has now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct SubscriptionLag {
    pub(crate) progress: Progress,
    /// Events that were never delivered, of the log or read from it before they were dropped.
    pub(crate) behind: u64,
    /// Events that were delivered and are not acknowledged, without those that wait for another attempt in vain.
    pub(crate) pending: u64,
    /// Events that are not acknowledged, and that the log has not any more.
    pub(crate) dropped: u64,
    /// The bytes of the events that are not acknowledged.
    pub(crate) bytes: u64,
    /// The age of the oldest of these events.
    pub(crate) age: Duration,
}
