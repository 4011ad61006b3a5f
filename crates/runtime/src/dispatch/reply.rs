//! The bytes of a reply.

use floe_wire::encoding::Buffer;
use floe_wire::message::{IncomingRequest, Outcome, SystemException, reply};

use super::Response;

/// The bytes of the reply. Ignore them for a oneway request.
pub(crate) fn encode_reply(
    request: &IncomingRequest,
    result: Result<Response, SystemException>,
) -> Buffer {
    match result {
        Ok(response) => response.into_parts().buffer,
        Err(exception) => encode_exception(request, exception),
    }
}

pub(crate) fn encode_exception(request: &IncomingRequest, exception: SystemException) -> Buffer {
    let exception = exception.with_target(&request.target());
    let mut buffer = Buffer::default();
    let written = reply::write_outcome(&mut buffer, request.id(), &Outcome::System(exception));
    if let Err(error) = written {
        let exception = SystemException::UnknownLocalException(error.to_string());
        // Encoding a short text cannot fail.
        let _ = reply::write_outcome(&mut buffer, request.id(), &Outcome::System(exception));
    }
    buffer
}
