//! Tagged parameters.

use std::collections::BTreeMap;
use std::fmt::Debug;

use floe_wire::encoding::{Link, TagFormat, Tagged};
use floe_wire::reference::Reference;
use floe_wire::{Decode, DecodeErrorKind, Decoder, Encoder, EncodingVersion};

use crate::file::{Vector, hex, load};
use crate::types::{self, Build, Graph};

#[test]
fn tagged_parameters_are_read_and_written_as_ice_does() {
    for vector in load("optionals") {
        match vector.text("type") {
            "bool" => run::<bool>(&vector),
            "byte" => run::<u8>(&vector),
            "short" => run::<i16>(&vector),
            "int" => run::<i32>(&vector),
            "long" => run::<i64>(&vector),
            "float" => run::<f32>(&vector),
            "double" => run::<f64>(&vector),
            "string" => run::<String>(&vector),
            "V::Color" => run::<types::Color>(&vector),
            "V::EBig" => run::<types::EBig>(&vector),
            "V::Point" => run::<types::Point>(&vector),
            "V::Key" => run::<types::Key>(&vector),
            "V::ByteSeq" => run::<Vec<u8>>(&vector),
            "V::BoolSeq" => run::<Vec<bool>>(&vector),
            "V::ShortSeq" => run::<Vec<i16>>(&vector),
            "V::IntSeq" => run::<Vec<i32>>(&vector),
            "V::DoubleSeq" => run::<Vec<f64>>(&vector),
            "V::StringSeq" => run::<Vec<String>>(&vector),
            "V::PointSeq" => run::<Vec<types::Point>>(&vector),
            "V::Empty1Seq" => run::<Vec<types::Empty1>>(&vector),
            "V::IntStringDict" => run::<BTreeMap<i32, String>>(&vector),
            "V::ByteBoolDict" => run::<BTreeMap<u8, bool>>(&vector),
            "V::ShortDoubleDict" => run::<BTreeMap<i16, f64>>(&vector),
            "Object*" => run::<Option<Reference>>(&vector),
            "V::C1" => run::<Link<types::C1>>(&vector),
            other => panic!("{}: no type {other}", vector.name),
        }
    }
}

#[test]
fn a_tagged_value_is_unset_in_encoding_1_0() {
    let mut buffer = Vec::new();
    let mut encoder = Encoder::new(&mut buffer, EncodingVersion::V1_0);
    encoder.tagged(1, Some(&5_i32));
    encoder.finish().expect("encodable");
    assert!(buffer.is_empty());

    let bytes = [0x0A, 5, 0, 0, 0];
    let mut decoder = Decoder::new(&bytes, EncodingVersion::V1_0);
    assert_eq!(decoder.tagged::<i32>(1), Ok(None));
}

#[test]
fn borrowed_values_are_written_as_owned_ones() {
    let write = |write: &dyn Fn(&mut Encoder<'_>)| {
        let mut buffer = Vec::new();
        write(&mut Encoder::new(&mut buffer, EncodingVersion::V1_1));
        buffer
    };
    let ints = vec![1, 2];
    let owned = write(&|encoder| {
        encoder.tagged(1, Some(&"opt".to_owned()));
        encoder.tagged(2, Some(&ints));
        encoder.tagged::<String>(3, None);
    });
    let borrowed = write(&|encoder| {
        encoder.tagged(1, Some("opt"));
        encoder.tagged(2, Some(ints.as_slice()));
        encoder.tagged::<str>(3, None);
    });
    assert_eq!(borrowed, owned);
}

#[test]
fn unknown_tags_of_every_format_are_skipped() {
    let mut buffer = Vec::new();
    let mut encoder = Encoder::new(&mut buffer, EncodingVersion::V1_1);
    encoder.tagged(1, Some(&true));
    encoder.tagged(2, Some(&2_i16));
    encoder.tagged(3, Some(&3_i32));
    encoder.tagged(4, Some(&4_i64));
    encoder.tagged(5, Some(&types::EBig::Mid));
    encoder.tagged(6, Some(&"six".to_owned()));
    encoder.tagged(7, Some(&vec!["seven".to_owned()]));
    encoder.tagged(8, Some(&Link::<types::C1>::new(types::C1::default())));
    encoder.tagged(30, Some(&30_u8));
    encoder.tagged(70, Some(&70_u8));
    encoder.finish().expect("encodable");

    let mut decoder = Decoder::new(&buffer, EncodingVersion::V1_1);
    decoder.know_classes(<types::C1 as floe_wire::encoding::Class>::classes());
    assert_eq!(decoder.tagged::<u8>(29), Ok(None));
    assert_eq!(decoder.tagged::<u8>(30), Ok(Some(30)));
    assert_eq!(decoder.tagged::<u8>(31), Ok(None));
    decoder.finish().expect("the last one is skipped");
}

