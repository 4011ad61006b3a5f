//! Payloads of all kinds, classes and optional values among them: bytes to JSON and back, and from the
//! JSON that the vectors state.

use floe_dynamic::{PayloadType, parse_json};
use floe_wire::EncodingVersion;
use serde_json::{Value as Json, json};

use crate::file::{Vector, contract, from_hex, hex, load};
use crate::plain::{is_same, plain};

#[test]
fn payloads_of_ice_are_decoded_and_encoded_again() {
    let expected = [
        ("primitives", 31),
        ("strings", 12),
        ("sizes", 7),
        ("sequences", 15),
        ("structs", 8),
        ("dictionaries", 11),
        ("enums", 30),
        ("proxies", 57),
        ("optionals", 39),
        ("classes", 63),
    ];
    for (file, count) in expected {
        let vectors = load(file);
        assert_eq!(vectors.len(), count, "{file} has another number of vectors");
        vectors.iter().for_each(check);
    }
}

fn check(vector: &Vector) {
    let name = &vector.name;
    let contract = vector.contract();
    let tag = vector.json["tag"].as_i64().map(|tag| tag as i32);
    let found = PayloadType::named(&contract, vector.text("type"), tag);
    let payload = found.unwrap_or_else(|error| panic!("{name}: {error}"));
    let (encoding, format) = (vector.encoding(), vector.format());

    let decoded = payload.decode(&vector.bytes, encoding);
    let decoded = decoded.unwrap_or_else(|error| panic!("{name}: {error}"));
    let expected = plain(vector.decoded_value());
    assert!(
        is_same(&decoded, &expected),
        "{name}: expected {expected}, got {decoded}"
    );

    let read = parse_json(&decoded.to_string()).expect("we wrote JSON");
    for json in [read, stated(vector.value())] {
        let encoded = payload.encode(&json, encoding, format);
        let encoded = encoded.unwrap_or_else(|error| panic!("{name}: {json}: {error}"));
        match vector.json["exact"].as_bool() {
            Some(true) => assert_eq!(hex(&encoded), hex(&vector.bytes), "{name}: {json}"),
            _ => assert_eq!(
                payload.decode(&encoded, encoding),
                Ok(decoded.clone()),
                "{name}"
            ),
        }
    }
}

/// The value as the vector has it, without the shorthand for long lists.
fn stated(value: &Json) -> Json {
    match value {
        Json::Array(elements) => elements.iter().map(stated).collect(),
        Json::Object(object) if object.contains_key("$repeat") => plain(value),
        Json::Object(object) => {
            let members = object.iter();
            Json::Object(
                members
                    .map(|(key, value)| (key.clone(), stated(value)))
                    .collect(),
            )
        }
        other => other.clone(),
    }
}

#[test]
fn who_knows_only_some_classes_sends_an_instance_of_ice_back_as_ice_does() {
    let folder = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../tests/vectors/slicing.json"
    );
    let text = std::fs::read_to_string(folder).expect("the file is there");
    let file: Json = serde_json::from_str(&text).expect("a vector file is JSON");
    let vectors = file["vectors"].as_array().expect("a list of vectors");
    assert_eq!(vectors.len(), 16, "slicing has another number of vectors");
    for vector in vectors {
        check_slicing(vector);
    }
}

/// The classes that the receiver in the vectors knows.
const KNOWN: &str = r#"
    module S
    {
        class Elem { int v; Elem next; }
        ["preserve-slice"] class PBase { int pi; }
        class PKnown extends PBase { string ps; }
        class SBase { int sb; }
        class SKnown extends SBase { string sk; }
        interface Echo
        {
            ["format:sliced"] PBase pecho(PBase p);
            ["format:sliced"] SBase secho(SBase s);
            ["format:compact"] SBase cecho(SBase s);
            ["format:sliced"] Object oecho(Object o);
        }
    }"#;

fn check_slicing(vector: &Json) {
    let text = |key: &str| vector[key].as_str().unwrap_or_default();
    let name = text("name");
    let contract = contract(KNOWN);
    let operation = contract.operation(text("operation"));
    let operation = operation.expect("it is one of Echo");
    let encoding = match text("encoding") {
        "1.0" => EncodingVersion::V1_0,
        _ => EncodingVersion::V1_1,
    };
    let request = from_hex(text("request_payload_hex"));
    let decoded = PayloadType::params(&operation).decode(&request, encoding);
    if name == "compact_format_unknown_e11" {
        let error = decoded.expect_err("the compact format cannot be sliced");
        assert!(error.to_string().contains("sliced format"), "{error}");
        return;
    }
    let mut params = decoded.unwrap_or_else(|error| panic!("{name}: {error}"));
    // An Ice 3.7 that was not told to keep them forgets unknown slices; Ice 3.8 and Floe keep them.
    let is_forgotten = name.starts_with("sliced_away") || name.starts_with("unknown_as_object");
    let parameter = params.as_object_mut().expect("one parameter");
    let (_, parameter) = parameter.iter_mut().next().expect("one parameter");
    if is_forgotten && encoding == EncodingVersion::V1_1 {
        let instance = parameter.as_object_mut().expect("an instance");
        let slices = instance.shift_remove("$slices");
        assert!(slices.is_some(), "{name}: {instance:?}");
    }
    let results = json!({"returnValue": parameter.take()});
    let reply = PayloadType::results(&operation).encode(&results, encoding, None);
    let reply = reply.unwrap_or_else(|error| panic!("{name}: {error}"));
    assert_eq!(hex(&reply), text("reply_payload_hex"), "{name}: {results}");
}
