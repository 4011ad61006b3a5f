//! Calls: everything between a proxy and the send queue of a connection, from the encoding of a request to its reply.
//!
//! This file has the typed call of generated proxies, a future with a name. It first takes the fast path of send. If
//! the fast path cannot send the request, or the attempt fails, the call becomes a boxed invocation, which connects,
//! waits for room and retries.
//!
//! - `fast_path.rs`: invocations that need no wait before their message is appended
//! - `invoke.rs`: untyped invocations, and events that may have to wait
//! - `attempt.rs`: one invocation, with its deadline (`time_limit.rs`) and its retries, which
//!   [`floe_wire::connection::Retries`] decides
//! - `compressed.rs`: requests sent over a connection, compressed or not
//! - `batch.rs`: requests that are collected and sent together
//! - `forward.rs`: events that are sent without a wait, and whose replies a reply sink gets
//! - `collocated.rs`: calls that skip the wire

mod attempt;
mod batch;
mod collocated;
mod compressed;
mod fast_path;
mod forward;
mod invoke;
mod time_limit;

use std::fmt;
use std::future::Future;
use std::marker::PhantomData;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use floe_wire::encoding::{
    DecodeError, Decoder, Encapsulation, Encoder, EncodingVersion, ExceptionReader,
};
use floe_wire::message::{IncomingReply, Outcome, reply};
use floe_wire::reference::InvocationMode;
use tokio::time::Instant;

pub use forward::{ConnectionToken, PendingEvent, PendingEvents};

use crate::connection::wait::{Wait, may_wait_directly, wait_depth};
use crate::connection::{ReceivedReply, Reply, ShortReply};
use crate::error::{AttemptError, InvokeError, LocalError, OperationError};
use crate::proxy::{OperationInfo, Proxy};
use attempt::timed_out;
use fast_path::SendAttempt;
use time_limit::TimeLimit;

/// The in-parameters of a call: a tuple of them in the order of the wire, or a function that writes them.
pub trait Parameters: Send + Sync {
    /// Encodes them one after another.
    fn encode(&self, encoder: &mut Encoder<'_>);
}

impl<F: Fn(&mut Encoder<'_>) + Send + Sync> Parameters for F {
    #[inline]
    fn encode(&self, encoder: &mut Encoder<'_>) {
        self(encoder);
    }
}

/// Writes parameters off the fast path. It is not generic there, so that a program does not compile connecting, waiting
/// and retrying once for each operation.
type WriteParameters<'a> = dyn Fn(&mut Encoder<'_>) + Send + Sync + 'a;

/// A call of an operation: a future that returns the results `R` or fails with `E`.
///
/// The request is sent when the call is first polled, or by [`Call::wait`]. Dropping the call gives the request up;
/// then it is unknown whether the request was executed.
///
/// It borrows the proxy and the parameters `P` for `'a`. A call of a generated proxy is `Send` whatever it borrows, so
/// that `join_all`, `select!` and the like take it in a spawned task and in a servant.
//
// The bound on `P` stands here and not at the implementations. There it would be an obligation of everyone who asks
// whether a call is a future, and the compiler cannot prove it for the lifetimes in a spawned task, which it has erased.
// Here the implementations may assume it.
#[must_use = "a call does nothing unless it is awaited or waited for"]
pub struct Call<'a, R, E, P: 'a, Decode = fn(&mut Decoder<'_>) -> Result<R, DecodeError>> {
    proxy: &'a Proxy,
    operation: &'static OperationInfo,
    /// Present until an invocation takes them.
    parameters: Option<P>,
    /// Reads the results. Present until they are read.
    decode: Option<Decode>,
    state: CallState<'a>,
    returns: PhantomData<fn() -> (R, E)>,
}

/// How a call has begun.
enum Begun {
    /// There is something to wait for.
    Waits,
    /// The request has left or is collected, and gets no reply.
    Done,
    Failed(Box<InvokeError>),
}

