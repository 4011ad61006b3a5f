//! Class instances: graphs as JSON and as bytes, and what is refused.

use floe_dynamic::{Contract, Instance, PayloadType, Value, parse_json};
use floe_wire::encoding::{ClassFormat, GRAPH_DEPTH_MAX};
use floe_wire::{Decoder, Encoder, EncodingVersion};
use serde_json::{Value as Json, json};

use crate::support::{contract, problem};

const SLICE: &str = "
    module M
    {
        class Node { string name; Node next; }
        class Named extends Node { int id; }
        class Small(7) { byte b; }
        class Never;
        interface Servant { void f(); }
        sequence<Node> Nodes;
        class Tree { Nodes children; optional(2) Tree up; }
        class Deep;
        sequence<Deep> Deeps;
        struct Level { Deeps deeps; }
        class Deep { Level level; }
        struct Pair { Node left; Node right; }
        dictionary<string, Node> ByName;
        sequence<Pair> Pairs;
        class Keeper { Servant byValue; Never any; Pairs pairs; ByName byName; }
    }";

const ENCODINGS: [(EncodingVersion, ClassFormat); 3] = [
    (EncodingVersion::V1_0, ClassFormat::Compact),
    (EncodingVersion::V1_1, ClassFormat::Compact),
    (EncodingVersion::V1_1, ClassFormat::Sliced),
];

fn payload_type(contract: &Contract, name: &str) -> PayloadType {
    PayloadType::named(contract, name, None).expect("the contract has the type")
}

