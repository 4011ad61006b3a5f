//! Dispatch: what a servant is to its adapter, and what a request and its response are.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Instant;

use floe_wire::encoding::{
    Buffer, DecodeError, Decoder, Encapsulation, Encoder, EncodingVersion, ExceptionFormat,
};
use floe_wire::message::{
    Context, IncomingRequest, OperationMode, Outcome, RequestFailed, RequestId, SystemException,
    reply,
};
use floe_wire::reference::Identity;

use super::{Adapter, DispatchPlace, OperationError, Origin};
use crate::connection::{Following, handle};
use crate::error::system_exception;
use crate::event::{Event, Events};

/// Answers requests: a servant as its adapter sees it.
///
/// Generated dispatchers decode the parameters and call a typed servant. An implementation by hand
/// sees every request undecoded, whatever its operation ([`Request::parameters`],
/// [`Request::respond`]).
#[doc(alias = "Ice.Blobject")]
pub trait Dispatcher: Send + Sync + 'static {
    /// Answers a request. The future is polled once where the request was read: what does not wait
    /// costs no task, and what computes for long should move elsewhere by itself.
    fn dispatch(self: Arc<Self>, request: Request) -> DispatchFuture;

    /// The same in a place that is used again. Generated dispatchers have it; one by hand need not.
    fn dispatch_in(self: Arc<Self>, request: Request, place: &mut DispatchPlace) {
        place.run_boxed(self.dispatch(request));
    }

    /// The same with the requests that follow and begin as this one, which generated dispatchers answer one
    /// after the other. What is not polled in the place must not keep them.
    #[doc(hidden)]
    fn dispatch_following(
        self: Arc<Self>,
        request: Request,
        following: Following,
        place: &mut DispatchPlace,
    ) {
        drop(following);
        self.dispatch_in(request, place);
    }

    /// Who takes the requests to this object as events, if they are not to be dispatched one by one:
    /// those that arrived together are handed over together, and each is answered with nothing in its
    /// own encoding. It is asked anew for each read of a connection, unless the sink that it gave last is lasting.
    fn event_sink(&self, _current: &Current) -> Option<Arc<dyn EventSink>> {
        None
    }
}

/// Takes requests to an object as events, without looking into them.
pub trait EventSink: Send + Sync + 'static {
    /// Takes events in the order in which they came. It must not block: what follows on the
    /// connection waits for it. Where there is no room for them yet it gives a future, which is
    /// polled once before the next events are handed over, and is done when all are taken; until
    /// then they are not answered, and count as a dispatch of their connection. They came at about `now`: who
    /// needs the time need not ask for it.
    fn take(self: Arc<Self>, events: Events, now: Instant) -> Option<Taking>;

    /// Whether [`Dispatcher::event_sink`] would still give this one for the object that it was given for: then that is
    /// not asked, as long as the adapter has the same servants. A connection that remembers a sink does not keep it
    /// alive. Default: false.
    fn is_lasting(&self) -> bool {
        false
    }
}

/// Events on their way into a sink that has no room for them yet.
pub type Taking = Pin<Box<dyn Future<Output = ()> + Send + 'static>>;

/// A servant may be shared, for example with whoever looks at what it counted.
impl<D: Dispatcher + ?Sized> Dispatcher for Arc<D> {
    fn dispatch(self: Arc<Self>, request: Request) -> DispatchFuture {
        Arc::clone(&*self).dispatch(request)
    }

    fn dispatch_in(self: Arc<Self>, request: Request, place: &mut DispatchPlace) {
        Arc::clone(&*self).dispatch_in(request, place);
    }

    fn dispatch_following(
        self: Arc<Self>,
        request: Request,
        following: Following,
        place: &mut DispatchPlace,
    ) {
        Arc::clone(&*self).dispatch_following(request, following, place);
    }

    fn event_sink(&self, current: &Current) -> Option<Arc<dyn EventSink>> {
        (**self).event_sink(current)
    }
}

/// How many times its own length a reply that shares bytes of its request may keep in memory, as long as
/// the peer does not read it. A shorter one is copied.
const PINNED_MAX: usize = 4;

/// A dispatch under way.
pub type DispatchFuture =
    Pin<Box<dyn Future<Output = Result<Response, SystemException>> + Send + 'static>>;

/// A request to a servant.
#[derive(Debug)]
pub struct Request {
    parts: Box<Parts>,
}

/// The reply to a request, encoded; nothing for a oneway request.
#[derive(Debug)]
pub struct Response {
    parts: Box<Parts>,
}

