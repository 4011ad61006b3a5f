//! Samples against those of Cyclone DDS, random contracts, and bytes that are no sample.

use std::sync::Arc;

use floe_dynamic::{Contract, from_hex, to_hex};
use floe_rtps::codec::ByteOrder;
use floe_slice::check_source;
use floe_wire::EncodingVersion;
use proptest::prelude::*;
use serde_json::{Value as Json, json};

use super::*;
use crate::core::account::Reason;
use crate::core::mapping::EventTypes;

fn codec(slice: &str, interface: &str) -> EventCodec {
    let checked = check_source(slice.as_bytes());
    assert!(!checked.has_errors(), "{slice}");
    let events = EventTypes::new(&Contract::new(checked.model), interface);
    EventCodec::new(Arc::new(events.expect("they are events")), LEN_MAX)
}

const LEN_MAX: usize = 1 << 20;

const ALL: &str = "module D {
    enum Side { buy = 1, sell = 5 }
    struct Level { double price; long size; }
    sequence<byte> Bytes;
    sequence<Level> Levels;
    sequence<string> Names;
    sequence<Side> Sides;
    sequence<double> Prices;
    dictionary<string, int> Ages;
    sequence<int> Ints;
    sequence<Ints> Nested;
    struct All {
        bool firm; long id; Side side; Bytes raw; Levels book; Names names; Sides sides; Prices prices; short s; Ages ages;
        float f; Nested nested;
    }
    interface Sink { void all(All all); }
    interface Options { void opt(int a, optional(1) double b, optional(2) string c, optional(3) int d); }
    struct Small { short v; }
    interface Choice { void one(Level l); void two(Small s); void three(); }
}";

fn all() -> Json {
    json!({"all": {
        "firm": true, "id": -2, "side": "sell", "raw": [1, 2, 3], "book": [{"price": 1.5, "size": 7}],
        "names": ["é", ""], "sides": ["buy", "sell"], "prices": [2.5], "s": -3, "ages": {"k": 9}, "f": 0.5,
        "nested": [[1], []],
    }})
}

/// Without its header and padding.
fn value(sample: &[u8]) -> String {
    let padding = usize::from(sample[3]);
    to_hex(&sample[4..sample.len() - padding])
}

/// observed: what Cyclone DDS 11.0.1 for Python makes of the same values.
const ALL_XCDR1: &str = "0100000000000000feffffffffffffff05000000030000000102030001000000000000000000f83f07000000000000000200000003\
    000000c3a90000010000000000000002000000010000000500000001000000000000000000000000000440fdff0000010000000200\
    00006b000000090000000000003f02000000010000000100000000000000";
const ALL_XCDR2: &str = "01000000feffffffffffffff0500000003000000010203001400000001000000000000000000f83f0700000000000000110000000200\
    000003000000c3a9000001000000000000000c000000020000000100000005000000010000000000000000000440fdff0000100000\
    0001000000020000006b000000090000000000003f1000000002000000010000000100000000000000";
const ALL_XCDR1_BIG: &str = "0100000000000000fffffffffffffffe000000050000000301020300000000013ff8000000000000000000000000000700000002000000\
    03c3a90000000000010000000000000002000000010000000500000001000000004004000000000000fffd00000000000100000002\
    6b000000000000093f00000000000002000000010000000100000000";

fn hex(text: &str) -> Vec<u8> {
    from_hex(&text.replace(' ', "")).expect("it is hex")
}

fn encapsulation(codec_events: &EventTypes, kind: usize, json: &Json) -> Vec<u8> {
    let operation = codec_events.kinds()[kind].operation();
    let encoded = operation.encode_request(json, EncodingVersion::V1_1);
    encoded.expect("it fits the contract")
}

