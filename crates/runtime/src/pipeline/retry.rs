//! When a failed request may be sent again: at most once, unless the contract allows more.

use std::time::Duration;

use floe_wire::connection::{self, AttemptEnd};
use floe_wire::message::{OperationMode, ProtocolError};

use super::{Interceptor, Invocation, InvokeFuture, Next};
use crate::connection::Failure;
use crate::error::{InvokeError, LocalError};

/// The retries that an invocation still has: see [`floe_wire::connection::Retries`].
pub(crate) struct Retries<'a>(connection::Retries<'a>);

impl<'a> Retries<'a> {
    pub(crate) fn new(intervals: &'a [Duration]) -> Self {
        Self(connection::Retries::new(intervals))
    }

    /// How long to wait before the request is sent again; `None` if it must not be.
    pub(crate) fn next(&mut self, is_idempotent: bool, failure: &Failure) -> Option<Duration> {
        let end = attempt_end(&failure.error, failure.perhaps_dispatched);
        self.0.next(is_idempotent, failure.perhaps_dispatched, end)
    }
}

fn attempt_end(error: &LocalError, perhaps_dispatched: bool) -> AttemptEnd {
    match error {
        // A reply like this would come again.
        LocalError::Protocol { error, .. } if perhaps_dispatched && is_of_contents(error) => {
            AttemptEnd::Final
        }
        LocalError::ClosedByPeer { .. } => AttemptEnd::ClosedByPeer,
        LocalError::ConnectionLost { .. }
        | LocalError::Protocol { .. }
        | LocalError::Closing { .. }
        | LocalError::Connect { .. }
        | LocalError::ConnectTimeout { .. } => AttemptEnd::Lost,
        _ => AttemptEnd::Final,
    }
}

/// Whether the peer said it as it says all else, and what it said is at fault.
///
/// Source: observed: Ice 3.7.8, which sends an idempotent request again after all other faults.
fn is_of_contents(error: &ProtocolError) -> bool {
    error.is_too_large() || matches!(error, ProtocolError::Malformed { .. })
}

fn is_worthwhile(error: &LocalError, perhaps_dispatched: bool) -> bool {
    attempt_end(error, perhaps_dispatched) != AttemptEnd::Final
}

/// Tries an invocation again that failed on this side of the wire, more patiently than the
/// communicator by itself: with a wait that doubles, until it succeeds, the attempts are used up,
/// or the deadline is over. At most once is kept: what was perhaps executed is tried again only if
/// the operation is idempotent.
#[derive(Debug, Clone, Copy)]
pub struct Retry {
    count: u32,
    first_wait: Duration,
}

impl Retry {
    /// So many attempts beyond the first, the first of them after this wait.
    pub fn new(count: u32, first_wait: Duration) -> Self {
        Self { count, first_wait }
    }
}

impl Interceptor for Retry {
    fn invoke<'a>(&'a self, invocation: Invocation, next: Next<'a>) -> InvokeFuture<'a> {
        Box::pin(async move {
            let mut wait = self.first_wait;
            let mut is_doubtful = false;
            for _ in 0..self.count {
                let result = next.invoke(invocation.clone()).await;
                match result {
                    Err(error) if may_repeat(invocation.mode(), &error) => {
                        is_doubtful |= matches!(error, InvokeError::PerhapsDispatched(_));
                        if invocation.remaining().is_some_and(|left| left <= wait) {
                            return Err(in_doubt(error, is_doubtful));
                        }
                        tracing::debug!("retrying \"{}\": {error}", invocation.operation());
                        tokio::time::sleep(wait).await;
                        wait = wait.saturating_mul(2);
                    }
                    result => return result.map_err(|error| in_doubt(error, is_doubtful)),
                }
            }
            let result = next.invoke(invocation).await;
            result.map_err(|error| in_doubt(error, is_doubtful))
        })
    }
}

fn may_repeat(mode: OperationMode, error: &InvokeError) -> bool {
    match error {
        InvokeError::NotDispatched(error) => is_worthwhile(error, false),
        InvokeError::PerhapsDispatched(error) => mode.is_idempotent() && is_worthwhile(error, true),
        _ => false,
    }
}

/// What an earlier attempt may have done, the last one cannot undo.
fn in_doubt(error: InvokeError, is_doubtful: bool) -> InvokeError {
    match error {
        InvokeError::NotDispatched(error) if is_doubtful => InvokeError::PerhapsDispatched(error),
        error => error,
    }
}

#[cfg(test)]
mod tests {
    use floe_wire::compression::CompressionError;
    use floe_wire::message::MessageType;

    use super::*;

    const INTERVALS: [Duration; 2] = [Duration::ZERO, Duration::from_millis(10)];

    fn failure(error: LocalError, perhaps_dispatched: bool) -> Failure {
        Failure {
            error,
            perhaps_dispatched,
        }
    }

    fn lost(perhaps_dispatched: bool) -> Failure {
        let (peer, reason) = ("p".into(), "r".into());
        failure(
            LocalError::ConnectionLost { peer, reason },
            perhaps_dispatched,
        )
    }

    fn first(is_idempotent: bool, failure: &Failure) -> Option<Duration> {
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
    fn a_graceful_close_grants_one_more_at_once() {
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
    fn what_would_fail_again_or_was_wished_is_not_repeated() {
        let wished = LocalError::ClosedHere { peer: "p".into() };
        assert_eq!(first(true, &failure(LocalError::Shutdown, false)), None);
        assert_eq!(first(true, &failure(wished, false)), None);
    }
}
