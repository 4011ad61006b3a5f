//! A topic in CORBA: the name of its channel, and its events as an `any`.

use std::fmt;
use std::sync::Arc;

use floe_dynamic::{Cause, Layout, Shape};
use floe_giop::cdr::{Decoder, EncodeError, Encoder, Endian, Format};
use floe_giop::cos::naming::ROOT_KEY;
use floe_giop::type_code::TypeCode;
use floe_slice::model::Primitive;

use super::codec::{CdrReader, CdrWriter};
use super::types::event_type_code;
use crate::core::mapping::{EventTypes, Finding, Verdict};
use crate::hub::TopicPlan;

/// The longest name of a channel. It is the key of an object, and a name of the naming service.
pub const CHANNEL_NAME_LEN_MAX: usize = 255;

/// The events of a topic as CORBA has them: an `any` of one type.
#[derive(Debug, Clone)]
pub(super) struct EventForm {
    events: Arc<EventTypes>,
    code: Arc<TypeCode>,
}

/// An `any` that is no event of the topic, or an event that is no `any`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum FormError {
    /// The `any` has another type.
    OtherType { expected: String, got: String },
    /// Its bytes are no value of its type.
    Malformed(String),
    /// CORBA, or this connection's code set, cannot say a value of the event.
    CannotBeSaid(String),
    /// The event of the hub is not of the contract.
    NotOfContract(String),
}

impl EventForm {
    pub(super) fn new(events: &Arc<EventTypes>) -> Self {
        Self {
            events: Arc::clone(events),
            code: event_type_code(events),
        }
    }

    pub(super) fn events(&self) -> &EventTypes {
        &self.events
    }

    /// Appends an event: its TypeCode, and its value.
    pub(super) fn encode(
        &self,
        kind: usize,
        parameters: &[u8],
        encoder: &mut Encoder,
    ) -> Result<(), FormError> {
        let unsaid = |error: EncodeError| FormError::CannotBeSaid(error.to_string());
        self.code.encode(encoder).map_err(unsaid)?;
        let event = self.events.kinds().get(kind);
        let event = event.ok_or_else(|| FormError::NotOfContract(format!("no kind {kind}")))?;
        if self.events.only().is_none() {
            // There are no more kinds than operations of an interface.
            encoder.ulong(u32::try_from(kind).unwrap_or(u32::MAX));
        }
        let written = event.write_to(parameters, &mut CdrWriter::new(encoder));
        written.map_err(|error| match &error.cause {
            Cause::Read(_) => FormError::NotOfContract(error.to_string()),
            Cause::Write(_) => FormError::CannotBeSaid(error.to_string()),
        })
    }

    /// Reads an event: the position of its kind, and its parameters as an encapsulation.
    pub(super) fn decode(&self, decoder: &mut Decoder<'_>) -> Result<(usize, Vec<u8>), FormError> {
        let malformed = |error: &dyn fmt::Display| FormError::Malformed(error.to_string());
        let code = TypeCode::decode(decoder).map_err(|error| malformed(&error))?;
        if !self.code.is_equivalent(&code) {
            return Err(FormError::OtherType {
                expected: type_text(&self.code),
                got: type_text(&code),
            });
        }
        let kind = match self.events.only() {
            Some(_) => 0,
            None => {
                let place = decoder.ulong("discriminator of a union");
                place.map_err(|error| malformed(&error))? as usize
            }
        };
        let event = self.events.kinds().get(kind);
        let event = event.ok_or_else(|| {
            malformed(&format_args!(
                "the union is of no operation: expected a discriminator below {}, got {kind}",
                self.events.kinds().len()
            ))
        })?;
        let read = event.read_from(&mut CdrReader::new(decoder));
        let parameters = read.map_err(|error| malformed(&error))?;
        decoder.finish("any").map_err(|error| malformed(&error))?;
        Ok((kind, parameters))
    }
}

