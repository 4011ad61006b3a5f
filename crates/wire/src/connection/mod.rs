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
//! The driver reads bytes and gives them to [`Connection::handle_input`], which takes the messages off
//! them. It writes what the machine appends to an output buffer, in order. Requests in flight carry a
//! token of the driver's, which comes back with the reply.

mod in_flight;
mod retry;
#[cfg(test)]
mod tests;

use bytes::BytesMut;
use in_flight::InFlight;

pub use retry::{AttemptEnd, Retries};

use crate::compression::CompressionError;
use crate::encoding::DecodeError;
use crate::message::{
    CLOSE_CONNECTION, HeaderCache, IncomingReply, IncomingRequest, Message, MessageType,
    ProtocolError, RequestBatch, RequestId, VALIDATE_CONNECTION,
};

/// Which end of the connection this is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// It connected, and waits to be validated before it sends.
    Client,
    /// It accepted, and validates.
    Server,
}

/// What the driver has read.
#[derive(Debug)]
pub enum Input<'a> {
    /// Bytes in the order in which they came. Whole messages are taken off them, up to the first that
    /// gives an event.
    Bytes(&'a mut BytesMut),
    /// A whole message that was read into a buffer of its own, or was decompressed.
    Message(Message),
}

/// What the input means for the driver.
#[derive(Debug)]
pub enum Event<T> {
    /// The server is ready: requests may be sent from now on.
    Validated,
    /// Dispatch these. For each that is twoway, call [`Connection::handle_dispatched`] when its reply has
    /// been appended to the output.
    Requests(RequestBatch),
    /// The peer says that it is alive.
    Heartbeat,
    /// Decompress this message and give it back as [`Input::Message`]. It takes a while: the connection
    /// may be used meanwhile.
    Compressed(Message),
    /// The peer closes gracefully: none of the requests still in flight was executed.
    Closed(Vec<T>),
}

/// Replies, each with the token of the request that it answers.
pub type Replies<T> = Vec<(T, IncomingReply)>;

/// The state machine; `T` is the driver's token for a request in flight.
#[derive(Debug, Clone)]
pub struct Connection<T> {
    role: Role,
    state: State,
    in_flight: InFlight<T>,
    dispatch_count: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Validating,
    Active,
    /// No new request out, nor in once the replies to our own are there; replies of either direction
    /// are still due.
    Draining,
    /// CloseConnection is written: nothing may follow it.
    Closing,
    Closed,
}

/// The connection takes no new request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotActive;

/// Which ids the requests of a batch get.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequestIds {
    /// The next ones, for so many requests.
    Next(usize),
    /// One request gets the id that [`Connection::reserve_id`] gave.
    Reserved(RequestId),
}

/// Why a batch of requests was not appended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotAppended<E> {
    /// The connection takes no requests: it is not validated yet, or it closes.
    NotActive,
    /// More than 4096 requests.
    TooMany,
    /// A request could not be written.
    Unwritten(E),
}

impl<T> Connection<T> {
    /// A new connection. A server's first bytes are appended to `output`.
    pub fn new(role: Role, output: &mut Vec<u8>) -> Self {
        let state = match role {
            Role::Client => State::Validating,
            Role::Server => {
                output.extend_from_slice(&VALIDATE_CONNECTION);
                State::Active
            }
        };
        Self {
            role,
            state,
            in_flight: InFlight::default(),
            dispatch_count: 0,
        }
    }

    /// Which end this is.
    pub fn role(&self) -> Role {
        self.role
    }

    /// Whether requests may be sent.
    pub fn is_active(&self) -> bool {
        self.state == State::Active
    }

    /// Whether the server has not validated the connection yet.
    pub fn is_validating(&self) -> bool {
        self.state == State::Validating
    }

    /// Whether nothing may be read or written any more.
    pub fn is_closed(&self) -> bool {
        self.state == State::Closed
    }

    /// Whether CloseConnection has been written, so that only the peer's end of stream is due.
    pub fn is_closing(&self) -> bool {
        self.state == State::Closing
    }

    /// Whether a heartbeat may be sent: the connection is validated, and CloseConnection, after which
    /// nothing may come, is not written.
    pub fn may_send_heartbeat(&self) -> bool {
        matches!(self.state, State::Active | State::Draining)
    }

    /// Number of requests whose replies are due.
    pub fn in_flight(&self) -> usize {
        self.in_flight.len()
    }

    /// Number of twoway requests of the peer whose replies are due.
    pub fn dispatching(&self) -> usize {
        self.dispatch_count
    }

    /// Appends a batch of one or more twoway requests, which leave together.
    ///
    /// `write` is called for each request in turn, with its id and its place in the batch, and appends the message to
    /// the output. After the last one `token` gives the token of each. Returns the id of the first request; the others
    /// follow it. If an error is returned, no request is in flight, and the driver takes back what was written.
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

    /// An id for a request that is written before its turn in the output has come. It is given back to
    /// [`Connection::append_requests`], or skipped.
    ///
    /// # Errors
    /// [`NotActive`].
    pub fn reserve_id(&mut self) -> Result<RequestId, NotActive> {
        let id = self.is_active().then(|| self.in_flight.next_ids(1));
        id.flatten().ok_or(NotActive)
    }

    /// Gives up a request: its reply, should it come, is ignored.
    pub fn cancel(&mut self, id: RequestId, output: &mut Vec<u8>) -> Option<T> {
        let token = self.in_flight.remove(id);
        self.close_if_drained(output);
        token
    }

