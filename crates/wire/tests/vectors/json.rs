//! Values of vectors as Rust values.

use std::collections::BTreeMap;

use floe_wire::reference::Reference;
use serde_json::Value;

/// A type that values of vectors are turned into.
pub(crate) trait FromJson: Sized {
    fn from_json(json: &Value) -> Self;
}

macro_rules! integer {
    ($($type:ty),*) => {$(
        impl FromJson for $type {
            fn from_json(json: &Value) -> Self {
                let value = json.as_i64().unwrap_or_else(|| panic!("{json} is no integer"));
                value.try_into().unwrap_or_else(|_| panic!("{json} is out of range"))
            }
        }
    )*};
}
integer!(u8, i16, i32, i64);

impl FromJson for f64 {
    fn from_json(json: &Value) -> Self {
        match json {
            Value::String(text) => text.parse().expect("a special number"),
            _ => json
                .as_f64()
                .unwrap_or_else(|| panic!("{json} is no number")),
        }
    }
}

impl FromJson for f32 {
    fn from_json(json: &Value) -> Self {
        f64::from_json(json) as f32
    }
}

impl FromJson for bool {
    fn from_json(json: &Value) -> Self {
        json.as_bool()
            .unwrap_or_else(|| panic!("{json} is no boolean"))
    }
}

impl FromJson for String {
    fn from_json(json: &Value) -> Self {
        match repeated(json) {
            Some((part, count)) => Self::from_json(part).repeat(count),
            None => json
                .as_str()
                .unwrap_or_else(|| panic!("{json} is no string"))
                .to_owned(),
        }
    }
}

impl<T: FromJson + Clone> FromJson for Vec<T> {
    fn from_json(json: &Value) -> Self {
        match repeated(json) {
            Some((element, count)) => vec![T::from_json(element); count],
            None => json
                .as_array()
                .expect("a list")
                .iter()
                .map(T::from_json)
                .collect(),
        }
    }
}

impl<K: FromJson + Ord, V: FromJson> FromJson for BTreeMap<K, V> {
    fn from_json(json: &Value) -> Self {
        let entries = json["$dict"].as_array().expect("a dictionary");
        let entry = |entry: &Value| (K::from_json(&entry[0]), V::from_json(&entry[1]));
        entries.iter().map(entry).collect()
    }
}

impl FromJson for Option<Reference> {
    fn from_json(json: &Value) -> Self {
        if json.is_null() {
            return None;
        }
        let text = json["$proxy"].as_str().expect("a proxy");
        Reference::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"))
    }
}

fn repeated(json: &Value) -> Option<(&Value, usize)> {
    let count = json.get("count")?.as_u64()?;
    Some((json.get("$repeat")?, usize::try_from(count).ok()?))
}
