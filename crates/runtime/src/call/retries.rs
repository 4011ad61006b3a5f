//! The rules for retries: a request is executed at most once, unless its contract allows more.

use std::time::Duration;

use floe_wire::connection;

use crate::error::AttemptError;

/// The retries left to an invocation: see [`floe_wire::connection::Retries`].
pub(crate) struct Retries<'a>(connection::Retries<'a>);

impl<'a> Retries<'a> {
    pub(crate) fn new(intervals: &'a [Duration]) -> Self {
        Self(connection::Retries::new(intervals))
    }

    /// Returns how long to wait before the next attempt; `None` if there must be none.
    pub(crate) fn next(&mut self, is_idempotent: bool, failure: &AttemptError) -> Option<Duration> {
        self.0
            .next(is_idempotent, failure.perhaps_dispatched, failure.end())
    }
}

#[cfg(test)]
mod tests {
    use floe_wire::compression::CompressionError;
    use floe_wire::message::{MessageType, ProtocolError};

    use super::*;
    use crate::error::LocalError;

    const INTERVALS: [Duration; 2] = [Duration::ZERO, Duration::from_millis(10)];

    fn failure(error: LocalError, perhaps_dispatched: bool) -> AttemptError {
        AttemptError {
            error,
            perhaps_dispatched,
        }
    }

    fn lost(perhaps_dispatched: bool) -> AttemptError {
        let (peer, reason) = ("p".into(), "r".into());
        failure(
            LocalError::ConnectionLost { peer, reason },
            perhaps_dispatched,
        )
    }

    fn first(is_idempotent: bool, failure: &AttemptError) -> Option<Duration> {
        Retries::new(&INTERVALS).next(is_idempotent, failure)
    }

    #[test]
    fn a_request_that_was_perhaps_executed_is_repeated_only_if_it_is_idempotent() {
        assert_eq!(first(false, &lost(true)), None);
        assert_eq!(first(true, &lost(true)), Some(Duration::ZERO));
        assert_eq!(first(false, &lost(false)), Some(Duration::ZERO));
    }

    #[test]
    fn there_are_as_many_retries_as_intervals() {
        let mut retries = Retries::new(&INTERVALS);
        assert_eq!(retries.next(true, &lost(false)), Some(INTERVALS[0]));
        assert_eq!(retries.next(true, &lost(false)), Some(INTERVALS[1]));
        assert_eq!(retries.next(true, &lost(false)), None);
        assert_eq!(Retries::new(&[]).next(true, &lost(false)), None);
    }

    #[test]
    fn a_graceful_close_grants_one_immediate_retry() {
        let closed = failure(LocalError::ClosedByPeer { peer: "p".into() }, false);
        let mut retries = Retries::new(&[]);
        assert_eq!(retries.next(false, &closed), Some(Duration::ZERO));
        assert_eq!(retries.next(false, &closed), None);
    }

    #[test]
    fn a_broken_protocol_is_a_lost_connection_unless_the_reply_itself_is_at_fault() {
        let broken = |error, perhaps_dispatched| {
            let peer = "p".into();
            failure(LocalError::Protocol { peer, error }, perhaps_dispatched)
        };
        let garbage = ProtocolError::BadMagic(*b"garb");
        let too_large = ProtocolError::SizeTooLarge { size: 9, limit: 8 };
        for error in [garbage.clone(), too_large.clone()] {
            assert_eq!(first(false, &broken(error, false)), Some(Duration::ZERO));
        }
        assert_eq!(
            first(true, &broken(garbage.clone(), true)),
            Some(Duration::ZERO)
        );
        assert_eq!(first(false, &broken(garbage, true)), None);
        let inflated = ProtocolError::Compression {
            message: MessageType::Reply,
            error: CompressionError::SizeTooLarge { size: 9, limit: 8 },
        };
        for error in [too_large, inflated] {
            assert_eq!(first(true, &broken(error, true)), None);
        }
    }

    #[test]
    fn a_shutdown_or_a_close_by_this_side_is_not_retried() {
        let wished = LocalError::ClosedHere { peer: "p".into() };
        assert_eq!(first(true, &failure(LocalError::Shutdown, false)), None);
        assert_eq!(first(true, &failure(wished, false)), None);
    }
}
