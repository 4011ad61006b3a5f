//! Invocation errors, sorted by whether the operation may have been executed.
//!
//! - `local.rs`: failures on this side of the wire
//! - `attempt.rs`: the failure of one attempt to send a request
//! - `operation_error.rs`: the errors of an operation, user exceptions included
//! - `adapter.rs`: why an adapter could not be created or changed
//! - `registration.rs`: why a locator did not take the registration of an adapter

mod adapter;
mod attempt;
mod local;
mod operation_error;
mod registration;

use std::fmt;

use floe_wire::encoding::{DecodeError, DecodeErrorKind, EncodeError};
use floe_wire::message::SystemException;

pub use adapter::AdapterError;
pub(crate) use attempt::{AttemptError, attempt_end};
pub use local::LocalError;
pub use operation_error::OperationError;
pub use registration::RegistrationError;

/// Why an invocation returned no result.
///
/// User exceptions are separate: each operation that declares some has an error enum of its own, with this type as one
/// of its variants.
#[derive(Clone)]
#[non_exhaustive]
pub enum InvokeError {
    /// The peer's runtime answered instead of the servant.
    System(SystemException),
    /// The servant threw an exception that the caller's contract does not declare.
    UndeclaredException {
        /// Its type id.
        type_id: String,
    },
    /// A reply arrived that does not match the contract. Do both sides have the same contract?
    BadReply(DecodeError),
    /// The invocation failed on this side, and the operation was surely not executed.
    NotDispatched(LocalError),
    /// The invocation failed on this side, after the request may have reached the servant.
    PerhapsDispatched(LocalError),
}

impl InvokeError {
    /// Returns true if the operation was surely not executed, so that it is always safe to try again.
    pub fn is_surely_not_dispatched(&self) -> bool {
        matches!(
            self,
            Self::NotDispatched(_)
                | Self::System(
                    SystemException::ObjectNotExist(_)
                        | SystemException::FacetNotExist(_)
                        | SystemException::OperationNotExist(_)
                )
        )
    }

    /// Returns true if the invocation ended because of a timeout.
    pub fn is_timeout(&self) -> bool {
        matches!(
            self,
            Self::NotDispatched(LocalError::Timeout { .. } | LocalError::ConnectTimeout { .. })
                | Self::PerhapsDispatched(LocalError::Timeout { .. })
        )
    }
}

impl fmt::Display for InvokeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::System(exception) => exception.fmt(f),
            Self::UndeclaredException { type_id } => write!(
                f,
                "the servant threw {type_id}, which the operation does not declare: \
                 compile both sides from the same contract"
            ),
            Self::BadReply(
                error @ DecodeError {
                    kind: DecodeErrorKind::UnsupportedEncoding(_),
                    ..
                },
            ) => write!(
                f,
                "the reply is in an encoding that Floe does not read: {error}; the server must answer in the encoding of the \
                 request"
            ),
            Self::BadReply(error) => write!(
                f,
                "the reply does not match the caller's contract: {error}; caller and server may have been built from \
                 different versions of the contract: `floe slice breaking OLD NEW` compares two"
            ),
            Self::NotDispatched(LocalError::Timeout { operation, after }) => write!(
                f,
                "operation \"{operation}\" was not sent within {after:?}: no connection was ready"
            ),
            Self::NotDispatched(error) => error.fmt(f),
            Self::PerhapsDispatched(error) => {
                write!(f, "{error}; the operation may have been executed")
            }
        }
    }
}

/// Prints the same text as `Display`, so that an error that ends `main` reads well.
impl fmt::Debug for InvokeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The source is the cause: the error of the system, of decoding, or of another invocation.
impl std::error::Error for InvokeError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::BadReply(error) => Some(error),
            Self::NotDispatched(error) | Self::PerhapsDispatched(error) => error.source(),
            Self::System(_) | Self::UndeclaredException { .. } => None,
        }
    }
}

impl From<SystemException> for InvokeError {
    fn from(exception: SystemException) -> Self {
        Self::System(exception)
    }
}

impl From<EncodeError> for InvokeError {
    fn from(error: EncodeError) -> Self {
        Self::NotDispatched(error.into())
    }
}

/// The caller of a servant sees a failure of the servant's own invocation as an unknown failure, except an exception that
/// another server has reported.
impl From<InvokeError> for SystemException {
    fn from(error: InvokeError) -> Self {
        match error {
            InvokeError::System(exception) => exception,
            InvokeError::UndeclaredException { type_id } => Self::UnknownUserException(type_id),
            other => Self::UnknownLocalException(other.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::error::Error;
    use std::io;
    use std::sync::Arc;

    use super::*;

    #[test]
    fn an_error_that_ends_main_reads_as_a_sentence_and_gives_its_cause() {
        let refused = io::Error::from(io::ErrorKind::ConnectionRefused);
        let error = InvokeError::NotDispatched(LocalError::Connect {
            endpoint: "tcp -h localhost -p 1".to_owned(),
            source: Arc::new(refused),
        });
        let expected = "cannot connect to \"tcp -h localhost -p 1\": connection refused";
        assert_eq!(format!("{error:?}"), expected);
        let cause = error
            .source()
            .and_then(|cause| cause.downcast_ref::<io::Error>());
        assert_eq!(
            cause.map(io::Error::kind),
            Some(io::ErrorKind::ConnectionRefused)
        );
        let boxed: Box<dyn Error> = AdapterError::Deactivated.into();
        assert_eq!(
            format!("{boxed:?}"),
            "the adapter is deactivated: make another one"
        );
    }
}
