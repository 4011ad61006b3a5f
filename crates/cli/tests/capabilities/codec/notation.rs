//! The notation of vector files as the JSON of the command; `tests/vectors/README.md` explains it.

use serde_json::{Map, Value as Json, json};

/// A value as the command writes it.
pub(crate) fn plain(value: &Json) -> Json {
    match value {
        Json::String(text) if text == "-0.0" => json!(-0.0),
        Json::Array(elements) => elements.iter().map(plain).collect(),
        Json::Object(object) => {
            let special = |key: &str| object.get(key);
            if let Some(element) = special("$repeat") {
                let count = object["count"].as_u64().expect("a count") as usize;
                return match element.as_str() {
                    Some(text) => text.repeat(count).into(),
                    None => vec![plain(element); count].into(),
                };
            }
            if let Some(name) = special("$enum").or_else(|| special("$proxy")) {
                return name.clone();
            }
            match special("$dict") {
                Some(entries) => dictionary(entries.as_array().expect("entries")),
                None => object
                    .iter()
                    .map(|(key, value)| (key.clone(), plain(value)))
                    .collect(),
            }
        }
        other => other.clone(),
    }
}

/// Text, numbers and enumerators become keys; other keys stand in pairs.
fn dictionary(entries: &[Json]) -> Json {
    let pairs: Vec<(Json, Json)> = entries
        .iter()
        .map(|entry| (plain(&entry[0]), plain(&entry[1])))
        .collect();
    if pairs.iter().any(|(key, _)| key.is_object()) {
        return pairs
            .into_iter()
            .map(|(key, value)| json!([key, value]))
            .collect();
    }
    let text = |key: Json| match key {
        Json::String(text) => text,
        other => other.to_string(),
    };
    let members = pairs.into_iter().map(|(key, value)| (text(key), value));
    Json::Object(members.collect())
}

/// Whether two values are the same. The notation has a `float` with the digits of a double.
pub(crate) fn is_same(left: &Json, right: &Json) -> bool {
    match (left, right) {
        (Json::Number(left), Json::Number(right)) if left != right => {
            let narrow = |number: &serde_json::Number| number.as_f64().map(|value| value as f32);
            let is_float = left.is_f64() || right.is_f64();
            is_float && narrow(left) == narrow(right)
        }
        (Json::Array(left), Json::Array(right)) => {
            left.len() == right.len() && left.iter().zip(right).all(|(l, r)| is_same(l, r))
        }
        (Json::Object(left), Json::Object(right)) => {
            let are_same = |(key, value): (&String, &Json)| {
                right.get(key).is_some_and(|other| is_same(value, other))
            };
            left.len() == right.len() && left.iter().all(are_same)
        }
        _ => left == right,
    }
}

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
