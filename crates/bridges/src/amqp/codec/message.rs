//! The messages of a topic: the sections around a body.

use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use floe_amqp::codec::{Field, Reader, Symbol, Value, Writer};
use floe_amqp::jms::{DESTINATION, MESSAGE_TYPE, message_type};
use floe_amqp::message::{Body, Header, Message, MessageBuilder, Properties};
use floe_dynamic::{JsonReader, JsonWriter, parse_json};

use super::entries::shown;
use super::error::{EventError, MessageProblem};
use super::payload::{self, ROOT};
use super::reader::MapReader;
use super::writer::MapWriter;
use crate::amqp::MessageBody;
use crate::core::mapping::{EventKind, EventTypes};

/// The property of a message that names its operation. It may be left out where the interface has one operation.
pub(crate) const OPERATION: &str = "operation";

/// Makes messages of the events of a topic, and events of messages.
#[derive(Debug)]
pub(crate) struct MessageCodec {
    events: Arc<EventTypes>,
    body: MessageBody,
    /// For each kind, the sections in front of the body.
    heads: Vec<Bytes>,
}

/// The types of messages that are taken and sent. Source: see [`floe_amqp::jms`].
const TEXT_MESSAGE: i8 = 5;
const MAP_MESSAGE: i8 = 2;
/// The kind of destination that a topic is.
const TOPIC: i8 = 1;
/// The descriptor of a body that is one value. Source: OASIS AMQP 1.0, part 3, 3.2.8.
const VALUE_SECTION: u64 = 0x77;

impl MessageCodec {
    /// The messages of a topic of this name over there.
    pub(crate) fn new(name: &str, events: &Arc<EventTypes>, body: MessageBody) -> Self {
        let head = |kind: &EventKind| {
            let message_type = match body {
                MessageBody::Text => TEXT_MESSAGE,
                MessageBody::Map => MAP_MESSAGE,
            };
            let mut builder = MessageBuilder::new(Body::Empty);
            builder.message_annotations = vec![
                (Value::Symbol(MESSAGE_TYPE), Value::Byte(message_type)),
                (Value::Symbol(DESTINATION), Value::Byte(TOPIC)),
            ];
            builder.properties = Properties {
                to: Some(name.to_owned()),
                ..Properties::default()
            };
            builder.application_properties =
                vec![(Value::text(OPERATION), Value::text(kind.name()))];
            builder.build()
        };
        Self {
            heads: events.kinds().iter().map(head).collect(),
            events: Arc::clone(events),
            body,
        }
    }

    /// The message of an event: its kind by its position, and its parameters, which are a whole encapsulation.
    ///
    /// # Errors
    /// [`EventError`]
    pub(crate) fn encode(&self, kind: usize, parameters: &[u8]) -> Result<Bytes, EventError> {
        let event = &self.events.kinds()[kind];
        let mut message = Writer::appending_to(self.heads[kind].to_vec());
        message.descriptor(VALUE_SECTION);
        match self.body {
            MessageBody::Text => {
                let mut writer = JsonWriter::new(self.events.contract());
                payload::write(event, parameters, &mut writer)?;
                message.string(&writer.into_text());
            }
            MessageBody::Map => {
                let mut writer = MapWriter::default();
                payload::write(event, parameters, &mut writer)?;
                writer.append_to(&mut message);
            }
        }
        Ok(message.into_bytes().into())
    }

    /// The event of a message: the position of its kind, and its parameters as a whole encapsulation.
    ///
    /// # Errors
    /// [`MessageProblem`], which names the field.
    pub(crate) fn decode(&self, message: Bytes) -> Result<(usize, Vec<u8>), MessageProblem> {
        let message = Message::locate(message)?;
        let (at, kind) = self.kind(&message)?;
        let parameters = match body(&message)? {
            Content::Text(text) => self.read_text(kind, &text)?,
            Content::Map(encoded) => {
                let mut reader = MapReader::new(encoded)?;
                payload::read(kind, &mut reader, |path, error| format!("{path}: {error}"))?
            }
        };
        Ok((at, parameters))
    }

