//! A connection as a state machine, without I/O: messages go in, events and bytes come out.
//!
//! ```text
//! client:  Validating --ValidateConnection--> Active
//! server:  Active (writes ValidateConnection when it is made)
//!
//! Active --close--> Draining --last dispatch and reply done--> Closing (CloseConnection written)
//! any    --CloseConnection from the peer--> Closed
//! any    --fail--> Closed
//! ```
//!
//! The driver reads bytes and gives them to [`StateMachine::handle_input`], which takes messages off them. The driver
//! writes the bytes that the state machine appends to an output buffer, in order. Each request in flight has a token of
//! the driver, which comes back with the reply.

mod in_flight;
mod liveness;
mod liveness_check;
mod retry;
mod send_queue;
#[cfg(test)]
mod tests;
mod write_batch;

use bytes::BytesMut;
use in_flight::InFlight;

pub use liveness::{Heartbeats, IdleCheck, Liveness, TICK_MAX};
pub use liveness_check::{LivenessAction, LivenessCheck, Marks};
pub use retry::{AttemptEnd, Retries};
pub use send_queue::{Flush, FlushPolicy, SendQueue};
pub use write_batch::WriteBatch;

use crate::compression::CompressionError;
use crate::encoding::DecodeError;
use crate::message::{
    CLOSE_CONNECTION, HeadCache, IncomingReply, IncomingRequest, Message, MessageType,
    ProtocolError, RefusedRequest, RequestBatch, RequestError, RequestId, VALIDATE_CONNECTION,
};

/// Which end of the connection this is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// The side that connected. It waits for validation before it sends.
    Client,
    /// The side that accepted. It validates the connection.
    Server,
}

/// Input that the driver has read.
#[derive(Debug)]
pub enum Input<'a> {
    /// Bytes in the order in which they arrived. Whole messages are taken off them, up to the first that gives an
    /// event.
    Bytes(&'a mut BytesMut),
    /// A whole message in a buffer of its own, because it was long or compressed.
    Message(Message),
}

/// An event in the input that the driver must handle.
#[derive(Debug)]
pub enum ConnectionEvent<T> {
    /// The server is ready: requests may be sent now.
    Validated,
    /// Dispatch these requests. For each twoway request, call [`StateMachine::handle_dispatched`] when its reply has
    /// been appended to the output.
    Requests(RequestBatch),
    /// Dispatch nothing, and answer this request with its exception. It stands for a whole batch if one of its requests
    /// is refused. If it is twoway, call [`StateMachine::handle_dispatched`] when the reply has been appended to the
    /// output.
    Refused(RefusedRequest),
    /// The peer is alive.
    Heartbeat,
    /// Decompress this message and give it back as [`Input::Message`]. The connection can be used meanwhile, because
    /// this may take a while.
    Compressed(Message),
    /// The peer closes gracefully. It has executed none of the requests that are still in flight.
    Closed(Vec<T>),
}

/// Replies, each with the token of its request.
pub type Replies<T> = Vec<(T, IncomingReply)>;

/// The state machine; `T` is the driver's token for a request in flight.
#[derive(Debug, Clone)]
pub struct StateMachine<T> {
    state: State,
    in_flight: InFlight<T>,
    dispatch_count: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Validating,
    Active,
    /// This side sends no new requests, and accepts those of the peer only while it waits for replies itself. Replies
    /// are still due in one direction or both.
    Draining,
    /// CloseConnection is written, and nothing may follow it.
    Closing,
    Closed,
}

/// Which ids the requests of a batch get.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequestIds {
    /// The next ids, for this many requests.
    Next(usize),
    /// The id that [`StateMachine::reserve_id`] returned, for one request.
    Reserved(RequestId),
}

/// Why a batch of requests was not appended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotAppended<E> {
    /// The connection accepts no requests: it is not validated yet, or it is closing.
    NotActive,
    /// More than 4096 requests.
    TooMany,
    /// A request could not be encoded.
    Unwritten(E),
}

