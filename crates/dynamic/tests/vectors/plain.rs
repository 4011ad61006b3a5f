//! The notation of vector files as the JSON of `docs/guides/json.md`; `tests/vectors/README.md`
//! explains it. The tests of the command use it too.

use serde_json::{Map, Value as Json, json};

/// A value as the command writes it.
///
/// Ids of class instances are numbered in order of appearance, and left out where nothing refers to
/// them, as are optional members that are unset.
pub(crate) fn plain(value: &Json) -> Json {
    let mut referred = Vec::new();
    collect_references(value, &mut referred);
    let (mut ids, mut last) = (Map::new(), 0);
    number(&mut plain_value(value), &referred, &mut ids, &mut last)
}

fn collect_references(value: &Json, referred: &mut Vec<Json>) {
    match value {
        Json::Array(elements) => elements
            .iter()
            .for_each(|it| collect_references(it, referred)),
        Json::Object(object) => {
            referred.extend(object.get("$ref").cloned());
            object
                .values()
                .for_each(|it| collect_references(it, referred));
        }
        _ => {}
    }
}

fn number(
    value: &mut Json,
    referred: &[Json],
    ids: &mut Map<String, Json>,
    last: &mut u64,
) -> Json {
    match value {
        Json::Array(elements) => elements
            .iter_mut()
            .map(|it| number(it, referred, ids, last))
            .collect(),
        Json::Object(object) => {
            let mut numbered = Map::new();
            for (key, value) in object.iter_mut() {
                let is_id = key == "$id";
                if is_id && !referred.contains(value) {
                    continue;
                }
                let value = match is_id || key == "$ref" {
                    true => ids
                        .entry(value.to_string())
                        .or_insert_with(|| {
                            *last += 1;
                            Json::from(*last)
                        })
                        .clone(),
                    false => number(value, referred, ids, last),
                };
                numbered.insert(key.clone(), value);
            }
            Json::Object(numbered)
        }
        other => other.take(),
    }
}

fn plain_value(value: &Json) -> Json {
    match value {
        Json::String(text) if text == "-0.0" => json!(-0.0),
        Json::Array(elements) => elements.iter().map(plain_value).collect(),
        Json::Object(object) => {
            let special = |key: &str| object.get(key);
            if let Some(element) = special("$repeat") {
                let count = object["count"].as_u64().expect("a count") as usize;
                return match element.as_str() {
                    Some(text) => text.repeat(count).into(),
                    None => vec![plain_value(element); count].into(),
                };
            }
            if let Some(name) = special("$enum").or_else(|| special("$proxy")) {
                return name.clone();
            }
            match special("$dict") {
                Some(entries) => dictionary(entries.as_array().expect("entries")),
                None => object
                    .iter()
                    .filter(|(_, value)| value.get("$unset").is_none())
                    .map(|(key, value)| (key.clone(), plain_value(value)))
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
        .map(|entry| (plain_value(&entry[0]), plain_value(&entry[1])))
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

/// Returns true if two values are the same. The notation has a `float` with the digits of a double.
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