/// Observed, Ice 3.7.8: the parameter 5, then what it takes and what it refuses.
#[test]
fn an_end_marker_ends_an_encapsulation_if_nothing_follows() {
    let ended = |rest: &[u8]| {
        let bytes = [&[5, 0, 0, 0], rest].concat();
        let mut decoder = Decoder::new(&bytes, EncodingVersion::V1_1);
        assert_eq!(decoder.get(), Ok(5));
        assert_eq!(decoder.tagged::<i64>(2), Ok(None));
        decoder.finish().map_err(|error| (error.offset, error.kind))
    };
    assert_eq!(ended(&[0xFF]), Ok(()));
    assert_eq!(ended(&[0x08, 1, 0xFF]), Ok(()));
    let trailing = |offset, count| Err((offset, DecodeErrorKind::TrailingBytes(count)));
    assert_eq!(ended(&[0xFF, 0xFF]), trailing(5, 1));
    assert_eq!(ended(&[0xFF, 0x08, 1]), trailing(5, 2));
    assert_eq!(ended(&[0x08, 1, 0xFF, 0]), trailing(7, 1));
}

/// Observed, Ice 3.7.8 for C++: what it takes and refuses as parameters of an operation that has none.
#[test]
fn where_no_values_are_expected_anything_is_skipped_in_encoding_1_1_and_nothing_may_stand_in_1_0() {
    let nothing = |payload: &[u8], encoding| {
        let mut decoder = Decoder::new(payload, encoding);
        decoder.nothing().map_err(|error| error.kind)?;
        decoder.finish().map_err(|error| error.kind)
    };
    let payloads: [&[u8]; 6] = [&[], &[1], &[1, 2], &[8, 2], &[0xFF], &[8, 2, 0xFF]];
    for payload in payloads {
        assert_eq!(nothing(payload, EncodingVersion::V1_1), Ok(()));
        let in_1_0 = match payload.len() {
            0 => Ok(()),
            count => Err(DecodeErrorKind::TrailingBytes(count)),
        };
        assert_eq!(nothing(payload, EncodingVersion::V1_0), in_1_0);
    }
}

#[test]
fn a_known_tag_with_another_format_is_refused() {
    let bytes = [0x0A, 5, 0, 0, 0];
    let mut decoder = Decoder::new(&bytes, EncodingVersion::V1_1);
    let error = decoder.tagged::<i64>(1).expect_err("an int is no long");
    let kind = DecodeErrorKind::WrongTagFormat {
        tag: 1,
        expected: TagFormat::F8,
        got: TagFormat::F4,
    };
    assert_eq!(error.kind, kind);
    assert_eq!(error.offset, 0);
}

#[test]
fn a_tagged_value_takes_as_many_bytes_as_it_says() {
    // A structure of two ints that says 9, then 7 bytes; the ninth is there.
    for (len, kind) in [
        (9, DecodeErrorKind::TrailingBytes(1)),
        (
            7,
            DecodeErrorKind::EndOfData {
                needed: 4,
                remaining: 3,
            },
        ),
    ] {
        let bytes = [0x0D, len, 1, 0, 0, 0, 2, 0, 0, 0, 0];
        let mut decoder = Decoder::new(&bytes, EncodingVersion::V1_1);
        let error = decoder.tagged::<types::Point>(1).expect_err("refused");
        assert_eq!(error.kind, kind);
    }
}

fn run<T: Build + Tagged + Decode + PartialEq + Debug>(vector: &Vector) {
    let tag = vector.json["tag"].as_u64().expect("a tag");
    let tag = u32::try_from(tag).expect("a tag");
    let value: Option<T> = Graph::default().finished(|graph| graph.tagged(vector.value()));

    let mut encoded = Vec::new();
    let mut encoder = Encoder::new(&mut encoded, vector.encoding());
    encoder.tagged(tag, value.as_ref());
    encoder.finish().expect("encodable");
    assert_eq!(hex(&encoded), hex(&vector.bytes), "{}", vector.name);

    let mut decoder = Decoder::new(&vector.bytes, vector.encoding());
    let decoded = decoder.tagged(tag);
    assert_eq!(decoded, Ok(value), "{}", vector.name);
    decoder
        .finish()
        .unwrap_or_else(|error| panic!("{}: {error}", vector.name));
}
