//! Messages as JMS programs mean them.
//!
//! An annotation, [`MESSAGE_TYPE`], says which of the message types of JMS a message is. Headers of JMS are fields of the
//! header and of the properties; properties of JMS are application properties. Messages of other programs have no such
//! annotation, and then the body decides.
//!
//! An ObjectMessage is refused: it holds a serialised object of Java, which only a Java program with the same classes can
//! read, and which is unsafe to read.
//!
//! Source: OASIS, "AMQP JMS Mapping" (working draft 9), 3; observed: Qpid JMS 2.10.

mod subscription;

use std::fmt;

use bytes::Bytes;

pub use subscription::Subscription;

use crate::codec::{Symbol, Timestamp, Value};
use crate::message::{
    Body, Header, Message, MessageBuilder, MessageError, PRIORITY_DEFAULT, Properties,
};

/// The annotation that tells the type of a message, as a signed byte.
pub const MESSAGE_TYPE: Symbol = Symbol::new("x-opt-jms-msg-type");
/// The annotation that tells of which kind the destination is.
pub const DESTINATION: Symbol = Symbol::new("x-opt-jms-dest");
/// The annotation that tells of which kind the node for answers is.
pub const REPLY_TO: Symbol = Symbol::new("x-opt-jms-reply-to");
/// The annotation that tells when the message may be delivered, in milliseconds since 1970.
pub const DELIVERY_TIME: Symbol = Symbol::new("x-opt-delivery-time");

/// A message.
#[derive(Debug, Clone, PartialEq)]
pub struct JmsMessage {
    /// Its headers.
    pub headers: JmsHeaders,
    /// Its properties, in the order in which they were sent.
    pub properties: Vec<(String, JmsValue)>,
    /// Its body, which tells its type.
    pub body: JmsBody,
}

/// The headers of a message.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct JmsHeaders {
    /// JMSMessageID.
    pub message_id: Option<String>,
    /// JMSCorrelationID.
    pub correlation_id: Option<String>,
    /// JMSDestination.
    pub destination: Option<Destination>,
    /// JMSReplyTo.
    pub reply_to: Option<Destination>,
    /// JMSType.
    pub kind: Option<String>,
    /// True if JMSDeliveryMode is PERSISTENT.
    pub persistent: bool,
    /// JMSPriority, 0 to 9; none for the default.
    pub priority: Option<u8>,
    /// JMSTimestamp, in milliseconds since 1970.
    pub timestamp: Option<i64>,
    /// JMSExpiration, in milliseconds since 1970.
    pub expiration: Option<i64>,
    /// JMSDeliveryTime, in milliseconds since 1970.
    pub delivery_time: Option<i64>,
    /// Deliveries that failed: JMSXDeliveryCount less one. If it is above 0, JMSRedelivered is true.
    pub failed_deliveries: u32,
    /// JMSXUserID.
    pub user_id: Option<String>,
    /// JMSXGroupID.
    pub group_id: Option<String>,
    /// JMSXGroupSeq.
    pub group_sequence: Option<u32>,
}

/// A destination of JMS.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Destination {
    /// Its address.
    pub address: String,
    /// Its kind, if the message says so.
    pub kind: Option<DestinationKind>,
}

/// A kind of destination.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DestinationKind {
    /// A queue.
    Queue,
    /// A topic.
    Topic,
    /// A queue of a connection.
    TemporaryQueue,
    /// A topic of a connection.
    TemporaryTopic,
}

/// The body of a message.
#[derive(Debug, Clone, PartialEq)]
pub enum JmsBody {
    /// Message: none.
    None,
    /// TextMessage; the text may be null.
    Text(Option<String>),
    /// MapMessage.
    Map(Vec<(String, JmsValue)>),
    /// BytesMessage.
    Bytes(Bytes),
    /// StreamMessage.
    Stream(Vec<JmsValue>),
}

/// A value in a property, a map or a stream.
#[derive(Debug, Clone, PartialEq)]
pub enum JmsValue {
    /// null
    Null,
    /// boolean
    Bool(bool),
    /// byte
    Byte(i8),
    /// short
    Short(i16),
    /// char
    Char(char),
    /// int
    Int(i32),
    /// long
    Long(i64),
    /// float
    Float(f32),
    /// double
    Double(f64),
    /// String
    String(String),
    /// byte[]
    Bytes(Bytes),
}

