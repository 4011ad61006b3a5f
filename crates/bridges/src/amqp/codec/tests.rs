//! Events of many contracts out and back; messages that are no events.

mod random;

use std::sync::Arc;

use bytes::Bytes;
use floe_amqp::codec::{Symbol, Value};
use floe_amqp::jms::MESSAGE_TYPE;
use floe_amqp::message::{Body, MessageBuilder};
use floe_dynamic::Contract;
use floe_slice::check_source;
use floe_wire::EncodingVersion;
use proptest::prelude::*;
use serde_json::json;

use super::{EventError, MessageCodec, can_be_entries, can_be_text, redelivered};
use crate::amqp::MessageBody;
use crate::core::mapping::EventTypes;

const BODIES: [MessageBody; 2] = [MessageBody::Text, MessageBody::Map];

fn events(slice: &str, interface: &str) -> Arc<EventTypes> {
    let contract = Contract::new(check_source(slice.as_bytes()).model);
    Arc::new(EventTypes::new(&contract, interface).expect("they are events"))
}

fn market() -> Arc<EventTypes> {
    events(
        "module Demo {
            enum Side { buy, sell };
            struct Venue { string name; int line; };
            struct Level { double price; long size; };
            sequence<Level> Levels;
            sequence<byte> Bytes;
            dictionary<string, short> Ages;
            struct Tick { Side side; Venue venue; Levels book; Bytes raw; bool firm; byte b; float f; Ages ages; };
            interface Ticker { void tick(Tick tick); void halted(string why, optional(1) int code); };
        };",
        "::Demo::Ticker",
    )
}

fn tick() -> serde_json::Value {
    json!({"tick": {
        "side": "sell", "venue": {"name": "Zürich 東京", "line": -7},
        "book": [{"price": 0.25, "size": -5_000_000_000_i64}, {"price": -0.5, "size": 9_007_199_254_740_993_i64}],
        "raw": [0, 1, 127, 128, 255], "firm": true, "b": 200, "f": 0.5, "ages": {"ann": 3, "bob": -4},
    }})
}

fn parameters(events: &EventTypes, operation: &str, json: &serde_json::Value) -> Vec<u8> {
    let (_, kind) = events.find(operation).expect("it is there");
    let encoded = kind.operation().encode_request(json, EncodingVersion::V1_1);
    encoded.expect("the JSON is right")
}

/// A message of this body, with the operation `tick`.
fn message(body: Body) -> Bytes {
    let mut builder = MessageBuilder::new(body);
    builder.application_properties = vec![(Value::text("operation"), Value::text("tick"))];
    builder.build()
}

fn text(text: &str) -> Bytes {
    message(Body::Value(Value::text(text)))
}

/// The entries of a tick.
fn entries() -> Vec<(String, Value)> {
    let entry = |name: &str, value| (name.to_owned(), value);
    vec![
        entry("side", Value::text("buy")),
        entry("venue.name", Value::text("X")),
        entry("venue.line", Value::Long(3)),
        entry("book[0].price", Value::Float(0.5)),
        entry("book[0].size", Value::Byte(-1)),
        entry("book[1].price", Value::Int(2)),
        entry("book[1].size", Value::Ulong(7)),
        entry("raw", Value::Binary(Bytes::from_static(b"\x00\xFF"))),
        entry("firm", Value::Bool(false)),
        entry("b", Value::Byte(-1)),
        entry("f", Value::Double(0.25)),
        entry("ages.length", Value::Int(0)),
    ]
}

fn map(entries: Vec<(String, Value)>) -> Bytes {
    let entries = entries.into_iter();
    let entries = entries.map(|(name, value)| (Value::String(name), value));
    message(Body::Value(Value::Map(entries.collect())))
}

fn decoded(events: &Arc<EventTypes>, message: Bytes) -> Result<serde_json::Value, String> {
    let codec = MessageCodec::new("ticks", events, MessageBody::Text);
    let (kind, parameters) = codec
        .decode(message)
        .map_err(|problem| problem.to_string())?;
    let operation = events.kinds()[kind].operation();
    Ok(operation
        .decode_request(&parameters)
        .expect("our own bytes"))
}

