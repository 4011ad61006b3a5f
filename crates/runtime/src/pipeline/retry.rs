//! When a failed request may be sent again: at most once, unless the contract allows more.

use crate::connection::Failure;
use crate::error::LocalError;

/// Attempts in all: one retry, as Ice does by default (`Ice.RetryIntervals=0`).
const ATTEMPT_MAX: u32 = 2;

/// Whether to send a request again.
///
/// It is safe if the request surely did not reach the servant, or if the operation is idempotent.
/// A graceful close by the peer is the ordinary case: the server went away between two calls.
///
/// Source: Ice manual, "Automatic Retries".
pub(crate) fn may_retry(attempt: u32, is_idempotent: bool, failure: &Failure) -> bool {
    let is_safe = is_idempotent || !failure.perhaps_dispatched;
    attempt < ATTEMPT_MAX && is_safe && is_worthwhile(&failure.error)
}

fn is_worthwhile(error: &LocalError) -> bool {
    matches!(
        error,
        LocalError::ConnectionLost { .. }
            | LocalError::ClosedByPeer { .. }
            | LocalError::Closing { .. }
            | LocalError::Connect { .. }
            | LocalError::ConnectTimeout { .. }
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lost(perhaps_dispatched: bool) -> Failure {
        let error = LocalError::ConnectionLost {
            peer: "p".into(),
            reason: "r".into(),
        };
        Failure {
            error,
            perhaps_dispatched,
        }
    }

    #[test]
    fn a_request_that_was_perhaps_executed_is_repeated_only_if_it_is_idempotent() {
        assert!(!may_retry(1, false, &lost(true)));
        assert!(may_retry(1, true, &lost(true)));
        assert!(may_retry(1, false, &lost(false)));
    }

    #[test]
    fn there_is_one_retry() {
        assert!(!may_retry(2, true, &lost(false)));
    }

    #[test]
    fn what_the_peer_would_refuse_again_is_not_repeated() {
        let error = LocalError::Shutdown;
        assert!(!may_retry(
            1,
            true,
            &Failure {
                error,
                perhaps_dispatched: false
            }
        ));
    }
}
