//! Decides when a failed request may be sent again.

use std::time::Duration;

/// How an attempt failed, as far as it matters for a retry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AttemptEnd {
    /// No connection was established, or it broke, or this side closed it because the peer broke the protocol, or this
    /// side is closing it.
    Lost,
    /// The peer closed the connection gracefully. It has not executed the requests in flight.
    ClosedByPeer,
    /// Another attempt would fail in the same way or is not wanted: the application closed the connection, the time is
    /// over, or the parameters cannot be encoded.
    Final,
}

/// The retries that an invocation has left.
///
/// A retry is safe if the request surely did not reach the servant, or if the operation is idempotent. The settings
/// list a wait for each retry. One more retry follows immediately if the peer closed gracefully at the last attempt:
/// the server went away between two calls.
///
/// Source: Ice manual, "Automatic Retries" (`Ice.RetryIntervals`).
#[derive(Debug, Clone)]
pub struct Retries<'a> {
    intervals: std::slice::Iter<'a, Duration>,
    has_extra: bool,
}

impl<'a> Retries<'a> {
    /// One retry for each interval.
    pub fn new(intervals: &'a [Duration]) -> Self {
        Self {
            intervals: intervals.iter(),
            has_extra: true,
        }
    }

    /// How long to wait before the request is sent again; `None` if it must not be sent again.
    pub fn next(
        &mut self,
        is_idempotent: bool,
        is_perhaps_dispatched: bool,
        end: AttemptEnd,
    ) -> Option<Duration> {
        let is_safe = is_idempotent || !is_perhaps_dispatched;
        if !is_safe || end == AttemptEnd::Final {
            return None;
        }
        if let Some(interval) = self.intervals.next() {
            return Some(*interval);
        }
        let is_closed = end == AttemptEnd::ClosedByPeer;
        (is_closed && std::mem::take(&mut self.has_extra)).then_some(Duration::ZERO)
    }
}