/// Why a message of AMQP is none of JMS.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum JmsError {
    /// It is no message of AMQP.
    Message(MessageError),
    /// It is an ObjectMessage.
    ObjectMessage,
    /// The annotation names a type that JMS does not have.
    UnknownType(i8),
    /// The body is not what its type needs.
    Body {
        /// The type.
        kind: &'static str,
    },
    /// A property, or an entry of a map or a stream, has a value that JMS does not have.
    Value {
        /// The name of the property, or where the value is.
        at: String,
    },
}

impl fmt::Display for JmsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Message(error) => error.fmt(f),
            Self::ObjectMessage => f.write_str(
                "expected a TextMessage, MapMessage, BytesMessage or StreamMessage, got an ObjectMessage, which only Java can read",
            ),
            Self::UnknownType(kind) => {
                write!(f, "expected a message type of JMS, 0 to 5, got {kind}")
            }
            Self::Body { kind } => write!(f, "expected the body of a {kind}, got another"),
            Self::Value { at } => write!(
                f,
                "expected a boolean, number, character, text or bytes for `{at}`, got another value"
            ),
        }
    }
}

impl std::error::Error for JmsError {}

impl From<MessageError> for JmsError {
    fn from(error: MessageError) -> Self {
        Self::Message(error)
    }
}

impl JmsMessage {
    /// Reads a message.
    ///
    /// # Errors
    /// [`JmsError`].
    pub fn of(message: &Message) -> Result<Self, JmsError> {
        Ok(Self {
            headers: JmsHeaders::of(message)?,
            properties: properties_of(message)?,
            body: JmsBody::of(message)?,
        })
    }

    /// The message of AMQP.
    pub fn to_message(&self) -> Bytes {
        let headers = &self.headers;
        let (kind, body) = self.body.to_amqp();
        let mut builder = MessageBuilder::new(body);
        builder.header = Header {
            durable: headers.persistent,
            priority: headers.priority.filter(|p| *p != PRIORITY_DEFAULT),
            delivery_count: Some(headers.failed_deliveries).filter(|count| *count > 0),
            ..Header::default()
        };
        let mut annotate = |name: Symbol, value: Value| {
            let entry = (Value::Symbol(name), value);
            builder.message_annotations.push(entry);
        };
        annotate(MESSAGE_TYPE, Value::Byte(kind));
        for (name, destination) in [
            (DESTINATION, &headers.destination),
            (REPLY_TO, &headers.reply_to),
        ] {
            if let Some(kind) = destination.as_ref().and_then(|d| d.kind) {
                annotate(name, Value::Byte(kind as i8));
            }
        }
        if let Some(time) = headers.delivery_time {
            annotate(DELIVERY_TIME, Value::Timestamp(time));
        }
        let address = |destination: &Option<Destination>| {
            destination
                .as_ref()
                .map(|destination| destination.address.clone())
        };
        let id = |id: &Option<String>| id.as_deref().map(Value::text);
        let is_data = matches!(self.body, JmsBody::Bytes(_));
        builder.properties = Properties {
            message_id: id(&headers.message_id),
            user_id: headers.user_id.clone().map(Bytes::from),
            to: address(&headers.destination),
            subject: headers.kind.clone(),
            reply_to: address(&headers.reply_to),
            correlation_id: id(&headers.correlation_id),
            content_type: is_data.then_some(OCTETS),
            absolute_expiry_time: headers.expiration.map(Timestamp),
            creation_time: headers.timestamp.map(Timestamp),
            group_id: headers.group_id.clone(),
            group_sequence: headers.group_sequence,
            ..Properties::default()
        };
        let properties = self.properties.iter();
        builder.application_properties = properties
            .map(|(name, value)| (Value::text(name), value.to_amqp()))
            .collect();
        builder.build()
    }
}

/// The properties of a message.
///
/// # Errors
/// If the message is broken, or a value is none of JMS.
pub fn properties_of(message: &Message) -> Result<Vec<(String, JmsValue)>, JmsError> {
    named(message.application_properties()?)
}

/// The type that the annotation of a message names, if it has one: see [`MESSAGE_TYPE`].
///
/// # Errors
/// If the message is broken.
pub fn message_type(message: &Message) -> Result<Option<i8>, MessageError> {
    let annotations = message.message_annotations()?.into_iter();
    Ok(annotations.rev().find_map(|entry| match entry {
        (Value::Symbol(key), Value::Byte(kind)) if key == MESSAGE_TYPE => Some(kind),
        _ => None,
    }))
}

