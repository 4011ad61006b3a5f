//! Values to JSON.

use std::collections::HashMap;

use floe_slice::model::{DefinitionKind, Dictionary, Enum, Primitive, Type};
use serde_json::{Map, Number, Value as Json};

use super::shared::Shared;
use crate::slot::Slot;
use crate::{Contract, Value};

/// Writes a value that stands alone.
pub(super) fn only(contract: &Contract, r#type: Type, value: &Value) -> Json {
    write(contract, [value], |writer| writer.value(r#type, value))
}

/// Writes members or parameters by their names, without those that are unset.
pub(crate) fn object(
    contract: &Contract,
    slots: &[Slot<'_>],
    values: &[Value],
) -> Map<String, Json> {
    write(contract, values, |writer| writer.object(slots, values))
}

fn write<'v, T>(
    contract: &Contract,
    values: impl IntoIterator<Item = &'v Value>,
    write: impl Fn(&mut JsonWriter<'_>) -> T,
) -> T {
    let mut writer = JsonWriter {
        contract,
        shared: Shared::default(),
        depth: 0,
    };
    match values.into_iter().any(has_link) {
        true => writer.place_and_write(write),
        false => write(&mut writer),
    }
}

fn has_link(value: &Value) -> bool {
    match value {
        Value::Struct(values) | Value::Sequence(values) => values.iter().any(has_link),
        Value::Dictionary(entries) => entries.iter().any(|(_, value)| has_link(value)),
        Value::Instance(_) => true,
        _ => false,
    }
}

/// Writes values that may share class instances.
pub(super) struct JsonWriter<'c> {
    contract: &'c Contract,
    pub(super) shared: Shared,
    /// How many instances are around what is being written.
    pub(super) depth: usize,
}

impl<'c> JsonWriter<'c> {
    /// Writes a value of a type.
    pub(super) fn value(&mut self, r#type: Type, value: &Value) -> Json {
        match (definition(self.contract, r#type), value) {
            (Some(DefinitionKind::Enum(r#enum)), Value::Enumerator(value)) => {
                enumerator(r#enum, *value)
            }
            (Some(DefinitionKind::Struct(structure)), Value::Struct(members)) => {
                let slots: Vec<Slot<'_>> = structure.members.iter().map(Slot::from).collect();
                Json::Object(self.object(&slots, members))
            }
            (Some(DefinitionKind::Sequence(sequence)), Value::Sequence(elements)) => {
                let elements = elements.iter();
                elements
                    .map(|element| self.value(sequence.element, element))
                    .collect()
            }
            (Some(DefinitionKind::Dictionary(dictionary)), Value::Dictionary(entries)) => {
                if has_text_keys(self.contract, dictionary.key) && !entries.iter().any(is_marked) {
                    self.entries_by_key(dictionary, entries)
                } else {
                    self.pairs(dictionary, entries)
                }
            }
            (_, Value::Instance(link)) => self.link(link),
            (_, value) => natural(value),
        }
    }

    /// Writes members by their names, without those that are unset.
    pub(super) fn object(&mut self, slots: &[Slot<'_>], values: &[Value]) -> Map<String, Json> {
        let set = slots.iter().zip(values);
        let set = set.filter(|(_, value)| !matches!(value, Value::Unset));
        set.map(|(slot, value)| (slot.name.to_owned(), self.value(slot.r#type, value)))
            .collect()
    }

    fn entries_by_key(&mut self, types: &Dictionary, entries: &[(Value, Value)]) -> Json {
        let keys = entries
            .iter()
            .map(|(key, _)| match self.value(types.key, key) {
                Json::String(text) => text,
                other => other.to_string(),
            });
        let keys: Vec<String> = keys.collect();
        // A peer may send a key twice, and the last counts. Of the others nothing is written: an
        // instance that they define would be lost, and later references to it lead nowhere.
        let positions = keys.iter().enumerate();
        let last: HashMap<&str, usize> = positions.map(|(at, key)| (key.as_str(), at)).collect();
        let mut object = Map::new();
        for (at, (key, (_, value))) in keys.iter().zip(entries).enumerate() {
            if last[key.as_str()] == at {
                object.insert(key.clone(), self.value(types.value, value));
            }
        }
        Json::Object(object)
    }

    fn pairs(&mut self, types: &Dictionary, entries: &[(Value, Value)]) -> Json {
        let pairs = entries.iter().map(|(key, value)| {
            let key = self.value(types.key, key);
            Json::Array(vec![key, self.value(types.value, value)])
        });
        pairs.collect()
    }

    pub(super) fn contract(&self) -> &'c Contract {
        self.contract
    }
}

/// Returns true if the key of an entry begins as those keys do that have a meaning of their own.
fn is_marked((key, _): &(Value, Value)) -> bool {
    matches!(key, Value::String(text) if text.starts_with('$'))
}

/// Returns true if keys of this type are written as the keys of an object.
pub(super) fn has_text_keys(contract: &Contract, key: Type) -> bool {
    match key {
        Type::Primitive(_) => true,
        key => matches!(definition(contract, key), Some(DefinitionKind::Enum(_))),
    }
}

fn definition(contract: &Contract, r#type: Type) -> Option<&DefinitionKind> {
    match r#type {
        Type::Named(id) => Some(&contract.model().definition(id).kind),
        _ => None,
    }
}

fn enumerator(r#enum: &Enum, value: i32) -> Json {
    let mut enumerators = r#enum.enumerators.iter();
    let named = enumerators.find(|enumerator| enumerator.value == value);
    named.map_or(Json::from(value), |enumerator| {
        Json::from(enumerator.name.as_str())
    })
}

/// A value by its own kind.
fn natural(value: &Value) -> Json {
    match value {
        Value::Bool(value) => Json::from(*value),
        Value::Byte(value) => Json::from(*value),
        Value::Short(value) => Json::from(*value),
        Value::Int(value) | Value::Enumerator(value) => Json::from(*value),
        Value::Long(value) => Json::from(*value),
        Value::Float(value) => float(*value),
        Value::Double(value) => double(*value),
        Value::String(value) => Json::from(value.as_str()),
        Value::Struct(values) | Value::Sequence(values) => values.iter().map(natural).collect(),
        Value::Bytes(bytes) => bytes.iter().copied().map(Json::from).collect(),
        Value::Dictionary(entries) => entries
            .iter()
            .map(|(key, value)| Json::Array(vec![natural(key), natural(value)]))
            .collect(),
        Value::Proxy(None) => Json::Null,
        Value::Proxy(Some(reference)) => Json::from(reference.to_string()),
        // Of no type that has instances, so that nothing is known of them.
        Value::Instance(_) | Value::Unset => Json::Null,
    }
}

/// The shortest number that reads back as the same `float`: 0.1 and not 0.10000000149011612.
fn float(value: f32) -> Json {
    let shortest: f64 = value.to_string().parse().unwrap_or(f64::from(value));
    double(if shortest as f32 == value {
        shortest
    } else {
        f64::from(value)
    })
}

fn double(value: f64) -> Json {
    match Number::from_f64(value) {
        Some(number) => Json::Number(number),
        None if value.is_nan() => Json::from("NaN"),
        None if value > 0.0 => Json::from("Infinity"),
        None => Json::from("-Infinity"),
    }
}

/// The built-in types in a message: with article and range.
pub(super) fn describe_primitive(primitive: Primitive) -> &'static str {
    match primitive {
        Primitive::Bool => "a bool (true or false)",
        Primitive::Byte => "a byte (0 to 255)",
        Primitive::Short => "a short (-32768 to 32767)",
        Primitive::Int => "an int (-2147483648 to 2147483647)",
        Primitive::Long => "a long (-9223372036854775808 to 9223372036854775807)",
        Primitive::Float => {
            "a float (a number up to 3.4028235e38, \"NaN\", \"Infinity\" or \"-Infinity\")"
        }
        Primitive::Double => "a double (a number, \"NaN\", \"Infinity\" or \"-Infinity\")",
        Primitive::String => "a string",
    }
}
