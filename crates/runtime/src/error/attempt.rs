//! Why an attempt to send a request got no reply.

use floe_wire::connection::AttemptEnd;
use floe_wire::message::ProtocolError;

use super::{InvokeError, LocalError};

/// Why one attempt to send a request got no reply.
#[derive(Debug, Clone)]
pub(crate) struct AttemptError {
    pub(crate) error: LocalError,
    /// Whether the request may have reached the servant.
    pub(crate) perhaps_dispatched: bool,
}

impl AttemptError {
    /// The request surely did not leave.
    pub(crate) fn not_sent(error: LocalError) -> Self {
        Self {
            error,
            perhaps_dispatched: false,
        }
    }

    /// What its end means for another attempt.
    pub(crate) fn end(&self) -> AttemptEnd {
        attempt_end(&self.error, self.perhaps_dispatched)
    }

    /// The transport was given the first `taken` bytes of the output. A request that `start`s behind them was surely
    /// not executed.
    pub(crate) fn narrow(&mut self, start: u64, taken: u64) {
        self.perhaps_dispatched &= start < taken;
    }
}

impl From<AttemptError> for InvokeError {
    fn from(failure: AttemptError) -> Self {
        if failure.perhaps_dispatched {
            Self::PerhapsDispatched(failure.error)
        } else {
            Self::NotDispatched(failure.error)
        }
    }
}

/// What the end of an attempt means for another one.
pub(crate) fn attempt_end(error: &LocalError, perhaps_dispatched: bool) -> AttemptEnd {
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
