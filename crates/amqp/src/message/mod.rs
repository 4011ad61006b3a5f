//! Messages: sections that are found and not copied.
//!
//! ```text
//! header? | delivery annotations? | message annotations? | bare message | footer?
//! bare message:  properties? | application properties? | body
//! body:          data+ | sequence+ | value | nothing
//! ```
//!
//! A [`Message`] knows where its sections lie in the bytes that came, and reads one when it is asked for it. So a message is
//! passed on with the bytes of its sender: [`Message::forwarded`] puts other annotations around the same bare message.
//!
//! Source: OASIS AMQP 1.0, part 3, 3.2.

mod builder;
mod error;
mod sections;
#[cfg(test)]
mod tests;

use std::ops::Range;

use bytes::{Bytes, BytesMut};

pub use builder::MessageBuilder;
pub use error::MessageError;
pub use sections::{Header, PRIORITY_DEFAULT, Properties};

use crate::codec::{Composite, Descriptor, ELEMENTS_MAX, Field, Reader, Value, Writer};

/// A message whose sections are known by their places.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    bytes: Bytes,
    header: Section,
    delivery_annotations: Section,
    message_annotations: Section,
    properties: Section,
    application_properties: Section,
    body: BodyPlace,
    bare: Range<usize>,
}

/// Where a section lies, its descriptor included; empty if there is none.
type Section = Range<usize>;

/// Where the body lies.
#[derive(Debug, Clone, PartialEq, Eq)]
enum BodyPlace {
    Empty,
    Data(Vec<Range<usize>>),
    Sequence(Vec<Range<usize>>),
    Value(Range<usize>),
}

/// The body of a message.
#[derive(Debug, Clone, PartialEq)]
pub enum Body {
    /// There is none.
    Empty,
    /// Bytes. Several sections are joined.
    Data(Bytes),
    /// Lists of values. Several sections are joined.
    Sequence(Vec<Value>),
    /// A value.
    Value(Value),
}

/// The most sections of a body. Peers send one; splitting bytes further is legal and useless.
pub const BODY_SECTIONS_MAX: usize = 1_024;

pub(crate) const DELIVERY_ANNOTATIONS: u64 = 0x71;
pub(crate) const MESSAGE_ANNOTATIONS: u64 = 0x72;
pub(crate) const APPLICATION_PROPERTIES: u64 = 0x74;
pub(crate) const DATA: u64 = 0x75;
pub(crate) const SEQUENCE: u64 = 0x76;
pub(crate) const VALUE: u64 = 0x77;
pub(crate) const FOOTER: u64 = 0x78;

/// The descriptors of the sections as names, which are legal and rare.
const NAMES: [(&str, u64); 9] = [
    (Header::NAME, Header::CODE),
    ("amqp:delivery-annotations:map", DELIVERY_ANNOTATIONS),
    ("amqp:message-annotations:map", MESSAGE_ANNOTATIONS),
    (Properties::NAME, Properties::CODE),
    ("amqp:application-properties:map", APPLICATION_PROPERTIES),
    ("amqp:data:binary", DATA),
    ("amqp:amqp-sequence:list", SEQUENCE),
    ("amqp:amqp-value:*", VALUE),
    ("amqp:footer:map", FOOTER),
];

impl Message {
    /// Finds the sections of a message.
    ///
    /// # Errors
    /// If the bytes are no sections, or come in another order than AMQP defines.
    pub fn locate(bytes: Bytes) -> Result<Self, MessageError> {
        let mut message = Self {
            header: 0..0,
            delivery_annotations: 0..0,
            message_annotations: 0..0,
            properties: 0..0,
            application_properties: 0..0,
            body: BodyPlace::Empty,
            bare: 0..0,
            bytes: Bytes::new(),
        };
        let mut reader = Reader::new(&bytes);
        let mut last = 0;
        while !reader.is_empty() {
            let start = reader.position();
            let code = section_code(&mut reader)?;
            let value_at = reader.position();
            reader.skip("a section")?;
            let (section, value) = (start..reader.position(), value_at..reader.position());
            let may_repeat = code == last && matches!(code, DATA | SEQUENCE);
            let is_second_body = (DATA..=VALUE).contains(&last) && (DATA..=VALUE).contains(&code);
            if !may_repeat && (code <= last || is_second_body) {
                return Err(MessageError::Order {
                    section: code,
                    offset: start,
                });
            }
            last = code;
            if (Properties::CODE..FOOTER).contains(&code) {
                if message.bare.is_empty() {
                    message.bare.start = start;
                }
                message.bare.end = section.end;
            }
            match code {
                Header::CODE => message.header = section,
                DELIVERY_ANNOTATIONS => message.delivery_annotations = section,
                MESSAGE_ANNOTATIONS => message.message_annotations = section,
                Properties::CODE => message.properties = section,
                APPLICATION_PROPERTIES => message.application_properties = section,
                VALUE => message.body = BodyPlace::Value(value),
                DATA | SEQUENCE => message.add_body(code, value)?,
                // The footer belongs to no one who does not check it.
                _ => {}
            }
        }
        message.bytes = bytes;
        Ok(message)
    }

    fn add_body(&mut self, code: u64, value: Range<usize>) -> Result<(), MessageError> {
        match &mut self.body {
            BodyPlace::Data(places) | BodyPlace::Sequence(places) => {
                if places.len() >= BODY_SECTIONS_MAX {
                    return Err(MessageError::TooManySections);
                }
                places.push(value);
            }
            body if code == DATA => *body = BodyPlace::Data(vec![value]),
            body => *body = BodyPlace::Sequence(vec![value]),
        }
        Ok(())
    }

