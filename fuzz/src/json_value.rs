//! JSON as a value of every kind of type.

use std::sync::LazyLock;

use floe_dynamic::{Contract, parse_json};
use floe_slice::check_source;
use floe_wire::encoding::ClassFormat;
use floe_wire::{Decoder, Encoder, EncodingVersion};

static CONTRACT: LazyLock<Contract> = LazyLock::new(|| {
    let compilation = check_source(include_bytes!("value.ice"));
    assert!(!compilation.has_errors(), "{}", compilation.render());
    Contract::new(compilation.model)
});

const TYPES: &[&str] = &[
    "long",
    "float",
    "string",
    "Object*",
    "Object",
    "V::Prims",
    "V::Color",
    "V::ByteSeq",
    "V::PointSeq",
    "V::KeyPointDict",
    "V::Record",
    "V::Tree",
    "V::OptC",
    "V::NodeDict",
    "V::Many",
];

/// Reads `input` as JSON, and that as a value of each type.
///
/// Whatever the text is, this must end without a panic, and a value that it gives can be encoded and decoded.
pub(crate) fn run(input: &[u8]) {
    let Ok(json) = parse_json(&String::from_utf8_lossy(input)) else {
        return;
    };
    for name in TYPES {
        let r#type = CONTRACT.data_type(name).expect("the contract has it");
        let value = match CONTRACT.value_from_json(r#type, &json) {
            Ok(value) => value,
            Err(error) => {
                assert!(!error.to_string().is_empty());
                continue;
            }
        };
        let mut bytes = Vec::new();
        let mut encoder = Encoder::new(&mut bytes, EncodingVersion::V1_1);
        encoder.set_class_format(ClassFormat::Sliced);
        let encoded = CONTRACT.encode(r#type, &value, &mut encoder);
        assert!(encoded.is_ok(), "what JSON gave is of the type");
        // A graph may be too deep for bytes.
        if encoder.finish().is_ok() {
            let mut decoder = Decoder::new(&bytes[..], EncodingVersion::V1_1);
            assert!(CONTRACT.decode(r#type, &mut decoder).is_ok(), "{name}");
        }
    }
}
