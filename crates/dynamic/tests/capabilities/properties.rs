//! Random contracts, values, bytes and JSON.

mod model;

use floe_dynamic::{Contract, DataType, Value, parse_json};
use floe_wire::{Decoder, Encoder, EncodingVersion};
use proptest::prelude::*;
use serde_json::Value as Json;

use model::{Entropy, RandomContract, random_contract};

const ENCODINGS: [EncodingVersion; 2] = [EncodingVersion::V1_0, EncodingVersion::V1_1];

fn encode(
    contract: &Contract,
    r#type: DataType,
    value: &Value,
    encoding: EncodingVersion,
) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut encoder = Encoder::new(&mut bytes, encoding);
    contract
        .encode(r#type, value, &mut encoder)
        .expect("the value is of the type");
    encoder.finish().expect("the value has an encoding");
    bytes
}

/// As text, because it tells -0.0 from 0.0, and NaN is like NaN.
fn text(value: &Value) -> String {
    format!("{value:?}")
}

/// Any JSON, with the names and numbers that a contract here may know.
fn any_json() -> impl Strategy<Value = Json> {
    let leaf = prop_oneof![
        Just(Json::Null),
        any::<bool>().prop_map(Json::from),
        any::<i64>().prop_map(Json::from),
        (-1..300_i64).prop_map(Json::from),
        any::<f64>().prop_map(Json::from),
        "[a-e:0-9]{0,4}".prop_map(Json::from),
    ];
    leaf.prop_recursive(4, 32, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Json::from),
            prop::collection::vec(("m[0-3]|[a-c]", inner), 0..4)
                .prop_map(|members| Json::Object(members.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn a_value_is_the_same_after_it_has_been_bytes(
        random in random_contract(),
        entropy in prop::collection::vec(any::<u8>(), 0..300),
    ) {
        let RandomContract { contract, r#type } = random;
        let value = Entropy::new(&entropy).value(&contract, r#type);
        for encoding in ENCODINGS {
            let bytes = encode(&contract, r#type, &value, encoding);
            let mut decoder = Decoder::new(&bytes, encoding);
            let decoded = contract.decode(r#type, &mut decoder).expect("our own bytes");
            prop_assert_eq!(decoder.remaining(), 0);
            prop_assert_eq!(text(&decoded), text(&value));
        }
    }

    #[test]
    fn a_value_is_the_same_after_it_has_been_json_text(
        random in random_contract(),
        entropy in prop::collection::vec(any::<u8>(), 0..300),
    ) {
        let RandomContract { contract, r#type } = random;
        let value = Entropy::new(&entropy).value(&contract, r#type);
        let written = contract.value_to_json(r#type, &value).to_string();
        let json = parse_json(&written).expect("we wrote JSON");
        let read = contract.value_from_json(r#type, &json);
        let read = read.unwrap_or_else(|error| panic!("{written}: {error}"));
        prop_assert_eq!(text(&read), text(&value));
    }

    #[test]
    fn random_bytes_are_decoded_or_refused(
        random in random_contract(),
        bytes in prop::collection::vec(any::<u8>(), 0..200),
    ) {
        let RandomContract { contract, r#type } = random;
        for encoding in ENCODINGS {
            let decoded = contract.decode(r#type, &mut Decoder::new(&bytes, encoding));
            if let Ok(value) = decoded {
                let again = encode(&contract, r#type, &value, encoding);
                let decoded = contract.decode(r#type, &mut Decoder::new(&again, encoding));
                prop_assert_eq!(text(&decoded.expect("our own bytes")), text(&value));
            }
        }
    }

    #[test]
    fn damaged_bytes_are_decoded_or_refused(
        random in random_contract(),
        entropy in prop::collection::vec(any::<u8>(), 0..300),
        place in any::<prop::sample::Index>(),
        flip in 1..=255_u8,
    ) {
        let RandomContract { contract, r#type } = random;
        let value = Entropy::new(&entropy).value(&contract, r#type);
        let mut bytes = encode(&contract, r#type, &value, EncodingVersion::V1_1);
        let place = place.index(bytes.len());
        let shorter = &bytes[..place];
        let cut = contract.decode(r#type, &mut Decoder::new(shorter, EncodingVersion::V1_1));
        prop_assert!(cut.is_err(), "a value without its end was accepted");
        bytes[place] ^= flip;
        let _ = contract.decode(r#type, &mut Decoder::new(&bytes, EncodingVersion::V1_1));
    }

    #[test]
    fn random_json_is_read_or_refused_with_problems(random in random_contract(), json in any_json()) {
        let RandomContract { contract, r#type } = random;
        match contract.value_from_json(r#type, &json) {
            Ok(value) => { encode(&contract, r#type, &value, EncodingVersion::V1_0); }
            Err(error) => prop_assert!(!error.problems().is_empty()),
        }
    }
}
