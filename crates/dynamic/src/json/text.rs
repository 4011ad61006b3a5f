//! JSON text, strictly: an object with the same key twice is refused instead of losing one.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::map::Entry;
use serde_json::{Map, Number, Value as Json};

/// How many arrays and objects JSON text may have inside one another.
///
/// It bounds the stack. The deepest value that is written, a hundred class instances with lists
/// between them, takes less.
pub const JSON_DEPTH_MAX: usize = 400;

/// Parses JSON text; unlike the JSON library's own parser it refuses duplicate keys.
///
/// # Errors
/// Names the line and the column of the error.
pub fn parse_json(text: &str) -> Result<Json, serde_json::Error> {
    let mut deserializer = serde_json::Deserializer::from_str(text);
    deserializer.disable_recursion_limit();
    let json = Strict { depth: 0 }.deserialize(&mut deserializer)?;
    deserializer.end()?;
    Ok(json)
}

/// Parses JSON text that a [`JsonWriter`](super::JsonWriter) has written: as deep as the value was.
pub(crate) fn parse_own(text: &str) -> Json {
    let mut deserializer = serde_json::Deserializer::from_str(text);
    deserializer.disable_recursion_limit();
    serde::Deserialize::deserialize(&mut deserializer).expect("a writer of JSON writes JSON")
}

/// Reads a value inside so many others.
#[derive(Clone, Copy)]
struct Strict {
    depth: usize,
}

impl Strict {
    /// Reads what is inside.
    fn inner<E: Error>(self) -> Result<Self, E> {
        let depth = self.depth + 1;
        match depth {
            ..=JSON_DEPTH_MAX => Ok(Self { depth }),
            _ => Err(E::custom(format!(
                "more than {JSON_DEPTH_MAX} arrays and objects are inside one another"
            ))),
        }
    }
}

impl<'de> DeserializeSeed<'de> for Strict {
    type Value = Json;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Json, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Strict {
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
        let inner = self.inner()?;
        let mut elements = Vec::new();
        while let Some(element) = access.next_element_seed(inner)? {
            elements.push(element);
        }
        Ok(Json::Array(elements))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Json, A::Error> {
        let inner = self.inner()?;
        let mut members = Map::new();
        while let Some(key) = access.next_key::<String>()? {
            let value = access.next_value_seed(inner)?;
            match members.entry(key) {
                Entry::Vacant(entry) => entry.insert(value),
                Entry::Occupied(entry) => {
                    let key = entry.key();
                    return Err(A::Error::custom(format!("the key {key:?} stands twice")));
                }
            };
        }
        Ok(Json::Object(members))
    }
}

#[cfg(test)]
mod tests {
    use super::{JSON_DEPTH_MAX, parse_json};

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
    fn text_that_nests_too_deep_is_refused() {
        let nested = |depth: usize| "[".repeat(depth) + &"]".repeat(depth);
        assert!(parse_json(&nested(JSON_DEPTH_MAX)).is_ok());
        let error = parse_json(&nested(100_000)).expect_err("it is too deep");
        let message = error.to_string();
        assert!(
            message.starts_with("more than 400 arrays and objects"),
            "{message}"
        );
    }

    #[test]
    fn negative_zero_keeps_its_sign() {
        let json = parse_json("-0.0").expect("valid JSON");
        assert!(json.as_f64().expect("a number").is_sign_negative());
    }
}
