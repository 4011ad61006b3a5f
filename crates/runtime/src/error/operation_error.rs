//! Errors of operations: the user exceptions that one declares, or any other failure.

use floe_wire::encoding::{DecodeError, ExceptionReader, ExceptionWriter};

use super::InvokeError;

/// What an operation can fail with. Generated for each set of exceptions that operations declare;
/// [`InvokeError`] itself serves those that declare none.
///
/// One type serves both sides: a servant returns what its caller gets, and may pass on with `?`
/// what an invocation of its own failed with, if that has no other exceptions. A servant that fails with
/// [`InvokeError::UndeclaredException`] gives its caller
/// [`UnknownUserException`](crate::SystemException::UnknownUserException) with the type id: so it raises an
/// exception that its operation does not declare.
pub trait OperationError: From<InvokeError> + Sized {
    /// Decodes the exception at which the reader stands; `None` if its type is not declared.
    ///
    /// # Errors
    /// [`DecodeError`] if the exception is malformed.
    fn decode(reader: &mut ExceptionReader<'_>) -> Result<Option<Self>, DecodeError>;

    /// The failure, if it is no user exception.
    ///
    /// # Errors
    /// The user exception.
    fn into_invoke_error(self) -> Result<InvokeError, Self>;

    /// Encodes the user exception; nothing if it is none.
    fn encode_slices(&self, writer: &mut ExceptionWriter<'_, '_>);
}

impl OperationError for InvokeError {
    fn decode(_reader: &mut ExceptionReader<'_>) -> Result<Option<Self>, DecodeError> {
        Ok(None)
    }

    fn into_invoke_error(self) -> Result<InvokeError, Self> {
        Ok(self)
    }

    fn encode_slices(&self, _writer: &mut ExceptionWriter<'_, '_>) {}
}
