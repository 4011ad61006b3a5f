//! Class instances: graphs, and what is kept of classes that are not known.

use std::collections::BTreeMap;
use std::fmt::Debug;

use floe_wire::encoding::{AnyClass, ClassFormat, Link};
use floe_wire::{Decode, DecodeError, DecodeErrorKind, Decoder, Encode, Encoder, EncodingVersion};

use crate::file::{Vector, from_hex, hex, load};
use crate::types::{self, Build, Graph};

#[test]
fn class_instances_are_read_and_written_as_ice_does() {
    for vector in load("classes") {
        match vector.text("type") {
            "V::C0" => run::<Link<types::C0>>(&vector),
            "V::C1" => run::<Link<types::C1>>(&vector),
            "V::Node" => run::<Link<types::Node>>(&vector),
            "V::Tree" => run::<Link<types::Tree>>(&vector),
            "V::Compact1" => run::<Link<types::Compact1>>(&vector),
            "V::Base" => run::<Link<types::Base>>(&vector),
            "V::WithMembers" => run::<Link<types::WithMembers>>(&vector),
            "V::OptC" => run::<Link<types::OptC>>(&vector),
            "V::OptSelf" => run::<Link<types::OptSelf>>(&vector),
            "V::WithNode" => run::<types::WithNode>(&vector),
            "V::NodeSeq" => run::<Vec<Link<types::Node>>>(&vector),
            "V::C1Seq" => run::<Vec<Link<types::C1>>>(&vector),
            "V::ValueSeq" => run::<Vec<Link<dyn AnyClass>>>(&vector),
            "V::NodeDict" => run::<BTreeMap<String, Link<types::Node>>>(&vector),
            other => panic!("{}: no type {other}", vector.name),
        }
    }
}

fn run<T: Build + Encode + Decode + PartialEq + Debug>(vector: &Vector) {
    let (encoding, format) = (vector.encoding(), format(vector));
    let value = Graph::default().finished(|graph| T::build(vector.value(), graph));
    let encoded = encode(&value, encoding, format);
    if vector.json["exact"] == true {
        assert_eq!(hex(&encoded), hex(&vector.bytes), "{}", vector.name);
    }
    let expected = Graph::default().finished(|graph| T::build(vector.decoded_value(), graph));
    for bytes in [&encoded, &vector.bytes] {
        let decoded: T =
            decode(bytes, encoding).unwrap_or_else(|error| panic!("{}: {error}", vector.name));
        assert_eq!(decoded, expected, "{}", vector.name);
    }
}

/// As Ice 3.8 we keep unknown slices of every class, so what Ice 3.7 loses of a class without the
/// `preserve-slice` metadata, in module `S` those with an S, comes back whole.
#[test]
fn unknown_slices_are_kept_and_sent_again() {
    for vector in load("slicing") {
        let request = from_hex(vector.text("request_payload_hex"));
        let echoed = match vector.text("operation") {
            "pecho" => echo::<types::PBase>(&request, vector.encoding(), ClassFormat::Sliced),
            "secho" => echo::<types::SBase>(&request, vector.encoding(), ClassFormat::Sliced),
            "cecho" => echo::<types::SBase>(&request, vector.encoding(), ClassFormat::Compact),
            "oecho" => echo::<dyn AnyClass>(&request, vector.encoding(), ClassFormat::Sliced),
            other => panic!("{}: no operation {other}", vector.name),
        };
        let Some(reply) = vector.json["reply_payload_hex"].as_str() else {
            let kind = DecodeErrorKind::UnknownClass("::S::SUnknown".to_owned());
            assert_eq!(echoed.expect_err(&vector.name).kind, kind);
            continue;
        };
        let echoed = echoed.unwrap_or_else(|error| panic!("{}: {error}", vector.name));
        let is_kept_by_us_only =
            vector.encoding() == EncodingVersion::V1_1 && reply != hex(&request);
        match is_kept_by_us_only {
            true => assert_eq!(hex(&echoed), hex(&request), "{}", vector.name),
            false => assert_eq!(hex(&echoed), reply, "{}", vector.name),
        }
    }
}

#[test]
fn a_sender_reads_its_own_classes_from_what_was_kept() {
    let mut count = 0;
    for vector in load("slicing") {
        let Some(reply) = vector.json["reply_payload_hex"].as_str() else {
            continue;
        };
        let bytes = from_hex(reply);
        let mut decoder = Decoder::new(&bytes, vector.encoding()).with_classes(&types::SENDER);
        let decoded: Link<dyn AnyClass> = decoder.get().expect(&vector.name);
        decoder.finish_classes().expect(&vector.name);
        decoder.finish().expect(&vector.name);
        let expected = &vector.json["value_after_echo"];
        let expected =
            Graph::default().finished(|graph| Link::<dyn AnyClass>::build(expected, graph));
        assert_eq!(decoded, expected, "{}", vector.name);
        count += 1;
    }
    assert_eq!(count, 15);
}

/// Reads an instance as the receiver of the vectors does, and writes it again.
fn echo<T: floe_wire::encoding::ClassType + ?Sized>(
    request: &[u8],
    encoding: EncodingVersion,
    format: ClassFormat,
) -> Result<Vec<u8>, DecodeError> {
    let mut decoder = Decoder::new(request, encoding).with_classes(&types::RECEIVER);
    let instance: Link<T> = decoder.get()?;
    decoder.finish_classes()?;
    decoder.finish()?;
    Ok(encode(&instance, encoding, format))
}

fn format(vector: &Vector) -> ClassFormat {
    match vector.json["format"].as_str() {
        Some("sliced") => ClassFormat::Sliced,
        Some("compact") | None => ClassFormat::Compact,
        Some(other) => panic!("{}: no format {other}", vector.name),
    }
}

/// The parameters of an operation with one parameter, whose type uses classes.
pub(crate) fn encode<T: Encode>(
    value: &T,
    encoding: EncodingVersion,
    format: ClassFormat,
) -> Vec<u8> {
    let mut buffer = Vec::new();
    let mut encoder = Encoder::new(&mut buffer, encoding);
    encoder.set_class_format(format);
    encoder.put(value);
    encoder.finish_classes();
    encoder.finish().expect("the graph can be encoded");
    buffer
}

pub(crate) fn decode<T: Decode>(bytes: &[u8], encoding: EncodingVersion) -> Result<T, DecodeError> {
    let mut decoder = Decoder::new(bytes, encoding).with_classes(&types::CLASSES);
    let value = decoder.get()?;
    decoder.finish_classes()?;
    decoder.finish()?;
    Ok(value)
}