/// The JSON after it has been bytes in each encoding and format.
#[track_caller]
fn through_bytes(r#type: &str, json: &Json) -> Json {
    let contract = contract(SLICE);
    let payload = payload_type(&contract, r#type);
    let mut seen: Option<Json> = None;
    for (encoding, format) in ENCODINGS {
        let bytes = payload.encode(json, encoding, Some(format));
        let bytes = bytes.unwrap_or_else(|error| panic!("{error}"));
        let decoded = payload.decode(&bytes, encoding);
        let decoded = decoded.unwrap_or_else(|error| panic!("{encoding:?}: {error}"));
        let again = payload.encode(&decoded, encoding, Some(format));
        assert_eq!(again, Ok(bytes), "{decoded}");
        assert_eq!(
            *seen.get_or_insert(decoded.clone()),
            decoded,
            "{encoding:?}"
        );
    }
    seen.expect("there are encodings")
}

#[test]
fn an_instance_has_its_class_and_members_those_of_bases_first() {
    let json = json!({"name": "n", "$class": "M::Named", "id": 5, "next": null});
    assert_eq!(
        through_bytes("M::Node", &json).to_string(),
        r#"{"$class":"::M::Named","name":"n","next":null,"id":5}"#
    );
}

#[test]
fn the_class_may_be_left_out_where_it_is_the_declared_one() {
    let json = json!({"name": "a", "next": {"name": "b", "next": null}});
    assert_eq!(
        through_bytes("M::Node", &json),
        json!({
            "$class": "::M::Node",
            "name": "a",
            "next": {"$class": "::M::Node", "name": "b", "next": null},
        })
    );
}

#[test]
fn what_is_referred_to_again_has_an_id_in_order_of_appearance() {
    let ring = json!({
        "$class": "::M::Node",
        "$id": "first",
        "name": "a",
        "next": {"$class": "::M::Node", "name": "b", "next": {"$ref": "first"}},
    });
    let mut expected = ring.clone();
    expected["$id"] = json!(1);
    expected["next"]["next"]["$ref"] = json!(1);
    assert_eq!(through_bytes("M::Node", &ring), expected);
}

#[test]
fn a_reference_may_come_before_its_instance_and_close_a_cycle_with_it() {
    let json = json!([
        {"left": {"$ref": 9}, "right": {"$class": "M::Node", "$id": 7, "name": "x", "next": {"$ref": 9}}},
        {"left": null, "right": {"$class": "M::Node", "$id": 9, "name": "y", "next": {"$ref": 7}}},
    ]);
    let y = json!({"$class": "::M::Node", "$id": 1, "name": "y", "next": {"$ref": 2}});
    let x = json!({"$class": "::M::Node", "$id": 2, "name": "x", "next": {"$ref": 1}});
    assert_eq!(
        through_bytes("M::Pairs", &json),
        json!([{"left": y, "right": x}, {"left": null, "right": {"$ref": 1}}])
    );
}

#[test]
fn a_part_of_a_cycle_leads_to_all_of_it() {
    let contract = contract(SLICE);
    let node = contract.data_type("M::Node").expect("a class");
    let ring = |first: &str, second: &str| {
        json!({
            "$class": "::M::Node", "$id": 1, "name": first,
            "next": {"$class": "::M::Node", "name": second, "next": {"$ref": 1}},
        })
    };
    let made = contract.value_from_json(node, &ring("a", "b"));
    let made = made.expect("a ring");
    let mut values = vec![made.clone()];
    for (encoding, format) in ENCODINGS {
        let mut bytes = Vec::new();
        let mut encoder = Encoder::new(&mut bytes, encoding);
        encoder.set_class_format(format);
        let encoded = contract.encode(node, &made, &mut encoder);
        encoded.expect("the value is of the type");
        encoder.finish_classes();
        encoder.finish().expect("a ring can be encoded");
        let mut decoder = Decoder::new(&bytes, encoding);
        values.push(contract.decode(node, &mut decoder).expect("a ring"));
        decoder.finish_classes().expect("its nodes");
    }
    drop(made);
    for value in values {
        let part = next(&value);
        drop(value);
        assert_eq!(contract.value_to_json(node, &part), ring("b", "a"));
        let rest = next(&part);
        drop(part);
        assert_eq!(contract.value_to_json(node, &rest), ring("a", "b"));
    }
}

fn next(node: &Value) -> Value {
    let Value::Instance(link) = node else {
        panic!("{node:?} is no node");
    };
    let node = link.get().expect("not nil");
    let node = Instance::cast(node.any()).expect("of the contract");
    node.members()[1].1.clone()
}

#[test]
fn what_is_only_declared_and_an_interface_by_value_are_any_class() {
    let json = json!({
        "$class": "::M::Keeper",
        "byValue": {"$class": "::M::Small", "b": 1},
        "any": {"$class": "::M::Named", "$id": 1, "name": "", "next": null, "id": 3},
        "pairs": [{"left": {"$ref": 1}, "right": null}],
        "byName": {"k": {"$ref": 1}},
    });
    assert_eq!(through_bytes("M::Keeper", &json), json);
    assert_eq!(through_bytes("Value", &json), json);
    assert_eq!(through_bytes("M::Never", &json["any"].clone()), {
        let mut any = json["any"].clone();
        any.as_object_mut().expect("an object").shift_remove("$id");
        any
    });
}

#[test]
fn all_that_is_wrong_with_instances_is_said() {
    let contract = contract(SLICE);
    let cases = [
        (
            "M::Node",
            json!(5),
            "value: expected an instance of ::M::Node as an object, or null, got the number 5",
        ),
        (
            "M::Node",
            json!({"$class": "::M::Noed"}),
            "value: expected a class of the Slice files (::M::Node, ::M::Named, ::M::Small, ::M::Tree, ::M::Deep, ::M::Keeper), got \"::M::Noed\"; did you mean `::M::Node`?",
        ),
        (
            "M::Named",
            json!({"$class": "::M::Node"}),
            "value: expected an instance of ::M::Named, got one of ::M::Node",
        ),
        (
            "Value",
            json!({"a": 1}),
            "value: expected a class instance with $class, got an object with \"a\"",
        ),
        (
            "M::Node",
            json!({"$ref": 3}),
            "value: expected the $id of an instance, got 3, which none has",
        ),
        (
            "M::Node",
            json!({"$ref": 3, "name": ""}),
            "value: expected $ref alone, got an object with \"$ref\", \"name\"",
        ),
        (
            "M::Pair",
            json!({"left": {"$id": 1, "name": "", "next": null}, "right": {"$id": 1, "name": "", "next": null}}),
            "value.right: expected an $id that no other instance has, got 1",
        ),
        (
            "M::Keeper",
            json!({"byValue": {"$class": "M::Small", "$id": 1, "b": 1}, "any": null, "pairs": [], "byName": {"k": {"$ref": 1}}}),
            "value.byName[\"k\"]: expected an instance of ::M::Node, got one of ::M::Small",
        ),
        (
            "M::Small",
            json!({"b": 1, "$slices": [{"bytes": "0g"}]}),
            "value.$slices[0]: expected a slice: {\"class\": type id or compact id, \"bytes\": hexadecimal digits, \"tagged\": true or false, \"instances\": array}, got an object with \"bytes\"",
        ),
        (
            "Value",
            json!({"$class": "::M::X", "$unknown": true}),
            "value: expected the $slices of an instance of an unknown class, got none",
        ),
        (
            "M::Node",
            json!({"name": 1, "next": {"$id": [], "name": ""}}),
            "value.name: expected a string, got the number 1\nvalue.next.$id: expected a number or text, got an array of 0",
        ),
    ];
    for (r#type, json, expected) in cases {
        assert_eq!(problem(&contract, r#type, json), expected);
    }
}

/// A list of so many nodes, the last one first.
fn list(len: usize) -> Json {
    (0..len).fold(Json::Null, |next, _| json!({"name": "", "next": next}))
}

#[test]
fn a_class_may_be_named_without_its_modules_where_one_has_the_name() {
    let whole = through_bytes(
        "M::Node",
        &json!({"$class": "M::Named", "name": "", "next": null, "id": 1}),
    );
    let short = through_bytes(
        "M::Node",
        &json!({"$class": "Named", "name": "", "next": null, "id": 1}),
    );
    assert_eq!(short, whole);
    let contract = contract("module A { class C { } class D { } } module B { class C { } }");
    let error = problem(&contract, "Value", json!({"$class": "C"}));
    assert!(
        error.starts_with("value: expected a class of the Slice files (::A::C, "),
        "{error}"
    );
}

#[test]
fn a_graph_is_as_deep_as_the_limit_and_no_deeper() {
    let contract = contract(SLICE);
    let deepest = through_bytes("M::Node", &list(GRAPH_DEPTH_MAX));
    assert_eq!(parse_json(&deepest.to_string()).ok(), Some(deepest));
    let error = problem(&contract, "M::Node", list(GRAPH_DEPTH_MAX + 1));
    assert!(
        error.ends_with("expected at most 100 class instances below one another, got more"),
        "{error}"
    );
    // Flat JSON of which each refers to the one before.
    let nodes = (0..=GRAPH_DEPTH_MAX as i64).map(|id| {
        let next = if id == 0 {
            Json::Null
        } else {
            json!({"$ref": id - 1})
        };
        json!({"$id": id, "name": "", "next": next})
    });
    let forward: Json = nodes.clone().collect();
    let backward: Json = nodes.rev().collect();
    for json in [forward, backward] {
        assert_eq!(
            problem(&contract, "M::Nodes", json),
            "value: expected at most 100 class instances below one another, got more"
        );
    }
}

#[test]
fn the_deepest_graph_with_lists_in_between_is_json_text_that_is_read_again() {
    let contract = contract(SLICE);
    let graph =
        (0..GRAPH_DEPTH_MAX).fold(json!([]), |inner, _| json!([{"level": {"deeps": inner}}]));
    let payload = payload_type(&contract, "M::Deeps");
    for (encoding, format) in ENCODINGS {
        let bytes = payload.encode(&graph, encoding, Some(format));
        let bytes = bytes.expect("it is not too deep");
        let decoded = payload.decode(&bytes, encoding).expect("our own bytes");
        let read = parse_json(&decoded.to_string()).expect("we wrote JSON");
        assert_eq!(payload.encode(&read, encoding, Some(format)), Ok(bytes));
    }
}

#[test]
fn bytes_that_make_no_sense_are_refused_with_the_path_into_the_instances() {
    let contract = contract(SLICE);
    let node = payload_type(&contract, "M::Node");
    let json = list(3);
    for (encoding, format) in ENCODINGS {
        let mut bytes = node.encode(&json, encoding, Some(format)).expect("it fits");
        let valid = bytes.clone();
        for len in 0..bytes.len() {
            assert!(
                node.decode(&valid[..len], encoding).is_err(),
                "{encoding:?} {len}"
            );
        }
        bytes.push(1);
        assert!(node.decode(&bytes, encoding).is_err(), "{encoding:?}");
    }
    let cut = node.decode(
        b"\x01\x21\x09::M::Node\x00\x01\x22\x01\x05",
        EncodingVersion::V1_1,
    );
    assert_eq!(
        cut.expect_err("the name is missing").to_string(),
        "value.next.name: cannot decode string at byte 17: expected 5 more bytes, 0 are left"
    );
    let other = payload_type(&contract, "M::Small")
        .decode(b"\x01\x21\x09::M::Node\x00\x00", EncodingVersion::V1_1);
    assert_eq!(
        other.expect_err("a Node is no Small").to_string(),
        "value: cannot decode class instance at byte 0: got an instance of ::M::Node, which is no such class"
    );
    let old = b"\xff\xff\xff\xff\x01\x01\0\0\0\0\x09::M::Node\x05\0\0\0\x09\0\x0d::Ice::Object\x05\0\0\0\0\0";
    let old = node.decode(old, EncodingVersion::V1_0);
    assert_eq!(
        old.expect_err("the name is longer than its slice")
            .to_string(),
        "value.name: cannot decode string at byte 25: expected 9 more bytes, 0 are left"
    );
}

#[test]
fn an_instance_of_which_no_class_is_known_comes_back_as_it_was_in_the_sliced_format() {
    let sender = contract(SLICE);
    let json =
        json!({"$class": "M::Named", "name": "a", "next": {"$class": "M::Small", "b": 1}, "id": 2});
    let json = json!({"byValue": json["next"], "any": {"$class": "M::Named", "$id": 1, "name": "n", "next": {"$ref": 1}, "id": 3}, "pairs": [], "byName": {}});
    let sliced = Some(ClassFormat::Sliced);
    let bytes = payload_type(&sender, "M::Keeper").encode(&json, EncodingVersion::V1_1, sliced);
    let bytes = bytes.expect("it fits");
    for slice in [
        "module M { interface I {} }",
        "module M { class Small(7) { byte b; } }",
    ] {
        let receiver = contract(slice);
        let value = payload_type(&receiver, "Object");
        let decoded = value
            .decode(&bytes, EncodingVersion::V1_1)
            .expect("it can be skipped");
        assert_eq!(decoded["$class"], "::M::Keeper");
        assert_eq!(decoded["$unknown"], true);
        let again = value.encode(&decoded, EncodingVersion::V1_1, sliced);
        assert_eq!(again.as_ref(), Ok(&bytes), "{decoded}");
        let compact = value.encode(&decoded, EncodingVersion::V1_1, None);
        let error = compact
            .expect_err("compact slices cannot be skipped")
            .to_string();
        assert!(
            error.contains("only the sliced format of encoding 1.1 carries such"),
            "{error}"
        );
    }
}

#[test]
fn of_a_key_that_comes_twice_the_last_instance_is_shown_whole() {
    let contract = contract("module M { class Node { byte b; } dictionary<string, Node> Nodes; }");
    let bytes = b"\x02\x01k\x01\x21\x09::M::Node\x05\x01k\x02";
    let decoded = payload_type(&contract, "M::Nodes").decode(bytes, EncodingVersion::V1_1);
    let last = &decoded.expect("a key may come twice")["k"];
    assert_eq!(
        (&last["$class"], &last["b"]),
        (&json!("::M::Node"), &json!(5))
    );
}
