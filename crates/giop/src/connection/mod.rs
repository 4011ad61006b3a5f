//! A connection as a state machine, without I/O: bytes go in, events and bytes come out.
//!
//! ```text
//! Active --close--> Draining --last reply done--> Closing (a server has written CloseConnection)
//! any    --CloseConnection or MessageError from the peer--> Closed
//! any    --an error of the peer (MessageError is written)--> Closed
//! ```
//!
//! The driver reads bytes and gives them to [`Connection::handle_input`], which takes messages off them, up to the first
//! that gives an event. The driver writes what [`Connection::poll_output`] gives, in order. Each request in flight has a
//! token of the driver, which comes back with the reply. There is no clock: a driver that waits no longer calls
//! [`Connection::cancel`].
//!
//! Requests go in one direction: from the side that connected. Bidirectional GIOP is not supported.

mod in_flight;
#[cfg(test)]
mod tests;

use std::collections::{HashMap, VecDeque};
use std::fmt;

use bytes::{Bytes, BytesMut};

use crate::cdr::{CodeSets, DecodeError, EncodeError, Encoder, Endian, Format, Version};
use crate::message::{
    CancelRequest, LocateReply, LocateRequest, LocateStatus, MESSAGE_LEN_MAX_DEFAULT, Message,
    MessageType, ProtocolError, Reassembly, Reply, ReplyHead, ReplyStatus, Request, RequestHead,
    RequestId, ResponseExpected, ServiceContext, context_id, encode_close_connection,
    encode_locate_reply, encode_message_error,
};
use crate::reference::Ior;
use crate::system_exception::{
    Completion, OMG_MINOR, SystemException, SystemExceptionKind as Kind,
};
use in_flight::{InFlight, Waiting};

/// Which end of the connection this is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// The side that connected, which sends requests.
    Client,
    /// The side that accepted, which answers them.
    Server,
}

/// Settings of a connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConnectionSettings {
    /// The version of GIOP in which a client sends. A server answers in that of the request.
    pub version: Version,
    /// The byte order in which this side sends.
    pub endian: Endian,
    /// The code sets that a client selects. A server takes those of the client.
    pub code_sets: CodeSets,
    /// The most bytes of a message that comes, and of all unfinished ones.
    pub message_len_max: usize,
    /// The most requests that a client has in flight. Each costs the driver's token and some bytes of memory.
    pub in_flight_max: usize,
    /// The most requests that a server has in dispatch. At that number, [`Connection::handle_input`] leaves further
    /// bytes where they are.
    pub dispatches_max: usize,
}

impl Default for ConnectionSettings {
    fn default() -> Self {
        Self {
            version: Version::V1_2,
            endian: Endian::NATIVE,
            code_sets: CodeSets::UTF,
            message_len_max: MESSAGE_LEN_MAX_DEFAULT,
            in_flight_max: 4096,
            dispatches_max: 1024,
        }
    }
}

/// An event in the input that the driver must handle.
#[derive(Debug)]
pub enum ConnectionEvent<T> {
    /// Dispatch this request. If a response is expected, answer it with [`Connection::reply`] or the like.
    Request(Request),
    /// Answer this with [`Connection::reply_locate`].
    Locate(LocateRequest),
    /// The client waits no longer for the reply to this request, which is in dispatch. Answer it nevertheless, with
    /// anything: the client ignores it.
    Cancelled(RequestId),
    /// The reply to a request.
    Reply(T, Reply),
    /// The reply to a LocateRequest.
    LocateReply(T, LocateReply),
    /// The peer closes gracefully. It has executed none of these requests.
    Closed(Vec<T>),
    /// The peer says that this side broke the protocol. It has perhaps executed these requests.
    PeerError(Vec<T>),
}

/// Why a message was not sent.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum SendError {
    /// The connection is closed or closing, or it is a server's.
    NotActive,
    /// [`ConnectionSettings::in_flight_max`] requests are in flight.
    TooMany(usize),
    /// No client waits for this reply: it was sent before, or the request was oneway.
    NotWaiting(RequestId),
    /// It cannot be encoded.
    Encode(EncodeError),
}