/// What a request consists of. It goes back with the response to where the next request is made of
/// it, so that nothing is moved, counted or allocated in between.
pub(crate) struct Parts {
    pub(crate) current: Current,
    /// Where the reply is encoded.
    pub(crate) buffer: Buffer,
    /// Who answered.
    pub(crate) servant: Option<Arc<dyn Dispatcher>>,
}

/// All that is known of a request besides its parameters. A clone shares the message's bytes.
#[derive(Clone)]
#[doc(alias = "Ice.Current")]
pub struct Current {
    pub(crate) request: IncomingRequest,
    pub(crate) origin: Arc<Origin>,
}

impl Current {
    /// The object.
    pub fn identity(&self) -> Identity {
        self.request.identity()
    }

    /// The name part of the object's identity, borrowed.
    pub fn name(&self) -> &str {
        self.request.name()
    }

    /// The facet; empty for the default facet.
    pub fn facet(&self) -> &str {
        self.request.facet()
    }

    /// The operation.
    pub fn operation(&self) -> &str {
        self.request.operation()
    }

    /// Whether the request may be repeated.
    pub fn mode(&self) -> OperationMode {
        self.request.mode()
    }

    /// What travels beside the parameters.
    pub fn context(&self) -> Context {
        self.request.context()
    }

    /// Number of the request on its connection.
    pub fn request_id(&self) -> RequestId {
        self.request.id()
    }

    /// What the request asked for, as exceptions tell of it.
    pub(crate) fn target(&self) -> RequestFailed {
        self.request.target()
    }

    /// Whether nobody waits for an answer.
    pub fn is_oneway(&self) -> bool {
        self.request.id().is_oneway()
    }

    /// Encoding of the parameters and of the results.
    pub fn encoding(&self) -> EncodingVersion {
        self.request.encoding()
    }

    /// The adapter that dispatches.
    pub fn adapter(&self) -> Adapter {
        Adapter {
            core: self.origin.adapter().clone(),
            communicator: self.origin.communicator().clone(),
        }
    }

    /// The connection over which the request came; `None` if it came from the same communicator,
    /// which skips the wire.
    pub fn connection(&self) -> Option<handle::Connection> {
        let connection = self.origin.connection()?;
        Some(handle::Connection::new(connection.clone()))
    }

    /// Address of the caller, for people: `127.0.0.1:51820`, or `collocated`. Anybody can write what
    /// they like into a datagram's.
    pub fn peer(&self) -> &str {
        match (self.origin.sender(), self.origin.connection()) {
            (Some(sender), _) => sender,
            (None, Some(connection)) => connection.peer(),
            (None, None) => "collocated",
        }
    }
}

impl fmt::Debug for Current {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Current")
            .field("request", &self.request)
            .field("peer", &self.peer())
            .finish_non_exhaustive()
    }
}

impl Parts {
    pub(crate) fn new(request: IncomingRequest, origin: Arc<Origin>) -> Box<Self> {
        Box::new(Self {
            current: Current { request, origin },
            buffer: Buffer::default(),
            servant: None,
        })
    }
}

impl fmt::Debug for Parts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Parts")
            .field("current", &self.current)
            .field("buffer", &self.buffer)
            .finish_non_exhaustive()
    }
}

impl Request {
    pub(crate) fn new(request: IncomingRequest, origin: Arc<Origin>) -> Self {
        Self::of(Parts::new(request, origin))
    }

    /// One whose parts are there already.
    pub(crate) fn of(parts: Box<Parts>) -> Self {
        Self { parts }
    }

    /// The operation.
    pub fn operation(&self) -> &str {
        self.parts.current.operation()
    }

    /// The operation's bytes, for a comparison.
    #[doc(hidden)]
    #[inline]
    pub fn operation_bytes(&self) -> &[u8] {
        self.parts.current.request.operation_bytes()
    }

    /// All that is known besides the parameters.
    pub fn current(&self) -> &Current {
        &self.parts.current
    }

    /// The parameters, unopened, with their encapsulation header; shares the message's bytes.
    pub fn parameters(&self) -> bytes::Bytes {
        self.parts.current.request.parameters()
    }

    /// Operation, mode, context and parameters, unopened: what
    /// [`Proxy::forward`](crate::Proxy::forward) sends on to another object.
    pub fn event(&self) -> Event {
        Event::new(&self.parts.current.request)
    }

