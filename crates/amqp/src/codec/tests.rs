//! Values, read and written.

use proptest::prelude::*;

use super::*;

fn encoded(value: &Value) -> Vec<u8> {
    let mut writer = Writer::default();
    value.encode(&mut writer);
    writer.into_bytes()
}

fn decoded(bytes: &[u8]) -> Result<Value, CodecError> {
    Value::decode(&mut Reader::new(bytes), "a value")
}

fn values() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        any::<u8>().prop_map(Value::Ubyte),
        any::<u16>().prop_map(Value::Ushort),
        any::<u32>().prop_map(Value::Uint),
        (0u32..300).prop_map(Value::Uint),
        any::<u64>().prop_map(Value::Ulong),
        (0u64..300).prop_map(Value::Ulong),
        any::<i8>().prop_map(Value::Byte),
        any::<i16>().prop_map(Value::Short),
        any::<i32>().prop_map(Value::Int),
        (-300..300i32).prop_map(Value::Int),
        any::<i64>().prop_map(Value::Long),
        (-300..300i64).prop_map(Value::Long),
        (-1e9f32..1e9).prop_map(Value::Float),
        (-1e9f64..1e9).prop_map(Value::Double),
        any::<[u8; 4]>().prop_map(Value::Decimal32),
        any::<[u8; 8]>().prop_map(Value::Decimal64),
        any::<[u8; 16]>().prop_map(Value::Decimal128),
        any::<char>().prop_map(Value::Char),
        any::<i64>().prop_map(Value::Timestamp),
        any::<[u8; 16]>().prop_map(Value::Uuid),
        proptest::collection::vec(any::<u8>(), 0..300).prop_map(|b| Value::Binary(b.into())),
        ".{0,100}".prop_map(Value::String),
        "[a-z:-]{0,20}".prop_map(|text| Value::Symbol(Symbol::from_text(&text).expect("ASCII"))),
        proptest::collection::vec(any::<i64>().prop_map(Value::Long), 0..9)
            .prop_map(|values| Value::Array(Array::new(values).expect("of one type"))),
    ];
    leaf.prop_recursive(4, 64, 8, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..8).prop_map(Value::List),
            proptest::collection::vec((inner.clone(), inner.clone()), 0..8).prop_map(Value::Map),
            proptest::collection::vec(
                proptest::collection::vec(inner.clone(), 0..3).prop_map(Value::List),
                0..4
            )
            .prop_map(|values| Value::Array(Array::new(values).expect("of one type"))),
            inner.prop_map(|value| Value::Described(Box::new((Value::Ulong(0x70), value)))),
        ]
    })
}

proptest! {
    #[test]
    fn a_value_that_is_written_is_read_as_it_was(value in values()) {
        let bytes = encoded(&value);
        let mut reader = Reader::new(&bytes);
        reader.check("a value").expect("it is one");
        prop_assert!(reader.is_empty());
        let mut reader = Reader::new(&bytes);
        reader.skip("a value").expect("it is one");
        prop_assert!(reader.is_empty());
        prop_assert_eq!(decoded(&bytes), Ok(value));
    }

    #[test]
    fn a_value_that_is_cut_is_an_error(value in values(), cut in any::<prop::sample::Index>()) {
        let bytes = encoded(&value);
        let cut = &bytes[..cut.index(bytes.len())];
        prop_assert!(decoded(cut).is_err());
        prop_assert!(Reader::new(cut).check("a value").is_err());
        prop_assert!(Reader::new(cut).skip("a value").is_err());
    }

    #[test]
    fn any_bytes_end_well(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let mut checked = Reader::new(&bytes);
        let is_sound = checked.check("a value").is_ok();
        if decoded(&bytes).is_ok() {
            prop_assert!(is_sound);
        }
        let _ = Reader::new(&bytes).skip("a value");
        let _ = <Vec<Symbol>>::decode(&mut Reader::new(&bytes), "symbols");
    }
}

#[test]
fn a_value_nested_too_deeply_is_refused_before_the_stack_ends() {
    for level in [&[0xC0, 255, 1][..], &[0x00], &[0xE0, 255, 1]] {
        let mut bytes = level.repeat(200_000);
        bytes.push(0x40);
        assert!(decoded(&bytes).is_err());
        assert!(Reader::new(&bytes).check("a value").is_err());
        // It goes by the size of the outermost one, and so without a stack.
        let _ = Reader::new(&bytes).skip("a value");
    }
    let mut value = Value::Null;
    for _ in 1..DEPTH_MAX {
        value = Value::List(vec![value]);
    }
    assert_eq!(decoded(&encoded(&value)), Ok(value.clone()));
    let error = decoded(&encoded(&Value::List(vec![value]))).expect_err("too deep");
    assert_eq!(error.kind, CodecErrorKind::TooDeep);
}

#[test]
fn an_array_of_millions_of_nulls_in_ten_bytes_is_refused() {
    let bytes = [0xF0, 0, 0, 0, 5, 0x0F, 0xFF, 0xFF, 0xFF, 0x40];
    let error = decoded(&bytes).expect_err("too many");
    assert_eq!(error.kind, CodecErrorKind::TooMany(ELEMENTS_MAX));
    let error = Reader::new(&bytes).check("a value").expect_err("too many");
    assert_eq!(error.kind, CodecErrorKind::TooMany(ELEMENTS_MAX));
}

#[test]
fn a_list_that_counts_more_values_than_bytes_is_refused() {
    for bytes in [
        &[0xD0, 0, 0, 0, 4, 0xFF, 0xFF, 0xFF, 0xFF][..],
        &[0xD0, 0, 0, 0, 0, 0, 0, 0, 1],
        &[0xC0, 0, 1],
        &[0xC1, 2, 1, 0x40],
    ] {
        assert!(decoded(bytes).is_err(), "{bytes:x?}");
        assert!(Reader::new(bytes).check("a value").is_err(), "{bytes:x?}");
    }
}

#[test]
fn an_error_says_what_was_expected_what_came_and_where() {
    let error = decoded(&[0xC0, 3, 2, 0x40, 0x3F]).expect_err("0x3f is no constructor");
    let text = "expected a value, got the unknown constructor 0x3f, at byte 5";
    assert_eq!(error.to_string(), text);
}

#[test]
fn several_symbols_are_an_array_and_one_may_stand_alone() {
    let symbols = vec![Symbol::new("topic"), Symbol::new("queue")];
    let mut writer = Writer::default();
    symbols.encode(&mut writer);
    let bytes = writer.into_bytes();
    let read = <Vec<Symbol>>::decode(&mut Reader::new(&bytes), "symbols");
    assert_eq!(read, Ok(symbols));
    let many = vec![Symbol::new(""); SYMBOLS_MAX + 1];
    let mut writer = Writer::default();
    many.encode(&mut writer);
    let bytes = writer.into_bytes();
    let error = <Vec<Symbol>>::decode(&mut Reader::new(&bytes), "symbols").expect_err("too many");
    assert_eq!(
        error.to_string(),
        "expected symbols, got more than 256 elements, at byte 10"
    );
    let alone = <Vec<Symbol>>::decode(&mut Reader::new(b"\xA3\x05topic"), "symbols");
    assert_eq!(alone, Ok(vec![Symbol::new("topic")]));
}

#[test]
fn a_value_takes_as_much_memory_as_the_limit_of_elements_says() {
    assert!(size_of::<Value>() <= 40, "{} bytes", size_of::<Value>());
}
