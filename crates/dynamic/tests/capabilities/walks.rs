//! Values go from one format to another along their layout.

use floe_dynamic::{
    Cause, Contract, DataType, IceReader, IceWriter, JsonReader, JsonWriter, Value, ValueReader,
    ValueWriter, parse_json, walk, walk_record,
};
use floe_wire::{Decoder, Encoder, EncodingVersion};
use proptest::prelude::*;
use serde_json::json;

use crate::aligned::{AlignedReader, AlignedWriter, accept};
use crate::properties::model::{Entropy, RandomContract, random_contract};
use crate::support::contract;

const ENCODINGS: [EncodingVersion; 2] = [EncodingVersion::V1_0, EncodingVersion::V1_1];

fn encoded(
    contract: &Contract,
    r#type: DataType,
    value: &Value,
    encoding: EncodingVersion,
) -> Vec<u8> {
    to_ice(
        contract,
        r#type,
        &mut ValueReader::new(value, false),
        encoding,
    )
    .expect("it is of the type")
}

/// Walks from a reader to bytes of Ice.
fn to_ice<R: floe_dynamic::Reader>(
    contract: &Contract,
    r#type: DataType,
    reader: &mut R,
    encoding: EncodingVersion,
) -> Result<Vec<u8>, String>
where
    R::Error: std::fmt::Display,
{
    let mut bytes = Vec::new();
    let mut encoder = Encoder::new(&mut bytes, encoding);
    let layout = contract.layout_of(r#type);
    let walked = walk(&layout, reader, &mut IceWriter::new(&mut encoder));
    walked.map_err(|error| error.to_string())?;
    encoder.finish().map_err(|error| error.to_string())?;
    Ok(bytes)
}

/// Walks from bytes of Ice to a writer.
fn from_ice<W: floe_dynamic::Writer>(
    contract: &Contract,
    r#type: DataType,
    bytes: &[u8],
    encoding: EncodingVersion,
    mut writer: W,
) -> Result<W, String>
where
    W::Error: std::fmt::Display,
{
    let mut decoder = Decoder::new(bytes, encoding);
    let layout = contract.layout_of(r#type);
    let walked = walk(
        &layout,
        &mut IceReader::new(contract, &mut decoder),
        &mut writer,
    );
    walked.map(|()| writer).map_err(|error| error.to_string())
}

/// The bytes after they have been JSON text.
fn through_json(
    contract: &Contract,
    r#type: DataType,
    bytes: &[u8],
    encoding: EncodingVersion,
) -> Result<Vec<u8>, String> {
    let writer = from_ice(contract, r#type, bytes, encoding, JsonWriter::new(contract))?;
    let json = parse_json(&writer.into_text()).map_err(|error| error.to_string())?;
    let mut reader = JsonReader::new(contract, "value", &json);
    to_ice(contract, r#type, &mut reader, encoding)
}

fn through_value(
    contract: &Contract,
    r#type: DataType,
    bytes: &[u8],
    encoding: EncodingVersion,
) -> Result<Vec<u8>, String> {
    let value = from_ice(contract, r#type, bytes, encoding, ValueWriter::default())?.into_value();
    Ok(encoded(contract, r#type, &value, encoding))
}

fn through_aligned(
    contract: &Contract,
    r#type: DataType,
    bytes: &[u8],
    encoding: EncodingVersion,
) -> Result<Vec<u8>, String> {
    let aligned = from_ice(contract, r#type, bytes, encoding, AlignedWriter::default())?;
    let mut reader = AlignedReader::new(&aligned.0);
    to_ice(contract, r#type, &mut reader, encoding)
}

/// Returns true if no part of a value has a NUL in a string, or a key twice.
fn is_sayable(value: &Value) -> bool {
    match value {
        Value::String(text) => !text.contains('\0'),
        Value::Struct(values) | Value::Sequence(values) => values.iter().all(is_sayable),
        Value::Dictionary(entries) => {
            let keys: std::collections::HashSet<String> =
                entries.iter().map(|(key, _)| format!("{key:?}")).collect();
            keys.len() == entries.len()
                && entries
                    .iter()
                    .all(|(key, value)| is_sayable(key) && is_sayable(value))
        }
        _ => true,
    }
}

proptest! {
    #[test]
    fn our_bytes_are_the_same_after_they_have_been_another_format(
        random in random_contract(),
        entropy in prop::collection::vec(any::<u8>(), 0..300),
    ) {
        let RandomContract { contract, r#type, .. } = random;
        let value = Entropy::new(&entropy).value(&contract, r#type);
        for encoding in ENCODINGS {
            let bytes = encoded(&contract, r#type, &value, encoding);
            prop_assert_eq!(through_value(&contract, r#type, &bytes, encoding), Ok(bytes.clone()));
            prop_assert_eq!(through_json(&contract, r#type, &bytes, encoding), Ok(bytes.clone()));
            let layout = contract.layout_of(r#type);
            if layout.check(accept).is_ok() && is_sayable(&value) {
                prop_assert_eq!(through_aligned(&contract, r#type, &bytes, encoding), Ok(bytes));
            }
        }
    }

    #[test]
    fn other_bytes_are_refused_by_all_or_give_one_value(
        random in random_contract(),
        entropy in prop::collection::vec(any::<u8>(), 0..300),
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
    ) {
        let RandomContract { contract, r#type, .. } = random;
        let value = Entropy::new(&entropy).value(&contract, r#type);
        for encoding in ENCODINGS {
            let mut bytes = encoded(&contract, r#type, &value, encoding);
            for (place, byte) in &damage {
                let place = place.index(bytes.len());
                bytes[place] = *byte;
            }
            let json = from_ice(&contract, r#type, &bytes, encoding, JsonWriter::new(&contract));
            let json = json.map(JsonWriter::into_text);
            match from_ice(&contract, r#type, &bytes, encoding, ValueWriter::default()) {
                Err(error) => prop_assert_eq!(json.err(), Some(error)),
                Ok(writer) => {
                    let value = writer.into_value();
                    let of_value = contract.value_to_json(r#type, &value).to_string();
                    prop_assert_eq!(json.as_ref(), Ok(&of_value));
                    let layout = contract.layout_of(r#type);
                    if layout.check(accept).is_ok() && is_sayable(&value) {
                        let again = through_aligned(&contract, r#type, &bytes, encoding);
                        prop_assert_eq!(again, Ok(encoded(&contract, r#type, &value, encoding)));
                    }
                }
            }
        }
    }

    #[test]
    fn random_bytes_of_the_aligned_format_are_read_or_refused(
        random in random_contract(),
        bytes in prop::collection::vec(any::<u8>(), 0..100),
    ) {
        let RandomContract { contract, r#type, .. } = random;
        let mut reader = AlignedReader::new(&bytes);
        let _ = to_ice(&contract, r#type, &mut reader, EncodingVersion::V1_1);
    }
}

const ORDERS: &str = "
    module M
    {
        class Tree { Tree left; string name; }
        struct Item { string name; int count; }
        sequence<Item> Items;
        struct Order { long id; Items items; }
        dictionary<int, string> Names;
        dictionary<string, Items> Stock;
        sequence<Tree> Trees;
        struct Plan { int id; Trees trees; }
        interface I
        {
            optional(3) int find(optional(9) string name, short kind, optional(1) Items like, out string text, out optional(2) Items found);
            int count(Order order, out string text);
            void plant(int height, Plan plan);
            void name(Names names, Stock stock);
            void measure(double value, float other);
        }
    }";

#[test]
fn a_return_value_comes_first_in_a_format_that_wants_it_there() {
    let contract = contract(ORDERS);
    let count = contract.operation("count").expect("it is there");
    let reply = count
        .encode_reply(
            &json!({"returnValue": 7, "text": "all"}),
            EncodingVersion::V1_1,
        )
        .expect("it fits");
    let mut writer = AlignedWriter::default();
    count.reply_to(&reply, &mut writer).expect("our own bytes");
    assert_eq!(writer.0, b"\0\0\0\x07\0\0\0\x03all");
    let again = count.reply_from(&mut AlignedReader::new(&writer.0), EncodingVersion::V1_1);
    assert_eq!(again, Ok(reply));
}

#[test]
fn optional_parameters_go_through_all_formats_in_the_order_of_each() {
    let contract = contract(ORDERS);
    let find = contract.operation("find").expect("it is there");
    for json in [
        json!({"name": "a", "kind": 1, "like": [{"name": "b", "count": 2}]}),
        json!({"kind": 1}),
        json!({"kind": 1, "like": []}),
    ] {
        let bytes = find
            .encode_request(&json, EncodingVersion::V1_1)
            .expect("it fits");
        assert_eq!(find.request_text(&bytes), Ok(json.to_string()));
        let mut writer = AlignedWriter::default();
        find.request_to(&bytes, &mut writer).expect("our own bytes");
        let mut reader = AlignedReader::new(&writer.0);
        let again = find.request_from(&mut reader, EncodingVersion::V1_1);
        assert_eq!(again.as_ref(), Ok(&bytes));
        let mut tree = ValueWriter::default();
        find.request_to(&bytes, &mut tree).expect("our own bytes");
        let tree = tree.into_value();
        let again = find.request_from(&mut ValueReader::new(&tree, false), EncodingVersion::V1_1);
        assert_eq!(again, Ok(bytes));
    }
    let results = json!({"returnValue": 3, "text": "t", "found": []});
    let reply = find
        .encode_reply(&results, EncodingVersion::V1_1)
        .expect("it fits");
    assert_eq!(
        find.decode_reply(&reply).map(|json| json.to_string()),
        Ok(results.to_string())
    );
}

#[test]
fn optional_parameters_are_left_out_of_encoding_1_0() {
    let contract = contract(ORDERS);
    let find = contract.operation("find").expect("it is there");
    let json = json!({"name": "a", "kind": 1, "like": [{"name": "b", "count": 2}]});
    let bytes = find
        .encode_request(&json, EncodingVersion::V1_0)
        .expect("it fits");
    assert_eq!(find.request_text(&bytes), Ok(r#"{"kind":1}"#.to_owned()));
}

#[test]
fn a_format_refuses_a_type_with_its_path_before_a_value_comes() {
    let contract = contract(ORDERS);
    let plant = contract.operation("plant").expect("it is there");
    let refused = plant.inputs().check(accept).expect_err("there is a class");
    assert_eq!(
        refused.to_string(),
        "plant.plan.trees[]: the aligned format has no class instances"
    );
    let order = contract.data_type("M::Order").expect("it is there");
    assert_eq!(contract.layout_of(order).check(accept), Ok(()));
}

#[test]
fn a_format_refuses_a_value_with_its_path_when_it_comes() {
    let contract = contract(ORDERS);
    let count = contract.operation("count").expect("it is there");
    let items = json!([{"name": "a", "count": 1}, {"name": "b\u{0}", "count": 2}]);
    let json = json!({"order": {"id": 5, "items": items}});
    let bytes = count
        .encode_request(&json, EncodingVersion::V1_1)
        .expect("Ice has strings with a NUL");
    let refused = count.request_to(&bytes, &mut AlignedWriter::default());
    let refused = refused.expect_err("the format has not");
    assert_eq!(
        refused.to_string(),
        "params.order.items[1].name: expected text without a NUL, got one at byte 1"
    );
    assert!(matches!(refused.cause, Cause::Write(_)));
    let cut = count.request_to(&bytes[..bytes.len() - 1], &mut AlignedWriter::default());
    assert!(matches!(cut.expect_err("it is cut").cause, Cause::Read(_)));
}

#[test]
fn json_goes_to_another_format_without_bytes_of_ice_between() {
    let contract = contract(ORDERS);
    let count = contract.operation("count").expect("it is there");
    let json = json!([{"id": 5, "items": []}]);
    let mut writer = AlignedWriter::default();
    let mut reader = JsonReader::new(&contract, "params", &json);
    walk_record(count.inputs(), "params", &mut reader, &mut writer).expect("it fits");
    assert_eq!(writer.0, b"\0\0\0\0\0\0\0\x05\0\0\0\0");
    let wrong = json!([{"id": "x", "itms": []}]);
    let mut reader = JsonReader::new(&contract, "params", &wrong);
    let error = walk_record(
        count.inputs(),
        "params",
        &mut reader,
        &mut AlignedWriter::default(),
    );
    let Cause::Read(error) = error.expect_err("it is wrong").cause else {
        panic!("the JSON is wrong, and not the format");
    };
    assert_eq!(error.problems().len(), 3, "all mistakes are told: {error}");
}

#[test]
fn a_key_that_comes_twice_counts_as_it_came_last() {
    let contract = contract(ORDERS);
    let name = contract.operation("name").expect("it is there");
    let payload = b"\x03\x02\0\0\0\x01b\x01\0\0\0\x01a\x02\0\0\0\x01c\0";
    let mut bytes = (payload.len() as u32 + 6).to_le_bytes().to_vec();
    bytes.extend_from_slice(b"\x01\x01");
    bytes.extend_from_slice(payload);
    assert_eq!(
        name.request_text(&bytes),
        Ok(r#"{"names":{"1":"a","2":"c"},"stock":{}}"#.to_owned())
    );
}

#[test]
fn keys_with_a_dollar_are_written_as_pairs() {
    let contract = contract(ORDERS);
    let name = contract.operation("name").expect("it is there");
    let json = json!({"names": {}, "stock": [["b", []], ["$a", [{"name": "n", "count": 1}]]]});
    let bytes = name
        .encode_request(&json, EncodingVersion::V1_1)
        .expect("it fits");
    assert_eq!(name.request_text(&bytes), Ok(json.to_string()));
}

#[test]
fn json_loses_the_payload_of_a_nan_and_nothing_else() {
    let contract = contract(ORDERS);
    let double = contract.data_type("double").expect("built in");
    let strange = f64::from_bits(0x7ff8_0000_0000_1234);
    let bytes = strange.to_le_bytes();
    let again = through_json(&contract, double, &bytes, EncodingVersion::V1_1);
    assert_eq!(again, Ok(f64::NAN.to_le_bytes().to_vec()));
    for number in [
        -0.0,
        f64::MIN_POSITIVE / 3.0,
        f64::MAX,
        1e16,
        0.1,
        f64::NEG_INFINITY,
    ] {
        let bytes = number.to_le_bytes().to_vec();
        let again = through_json(&contract, double, &bytes, EncodingVersion::V1_1);
        assert_eq!(again, Ok(bytes), "{number}");
    }
    let float = contract.data_type("float").expect("built in");
    for number in [
        0.1_f32,
        1e14,
        f32::MAX,
        f32::MIN_POSITIVE / 3.0,
        -0.0,
        16_777_217.0,
    ] {
        let bytes = number.to_le_bytes().to_vec();
        let again = through_json(&contract, float, &bytes, EncodingVersion::V1_1);
        assert_eq!(again, Ok(bytes), "{number}");
    }
}