    /// Checks the mode and decodes the parameters, all of them.
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
        let encapsulation = self.parts.current.request.encapsulation();
        let mut decoder = encapsulation
            .decoder()?
            .with_owner(self.parts.current.request.message())
            .with_context(self.parts.current.origin.communicator());
        let settings = self.parts.current.origin.communicator().settings();
        settings.make_known(&mut decoder);
        let parameters = decode(&mut decoder)?;
        decoder.finish()?;
        Ok(parameters)
    }

    /// Checks the mode, and that what is there instead of parameters can be skipped.
    ///
    /// # Errors
    /// As [`Request::decode`].
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

    /// The response for what a typed servant returned.
    ///
    /// # Errors
    /// What the servant failed with, if it is no user exception.
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
                Ok(error) => Err(system_exception(error)),
                Err(exception) => self.user_exception(format, &exception),
            },
        }
    }

    /// The response for results that `encode` writes.
    ///
    /// # Errors
    /// [`SystemException::UnknownLocalException`] if a result has no encoding.
    #[inline]
    pub fn returned(
        self,
        encode: impl FnOnce(&mut Encoder<'_>),
    ) -> Result<Response, SystemException> {
        let encoding = self.parts.current.encoding();
        self.write(|buffer, id| reply::write_returned(buffer, id, encoding, encode))
    }

    /// The response that returns nothing.
    ///
    /// # Errors
    /// None; the type is that of the other responses.
    pub fn returned_nothing(self) -> Result<Response, SystemException> {
        self.returned(|_| ())
    }

    /// The response for an outcome that is encoded already, or comes from another server. Its
    /// encapsulation must have the encoding of the request.
    ///
    /// # Errors
    /// [`SystemException::UnknownLocalException`] if it is too long, or no encapsulation.
    pub fn respond(self, outcome: &Outcome) -> Result<Response, SystemException> {
        if let Outcome::Returned(bytes) | Outcome::UserException(bytes) = outcome {
            Encapsulation::parse(bytes)?;
        }
        self.write(|buffer, id| reply::write_outcome(buffer, id, outcome))
    }

    /// Answers the operations that every object has.
    ///
    /// `type_ids` are all its types, sorted, `::Ice::Object` included; `type_id` is the most
    /// derived.
    ///
    /// # Errors
    /// [`SystemException::OperationNotExist`] for any other operation.
    pub fn builtin(self, type_id: &str, type_ids: &[&str]) -> Result<Response, SystemException> {
        match self.operation() {
            "ice_ping" => {
                self.decode_nothing(OperationMode::Idempotent)?;
                self.returned_nothing()
            }
            "ice_isA" => {
                let wanted: String =
                    self.decode(OperationMode::Idempotent, |decoder| decoder.get())?;
                let is_a = type_ids.contains(&wanted.as_str());
                self.returned(|encoder| encoder.put(&is_a))
            }
            "ice_id" => {
                self.decode_nothing(OperationMode::Idempotent)?;
                self.returned(|encoder| encoder.string(type_id))
            }
            "ice_ids" => {
                self.decode_nothing(OperationMode::Idempotent)?;
                self.returned(|encoder| encoder.put(type_ids))
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
        write: impl FnOnce(&mut Buffer, RequestId) -> Result<(), floe_wire::EncodeError>,
    ) -> Result<Response, SystemException> {
        let Parts {
            current, buffer, ..
        } = &mut *self.parts;
        if !current.is_oneway() {
            write(buffer, current.request_id())
                .map_err(|error| SystemException::UnknownLocalException(error.to_string()))?;
            if buffer.len() < current.request.message().len() / PINNED_MAX {
                buffer.join();
            }
        }
        Ok(Response { parts: self.parts })
    }

    /// A caller that may repeat what must not be repeated has another contract.
    ///
    /// The converse is harmless: Ice 3.8 accepts it, Ice 3.7 does not.
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

impl Response {
    /// Whether the servant threw a user exception. Of a oneway request nothing is known.
    pub fn is_user_exception(&self) -> bool {
        reply::is_user_exception(self.parts.buffer.bytes())
    }

    /// The same, with the servant that gave it: generated dispatchers hand themselves back, so that
    /// the next request to the same object need not look for them.
    #[doc(hidden)]
    #[must_use]
    pub fn by(mut self, servant: Arc<dyn Dispatcher>) -> Self {
        self.parts.servant = Some(servant);
        self
    }

    /// One whose parts are there already.
    pub(crate) fn of(parts: Box<Parts>) -> Self {
        Self { parts }
    }

    /// The bytes of the reply, and what the next request of the connection can have.
    pub(crate) fn into_parts(self) -> Box<Parts> {
        self.parts
    }
}
