//! The exception that a caller gets when its request could not be forwarded.

use std::io::ErrorKind;

use floe::encoding::DecodeErrorKind;
use floe::{DecodeError, InvokeError, LocalError, SystemException};

/// The exception for the caller. If the server threw a system exception, it is passed on. Otherwise the text begins
/// with Ice's name for the failure.
///
/// Source: observed, glacier2router 3.7.8.
pub(super) fn exception(error: InvokeError) -> SystemException {
    match error {
        InvokeError::System(exception) => exception,
        InvokeError::UndeclaredException { type_id } => {
            SystemException::UnknownUserException(type_id)
        }
        InvokeError::BadReply(error) if is_unsupported(&error) => error.into(),
        InvokeError::BadReply(error) => SystemException::UnknownLocalException(format!(
            "::Ice::UnmarshalOutOfBoundsException: the reply cannot be read: {error}"
        )),
        InvokeError::NotDispatched(error) | InvokeError::PerhapsDispatched(error) => {
            SystemException::UnknownLocalException(format!("{}: {error}", name(&error)))
        }
        other => SystemException::UnknownLocalException(other.to_string()),
    }
}

/// Such an exception names itself.
fn is_unsupported(error: &DecodeError) -> bool {
    matches!(error.kind, DecodeErrorKind::UnsupportedEncoding(_))
}

/// Ice's name for a failure.
fn name(error: &LocalError) -> &'static str {
    match error {
        LocalError::Connect { source, .. } if source.kind() == ErrorKind::ConnectionRefused => {
            "::Ice::ConnectionRefusedException"
        }
        LocalError::Connect { .. } => "::Ice::ConnectFailedException",
        LocalError::ConnectTimeout { .. } => "::Ice::ConnectTimeoutException",
        LocalError::ConnectionLost { .. } => "::Ice::ConnectionLostException",
        LocalError::ClosedByPeer { .. } => "::Ice::CloseConnectionException",
        LocalError::Protocol { .. } => "::Ice::ProtocolException",
        LocalError::Timeout { .. } => "::Ice::InvocationTimeoutException",
        LocalError::NoEndpoint { .. } => "::Ice::NoEndpointException",
        LocalError::NotRegistered { .. } => "::Ice::NotRegisteredException",
        LocalError::Closing { .. } | LocalError::ClosedHere { .. } => {
            "::Ice::ConnectionManuallyClosedException"
        }
        LocalError::DatagramTooLong { .. } => "::Ice::DatagramLimitException",
        LocalError::Shutdown => "::Ice::CommunicatorDestroyedException",
        LocalError::BatchLost { source, .. } => name(source),
        _ => "::Ice::LocalException",
    }
}