impl fmt::Display for FormError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OtherType { expected, got } => {
                write!(
                    f,
                    "expected an any of type {expected}, got one of type {got}"
                )
            }
            Self::Malformed(reason) => write!(f, "the value is malformed: {reason}"),
            Self::CannotBeSaid(reason) => write!(f, "the value cannot be said in CORBA: {reason}"),
            Self::NotOfContract(reason) => {
                write!(f, "the event is not of the contract: {reason}")
            }
        }
    }
}

/// What CORBA makes of a topic.
pub(super) fn judge(topic: &TopicPlan) -> Vec<Finding> {
    let mut findings = vec![name(&topic.name)];
    let events = &topic.events;
    let refused = unsayable(events);
    if !refused.is_empty() {
        findings.extend(refused);
        return findings;
    }
    findings.push(r#type(events));
    if has_text(events) {
        findings.push(Finding {
            subject: "text".to_owned(),
            said_as: "string, in UTF-8 or ISO 8859-1 as the connection has negotiated".to_owned(),
            verdict: Verdict::Weaker(
                "an event is refused if a text in it has the character of code 0 or one that the code set lacks".to_owned(),
            ),
        });
    }
    findings.push(Finding {
        subject: "delivery".to_owned(),
        said_as: "twoway push, in order".to_owned(),
        verdict: Verdict::Weaker(
            "a consumer gets events from when it connects on; one that cannot be reached is disconnected after a while"
                .to_owned(),
        ),
    });
    findings
}

fn name(name: &str) -> Finding {
    let refused = |why: &str| Finding {
        subject: "name".to_owned(),
        said_as: String::new(),
        verdict: Verdict::Refused {
            why: why.to_owned(),
            fix: "set another `name` for the topic".to_owned(),
        },
    };
    if name.is_empty() {
        return refused("a channel needs a name");
    }
    if name.len() > CHANNEL_NAME_LEN_MAX {
        return refused("the name is longer than 255 bytes");
    }
    if name.contains('/') {
        return refused("a slash would part the keys of the channel's objects");
    }
    if name.chars().any(char::is_control) {
        return refused("the name has a control character");
    }
    if name.as_bytes() == ROOT_KEY {
        return refused("the naming service has this name");
    }
    Finding {
        subject: "name".to_owned(),
        said_as: format!("event channel {name}"),
        verdict: Verdict::Exact,
    }
}

/// Types that CORBA has no values of.
fn unsayable(events: &EventTypes) -> Vec<Finding> {
    let accept = |layout: &Layout| {
        match layout.shape() {
        Shape::Class { .. } => Err(
            "instances can be nil, shared, circular or of a derived class, and IDL 2 can say none of that"
                .to_owned(),
        ),
        Shape::Unsupported => Err("it nests too deep".to_owned()),
        _ => Ok(()),
    }
    };
    let kinds = events.kinds().iter();
    let refused = kinds.filter_map(|kind| kind.operation().inputs().check(accept).err());
    refused
        .map(|refused| Finding {
            subject: format!("type of {}", refused.path),
            said_as: String::new(),
            verdict: Verdict::Refused {
                why: refused.reason,
                fix: "make it a struct".to_owned(),
            },
        })
        .collect()
}

fn r#type(events: &EventTypes) -> Finding {
    let code = event_type_code(events);
    let format = Format::utf8(Endian::NATIVE);
    let mut encoder = Encoder::new(format);
    let encoded = code.encode(&mut encoder).map_err(|error| error.to_string());
    let bytes = encoder.into_bytes();
    let read = encoded.and_then(|()| {
        let decoded = TypeCode::decode(&mut Decoder::new(&bytes, format));
        decoded.map_err(|error| error.to_string())
    });
    let (said_as, verdict) = match read {
        Ok(_) => (type_text(&code), Verdict::Exact),
        Err(why) => (
            String::new(),
            Verdict::Refused {
                why: format!("its TypeCode is beyond a limit: {why}"),
                fix: "nest fewer types in one another".to_owned(),
            },
        ),
    };
    Finding {
        subject: format!("events {}", events.type_id()),
        said_as,
        verdict,
    }
}

