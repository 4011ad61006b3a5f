//! Whole protocol messages as JSON, for people who look at a wire.
//!
//! The form of the JSON is described for users in `docs/guides/json.md`.

use std::fmt;

use bytes::{Buf, Bytes};
use floe_wire::compression::Decompressor;
use floe_wire::message::{
    HEADER_LEN, Header, IncomingReply, IncomingRequest, Message, MessageType, OperationMode,
    Outcome, ProtocolError, RequestBatch, RequestFailed, SystemException,
};
use floe_wire::reference::Identity;
use floe_wire::{DecodeError, Encapsulation};
use serde_json::{Map, Value as Json, json};

use crate::{Contract, DecodeValueError, LookupError, Operation, hex};

/// Takes messages apart. With a contract it opens the encapsulations as well.
///
/// ```
/// use floe_dynamic::MessageReader;
/// use floe_wire::message::VALIDATE_CONNECTION;
///
/// let mut bytes = VALIDATE_CONNECTION.to_vec().into();
/// let message = MessageReader::default().read(&mut bytes)?;
/// assert_eq!(message.json["type"], "validate_connection");
/// assert!(bytes.is_empty());
/// # Ok::<(), floe_dynamic::MessageError>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct MessageReader {
    contract: Option<Contract>,
    interface: Option<String>,
    operation: Option<Operation>,
}

/// A message that was taken apart.
#[derive(Debug, Clone, PartialEq)]
pub struct MessageJson {
    /// The message as an object.
    pub json: Json,
    /// How many of its parts have a key `error`, because the contract does not know them or they
    /// do not fit it, or because the message cannot be decompressed.
    pub error_count: usize,
}

/// Bytes that are no message.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum MessageError {
    /// The bytes end before the message does.
    Incomplete {
        /// Length of the message in bytes; of its header, as long as that is not there.
        needed: usize,
        /// Bytes that there are.
        available: usize,
    },
    /// The bytes break the protocol.
    Protocol(ProtocolError),
}