#[test]
fn an_event_comes_back_from_each_type_of_message() {
    let events = market();
    for body in BODIES {
        let codec = MessageCodec::new("ticks", &events, body);
        for (operation, json) in [
            ("tick", tick()),
            ("halted", json!({"why": "rain", "code": 7})),
            ("halted", json!({"why": ""})),
        ] {
            let parameters = parameters(&events, operation, &json);
            let kind = events.find(operation).expect("it is there").0;
            let message = codec.encode(kind, &parameters).expect("it can be said");
            assert_eq!(
                codec.decode(message.clone()),
                Ok((kind, parameters.clone()))
            );
            assert_eq!(
                codec.decode(redelivered(&message, 3)),
                Ok((kind, parameters))
            );
        }
    }
}

#[test]
fn a_text_holds_the_struct_itself() {
    let events = market();
    let codec = MessageCodec::new("ticks", &events, MessageBody::Text);
    let parameters = parameters(&events, "tick", &tick());
    let message = codec.encode(0, &parameters).expect("it can be said");
    let message = floe_amqp::message::Message::locate(message).expect("our own");
    let message = floe_amqp::jms::JmsMessage::of(&message).expect("our own");
    let floe_amqp::jms::JmsBody::Text(Some(text)) = message.body else {
        panic!("expected a text, got {:?}", message.body);
    };
    let json: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(json, tick()["tick"]);
}

#[test]
fn a_map_may_leave_out_lengths_and_have_numbers_of_other_types() {
    let expected = json!({"tick": {
        "side": "buy", "venue": {"name": "X", "line": 3},
        "book": [{"price": 0.5, "size": -1}, {"price": 2.0, "size": 7}],
        "raw": [0, 255], "firm": false, "b": 255, "f": 0.25, "ages": {},
    }});
    assert_eq!(decoded(&market(), map(entries())), Ok(expected));
}

#[test]
fn a_map_may_hold_maps_and_lists() {
    let level = Value::Map(vec![
        (Value::text("size"), Value::Int(1)),
        (Value::text("price"), Value::Double(2.5)),
    ]);
    let venue = Value::Map(vec![
        (Value::text("line"), Value::Int(5)),
        (Value::text("name"), Value::text("Y")),
    ]);
    let mut entries = entries();
    entries.retain(|(name, _)| !name.starts_with("book") && !name.starts_with("venue"));
    entries.retain(|(name, _)| !name.starts_with("ages"));
    let ages = Value::Map(vec![(Value::text("ann"), Value::Int(3))]);
    entries.push(("ages".to_owned(), ages));
    entries.push(("book".to_owned(), Value::List(vec![level])));
    entries.push(("venue".to_owned(), venue));
    let tick = decoded(&market(), map(entries)).expect("it is a tick");
    assert_eq!(tick["tick"]["book"], json!([{"price": 2.5, "size": 1}]));
    assert_eq!(tick["tick"]["venue"], json!({"name": "Y", "line": 5}));
    assert_eq!(tick["tick"]["ages"], json!({"ann": 3}));
}