impl<T> StateMachine<T> {
    /// Creates a connection. A server's first bytes are appended to `output`.
    pub fn new(role: Role, output: &mut Vec<u8>) -> Self {
        let state = match role {
            Role::Client => State::Validating,
            Role::Server => {
                output.extend_from_slice(&VALIDATE_CONNECTION);
                State::Active
            }
        };
        Self {
            state,
            in_flight: InFlight::default(),
            dispatch_count: 0,
        }
    }

    /// Returns true if requests may be sent.
    pub fn is_active(&self) -> bool {
        self.state == State::Active
    }

    /// Returns true if the server has not validated the connection yet.
    pub fn is_validating(&self) -> bool {
        self.state == State::Validating
    }

    /// Returns true if the connection is closed: nothing may be read or written.
    pub fn is_closed(&self) -> bool {
        self.state == State::Closed
    }

    /// Returns true if CloseConnection has been written, so that only the end of the peer's stream is due.
    pub fn is_closing(&self) -> bool {
        self.state == State::Closing
    }

    /// Returns true if a heartbeat may be sent: the connection is validated, and CloseConnection has not been written.
    pub fn may_send_heartbeat(&self) -> bool {
        matches!(self.state, State::Active | State::Draining)
    }

    /// The number of requests whose replies are due.
    pub fn in_flight(&self) -> usize {
        self.in_flight.len()
    }

    /// The number of the peer's twoway requests whose replies are due.
    pub fn dispatching(&self) -> usize {
        self.dispatch_count
    }

    /// Appends a batch of one or more twoway requests, which leave together.
    ///
    /// `write` is called for each request, with its id and its index in the batch, and appends the message to the
    /// output. After the last one, `token` returns the token of each request. Returns the id of the first request; the
    /// others have the ids after it. If this returns an error, no request is in flight, and the driver removes what was
    /// written.
    ///
    /// # Errors
    /// [`NotAppended`].
    #[inline]
    pub fn append_requests<E>(
        &mut self,
        ids: RequestIds,
        mut write: impl FnMut(RequestId, usize) -> Result<(), E>,
        mut token: impl FnMut(usize) -> T,
    ) -> Result<RequestId, NotAppended<E>> {
        if !self.is_active() {
            return Err(NotAppended::NotActive);
        }
        let (first, count) = match ids {
            RequestIds::Next(count) => {
                let first = self.in_flight.next_ids(count);
                (first.ok_or(NotAppended::TooMany)?, count)
            }
            RequestIds::Reserved(id) => (id, 1),
        };
        let id = |at: usize| RequestId(first.0 + at as i32);
        for at in 0..count {
            write(id(at), at).map_err(NotAppended::Unwritten)?;
        }
        for at in 0..count {
            self.in_flight.insert(id(at), token(at));
        }
        Ok(first)
    }

    /// Appends messages without replies, which `write` encodes.
    ///
    /// # Errors
    /// [`NotAppended::NotActive`], or the error of `write`; the driver then removes what was written.
    #[inline]
    pub fn append_messages<E>(
        &self,
        write: impl FnOnce() -> Result<(), E>,
    ) -> Result<(), NotAppended<E>> {
        match self.is_active() {
            true => write().map_err(NotAppended::Unwritten),
            false => Err(NotAppended::NotActive),
        }
    }

    /// Reserves an id for a request that is written before it can be appended. The id is given to
    /// [`StateMachine::append_requests`] later, or not used. Returns `None` if the connection takes no requests.
    pub fn reserve_id(&mut self) -> Option<RequestId> {
        self.is_active().then(|| self.in_flight.next_ids(1))?
    }

    /// Gives up a request. A reply to it is ignored.
    pub fn cancel(&mut self, id: RequestId, output: &mut Vec<u8>) -> Option<T> {
        let token = self.in_flight.remove(id);
        self.close_if_drained(output);
        token
    }

