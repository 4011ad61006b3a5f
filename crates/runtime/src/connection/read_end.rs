//! The end of a connection's reading, and what it means for the connection.

use std::fmt;
use std::io::{self, ErrorKind};

use floe_wire::message::ProtocolError;

use super::ConnectionCore;
use super::read_buffer::ReadBuffer;
use crate::error::LocalError;

/// The reason why the reading of a connection ended.
pub(super) enum ReadEnd {
    /// Either side closed gracefully.
    Graceful,
    /// The stream ended or broke between two messages.
    Lost(String),
    /// The stream ended in the middle of a message, broke the rules of its transport, or did not bring the rest of a
    /// message in time.
    Broken(String),
    /// The peer broke the protocol.
    Refused(ProtocolError),
}

impl ReadEnd {
    /// The peer ended the stream behind this input.
    pub(super) fn of_stream(connection: &ConnectionCore, input: &ReadBuffer) -> Self {
        let shared = connection.lock();
        match input.len() {
            // If the connection was closed meanwhile, the rest of the input is ignored.
            _ if shared.machine.is_closed() => Self::Graceful,
            0 if shared.machine.is_closing() => Self::Graceful,
            0 if shared.machine.is_validating() => Self::Lost(
                "the peer ended the stream before it validated the connection: it is shutting down, or \
                 at its limit of connections, or speaks another protocol; see its log"
                    .into(),
            ),
            0 => Self::Lost("the peer ended the stream without closing the connection".into()),
            count => Self::Broken(format!(
                "the peer ended the stream in the middle of a message, after {count} of {} bytes",
                input.needed(connection.settings.message_size_max)
            )),
        }
    }

    /// The transport could not read.
    pub(super) fn of_error(error: &io::Error) -> Self {
        match error.kind() {
            ErrorKind::InvalidData => Self::Broken(error.to_string()),
            _ => Self::Lost(error.to_string()),
        }
    }

    /// Ends the connection, and logs why. Unless it is a fault of the peer, the line follows the end, so that it is true
    /// when it is read.
    pub(super) fn end(self, connection: &ConnectionCore) {
        let peer = connection.peer().to_owned();
        match self {
            Self::Graceful => {
                connection.fail(LocalError::ClosedByPeer { peer });
                tracing::debug!("closed the connection to {}", connection.peer());
            }
            Self::Lost(reason) => {
                let error = LocalError::ConnectionLost { peer, reason };
                connection.fail(error.clone());
                tracing::debug!("{error}");
            }
            Self::Broken(reason) => {
                log_fault(connection, &reason);
                connection.fail(LocalError::ConnectionLost { peer, reason });
            }
            Self::Refused(error) => {
                log_fault(connection, &error);
                connection.fail(LocalError::Protocol { peer, error });
            }
        }
    }
}

/// Logs a fault of the peer, for which the connection is closed. If callers get it as an error, it is a detail.
fn log_fault(connection: &ConnectionCore, fault: &dyn fmt::Display) {
    let line = || format!("closed the connection to {}: {fault}", connection.peer());
    match connection.has_callers() {
        true => tracing::debug!("{}", line()),
        false => connection.warn_limited(line),
    }
}
