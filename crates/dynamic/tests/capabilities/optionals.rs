//! Optional members, parameters and values, of each kind that the wire has.

use floe_dynamic::{Contract, PayloadType, to_hex};
use floe_wire::EncodingVersion;
use serde_json::{Value as Json, json};

use crate::support::contract;

const V1_0: EncodingVersion = EncodingVersion::V1_0;
const V1_1: EncodingVersion = EncodingVersion::V1_1;

const SLICE: &str = "
    module M
    {
        enum Color { red, green }
        struct Fixed { int i; byte b; }
        struct Free { string s; }
        sequence<byte> Bytes;
        sequence<short> Shorts;
        sequence<Free> Frees;
        dictionary<byte, int> Fixeds;
        dictionary<string, int> Texts;
        class Node { int i; }
        exception Failure { optional(300) string why; optional(1) Node node; int code; }
        interface Taker
        {
            optional(2) string take(optional(9) int late, string name, optional(1) Object* prx,
                                    out optional(0) int first, out bool last) throws Failure;
        }
    }";

fn tagged(contract: &Contract, name: &str, tag: i32) -> PayloadType {
    PayloadType::named(contract, name, Some(tag)).expect("the contract has the type")
}

/// The bytes of an optional value with tag 1, which are decoded to the same value again.
#[track_caller]
fn bytes(name: &str, json: Json) -> Vec<u8> {
    let contract = contract(SLICE);
    let payload = tagged(&contract, name, 1);
    let bytes = payload
        .encode(&json, V1_1, None)
        .unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(payload.decode(&bytes, V1_1), Ok(json.clone()));
    assert_eq!(
        payload.encode(&json, V1_0, None),
        Ok(Vec::new()),
        "1.0 has none"
    );
    bytes
}

#[test]
fn each_type_says_its_length_in_its_own_way() {
    assert_eq!(bytes("bool", json!(true)), [0b1000, 1]);
    assert_eq!(bytes("short", json!(2)), [0b1001, 2, 0]);
    assert_eq!(bytes("float", json!(0.0)), [0b1010, 0, 0, 0, 0]);
    assert_eq!(bytes("long", json!(1)), [0b1011, 1, 0, 0, 0, 0, 0, 0, 0]);
    assert_eq!(bytes("M::Color", json!("green")), [0b1100, 1]);
    assert_eq!(bytes("string", json!("a")), [0b1101, 1, b'a']);
    assert_eq!(bytes("M::Bytes", json!([7, 8])), [0b1101, 2, 7, 8]);
    assert_eq!(bytes("M::Shorts", json!([7])), [0b1101, 3, 1, 7, 0]);
    assert_eq!(
        bytes("M::Fixed", json!({"i": 1, "b": 2})),
        [0b1101, 5, 1, 0, 0, 0, 2]
    );
    assert_eq!(
        bytes("M::Fixeds", json!({"3": 4})),
        [0b1101, 6, 1, 3, 4, 0, 0, 0]
    );
    assert_eq!(bytes("M::Free", json!({"s": ""})), [0b1110, 1, 0, 0, 0, 0]);
    assert_eq!(bytes("M::Frees", json!([])), [0b1110, 1, 0, 0, 0, 0]);
    assert_eq!(bytes("M::Texts", json!({})), [0b1110, 1, 0, 0, 0, 0]);
    assert_eq!(bytes("Object*", Json::Null), [0b1110, 2, 0, 0, 0, 0, 0]);
    assert_eq!(bytes("M::Node", Json::Null), [0b1111, 0]);
    assert_eq!(bytes("Value", Json::Null), [0b1111, 0]);
    let long = vec![json!(1); 300];
    assert_eq!(
        bytes("M::Shorts", json!(long))[..8],
        [0b1101, 255, 93, 2, 0, 0, 255, 44]
    );
}

#[test]
fn an_unset_value_is_no_bytes_and_null_where_that_is_no_value() {
    let contract = contract(SLICE);
    let unset = json!({"$unset": true});
    for name in ["int", "M::Texts", "Object*", "M::Node"] {
        let payload = tagged(&contract, name, 4);
        assert_eq!(payload.encode(&unset, V1_1, None), Ok(Vec::new()), "{name}");
        assert_eq!(payload.decode(&[], V1_1), Ok(unset.clone()), "{name}");
        assert_eq!(payload.decode(&[], V1_0), Ok(unset.clone()), "{name}");
    }
    assert_eq!(
        tagged(&contract, "int", 4).encode(&Json::Null, V1_1, None),
        Ok(Vec::new())
    );
}

