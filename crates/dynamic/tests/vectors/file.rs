//! Reading a file of vectors.

use std::path::Path;

use floe_dynamic::Contract;
use floe_slice::check_source;
use floe_wire::EncodingVersion;
use floe_wire::encoding::ClassFormat;
use serde_json::Value as Json;

/// One vector, with its bytes put together.
pub(crate) struct Vector {
    pub(crate) name: String,
    pub(crate) json: Json,
    pub(crate) bytes: Vec<u8>,
}

impl Vector {
    /// The contract that the vector states.
    pub(crate) fn contract(&self) -> Contract {
        contract(self.text("slice"))
    }

    pub(crate) fn encoding(&self) -> EncodingVersion {
        match self.text("encoding") {
            "1.0" => EncodingVersion::V1_0,
            "1.1" => EncodingVersion::V1_1,
            other => panic!("{}: unknown encoding {other}", self.name),
        }
    }

    /// The format of class instances.
    pub(crate) fn format(&self) -> Option<ClassFormat> {
        match self.json["format"].as_str() {
            Some("compact") => Some(ClassFormat::Compact),
            Some("sliced") => Some(ClassFormat::Sliced),
            _ => None,
        }
    }

    pub(crate) fn text(&self, key: &str) -> &str {
        let text = self.json[key].as_str();
        text.unwrap_or_else(|| panic!("{}: no {key}", self.name))
    }

    /// The input of an encoder.
    pub(crate) fn value(&self) -> &Json {
        &self.json["value"]
    }

    /// The value that a decoder must return.
    pub(crate) fn decoded_value(&self) -> &Json {
        self.json.get("decoded_value").unwrap_or(self.value())
    }
}

/// The contract of a Slice text.
pub(crate) fn contract(slice: &str) -> Contract {
    let compilation = check_source(slice.as_bytes());
    assert!(!compilation.has_errors(), "{}", compilation.render());
    Contract::new(compilation.model)
}

/// Reads all vectors of `tests/vectors/<name>.json`.
pub(crate) fn load(name: &str) -> Vec<Vector> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/vectors");
    let path = folder.join(name).with_extension("json");
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path:?}: {error}"));
    let mut file: Json = serde_json::from_str(&text).expect("a vector file is JSON");
    let Json::Array(vectors) = file["vectors"].take() else {
        panic!("{path:?} has no list of vectors");
    };
    vectors.into_iter().map(vector).collect()
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

pub(crate) fn from_hex(text: &str) -> Vec<u8> {
    let (digits, rest) = text.as_bytes().as_chunks::<2>();
    assert!(rest.is_empty(), "{text} has an odd number of digits");
    let byte = |pair: &[u8; 2]| {
        let pair = str::from_utf8(pair).expect("hex is ASCII");
        u8::from_str_radix(pair, 16).expect("two hexadecimal digits")
    };
    digits.iter().map(byte).collect()
}

fn vector(json: Json) -> Vector {
    let bytes = match json["hex_parts"].as_array() {
        Some(parts) => parts.iter().flat_map(part).collect(),
        None => from_hex(json["hex"].as_str().expect("a vector has bytes")),
    };
    Vector {
        name: json["name"]
            .as_str()
            .expect("a vector has a name")
            .to_owned(),
        json,
        bytes,
    }
}

fn part(part: &Json) -> Vec<u8> {
    match part["repeat"].as_str() {
        Some(repeated) => {
            let count = part["count"].as_u64().expect("a repetition has a count");
            from_hex(repeated).repeat(count as usize)
        }
        None => from_hex(part["hex"].as_str().expect("a part is hex or a repetition")),
    }
}
