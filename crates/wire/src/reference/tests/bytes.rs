//! References as bytes: encodings that are not canonical, and invalid ones.

use crate::encoding::{
    Decode, DecodeError, DecodeErrorKind, Decoder, Encode, Encoder, EncodingVersion,
};
use crate::reference::{Endpoint, Identity, OpaqueEndpoint, Reference, Target};

pub(super) fn encode<T: Encode + ?Sized>(value: &T, encoding: EncodingVersion) -> Vec<u8> {
    let mut buffer = Vec::new();
    let mut encoder = Encoder::new(&mut buffer, encoding);
    encoder.put(value);
    encoder.finish().expect("short enough");
    buffer
}

pub(super) fn decode<T: Decode>(bytes: &[u8], encoding: EncodingVersion) -> Result<T, DecodeError> {
    let mut decoder = Decoder::new(bytes, encoding);
    let value = decoder.get()?;
    decoder.finish_exact("test")?;
    Ok(value)
}

fn decode_1_1(bytes: &[u8]) -> Result<Option<Reference>, DecodeError> {
    decode(bytes, EncodingVersion::V1_1)
}

/// A reference to `a` with these bytes from the number of endpoints on.
fn with_target(target: &[u8]) -> Vec<u8> {
    [b"\x01a\x00\x00\x00\x00\x01\x00\x01\x01", target].concat()
}

/// A reference to `a` with one endpoint of this type and size of encapsulation.
fn with_endpoint(type_code: i16, encapsulation_len: i32, minor: u8, body: &[u8]) -> Vec<u8> {
    let header = [
        &[1][..],
        &type_code.to_le_bytes(),
        &encapsulation_len.to_le_bytes(),
        &[1, minor],
    ];
    with_target(&[&header.concat(), body].concat())
}

const TCP_BODY: &[u8] = b"\x01h\x01\x00\x00\x00\x60\xea\x00\x00\x00";

#[track_caller]
fn assert_error(bytes: &[u8], what: &str, kind: DecodeErrorKind, offset: usize) {
    let error = decode_1_1(bytes).expect_err("not a proxy");
    assert_eq!((error.what, error.kind, error.offset), (what, kind, offset));
}

#[test]
fn an_endpoint_of_the_right_length_is_read() {
    let reference = decode_1_1(&with_endpoint(1, 17, 1, TCP_BODY)).expect("a proxy");
    assert_eq!(
        reference.expect("not nil").endpoints(),
        [Endpoint::tcp("h", 1)]
    );
}

#[test]
fn an_endpoint_of_the_wrong_length_is_refused() {
    let size = "encapsulation size";
    let end = |needed, remaining| DecodeErrorKind::EndOfData { needed, remaining };
    assert_error(
        &with_endpoint(1, 18, 1, TCP_BODY),
        "encapsulation",
        end(12, 11),
        19,
    );
    assert_error(&with_endpoint(1, 16, 1, TCP_BODY), "bool", end(1, 0), 29);
    assert_error(
        &with_endpoint(1, 5, 1, TCP_BODY),
        size,
        DecodeErrorKind::InvalidValue(5),
        13,
    );
    assert_error(
        &with_endpoint(1, -1, 1, TCP_BODY),
        size,
        DecodeErrorKind::InvalidValue(-1),
        13,
    );
}

/// Observed, Ice 3.7.8: which bytes it accepts after the fields, omits when it sends them on, and refuses.
#[test]
fn an_endpoint_ends_like_any_encapsulation() {
    let with = |minor, rest: &[u8]| {
        let body = [TCP_BODY, rest].concat();
        decode_1_1(&with_endpoint(1, 6 + body.len() as i32, minor, &body))
    };
    let plain = decode_1_1(&with_endpoint(1, 17, 1, TCP_BODY));
    for (minor, rest) in [(0, &[0][..]), (1, &[8, 1]), (1, &[0xFF]), (1, &[0, 0])] {
        assert_eq!(with(minor, rest), plain, "{rest:?} in 1.{minor}");
    }
    let kind = |refused: Result<_, DecodeError>| refused.expect_err("refused").kind;
    assert_eq!(kind(with(0, &[0, 0])), DecodeErrorKind::TrailingBytes(2));
    assert_eq!(kind(with(1, &[0])), DecodeErrorKind::TrailingBytes(1));
}

/// Observed, Ice 3.7.8: it reads each of these, and sends those in the encoding of the stream on unchanged.
#[test]
fn an_endpoint_with_invalid_values_is_sent_on_unchanged() {
    let tcp = |port: i32, timeout: i32| {
        let (port, timeout) = (port.to_le_bytes(), timeout.to_le_bytes());
        [b"\x01h", &port[..], &timeout, b"\0"].concat()
    };
    let ws = [&tcp(1, 0)[..], b"\x01/"].concat();
    let udp = b"\x01h\x70\x11\x01\x00\x00".to_vec();
    let old_udp = b"\x01h\xFF\xFF\xFF\xFF\x01\x00\x01\x00\x00".to_vec();
    for (type_code, minor, body) in [
        (1, 1, tcp(1, 0)),
        (1, 1, tcp(1, -2)),
        (1, 1, tcp(1, i32::MIN)),
        (1, 1, tcp(70_000, 1000)),
        (1, 1, tcp(-1, 1000)),
        (1, 0, tcp(1, 0)),
        (2, 1, tcp(1, 0)),
        (3, 1, udp),
        (3, 0, old_udp),
        (4, 1, ws.clone()),
        (5, 1, ws),
    ] {
        let bytes = with_endpoint(type_code, 6 + body.len() as i32, minor, &body);
        let reference = decode_1_1(&bytes).expect("a proxy");
        assert_eq!(encode(&reference, EncodingVersion::V1_1), bytes);
        let reference = reference.expect("not nil");
        assert!(matches!(reference.endpoints(), [Endpoint::Opaque(_)]));
        let parsed: Reference = reference.to_string().parse().expect("a proxy");
        assert_eq!(parsed, reference);
    }
}