    /// Takes whole messages off the input, up to the first that gives an event. Returns `None` if there is no such
    /// message. Replies are appended to `replies`. Ignores replies to requests that were given up. Also ignores new
    /// requests after the decision to close, if no reply of the peer is due any more.
    ///
    /// No message may be longer than `size_max`. `cache` saves the parsing of requests like those that were read
    /// before, on any connection.
    ///
    /// # Errors
    /// [`ProtocolError`]: drop the connection, and call [`StateMachine::fail`]. The replies came before the error.
    pub fn handle_input(
        &mut self,
        input: Input<'_>,
        size_max: usize,
        cache: &mut HeadCache,
        replies: &mut Replies<T>,
        output: &mut Vec<u8>,
    ) -> Result<Option<ConnectionEvent<T>>, ProtocolError> {
        let bytes = match input {
            Input::Message(message) => return self.handle_message(message, replies, output),
            Input::Bytes(bytes) => bytes,
        };
        while !bytes.is_empty() && !self.is_closed() {
            if let Some(reply) = self.take_reply(bytes, size_max, output) {
                replies.push(reply);
                continue;
            }
            if !self.is_validating()
                && let Some(batch) = RequestBatch::split(bytes, size_max, cache)
            {
                match self.accept(batch) {
                    None => continue,
                    event => return Ok(event),
                }
            }
            let Some(message) = Message::split(bytes, size_max)? else {
                break;
            };
            if message.is_compressed() {
                return Ok(Some(ConnectionEvent::Compressed(message)));
            }
            if let Some(event) = self.handle_message(message, replies, output)? {
                return Ok(Some(event));
            }
        }
        Ok(None)
    }

    fn handle_message(
        &mut self,
        message: Message,
        replies: &mut Replies<T>,
        output: &mut Vec<u8>,
    ) -> Result<Option<ConnectionEvent<T>>, ProtocolError> {
        let kind = message.header.message_type;
        if message.is_compressed() {
            let error = CompressionError::StillCompressed;
            return Err(ProtocolError::Compression {
                message: kind,
                error,
            });
        }
        let malformed = |error: DecodeError| ProtocolError::Malformed {
            message: kind,
            error,
        };
        if self.state == State::Validating && kind != MessageType::ValidateConnection {
            let expected = "a ValidateConnection message before any other";
            return Err(ProtocolError::Unexpected {
                message: kind,
                expected,
            });
        }
        match kind {
            MessageType::ValidateConnection => self.handle_validate(&message).map(Some),
            MessageType::CloseConnection => Ok(Some(self.handle_close())),
            MessageType::Request => {
                let request = IncomingRequest::from_message(message);
                self.accept_or_refuse(request.map(RequestBatch::from), kind)
            }
            MessageType::BatchRequest => {
                self.accept_or_refuse(RequestBatch::from_message(message), kind)
            }
            MessageType::Reply => {
                let reply = IncomingReply::from_message(message).map_err(malformed)?;
                if let Some(token) = self.in_flight.remove(reply.id()) {
                    self.close_if_drained(output);
                    replies.push((token, reply));
                }
                Ok(None)
            }
        }
    }

    /// Takes the Reply message off the front of `input`. Returns `None`, and takes nothing, if there is another
    /// message, or if it answers no request in flight.
    #[inline]
    fn take_reply(
        &mut self,
        input: &mut BytesMut,
        size_max: usize,
        output: &mut Vec<u8>,
    ) -> Option<(T, IncomingReply)> {
        let (id, len) = IncomingReply::peek(input, size_max)?;
        let token = self.in_flight.remove(id)?;
        let reply = IncomingReply::new(id, input.split_to(len).freeze());
        self.close_if_drained(output);
        Some((token, reply))
    }

    /// Accepts a request that the driver takes off the input itself, as [`StateMachine::handle_input`] would. Returns
    /// false, and changes nothing, if the request would not be dispatched.
    #[inline]
    pub fn accept_request(&mut self, id: RequestId) -> bool {
        let is_taken = self.is_dispatching_new();
        if is_taken && !id.is_oneway() {
            self.dispatch_count += 1;
        }
        is_taken
    }

    /// Removes the request whose reply the driver has taken off the input, if it is in flight and `is_meant` accepts
    /// its token. The connection must have been validated.
    #[inline]
    pub fn handle_reply(
        &mut self,
        id: RequestId,
        is_meant: impl Fn(&T) -> bool,
        output: &mut Vec<u8>,
    ) -> Option<T> {
        let token = self.in_flight.remove_if(id, is_meant)?;
        self.close_if_drained(output);
        Some(token)
    }

