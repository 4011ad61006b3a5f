//! Stringified proxies and endpoint lists. The expectations are observed with Ice 3.7.8, unless a test says that Floe
//! differs.

use crate::encoding::EncodingVersion;
use crate::reference::{
    Endpoint, ParseDefaults, Protocol, Reference, Style, Target, Timeout, parse_endpoints,
    parse_published_endpoints,
};

/// Parses a text and prints it in the style of 3.7.
fn reprinted(text: &str) -> String {
    let parsed = Reference::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"));
    parsed.map_or("nil".to_owned(), |reference| reference.to_string())
}

fn error(text: &str) -> String {
    match Reference::parse(text) {
        Ok(reference) => panic!("{text} was accepted as {reference:?}"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn blank_and_empty_texts_are_nil() {
    // Ice refuses a text of blanks.
    for text in ["", "   \t\r\n", "\"\"", "''", " \"\" ", "/"] {
        assert_eq!(reprinted(text), "nil", "{text:?}");
    }
    assert!("".parse::<Reference>().is_err());
}

#[test]
fn options_are_printed_in_a_fixed_order() {
    for (text, printed) in [
        ("a", "a -t -e 1.1"),
        ("a -o -t", "a -t -e 1.1"),
        ("a\n-o", "a -o -e 1.1"),
        ("a -D -s -e 1.0 -p 1.5 -f v2", "a -f v2 -D -s -p 1.5 -e 1.0"),
        ("a -e 2.0", "a -t -e 2.0"),
        ("-t", "-t -t -e 1.1"),
        ("'a'-O", "a -O -e 1.1"),
        ("a -f \"f g\"", "a -f \"f g\" -t -e 1.1"),
        ("a -f f/g", "a -f f/g -t -e 1.1"),
        ("a -f 'x\"y'", "a -f x\\\"y -t -e 1.1"),
        ("a -f x\\/y", "a -f x\\\\/y -t -e 1.1"),
    ] {
        assert_eq!(reprinted(text), printed, "{text}");
    }
}

#[test]
fn identities_are_quoted_when_they_need_it() {
    for (text, printed) in [
        ("'a b'", "\"a b\" -t -e 1.1"),
        ("'a:b'", "\"a:b\" -t -e 1.1"),
        ("\"@\"", "\"@\" -t -e 1.1"),
        ("a'b", "a\\'b -t -e 1.1"),
        ("\"a\\\"b\"", "a\\\"b -t -e 1.1"),
        ("a\\tb", "a\\tb -t -e 1.1"),
    ] {
        assert_eq!(reprinted(text), printed, "{text}");
    }
}

#[test]
fn an_adapter_id_follows_an_at_sign() {
    for (text, printed) in [
        ("a@b", "a -t -e 1.1 @ b"),
        (" a @ b ", "a -t -e 1.1 @ b"),
        ("'a b'@'c d'", "\"a b\" -t -e 1.1 @ \"c d\""),
        ("a@b/c", "a -t -e 1.1 @ b/c"),
        ("a@b:1@c", "a -t -e 1.1 @ \"b:1@c\""),
        ("a@\\/b", "a -t -e 1.1 @ \\\\/b"),
    ] {
        assert_eq!(reprinted(text), printed, "{text}");
    }
}

#[test]
fn endpoints_are_printed_with_their_defaults() {
    for (text, printed) in [
        ("a:tcp", "a -t -e 1.1:tcp -p 0 -t 60000"),
        (" a : tcp -h b ", "a -t -e 1.1:tcp -h b -p 0 -t 60000"),
        ("a:default -h b", "a -t -e 1.1:tcp -h b -p 0 -t 60000"),
        (
            "a:tcp -h b:tcp -h c",
            "a -t -e 1.1:tcp -h b -p 0 -t 60000:tcp -h c -p 0 -t 60000",
        ),
        (
            "a:tcp -h b -t infinite",
            "a -t -e 1.1:tcp -h b -p 0 -t infinite",
        ),
        (
            "a:tcp -h b -t 5 -t 6 -z -z",
            "a -t -e 1.1:tcp -h b -p 0 -t 6 -z",
        ),
        (
            "a:tcp -h \"::1\" -p 010",
            "a -t -e 1.1:tcp -h \"::1\" -p 10 -t 60000",
        ),
        (
            "a:tcp -h b -p ' 5' -t \"\t6\"",
            "a -t -e 1.1:tcp -h b -p 5 -t 6",
        ),
        (
            "a:ssl -h b --sourceAddress 1.2.3.4 -z",
            "a -t -e 1.1:ssl -h b -p 0 --sourceAddress 1.2.3.4 -t 60000 -z",
        ),
        ("a:ws -h b", "a -t -e 1.1:ws -h b -p 0 -t 60000 -r /"),
        (
            "a:wss -h b -r /x -z",
            "a -t -e 1.1:wss -h b -p 0 -t 60000 -z -r /x",
        ),
        (
            "a:udp -h b -p 1 -c -z --interface eth0 --ttl 3 --sourceAddress 1.2.3.4",
            "a -t -e 1.1:udp -h b -p 1 --sourceAddress 1.2.3.4 --interface eth0 --ttl 3 -c -z",
        ),
        ("a:udp -h b -v 1.0 -e 1.0", "a -t -e 1.1:udp -h b -p 0"),
        (
            "a:opaque -t 99 -v abch",
            "a -t -e 1.1:opaque -t 99 -e 1.0 -v abch",
        ),
        // These come only as bytes, and Ice prints neither of the two options then.
        (
            "a:opaque -t '-7' -v ''",
            "a -t -e 1.1:opaque -t \"-7\" -e 1.0 -v \"\"",
        ),
    ] {
        assert_eq!(reprinted(text), printed, "{text}");
    }
}

#[test]
fn an_opaque_endpoint_of_a_known_type_becomes_that_type() {
    assert_eq!(
        reprinted("a:opaque -t 1 -e 1.0 -v CTEyNy4wLjAuMRAnAABg6gAAAA=="),
        "a -t -e 1.1:tcp -h 127.0.0.1 -p 10000 -t 60000"
    );
    // In an unknown encoding it stays opaque; Ice refuses it.
    let unknown = "a -t -e 1.1:opaque -t 1 -e 1.2 -v CTEy";
    assert_eq!(reprinted(unknown), unknown);
}

#[test]
fn the_style_of_3_8_leaves_defaults_out() {
    let text = "hello -t -s -e 1.1:tcp -h 127.0.0.1 -p 10000 -t 60000:ssl -h b -p 2 -t 5000 -z";
    let reference: Reference = text.parse().expect("a proxy");
    assert_eq!(
        reference.to_text(Style::V38),
        "hello:tcp -h 127.0.0.1 -p 10000:ssl -h b -p 2 -t 5000 -z"
    );
    let reference: Reference = "hello -o -e 1.0 @ a".parse().expect("a proxy");
    assert_eq!(reference.to_text(Style::V38), "hello -o -e 1.0 @ a");
}

#[test]
fn endpoints_of_unknown_protocols_are_left_out_next_to_known_ones() {
    let defaults = ParseDefaults::default();
    let parsed = Reference::parse_with("a:quic -h b : tcp -h c:carrier", &defaults);
    let parsed = parsed.expect("tcp is known");
    assert_eq!(parsed.skipped_endpoints, ["quic -h b", "carrier"]);
    assert_eq!(parsed.reference.expect("not nil").endpoints().len(), 1);
    assert_eq!(
        error("a:quic -h b"),
        "at byte 2: expected tcp, ssl, ws, wss, udp, unix, opaque or default, got `quic`"
    );
}

#[test]
fn defaults_replace_what_is_left_out() {
    let defaults = ParseDefaults {
        protocol: Protocol::Ssl,
        host: "dh".to_owned(),
        timeout: Timeout::from_ms(777).expect("in range"),
        encoding: EncodingVersion::V1_0,
    };
    let parsed = Reference::parse_with("a:default -p 1:udp:tcp -h x -t 5", &defaults);
    assert_eq!(
        parsed
            .expect("a proxy")
            .reference
            .expect("not nil")
            .to_string(),
        "a -t -e 1.0:ssl -h dh -p 1 -t 777:udp -h dh -p 0:tcp -h x -p 0 -t 5"
    );
}

#[test]
fn invalid_proxies_are_refused_with_the_position_and_the_reason() {
    const OPTIONS: &str = "one of the options -f, -t, -o, -O, -d, -D, -s, -e and -p";
    for (text, message) in [
        (":tcp", "at byte 0: expected an identity, got `:tcp`"),
        ("\"a", "at byte 0: expected a closing \", got `\"a`"),
        (
            "''b",
            "at byte 2: expected nothing after the empty identity of a nil proxy, got `b`",
        ),
        (
            "a b",
            "at byte 2: expected an option, `:` and endpoints, or `@` and an adapter id, got `b`",
        ),
        ("a -t x", "at byte 5: expected an option, `:` and endpoints"),
        ("a -q", &format!("at byte 2: expected {OPTIONS}, got `-q`")),
        (
            "a --t",
            &format!("at byte 2: expected {OPTIONS}, got `--t`"),
        ),
        ("a -", &format!("at byte 2: expected {OPTIONS}, got `-`")),
        ("a -f", "at byte 4: expected an argument of -f, got nothing"),
        ("a -f -t", "at byte 5: expected an argument of -f, got `-t`"),
        ("a -f -1", "at byte 5: expected an argument of -f, got `-1`"),
        ("a -f ''", "expected an argument of -f, got nothing"),
        (
            "a -f:tcp",
            "at byte 4: expected an argument of -f, got `:tcp`",
        ),
        (
            "a -e 1",
            "at byte 5: expected a version such as 1.1, got `1`",
        ),
        (
            "a -e 256.0",
            "at byte 5: expected a version such as 1.1, got `256.0`",
        ),
        (
            "a -p 1.x",
            "at byte 5: expected a version such as 1.1, got `1.x`",
        ),
        (
            "a -e 0.0",
            "at byte 5: expected a version such as 1.1, got `0.0`",
        ),
        (
            "a -p 0.1",
            "at byte 5: expected a version such as 1.1, got `0.1`",
        ),
        ("a/b/c", "at byte 3: expected at most one `/`"),
        ("cat/", "at byte 4: expected a name after the category"),
        (
            "a@",
            "at byte 2: expected an adapter id after `@`, got nothing",
        ),
        (
            "a @ ",
            "at byte 4: expected an adapter id after `@`, got nothing",
        ),
        ("a@''", "expected an adapter id after `@`, got nothing"),
        (
            "a@x y",
            "at byte 4: expected nothing after the adapter id, got `y`",
        ),
        (
            "a@x:tcp -h b",
            "at byte 8: expected nothing after the adapter id, got `-h b`",
        ),
    ] {
        let error = error(text);
        assert!(error.contains(message), "{text}: {error}");
    }
}

#[test]
fn invalid_endpoints_are_refused_with_the_position_and_the_reason() {
    for (text, message) in [
        ("a:", "at byte 2: expected an endpoint, got nothing"),
        (
            "a:tcp -h b:",
            "at byte 11: expected an endpoint, got nothing",
        ),
        (
            "a:tcp -h ::1",
            "quote an address that contains `:`, as in `-h \"::1\"`",
        ),
        (
            "a:tcp -h * -p 1",
            "at byte 9: expected the host of a proxy, got `*`; `*` is for adapters",
        ),
        (
            "a:tcp -h",
            "at byte 8: expected an argument of -h, got nothing",
        ),
        (
            "a:tcp -h -p 1",
            "at byte 9: expected an argument of -h, got `-p`",
        ),
        ("a:tcp -h ''", "at byte 9: expected a host, got nothing"),
        ("a:tcp -h 'b", "at byte 9: expected a closing ', got `'b`"),
        (
            "a:tcp -p 65536",
            "at byte 9: expected a port from 0 to 65535, got `65536`",
        ),
        (
            "a:tcp -p -1",
            "at byte 9: expected an argument of -p, got `-1`",
        ),
        (
            "a:tcp -p x",
            "at byte 9: expected a port from 0 to 65535, got `x`",
        ),
        (
            "a:tcp -t 0",
            "expected a timeout from 1 to 2147483647 ms, or `infinite`, got `0`",
        ),
        (
            "a:tcp -t 2147483648",
            "expected a timeout from 1 to 2147483647 ms",
        ),
        ("a:tcp b", "at byte 6: expected an option, got `b`"),
        ("a:tcp -z x", "at byte 9: expected an option, got `x`"),
        (
            "a:tcp -x",
            "at byte 6: expected -h, -p, -t, -z or --sourceAddress, got `-x`",
        ),
        (
            "a:tcp -r /x",
            "got `-r`; a resource needs the protocol ws or wss",
        ),
        (
            "a:tcp --sourceAddress x",
            "at byte 22: expected an IP address, got `x`",
        ),
        (
            "a:tcp --sourceAddress '1.2.3.4 '",
            "at byte 22: expected an IP address, got `1.2.3.4 `",
        ),
        (
            "a:tcp --sourceAddress 'fe80::1%eth0'",
            "got `fe80::1%eth0`; the zone of an address is not supported",
        ),
        (
            "a:tcp -h -1",
            "at byte 9: expected an argument of -h, got `-1`",
        ),
        ("a:tcp -p '5 '", "expected a port from 0 to 65535, got `5 `"),
        ("a:tcp -t \"5\t\"", "expected a timeout from 1 to"),
        ("a:tcp -h b @ x", "at byte 11: expected an option, got `@`"),
        (
            "a:udp -t 5",
            "at byte 6: expected -h, -p, -z, -c, --interface, --ttl or",
        ),
        (
            "a:udp --ttl x",
            "expected a number of hops from 0 to 255, got `x`",
        ),
        (
            "a:udp --ttl 256",
            "expected a number of hops from 0 to 255, got `256`",
        ),
        ("a:udp -v x", "expected a version such as 1.1, got `x`"),
        ("a:udp -e 0.0", "expected a version such as 1.1, got `0.0`"),
        (
            "a:udp --interface *",
            "at byte 18: expected the interface of a proxy, got `*`; `*` is for adapters",
        ),
        (
            "a:udp --interface ''",
            "at byte 18: expected an interface, got nothing",
        ),
        (
            "a:TCP -h b",
            "expected tcp, ssl, ws, wss, udp, unix, opaque or default, got `TCP`",
        ),
        (
            "a:opaque -v abch",
            "at byte 16: expected -t and the type of the opaque endpoint",
        ),
        (
            "a:opaque -t 99",
            "at byte 14: expected -v and the bytes of the opaque endpoint",
        ),
        (
            "a:opaque -t -1 -v AA==",
            "at byte 12: expected an argument of -t, got `-1`",
        ),
        (
            "a:opaque -t 9 -e 0.0 -v AA==",
            "expected a version such as 1.1, got `0.0`",
        ),
        (
            "a:opaque -t 32768 -v AA==",
            "expected an endpoint type from 0 to 32767, got `32768`",
        ),
        (
            "a:opaque -t 9 -t 8 -v AA==",
            "at byte 14: expected each of -t and -v once, or -e",
        ),
        (
            "a:opaque -t 9 -v ab!h",
            "at byte 17: expected base64, got `ab!h`",
        ),
        (
            "a:opaque -t 1 -v CTEy",
            "at byte 17: expected the bytes of a tcp endpoint",
        ),
        (
            "a:opaque -t 1 -v CTEyNy4wLjAuMRAnAABg6gAAAAAA",
            "2 bytes are left after the last value",
        ),
    ] {
        let error = error(text);
        assert!(error.contains(message), "{text}: {error}");
    }
}

#[test]
fn an_adapter_listens_on_several_endpoints_and_all_interfaces() {
    let endpoints = parse_endpoints("tcp -h * -p 0 : ws -h 127.0.0.1 -p 80 -r /x");
    let printed: Vec<_> = endpoints
        .expect("two endpoints")
        .iter()
        .map(Endpoint::to_string)
        .collect();
    assert_eq!(
        printed,
        [
            "tcp -h * -p 0 -t 60000",
            "ws -h 127.0.0.1 -p 80 -t 60000 -r /x"
        ]
    );
    assert_eq!(parse_endpoints("  "), Ok(Vec::new()));
    assert!(parse_endpoints("tcp:quic").is_err());
    assert!(parse_endpoints("tcp:").is_err());
}

#[test]
fn only_proxies_connect_from_an_address_and_only_adapters_listen_on_all_interfaces() {
    for protocol in ["tcp", "ssl", "ws", "wss", "udp"] {
        let text = format!("{protocol} -h b -p 1 --sourceAddress 1.2.3.4");
        let error = parse_endpoints(&text).expect_err("an option of proxies");
        let message = "expected the options of an adapter's endpoint, got `--sourceAddress`";
        assert!(error.to_string().contains(message), "{error}");
        reprinted(&format!("a:{text}"));
        assert!(parse_published_endpoints(&text).is_ok());
        assert!(text.parse::<Endpoint>().is_ok());
    }
    let everywhere = "udp -h * -p 1 --interface *";
    assert!(parse_endpoints(everywhere).is_ok());
    assert!(everywhere.parse::<Endpoint>().is_ok());
}

#[test]
fn a_single_endpoint_is_parsed_and_more_is_refused() {
    assert_eq!("tcp -h a -p 1".parse(), Ok(Endpoint::tcp("a", 1)));
    assert!("tcp -p 1:tcp -p 2".parse::<Endpoint>().is_err());
    assert!("".parse::<Endpoint>().is_err());
}

#[test]
fn a_long_faulty_text_is_shortened_in_the_error() {
    let text = format!("a {}", "é".repeat(10_000));
    assert!(error(&text).len() < 300);
}

#[test]
fn a_text_without_endpoints_and_adapter_id_is_a_well_known_object() {
    let reference: Reference = "a -t".parse().expect("a proxy");
    assert_eq!(reference.target, Target::WellKnown);
    assert!(reference.endpoints().is_empty());
}

#[test]
fn unix_endpoints_need_a_path_and_are_printed_as_they_are_read() {
    assert_eq!(
        reprinted("a:unix -z -f '/tmp/with blank' -t 5"),
        "a -t -e 1.1:unix -f \"/tmp/with blank\" -t 5 -z"
    );
    assert!(error("a:unix").contains("expected -f and the path of the socket"));
    assert!(error("a:unix -f /s -p 1").contains("expected -f, -h, -t or -z, got `-p`"));
}