    /// All its bytes, as they came.
    pub fn as_bytes(&self) -> &Bytes {
        &self.bytes
    }

    /// The bare message: what a broker passes on unchanged.
    pub fn bare(&self) -> Bytes {
        self.bytes.slice(self.bare.clone())
    }

    /// The header; that of defaults if there is none.
    ///
    /// # Errors
    /// If it is no header.
    pub fn header(&self) -> Result<Header, MessageError> {
        self.composite(&self.header)
    }

    /// The properties; those without a value if there are none.
    ///
    /// # Errors
    /// If they are no properties.
    pub fn properties(&self) -> Result<Properties, MessageError> {
        self.composite(&self.properties)
    }

    fn composite<T: Composite + Default>(&self, section: &Section) -> Result<T, MessageError> {
        if section.is_empty() {
            return Ok(T::default());
        }
        let mut reader = Reader::new(&self.bytes[section.clone()]);
        Ok(T::decode(&mut reader, T::NAME)?)
    }

    /// The annotations for the next peer.
    ///
    /// # Errors
    /// If they are no map.
    pub fn delivery_annotations(&self) -> Result<Vec<(Value, Value)>, MessageError> {
        self.entries(&self.delivery_annotations)
    }

    /// The annotations for all peers.
    ///
    /// # Errors
    /// If they are no map.
    pub fn message_annotations(&self) -> Result<Vec<(Value, Value)>, MessageError> {
        self.entries(&self.message_annotations)
    }

    /// The properties that the program chose.
    ///
    /// # Errors
    /// If they are no map.
    pub fn application_properties(&self) -> Result<Vec<(Value, Value)>, MessageError> {
        self.entries(&self.application_properties)
    }

    fn entries(&self, section: &Section) -> Result<Vec<(Value, Value)>, MessageError> {
        if section.is_empty() {
            return Ok(Vec::new());
        }
        let mut reader = Reader::new(&self.bytes[section.clone()]);
        section_code(&mut reader)?;
        match Value::decode(&mut reader, "a map")? {
            Value::Map(entries) => Ok(entries),
            Value::Null => Ok(Vec::new()),
            _ => Err(MessageError::NoMap),
        }
    }

    /// The body.
    ///
    /// # Errors
    /// If it is not what its section says.
    pub fn body(&self) -> Result<Body, MessageError> {
        match &self.body {
            BodyPlace::Empty => Ok(Body::Empty),
            BodyPlace::Value(place) => {
                let mut reader = Reader::new(&self.bytes[place.clone()]);
                Ok(Body::Value(Value::decode(&mut reader, "the body")?))
            }
            BodyPlace::Sequence(places) => {
                let mut values = Vec::new();
                for place in places {
                    let mut reader = Reader::new(&self.bytes[place.clone()]);
                    match Value::decode(&mut reader, "the body")? {
                        Value::List(more) => values.extend(more),
                        _ => return Err(MessageError::NoList),
                    }
                    if values.len() > ELEMENTS_MAX {
                        return Err(MessageError::TooManyElements);
                    }
                }
                Ok(Body::Sequence(values))
            }
            BodyPlace::Data(places) => {
                let datas = places.iter().map(|place| self.data(place));
                let datas = datas.collect::<Result<Vec<_>, _>>()?;
                if let [alone] = &datas[..] {
                    return Ok(Body::Data(alone.clone()));
                }
                let mut joined = BytesMut::with_capacity(datas.iter().map(Bytes::len).sum());
                datas.iter().for_each(|data| joined.extend_from_slice(data));
                Ok(Body::Data(joined.freeze()))
            }
        }
    }

    /// The body as it is encoded, if it is one value.
    pub fn value_bytes(&self) -> Option<&[u8]> {
        match &self.body {
            BodyPlace::Value(place) => Some(&self.bytes[place.clone()]),
            _ => None,
        }
    }

    /// The contents of a data section, which are not copied.
    fn data(&self, place: &Range<usize>) -> Result<Bytes, MessageError> {
        let mut reader = Reader::new(&self.bytes[place.clone()]);
        let contents = reader.binary("data")?;
        let end = place.start + reader.position();
        Ok(self.bytes.slice(end - contents.len()..end))
    }

    /// This message for another receiver: with this header, these delivery annotations, the same message annotations and
    /// the same bare message. The footer is left out, because it may hold a sum over the whole.
    pub fn forwarded(&self, header: &Header, delivery_annotations: &[(Value, Value)]) -> Bytes {
        let mut writer = Writer::default();
        if *header != Header::default() {
            header.encode(&mut writer);
        }
        if !delivery_annotations.is_empty() {
            writer.descriptor(DELIVERY_ANNOTATIONS);
            builder::write_map(&mut writer, delivery_annotations);
        }
        writer.encoded(&self.bytes[self.message_annotations.clone()]);
        writer.encoded(&self.bytes[self.bare.clone()]);
        writer.into_bytes().into()
    }
}

fn section_code(reader: &mut Reader<'_>) -> Result<u64, MessageError> {
    let offset = reader.position();
    let code = match reader.descriptor("a section")? {
        Descriptor::Code(code) => code,
        Descriptor::Name(name) => {
            let known = NAMES.iter().find(|(known, _)| *known == name);
            known.map_or(u64::MAX, |(_, code)| *code)
        }
    };
    if (Header::CODE..=FOOTER).contains(&code) {
        Ok(code)
    } else {
        Err(MessageError::UnknownSection { code, offset })
    }
}