impl JmsHeaders {
    /// The headers of a message.
    ///
    /// # Errors
    /// If the message is broken.
    pub fn of(message: &Message) -> Result<Self, JmsError> {
        let header = message.header()?;
        let properties = message.properties()?;
        let annotations = message.message_annotations()?;
        let annotation = |name: &Symbol| {
            let found = annotations.iter();
            let mut found =
                found.filter(|(key, _)| matches!(key, Value::Symbol(key) if key == name));
            found.next().map(|(_, value)| value)
        };
        let destination = |address: Option<String>, name: &Symbol| {
            address.map(|address| Destination {
                address,
                kind: annotation(name).and_then(DestinationKind::of),
            })
        };
        let user_id = properties.user_id.as_ref();
        Ok(Self {
            message_id: properties.message_id.as_ref().and_then(id_text),
            correlation_id: properties.correlation_id.as_ref().and_then(id_text),
            destination: destination(properties.to, &DESTINATION),
            reply_to: destination(properties.reply_to, &REPLY_TO),
            kind: properties.subject,
            persistent: header.durable,
            priority: header.priority,
            timestamp: properties.creation_time.map(|time| time.0),
            expiration: properties.absolute_expiry_time.map(|time| time.0),
            delivery_time: match annotation(&DELIVERY_TIME) {
                Some(Value::Timestamp(time) | Value::Long(time)) => Some(*time),
                _ => None,
            },
            failed_deliveries: header.delivery_count.unwrap_or_default(),
            user_id: user_id.map(|id| String::from_utf8_lossy(id).into_owned()),
            group_id: properties.group_id,
            group_sequence: properties.group_sequence,
        })
    }
}

impl DestinationKind {
    fn of(value: &Value) -> Option<Self> {
        match value {
            Value::Byte(0) => Some(Self::Queue),
            Value::Byte(1) => Some(Self::Topic),
            Value::Byte(2) => Some(Self::TemporaryQueue),
            Value::Byte(3) => Some(Self::TemporaryTopic),
            _ => None,
        }
    }
}

/// An id as a text. Ids of other types get the prefixes of the mapping, so that no two ids become one.
fn id_text(id: &Value) -> Option<String> {
    let hex = |bytes: &[u8]| bytes.iter().map(|b| format!("{b:02X}")).collect::<String>();
    match id {
        Value::String(text) => Some(text.clone()),
        Value::Ulong(number) => Some(format!("ID:AMQP_ULONG:{number}")),
        Value::Binary(bytes) => Some(format!("ID:AMQP_BINARY:{}", hex(bytes))),
        Value::Uuid(bytes) => {
            let hex = hex(bytes).to_lowercase();
            let (a, b, c, d, e) = (
                &hex[..8],
                &hex[8..12],
                &hex[12..16],
                &hex[16..20],
                &hex[20..],
            );
            Some(format!("ID:AMQP_UUID:{a}-{b}-{c}-{d}-{e}"))
        }
        _ => None,
    }
}

const OCTETS: Symbol = Symbol::new("application/octet-stream");
const JAVA_OBJECT: Symbol = Symbol::new("application/x-java-serialized-object");

impl JmsBody {
    /// The body of a message.
    ///
    /// # Errors
    /// [`JmsError`].
    pub fn of(message: &Message) -> Result<Self, JmsError> {
        let kind = message_type(message)?;
        let wrong = |kind| Err(JmsError::Body { kind });
        if kind == Some(1) {
            return Err(JmsError::ObjectMessage);
        }
        if let Some(kind) = kind.filter(|kind| !(0..=5).contains(kind)) {
            return Err(JmsError::UnknownType(kind));
        }
        let body = message.body()?;
        match (kind, body) {
            (Some(0), _) => Ok(Self::None),
            (Some(2) | None, Body::Value(Value::Map(entries))) => Ok(Self::Map(named(entries)?)),
            (Some(2), Body::Value(Value::Null)) => Ok(Self::Map(Vec::new())),
            (Some(2), _) => wrong("MapMessage"),
            (Some(3), Body::Data(data)) => Ok(Self::Bytes(data)),
            (Some(3), Body::Value(Value::Binary(data))) => Ok(Self::Bytes(data)),
            (Some(3), Body::Empty | Body::Value(Value::Null)) => Ok(Self::Bytes(Bytes::new())),
            (Some(3), _) => wrong("BytesMessage"),
            (Some(4) | None, Body::Sequence(values) | Body::Value(Value::List(values))) => {
                let values = values.into_iter().enumerate();
                let values = values.map(|(at, value)| {
                    JmsValue::of(value).ok_or_else(|| JmsError::Value {
                        at: format!("value {at}"),
                    })
                });
                Ok(Self::Stream(values.collect::<Result<_, _>>()?))
            }
            (Some(4), Body::Empty | Body::Value(Value::Null)) => Ok(Self::Stream(Vec::new())),
            (Some(4), _) => wrong("StreamMessage"),
            (Some(5) | None, Body::Value(Value::String(text))) => Ok(Self::Text(Some(text))),
            (Some(5), Body::Value(Value::Null) | Body::Empty) => Ok(Self::Text(None)),
            (Some(5), Body::Data(data)) => text(&data),
            (Some(5), _) => wrong("TextMessage"),
            (_, Body::Data(data)) => {
                let content_type = message.properties()?.content_type;
                match content_type.as_ref().map(Symbol::as_str) {
                    Some(kind) if kind == JAVA_OBJECT.as_str() => Err(JmsError::ObjectMessage),
                    Some(kind) if kind.starts_with("text/") => text(&data),
                    _ => Ok(Self::Bytes(data)),
                }
            }
            (_, Body::Value(Value::Binary(data))) => Ok(Self::Bytes(data)),
            (_, Body::Value(Value::Null) | Body::Empty) => Ok(Self::None),
            (_, Body::Value(_)) => wrong("message of JMS"),
            (Some(_), Body::Sequence(_)) => wrong("message of JMS"),
        }
    }

