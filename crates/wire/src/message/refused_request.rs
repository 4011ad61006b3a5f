//! Requests that are answered in place of their object.

use super::{RequestId, SystemException};
use crate::encoding::DecodeError;

/// A request with a field that Floe does not accept. No object gets it: its caller gets an exception, and the connection
/// stays open for the other calls.
///
/// | field | the connection stays open if |
/// |---|---|
/// | mode | it is above 2 |
/// | identity, facet, operation, context | a text is not UTF-8 |
/// | parameters | they are no encapsulation, or do not end within the message |
///
/// Any other error in these fields closes the connection, because the message holds no request then.
///
/// A batch with such a request is refused as a whole: if the parameters are bad, nothing says where the next request begins.
///
/// Source: observed, Ice 3.7.8. Servants with a Slice contract answer an unknown mode and bad parameters with status 5.
/// Servants without one, and the operations of every object, do not look at the mode. Ice for C++ takes texts as they
/// are. It closes the connection if the parameters are bad and there is no such object. Of a batch, it dispatches the
/// requests before the bad one, and then mostly closes the connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefusedRequest {
    /// Number of the request on its connection; that of a oneway request for a batch.
    pub id: RequestId,
    /// The error in the field.
    pub error: DecodeError,
}

impl RefusedRequest {
    /// The answer to the caller.
    pub fn exception(&self) -> SystemException {
        let error = &self.error;
        SystemException::UnknownLocalException(format!("malformed request: {error}"))
    }
}
