//! Values of all generated types, alone and optional.

use std::fmt::Debug;

use floe::classes::{AnyClass, Link};
use floe::encoding::{ClassFormat, Decode, Decoder, Encode, Encoder, Tagged};
use floe::{Communicator, DecodeError, EncodingVersion, Proxy};

use crate::build::{Build, Graph};
use crate::contract::v;
use crate::file::{Vector, hex, load};

/// Runs `$run` with the Rust type of a vector.
macro_rules! by_type {
    ($vector:ident, $run:ident, $communicator:ident: $($slice:literal => $type:ty,)*) => {
        match $vector.text("type") {
            $($slice => $run::<$type>(&$vector, &$communicator),)*
            other => panic!("{}: no type {other}", $vector.name),
        }
    };
}

#[tokio::test]
async fn values_of_every_type_are_read_and_written_as_ice_does() {
    let communicator = Communicator::new();
    let mut count = 0;
    for file in [
        "primitives",
        "strings",
        "sizes",
        "sequences",
        "structs",
        "dictionaries",
        "enums",
        "proxies",
    ] {
        for vector in load(file) {
            by_type! { vector, run, communicator:
                "bool" => bool,
                "byte" => u8,
                "short" => i16,
                "int" => i32,
                "long" => i64,
                "float" => f32,
                "double" => f64,
                "string" => String,
                "Object*" => Option<Proxy>,
                "V::ProxySeq" => v::ProxySeq,
                "V::BoolSeq" => v::BoolSeq,
                "V::ByteSeq" => v::ByteSeq,
                "V::ShortSeq" => v::ShortSeq,
                "V::IntSeq" => v::IntSeq,
                "V::LongSeq" => v::LongSeq,
                "V::FloatSeq" => v::FloatSeq,
                "V::DoubleSeq" => v::DoubleSeq,
                "V::StringSeq" => v::StringSeq,
                "V::IntSeqSeq" => v::IntSeqSeq,
                "V::StringSeqSeq" => v::StringSeqSeq,
                "V::PointSeq" => v::PointSeq,
                "V::ColorSeq" => v::ColorSeq,
                "V::DictSeq" => v::DictSeq,
                "V::IntStringDict" => v::IntStringDict,
                "V::BoolShortDict" => v::BoolShortDict,
                "V::ByteBoolDict" => v::ByteBoolDict,
                "V::ShortDoubleDict" => v::ShortDoubleDict,
                "V::StringIntDict" => v::StringIntDict,
                "V::StringDictDict" => v::StringDictDict,
                "V::StringStringSeqDict" => v::StringStringSeqDict,
                "V::ColorStringDict" => v::ColorStringDict,
                "V::KeyPointDict" => v::KeyPointDict,
                "V::Point" => v::Point,
                "V::Line" => v::Line,
                "V::Prims" => v::Prims,
                "V::Nested" => v::Nested,
                "V::Defaults" => v::Defaults,
                "V::Record" => v::Record,
                "V::Color" => v::Color,
                "V::E126" => v::E126,
                "V::E127" => v::E127,
                "V::E254" => v::E254,
                "V::E255" => v::E255,
                "V::E300" => v::E300,
                "V::E32766" => v::E32766,
                "V::E32767" => v::E32767,
                "V::EBig" => v::EBig,
                "V::Gaps" => v::Gaps,
            };
            count += 1;
        }
    }
    assert_eq!(count, 171);
}

#[tokio::test]
async fn class_instances_are_read_and_written_as_ice_does() {
    let communicator = Communicator::new();
    for vector in load("classes") {
        by_type! { vector, run, communicator:
            "V::C0" => Link<v::C0>,
            "V::C1" => Link<v::C1>,
            "V::Node" => Link<v::Node>,
            "V::Tree" => Link<v::Tree>,
            "V::Compact1" => Link<v::Compact1>,
            "V::Base" => Link<v::Base>,
            "V::WithMembers" => Link<v::WithMembers>,
            "V::OptC" => Link<v::OptC>,
            "V::OptSelf" => Link<v::OptSelf>,
            "V::WithNode" => v::WithNode,
            "V::NodeSeq" => v::NodeSeq,
            "V::C1Seq" => v::C1Seq,
            "V::ValueSeq" => Vec<Link<dyn AnyClass>>,
            "V::NodeDict" => v::NodeDict,
        };
    }
}

