//! Random contracts, values, bytes and JSON.

pub(crate) mod model;

use floe_dynamic::{Contract, DataType, MessageReader, PayloadType, Value, parse_json};
use floe_slice::model::Type;
use floe_wire::encoding::ClassFormat;
use floe_wire::{Decoder, Encoder, EncodingVersion};
use proptest::prelude::*;
use serde_json::Value as Json;

use model::{Entropy, RandomContract, random_contract};

const ENCODINGS: [EncodingVersion; 2] = [EncodingVersion::V1_0, EncodingVersion::V1_1];

const SLICED: Option<ClassFormat> = Some(ClassFormat::Sliced);

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

/// The payload of one value of a definition.
fn payload_type(contract: &Contract, r#type: DataType) -> PayloadType {
    let Type::Named(id) = r#type.get() else {
        panic!("random contracts end with a definition");
    };
    let name = &contract.model().definition(id).scoped;
    PayloadType::named(contract, name, None).expect("the type is supported")
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
        let RandomContract { contract, r#type, has_optionals } = random;
        let value = Entropy::new(&entropy).value(&contract, r#type);
        for encoding in ENCODINGS {
            let bytes = encode(&contract, r#type, &value, encoding);
            let mut decoder = Decoder::new(&bytes, encoding);
            let decoded = contract.decode(r#type, &mut decoder).expect("our own bytes");
            prop_assert_eq!(decoder.remaining(), 0);
            if encoding == EncodingVersion::V1_1 || !has_optionals {
                prop_assert_eq!(text(&decoded), text(&value));
            }
            prop_assert_eq!(encode(&contract, r#type, &decoded, encoding), bytes);
        }
    }

    #[test]
    fn a_value_is_the_same_after_it_has_been_json_text(
        random in random_contract(),
        entropy in prop::collection::vec(any::<u8>(), 0..300),
    ) {
        let RandomContract { contract, r#type, .. } = random;
        let value = Entropy::new(&entropy).value(&contract, r#type);
        let written = contract.value_to_json(r#type, &value).to_string();
        let json = parse_json(&written).expect("we wrote JSON");
        let read = contract.value_from_json(r#type, &json);
        let read = read.unwrap_or_else(|error| panic!("{written}: {error}"));
        prop_assert_eq!(text(&read), text(&value));
    }

    #[test]
    fn a_payload_is_the_same_after_it_has_been_json_text(
        random in random_contract(),
        entropy in prop::collection::vec(any::<u8>(), 0..300),
    ) {
        let RandomContract { contract, r#type, has_optionals } = random;
        let value = Entropy::new(&entropy).value(&contract, r#type);
        let json = contract.value_to_json(r#type, &value);
        let payload_type = payload_type(&contract, r#type);
        for (encoding, format) in [(ENCODINGS[0], None), (ENCODINGS[1], None), (ENCODINGS[1], SLICED)] {
            let bytes = payload_type.encode(&json, encoding, format).expect("we wrote JSON");
            let decoded = payload_type.decode(&bytes, encoding).expect("our own bytes");
            if encoding == EncodingVersion::V1_1 || !has_optionals {
                prop_assert_eq!(decoded.to_string(), json.to_string());
            }
            let read = parse_json(&decoded.to_string()).expect("we wrote JSON");
            prop_assert_eq!(payload_type.encode(&read, encoding, format), Ok(bytes));
        }
    }

    #[test]
    fn a_payload_that_is_cut_or_has_more_is_refused(
        random in random_contract(),
        entropy in prop::collection::vec(any::<u8>(), 0..300),
        place in any::<prop::sample::Index>(),
    ) {
        let RandomContract { contract, r#type, .. } = random;
        let value = Entropy::new(&entropy).value(&contract, r#type);
        let mut bytes = encode(&contract, r#type, &value, EncodingVersion::V1_1);
        let payload_type = payload_type(&contract, r#type);
        let cut = &bytes[..place.index(bytes.len())];
        prop_assert!(payload_type.decode(cut, EncodingVersion::V1_1).is_err());
        bytes.push(0);
        prop_assert!(payload_type.decode(&bytes, EncodingVersion::V1_1).is_err());
    }

    #[test]
    fn damaged_messages_are_taken_apart_or_refused(
        message in prop::sample::select(crate::messages::all()),
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
        len in any::<prop::sample::Index>(),
    ) {
        let mut bytes = message;
        for (place, byte) in damage {
            let place = place.index(bytes.len());
            bytes[place] = byte;
        }
        bytes.truncate(len.index(bytes.len() + 1));
        let reader = MessageReader::default().with_contract(&crate::messages::contract(), None);
        let mut rest = bytes.clone().into();
        match reader.read(&mut rest) {
            Ok(message) => prop_assert_eq!(
                message.json["size"].as_u64(),
                Some((bytes.len() - rest.len()) as u64)
            ),
            Err(error) => {
                prop_assert!(!error.to_string().is_empty());
                prop_assert_eq!(&rest[..], &bytes[..], "nothing is taken off after an error");
            }
        }
    }

    #[test]
    fn random_bytes_are_decoded_or_refused(
        random in random_contract(),
        bytes in prop::collection::vec(any::<u8>(), 0..200),
    ) {
        let RandomContract { contract, r#type, .. } = random;
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
        let RandomContract { contract, r#type, .. } = random;
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
        let RandomContract { contract, r#type, .. } = random;
        match contract.value_from_json(r#type, &json) {
            Ok(value) => { encode(&contract, r#type, &value, EncodingVersion::V1_0); }
            Err(error) => prop_assert!(!error.problems().is_empty()),
        }
    }
}