    /// The reply to a twoway request of the peer has been appended to the output.
    pub fn handle_dispatched(&mut self, output: &mut Vec<u8>) {
        self.dispatch_count = self.dispatch_count.saturating_sub(1);
        self.close_if_drained(output);
    }

    /// Begins a graceful close: no new requests are sent, and CloseConnection is appended to `output` when all replies
    /// of both directions are through.
    pub fn close(&mut self, output: &mut Vec<u8>) {
        match self.state {
            State::Active => {
                self.state = State::Draining;
                self.close_if_drained(output);
            }
            State::Validating => self.state = State::Closed,
            State::Draining | State::Closing | State::Closed => {}
        }
    }

    /// The transport has failed, or the peer broke the protocol. Returns the tokens of the requests that may have been
    /// executed. After CloseConnection was written there are none.
    pub fn fail(&mut self) -> Vec<T> {
        self.state = State::Closed;
        self.in_flight.drain()
    }

    /// Returns true if requests of the peer are still dispatched. A side that is closing dispatches them while it waits
    /// for replies itself. Otherwise, if both sides closed at the same time, each would wait for replies to requests
    /// that the other has discarded.
    fn is_dispatching_new(&self) -> bool {
        match self.state {
            State::Active => true,
            State::Draining => self.in_flight.len() > 0,
            State::Validating | State::Closing | State::Closed => false,
        }
    }

    /// The requests as an event, unless they are to be ignored.
    fn accept(&mut self, batch: RequestBatch) -> Option<ConnectionEvent<T>> {
        if !self.is_dispatching_new() {
            return None;
        }
        self.dispatch_count += batch.twoway_count();
        Some(ConnectionEvent::Requests(batch))
    }

    /// The requests of a message of this type as an event, or their refusal, unless they are to be ignored.
    fn accept_or_refuse(
        &mut self,
        parsed: Result<RequestBatch, RequestError>,
        message: MessageType,
    ) -> Result<Option<ConnectionEvent<T>>, ProtocolError> {
        match parsed {
            Ok(batch) => Ok(self.accept(batch)),
            Err(RequestError::Refused(refused)) => {
                let is_taken = self.accept_request(refused.id);
                Ok(is_taken.then_some(ConnectionEvent::Refused(refused)))
            }
            Err(RequestError::Malformed(error)) => Err(ProtocolError::Malformed { message, error }),
        }
    }

    fn handle_validate(&mut self, message: &Message) -> Result<ConnectionEvent<T>, ProtocolError> {
        if self.state == State::Validating {
            no_body(message)?;
            self.state = State::Active;
            return Ok(ConnectionEvent::Validated);
        }
        Ok(ConnectionEvent::Heartbeat)
    }

    fn handle_close(&mut self) -> ConnectionEvent<T> {
        self.state = State::Closed;
        ConnectionEvent::Closed(self.in_flight.drain())
    }

    fn close_if_drained(&mut self, output: &mut Vec<u8>) {
        if self.state == State::Draining && self.dispatch_count == 0 && self.in_flight.len() == 0 {
            output.extend_from_slice(&CLOSE_CONNECTION);
            self.state = State::Closing;
        }
    }
}

/// Checks that the message that validates a connection has no body. Later ones, and CloseConnection, may have one, which
/// is ignored.
///
/// Source: observed, Ice 3.7.8.
fn no_body(message: &Message) -> Result<(), ProtocolError> {
    use crate::encoding::DecodeErrorKind;
    use crate::message::HEADER_LEN;

    let extra = message.header.size - HEADER_LEN;
    if extra == 0 {
        return Ok(());
    }
    let kind = DecodeErrorKind::TrailingBytes(extra);
    let error = DecodeError {
        kind,
        what: "message",
        offset: HEADER_LEN,
    };
    Err(ProtocolError::Malformed {
        message: message.header.message_type,
        error,
    })
}