#[tokio::test]
async fn optional_values_are_read_and_written_as_ice_does() {
    let communicator = Communicator::new();
    for vector in load("optionals") {
        by_type! { vector, run_tagged, communicator:
            "bool" => bool,
            "byte" => u8,
            "short" => i16,
            "int" => i32,
            "long" => i64,
            "float" => f32,
            "double" => f64,
            "string" => String,
            "V::Color" => v::Color,
            "V::EBig" => v::EBig,
            "V::Point" => v::Point,
            "V::Key" => v::Key,
            "V::ByteSeq" => v::ByteSeq,
            "V::BoolSeq" => v::BoolSeq,
            "V::ShortSeq" => v::ShortSeq,
            "V::IntSeq" => v::IntSeq,
            "V::DoubleSeq" => v::DoubleSeq,
            "V::StringSeq" => v::StringSeq,
            "V::PointSeq" => v::PointSeq,
            "V::Empty1Seq" => v::Empty1Seq,
            "V::IntStringDict" => v::IntStringDict,
            "V::ByteBoolDict" => v::ByteBoolDict,
            "V::ShortDoubleDict" => v::ShortDoubleDict,
            "Object*" => Option<Proxy>,
            "V::C1" => Link<v::C1>,
        };
    }
}

fn run<T: Build + Encode + Decode + PartialEq + Debug>(
    vector: &Vector,
    communicator: &Communicator,
) {
    let build = |json| Graph::with(communicator).finished(|graph| T::build(json, graph));
    let mut encoded = Vec::new();
    let mut encoder = Encoder::new(&mut encoded, vector.encoding());
    encoder.set_class_format(format(vector));
    encoder.put(&build(vector.value()));
    if uses_classes(vector) {
        encoder.finish_classes();
    }
    encoder.finish().expect("encodable");
    let is_exact = vector.json["exact"] == true;
    if is_exact {
        assert_eq!(hex(&encoded), hex(&vector.bytes), "{}", vector.name);
    }
    let expected = build(vector.decoded_value());
    for bytes in [&encoded, &vector.bytes] {
        let decoded: T = decode(vector, communicator, bytes, |decoder| decoder.get());
        // As text, because it tells -0.0 from 0.0, and NaN is like NaN.
        assert_eq!(
            format!("{decoded:?}"),
            format!("{expected:?}"),
            "{}",
            vector.name
        );
    }
}

fn run_tagged<T: Build + Tagged + Decode + PartialEq + Debug>(
    vector: &Vector,
    communicator: &Communicator,
) {
    let tag = vector.json["tag"].as_u64().expect("a tag");
    let tag = u32::try_from(tag).expect("a tag");
    let is_unset = vector.value()["$unset"] == true;
    let build = |graph: &mut Graph| (!is_unset).then(|| T::build(vector.value(), graph));
    let value = Graph::with(communicator).finished(build);
    let mut encoded = Vec::new();
    let mut encoder = Encoder::new(&mut encoded, vector.encoding());
    encoder.tagged(tag, value.as_ref());
    encoder.finish().expect("encodable");
    assert_eq!(hex(&encoded), hex(&vector.bytes), "{}", vector.name);
    let decoded: Option<T> = decode(vector, communicator, &vector.bytes, |decoder| {
        decoder.tagged(tag)
    });
    assert_eq!(decoded, value, "{}", vector.name);
}

fn decode<T>(
    vector: &Vector,
    communicator: &Communicator,
    bytes: &[u8],
    read: impl FnOnce(&mut Decoder<'_>) -> Result<T, DecodeError>,
) -> T {
    let mut decoder = Decoder::new(bytes, vector.encoding()).with_context(communicator);
    decoder.know_classes(&v::CLASSES);
    let read = || {
        let value = read(&mut decoder)?;
        if uses_classes(vector) {
            decoder.finish_classes()?;
        }
        decoder.finish()?;
        Ok::<T, DecodeError>(value)
    };
    read().unwrap_or_else(|error| panic!("{}: {error}", vector.name))
}

fn uses_classes(vector: &Vector) -> bool {
    let is_class = vector.json["slice"]
        .as_str()
        .is_some_and(|text| text.contains("class "));
    is_class && vector.json["tag"].is_null() && vector.encoding() == EncodingVersion::V1_0
}

fn format(vector: &Vector) -> ClassFormat {
    match vector.json["format"].as_str() {
        Some("sliced") => ClassFormat::Sliced,
        _ => ClassFormat::Compact,
    }
}
