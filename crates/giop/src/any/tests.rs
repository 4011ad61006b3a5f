//! Values in other formats and at other places, and hostile bytes.

use super::*;
use crate::cdr::{
    CodeSet, CodeSets, DecodeErrorKind, Decoder, EncodeError, Encoder, Endian, Format, Version,
};
use crate::type_code::{Member, NamedKind, TypeCode, TypeName};

fn big() -> Format {
    Format::utf8(Endian::Big)
}

fn empty_struct() -> TypeCode {
    TypeCode::structure(TypeName::default(), Vec::new())
}

fn mixed() -> (TypeCode, Value) {
    let members = vec![
        Member::new("a", TypeCode::Octet),
        Member::new("b", TypeCode::Double),
        Member::new("c", TypeCode::STRING),
        Member::new("d", TypeCode::sequence(TypeCode::LongLong)),
    ];
    let value = Value::Struct(vec![
        Value::Octet(1),
        Value::Double(2.5),
        Value::String("é".to_owned()),
        Value::Sequence(vec![Value::LongLong(-3)]),
    ]);
    (TypeCode::structure(TypeName::default(), members), value)
}

#[test]
fn an_any_means_the_same_at_each_offset_and_in_each_byte_order() {
    let (code, value) = mixed();
    for (from, to) in [
        (Endian::Big, Endian::Little),
        (Endian::Little, Endian::Little),
    ] {
        let mut any = Any::new(code.clone(), &value, Format::utf8(from)).expect("it is one");
        for offset in 0..8 {
            let mut encoder = Encoder::at(offset, Format::utf8(to));
            any.encode(&mut encoder).expect("it is one");
            let bytes = encoder.into_bytes();
            let mut decoder = Decoder::at(&bytes, offset, Format::utf8(to));
            any = Any::decode(&mut decoder).expect("it is one");
            decoder.finish("any").expect("nothing is left");
            assert_eq!(any.value().as_ref(), Ok(&value), "at {offset}");
        }
    }
}

#[test]
fn text_changes_its_code_set_or_says_which_character_has_none() {
    let code = TypeCode::STRING;
    let latin = Format::plain(Version::V1_2, Endian::Big);
    for (text, fits) in [("é", true), ("€", false)] {
        let value = Value::String(text.to_owned());
        let any = Any::new(code.clone(), &value, big()).expect("it is one");
        let mut encoder = Encoder::new(latin);
        let encoded = any.encode(&mut encoder);
        if fits {
            let back = Any::decode(&mut Decoder::new(encoder.as_bytes(), latin));
            assert_eq!(back.expect("it is one").value(), Ok(value));
        } else {
            let (character, code_set) = ('€', CodeSet::ISO_8859_1);
            assert_eq!(
                encoded,
                Err(EncodeError::NotInCodeSet {
                    character,
                    code_set
                })
            );
        }
    }
}

#[test]
fn wide_text_survives_the_versions_that_have_it() {
    for version in [Version::V1_1, Version::V1_2] {
        let format = Format {
            version,
            ..Format::utf8(Endian::Little)
        };
        let value = Value::WString("🦀 \u{feff}é".to_owned());
        let any = Any::new(TypeCode::WString(0), &value, format).expect("it is one");
        assert_eq!(any.value(), Ok(value), "{version}");
    }
    let format = Format {
        version: Version::V1_0,
        ..big()
    };
    let value = Value::WChar('é');
    let refused = Any::new(TypeCode::WChar, &value, format);
    assert_eq!(refused, Err(EncodeError::NoWideCodeSet));
    assert_eq!(CodeSets::default().wide, None);
}

#[test]
fn wide_text_of_a_peer_may_begin_with_a_mark() {
    for (bytes, expected) in [
        (&[0, 0, 0, 4, 0xfe, 0xff, 0, b'a'][..], Some("a")),
        (&[0, 0, 0, 4, 0xff, 0xfe, b'a', 0][..], Some("a")),
        (&[0, 0, 0, 2, 0, b'a'][..], Some("a")),
        (&[0, 0, 0, 0][..], Some("")),
        (&[0, 0, 0, 1, 0][..], None),
        (&[0, 0, 0, 2, 0xd8, 0][..], None),
    ] {
        let text = Decoder::new(bytes, big()).wstring("text");
        assert_eq!(text.ok().as_deref(), expected, "{bytes:?}");
    }
}

