//! How a subscriber is doing at one moment.

use std::time::Instant;

use super::accounts::Accounts;

/// How a subscriber is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SubscriptionState {
    /// It gets events.
    Online,
    /// A delivery failed; events are discarded for a while.
    Offline,
    /// Deliveries failed too often, or for good; the next event ends the subscription.
    Failed,
    /// The subscription has ended.
    Gone,
}

/// A look at a subscriber.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Snapshot {
    /// How it is doing.
    pub(crate) state: SubscriptionState,
    /// What became of its events.
    pub(crate) accounts: Accounts,
    /// Events that wait.
    pub(crate) queued: u64,
    /// Their bytes.
    pub(crate) queued_bytes: u64,
    /// Events that are being sent, or wait for their answer.
    pub(crate) outstanding: u64,
    /// When the event came that waits longest.
    pub(crate) oldest: Option<Instant>,
}

impl Snapshot {
    /// Events that are lost, for any reason.
    pub(crate) fn lost(&self) -> u64 {
        let lost = self.accounts.lost;
        lost.overflow + lost.offline + lost.failed + lost.removed
    }
}
