//! Contracts from Slice text.

use floe_dynamic::{Contract, Value};
use floe_slice::check_source;
use floe_wire::{Decoder, Encoder, EncodingVersion};
use serde_json::Value as Json;

/// The contract of a legal Slice text.
pub(crate) fn contract(slice: &str) -> Contract {
    let compilation = check_source(slice.as_bytes());
    assert!(!compilation.has_errors(), "{}", compilation.render());
    Contract::new(compilation.model)
}

/// The value as JSON, after it has been bytes in between, in both encodings.
pub(crate) fn through_bytes(contract: &Contract, r#type: &str, json: &Json) -> Json {
    let r#type = contract.data_type(r#type).expect("a supported type");
    let value = contract
        .value_from_json(r#type, json)
        .unwrap_or_else(|error| panic!("{error}"));
    let mut decoded = [EncodingVersion::V1_0, EncodingVersion::V1_1].map(|encoding| {
        let mut bytes = Vec::new();
        let mut encoder = Encoder::new(&mut bytes, encoding);
        contract
            .encode(r#type, &value, &mut encoder)
            .expect("the value is of the type");
        encoder.finish().expect("the value has an encoding");
        let mut decoder = Decoder::new(&bytes, encoding);
        let decoded = contract
            .decode(r#type, &mut decoder)
            .unwrap_or_else(|error| panic!("{error}"));
        decoder.finish_exact("value").expect("nothing is left");
        contract.value_to_json(r#type, &decoded)
    });
    assert_eq!(decoded[0], decoded[1], "encodings 1.0 and 1.1 differ");
    std::mem::take(&mut decoded[1])
}

/// The value that JSON stands for.
pub(crate) fn value(contract: &Contract, r#type: &str, json: &Json) -> Value {
    let r#type = contract.data_type(r#type).expect("a supported type");
    contract
        .value_from_json(r#type, json)
        .unwrap_or_else(|error| panic!("{error}"))
}

/// Returns the problem in JSON.
pub(crate) fn problem(contract: &Contract, r#type: &str, json: Json) -> String {
    let r#type = contract.data_type(r#type).expect("a supported type");
    contract
        .value_from_json(r#type, &json)
        .expect_err("the JSON is wrong")
        .to_string()
}