#[test]
fn four_billion_values_without_bytes_are_refused() {
    let array = |element: TypeCode| TypeCode::Array {
        element: element.into(),
        len: u32::MAX,
    };
    for code in [array(empty_struct()), array(array(array(TypeCode::Null)))] {
        let error = skip_value(&code, &mut Decoder::new(&[], big())).expect_err("it is hostile");
        assert_eq!(error.kind, DecodeErrorKind::TooManyEmpty(EMPTY_VALUES_MAX));
        let error = Value::decode(&code, &mut Decoder::new(&[], big())).expect_err("it is hostile");
        assert_eq!(error.kind, DecodeErrorKind::TooManyEmpty(EMPTY_VALUES_MAX));
    }
    let sequence = TypeCode::sequence(empty_struct());
    let bytes = u32::MAX.to_be_bytes();
    let error = Value::decode(&sequence, &mut Decoder::new(&bytes, big())).expect_err("hostile");
    assert_eq!(error.kind, DecodeErrorKind::TooManyEmpty(EMPTY_VALUES_MAX));
}

#[test]
fn lengths_of_four_billion_are_refused() {
    let bytes = [u32::MAX.to_be_bytes(); 4].concat();
    for code in [
        TypeCode::STRING,
        TypeCode::WString(0),
        TypeCode::sequence(TypeCode::Octet),
        TypeCode::sequence(TypeCode::LongDouble),
        TypeCode::sequence(TypeCode::STRING),
        TypeCode::Array {
            element: TypeCode::LongDouble.into(),
            len: u32::MAX,
        },
        TypeCode::Named(NamedKind::ObjectReference, TypeName::default()),
        TypeCode::Principal,
    ] {
        skip_value(&code, &mut Decoder::new(&bytes, big())).expect_err("it is hostile");
        Value::decode(&code, &mut Decoder::new(&bytes, big())).expect_err("it is hostile");
    }
}

#[test]
fn strings_must_end_with_nul_and_have_none_within() {
    for (bytes, expected) in [
        (&[0, 0, 0, 0][..], DecodeErrorKind::NoNul),
        (&[0, 0, 0, 1, b'a'][..], DecodeErrorKind::NoNul),
        (&[0, 0, 0, 3, b'a', 0, 0][..], DecodeErrorKind::InnerNul),
        (
            &[0, 0, 0, 2, 0xff, 0][..],
            DecodeErrorKind::InvalidText(CodeSet::UTF_8),
        ),
    ] {
        let error = Decoder::new(bytes, big())
            .string("text")
            .expect_err("it is hostile");
        assert_eq!(error.kind, expected);
    }
}

#[test]
fn a_struct_that_contains_itself_without_a_sequence_ends_at_the_depth_limit() {
    let members = vec![
        Member::new("a", TypeCode::Octet),
        Member::new("b", TypeCode::Recursive(1)),
    ];
    let code = TypeCode::structure(TypeName::default(), members);
    let bytes = [0; 1000];
    let error = skip_value(&code, &mut Decoder::new(&bytes, big())).expect_err("it never ends");
    assert_eq!(error.kind, DecodeErrorKind::TooDeep(VALUE_DEPTH_MAX));
}

#[test]
fn an_any_within_an_any_ends_at_the_depth_limit() {
    // The TypeCode of `any`, again and again.
    let bytes = 11u32.to_be_bytes().repeat(100_000);
    let error = Any::decode(&mut Decoder::new(&bytes, big())).expect_err("it never ends");
    assert_eq!(error.kind, DecodeErrorKind::TooDeep(VALUE_DEPTH_MAX));
}

#[test]
fn a_valuetype_that_is_not_null_says_that_it_is_not_supported() {
    let boxed = TypeCode::ValueBox {
        name: TypeName::default(),
        boxed: TypeCode::Long.into(),
    };
    assert_eq!(
        Value::decode(&boxed, &mut Decoder::new(&[0; 4], big())),
        Ok(Value::Null)
    );
    let bytes = 0x7fff_ff02u32.to_be_bytes();
    let error = skip_value(&boxed, &mut Decoder::new(&bytes, big())).expect_err("not supported");
    assert!(error.to_string().contains("valuetypes"), "{error}");
}

#[test]
fn a_value_of_another_type_is_not_encoded() {
    let (code, _) = mixed();
    let refused = Any::new(code, &Value::Long(1), big());
    assert_eq!(refused, Err(EncodeError::NotOfType("a struct")));
}

#[test]
fn a_value_is_not_larger_than_its_memory_limit_says() {
    assert!(size_of::<Value>() <= VALUE_MEMORY_PER_BYTE / 2);
}