    fn to_amqp(&self) -> (i8, Body) {
        match self {
            Self::None => (0, Body::Empty),
            Self::Map(entries) => {
                let entries = entries.iter();
                let entries = entries.map(|(name, value)| (Value::text(name), value.to_amqp()));
                (2, Body::Value(Value::Map(entries.collect())))
            }
            Self::Bytes(data) => (3, Body::Data(data.clone())),
            Self::Stream(values) => {
                let values = values.iter().map(JmsValue::to_amqp);
                (4, Body::Sequence(values.collect()))
            }
            Self::Text(text) => {
                let text = text.as_deref().map_or(Value::Null, Value::text);
                (5, Body::Value(text))
            }
        }
    }
}

fn text(data: &[u8]) -> Result<JmsBody, JmsError> {
    let text = std::str::from_utf8(data).map_err(|_| JmsError::Body {
        kind: "TextMessage",
    })?;
    Ok(JmsBody::Text(Some(text.to_owned())))
}

fn named(entries: Vec<(Value, Value)>) -> Result<Vec<(String, JmsValue)>, JmsError> {
    let entries = entries.into_iter().map(|(key, value)| {
        let name = match key {
            Value::String(name) => name,
            Value::Symbol(name) => name.as_str().to_owned(),
            _ => {
                return Err(JmsError::Value {
                    at: "a name".to_owned(),
                });
            }
        };
        match JmsValue::of(value) {
            Some(value) => Ok((name, value)),
            None => Err(JmsError::Value { at: name }),
        }
    });
    entries.collect()
}

impl JmsValue {
    /// A value of AMQP. Unsigned numbers become the next wider signed one.
    fn of(value: Value) -> Option<Self> {
        Some(match value {
            Value::Null => Self::Null,
            Value::Bool(value) => Self::Bool(value),
            Value::Byte(value) => Self::Byte(value),
            Value::Ubyte(value) => Self::Short(value.into()),
            Value::Short(value) => Self::Short(value),
            Value::Ushort(value) => Self::Int(value.into()),
            Value::Char(value) => Self::Char(value),
            Value::Int(value) => Self::Int(value),
            Value::Uint(value) => Self::Long(value.into()),
            Value::Long(value) => Self::Long(value),
            Value::Ulong(value) => Self::Long(value.try_into().ok()?),
            Value::Float(value) => Self::Float(value),
            Value::Double(value) => Self::Double(value),
            Value::String(value) => Self::String(value),
            Value::Symbol(value) => Self::String(value.as_str().to_owned()),
            Value::Binary(value) => Self::Bytes(value),
            Value::Timestamp(value) => Self::Long(value),
            _ => return None,
        })
    }

