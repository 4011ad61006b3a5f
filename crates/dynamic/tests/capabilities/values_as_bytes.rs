//! Bytes that are no value of a type, and values that are not of the type.

use floe_dynamic::{EncodeValueErrorKind, Value};
use floe_wire::{DecodeErrorKind, Decoder, EncodeError, Encoder, EncodingVersion};

use crate::support::contract;

const SLICE: &str = "
module M
{
    enum Color { red, green = 5 }
    struct Point { int x; int y; }
    sequence<Point> Points;
    sequence<byte> Bytes;
    dictionary<short, Point> Places;
    struct Shape { Color color; Points points; }
}
";

fn refused_bytes(r#type: &str, bytes: &[u8]) -> String {
    let contract = contract(SLICE);
    let r#type = contract.data_type(r#type).expect("a supported type");
    let mut decoder = Decoder::new(bytes, EncodingVersion::V1_1);
    let error = contract.decode(r#type, &mut decoder);
    error.expect_err("the bytes are wrong").to_string()
}

fn refused_value(r#type: &str, value: &Value) -> (String, EncodeValueErrorKind) {
    let contract = contract(SLICE);
    let r#type = contract.data_type(r#type).expect("a supported type");
    let mut bytes = Vec::new();
    let mut encoder = Encoder::new(&mut bytes, EncodingVersion::V1_1);
    let error = contract.encode(r#type, value, &mut encoder);
    let error = error.expect_err("the value is of another type");
    (error.path, error.kind)
}

fn mismatch(expected: &str, found: &'static str) -> EncodeValueErrorKind {
    let expected = expected.to_owned();
    let found = found.to_owned();
    EncodeValueErrorKind::Mismatch { expected, found }
}

#[test]
fn a_count_of_more_elements_than_can_follow_is_refused_before_any_is_read() {
    // Two points take 16 bytes, two entries at least 20.
    let bytes = [&[2_u8][..], &[0; 10]].concat();
    assert_eq!(
        refused_bytes("M::Points", &bytes),
        "value: cannot decode sequence at byte 0: expected 16 more bytes, 10 are left"
    );
    assert_eq!(
        refused_bytes("M::Places", &bytes),
        "value: cannot decode dictionary at byte 0: expected 20 more bytes, 10 are left"
    );
}

#[test]
fn bytes_that_name_no_enumerator_are_refused_with_their_path() {
    assert_eq!(
        refused_bytes("M::Shape", &[3, 0]),
        "value.color: cannot decode enumerator at byte 0: no enumerator has the value 3"
    );
}

#[test]
fn a_part_that_cannot_be_decoded_is_named_with_its_path() {
    assert_eq!(
        refused_bytes("M::Shape", &[5, 1, 0, 0, 0, 0]),
        "value.points: cannot decode sequence at byte 1: expected 8 more bytes, 4 are left"
    );
}

#[test]
fn a_value_of_another_type_is_refused_with_its_path() {
    let point = Value::Struct(vec![Value::Int(1), Value::String("2".to_owned())]);
    let shape = Value::Struct(vec![Value::Enumerator(5), Value::Sequence(vec![point])]);
    assert_eq!(
        refused_value("M::Shape", &shape),
        ("value.points[0].y".to_owned(), mismatch("int", "string"))
    );
}

#[test]
fn a_struct_with_too_few_members_is_refused() {
    let value = Value::Struct(vec![Value::Int(1)]);
    let (path, kind) = refused_value("M::Point", &value);
    assert_eq!(path, "value");
    assert_eq!(kind, mismatch("::M::Point", "struct"));
}

#[test]
fn a_number_that_is_no_enumerator_is_refused() {
    let (path, kind) = refused_value("M::Color", &Value::Enumerator(1));
    assert_eq!(path, "value");
    let error = EncodeError::InvalidEnumerator(1);
    assert_eq!(kind, EncodeValueErrorKind::Encode(error));
}

#[test]
fn bytes_have_a_sequence_of_their_own() {
    let value = Value::Sequence(vec![Value::Byte(1)]);
    let (_, kind) = refused_value("M::Bytes", &value);
    assert_eq!(kind, mismatch("::M::Bytes", "sequence"));
    let (_, kind) = refused_value("M::Points", &Value::Bytes(vec![1]));
    assert_eq!(kind, mismatch("::M::Points", "sequence<byte>"));
}

#[test]
fn an_error_of_decoding_tells_the_kind_and_offset_to_programs() {
    let contract = contract(SLICE);
    let r#type = contract.data_type("string").expect("a built-in type");
    let mut decoder = Decoder::new(b"\x02a\xff", EncodingVersion::V1_1);
    let error = contract.decode(r#type, &mut decoder).expect_err("no UTF-8");
    assert_eq!(error.path, "value");
    assert_eq!(error.error.kind, DecodeErrorKind::InvalidUtf8);
    assert_eq!(error.error.offset, 2);
}
