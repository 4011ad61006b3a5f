//! The values of vector files as values; `tests/vectors/README.md` explains the notation.

use floe_dynamic::{Contract, Value};
use floe_slice::model::{DefinitionKind, Primitive, Type};
use floe_wire::reference::Reference;
use serde_json::Value as Json;

/// The value that a vector states, as a value of a type.
pub(crate) fn value(contract: &Contract, r#type: Type, json: &Json) -> Value {
    let id = match r#type {
        Type::Primitive(primitive) => return built_in(primitive, json),
        Type::Named(id) => id,
        _ => return Value::Proxy(proxy(json).map(Box::new)),
    };
    match &contract.model().definition(id).kind {
        DefinitionKind::Enum(_) => Value::Enumerator(integer(&json["value"])),
        DefinitionKind::Struct(structure) => {
            let members = structure.members.iter();
            let values = members.map(|member| value(contract, member.r#type, &json[&member.name]));
            Value::Struct(values.collect())
        }
        DefinitionKind::Sequence(sequence) => {
            let elements = elements(json);
            if sequence.element == Type::Primitive(Primitive::Byte) {
                return Value::Bytes(elements.iter().map(integer).collect());
            }
            let elements = elements.iter();
            Value::Sequence(
                elements
                    .map(|json| value(contract, sequence.element, json))
                    .collect(),
            )
        }
        DefinitionKind::Dictionary(dictionary) => {
            let entries = json["$dict"].as_array().expect("entries");
            let entries = entries.iter().map(|entry| {
                let key = value(contract, dictionary.key, &entry[0]);
                (key, value(contract, dictionary.value, &entry[1]))
            });
            Value::Dictionary(entries.collect())
        }
        other => panic!("no vector has a {other:?}"),
    }
}

fn built_in(primitive: Primitive, json: &Json) -> Value {
    match primitive {
        Primitive::Bool => Value::Bool(json.as_bool().expect("a bool")),
        Primitive::Byte => Value::Byte(integer(json)),
        Primitive::Short => Value::Short(integer(json)),
        Primitive::Int => Value::Int(integer(json)),
        Primitive::Long => Value::Long(integer(json)),
        Primitive::Float => Value::Float(float(json) as f32),
        Primitive::Double => Value::Double(float(json)),
        Primitive::String => Value::String(match repeated(json) {
            Some((text, count)) => text.as_str().expect("a string").repeat(count),
            None => json.as_str().expect("a string").to_owned(),
        }),
    }
}

fn integer<T: TryFrom<i64>>(json: &Json) -> T {
    let value = json
        .as_i64()
        .unwrap_or_else(|| panic!("{json} is no integer"));
    let value = T::try_from(value).ok();
    value.unwrap_or_else(|| panic!("{json} is out of range"))
}

fn float(json: &Json) -> f64 {
    match json.as_str() {
        Some(text) => text.parse().expect("a special number"),
        None => json.as_f64().expect("a number"),
    }
}

fn elements(json: &Json) -> Vec<Json> {
    match repeated(json) {
        Some((element, count)) => vec![element.clone(); count],
        None => json.as_array().expect("a list").clone(),
    }
}

fn repeated(json: &Json) -> Option<(&Json, usize)> {
    let element = json.get("$repeat")?;
    Some((element, integer(&json["count"])))
}

fn proxy(json: &Json) -> Option<Reference> {
    let text = json.get("$proxy")?.as_str().expect("a stringified proxy");
    Reference::parse(text).expect("a proxy that Ice prints")
}