#[test]
fn a_map_that_is_no_event_is_refused_by_its_field() {
    let with = |name: &str, value: Value| {
        let mut entries = entries();
        entries.retain(|(known, _)| known != name);
        entries.push((name.to_owned(), value));
        decoded(&market(), map(entries)).expect_err("it is none")
    };
    let cases = [
        (
            "venue.line",
            Value::Long(1 << 31),
            "body.venue.line: expected an int (-2147483648 to 2147483647), got the number 2147483648",
        ),
        (
            "venue.line",
            Value::text("7"),
            "body.venue.line: expected an int (-2147483648 to 2147483647), got the text \"7\"",
        ),
        (
            "side",
            Value::text("hold"),
            "body.side: expected an enumerator of ::Demo::Side (buy, sell), got the text \"hold\"",
        ),
        (
            "book[1].price",
            Value::Long((1 << 53) + 1),
            "body.book[1].price: expected a double, got the number 9007199254740993",
        ),
        (
            "f",
            Value::Double(0.1),
            "body.f: expected a float, got the double 0.1, which is none",
        ),
        (
            "b",
            Value::Int(256),
            "body.b: expected a byte (-128 to 255), got the number 256",
        ),
        (
            "firm",
            Value::Null,
            "body.firm: expected a boolean, got null",
        ),
        (
            "raw",
            Value::List(Vec::new()),
            "body.raw: expected bytes for ::Demo::Bytes, got a list",
        ),
        (
            "ages.length",
            Value::Int(-1),
            "body.ages: expected a length, got the number -1",
        ),
        (
            "ages.length",
            Value::Int(i32::MAX),
            "body.ages: expected an entry for each element of ::Demo::Ages, got a length of 2147483647, and fewer entries",
        ),
        (
            "ages.length",
            Value::Int(1),
            "body.ages[0]: expected a string, got no entry `ages[0].key`",
        ),
        (
            "colour",
            Value::Int(1),
            "body: expected entries of the contract alone, got an entry `colour`",
        ),
        (
            "venue",
            Value::Map(vec![(Value::text("street"), Value::Null)]),
            "body.venue: expected a map of the members of ::Demo::Venue, each once, got `street`",
        ),
    ];
    for (name, value, expected) in cases {
        assert_eq!(with(name, value), expected);
    }
    let mut twice = entries();
    twice.push(("firm".to_owned(), Value::Bool(true)));
    let error = decoded(&market(), map(twice)).expect_err("one entry comes twice");
    assert_eq!(error, "body: expected each entry once, got `firm` twice");
    let mut many = entries();
    many.extend((0..70_000).map(|number| (number.to_string(), Value::Null)));
    let error = decoded(&market(), map(many)).expect_err("they are too many");
    assert_eq!(
        error,
        "body: expected a map of at most 65536 entries, got 70012"
    );
    let mut less = entries();
    less.retain(|(name, _)| name != "venue.line");
    let error = decoded(&market(), map(less)).expect_err("an entry is missing");
    assert_eq!(
        error,
        "body.venue.line: expected an int (-2147483648 to 2147483647), got no entry `venue.line`"
    );
}

#[test]
fn a_text_that_is_no_event_is_refused_by_its_field() {
    let error = |message| decoded(&market(), message).expect_err("it is none");
    let mut wrong = tick()["tick"].clone();
    wrong["venue"]["line"] = json!("seven");
    let told = error(text(&wrong.to_string()));
    assert!(
        told.starts_with("body.venue.line: expected an int"),
        "{told}"
    );
    let told = error(text("{"));
    assert!(
        told.starts_with("body: expected JSON, got other text: "),
        "{told}"
    );
    let told = error(text(&tick().to_string()));
    assert!(told.starts_with("body"), "{told}");
}

#[test]
fn a_message_of_another_shape_is_refused_by_its_part() {
    let error = |message| decoded(&market(), message).expect_err("it is none");
    let body = "body: expected a TextMessage with JSON or a MapMessage, got ";
    let data = || Body::Data(Bytes::from_static(b"{}"));
    let cases = [
        (data(), "bytes without a content type of text or JSON"),
        (Body::Empty, "another body"),
        (Body::Sequence(Vec::new()), "another body"),
        (
            Body::Value(Value::Int(1)),
            "another body (expected text, got a value of another type (constructor 0x54), at byte 0)",
        ),
    ];
    for (other, got) in cases {
        assert_eq!(error(message(other)), format!("{body}{got}"));
    }
    for (kind, got) in [
        (0, "a Message without a body"),
        (1, "an ObjectMessage, which only Java can read"),
        (3, "a BytesMessage"),
        (4, "a StreamMessage"),
        (9, "a message of the unknown type 9"),
        (2, "a MapMessage without a map"),
    ] {
        let mut builder = MessageBuilder::new(Body::Value(Value::text("{}")));
        builder.message_annotations = vec![(Value::Symbol(MESSAGE_TYPE), Value::Byte(kind))];
        builder.application_properties = vec![(Value::text("operation"), Value::text("tick"))];
        assert_eq!(error(builder.build()), format!("{body}{got}"));
    }
    let mut builder = MessageBuilder::new(Body::Value(Value::text("{}")));
    let operation =
        "property `operation`: expected an operation of ::Demo::Ticker (tick, halted), got ";
    assert_eq!(error(builder.build()), format!("{operation}none"));
    for (value, got) in [
        (Value::text("tock"), "\"tock\""),
        (Value::Int(1), "a value that is no text"),
    ] {
        builder.application_properties = vec![(Value::text("operation"), value)];
        assert_eq!(error(builder.build()), format!("{operation}{got}"));
    }
    assert!(error(Bytes::from_static(b"hello")).contains("a section"));
}