#[test]
fn tags_that_nobody_asked_for_are_skipped_and_others_refused() {
    let contract = contract(SLICE);
    let payload = tagged(&contract, "int", 40);
    let bytes = [
        &[0b1000, 1][..],
        &[0b1_0111, 0],
        &[0b1_1110, 2, 0, 0, 0, 9, 9],
        &[30 << 3 | 2, 40, 5, 0, 0, 0],
        &[30 << 3 | 4, 41, 3],
    ];
    assert_eq!(payload.decode(&bytes.concat(), V1_1), Ok(json!(5)));
    let wrong = payload.decode(&[30 << 3 | 1, 40, 5, 0], V1_1);
    assert_eq!(
        wrong.expect_err("a short is no int").to_string(),
        "value: cannot decode tagged value at byte 0: expected tag 40 with format F4, got F2"
    );
    assert!(payload.decode(&[30 << 3 | 2, 40, 5], V1_1).is_err());
    assert!(
        tagged(&contract, "M::Shorts", 1)
            .decode(&[0b1101, 4, 1, 7, 0, 0], V1_1)
            .is_err()
    );
}

#[test]
fn optional_parameters_and_results_stand_behind_the_others_by_their_tags() {
    let contract = contract(SLICE);
    let take = contract.operation("take").expect("it is the only one");
    let params = PayloadType::params(&take);
    let json = json!({"late": 1, "name": "n", "prx": null});
    let expected = [
        &[1, b'n'][..],
        &[0b1110, 2, 0, 0, 0, 0, 0],
        &[9 << 3 | 2, 1, 0, 0, 0],
    ]
    .concat();
    assert_eq!(params.encode(&json, V1_1, None), Ok(expected.clone()));
    assert_eq!(params.decode(&expected, V1_1), Ok(json));
    for unset in [
        json!({"name": "n"}),
        json!({"name": "n", "late": null, "prx": {"$unset": true}}),
        json!([null, "n", {"$unset": true}]),
    ] {
        assert_eq!(
            params.encode(&unset, V1_1, None),
            Ok(vec![1, b'n']),
            "{unset}"
        );
    }
    assert_eq!(params.decode(&[1, b'n'], V1_1), Ok(json!({"name": "n"})));

    let results = PayloadType::results(&take);
    let json = json!({"returnValue": "r", "first": 5, "last": true});
    let expected = [&[1][..], &[0b0010, 5, 0, 0, 0], &[2 << 3 | 5, 1, b'r']].concat();
    assert_eq!(results.encode(&json, V1_1, None), Ok(expected.clone()));
    assert_eq!(results.decode(&expected, V1_1), Ok(json));
}

#[test]
fn an_exception_has_optional_members_and_instances_in_each_encoding() {
    let contract = contract(SLICE);
    let failure = PayloadType::named(&contract, "M::Failure", None).expect("it is there");
    let json = json!({
        "$exception": "::M::Failure",
        "why": "w",
        "node": {"$class": "::M::Node", "i": 1},
        "code": 3,
    });
    for format in [None, Some(floe_wire::encoding::ClassFormat::Compact)] {
        let bytes = failure.encode(&json, V1_1, format).expect("it fits");
        assert_eq!(failure.decode(&bytes, V1_1), Ok(json.clone()));
    }
    let bytes = failure.encode(&json, V1_0, None).expect("it fits");
    assert_eq!(
        failure.decode(&bytes, V1_0),
        Ok(json!({"$exception": "::M::Failure", "code": 3}))
    );
}

#[test]
fn in_encoding_1_0_an_instance_that_is_optional_makes_no_table_of_instances_follow() {
    // Source: observed, Ice 3.7.8 for Python.
    let contract = contract(
        "module M
        {
            class C { int i; }
            exception E { int a; optional(1) C c; }
            interface I { void g(int a, optional(1) C c) throws E; void h(C d, optional(1) C c); }
        }",
    );
    let encode = |payload: PayloadType, json: Json| {
        let bytes = payload.encode(&json, V1_0, None);
        to_hex(&bytes.unwrap_or_else(|error| panic!("{error}")))
    };
    let params = |name| PayloadType::params(&contract.operation(name).expect("it is there"));
    assert_eq!(
        encode(params("g"), json!({"a": 1, "c": {"i": 5}})),
        "01000000"
    );
    assert_eq!(
        encode(params("h"), json!({"d": {"i": 1}, "c": {"i": 2}})),
        "ffffffff010100000000063a3a4d3a3a430800000001000000000d3a3a4963653a3a4f626a656374050000000000"
    );
    let thrown = PayloadType::named(&contract, "M::E", None).expect("it is there");
    let json = json!({"$exception": "::M::E", "a": 7, "c": {"i": 5}});
    assert_eq!(encode(thrown, json), "00063a3a4d3a3a450800000007000000");
}

#[test]
fn a_dictionary_is_told_from_a_mark_in_its_place() {
    let contract = contract(SLICE);
    let payload = tagged(&contract, "M::Texts", 1);
    let marked = json!([["$unset", 1]]);
    let bytes = payload.encode(&marked, V1_1, None).expect("it fits");
    assert_eq!(payload.decode(&bytes, V1_1), Ok(marked));
    let recorded = json!({"$dict": [["a", 1]]});
    let bytes = payload.encode(&recorded, V1_1, None).expect("it fits");
    assert_eq!(payload.decode(&bytes, V1_1), Ok(json!({"a": 1})));
}
