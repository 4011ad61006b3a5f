//! Writing a message.

use bytes::Bytes;

use super::{
    APPLICATION_PROPERTIES, Body, DATA, Header, MESSAGE_ANNOTATIONS, Properties, SEQUENCE, VALUE,
};
use crate::codec::{Field, Value, Writer};

/// The sections of a message that is to be written.
#[derive(Debug, Clone, PartialEq)]
pub struct MessageBuilder {
    /// How it is delivered.
    pub header: Header,
    /// The annotations for all peers; their keys are symbols.
    pub message_annotations: Vec<(Value, Value)>,
    /// The properties.
    pub properties: Properties,
    /// The properties that the program chose; their keys are texts.
    pub application_properties: Vec<(Value, Value)>,
    /// The body.
    pub body: Body,
}

impl MessageBuilder {
    /// A message with this body and nothing else.
    pub fn new(body: Body) -> Self {
        Self {
            header: Header::default(),
            message_annotations: Vec::new(),
            properties: Properties::default(),
            application_properties: Vec::new(),
            body,
        }
    }

    /// The bytes of the message. Sections that say nothing are left out.
    pub fn build(&self) -> Bytes {
        let mut writer = Writer::default();
        if self.header != Header::default() {
            self.header.encode(&mut writer);
        }
        if !self.message_annotations.is_empty() {
            writer.descriptor(MESSAGE_ANNOTATIONS);
            write_map(&mut writer, &self.message_annotations);
        }
        if self.properties != Properties::default() {
            self.properties.encode(&mut writer);
        }
        if !self.application_properties.is_empty() {
            writer.descriptor(APPLICATION_PROPERTIES);
            write_map(&mut writer, &self.application_properties);
        }
        match &self.body {
            Body::Empty => {}
            Body::Data(data) => {
                writer.descriptor(DATA);
                writer.binary(data);
            }
            Body::Sequence(values) => {
                writer.descriptor(SEQUENCE);
                writer.list(|writer| {
                    values.iter().for_each(|value| value.encode(writer));
                    values.len() as u32
                });
            }
            Body::Value(value) => {
                writer.descriptor(VALUE);
                value.encode(&mut writer);
            }
        }
        writer.into_bytes().into()
    }
}

pub(super) fn write_map(writer: &mut Writer, entries: &[(Value, Value)]) {
    writer.map(|writer| {
        for (key, value) in entries {
            key.encode(writer);
            value.encode(writer);
        }
        entries.len() as u32 * 2
    });
}