impl fmt::Display for SendError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotActive => {
                f.write_str("the connection takes no requests: it is closed or closing")
            }
            Self::TooMany(max) => write!(
                f,
                "expected at most {max} requests in flight, which is the limit; wait for replies"
            ),
            Self::NotWaiting(RequestId(id)) => {
                write!(f, "nobody waits for a reply to request {id}")
            }
            Self::Encode(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for SendError {}

impl From<EncodeError> for SendError {
    fn from(error: EncodeError) -> Self {
        Self::Encode(error)
    }
}

/// The state machine; `T` is the driver's token for a request in flight.
#[derive(Debug)]
pub struct Connection<T> {
    role: Role,
    settings: ConnectionSettings,
    state: State,
    /// The code sets in use: those that a client has selected.
    code_sets: CodeSets,
    /// True if the client has said its code sets.
    has_sent_code_sets: bool,
    in_flight: InFlight<T>,
    /// The requests in dispatch, with the version in which they are answered.
    dispatches: HashMap<RequestId, Version>,
    reassembly: Reassembly,
    output: VecDeque<Bytes>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Active,
    /// New requests are neither sent nor dispatched; replies are due.
    Draining,
    /// Nothing more is written.
    Closing,
    Closed,
}

impl<T> Connection<T> {
    /// Creates a connection.
    pub fn new(role: Role, settings: ConnectionSettings) -> Self {
        let code_sets = match role {
            // GIOP 1.0 has no code sets.
            Role::Client if settings.version > Version::V1_0 => settings.code_sets,
            _ => CodeSets::default(),
        };
        Self {
            role,
            settings,
            state: State::Active,
            code_sets,
            has_sent_code_sets: code_sets == CodeSets::default(),
            in_flight: InFlight::default(),
            dispatches: HashMap::new(),
            reassembly: Reassembly::default(),
            output: VecDeque::new(),
        }
    }

    /// Returns true if requests may be sent and are dispatched.
    pub fn is_active(&self) -> bool {
        self.state == State::Active
    }

    /// Returns true if nothing may be read or written any more, but for what [`Connection::poll_output`] still gives.
    pub fn is_closed(&self) -> bool {
        self.state == State::Closed
    }

    /// Returns true if nothing more will be written, and only the end of the peer's stream is due.
    pub fn is_closing(&self) -> bool {
        self.state == State::Closing
    }

    /// The number of requests whose replies are due.
    pub fn in_flight(&self) -> usize {
        self.in_flight.len()
    }

    /// The number of the peer's requests that wait for a reply.
    pub fn dispatching(&self) -> usize {
        self.dispatches.len()
    }

    /// The code sets in use.
    pub fn code_sets(&self) -> CodeSets {
        self.code_sets
    }

    /// The next bytes to write.
    pub fn poll_output(&mut self) -> Option<Bytes> {
        self.output.pop_front()
    }

    fn format(&self, version: Version) -> Format {
        Format {
            endian: self.settings.endian,
            version,
            code_sets: self.code_sets,
        }
    }

    /// Sends a request, of which `write` appends the arguments. The token comes back with the reply; it is dropped at
    /// once if none is expected.
    ///
    /// # Errors
    /// [`SendError`]; nothing is sent then.
    pub fn send_request(
        &mut self,
        mut head: RequestHead,
        token: T,
        write: impl FnOnce(&mut Encoder) -> Result<(), EncodeError>,
    ) -> Result<RequestId, SendError> {
        self.check_may_send()?;
        if !self.has_sent_code_sets {
            head.contexts
                .push(ServiceContext::code_sets(self.code_sets)?);
        }
        let id = self.in_flight.next_id();
        let bytes = head.encode(id, self.format(self.settings.version), write)?;
        self.has_sent_code_sets = true;
        self.output.push_back(bytes);
        if head.response != ResponseExpected::None {
            self.in_flight.insert(id, Waiting::Reply, token);
        }
        Ok(id)
    }

    /// Asks for an object.
    ///
    /// # Errors
    /// [`SendError`]; nothing is sent then.
    pub fn send_locate(
        &mut self,
        target: crate::message::Target,
        token: T,
    ) -> Result<RequestId, SendError> {
        self.check_may_send()?;
        let id = self.in_flight.next_id();
        let request = LocateRequest { id, target };
        let bytes = request.encode(self.format(self.settings.version))?;
        self.output.push_back(bytes);
        self.in_flight.insert(id, Waiting::LocateReply, token);
        Ok(id)
    }

    fn check_may_send(&self) -> Result<(), SendError> {
        let max = self.settings.in_flight_max;
        match self.state == State::Active && self.role == Role::Client {
            false => Err(SendError::NotActive),
            true if self.in_flight.len() >= max => Err(SendError::TooMany(max)),
            true => Ok(()),
        }
    }

    /// Gives up a request, and tells the server. A reply to it is ignored. `None` if its reply is not due.
    pub fn cancel(&mut self, id: RequestId) -> Option<T> {
        let (_, token) = self.in_flight.remove(id)?;
        // It has a fixed length, so that encoding it cannot fail.
        if let Ok(bytes) = (CancelRequest { id }).encode(self.format(self.settings.version)) {
            self.output.push_back(bytes);
        }
        self.close_if_drained();
        Some(token)
    }

    /// Sends the results of a request, which `write` appends.
    ///
    /// # Errors
    /// [`SendError::NotWaiting`]; [`SendError::Encode`], and then the reply is still due.
    pub fn reply(
        &mut self,
        id: RequestId,
        write: impl FnOnce(&mut Encoder) -> Result<(), EncodeError>,
    ) -> Result<(), SendError> {
        self.send_reply(id, ReplyStatus::NoException, write)
    }

    /// An encoder for the results of a request, for a servant that may still raise an exception after it has written
    /// some. Give the bytes to [`Connection::reply`].
    ///
    /// Replies of this side have no service contexts, so in all versions their results begin 24 bytes after the start of
    /// the message, as this encoder assumes.
    ///
    /// # Errors
    /// [`SendError::NotWaiting`].
    pub fn results_encoder(&self, id: RequestId) -> Result<Encoder, SendError> {
        Ok(Encoder::at(24, self.format(self.version_of(id)?)))
    }

    /// Sends an exception of the contract: `write` appends the repository id and the members.
    ///
    /// # Errors
    /// As [`Connection::reply`].
    pub fn reply_user_exception(
        &mut self,
        id: RequestId,
        write: impl FnOnce(&mut Encoder) -> Result<(), EncodeError>,
    ) -> Result<(), SendError> {
        self.send_reply(id, ReplyStatus::UserException, write)
    }

    /// Sends a system exception.
    ///
    /// # Errors
    /// [`SendError::NotWaiting`].
    pub fn reply_system_exception(
        &mut self,
        id: RequestId,
        exception: SystemException,
    ) -> Result<(), SendError> {
        let write = |encoder: &mut Encoder| exception.encode(encoder);
        self.send_reply(id, ReplyStatus::SystemException, write)
    }

    /// Sends the client to another object.
    ///
    /// # Errors
    /// As [`Connection::reply`].
    pub fn reply_forward(&mut self, id: RequestId, reference: &Ior) -> Result<(), SendError> {
        let write = |encoder: &mut Encoder| reference.encode(encoder);
        self.send_reply(id, ReplyStatus::LocationForward, write)
    }

    fn send_reply(
        &mut self,
        id: RequestId,
        status: ReplyStatus,
        write: impl FnOnce(&mut Encoder) -> Result<(), EncodeError>,
    ) -> Result<(), SendError> {
        let version = self.version_of(id)?;
        let head = ReplyHead {
            id,
            status,
            contexts: Vec::new(),
        };
        let bytes = head.encode(self.format(version), write)?;
        self.finish_dispatch(id, bytes);
        Ok(())
    }

    /// Answers a LocateRequest.
    ///
    /// # Errors
    /// As [`Connection::reply`].
    pub fn reply_locate(&mut self, id: RequestId, status: &LocateStatus) -> Result<(), SendError> {
        let version = self.version_of(id)?;
        let bytes = encode_locate_reply(id, status, self.format(version))?;
        self.finish_dispatch(id, bytes);
        Ok(())
    }

    fn version_of(&self, id: RequestId) -> Result<Version, SendError> {
        self.dispatches
            .get(&id)
            .copied()
            .ok_or(SendError::NotWaiting(id))
    }

    fn finish_dispatch(&mut self, id: RequestId, bytes: Bytes) {
        self.dispatches.remove(&id);
        self.output.push_back(bytes);
        self.close_if_drained();
    }

    /// Closes gracefully: no more requests are sent or dispatched, and replies that are due are waited for. A server then
    /// writes CloseConnection, and the client may send again elsewhere what was not answered.
    pub fn close(&mut self) {
        if self.state == State::Active {
            self.state = State::Draining;
            self.close_if_drained();
        }
    }

    fn close_if_drained(&mut self) {
        let is_drained = self.in_flight.len() == 0 && self.dispatches.is_empty();
        if self.state != State::Draining || !is_drained {
            return;
        }
        self.state = State::Closing;
        if self.role == Role::Server {
            let settings = &self.settings;
            let bytes = encode_close_connection(settings.version, settings.endian);
            self.output.push_back(bytes);
        }
    }

    /// The peer's stream has ended, or the driver gives up. Returns the tokens of the requests that were in flight: they
    /// were perhaps executed.
    pub fn handle_end(&mut self) -> Vec<T> {
        self.state = State::Closed;
        self.dispatches.clear();
        self.reassembly = Reassembly::default();
        self.in_flight.take_all()
    }

    /// Takes whole messages off the input, up to the first that gives an event. Returns `None` if there is none, or if
    /// too many requests are in dispatch.
    ///
    /// # Errors
    /// [`ProtocolError`]: MessageError is ready to be written, and the connection is closed. Call
    /// [`Connection::handle_end`] for the requests in flight.
    pub fn handle_input(
        &mut self,
        input: &mut BytesMut,
    ) -> Result<Option<ConnectionEvent<T>>, ProtocolError> {
        let handled = self.handle_messages(input);
        if handled.is_err() {
            let settings = &self.settings;
            let bytes = encode_message_error(settings.version, settings.endian);
            self.output.push_back(bytes);
            self.state = State::Closed;
        }
        handled
    }

    fn handle_messages(
        &mut self,
        input: &mut BytesMut,
    ) -> Result<Option<ConnectionEvent<T>>, ProtocolError> {
        let len_max = self.settings.message_len_max;
        while !self.is_closed() && self.dispatches.len() < self.settings.dispatches_max {
            let Some(message) = Message::split(input, len_max)? else {
                break;
            };
            let Some(message) = self.reassembly.handle(message, len_max)? else {
                continue;
            };
            let malformed = |error| ProtocolError::Malformed {
                message: message.header.message_type,
                error,
            };
            self.check_direction(message.header.message_type)?;
            let event = match message.header.message_type {
                MessageType::Request => {
                    let request = Request::decode(&message).map_err(malformed)?;
                    self.handle_request(request)?
                }
                MessageType::LocateRequest => {
                    let request = LocateRequest::decode(&message).map_err(malformed)?;
                    let is_new = self.accept(request.id, message.header.version)?;
                    is_new.then_some(ConnectionEvent::Locate(request))
                }
                MessageType::CancelRequest => {
                    let id = CancelRequest::decode(&message).map_err(malformed)?.id;
                    self.handle_cancel(id)
                }
                MessageType::Reply => {
                    let mut reply = Reply::decode(&message).map_err(malformed)?;
                    reply.body.set_code_sets(self.code_sets);
                    let token = self.take_token(reply.id, Waiting::Reply);
                    token.map(|token| ConnectionEvent::Reply(token, reply))
                }
                MessageType::LocateReply => {
                    let reply = LocateReply::decode(&message).map_err(malformed)?;
                    let token = self.take_token(reply.id, Waiting::LocateReply);
                    token.map(|token| ConnectionEvent::LocateReply(token, reply))
                }
                MessageType::CloseConnection => Some(ConnectionEvent::Closed(self.handle_end())),
                MessageType::MessageError => Some(ConnectionEvent::PeerError(self.handle_end())),
                // The reassembly lets none of them pass.
                MessageType::Fragment => None,
            };
            if event.is_some() {
                return Ok(event);
            }
        }
        Ok(None)
    }

    fn check_direction(&self, message: MessageType) -> Result<(), ProtocolError> {
        use MessageType::{CancelRequest, LocateReply, LocateRequest, Reply, Request};
        let expected = match (self.role, message) {
            (Role::Client, Request | LocateRequest | CancelRequest) => {
                "replies only, because bidirectional GIOP was not negotiated"
            }
            (Role::Server, Reply | LocateReply) => "requests only",
            _ => return Ok(()),
        };
        Err(ProtocolError::Unexpected { message, expected })
    }

    fn handle_request(
        &mut self,
        mut request: Request,
    ) -> Result<Option<ConnectionEvent<T>>, ProtocolError> {
        let malformed = |error: DecodeError| ProtocolError::Malformed {
            message: MessageType::Request,
            error,
        };
        let contexts = &request.head.contexts;
        let context = contexts
            .iter()
            .find(|context| context.id == context_id::CODE_SETS);
        let selected = context.map(|context| CodeSets::from_context(&context.data));
        let selected = selected.transpose().map_err(malformed)?;
        let is_accepted = match request.head.response {
            ResponseExpected::None => self.state == State::Active,
            _ => self.accept(request.id, request.body.format.version)?,
        };
        if !is_accepted {
            return Ok(None);
        }
        if let Some(code_sets) = selected {
            let is_twoway = request.head.response != ResponseExpected::None;
            if is_twoway && !code_sets.are_known() {
                let exception = SystemException {
                    kind: Kind::CodesetIncompatible,
                    minor: OMG_MINOR | 1,
                    completed: Completion::No,
                };
                let sent = self.reply_system_exception(request.id, exception);
                debug_assert!(
                    sent.is_ok(),
                    "it was accepted, and an exception has an encoding"
                );
                return Ok(None);
            }
            // Nobody waits for an answer to a oneway request. It is dispatched, and text in it is an error that the
            // driver can count.
            self.code_sets = code_sets;
        }
        request.body.set_code_sets(self.code_sets);
        Ok(Some(ConnectionEvent::Request(request)))
    }

    /// Notes a request that waits for a reply. Returns false if it is not to be dispatched because this side closes: the
    /// client learns from CloseConnection that it was not executed.
    fn accept(&mut self, id: RequestId, version: Version) -> Result<bool, ProtocolError> {
        if self.state != State::Active {
            return Ok(false);
        }
        match self.dispatches.insert(id, version) {
            None => Ok(true),
            Some(_) => Err(ProtocolError::DuplicateRequest(id)),
        }
    }

    fn handle_cancel(&mut self, id: RequestId) -> Option<ConnectionEvent<T>> {
        self.reassembly.cancel(id);
        // It still counts until it is answered, or a peer could have any number in dispatch.
        self.dispatches.get(&id)?;
        Some(ConnectionEvent::Cancelled(id))
    }

    /// The token of a request, if the reply is of the kind that is waited for; others are ignored.
    fn take_token(&mut self, id: RequestId, waiting: Waiting) -> Option<T> {
        if !self.in_flight.is_waiting(id, waiting) {
            return None;
        }
        let (_, token) = self.in_flight.remove(id)?;
        self.close_if_drained();
        Some(token)
    }
}
