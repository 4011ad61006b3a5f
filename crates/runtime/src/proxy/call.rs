//! Typed calls, as generated proxies make them: a call is a future with a name.
//!
//! A call takes the fast path of send first. If that cannot send it, or if the attempt failed, it becomes an invocation
//! in a box, which connects, waits for room and tries again.

use std::fmt;
use std::future::Future;
use std::marker::PhantomData;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use floe_wire::encoding::{
    DecodeError, Decoder, Encapsulation, Encoder, EncodingVersion, ExceptionReader,
};
use floe_wire::message::{IncomingReply, OperationMode, Outcome, reply};
use floe_wire::reference::InvocationMode;

use super::Proxy;
use super::attempt::{First, timed_out};
use super::fast_path::FastPath;
use super::time_limit::TimeLimit;
use crate::connection::wait::{Wait, may_wait_here, wait_depth};
use crate::connection::{ReceivedReply, Reply, ShortReply};
use crate::error::{AttemptError, InvokeError, LocalError, OperationError};

/// What a generated proxy knows of an operation.
#[derive(Debug, Clone, Copy)]
pub struct OperationInfo {
    /// Its name.
    pub name: &'static str,
    /// Whether it may be repeated.
    pub mode: OperationMode,
    /// Whether it returns something or declares exceptions: then only a twoway proxy can invoke it.
    pub returns_data: bool,
}

/// Writes the parameters of a call: any such function.
pub trait EncodeParameters<'call>: Fn(&mut Encoder<'_>) + Send + Sync + 'call {}

impl<'call, F: Fn(&mut Encoder<'_>) + Send + Sync + 'call> EncodeParameters<'call> for F {}

/// A call of an operation: a future of its results, which returns `R` or fails with `E`.
///
/// Nothing is sent before the call is polled, or waited for with [`Call::wait`]. Dropping it gives the request up; whether
/// the request was executed is then unknown.
#[must_use = "a call does nothing unless it is awaited or waited for"]
pub struct Call<'a, R, E, Encode, Decode = fn(&mut Decoder<'_>) -> Result<R, DecodeError>> {
    proxy: &'a Proxy,
    operation: &'static OperationInfo,
    /// Writes the parameters. It is there until an invocation takes it.
    encode: Option<Encode>,
    /// Reads the results. It is there until they are read.
    decode: Option<Decode>,
    state: State<'a>,
    returns: PhantomData<fn() -> (R, E)>,
}

/// How far a call is.
enum State<'a> {
    /// Nothing is sent.
    New,
    /// The request took the fast path, and its reply is due in this time.
    Requested(Reply, Option<TimeLimit>),
    /// It is being invoked.
    Invoking(Invoking<'a>),
    Ended,
}

/// An invocation that may connect, wait for room and be tried again. There is no outcome without a reply.
type Invoking<'a> = Pin<Box<dyn Future<Output = Result<Option<Outcome>, InvokeError>> + Send + 'a>>;

impl Proxy {
    /// Calls an operation, in the mode of the proxy. Without a twoway proxy the call is done when the
    /// request has been handed over or, in a batch, collected.
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
    ) -> Call<
        'a,
        R,
        E,
        impl EncodeParameters<'a>,
        impl FnOnce(&mut Decoder<'_>) -> Result<R, DecodeError>,
    > {
        Call::new(self, operation, encode, decode)
    }
}

impl<'a, R, E, Encode, Decode> Call<'a, R, E, Encode, Decode> {
    /// A call of which nothing is done yet.
    #[inline]
    pub(crate) fn new(
        proxy: &'a Proxy,
        operation: &'static OperationInfo,
        encode: Encode,
        decode: Decode,
    ) -> Self {
        Self {
            proxy,
            operation,
            encode: Some(encode),
            decode: Some(decode),
            state: State::New,
            returns: PhantomData,
        }
    }
}

/// No field is pinned: the invocation is in a box, and a reply may be moved.
impl<R, E, Encode, Decode> Unpin for Call<'_, R, E, Encode, Decode> {}