    fn to_amqp(&self) -> Value {
        match self {
            Self::Null => Value::Null,
            Self::Bool(value) => Value::Bool(*value),
            Self::Byte(value) => Value::Byte(*value),
            Self::Short(value) => Value::Short(*value),
            Self::Char(value) => Value::Char(*value),
            Self::Int(value) => Value::Int(*value),
            Self::Long(value) => Value::Long(*value),
            Self::Float(value) => Value::Float(*value),
            Self::Double(value) => Value::Double(*value),
            Self::String(value) => Value::text(value),
            Self::Bytes(value) => Value::Binary(value.clone()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: Bytes) -> Result<JmsMessage, JmsError> {
        JmsMessage::of(&Message::locate(bytes)?)
    }

    fn message(body: JmsBody) -> JmsMessage {
        let destination = |address: &str, kind| Destination {
            address: address.to_owned(),
            kind: Some(kind),
        };
        JmsMessage {
            headers: JmsHeaders {
                message_id: Some("ID:1".to_owned()),
                correlation_id: Some("c".to_owned()),
                destination: Some(destination("news", DestinationKind::Topic)),
                reply_to: Some(destination("answers", DestinationKind::TemporaryQueue)),
                kind: Some("sport".to_owned()),
                persistent: true,
                priority: Some(7),
                timestamp: Some(1),
                expiration: Some(2),
                delivery_time: Some(3),
                failed_deliveries: 4,
                user_id: Some("ann".to_owned()),
                group_id: Some("g".to_owned()),
                group_sequence: Some(5),
            },
            properties: values()
                .into_iter()
                .map(|value| ("p".to_owned(), value))
                .collect(),
            body,
        }
    }

    fn values() -> Vec<JmsValue> {
        vec![
            JmsValue::Null,
            JmsValue::Bool(true),
            JmsValue::Byte(-1),
            JmsValue::Short(-300),
            JmsValue::Char('x'),
            JmsValue::Int(70_000),
            JmsValue::Long(-1 << 40),
            JmsValue::Float(0.5),
            JmsValue::Double(-0.25),
            JmsValue::String("s".to_owned()),
            JmsValue::Bytes(Bytes::from_static(b"\x00\xFF")),
        ]
    }

    #[test]
    fn each_type_of_message_comes_back_with_headers_and_properties() {
        let map = values().into_iter().map(|value| ("k".to_owned(), value));
        for body in [
            JmsBody::None,
            JmsBody::Text(None),
            JmsBody::Text(Some("äöü".to_owned())),
            JmsBody::Map(map.collect()),
            JmsBody::Bytes(Bytes::from(vec![7; 70_000])),
            JmsBody::Stream(values()),
        ] {
            let message = message(body);
            assert_eq!(read(message.to_message()), Ok(message));
        }
    }

    #[test]
    fn an_object_message_is_refused() {
        let mut builder = MessageBuilder::new(Body::Data(Bytes::from_static(b"\xAC\xED")));
        builder.properties.content_type = Some(JAVA_OBJECT);
        assert_eq!(read(builder.build()), Err(JmsError::ObjectMessage));
        builder.properties.content_type = None;
        let kind = (Value::Symbol(MESSAGE_TYPE), Value::Byte(1));
        builder.message_annotations.push(kind);
        assert_eq!(read(builder.build()), Err(JmsError::ObjectMessage));
    }

    #[test]
    fn a_message_without_an_annotation_is_what_its_body_is() {
        let body = |body| read(MessageBuilder::new(body).build()).map(|message| message.body);
        let text = Body::Value(Value::text("a"));
        assert_eq!(body(text), Ok(JmsBody::Text(Some("a".to_owned()))));
        let data = Body::Data(Bytes::from_static(b"a"));
        assert_eq!(body(data), Ok(JmsBody::Bytes(Bytes::from_static(b"a"))));
        let list = Body::Sequence(vec![Value::Int(1)]);
        assert_eq!(body(list), Ok(JmsBody::Stream(vec![JmsValue::Int(1)])));
        assert_eq!(body(Body::Empty), Ok(JmsBody::None));
        let number = Body::Value(Value::Int(1));
        assert!(matches!(body(number), Err(JmsError::Body { .. })));
    }

    #[test]
    fn a_value_that_jms_does_not_have_is_named() {
        let mut builder = MessageBuilder::new(Body::Empty);
        let property = (Value::text("deep"), Value::List(Vec::new()));
        builder.application_properties.push(property);
        let error = read(builder.build()).expect_err("a list is no property");
        assert!(error.to_string().contains("`deep`"), "{error}");
    }

    #[test]
    fn ids_of_other_types_have_texts_that_differ() {
        assert_eq!(
            id_text(&Value::Ulong(7)).as_deref(),
            Some("ID:AMQP_ULONG:7")
        );
        assert_eq!(
            id_text(&Value::Binary(Bytes::from_static(b"\x0A"))).as_deref(),
            Some("ID:AMQP_BINARY:0A")
        );
        assert_eq!(
            id_text(&Value::Uuid([0xAB; 16])).as_deref(),
            Some("ID:AMQP_UUID:abababab-abab-abab-abab-abababababab")
        );
    }
}
