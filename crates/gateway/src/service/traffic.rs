//! The requests of a session in one direction, counted for metrics.

use super::status::Counter;

/// Counts the requests of a session to servers, or to its client.
#[derive(Debug, Default)]
pub(super) struct Traffic {
    /// Requests that were forwarded.
    pub(super) forwarded: Counter,
    /// Requests that wait now.
    pub(super) queued: Counter,
    /// Requests that a later one replaced.
    pub(super) overridden: Counter,
}