#[test]
fn a_sample_of_each_type_is_that_of_cyclone() {
    let codec = codec(ALL, "::D::Sink");
    let parameters = encapsulation(codec.events(), 0, &all());
    let sample = codec.encode(0, &parameters).expect("CDR can say it");
    assert_eq!(value(&sample), to_hex(&hex(ALL_XCDR1)));
    for (header, of_cyclone) in [
        ("00010000", ALL_XCDR1),
        ("00070000", ALL_XCDR2),
        ("00000000", ALL_XCDR1_BIG),
    ] {
        let sample = [hex(header), hex(of_cyclone)].concat();
        let (kind, read) = codec.decode(&sample).expect("it is one");
        assert_eq!((kind.name(), read), ("all", parameters.clone()));
    }
    let mut bytes = Vec::new();
    let mut writer = CdrWriter::new(&mut bytes, CdrVersion::Two, LEN_MAX);
    let kind = &codec.events().kinds()[0];
    kind.write_to(&parameters, &mut writer)
        .expect("CDR can say it");
    assert_eq!(bytes, hex(ALL_XCDR2));
}

#[test]
fn optional_members_are_those_of_cyclone() {
    let codec = codec(ALL, "::D::Options");
    for (json, one, two) in [
        (
            json!({"a": 1, "b": 2.5, "d": 4}),
            "01000000017f080001000000080000000000000000000440017f08000200000000000000017f0800030000000400000004000000",
            "010000000100000000000000000004400001000004000000",
        ),
        (
            json!({"a": 1, "c": "x"}),
            "01000000017f08000100000000000000017f080002000000060000000200000078000000017f08000300000000000000",
            "0100000000010000020000007800 00",
        ),
    ] {
        let parameters = encapsulation(codec.events(), 0, &json);
        let sample = codec.encode(0, &parameters).expect("CDR can say it");
        assert_eq!(value(&sample), to_hex(&hex(two)), "version 2");
        let mut bytes = Vec::new();
        let mut writer = CdrWriter::new(&mut bytes, CdrVersion::One, LEN_MAX);
        let kind = &codec.events().kinds()[0];
        kind.write_to(&parameters, &mut writer)
            .expect("CDR can say it");
        assert_eq!(to_hex(&bytes), one, "version 1");
        for (header, value) in [("00010000", one), ("00070000", two)] {
            let sample = [hex(header), hex(value)].concat();
            let (_, read) = codec.decode(&sample).expect("it is one");
            assert_eq!(read, parameters, "{header}");
        }
    }
}

#[test]
fn several_operations_are_a_union() {
    let codec = codec(ALL, "::D::Choice");
    for (kind, json, expected) in [
        (
            0,
            json!({"l": {"price": 1.0, "size": 2}}),
            "0000000000000000000000000000f03f0200000000000000",
        ),
        (1, json!({"s": {"v": -2}}), "01000000feff"),
        // A struct of no parameters has an octet.
        (2, json!({}), "0200000000"),
    ] {
        let parameters = encapsulation(codec.events(), kind, &json);
        let sample = codec.encode(kind, &parameters).expect("CDR can say it");
        assert_eq!(value(&sample), expected);
        let (read, values) = codec.decode(&sample).expect("it is one");
        assert_eq!(read.name(), codec.events().kinds()[kind].name());
        assert_eq!(values, parameters);
    }
    let error = codec
        .decode(&hex("0001000003000000"))
        .expect_err("there are three");
    assert_eq!(
        error.to_string(),
        "expected an operation from 0 to 2 as the discriminator, got 3"
    );
}

#[test]
fn a_value_that_cdr_cannot_say_is_refused_by_its_field() {
    let codec = codec(ALL, "::D::Sink");
    let mut values = all();
    values["all"]["names"][1] = json!("a\0b");
    let parameters = encapsulation(codec.events(), 0, &values);
    let error = codec.encode(0, &parameters).expect_err("it has a zero");
    assert_eq!(
        error.to_string(),
        "params.all.names[1]: a string of DDS cannot hold the character of code 0, which is at byte 1"
    );
    assert_eq!(error.reason(), Reason::CannotBeSaid);
    values["all"]["names"][1] = json!("x".repeat(LEN_MAX));
    let parameters = encapsulation(codec.events(), 0, &values);
    let error = codec.encode(0, &parameters).expect_err("it is too long");
    assert_eq!(
        error.to_string(),
        "params.all.names[1]: the event is longer than 1048576 bytes in CDR"
    );
    let error = codec.encode(0, &parameters[..20]).expect_err("it is cut");
    assert_eq!(error.reason(), Reason::NotOfContract);
}