impl fmt::Display for MessageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Incomplete { needed, available } => {
                let what = match needed {
                    &HEADER_LEN => "a message header",
                    _ => "a message",
                };
                write!(f, "expected {what} of {needed} bytes, got {available}")
            }
            Self::Protocol(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for MessageError {}

impl MessageReader {
    /// Opens encapsulations with the operations of this contract, or of one interface of it, and
    /// with its user exceptions.
    #[must_use]
    pub fn with_contract(mut self, contract: &Contract, interface: Option<&str>) -> Self {
        self.contract = Some(contract.clone());
        self.interface = interface.map(str::to_owned);
        self
    }

    /// Takes replies as answers to this operation, which they do not name, and requests for an
    /// operation of its name as requests for it.
    #[must_use]
    pub fn with_operation(mut self, operation: &Operation) -> Self {
        self.operation = Some(operation.clone());
        self
    }

    /// Takes the first message off the front of `input`, and apart. After an error `input` is as
    /// before.
    ///
    /// # Errors
    /// [`MessageError`]: the fields of the message make no sense. An encapsulation that does not
    /// fit the contract is no error of the message: it has a key `error` there.
    pub fn read(&self, input: &mut Bytes) -> Result<MessageJson, MessageError> {
        let incomplete = |needed| MessageError::Incomplete {
            needed,
            available: input.len(),
        };
        let header = input
            .first_chunk::<HEADER_LEN>()
            .ok_or_else(|| incomplete(HEADER_LEN))?;
        // Any size will do: nothing is allocated for it.
        let header = Header::decode(header, usize::MAX).map_err(MessageError::Protocol)?;
        if header.size > input.len() {
            return Err(incomplete(header.size));
        }
        let bytes = input.slice(..header.size);
        let mut object = Object::of_header(&header);
        let message = Message { header, bytes };
        let read = match decompress(message, &mut object) {
            Some(message) => self.body(&message, &mut object),
            None => Ok(()),
        };
        read.map_err(|error| {
            let message = header.message_type;
            MessageError::Protocol(ProtocolError::Malformed { message, error })
        })?;
        input.advance(header.size);
        Ok(MessageJson {
            json: Json::Object(object.members),
            error_count: object.error_count,
        })
    }

    fn body(&self, message: &Message, object: &mut Object) -> Result<(), DecodeError> {
        match message.header.message_type {
            MessageType::Request => {
                let request = IncomingRequest::parse(message)?;
                object.insert("request_id", request.id().0);
                self.request(&request, object);
            }
            MessageType::BatchRequest => {
                let mut requests: Vec<Json> = Vec::new();
                for request in RequestBatch::parse(message)? {
                    let mut one = Object::default();
                    self.request(&request, &mut one);
                    object.error_count += one.error_count;
                    requests.push(Json::Object(one.members));
                }
                object.insert("requests", requests);
            }
            MessageType::Reply => {
                let reply = IncomingReply::parse(message)?;
                object.insert("request_id", reply.id().0);
                self.outcome(&reply.outcome()?, object)?;
            }
            MessageType::ValidateConnection | MessageType::CloseConnection => {}
        }
        Ok(())
    }

    fn request(&self, request: &IncomingRequest, object: &mut Object) {
        object.target(&request.target());
        object.insert("mode", mode(request.mode()));
        object.insert("context", json!(request.context()));
        object.encapsulation(&request.encapsulation());
        if let Some(found) = self.find(request.operation()) {
            let parameters = found.map_err(|error| error.to_string());
            let parameters = parameters.and_then(|operation| {
                let decoded = operation.decode_request(&request.parameters());
                decoded.map_err(|error| format!("not what `{operation}` takes: {error}"))
            });
            object.insert_result("parameters", parameters);
        }
    }

    fn outcome(&self, outcome: &Outcome, object: &mut Object) -> Result<(), DecodeError> {
        match outcome {
            Outcome::Returned(bytes) => {
                object.status(0, "ok");
                object.encapsulation(&Encapsulation::parse(bytes)?);
                if let Some(operation) = &self.operation {
                    let misfit = |error: DecodeValueError| {
                        format!("not what `{operation}` returns: {error}")
                    };
                    let results = operation.decode_reply(bytes).map_err(misfit);
                    object.insert_result("results", results);
                }
            }
            Outcome::UserException(bytes) => {
                object.status(1, "user_exception");
                object.encapsulation(&Encapsulation::parse(bytes)?);
                if let Some(contract) = &self.contract {
                    let exception = contract.decode_exception(bytes);
                    object.insert_result("exception", exception.map_err(|e| e.to_string()));
                }
            }
            Outcome::System(exception) => object.system(exception),
        }
        Ok(())
    }

    /// The operation of this name; nothing without a contract.
    fn find(&self, name: &str) -> Option<Result<Operation, LookupError>> {
        if let Some(operation) = self.operation.as_ref().filter(|known| known.name() == name) {
            return Some(Ok(operation.clone()));
        }
        let contract = self.contract.as_ref()?;
        Some(match &self.interface {
            Some(interface) => contract.operation(&format!("{interface}::{name}")),
            None => contract.operation(name),
        })
    }
}

/// The message as it was before it was compressed; `None` if it cannot be known.
fn decompress(message: Message, object: &mut Object) -> Option<Message> {
    if !message.is_compressed() {
        return Some(message);
    }
    match Decompressor::default().decompress(message, DECOMPRESSED_MAX) {
        Ok(message) => {
            object.insert("uncompressed_size", message.header.size);
            Some(message)
        }
        Err(error) => {
            object.error(&error.to_string());
            None
        }
    }
}

/// The most bytes that a message may have once it is decompressed: 256 MiB, far above what peers
/// accept and below what a machine has.
const DECOMPRESSED_MAX: usize = 256 * 1024 * 1024;

/// A JSON object in the making.
#[derive(Default)]
struct Object {
    members: Map<String, Json>,
    error_count: usize,
}

impl Object {
    fn of_header(header: &Header) -> Self {
        let mut object = Self::default();
        object.insert("type", type_name(header.message_type));
        // A header with other versions is refused.
        object.insert("protocol", "1.0");
        object.insert("protocol_encoding", "1.0");
        object.insert("compression", header.compression);
        object.insert("size", header.size);
        object
    }

    fn insert(&mut self, key: &str, value: impl Into<Json>) {
        self.members.insert(key.to_owned(), value.into());
    }

    fn insert_result(&mut self, key: &str, result: Result<Json, String>) {
        match result {
            Ok(json) => self.insert(key, json),
            Err(error) => self.error(&error),
        }
    }

    fn error(&mut self, error: &str) {
        self.insert("error", error);
        self.error_count += 1;
    }

    fn target(&mut self, target: &RequestFailed) {
        let Identity { name, category } = &target.identity;
        self.insert("identity", json!({"name": name, "category": category}));
        self.insert("facet", target.facet.as_str());
        self.insert("operation", target.operation.as_str());
    }

    fn encapsulation(&mut self, encapsulation: &Encapsulation<'_>) {
        let encoding = encapsulation.encoding.to_string();
        let payload = hex::to_hex(encapsulation.payload);
        let object = json!({"encoding": encoding, "payload": payload});
        self.insert("encapsulation", object);
    }

    fn status(&mut self, code: u8, name: &str) {
        self.insert("status", json!({"code": code, "name": name}));
    }

    fn system(&mut self, exception: &SystemException) {
        self.status(exception.status(), status_name(exception));
        match exception {
            SystemException::ObjectNotExist(target)
            | SystemException::FacetNotExist(target)
            | SystemException::OperationNotExist(target) => self.target(target),
            SystemException::UnknownLocalException(message)
            | SystemException::UnknownUserException(message)
            | SystemException::UnknownException(message)
            | SystemException::Other { message, .. } => self.insert("message", message.as_str()),
            other => self.insert("message", other.to_string()),
        }
    }
}

fn type_name(message_type: MessageType) -> &'static str {
    match message_type {
        MessageType::Request => "request",
        MessageType::BatchRequest => "batch_request",
        MessageType::Reply => "reply",
        MessageType::ValidateConnection => "validate_connection",
        MessageType::CloseConnection => "close_connection",
    }
}

fn mode(mode: OperationMode) -> &'static str {
    match mode {
        OperationMode::Normal => "normal",
        OperationMode::Nonmutating => "nonmutating",
        OperationMode::Idempotent => "idempotent",
    }
}

fn status_name(exception: &SystemException) -> &'static str {
    match exception {
        SystemException::ObjectNotExist(_) => "object_not_exist",
        SystemException::FacetNotExist(_) => "facet_not_exist",
        SystemException::OperationNotExist(_) => "operation_not_exist",
        SystemException::UnknownLocalException(_) => "unknown_local_exception",
        SystemException::UnknownUserException(_) => "unknown_user_exception",
        SystemException::UnknownException(_) => "unknown_exception",
        _ => "other",
    }
}
