//! Operation errors: the user exceptions that an operation declares, or any other failure.

use floe_wire::encoding::{DecodeError, ExceptionReader, ExceptionWriter};

use super::InvokeError;

/// The error of an operation. One is generated for each set of exceptions that operations declare; operations that
/// declare none use [`InvokeError`] itself.
///
/// Callers and servants use the same type: the caller gets the error that the servant returns. If a servant calls an
/// operation that declares the same exceptions or none, it may pass on the error with `?`. To raise an exception that
/// its own operation does not declare, a servant returns [`InvokeError::UndeclaredException`]. Its caller then gets
/// [`UnknownUserException`](crate::SystemException::UnknownUserException) with the type id.
pub trait OperationError: From<InvokeError> + Sized {
    /// Decodes the exception at the reader's position; `None` if its type is not declared.
    ///
    /// # Errors
    /// [`DecodeError`] if the exception is malformed.
    fn decode(reader: &mut ExceptionReader<'_>) -> Result<Option<Self>, DecodeError>;

    /// Returns the failure, if the error is not a user exception.
    ///
    /// # Errors
    /// The error itself, if it is a user exception.
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
