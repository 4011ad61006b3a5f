//! Round trips of random references, and hostile input.

use core::net::IpAddr;

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;

use super::bytes::{decode, encode};
use crate::encoding::{EncodingVersion, ProtocolVersion};
use crate::reference::{
    Endpoint, Identity, InvocationMode, OpaqueEndpoint, Reference, Style, Target, TcpEndpoint,
    Timeout, ToStringMode, UdpEndpoint, UnixEndpoint, WsEndpoint, parse_endpoints,
};

/// Text that often needs quotes and escapes.
fn text() -> impl Strategy<Value = String> {
    prop_oneof!["[ -~]{0,8}", "[ \"'\\\\/:@\t\r\n-]{0,6}", any::<String>()]
}

fn name() -> impl Strategy<Value = String> {
    text().prop_filter("a name is not empty", |text| !text.is_empty())
}

/// A wildcard is neither the host of a proxy nor an interface.
fn host() -> impl Strategy<Value = String> {
    text().prop_filter("a proxy has no wildcard", |host| host != "*")
}

fn interface() -> impl Strategy<Value = String> {
    host().prop_filter("an interface is not empty", |text| !text.is_empty())
}

fn identity() -> impl Strategy<Value = Identity> {
    (name(), text()).prop_map(|(name, category)| Identity { name, category })
}

fn timeout() -> impl Strategy<Value = Timeout> {
    option::of(1..=i32::MAX as u32).prop_map(|ms| match ms {
        Some(ms) => Timeout::from_ms(ms).expect("in range"),
        None => Timeout::INFINITE,
    })
}

fn unix() -> impl Strategy<Value = UnixEndpoint> {
    (name(), timeout(), any::<bool>(), text()).prop_map(|(path, timeout, compress, host)| {
        UnixEndpoint {
            path,
            timeout,
            compress,
            host,
        }
    })
}

fn tcp() -> impl Strategy<Value = TcpEndpoint> {
    let fields = (
        host(),
        any::<u16>(),
        timeout(),
        any::<bool>(),
        option::of(any::<IpAddr>()),
    );
    fields.prop_map(
        |(host, port, timeout, compress, source_address)| TcpEndpoint {
            host,
            port,
            timeout,
            compress,
            source_address,
        },
    )
}

fn ws() -> impl Strategy<Value = WsEndpoint> {
    (tcp(), text()).prop_map(|(tcp, resource)| WsEndpoint { tcp, resource })
}

fn udp() -> impl Strategy<Value = UdpEndpoint> {
    let local = (
        option::of(any::<IpAddr>()),
        option::of(interface()),
        option::of(any::<u8>()),
        any::<bool>(),
    );
    (host(), any::<u16>(), any::<bool>(), local).prop_map(|(host, port, compress, local)| {
        let (source_address, interface, ttl, connect) = local;
        UdpEndpoint {
            host,
            port,
            compress,
            source_address,
            interface,
            ttl,
            connect,
        }
    })
}

/// Any unknown type, bluetooth included.
fn opaque() -> impl Strategy<Value = OpaqueEndpoint> {
    let type_code = any::<i16>().prop_filter("an unknown type", |code| {
        !(1..=5).contains(code) && *code != 0x466C
    });
    (type_code, encoding(), vec(any::<u8>(), 0..20)).prop_map(|(type_code, encoding, bytes)| {
        OpaqueEndpoint {
            type_code,
            encoding,
            bytes,
        }
    })
}

fn endpoint() -> impl Strategy<Value = Endpoint> {
    prop_oneof![
        tcp().prop_map(Endpoint::Tcp),
        tcp().prop_map(Endpoint::Ssl),
        ws().prop_map(Endpoint::Ws),
        ws().prop_map(Endpoint::Wss),
        udp().prop_map(Endpoint::Udp),
        unix().prop_map(Endpoint::Unix),
        opaque().prop_map(Endpoint::Opaque),
    ]
}

fn target() -> impl Strategy<Value = Target> {
    prop_oneof![
        vec(endpoint(), 1..4).prop_map(Target::Direct),
        name().prop_map(|adapter_id| Target::Indirect { adapter_id }),
        Just(Target::WellKnown),
    ]
}

/// Text has no version below 1.0.
fn version() -> impl Strategy<Value = (u8, u8)> {
    (1..=u8::MAX, any::<u8>())
}

fn encoding() -> impl Strategy<Value = EncodingVersion> {
    version().prop_map(|(major, minor)| EncodingVersion::new(major, minor))
}

