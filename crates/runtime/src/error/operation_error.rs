//! Operation errors: the user exceptions that an operation declares, or any other failure.

use floe_wire::encoding::{DecodeError, ExceptionReader, ExceptionWriter};

use super::InvokeError;

/// The error of an operation. One is generated for each set of exceptions that operations declare; operations that
/// declare none use [`InvokeError`] itself.
///
/// Callers and servants use the same type. A servant returns the error that its caller gets, and may pass on the error
/// of its own invocation with `?`, if that has no other exceptions. To raise an exception that its operation does not
/// declare, a servant returns [`InvokeError::UndeclaredException`]; its caller gets
/// [`UnknownUserException`](crate::SystemException::UnknownUserException) with the type id.
pub trait OperationError: From<InvokeError> + Sized {
    /// Decodes the exception at the reader's position; `None` if its type is not declared.
    ///
    /// # Errors
    /// [`DecodeError`] if the exception is malformed.
    fn decode(reader: &mut ExceptionReader<'_>) -> Result<Option<Self>, DecodeError>;

    /// The failure, if it is not a user exception.
    ///
    /// # Errors
    /// The user exception.
    fn into_invoke_error(self) -> Result<InvokeError, Self>;

    /// Encodes the user exception. Writes nothing if the error is another failure.
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