    /// Takes the next whole messages off the input, up to the first that gives an event; `None` if there is
    /// no such message. Replies among them are appended to `replies`. A reply to a request that was given up
    /// is ignored, and so is a request that comes after the decision to close, if no reply of the peer is
    /// due any more.
    ///
    /// No message may be longer than `size_max`. `cache` makes it cheap to read requests like those that were
    /// read before, on this connection or another one.
    ///
    /// # Errors
    /// [`ProtocolError`]: the connection must be dropped; call [`Connection::fail`]. The replies came before
    /// the error.
    pub fn handle_input(
        &mut self,
        input: Input<'_>,
        size_max: usize,
        cache: &mut HeaderCache,
        replies: &mut Replies<T>,
        output: &mut Vec<u8>,
    ) -> Result<Option<Event<T>>, ProtocolError> {
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
                return Ok(Some(Event::Compressed(message)));
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
    ) -> Result<Option<Event<T>>, ProtocolError> {
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
            MessageType::CloseConnection => self.handle_close(&message).map(Some),
            MessageType::Request => {
                let request = IncomingRequest::from_message(message).map_err(malformed)?;
                Ok(self.accept(request.into()))
            }
            MessageType::BatchRequest => {
                let batch = RequestBatch::parse(&message).map_err(malformed)?;
                Ok(self.accept(batch))
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

    /// Takes the Reply message at the front of `input` off it; `None`, and nothing is taken, if that is
    /// something else, or answers no request in flight.
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

    /// Takes in a request that is to be taken off the input by itself, as [`Connection::handle_input`] does with
    /// all that are there; false, and nothing is changed, if it would not be dispatched.
    #[inline]
    pub fn take_in(&mut self, id: RequestId) -> bool {
        let is_taken = self.is_dispatching_new();
        if is_taken && !id.is_oneway() {
            self.dispatch_count += 1;
        }
        is_taken
    }

    /// A reply to this request has come, which the driver has looked into and taken off the input: the token of the
    /// request, if it is in flight and `is_meant` knows it. The connection must have been validated.
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

    /// Takes a reply off the input as [`Connection::handle_input`] does, if it is all that is there, nobody
    /// has begun to close, and `is_meant` knows the token of its request. One of many requests in flight
    /// may be left to that method.
    #[inline]
    pub fn take_sole_reply(
        &mut self,
        input: &mut BytesMut,
        size_max: usize,
        is_meant: impl FnOnce(&T) -> bool,
    ) -> Option<IncomingReply> {
        let (id, _) = self.take_answered(input, size_max, is_meant)?;
        Some(IncomingReply::new(id, input.split().freeze()))
    }

    /// Takes the request that the reply answers which `input` is, under the same conditions.
    #[inline]
    pub fn take_answered(
        &mut self,
        input: &[u8],
        size_max: usize,
        is_meant: impl FnOnce(&T) -> bool,
    ) -> Option<(RequestId, T)> {
        if self.state != State::Active {
            return None;
        }
        let id = IncomingReply::peek_sole(input, size_max)?;
        let token = self.in_flight.remove_one(id, is_meant)?;
        Some((id, token))
    }

    /// The reply to a twoway request of the peer has been appended to the output.
    pub fn handle_dispatched(&mut self, output: &mut Vec<u8>) {
        self.dispatch_count = self.dispatch_count.saturating_sub(1);
        self.close_if_drained(output);
    }

    /// Starts a graceful close: no new requests; CloseConnection is appended to `output` as soon as
    /// every reply of either direction is through.
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

    /// The transport is gone or the peer broke the protocol: the tokens of the requests that may
    /// have been executed. After CloseConnection was written there are none.
    pub fn fail(&mut self) -> Vec<T> {
        self.state = State::Closed;
        self.in_flight.drain()
    }

    /// Whether requests of the peer are still dispatched. A side that closes dispatches them as long
    /// as it waits for replies itself: if both close at once and neither did, each would wait for
    /// replies to requests that the other one has discarded.
    fn is_dispatching_new(&self) -> bool {
        match self.state {
            State::Active => true,
            State::Draining => self.in_flight.len() > 0,
            State::Validating | State::Closing | State::Closed => false,
        }
    }

    /// The requests as an event, unless they are to be ignored.
    fn accept(&mut self, batch: RequestBatch) -> Option<Event<T>> {
        if !self.is_dispatching_new() {
            return None;
        }
        self.dispatch_count += batch.twoway_count();
        Some(Event::Requests(batch))
    }

    fn handle_validate(&mut self, message: &Message) -> Result<Event<T>, ProtocolError> {
        no_body(message)?;
        if self.state == State::Validating {
            self.state = State::Active;
            return Ok(Event::Validated);
        }
        Ok(Event::Heartbeat)
    }

    fn handle_close(&mut self, message: &Message) -> Result<Event<T>, ProtocolError> {
        no_body(message)?;
        self.state = State::Closed;
        Ok(Event::Closed(self.in_flight.drain()))
    }

    fn close_if_drained(&mut self, output: &mut Vec<u8>) {
        if self.state == State::Draining && self.dispatch_count == 0 && self.in_flight.len() == 0 {
            output.extend_from_slice(&CLOSE_CONNECTION);
            self.state = State::Closing;
        }
    }
}

/// Checks that a message is its header alone.
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
