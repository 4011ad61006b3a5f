//! The messages of vector files as the JSON of the command; `tests/vectors/README.md` explains them.

use serde_json::{Map, Value as Json, json};

/// The fields of a message as the command writes them.
pub(crate) fn message_json(fields: &Json) -> Json {
    let mut message = Map::new();
    for (key, value) in fields.as_object().expect("fields") {
        let (key, value) = match key.as_str() {
            "compression_status" => ("compression", value.clone()),
            "message_size" => ("size", value.clone()),
            "reply_status" => ("status", value.clone()),
            "facet" => ("facet", value.get(0).cloned().unwrap_or(json!(""))),
            "mode" => ("mode", mode(value).into()),
            "encapsulation" => ("encapsulation", encapsulation(value)),
            "requests" => {
                let requests = value.as_array().expect("requests");
                ("requests", requests.iter().map(message_json).collect())
            }
            // Said by the encapsulation, and by the number of requests.
            "encapsulation_encoding" | "request_count" => continue,
            key => (key, value.clone()),
        };
        message.insert(key.to_owned(), value);
    }
    Json::Object(message)
}

fn mode(value: &Json) -> &'static str {
    match value.as_u64() {
        Some(0) => "normal",
        Some(1) => "nonmutating",
        Some(2) => "idempotent",
        _ => panic!("expected a mode, got {value}"),
    }
}

fn encapsulation(hex: &Json) -> Json {
    let hex = hex.as_str().expect("an encapsulation");
    let encoding = match &hex[8..12] {
        "0100" => "1.0",
        "0101" => "1.1",
        other => panic!("expected an encoding, got {other}"),
    };
    json!({"encoding": encoding, "payload": &hex[12..]})
}
