//! Reading a file of vectors.

use std::fmt::Debug;
use std::path::Path;

use floe_wire::{Decode, Decoder, Encode, Encoder, EncodingVersion};
use serde_json::Value;

/// One vector, with its bytes put together.
pub(crate) struct Vector {
    pub(crate) name: String,
    pub(crate) json: Value,
    pub(crate) bytes: Vec<u8>,
}

impl Vector {
    /// The encoding of the payload.
    pub(crate) fn encoding(&self) -> EncodingVersion {
        match self.text("encoding") {
            "1.0" => EncodingVersion::V1_0,
            "1.1" => EncodingVersion::V1_1,
            other => panic!("{}: unknown encoding {other}", self.name),
        }
    }

    pub(crate) fn text(&self, key: &str) -> &str {
        self.json[key]
            .as_str()
            .unwrap_or_else(|| panic!("{}: no {key}", self.name))
    }

    /// The input of an encoder.
    pub(crate) fn value(&self) -> &Value {
        self.json
            .get("value")
            .unwrap_or_else(|| panic!("{}: no value", self.name))
    }

    /// The value that a decoder must return.
    pub(crate) fn decoded_value(&self) -> &Value {
        self.json
            .get("decoded_value")
            .unwrap_or_else(|| self.value())
    }

    /// Runs a vector of a type that we have, both ways.
    pub(crate) fn check<T: Encode + Decode + Debug>(&self, from_json: impl Fn(&Value) -> T) {
        assert_eq!(self.json["exact"], true, "{}", self.name);
        let encoded = encode(&from_json(self.value()), self.encoding());
        assert_eq!(hex(&encoded), hex(&self.bytes), "encoding of {}", self.name);

        let mut decoder = Decoder::new(&self.bytes, self.encoding());
        let decoded: T = decoder
            .get()
            .unwrap_or_else(|error| panic!("{}: {error}", self.name));
        decoder
            .finish_exact("vector")
            .unwrap_or_else(|error| panic!("{}: {error}", self.name));
        // As text, because it tells -0.0 from 0.0 and NaN is like NaN.
        let expected = from_json(self.decoded_value());
        assert_eq!(
            format!("{decoded:?}"),
            format!("{expected:?}"),
            "{}",
            self.name
        );
    }
}

/// Reads all vectors of `tests/vectors/<name>.json`.
pub(crate) fn load(name: &str) -> Vec<Vector> {
    let folders = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors();
    let mut paths = folders.map(|it| it.join("tests/vectors").join(name).with_extension("json"));
    let path = paths.find(|path| path.is_file());
    let path = path.unwrap_or_else(|| panic!("no file {name}.json of vectors"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path:?}: {error}"));
    let mut file: Value = serde_json::from_str(&text).expect("a vector file is JSON");
    let Value::Array(vectors) = file["vectors"].take() else {
        panic!("{path:?} has no list of vectors");
    };
    assert!(!vectors.is_empty(), "{path:?} is empty");
    vectors.into_iter().map(vector).collect()
}

pub(crate) fn encode<T: Encode + ?Sized>(value: &T, encoding: EncodingVersion) -> Vec<u8> {
    let mut buffer = Vec::new();
    let mut encoder = Encoder::new(&mut buffer, encoding);
    encoder.put(value);
    encoder.finish().expect("a vector's value can be encoded");
    buffer
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

fn vector(json: Value) -> Vector {
    let bytes = match json["hex_parts"].as_array() {
        Some(parts) => parts.iter().flat_map(part).collect(),
        None => from_hex(json["hex"].as_str().unwrap_or_default()),
    };
    if let Some(length) = json["length"].as_u64() {
        assert_eq!(bytes.len() as u64, length, "{}", json["name"]);
    }
    Vector {
        name: json["name"]
            .as_str()
            .expect("a vector has a name")
            .to_owned(),
        json,
        bytes,
    }
}

fn part(part: &Value) -> Vec<u8> {
    match part["repeat"].as_str() {
        Some(repeated) => {
            let count = part["count"].as_u64().expect("a repetition has a count");
            from_hex(repeated).repeat(count as usize)
        }
        None => from_hex(part["hex"].as_str().expect("a part is hex or a repetition")),
    }
}
