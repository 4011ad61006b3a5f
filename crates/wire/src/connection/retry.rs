//! When a failed request may be sent again: at most once, unless the contract allows more.

use std::time::Duration;

/// What ended an attempt, as far as another one depends on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AttemptEnd {
    /// No connection came about, or it broke, or the peer spoke so on it that this side closed it, or this side is
    /// closing it.
    Lost,
    /// The peer closed the connection gracefully: it did not execute what was in flight.
    ClosedByPeer,
    /// Another attempt would end the same, or nobody wants it: the application closed the
    /// connection, the time is over, the parameters have no encoding.
    Final,
}

/// The retries that an invocation still has.
///
/// A retry is safe if the request surely did not reach the servant, or if the operation is
/// idempotent. There are as many as the settings list waits, and one more, at once, if the last
/// attempt ended because the peer closed gracefully: the server went away between two calls.
///
/// Source: Ice manual, "Automatic Retries" (`Ice.RetryIntervals`).
#[derive(Debug, Clone)]
pub struct Retries<'a> {
    intervals: std::slice::Iter<'a, Duration>,
    has_extra: bool,
}

impl<'a> Retries<'a> {
    /// As many as there are intervals.
    pub fn new(intervals: &'a [Duration]) -> Self {
        Self {
            intervals: intervals.iter(),
            has_extra: true,
        }
    }

    /// How long to wait before the request is sent again; `None` if it must not be.
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
