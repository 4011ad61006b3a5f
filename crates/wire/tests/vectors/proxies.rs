//! Proxies, as bytes and as text.

use floe_wire::Decoder;
use floe_wire::reference::Reference;
use serde_json::Value;

use crate::file::{Vector, load};
use crate::json::FromJson;

#[test]
fn proxies_are_encoded_as_ice_does() {
    for vector in load("proxies") {
        match vector.text("type") {
            "Object*" => vector.check(Option::<Reference>::from_json),
            "V::ProxySeq" => vector.check(Vec::<Option<Reference>>::from_json),
            other => panic!("{}: no type {other}", vector.name),
        }
    }
}

#[test]
fn proxies_are_printed_as_ice_does() {
    for vector in load("proxies") {
        let printed: Vec<_> = decode_all(&vector).iter().map(to_json).collect();
        let expected = match vector.decoded_value() {
            Value::Array(values) => values.clone(),
            value => vec![value.clone()],
        };
        assert_eq!(printed, expected, "{}", vector.name);
    }
}

#[test]
fn text_printed_by_ice_is_printed_the_same_again() {
    for vector in load("proxies") {
        let values = match vector.value() {
            Value::Array(values) => values.as_slice(),
            value => std::slice::from_ref(value),
        };
        for value in values {
            assert_eq!(
                to_json(&Option::from_json(value)),
                *value,
                "{}",
                vector.name
            );
        }
    }
}

fn decode_all(vector: &Vector) -> Vec<Option<Reference>> {
    let mut decoder = Decoder::new(&vector.bytes, vector.encoding());
    let decoded = match vector.text("type") {
        "Object*" => decoder.get().map(|reference| vec![reference]),
        _ => decoder.get(),
    };
    decoded.unwrap_or_else(|error| panic!("{}: {error}", vector.name))
}

fn to_json(reference: &Option<Reference>) -> Value {
    match reference {
        Some(reference) => serde_json::json!({ "$proxy": reference.to_string() }),
        None => Value::Null,
    }
}
