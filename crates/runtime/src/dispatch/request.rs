//! A request and its response.

use std::fmt;
use std::sync::Arc;
use std::time::Instant;

use floe_wire::EncodeError;
use floe_wire::encoding::{
    Buffer, DecodeError, DecodeErrorKind, Decoder, Encapsulation, Encoder, ExceptionFormat,
};
use floe_wire::message::{
    IncomingRequest, OperationMode, Outcome, RequestId, SystemException, reply,
};

use super::deferred_replies::encode_exception_to;
use super::{Current, Origin};
use crate::error::OperationError;
use crate::event::{Event, EventsBuilder};

/// A reply that shares the bytes of its request may keep this many times its own length in memory while the peer does
/// not read it. A shorter reply is copied.
const PINNED_MAX: usize = 4;

/// A request to a servant.
#[derive(Debug)]
pub struct Request {
    parts: Box<RequestParts>,
}

/// The result of an operation that every object has.
pub(crate) enum Builtin<'a> {
    Pinged,
    IsA(bool),
    Id(&'a str),
    Ids(&'a [&'a str]),
}

/// The encoded reply to a request; empty for a oneway request.
#[derive(Debug)]
pub struct Response {
    parts: Box<RequestParts>,
}

/// The parts of a request.
///
/// They return to the connection with the response, and the connection makes the next request of them. So nothing is
/// moved, counted or allocated between requests.
pub(crate) struct RequestParts {
    pub(crate) current: Current,
    /// The buffer in which the reply is encoded.
    pub(crate) buffer: Buffer,
    /// Number of replies in the buffer: 0 for a oneway request, more than 1 for events.
    pub(crate) reply_count: usize,
    /// When the events arrived, if the replies are to events: such replies may leave a little later.
    pub(crate) events_came: Option<Instant>,
    /// True if somebody was woken who should run before the replies leave.
    pub(crate) yields_first: bool,
    /// The buffer in which events are collected.
    pub(super) events: EventsBuilder,
}

impl RequestParts {
    pub(crate) fn new(request: IncomingRequest, origin: Arc<Origin>) -> Box<Self> {
        Box::new(Self {
            current: Current { request, origin },
            buffer: Buffer::default(),
            reply_count: 0,
            events_came: None,
            yields_first: false,
            events: EventsBuilder::default(),
        })
    }

    /// Returns true if there is a reply whose caller accepts compression. Replies to events are never compressed.
    #[inline]
    pub(crate) fn may_compress_reply(&self) -> bool {
        self.current.request.reply_compression().is_some()
            && self.reply_count > 0
            && self.events_came.is_none()
    }

    /// Compresses the reply if its caller accepts that.
    #[inline]
    pub(crate) fn compress_reply(&mut self) {
        if self.may_compress_reply()
            && let Some(source) = self.current.origin.source()
        {
            source.compress_reply(&self.current.request, &mut self.buffer);
        }
    }

    /// Removes the remains of the last reply.
    #[inline]
    pub(crate) fn clear(&mut self) {
        self.buffer.clear();
        self.reply_count = 0;
        self.events_came = None;
        self.yields_first = false;
    }
}

impl fmt::Debug for RequestParts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RequestParts")
            .field("current", &self.current)
            .field("buffer", &self.buffer)
            .finish_non_exhaustive()
    }
}

impl Request {
    pub(crate) fn new(request: IncomingRequest, origin: Arc<Origin>) -> Self {
        Self::of(RequestParts::new(request, origin))
    }

    /// Makes a request of existing parts.
    pub(crate) fn of(parts: Box<RequestParts>) -> Self {
        Self { parts }
    }

    /// Makes a request of its remains, so that it can be answered. Its parts have gone with the failed dispatch.
    pub(super) fn of_current(current: Current) -> Self {
        Self::new(current.request, current.origin)
    }

    pub(super) fn into_parts(self) -> Box<RequestParts> {
        self.parts
    }

    pub(super) fn parts_mut(&mut self) -> &mut RequestParts {
        &mut self.parts
    }

    /// The operation.
    pub fn operation(&self) -> &str {
        self.parts.current.operation()
    }

    /// The operation as bytes, for comparisons.
    #[doc(hidden)]
    #[inline]
    pub fn operation_bytes(&self) -> &[u8] {
        self.parts.current.request.operation_bytes()
    }

    /// Everything known about the request besides the parameters.
    pub fn current(&self) -> &Current {
        &self.parts.current
    }

    /// The encoded parameters, with their encapsulation header. They share the message's bytes.
    pub fn parameters(&self) -> bytes::Bytes {
        self.parts.current.request.parameters()
    }