    fn read_text(&self, kind: &EventKind, text: &str) -> Result<Vec<u8>, MessageProblem> {
        let json = parse_json(text);
        let json = json.map_err(|error| {
            MessageProblem::new(format_args!(
                "{ROOT}: expected JSON, got other text: {error}"
            ))
        })?;
        let mut reader = JsonReader::new(self.events.contract(), ROOT, &json);
        // All problems have their paths already.
        payload::read(kind, &mut reader, |_, error| error.to_string())
    }

    /// The kind of event that a message says it is.
    fn kind(&self, message: &Message) -> Result<(usize, &EventKind), MessageProblem> {
        let properties = message.application_properties()?;
        let mut found = properties.into_iter();
        let named =
            found.find(|(name, _)| matches!(name, Value::String(name) if name == OPERATION));
        let got = match named {
            Some((_, Value::String(name))) => match self.events.find(&name) {
                Some(found) => return Ok(found),
                None => format!("\"{}\"", shown(&name)),
            },
            Some((_, Value::Null)) | None => match self.events.only() {
                Some(only) => return Ok((0, only)),
                None => "none".to_owned(),
            },
            Some(_) => "a value that is no text".to_owned(),
        };
        let names: Vec<&str> = self.events.kinds().iter().map(EventKind::name).collect();
        Err(MessageProblem::new(format_args!(
            "property `{OPERATION}`: expected an operation of {} ({}), got {got}",
            self.events.type_id(),
            names.join(", ")
        )))
    }
}

/// The contents of a body.
enum Content<'m> {
    Text(String),
    /// An encoded map.
    Map(&'m [u8]),
}

/// The body of a message, by its type or, without one, by what it is.
fn body(message: &Message) -> Result<Content<'_>, MessageProblem> {
    let kind = message_type(message)?;
    let wrong = |got: &str| {
        Err(MessageProblem::new(format_args!(
            "{ROOT}: expected a TextMessage with JSON or a MapMessage, got {got}"
        )))
    };
    match kind {
        None | Some(TEXT_MESSAGE | MAP_MESSAGE) => {}
        Some(0) => return wrong("a Message without a body"),
        Some(1) => return wrong("an ObjectMessage, which only Java can read"),
        Some(3) => return wrong("a BytesMessage"),
        Some(4) => return wrong("a StreamMessage"),
        Some(other) => return wrong(&format!("a message of the unknown type {other}")),
    }
    if let Some(encoded) = message.value_bytes() {
        let mut reader = Reader::new(encoded);
        let is_map = matches!(reader.peek(), Some(0xC1 | 0xD1)) && kind != Some(TEXT_MESSAGE);
        if is_map {
            return Ok(Content::Map(encoded));
        }
        if kind == Some(MAP_MESSAGE) {
            return match reader.take_null() {
                true => Ok(Content::Map(encoded)),
                false => wrong("a MapMessage without a map"),
            };
        }
        return match reader.string("text") {
            Ok(text) => Ok(Content::Text(text.to_owned())),
            Err(error) => wrong(&format!("another body ({error})")),
        };
    }
    let Body::Data(data) = message.body()? else {
        return wrong("another body");
    };
    let content_type = message.properties()?.content_type;
    let content_type = content_type.as_ref().map(Symbol::as_str);
    let is_text =
        content_type.is_some_and(|it| it.starts_with("text/") || it == "application/json");
    if kind != Some(TEXT_MESSAGE) && !is_text {
        return wrong("bytes without a content type of text or JSON");
    }
    match std::str::from_utf8(&data) {
        Ok(text) => Ok(Content::Text(text.to_owned())),
        Err(_) => wrong("text that is not UTF-8"),
    }
}

/// A message that the peer did not take when it came: its header says how often that happened.
pub(crate) fn redelivered(message: &Bytes, failed_count: u32) -> Bytes {
    if failed_count == 0 {
        return message.clone();
    }
    let header = Header {
        delivery_count: Some(failed_count),
        ..Header::default()
    };
    let mut writer = Writer::default();
    header.encode(&mut writer);
    let header = writer.into_bytes();
    let mut whole = BytesMut::with_capacity(header.len() + message.len());
    whole.extend_from_slice(&header);
    whole.extend_from_slice(message);
    whole.freeze()
}