impl<'a, R, E, Encode, Decode> Call<'a, R, E, Encode, Decode>
where
    E: OperationError,
    Encode: Fn(&mut Encoder<'_>) + Send + Sync + 'a,
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
        if matches!(self.state, State::New) && (!is_twoway || may_wait_here()) {
            // The reply is read within the wait that begins now.
            if let Some(result) = self.begin(wait_depth() + 1) {
                return result;
            }
            match std::mem::replace(&mut self.state, State::Ended) {
                State::Requested(reply, None) => {
                    let mut short = ShortReply::new();
                    match reply.wait_here(&mut short) {
                        Ok(ReceivedReply::Short) => return self.open_short(&short),
                        Ok(ReceivedReply::Whole(reply)) => return self.open_reply(reply),
                        Err(failure) => self.invoke(Some(*failure).into()),
                    }
                }
                state => self.state = state,
            }
        }
        Wait::wait(self)
    }

    /// Makes the call by the fast path, or lets it be invoked; what it returned if it is done. Its reply will be waited
    /// for within this many waits of the thread.
    #[inline]
    fn begin(&mut self, wait_depth: usize) -> Option<Result<R, E>> {
        let encode = self.encode.as_ref()?;
        let proxy = self.proxy;
        let is_oneway = proxy.reference().mode != InvocationMode::Twoway;
        if is_oneway && self.operation.returns_data {
            let operation = self.operation.name.to_owned();
            let error = InvokeError::NotDispatched(LocalError::NotTwoway { operation });
            return Some(Err(error.into()));
        }
        match proxy.try_invoke(self.operation, encode, wait_depth) {
            Ok(FastPath::Requested(reply)) => {
                self.state = State::Requested(reply, proxy.timeout().map(TimeLimit::new));
            }
            Ok(FastPath::Done) => return Some(self.open_nothing()),
            Ok(FastPath::Full(full)) => {
                let sent = async move { proxy.post_full(full).await.map(|()| None) };
                self.state = State::Invoking(Box::pin(sent));
            }
            Ok(FastPath::No(failure)) => self.invoke(failure.into()),
            Err(error) => return Some(Err(error.into())),
        }
        None
    }

    /// Lets the call be invoked, after a first attempt if there was one.
    #[cold]
    fn invoke(&mut self, first: First) {
        let encode = self.encode.take().expect("it is invoked once");
        let invoking = invoke(self.proxy, self.operation, first, encode);
        self.state = State::Invoking(Box::pin(invoking));
    }

    /// Lets the call be invoked after its request failed, in the time that is left.
    #[cold]
    fn invoke_after(&mut self, failure: AttemptError) {
        let state = std::mem::replace(&mut self.state, State::Ended);
        let deadline = match state {
            State::Requested(_, Some(time_limit)) => Some(time_limit.deadline),
            _ => None,
        };
        let failure = Some(failure);
        self.invoke(First { failure, deadline });
    }

    /// The results in a short reply.
    #[inline]
    fn open_short(&mut self, short: &ShortReply) -> Result<R, E> {
        if !self.operation.returns_data && reply::returned_nothing(short.as_bytes()) {
            return self.open_nothing();
        }
        self.read_results(reply::returned(short.as_bytes()).unwrap_or_default(), None)
    }

    /// The results or the exception in a reply.
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

    /// The results of an operation that has none, or of a request without a reply.
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

impl<'a, R, E, Encode, Decode> Future for Call<'a, R, E, Encode, Decode>
where
    E: OperationError,
    Encode: Fn(&mut Encoder<'_>) + Send + Sync + 'a,
    Decode: FnOnce(&mut Decoder<'_>) -> Result<R, DecodeError>,
{
    type Output = Result<R, E>;

    #[inline]
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<R, E>> {
        let this = self.get_mut();
        if matches!(this.state, State::New)
            && let Some(result) = this.begin(wait_depth())
        {
            this.state = State::Ended;
            return Poll::Ready(result);
        }
        if let State::Requested(reply, time_limit) = &mut this.state {
            let failure = match (Pin::new(reply).poll(context), time_limit) {
                (Poll::Ready(Ok(reply)), _) => {
                    this.state = State::Ended;
                    return Poll::Ready(this.open_reply(reply));
                }
                (Poll::Ready(Err(failure)), _) => *failure,
                (Poll::Pending, None) => return Poll::Pending,
                (Poll::Pending, Some(time_limit)) => {
                    ready!(time_limit.poll_over(context));
                    timed_out(this.operation.name, time_limit.limit, true)
                }
            };
            this.invoke_after(failure);
        }
        let State::Invoking(invoking) = &mut this.state else {
            panic!("a call that has ended is not polled again");
        };
        let outcome = ready!(invoking.as_mut().poll(context));
        this.state = State::Ended;
        Poll::Ready(match outcome {
            Ok(Some(outcome)) => this.open(outcome),
            Ok(None) => this.open_nothing(),
            Err(error) => Err(error.into()),
        })
    }
}

impl<R, E, Encode, Decode> fmt::Debug for Call<'_, R, E, Encode, Decode> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Call")
            .field("operation", &self.operation.name)
            .finish_non_exhaustive()
    }
}

/// Invokes an operation in the mode of the proxy, and tries it again where that is safe.
async fn invoke(
    proxy: &Proxy,
    operation: &OperationInfo,
    first: First,
    encode: impl Fn(&mut Encoder<'_>),
) -> Result<Option<Outcome>, InvokeError> {
    let (name, mode) = (operation.name, operation.mode);
    let encoding = proxy.sending_encoding();
    let write = |encoder: &mut Encoder<'_>| encoder.encapsulation(encoding, &encode);
    match proxy.reference().mode {
        InvocationMode::Twoway => proxy.request(name, mode, first, write).await.map(Some),
        _ => {
            let sent = proxy.send(name, mode, first.failure, write).await;
            sent.map(|()| None)
        }
    }
}

impl Proxy {
    /// The encoding of parameters: that of the proxy, or ours if it asks for a newer one.
    pub(super) fn sending_encoding(&self) -> EncodingVersion {
        self.reference().encoding.for_sending().unwrap_or_default()
    }

    fn user_exception<E: OperationError>(&self, bytes: &Bytes) -> E {
        self.try_user_exception(bytes)
            .unwrap_or_else(|error| bad_reply(error).into())
    }

    /// The exception as the nearest type that the operation declares.
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