    /// Releases the parameters, and copies the rest into memory of its own. The request has no parameters then.
    ///
    /// Call it before a long wait, if the parameters are not needed any more. Otherwise the request may keep the whole
    /// buffer alive that it was read into, up to 256 KiB, or a message of any length. Events that were taken from the
    /// request before share that buffer, unless they are [detached](Event::detached).
    pub fn release_parameters(&mut self) {
        let request = &mut self.parts.current.request;
        *request = request.without_parameters();
    }

    /// Operation, mode, context and encoded parameters, ready for [`Proxy::forward`](crate::Proxy::forward) to another
    /// object.
    pub fn event(&self) -> Event {
        Event::new(&self.parts.current.request)
    }

    /// Checks the mode, and decodes all parameters.
    ///
    /// # Errors
    /// [`SystemException::UnknownLocalException`] for the caller.
    #[inline]
    pub fn decode<T>(
        &self,
        mode: OperationMode,
        decode: impl FnOnce(&mut Decoder<'_>) -> Result<T, DecodeError>,
    ) -> Result<T, SystemException> {
        if self.parts.current.mode() != mode {
            self.check_mode(mode)?;
        }
        let decoded = self.decode_parameters(decode);
        decoded.map_err(|error| self.undecodable(&error))
    }

    #[inline]
    fn decode_parameters<T>(
        &self,
        decode: impl FnOnce(&mut Decoder<'_>) -> Result<T, DecodeError>,
    ) -> Result<T, DecodeError> {
        let origin = &self.parts.current.origin;
        let encapsulation = self.parts.current.request.encapsulation();
        let mut decoder = encapsulation
            .decoder()?
            .with_owner(self.parts.current.request.message())
            .with_context(&**origin.owner());
        let settings = &origin.adapter().settings;
        settings.make_known(&mut decoder);
        let parameters = decode(&mut decoder)?;
        decoder.finish()?;
        Ok(parameters)
    }

    /// Makes the answer when the parameters cannot be decoded. The usual cause is a caller with another contract.
    #[cold]
    fn undecodable(&self, error: &DecodeError) -> SystemException {
        if matches!(error.kind, DecodeErrorKind::UnsupportedEncoding(_)) {
            return error.clone().into();
        }
        SystemException::UnknownLocalException(format!(
            "the parameters of operation \"{}\" of object \"{}\" do not match the server's contract: {error}; \
             caller and server may have been built from different versions of the contract: \
             `floe slice breaking OLD NEW` compares two",
            self.operation(),
            self.current().identity()
        ))
    }

    /// Checks the mode, and that the unused parameters can be skipped.
    ///
    /// # Errors
    /// See [`Request::decode`].
    #[doc(hidden)]
    #[inline]
    pub fn decode_nothing(&self, mode: OperationMode) -> Result<(), SystemException> {
        let request = &self.parts.current.request;
        if request.mode() == mode && request.has_no_parameters() {
            return Ok(());
        }
        self.skip_parameters(mode)
    }

    fn skip_parameters(&self, mode: OperationMode) -> Result<(), SystemException> {
        self.decode(mode, |decoder| decoder.nothing())
    }

    /// Makes the response for the result of a typed servant.
    ///
    /// # Errors
    /// The failure of the servant, if it is not a user exception.
    #[inline]
    pub fn reply<T, E: OperationError>(
        self,
        result: Result<T, E>,
        format: ExceptionFormat,
        encode: impl FnOnce(&T, &mut Encoder<'_>),
    ) -> Result<Response, SystemException> {
        match result {
            Ok(results) => self.returned(|encoder| encode(&results, encoder)),
            Err(error) => match error.into_invoke_error() {
                Ok(error) => Err(error.into()),
                Err(exception) => self.user_exception(format, &exception),
            },
        }
    }

    /// Makes the response for results that `encode` writes.
    ///
    /// # Errors
    /// [`SystemException::UnknownLocalException`] if a result cannot be encoded.
    #[inline]
    pub fn returned(
        self,
        encode: impl FnOnce(&mut Encoder<'_>),
    ) -> Result<Response, SystemException> {
        let encoding = self.parts.current.encoding();
        self.write(|buffer, id| reply::write_returned(buffer, id, encoding, encode))
    }

    /// Makes an empty response.
    ///
    /// # Errors
    /// Encoding an empty result cannot fail; the type is that of the other responses.
    pub fn returned_nothing(self) -> Result<Response, SystemException> {
        self.returned(|_| ())
    }

    /// Makes the response for an outcome that is encoded already, or comes from another server. Its encapsulation must
    /// have the encoding of the request.
    ///
    /// # Errors
    /// [`SystemException::UnknownLocalException`] if it is too long, or not an encapsulation.
    pub fn respond(self, outcome: &Outcome) -> Result<Response, SystemException> {
        if let Outcome::Returned(bytes) | Outcome::UserException(bytes) = outcome {
            Encapsulation::parse(bytes)?;
        }
        self.write(|buffer, id| reply::write_outcome(buffer, id, outcome))
    }

    /// Answers the operations that every object has.
    ///
    /// `type_ids` lists all types of the object, sorted, `::Ice::Object` included. `type_id` is the most derived type.
    ///
    /// # Errors
    /// [`SystemException::OperationNotExist`] for any other operation.
    pub fn builtin(self, type_id: &str, type_ids: &[&str]) -> Result<Response, SystemException> {
        let result = self.builtin_result(type_id, type_ids)?;
        self.returned(|encoder| result.encode(encoder))
    }

    /// The result of an operation that every object has; see [`Request::builtin`].
    pub(crate) fn builtin_result<'a>(
        &self,
        type_id: &'a str,
        type_ids: &'a [&'a str],
    ) -> Result<Builtin<'a>, SystemException> {
        match self.operation() {
            "ice_ping" => {
                self.decode_nothing(OperationMode::BUILTIN)?;
                Ok(Builtin::Pinged)
            }
            "ice_isA" => {
                let wanted: String =
                    self.decode(OperationMode::BUILTIN, |decoder| decoder.get())?;
                Ok(Builtin::IsA(type_ids.contains(&wanted.as_str())))
            }
            "ice_id" => {
                self.decode_nothing(OperationMode::BUILTIN)?;
                Ok(Builtin::Id(type_id))
            }
            "ice_ids" => {
                self.decode_nothing(OperationMode::BUILTIN)?;
                Ok(Builtin::Ids(type_ids))
            }
            _ => Err(SystemException::OperationNotExist(
                self.parts.current.request.target(),
            )),
        }
    }

    fn user_exception<E: OperationError>(
        self,
        format: ExceptionFormat,
        exception: &E,
    ) -> Result<Response, SystemException> {
        let encoding = self.parts.current.encoding();
        self.write(|buffer, id| {
            reply::write_user_exception(buffer, id, encoding, format, |writer| {
                exception.encode_slices(writer);
            })
        })
    }

    #[inline]
    fn write(
        mut self,
        write: impl FnOnce(&mut Buffer, RequestId) -> Result<(), EncodeError>,
    ) -> Result<Response, SystemException> {
        let RequestParts {
            current,
            buffer,
            reply_count,
            ..
        } = &mut *self.parts;
        if !current.is_oneway() {
            write(buffer, current.request_id()).map_err(|error| unencodable(current, error))?;
            *reply_count = 1;
            if buffer.len() < current.request.message().len() / PINNED_MAX {
                buffer.join();
            }
        }
        Ok(Response { parts: self.parts })
    }

    /// Checks the mode. A caller that would repeat an operation which must not be repeated has a different contract.
    ///
    /// The converse is harmless, and the two idempotent modes mean the same: an idempotent operation accepts every
    /// mode, as in Ice 3.8. Servants of Ice 3.7 refuse mode 0 for it.
    fn check_mode(&self, expected: OperationMode) -> Result<(), SystemException> {
        let mode = self.parts.current.mode();
        if mode.is_idempotent() && !expected.is_idempotent() {
            return Err(SystemException::UnknownLocalException(format!(
                "operation \"{}\" is not idempotent in the server's contract, the request says {mode:?}: \
                 compile both sides from the same contract",
                self.operation()
            )));
        }
        Ok(())
    }
}

impl Builtin<'_> {
    pub(super) fn encode(&self, encoder: &mut Encoder<'_>) {
        match self {
            Self::Pinged => {}
            Self::IsA(is_a) => encoder.put(is_a),
            Self::Id(type_id) => encoder.string(type_id),
            Self::Ids(type_ids) => encoder.put(*type_ids),
        }
    }
}

impl Response {
    /// Returns true if the servant threw a user exception. Always false for a oneway request.
    pub fn is_user_exception(&self) -> bool {
        reply::is_user_exception(self.parts.buffer.bytes())
    }

    /// Makes a response of existing parts.
    pub(crate) fn of(parts: Box<RequestParts>) -> Self {
        Self { parts }
    }

    /// Turns the response back into its request, so that it can be answered otherwise.
    pub(crate) fn into_request(mut self) -> Request {
        self.parts.clear();
        Request { parts: self.parts }
    }

    /// Returns the parts. They hold the bytes of the reply, and the next request of the connection can reuse them.
    pub(crate) fn into_parts(self) -> Box<RequestParts> {
        self.parts
    }
}

/// Makes the answer when the servant's result cannot be encoded. The servant is at fault, and the log names the error.
#[cold]
fn unencodable(current: &Current, error: EncodeError) -> SystemException {
    tracing::warn!(
        operation = current.operation(),
        identity = %current.identity(),
        "the result of a servant cannot be encoded, so its caller gets UnknownLocalException: {error}"
    );
    SystemException::UnknownLocalException(error.to_string())
}

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
    encode_exception_to(&mut buffer, request.id(), exception);
    buffer
}