#[test]
fn bytes_that_are_no_sample_are_refused_with_what_was_expected() {
    let codec = codec(
        "module M { enum E { a, b } struct S { bool b; string s; E e; } interface I { void s(S s); } }",
        "::M::I",
    );
    for (sample, expected) in [
        (
            "0001",
            "expected a payload with a header of 4 bytes and its padding, got 2 bytes",
        ),
        (
            "0003000001000000",
            "expected a sample of a final type in plain CDR, version 1 or 2, got a parameter list, as mutable types have it; \
             declare the type `@final`, as `floe slice idl` does",
        ),
        ("0001000002", "params.s.b: expected 0 or 1 at byte 0, got 2"),
        (
            "00010000010000000500000061",
            "params.s.s: expected a string of 5 bytes at byte 8, and 1 remain",
        ),
        (
            "0001000001000000020000006162",
            "params.s.s: expected a zero at the end of a string at byte 9, got 0x62",
        ),
        (
            "00010000010000000400000061006200",
            "params.s.s: expected the only zero of a string at its end at byte 9, got one before",
        ),
        (
            "0001000001000000020000ff",
            "params.s.s: expected a string of 4278190082 bytes at byte 8, and 0 remain",
        ),
        (
            "000100000100000001000000000000000200 0000",
            "params.s.e: expected the value of an enumerator of ::M::E at byte 12, got 2",
        ),
        (
            "0001000001000000010000000000000001000000 00000000",
            "expected the end of the sample at byte 16, got 4 bytes more",
        ),
    ] {
        let error = codec.decode(&hex(sample)).expect_err("it is none");
        assert_eq!(error.to_string(), expected, "{sample}");
        assert_eq!(error.reason(), Reason::Malformed);
    }
}

/// A contract out of numbers, with the value of an event out of others.
fn contract_of(recipe: &[(u8, u8)]) -> String {
    let mut text = "module M { enum E { a, b = 7, c = 300 } sequence<byte> Bytes;\n".to_owned();
    let mut types: Vec<String> = [
        "bool", "byte", "short", "int", "long", "float", "double", "string", "E", "Bytes",
        "Object*",
    ]
    .map(str::to_owned)
    .to_vec();
    for (index, (kind, choice)) in recipe.iter().enumerate() {
        let pick = |turn: usize| types[(usize::from(*choice) * 7 + turn * 5) % types.len()].clone();
        let name = format!("T{index}");
        text += &match kind % 3 {
            0 => format!("sequence<{}> {name};\n", pick(0)),
            1 => format!(
                "dictionary<{}, {}> {name};\n",
                ["string", "int", "E"][usize::from(*choice) % 3],
                pick(1)
            ),
            _ => {
                let members: String = (0..1 + usize::from(*choice) % 4)
                    .map(|at| format!("{} m{at}; ", pick(at)))
                    .collect();
                format!("struct {name} {{ {members}}}\n")
            }
        };
        types.push(name);
    }
    let last = types.last().expect("there are some");
    let other = &types[types.len() / 2];
    format!(
        "{text} interface I {{ void one({last} v, optional(3) {other} w, optional(1) int x); void two({other} v); }} }}"
    )
}

