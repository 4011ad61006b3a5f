//! Decides when a failed request may be sent again.

use std::time::Duration;

/// How an attempt failed, as far as it matters for a retry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AttemptEnd {
    /// There is no connection: it was not established, it broke, this side closed it because the peer broke the
    /// protocol, or this side is closing it.
    Lost,
    /// The peer closed the connection gracefully. It has not executed the requests in flight.
    ClosedByPeer,
    /// Another attempt would fail in the same way or is not wanted: the application closed the connection, the time is
    /// over, or the parameters cannot be encoded.
    Final,
}

/// The retries of one invocation.
///
/// A retry is safe if the request surely did not reach the servant, or if the operation is idempotent. The settings
/// list a wait for each retry. If the peer closes the connection gracefully at the last attempt, one more retry follows
/// immediately, because the server probably closed it between two calls.
///
/// Source: Ice manual, "Automatic Retries" (`Ice.RetryIntervals`).
#[derive(Debug, Clone)]
pub struct Retries<'a> {
    is_idempotent: bool,
    intervals: std::slice::Iter<'a, Duration>,
    has_extra: bool,
    is_perhaps_dispatched: bool,
}

impl<'a> Retries<'a> {
    /// Allows one retry for each interval, after a wait of that length.
    pub fn new(is_idempotent: bool, intervals: &'a [Duration]) -> Self {
        Self {
            is_idempotent,
            intervals: intervals.iter(),
            has_extra: true,
            is_perhaps_dispatched: false,
        }
    }

    /// Allows no retry.
    pub fn none() -> Self {
        Self {
            has_extra: false,
            ..Self::new(false, &[])
        }
    }

    /// Takes note of a failed attempt. Returns how long to wait before the request is sent again; `None` if it must not
    /// be sent again. `time_left` is the time until the deadline of the invocation, if it has one.
    pub fn fail(
        &mut self,
        is_perhaps_dispatched: bool,
        end: AttemptEnd,
        time_left: Option<Duration>,
    ) -> Option<Duration> {
        self.is_perhaps_dispatched |= is_perhaps_dispatched;
        let wait = self.next(is_perhaps_dispatched, end)?;
        let wakes_in_time = wait.is_zero() || time_left.is_none_or(|left| wait < left);
        wakes_in_time.then_some(wait)
    }

    /// Returns true if any attempt so far may have reached the servant. A later attempt cannot undo what it did.
    pub fn is_perhaps_dispatched(&self) -> bool {
        self.is_perhaps_dispatched
    }

    fn next(&mut self, is_perhaps_dispatched: bool, end: AttemptEnd) -> Option<Duration> {
        let is_safe = self.is_idempotent || !is_perhaps_dispatched;
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

#[cfg(test)]
mod tests {
    use super::*;

    const INTERVALS: [Duration; 2] = [Duration::ZERO, Duration::from_millis(10)];

    fn first(is_idempotent: bool, is_perhaps_dispatched: bool) -> Option<Duration> {
        let mut retries = Retries::new(is_idempotent, &INTERVALS);
        retries.fail(is_perhaps_dispatched, AttemptEnd::Lost, None)
    }

    #[test]
    fn a_request_that_was_perhaps_executed_is_repeated_only_if_it_is_idempotent() {
        assert_eq!(first(false, true), None);
        assert_eq!(first(true, true), Some(Duration::ZERO));
        assert_eq!(first(false, false), Some(Duration::ZERO));
    }

    #[test]
    fn there_are_as_many_retries_as_intervals() {
        let mut retries = Retries::new(true, &INTERVALS);
        let mut lost = || retries.fail(false, AttemptEnd::Lost, None);
        assert_eq!(
            [lost(), lost(), lost()],
            [Some(INTERVALS[0]), Some(INTERVALS[1]), None]
        );
        let mut none = Retries::none();
        assert_eq!(none.fail(false, AttemptEnd::ClosedByPeer, None), None);
    }

    #[test]
    fn a_graceful_close_grants_one_immediate_retry() {
        let mut retries = Retries::new(false, &[]);
        let mut closed = || retries.fail(false, AttemptEnd::ClosedByPeer, None);
        assert_eq!([closed(), closed()], [Some(Duration::ZERO), None]);
    }

    #[test]
    fn no_retry_starts_after_the_deadline() {
        let left = Some(Duration::from_millis(5));
        let mut retries = Retries::new(true, &INTERVALS);
        let mut lost = |left| retries.fail(true, AttemptEnd::Lost, left);
        assert_eq!(lost(left), Some(Duration::ZERO));
        assert_eq!(lost(left), None, "it would wait for 10 ms");
        assert!(retries.is_perhaps_dispatched());
    }

    #[test]
    fn an_attempt_that_was_perhaps_executed_is_remembered() {
        let mut retries = Retries::new(true, &INTERVALS);
        retries.fail(true, AttemptEnd::Lost, None);
        retries.fail(false, AttemptEnd::Final, None);
        assert!(retries.is_perhaps_dispatched());
    }
}
