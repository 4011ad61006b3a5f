//! JSON text, strictly: an object with the same key twice is refused instead of losing one.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value as Json};

/// Parses JSON text; unlike the JSON library's own parser it refuses duplicate keys.
///
/// # Errors
/// What is wrong, with line and column.
pub fn parse_json(text: &str) -> Result<Json, serde_json::Error> {
    serde_json::from_str::<Strict>(text).map(|strict| strict.0)
}

struct Strict(Json);

impl<'de> Deserialize<'de> for Strict {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(StrictVisitor).map(Self)
    }
}

struct StrictVisitor;

impl<'de> Visitor<'de> for StrictVisitor {
    type Value = Json;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Json, E> {
        Ok(Json::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Json, E> {
        Ok(Json::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Json, E> {
        Ok(Json::from(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Json, E> {
        Ok(Json::from(value))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Json, E> {
        let number = Number::from_f64(value).ok_or_else(|| E::custom("number out of range"))?;
        Ok(Json::Number(number))
    }

    fn visit_str<E>(self, text: &str) -> Result<Json, E> {
        Ok(Json::from(text))
    }

    fn visit_string<E>(self, text: String) -> Result<Json, E> {
        Ok(Json::String(text))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Json, A::Error> {
        let mut elements = Vec::new();
        while let Some(Strict(element)) = access.next_element()? {
            elements.push(element);
        }
        Ok(Json::Array(elements))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Json, A::Error> {
        let mut members = Map::new();
        while let Some((key, Strict(value))) = access.next_entry::<String, Strict>()? {
            if members.contains_key(&key) {
                return Err(A::Error::custom(format!("the key {key:?} stands twice")));
            }
            members.insert(key, value);
        }
        Ok(Json::Object(members))
    }
}

#[cfg(test)]
mod tests {
    use super::parse_json;

    #[test]
    fn json_text_is_parsed_as_the_library_does_and_refused_when_a_key_stands_twice() {
        let text = r#"{"b": [1, -2, 1.5, null, true, "x"], "a": {}, "n": 18446744073709551615}"#;
        let json = parse_json(text).expect("valid JSON");
        assert_eq!(
            json,
            serde_json::from_str::<serde_json::Value>(text).expect("valid JSON")
        );
        let error = parse_json("{\"a\": 1,\n \"a\": 2}").expect_err("a duplicate key");
        assert_eq!(
            error.to_string(),
            "the key \"a\" stands twice at line 2 column 8"
        );
    }

    #[test]
    fn negative_zero_keeps_its_sign() {
        let json = parse_json("-0.0").expect("valid JSON");
        assert!(json.as_f64().expect("a number").is_sign_negative());
    }
}