/// JSON for a type, out of numbers.
fn example(layout: &floe_dynamic::Layout, numbers: &mut impl Iterator<Item = u8>) -> Json {
    use floe_dynamic::Shape;
    use floe_slice::model::Primitive;
    let mut next = || numbers.next().unwrap_or(0);
    match layout.shape() {
        Shape::Primitive(primitive) => match primitive {
            Primitive::Bool => json!(next() % 2 == 1),
            Primitive::Byte => json!(next()),
            Primitive::Short => json!(i16::from(next()) * 127),
            Primitive::Int => json!(i32::from(next()) * -1_000_003),
            Primitive::Long => json!(i64::from(next()) * 1_000_000_000_000_007),
            Primitive::Float => json!(f32::from(next()) / 4.0),
            Primitive::Double => json!(f64::from(next()) / 3.0),
            Primitive::String => json!("é".repeat(usize::from(next() % 5))),
        },
        Shape::Enum(all) => {
            let names: Vec<_> = all.names().collect();
            json!(names[usize::from(next()) % names.len()])
        }
        Shape::Struct(record) => {
            let members = record.members().iter();
            let values = members.map(|it| (it.name().to_owned(), example(it.layout(), numbers)));
            Json::Object(values.collect())
        }
        Shape::Bytes => json!((0..next() % 6).collect::<Vec<u8>>()),
        Shape::Sequence(element) => {
            let count = next() % 4;
            (0..count).map(|_| example(element, numbers)).collect()
        }
        Shape::Dictionary { key, value } => {
            let count = next() % 2;
            let pairs = (0..count).map(|_| json!([example(key, numbers), example(value, numbers)]));
            let pairs: Vec<Json> = pairs.collect();
            let is_text = matches!(
                key.shape(),
                Shape::Primitive(Primitive::String) | Shape::Enum(_)
            );
            match is_text {
                true => {
                    let entries = pairs
                        .iter()
                        .map(|it| (it[0].as_str().unwrap_or_default().to_owned(), it[1].clone()));
                    Json::Object(entries.collect())
                }
                false => json!(pairs),
            }
        }
        Shape::Proxy => match next() % 2 {
            0 => Json::Null,
            _ => json!("id -t -e 1.1:tcp -h localhost -p 10"),
        },
        _ => unreachable!("there are no others in these contracts"),
    }
}

proptest! {
    #[test]
    fn an_event_is_the_same_after_it_has_been_a_sample(
        recipe in prop::collection::vec(any::<(u8, u8)>(), 1..7),
        numbers in prop::collection::vec(any::<u8>(), 0..200),
        kind in 0..2_usize,
        is_set in any::<[bool; 2]>(),
    ) {
        let codec = codec(&contract_of(&recipe), "::M::I");
        let inputs = codec.events().kinds()[kind].operation().inputs();
        let mut numbers = numbers.into_iter();
        let mut values = serde_json::Map::new();
        for (at, member) in inputs.members().iter().enumerate() {
            if at == 0 || is_set[at - 1] {
                values.insert(member.name().to_owned(), example(member.layout(), &mut numbers));
            }
        }
        let parameters = encapsulation(codec.events(), kind, &Json::Object(values));
        let sample = codec.encode(kind, &parameters).expect("CDR can say it");
        let (read, again) = codec.decode(&sample).expect("we wrote it");
        prop_assert_eq!(read.name(), codec.events().kinds()[kind].name());
        prop_assert_eq!(&again, &parameters);
        // The same in the other version.
        let of_kind = &codec.events().kinds()[kind];
        for version in [CdrVersion::One, CdrVersion::Two] {
            let mut bytes = Vec::new();
            let mut writer = CdrWriter::new(&mut bytes, version, LEN_MAX);
            of_kind.write_to(&parameters, &mut writer).expect("CDR can say it");
            let mut reader = CdrReader::new(&bytes, ByteOrder::Little, version);
            let again = of_kind.read_from(&mut reader).expect("we wrote it");
            reader.finish().expect("that was all");
            prop_assert_eq!(&again, &parameters);
        }
    }

    #[test]
    fn no_bytes_do_more_harm_than_an_error(
        recipe in prop::collection::vec(any::<(u8, u8)>(), 1..7),
        header in 0..12_u8,
        mut bytes in prop::collection::vec(prop_oneof![Just(0_u8), Just(1), any::<u8>()], 0..200),
    ) {
        let codec = codec(&contract_of(&recipe), "::M::I");
        bytes.splice(0..0, [0, header, 0, 0]);
        if let Ok((kind, parameters)) = codec.decode(&bytes) {
            let kind = codec.events().find(kind.name()).expect("it is one").0;
            let sample = codec.encode(kind, &parameters).expect("it came as a sample");
            prop_assert!(codec.decode(&sample).is_ok());
        }
    }
}
