//! Bytes as the payload of an encapsulation, of every kind of type.

use std::sync::LazyLock;

use floe_dynamic::{
    Contract, DataType, IceReader, JsonWriter, Operation, PayloadType, Value, walk,
};
use floe_slice::check_source;
use floe_wire::encoding::ClassFormat;
use floe_wire::{Decoder, Encoder, EncodingVersion};

static CONTRACT: LazyLock<Contract> = LazyLock::new(|| {
    let compilation = check_source(include_bytes!("value.ice"));
    assert!(!compilation.has_errors(), "{}", compilation.render());
    Contract::new(compilation.model)
});

const TYPES: &[&str] = &[
    "bool",
    "short",
    "long",
    "float",
    "string",
    "Object*",
    "Object",
    "V::Prims",
    "V::Color",
    "V::E300",
    "V::EBig",
    "V::ByteSeq",
    "V::DoubleSeq",
    "V::StringSeqSeq",
    "V::PointSeq",
    "V::ColorSeq",
    "V::ProxySeq",
    "V::ColorStringDict",
    "V::KeyPointDict",
    "V::Record",
    "V::C1",
    "V::Node",
    "V::Tree",
    "V::Compact1",
    "V::Base",
    "V::OptC",
    "V::OptSelf",
    "V::NodeSeq",
    "V::ValueSeq",
    "V::NodeDict",
    "V::WithNode",
    "V::Many",
];

/// The number of ways in which an input is decoded, in both encodings: as a value of each type, or as parameters, results
/// and exceptions.
pub(crate) const SHAPES: usize = 2 * (TYPES.len() + 1);

/// Decodes `input` as a value of each type, as an optional one of each, and as parameters, results
/// and exceptions, in both encodings, and what was decoded again after it was encoded.
///
/// Bytes that are walked to JSON text give the text of the value that they are. A path leads to the fields of an operation.
///
/// Whatever the bytes are, this must end, and without a panic.
pub(crate) fn run(input: &[u8]) {
    (0..SHAPES).for_each(|shape| run_as(shape, input));
}

/// Does so for one of the shapes.
pub(crate) fn run_as(shape: usize, input: &[u8]) {
    let encoding = match shape % 2 {
        0 => EncodingVersion::V1_0,
        _ => EncodingVersion::V1_1,
    };
    if let Some(name) = TYPES.get(shape / 2) {
        let r#type = CONTRACT.data_type(name).expect("the contract has it");
        value(r#type, input, encoding);
        for tag in [1, 40] {
            payload(
                &PayloadType::named(&CONTRACT, name, Some(tag)).expect("as above"),
                input,
                encoding,
            );
        }
        return;
    }
    let operation = CONTRACT.operation("mixed").expect("the contract has it");
    fields(&operation, input, encoding);
    payload(&PayloadType::params(&operation), input, encoding);
    payload(&PayloadType::results(&operation), input, encoding);
    payload(&PayloadType::thrown(&operation), input, encoding);
}

fn value(r#type: DataType, input: &[u8], encoding: EncodingVersion) {
    let decoded = decode(r#type, input, encoding);
    let text = json_text(r#type, input, encoding);
    let Ok(first) = decoded else {
        assert_eq!(text.err(), decoded.err(), "both walks find one error");
        return;
    };
    let of_value = CONTRACT.value_to_json(r#type, &first).to_string();
    assert_eq!(text, Ok(of_value), "both walks find one value");
    // A graph that leads nowhere, or that is too deep when it is walked in another order, has no bytes.
    let Some(bytes) = encode(r#type, &first, encoding) else {
        return;
    };
    let second = decode(r#type, &bytes, encoding).expect("what was encoded can be decoded");
    assert_eq!(
        encode(r#type, &second, encoding).as_ref(),
        Some(&bytes),
        "the same value"
    );
    let json = CONTRACT.value_to_json(r#type, &second);
    // Keys that came twice are refused.
    if let Ok(third) = CONTRACT.value_from_json(r#type, &json) {
        let bytes = encode(r#type, &third, encoding).expect("what JSON says can be encoded");
        let fourth = decode(r#type, &bytes, encoding).expect("what was encoded can be decoded");
        assert_eq!(
            encode(r#type, &fourth, encoding),
            Some(bytes),
            "the same value"
        );
    }
}

fn decode(r#type: DataType, bytes: &[u8], encoding: EncodingVersion) -> Result<Value, String> {
    let mut decoder = Decoder::new(bytes, encoding);
    let decoded = CONTRACT.decode(r#type, &mut decoder);
    decoded.map_err(|error| error.to_string())
}

fn json_text(r#type: DataType, bytes: &[u8], encoding: EncodingVersion) -> Result<String, String> {
    let mut decoder = Decoder::new(bytes, encoding);
    let mut reader = IceReader::new(&CONTRACT, &mut decoder);
    let mut writer = JsonWriter::new(&CONTRACT);
    let walked = walk(&CONTRACT.layout_of(r#type), &mut reader, &mut writer);
    walked.map_err(|error| error.to_string())?;
    Ok(writer.into_text())
}

/// Reads each field of the parameters to which a path leads, which are an encapsulation with this payload.
fn fields(operation: &Operation, payload: &[u8], encoding: EncodingVersion) {
    let header = floe_wire::Encapsulation::header(encoding, payload.len() as u32);
    let encapsulation = [&header[..], payload].concat();
    for input in operation.inputs().members() {
        if let Ok(field) = operation.field(input.name()) {
            let _ = field.read(&encapsulation);
        }
    }
}

fn encode(r#type: DataType, value: &Value, encoding: EncodingVersion) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut encoder = Encoder::new(&mut bytes, encoding);
    encoder.set_class_format(ClassFormat::Sliced);
    let encoded = CONTRACT.encode(r#type, value, &mut encoder);
    assert!(encoded.is_ok(), "what was decoded is of the type");
    encoder.finish().ok()?;
    Some(bytes)
}

fn payload(payload: &PayloadType, input: &[u8], encoding: EncodingVersion) {
    let Ok(json) = payload.decode(input, encoding) else {
        return;
    };
    let sliced = Some(ClassFormat::Sliced);
    if let Ok(bytes) = payload.encode(&json, encoding, sliced) {
        let again = payload
            .decode(&bytes, encoding)
            .expect("what was encoded can be decoded");
        let encoded = payload.encode(&again, encoding, sliced);
        assert_eq!(encoded, Ok(bytes), "the same value");
    }
}