fn has_text(events: &EventTypes) -> bool {
    // A check that refuses text finds the first one.
    let accept = |layout: &Layout| match layout.shape() {
        Shape::Primitive(Primitive::String) => Err(String::new()),
        _ => Ok(()),
    };
    let mut kinds = events.kinds().iter();
    kinds.any(|kind| kind.operation().inputs().check(accept).is_err())
}

/// A type for people: its kind, its repository id, and the types of its members.
fn type_text(code: &TypeCode) -> String {
    let mut text = String::new();
    describe(code, 1, &mut text);
    if text.len() > TYPE_TEXT_LEN_MAX {
        let end = (0..=TYPE_TEXT_LEN_MAX)
            .rev()
            .find(|at| text.is_char_boundary(*at));
        text.truncate(end.unwrap_or_default());
        text.push_str(" ...");
    }
    text.escape_debug().to_string()
}

/// The longest description of a type: a peer may send one with thousands of members.
const TYPE_TEXT_LEN_MAX: usize = 600;

fn describe(code: &TypeCode, levels: usize, text: &mut String) {
    if text.len() > TYPE_TEXT_LEN_MAX {
        return;
    }
    let members: Vec<(&str, &TypeCode)> = match code {
        TypeCode::Struct(of) | TypeCode::Except(of) => {
            let members = of.members.iter();
            members.map(|it| (it.name.as_str(), &*it.code)).collect()
        }
        TypeCode::Union(of) => {
            let cases = of.cases.iter();
            cases.map(|it| (it.name.as_str(), &*it.code)).collect()
        }
        TypeCode::Alias { original, .. } => return describe(original, levels, text),
        TypeCode::Sequence { element, bound } => {
            text.push_str("sequence<");
            describe(element, levels, text);
            if *bound > 0 {
                text.push_str(&format!(", {bound}"));
            }
            return text.push('>');
        }
        TypeCode::Array { element, len } => {
            describe(element, levels, text);
            return text.push_str(&format!("[{len}]"));
        }
        _ => Vec::new(),
    };
    text.push_str(kind_of(code));
    if let Some(name) = code.name() {
        text.push(' ');
        text.push_str(&name.id);
    }
    if levels == 0 || members.is_empty() {
        return;
    }
    for (at, (name, code)) in members.into_iter().enumerate() {
        text.push_str(if at == 0 { " { " } else { "; " });
        describe(code, levels - 1, text);
        text.push(' ');
        text.push_str(name);
    }
    text.push_str(" }");
}

fn kind_of(code: &TypeCode) -> &'static str {
    match code {
        TypeCode::Null => "null",
        TypeCode::Void => "void",
        TypeCode::Short => "short",
        TypeCode::Long => "long",
        TypeCode::UShort => "unsigned short",
        TypeCode::ULong => "unsigned long",
        TypeCode::Float => "float",
        TypeCode::Double => "double",
        TypeCode::Boolean => "boolean",
        TypeCode::Char => "char",
        TypeCode::Octet => "octet",
        TypeCode::Any => "any",
        TypeCode::TypeCode => "TypeCode",
        TypeCode::Principal => "Principal",
        TypeCode::LongLong => "long long",
        TypeCode::ULongLong => "unsigned long long",
        TypeCode::LongDouble => "long double",
        TypeCode::WChar => "wchar",
        TypeCode::String(_) => "string",
        TypeCode::WString(_) => "wstring",
        TypeCode::Fixed { .. } => "fixed",
        TypeCode::Named(..) => "interface",
        TypeCode::Struct(_) => "struct",
        TypeCode::Except(_) => "exception",
        TypeCode::Union(_) => "union",
        TypeCode::Enum(_) => "enum",
        TypeCode::Sequence { .. } => "sequence",
        TypeCode::Array { .. } => "array",
        TypeCode::Alias { .. } => "alias",
        TypeCode::ValueBox { .. } | TypeCode::Value(_) => "valuetype",
        TypeCode::Recursive(_) => "a type that contains itself",
    }
}
