//! The events of a recording for viewers that know JSON and no Slice.

use std::collections::{BTreeMap, HashMap};
use std::io::{Seek, Write};

use floe::encoding::Decoder;
use floe::forwarding::EventParts;
use floe::{Context, EncodingVersion};
use floe_dynamic::{Contract, Operation};
use mcap::{McapError, Writer};
use serde_json::json;

use super::reader::VIEW_OF;
use super::writer::Channel;

/// Writes events as JSON: a channel for each operation of a topic. An event that does not fit the contract is not among them.
pub(crate) struct View {
    contract: Contract,
    interface: Option<String>,
    /// The channels so far, by topic and operation.
    channels: HashMap<(String, String), (Operation, Channel)>,
}

/// More channels than a viewer has use for. The contract limits those of each topic.
const CHANNELS_MAX: usize = 10_000;

/// The key of an event's context: no parameter has a name with an underscore in front.
const CONTEXT_KEY: &str = "_context";

impl View {
    pub(crate) fn new(contract: Contract, interface: Option<&str>) -> Self {
        Self {
            contract,
            interface: interface.map(str::to_owned),
            channels: HashMap::new(),
        }
    }

    /// Writes an event of a topic, if the contract knows it.
    pub(super) fn write<W: Write + Seek>(
        &mut self,
        writer: &mut Writer<W>,
        topic: &str,
        time: u64,
        event: &[u8],
    ) -> Result<(), McapError> {
        let Ok(parts) = EventParts::parse(event) else {
            return Ok(());
        };
        let mut head = Decoder::new(parts.head, EncodingVersion::V1_0);
        let mut context = Decoder::new(parts.context, EncodingVersion::V1_0);
        let (Ok(name), Ok(context)) = (head.str("operation"), context.get::<Context>()) else {
            return Ok(());
        };
        let Some((operation, channel)) = self.channel(writer, topic, name)? else {
            return Ok(());
        };
        let Ok(mut message) = operation.request_text(parts.parameters) else {
            return Ok(());
        };
        if !context.is_empty() {
            add_member(&mut message, CONTEXT_KEY, &json!(context));
        }
        let header = channel.next_header(time);
        writer.write_to_known_channel(&header, message.as_bytes())
    }

    /// The channel of an operation; none if the contract does not know it.
    fn channel<W: Write + Seek>(
        &mut self,
        writer: &mut Writer<W>,
        topic: &str,
        name: &str,
    ) -> Result<Option<&mut (Operation, Channel)>, McapError> {
        let key = (topic.to_owned(), name.to_owned());
        if !self.channels.contains_key(&key) {
            let found = match &self.interface {
                Some(interface) => self.contract.operation(&format!("{interface}::{name}")),
                None => self.contract.operation(name),
            };
            let (Ok(operation), true) = (found, self.channels.len() < CHANNELS_MAX) else {
                return Ok(None);
            };
            let title = format!("{}::{name}", operation.interface());
            let mut schema = operation.request_schema();
            schema["title"] = title.as_str().into();
            schema["properties"][CONTEXT_KEY] = json!({"type": "object", "properties": {}});
            let schema = schema.to_string();
            let schema = writer.add_schema(&title, "jsonschema", schema.as_bytes())?;
            let metadata = BTreeMap::from([(VIEW_OF.to_owned(), topic.to_owned())]);
            let path = format!("{topic}/{name}");
            let id = writer.add_channel(schema, &path, "json", &metadata)?;
            self.channels
                .insert(key.clone(), (operation, Channel { id, next: 0 }));
        }
        Ok(self.channels.get_mut(&key))
    }
}

/// Adds a member to the text of an object, behind all others.
fn add_member(object: &mut String, key: &str, value: &serde_json::Value) {
    object.pop();
    let comma = if object.len() > 1 { "," } else { "" };
    *object += &format!("{comma}\"{key}\":{value}}}");
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::add_member;

    #[test]
    fn a_context_is_added_to_parameters_and_to_none() {
        let added = |object: &str| {
            let mut object = object.to_owned();
            add_member(&mut object, "_context", &json!({"a": "b"}));
            object
        };
        assert_eq!(added(r#"{"x":1}"#), r#"{"x":1,"_context":{"a":"b"}}"#);
        assert_eq!(added("{}"), r#"{"_context":{"a":"b"}}"#);
    }
}