fn reference() -> impl Strategy<Value = Reference> {
    let mode = select(vec![
        InvocationMode::Twoway,
        InvocationMode::Oneway,
        InvocationMode::BatchOneway,
        InvocationMode::Datagram,
        InvocationMode::BatchDatagram,
    ]);
    let versions = (version(), encoding());
    let fields = (identity(), text(), mode, any::<bool>(), versions, target());
    fields.prop_map(
        |(identity, facet, mode, secure, versions, target)| Reference {
            identity,
            facet,
            mode,
            secure,
            protocol: ProtocolVersion::new(versions.0.0, versions.0.1),
            encoding: versions.1,
            target,
        },
    )
}

/// The reference as its receiver sees it: without the parts that are not encoded.
fn transmitted(mut reference: Reference, encoding: EncodingVersion) -> Reference {
    if encoding == EncodingVersion::V1_0 {
        reference.protocol = ProtocolVersion::V1_0;
        reference.encoding = EncodingVersion::V1_0;
    }
    if let Target::Direct(endpoints) = &mut reference.target {
        endpoints.iter_mut().for_each(drop_local_options);
    }
    reference
}

fn drop_local_options(endpoint: &mut Endpoint) {
    match endpoint {
        Endpoint::Tcp(tcp) | Endpoint::Ssl(tcp) => tcp.source_address = None,
        Endpoint::Ws(ws) | Endpoint::Wss(ws) => ws.tcp.source_address = None,
        Endpoint::Udp(udp) => {
            *udp = UdpEndpoint {
                compress: udp.compress,
                ..UdpEndpoint::new(udp.host.as_str(), udp.port)
            };
        }
        Endpoint::Unix(_) | Endpoint::Opaque(_) => {}
    }
}

/// Parts from which a text may nearly be a proxy.
fn nearly_a_proxy() -> impl Strategy<Value = String> {
    let pieces = [
        "a", "/", "\\", "\"", "'", ":", "@", " ", "-f", "-t", "-e", "1.1", "tcp", "udp", "ws",
        "opaque", "-h", "-p", "-v", "-r", "*", "99", "AAAA", "é", "\\x", "\\u00", "\0", "-",
    ];
    vec(select(pieces.to_vec()), 0..12).prop_map(|pieces| pieces.concat())
}

const ENCODINGS: [EncodingVersion; 2] = [EncodingVersion::V1_0, EncodingVersion::V1_1];

proptest! {
    #[test]
    fn a_printed_reference_is_parsed_to_the_same(reference in reference()) {
        for mode in [ToStringMode::Unicode, ToStringMode::Ascii, ToStringMode::Compat] {
            let text = reference.to_text_with(Style::V37, mode);
            prop_assert_eq!(Reference::parse(&text), Ok(Some(reference.clone())), "{}", text);
        }
        let text = reference.to_text(Style::V38);
        let expected = Reference { secure: false, ..reference };
        prop_assert_eq!(Reference::parse(&text), Ok(Some(expected)), "{}", text);
    }

    #[test]
    fn a_printed_identity_is_parsed_to_the_same(identity in identity()) {
        prop_assert_eq!(identity.to_string().parse(), Ok(identity));
    }

    #[test]
    fn an_encoded_reference_is_decoded_to_the_same(reference in reference()) {
        for encoding in ENCODINGS {
            let bytes = encode(&Some(reference.clone()), encoding);
            let expected = transmitted(reference.clone(), encoding);
            let decoded = decode::<Option<Reference>>(&bytes, encoding);
            prop_assert_eq!(decoded, Ok(Some(expected.clone())));
            prop_assert_eq!(encode(&Some(expected), encoding), bytes);
        }
    }

    #[test]
    fn any_bytes_are_a_reference_or_an_error(bytes in vec(any::<u8>(), 0..200)) {
        for encoding in ENCODINGS {
            let _ = decode::<Option<Reference>>(&bytes, encoding);
            let _ = decode::<Endpoint>(&bytes, encoding);
        }
    }

    #[test]
    fn a_damaged_reference_is_a_reference_or_an_error(
        reference in reference(), at: prop::sample::Index, byte: u8, len: prop::sample::Index,
    ) {
        for encoding in ENCODINGS {
            let mut bytes = encode(&Some(reference.clone()), encoding);
            let at = at.index(bytes.len());
            bytes[at] = byte;
            let _ = decode::<Option<Reference>>(&bytes, encoding);
            let cut = &encode(&Some(reference.clone()), encoding)[..len.index(bytes.len())];
            prop_assert!(decode::<Option<Reference>>(cut, encoding).is_err());
        }
    }

    #[test]
    fn any_text_is_a_reference_or_an_error(text in prop_oneof![any::<String>(), nearly_a_proxy()]) {
        let _ = parse_endpoints(&text);
        let _ = text.parse::<Identity>();
        if let Ok(Some(reference)) = Reference::parse(&text) {
            let printed = reference.to_string();
            prop_assert_eq!(Reference::parse(&printed), Ok(Some(reference)), "{}", printed);
        }
    }
}
