//! The progress of a durable subscription, for observers.

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
