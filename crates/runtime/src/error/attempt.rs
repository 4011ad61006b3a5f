//! Why an attempt to send a request got no reply.

use floe_wire::connection::AttemptEnd;
use floe_wire::message::ProtocolError;

use super::{InvokeError, LocalError};

/// The failure of one attempt to send a request.
#[derive(Debug, Clone)]
pub(crate) struct AttemptError {
    pub(crate) error: LocalError,
    /// True if the request may have reached the servant.
    pub(crate) perhaps_dispatched: bool,
}

impl AttemptError {
    /// The request was surely not sent.
    pub(crate) fn not_sent(error: LocalError) -> Self {
        Self {
            error,
            perhaps_dispatched: false,
        }
    }

    /// The request may have reached the servant.
    pub(crate) fn perhaps_sent(error: LocalError) -> Self {
        Self {
            error,
            perhaps_dispatched: true,
        }
    }

    /// Decides whether another attempt is safe.
    pub(crate) fn end(&self) -> AttemptEnd {
        attempt_end(&self.error, self.perhaps_dispatched)
    }

    /// The transport accepted the first `taken` bytes of the output. A request that `start`s behind them was surely not
    /// executed.
    pub(crate) fn narrow(&mut self, start: u64, taken: u64) {
        self.perhaps_dispatched &= start < taken;
    }

    /// Names the length of the message with which the connection was lost, if the peer may have closed the connection
    /// because of it: the protocol has no answer to a message that is too long.
    pub(crate) fn name_length(&mut self, len: u64) {
        if len < LONG_MESSAGE || !self.perhaps_dispatched {
            return;
        }
        if let LocalError::ConnectionLost { reason, .. } = &mut self.error {
            reason.push_str(&format!(
                "; the peer may have closed it because of this message of {len} bytes: send less at a time, or raise the \
                 limit of the peer (connections.message-bytes in the floe.toml of `floe serve`, \
                 Settings::message_size_max, or Ice.MessageSizeMax; 1 MiB by default)"
            ));
        }
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

/// Messages of at least this many bytes may be longer than a peer accepts. The default limit is 1 MiB, and some peers have
/// a lower one.
const LONG_MESSAGE: u64 = 64 * 1024;

/// Decides what the end of one attempt means for the next.
pub(crate) fn attempt_end(error: &LocalError, perhaps_dispatched: bool) -> AttemptEnd {
    match error {
        // Another attempt would get the same reply.
        LocalError::Protocol { error, .. } if perhaps_dispatched && is_malformed_reply(error) => {
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

/// Returns true if the peer answered in the regular way, and its answer is at fault.
///
/// Source: observed: Ice 3.7.8, which sends an idempotent request again after all other faults.
fn is_malformed_reply(error: &ProtocolError) -> bool {
    error.is_too_large() || matches!(error, ProtocolError::Malformed { .. })
}

#[cfg(test)]
mod tests {
    use floe_wire::compression::CompressionError;
    use floe_wire::message::MessageType;

    use super::*;

    fn end_of_broken(error: ProtocolError, perhaps_dispatched: bool) -> AttemptEnd {
        let peer = "p".into();
        attempt_end(&LocalError::Protocol { peer, error }, perhaps_dispatched)
    }

    #[test]
    fn a_broken_protocol_is_a_lost_connection_unless_the_reply_itself_is_at_fault() {
        let garbage = ProtocolError::BadMagic(*b"garb");
        let too_large = ProtocolError::SizeTooLarge { size: 9, limit: 8 };
        let inflated = ProtocolError::Compression {
            message: MessageType::Reply,
            error: CompressionError::SizeTooLarge { size: 9, limit: 8 },
        };
        for error in [garbage.clone(), too_large.clone()] {
            assert_eq!(end_of_broken(error, false), AttemptEnd::Lost);
        }
        assert_eq!(end_of_broken(garbage, true), AttemptEnd::Lost);
        for error in [too_large, inflated] {
            assert_eq!(end_of_broken(error, true), AttemptEnd::Final);
        }
    }

    #[test]
    fn a_shutdown_or_a_close_by_this_side_is_final() {
        let closed_here = LocalError::ClosedHere { peer: "p".into() };
        for error in [LocalError::Shutdown, closed_here] {
            assert_eq!(attempt_end(&error, false), AttemptEnd::Final);
        }
        let closed = LocalError::ClosedByPeer { peer: "p".into() };
        assert_eq!(attempt_end(&closed, false), AttemptEnd::ClosedByPeer);
    }

    #[test]
    fn only_a_long_message_that_was_sent_is_named_with_its_length() {
        let lost = || LocalError::ConnectionLost {
            peer: "p".into(),
            reason: "reset".into(),
        };
        let text = |mut failure: AttemptError, len| {
            failure.name_length(len);
            failure.error.to_string()
        };
        let short = "lost the connection to p: reset";
        assert_eq!(
            text(AttemptError::perhaps_sent(lost()), LONG_MESSAGE - 1),
            short
        );
        assert_eq!(text(AttemptError::not_sent(lost()), LONG_MESSAGE), short);
        let long = text(AttemptError::perhaps_sent(lost()), LONG_MESSAGE);
        assert!(long.contains("message of 65536 bytes"), "{long}");
    }
}