#[test]
fn an_endpoint_with_invalid_values_must_still_be_whole() {
    let body = b"\x01h\x01\x00\x00\x00\x00\x00\x00\x00\x00";
    let kind = DecodeErrorKind::InvalidValue(0);
    let short = with_endpoint(1, 16, 1, &body[..10]);
    assert_error(&short, "endpoint timeout", kind.clone(), 25);
    let long = with_endpoint(1, 18, 1, &[body, &b"\0"[..]].concat());
    assert_error(&long, "endpoint timeout", kind, 25);
}

#[test]
fn an_endpoint_is_read_in_its_own_encoding() {
    let body = b"\x01h\x01\x00\x00\x00\x01\x00\x01\x00\x00";
    let reference = decode_1_1(&with_endpoint(3, 17, 0, body)).expect("a proxy");
    assert!(
        matches!(reference.expect("not nil").endpoints(), [Endpoint::Udp(udp)] if udp.port == 1)
    );
}

#[test]
fn unknown_endpoints_are_sent_on_unchanged() {
    // Bluetooth, iAP, an unused number, and tcp in a later encoding.
    for (type_code, minor) in [(6, 1), (8, 0), (-7, 1), (1, 2)] {
        let bytes = with_endpoint(type_code, 9, minor, b"\x01\x02\x03");
        let reference = decode_1_1(&bytes).expect("a proxy");
        let opaque = OpaqueEndpoint {
            type_code,
            encoding: EncodingVersion::new(1, minor),
            bytes: vec![1, 2, 3],
        };
        let endpoints = reference.as_ref().map(Reference::endpoints);
        assert_eq!(endpoints, Some(&[Endpoint::Opaque(opaque)][..]));
        assert_eq!(encode(&reference, EncodingVersion::V1_1), bytes);
    }
}

#[test]
fn a_unix_endpoint_has_its_layout_and_any_other_under_its_number_is_opaque() {
    let body = b"\x02/s\x60\xEA\x00\x00\x01\x04here";
    let bytes = with_endpoint(0x466C, 6 + body.len() as i32, 1, body);
    let reference = decode_1_1(&bytes).expect("a proxy").expect("not nil");
    assert_eq!(
        reference.endpoints()[0].to_string(),
        "unix -f /s -h here -t 60000 -z"
    );
    assert_eq!(encode(&Some(reference), EncodingVersion::V1_1), bytes);

    let stranger = with_endpoint(0x466C, 9, 1, b"\x01\x02\x03");
    let reference = decode_1_1(&stranger).expect("a proxy");
    assert_eq!(encode(&reference, EncodingVersion::V1_1), stranger);
    let opaque = "a:opaque -t 18028 -e 1.1 -v AQID";
    let parsed: Reference = opaque.parse().expect("a proxy");
    assert_eq!(
        Some(parsed),
        reference.map(|mut reference| {
            reference.identity = "a".parse().expect("an identity");
            reference
        })
    );
}

#[test]
fn more_endpoints_than_bytes_are_refused_before_anything_is_allocated() {
    let kind = DecodeErrorKind::EndOfData {
        needed: 0x7FFF_FFFF * 8,
        remaining: 0,
    };
    assert_error(&with_target(b"\xFF\xFF\xFF\xFF\x7F"), "endpoints", kind, 10);
}

#[test]
fn two_facets_and_unknown_modes_are_refused() {
    let kind = DecodeErrorKind::InvalidValue;
    assert_error(b"\x01a\x00\x02\x00\x00", "number of facets", kind(2), 3);
    assert_error(b"\x01a\x00\x00\x05", "invocation mode", kind(5), 4);
}

#[test]
fn a_category_without_a_name_is_refused() {
    let kind = DecodeErrorKind::InvalidValue(0);
    assert_error(b"\x00\x01c\x00", "length of an identity's name", kind, 0);
}

#[test]
fn an_empty_list_of_endpoints_or_adapter_id_is_encoded_as_well_known() {
    let well_known = Reference::new(Identity::new("a"), Target::WellKnown);
    let expected = encode(&Some(well_known.clone()), EncodingVersion::V1_1);
    let empty = String::new();
    for target in [
        Target::Direct(Vec::new()),
        Target::Indirect { adapter_id: empty },
    ] {
        let reference = Reference {
            target,
            ..well_known.clone()
        };
        assert_eq!(encode(&Some(reference), EncodingVersion::V1_1), expected);
    }
}

#[test]
fn an_identity_without_a_name_is_encoded_as_nil() {
    let nil = Reference::new(Identity::with_category("", "c"), Target::WellKnown);
    assert_eq!(encode(&Some(nil), EncodingVersion::V1_1), [0, 0]);
}
