//! The JSON schema of `floe.toml`: `docs/floe.schema.json`, which `floe config schema` prints.

use serde_json::{Map, Value as Json, json};

use super::rows;
use super::setting::{Kind, Setting, is_placeholder};

/// The JSON schema of `floe.toml`.
pub fn schema() -> Json {
    let mut root = table();
    for setting in rows::ALL.iter() {
        insert(&mut root, setting.key, setting);
    }
    let mut schema = Map::new();
    schema.insert(
        "$schema".to_owned(),
        json!("https://json-schema.org/draft/2020-12/schema"),
    );
    schema.insert("title".to_owned(), json!("floe.toml"));
    schema.extend(root);
    Json::Object(schema)
}

/// A table of which nothing is known yet.
fn table() -> Map<String, Json> {
    let Json::Object(table) = json!({ "type": "object", "additionalProperties": false }) else {
        unreachable!("it is an object");
    };
    table
}

/// Adds a setting to a table at the rest of its key.
fn insert(within: &mut Map<String, Json>, key: &str, setting: &Setting) {
    let (segment, rest) = match key.split_once('.') {
        Some((segment, rest)) => (segment, Some(rest)),
        None => (key, None),
    };
    let place = place(within, segment.trim_end_matches("[]"));
    let Some(rest) = rest else {
        *place = value(setting);
        return;
    };
    if !place.is_object() {
        *place = match segment.ends_with("[]") {
            true => json!({ "type": "array", "items": table() }),
            false => Json::Object(table()),
        };
    }
    let inner = match segment.ends_with("[]") {
        true => &mut place["items"],
        false => place,
    };
    let inner = inner.as_object_mut().expect("a table is an object");
    insert(inner, rest, setting);
}

/// Where the schema of a name in a table is.
fn place<'a>(table: &'a mut Map<String, Json>, name: &str) -> &'a mut Json {
    if is_placeholder(name) {
        // What was `false` becomes the schema of all names.
        return table.entry("additionalProperties").or_insert(Json::Null);
    }
    let properties = table.entry("properties").or_insert_with(|| json!({}));
    &mut properties[name]
}

/// The schema of a value.
fn value(setting: &Setting) -> Json {
    let mut schema = match setting.kind() {
        Kind::Text(_) => text(),
        Kind::Texts(_) => json!({
            "anyOf": [text(), { "type": "array", "items": text(), "minItems": 1 }]
        }),
        Kind::OneOf(names) => json!({ "enum": names }),
        Kind::Bool => json!({ "type": "boolean" }),
        Kind::Count => json!({ "type": "integer", "minimum": 1 }),
        Kind::Number => json!({ "type": "integer", "minimum": 0 }),
        Kind::Bytes => json!({
            "anyOf": [
                { "type": "integer", "minimum": 1 },
                { "type": "string", "pattern": BYTES },
            ]
        }),
        Kind::Time(None) => json!({ "type": "string", "pattern": TIME }),
        Kind::Time(Some(word)) => json!({
            "anyOf": [{ "type": "string", "pattern": TIME }, { "const": word }]
        }),
    };
    schema["description"] = json!(setting.meaning);
    let default: Option<Json> = setting
        .default()
        .and_then(|default| serde_json::from_str(&default).ok());
    if let Some(default) = default {
        schema["default"] = default;
    }
    schema
}

/// A text that is not empty.
fn text() -> Json {
    json!({ "type": "string", "pattern": "\\S" })
}

const TIME: &str = "^[0-9]+(\\.[0-9]+)?(us|ms|s|m|h)$";
const BYTES: &str = "^\\s*[0-9]+\\s*([kKmMgG]([iI]?[bB])?|[bB])?\\s*$";