/// The progress of a call.
enum CallState<'a> {
    /// Nothing is sent.
    New,
    /// The fast path sent the request, and its reply is due within the time limit.
    Requested(Reply, Option<TimeLimit>),
    /// The call is being invoked off the fast path.
    Invoking(Invoking<'a>),
    Ended,
}

/// An invocation that may connect, wait for room and retry. Without a reply there is no outcome.
type Invoking<'a> = Pin<Box<dyn Future<Output = Result<Option<Outcome>, InvokeError>> + Send + 'a>>;

impl Proxy {
    /// Calls an operation in the mode of the proxy. With any mode but twoway, the call is done when the request has
    /// been handed over or collected.
    ///
    /// `encode` writes the parameters; it may run again for a retry. `decode` reads the results.
    ///
    /// # Errors
    /// A user exception that the operation declares, or an [`InvokeError`].
    #[inline]
    pub fn call<'a, R, E: OperationError>(
        &'a self,
        operation: &'static OperationInfo,
        encode: impl Fn(&mut Encoder<'_>) + Send + Sync + 'a,
        decode: impl FnOnce(&mut Decoder<'_>) -> Result<R, DecodeError>,
    ) -> Call<'a, R, E, impl Parameters + 'a, impl FnOnce(&mut Decoder<'_>) -> Result<R, DecodeError>>
    {
        Call::new(self, operation, encode, decode)
    }
}

impl<'a, R, E, P, Decode> Call<'a, R, E, P, Decode> {
    /// Makes a call that has not started.
    #[inline]
    pub(crate) fn new(
        proxy: &'a Proxy,
        operation: &'static OperationInfo,
        parameters: P,
        decode: Decode,
    ) -> Self {
        Self {
            proxy,
            operation,
            parameters: Some(parameters),
            decode: Some(decode),
            state: CallState::New,
            returns: PhantomData,
        }
    }
}

/// No field is pinned: the invocation is boxed, and a reply may be moved.
impl<R, E, P, Decode> Unpin for Call<'_, R, E, P, Decode> {}

impl<'a, R, E, P, Decode> Call<'a, R, E, P, Decode>
where
    E: OperationError,
    P: Parameters,
    Decode: FnOnce(&mut Decoder<'_>) -> Result<R, DecodeError>,
{
    /// Blocks until the call is done.
    ///
    /// With a proxy of a [`blocking::Communicator`](crate::blocking::Communicator) this thread sends the request and
    /// reads the reply itself, with one system call each.
    ///
    /// It blocks, so it must not be called in a task of a tokio runtime.
    ///
    /// # Errors
    /// As [`Proxy::call`].
    #[inline]
    pub fn wait(mut self) -> Result<R, E> {
        let is_twoway = self.proxy.reference().mode == InvocationMode::Twoway;
        if matches!(self.state, CallState::New) && (!is_twoway || may_wait_directly()) {
            // The reply is read within the wait that begins now.
            match self.begin(wait_depth() + 1) {
                Begun::Waits => {}
                Begun::Done => return self.open_nothing(),
                Begun::Failed(error) => return Err((*error).into()),
            }
            match std::mem::replace(&mut self.state, CallState::Ended) {
                CallState::Requested(reply, None) => {
                    let mut short = ShortReply::new();
                    match reply.wait_reading(&mut short) {
                        Ok(ReceivedReply::Nothing) => return self.open_nothing(),
                        Ok(ReceivedReply::Short) => return self.open_short(&short),
                        Ok(ReceivedReply::Whole(reply)) => return self.open_reply(reply),
                        Err(failure) => self.invoke(Some(*failure), None),
                    }
                }
                state => self.state = state,
            }
        }
        Wait::wait(self)
    }

    /// Sends the request on the fast path, or starts an invocation.
    /// `wait_depth` says within how many nested waits of this thread the reply will be awaited.
    #[inline]
    fn begin(&mut self, wait_depth: usize) -> Begun {
        let Some(parameters) = &self.parameters else {
            return Begun::Waits;
        };
        let proxy = self.proxy;
        let is_oneway = proxy.reference().mode != InvocationMode::Twoway;
        if is_oneway && self.operation.returns_data {
            let operation = self.operation.name.to_owned();
            let error = InvokeError::NotDispatched(LocalError::NotTwoway { operation });
            return Begun::Failed(Box::new(error));
        }
        let encode = |encoder: &mut Encoder<'_>| parameters.encode(encoder);
        match proxy.try_invoke(self.operation, &encode, wait_depth) {
            SendAttempt::Requested(reply) => {
                self.state = CallState::Requested(reply, proxy.timeout().map(TimeLimit::new));
            }
            SendAttempt::Done => return Begun::Done,
            SendAttempt::Full(full) => {
                let sent = async move { proxy.post_full(full).await.map(|()| None) };
                self.state = CallState::Invoking(Box::pin(sent));
            }
            SendAttempt::NeedsWait(failure) => self.invoke(failure.map(|failure| *failure), None),
            SendAttempt::Failed(error) => return Begun::Failed(error),
        }
        Begun::Waits
    }

    /// Starts an invocation. If there was a first attempt, `failure` says how it ended, and `deadline` is the end of
    /// the time that it started.
    #[cold]
    fn invoke(&mut self, failure: Option<AttemptError>, deadline: Option<Instant>) {
        let parameters = self.parameters.take().expect("it is invoked once");
        let encode = Box::new(move |encoder: &mut Encoder<'_>| parameters.encode(encoder));
        let invoking = invoke(self.proxy, self.operation, (failure, deadline), encode);
        self.state = CallState::Invoking(Box::pin(invoking));
    }

    /// Reads the results from a short reply.
    #[inline]
    fn open_short(&mut self, short: &ShortReply) -> Result<R, E> {
        self.read_results(reply::returned(short.as_bytes()).unwrap_or_default(), None)
    }

    /// Reads the results or the exception from a reply.
    fn open_reply(&mut self, reply: IncomingReply) -> Result<R, E> {
        if !self.operation.returns_data && reply.returned_nothing() {
            return self.open_nothing();
        }
        let outcome = reply.into_outcome().map_err(InvokeError::BadReply)?;
        self.open(outcome)
    }

    fn open(&mut self, outcome: Outcome) -> Result<R, E> {
        match outcome {
            Outcome::Returned(bytes) => self.read_results(&bytes, Some(&bytes)),
            Outcome::UserException(bytes) => Err(self.proxy.user_exception(&bytes)),
            Outcome::System(exception) => Err(InvokeError::System(exception).into()),
        }
    }

    /// Makes the results of an operation that has none, or of a request without a reply.
    #[inline]
    fn open_nothing(&mut self) -> Result<R, E> {
        let mut decoder = Decoder::new(&[], EncodingVersion::default());
        let results = (self.take_decode())(&mut decoder);
        results.map_err(|error| bad_reply(error).into())
    }

    #[inline]
    fn read_results(&mut self, encapsulation: &[u8], owner: Option<&Bytes>) -> Result<R, E> {
        let decode = self.take_decode();
        let read = || {
            let mut decoder = self.proxy.decoder(encapsulation)?;
            if let Some(owner) = owner {
                decoder = decoder.with_owner(owner);
            }
            let results = decode(&mut decoder)?;
            decoder.finish()?;
            Ok(results)
        };
        read().map_err(|error| bad_reply(error).into())
    }

    #[inline]
    fn take_decode(&mut self) -> Decode {
        self.decode.take().expect("a call ends once")
    }
}

impl<'a, R, E, P, Decode> Future for Call<'a, R, E, P, Decode>
where
    E: OperationError,
    P: Parameters,
    Decode: FnOnce(&mut Decoder<'_>) -> Result<R, DecodeError>,
{
    type Output = Result<R, E>;

    #[inline]
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<R, E>> {
        let this = self.get_mut();
        if matches!(this.state, CallState::New) {
            match this.begin(wait_depth()) {
                Begun::Waits => {}
                Begun::Done => {
                    this.state = CallState::Ended;
                    return Poll::Ready(this.open_nothing());
                }
                Begun::Failed(error) => {
                    this.state = CallState::Ended;
                    return Poll::Ready(Err((*error).into()));
                }
            }
        }
        if let CallState::Requested(reply, time_limit) = &mut this.state {
            let failure = match (Pin::new(reply).poll(context), &mut *time_limit) {
                (Poll::Ready(Ok(reply)), _) => {
                    this.state = CallState::Ended;
                    return Poll::Ready(this.open_reply(reply));
                }
                (Poll::Ready(Err(failure)), _) => *failure,
                (Poll::Pending, None) => return Poll::Pending,
                (Poll::Pending, Some(time_limit)) => {
                    ready!(time_limit.poll_over(context));
                    timed_out(this.operation.name, time_limit.limit, true)
                }
            };
            let deadline = time_limit.as_ref().map(|limit| limit.deadline);
            this.invoke(Some(failure), deadline);
        }
        let CallState::Invoking(invoking) = &mut this.state else {
            panic!("a call that has ended is not polled again");
        };
        let outcome = ready!(invoking.as_mut().poll(context));
        this.state = CallState::Ended;
        Poll::Ready(match outcome {
            Ok(Some(outcome)) => this.open(outcome),
            Ok(None) => this.open_nothing(),
            Err(error) => Err(error.into()),
        })
    }
}

impl<R, E, P, Decode> fmt::Debug for Call<'_, R, E, P, Decode> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Call")
            .field("operation", &self.operation.name)
            .finish_non_exhaustive()
    }
}

/// Invokes an operation in the mode of the proxy, and retries if that is safe.
async fn invoke(
    proxy: &Proxy,
    operation: &OperationInfo,
    first: (Option<AttemptError>, Option<Instant>),
    encode: Box<WriteParameters<'_>>,
) -> Result<Option<Outcome>, InvokeError> {
    let (name, mode) = (operation.name, operation.mode);
    let encoding = proxy.sending_encoding();
    let write = |encoder: &mut Encoder<'_>| encoder.encapsulation(encoding, &encode);
    let outcome = proxy.invoke_encoded(name, mode, first, &write).await?;
    match proxy.reference().mode {
        // An interceptor may have returned no outcome.
        InvocationMode::Twoway if outcome.is_none() => {
            let operation = name.to_owned();
            Err(InvokeError::NotDispatched(LocalError::NotTwoway {
                operation,
            }))
        }
        InvocationMode::Twoway => Ok(outcome),
        _ => Ok(None),
    }
}

impl Proxy {
    /// Returns the encoding for parameters: the proxy's, or the newest of ours if the proxy asks for a newer one.
    pub(super) fn sending_encoding(&self) -> EncodingVersion {
        self.reference().encoding.for_sending().unwrap_or_default()
    }

    fn user_exception<E: OperationError>(&self, bytes: &Bytes) -> E {
        self.try_user_exception(bytes)
            .unwrap_or_else(|error| bad_reply(error).into())
    }

    /// Decodes the exception as the most derived type that the operation declares.
    fn try_user_exception<E: OperationError>(&self, bytes: &Bytes) -> Result<E, DecodeError> {
        let mut reader = ExceptionReader::new(self.decoder(bytes)?.with_owner(bytes))?;
        let type_id = reader.type_id().to_owned();
        loop {
            if let Some(exception) = E::decode(&mut reader)? {
                reader.finish()?;
                return Ok(exception);
            }
            if !reader.skip()? {
                return Ok(InvokeError::UndeclaredException { type_id }.into());
            }
        }
    }

    #[inline]
    fn decoder<'a>(&'a self, encapsulation: &'a [u8]) -> Result<Decoder<'a>, DecodeError> {
        let mut decoder = Encapsulation::parse(encapsulation)?.decoder()?;
        let Some(communicator) = self.communicator() else {
            return Ok(decoder);
        };
        communicator.settings().make_known(&mut decoder);
        Ok(decoder.with_context(&**communicator.core()))
    }
}

fn bad_reply(error: DecodeError) -> InvokeError {
    InvokeError::BadReply(error)
}