#[test]
fn data_of_json_is_a_text() {
    let mut builder = MessageBuilder::new(Body::Data(Bytes::from(tick()["tick"].to_string())));
    builder.application_properties = vec![(Value::text("operation"), Value::text("tick"))];
    builder.properties.content_type = Some(Symbol::new("application/json"));
    assert_eq!(decoded(&market(), builder.build()), Ok(tick()));
}

#[test]
fn an_interface_with_one_operation_needs_no_property() {
    let events = events(
        "module M { interface I { void said(string what); }; };",
        "::M::I",
    );
    let message = MessageBuilder::new(Body::Value(Value::text("{\"what\":\"hello\"}"))).build();
    assert_eq!(decoded(&events, message), Ok(json!({"what": "hello"})));
}

#[test]
fn types_that_a_message_cannot_say_are_named() {
    let events = events(
        "module M {
            class C { int x; };
            sequence<C> Cs;
            struct S { Cs all; };
            interface I { void said(S what); };
        };",
        "::M::I",
    );
    let inputs = events.kinds()[0].operation().inputs();
    for accept in [can_be_text, can_be_entries] {
        let refused = inputs
            .check(accept)
            .expect_err("it has a class")
            .to_string();
        let expected = "said.what.all[]: an instance of ::M::C can be nil, shared or part of a circle, and no type of JMS says that";
        assert_eq!(refused, expected);
    }
    let json = json!({"what": {"all": [{"$class": "::M::C", "x": 1}]}});
    let parameters = parameters(&events, "said", &json);
    let map = MessageCodec::new("i", &events, MessageBody::Map);
    let error = map.encode(0, &parameters).expect_err("it has an instance");
    assert!(
        matches!(&error, EventError::CannotBeSaid(text) if text.starts_with("said: value.all[0]: ")),
        "{error}"
    );
}

#[test]
fn parameters_of_another_contract_are_not_sent() {
    let events = market();
    for body in BODIES {
        let codec = MessageCodec::new("ticks", &events, body);
        let error = codec
            .encode(0, b"\x07\0\0\0\x01\x01\x05")
            .expect_err("too short");
        assert!(matches!(error, EventError::NotOfContract(_)), "{error:?}");
    }
}

proptest! {
    #[test]
    fn events_of_any_contract_come_back_with_equal_bytes(
        recipes in random::recipes(),
        entropy in prop::collection::vec(any::<u8>(), 0..300),
    ) {
        let (events, parameters) = random::event(&recipes, &entropy);
        for body in BODIES {
            let codec = MessageCodec::new("t", &events, body);
            for (at, parameters) in parameters.iter().enumerate() {
                let message = codec.encode(at, parameters).expect("it can be said");
                prop_assert_eq!(codec.decode(message), Ok((at, parameters.clone())));
            }
        }
    }

    #[test]
    fn damaged_messages_are_read_or_refused(
        recipes in random::recipes(),
        entropy in prop::collection::vec(any::<u8>(), 0..300),
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        cut in any::<prop::sample::Index>(),
    ) {
        let (events, parameters) = random::event(&recipes, &entropy);
        for body in BODIES {
            let codec = MessageCodec::new("t", &events, body);
            let message = codec.encode(0, &parameters[0]).expect("it can be said");
            let mut damaged = message.to_vec();
            for (place, byte) in &damage {
                let place = place.index(damaged.len());
                damaged[place] = *byte;
            }
            let _ = codec.decode(damaged.clone().into());
            damaged.truncate(cut.index(damaged.len()));
            let _ = codec.decode(damaged.into());
        }
    }

    #[test]
    fn random_bytes_are_read_or_refused(
        recipes in random::recipes(),
        bytes in prop::collection::vec(any::<u8>(), 0..200),
    ) {
        let (events, _) = random::event(&recipes, &[]);
        let codec = MessageCodec::new("t", &events, MessageBody::Map);
        let _ = codec.decode(bytes.clone().into());
        let mut body = vec![0, 0x53, 0x77, 0xD1];
        body.extend_from_slice(&(bytes.len() as u32).to_be_bytes());
        body.extend_from_slice(&bytes);
        let _ = codec.decode(body.into());
        let _ = codec.encode(0, &bytes);
    }
}
