//! Requests, replies and exceptions: the encapsulations in recorded messages.

use floe_dynamic::{Contract, Operation};
use floe_wire::{Encapsulation, EncodingVersion};
use serde_json::{Value as Json, json};

use crate::file::{Vector, contract, from_hex, hex, load};

/// The kind of message in a vector.
enum Case {
    /// The parameters of an operation.
    Params(&'static str, Json),
    /// The results of an operation.
    Results(&'static str, Json),
    /// A user exception, thrown by an operation.
    Thrown(&'static str, Json),
    /// Nothing for a contract, because of this.
    Skipped(&'static str),
}
use Case::{Params, Results, Skipped, Thrown};

const NO_PAYLOAD: &str = "the message has no encapsulation";
const SYSTEM_EXCEPTION: &str = "a system exception has no encapsulation";
const BATCH: &str = "several requests: a test of its own";

fn requests() -> Vec<(&'static str, Case)> {
    vec![
        ("validate_connection", Skipped(NO_PAYLOAD)),
        ("request_ice_ping", Params("ice_ping", json!({}))),
        (
            "request_ice_isA",
            Params("ice_isA", json!({"id": "::M::T"})),
        ),
        ("request_ice_id", Params("ice_id", json!({}))),
        ("request_ice_ids", Params("ice_ids", json!({}))),
        ("request_noop", Params("noop", json!({}))),
        ("request_idempotent", Params("idem", json!({}))),
        ("request_add", Params("add", json!({"a": 1, "b": 2}))),
        ("request_greet", Params("greet", json!({"name": "Bob"}))),
        ("request_context_1", Params("add", json!({"a": 3, "b": 4}))),
        ("request_context_2", Params("noop", json!({}))),
        ("request_facet", Params("noop", json!({}))),
        ("request_category", Params("noop", json!({}))),
        (
            "request_encoding10",
            Params("greet", json!({"name": "old"})),
        ),
        (
            "request_tagged_set",
            Params("tagged", json!({"a": 1, "b": 2})),
        ),
        ("request_tagged_unset", Params("tagged", json!({"a": 0}))),
        (
            "request_encoding10_tagged",
            Params("tagged", json!({"a": 1})),
        ),
        ("request_swap_classes", Params("swap", swap())),
        ("request_encoding10_swap", Params("swap", swap())),
        ("oneway_noop", Params("noop", json!({}))),
        ("batch_3", Skipped(BATCH)),
        ("heartbeat", Skipped(NO_PAYLOAD)),
        ("close_connection_from_client", Skipped(NO_PAYLOAD)),
        ("close_connection_from_server", Skipped(NO_PAYLOAD)),
    ]
}

fn replies() -> Vec<(&'static str, Case)> {
    let greeting = |text: &str| json!({"returnValue": text, "length": 3});
    let undeclared = json!({"$exception": "::M::Undeclared", "oops": "oops"});
    vec![
        ("reply_ice_ping", Results("ice_ping", json!({}))),
        (
            "reply_ice_isA",
            Results("ice_isA", json!({"returnValue": true})),
        ),
        (
            "reply_ice_id",
            Results("ice_id", json!({"returnValue": "::M::T"})),
        ),
        (
            "reply_ice_ids",
            Results(
                "ice_ids",
                json!({"returnValue": ["::Ice::Object", "::M::T"]}),
            ),
        ),
        ("reply_noop", Results("noop", json!({}))),
        ("reply_idempotent", Results("idem", json!({}))),
        ("reply_add", Results("add", json!({"returnValue": 3}))),
        ("reply_greet", Results("greet", greeting("hi Bob"))),
        ("reply_context_1", Results("add", json!({"returnValue": 7}))),
        ("reply_context_2", Results("noop", json!({}))),
        ("reply_facet", Results("noop", json!({}))),
        ("reply_category", Results("noop", json!({}))),
        ("reply_encoding10", Results("greet", greeting("hi old"))),
        (
            "reply_tagged_set",
            Results("tagged", json!({"returnValue": "r1", "c": 7})),
        ),
        ("reply_tagged_unset", Results("tagged", json!({}))),
        ("reply_encoding10_tagged", Results("tagged", json!({}))),
        ("reply_swap_classes", Results("swap", swapped())),
        ("reply_encoding10_swap", Results("swap", swapped())),
        ("reply_object_not_exist", Skipped(SYSTEM_EXCEPTION)),
        ("reply_facet_not_exist", Skipped(SYSTEM_EXCEPTION)),
        ("reply_operation_not_exist", Skipped(SYSTEM_EXCEPTION)),
        ("reply_object_not_exist_facet", Skipped(SYSTEM_EXCEPTION)),
        (
            "reply_object_not_exist_forwarded",
            Skipped(SYSTEM_EXCEPTION),
        ),
        ("reply_unknown_local_exception", Skipped(SYSTEM_EXCEPTION)),
        ("reply_unknown_user_exception", Skipped(SYSTEM_EXCEPTION)),
        ("reply_unknown_exception", Skipped(SYSTEM_EXCEPTION)),
        (
            "reply_undeclared_user_exception",
            Thrown("throwCompact", undeclared),
        ),
    ]
}

fn swap() -> Json {
    let second = json!({"$class": "::M::Node", "value": 2, "next": null});
    json!({"a": {"$class": "::M::Node", "value": 1, "next": second}, "tag": 9})
}

/// The result is the second instance, which is below the first.
fn swapped() -> Json {
    json!({
        "returnValue": {"$class": "::M::Node", "$id": 1, "value": 2, "next": null},
        "b": {"$class": "::M::Node", "value": 1, "next": {"$ref": 1}},
    })
}

fn exceptions() -> Vec<(&'static str, Case)> {
    let e0 = json!({"$exception": "::M::E0"});
    let e1 = json!({"$exception": "::M::E1", "code": 5});
    let e2 = json!({"$exception": "::M::E2", "code": 6, "msg": "msg-6"});
    let e3 = json!({"$exception": "::M::E3", "code": 7, "msg": "msg-7", "at": {"x": 1, "y": 2}});
    let unset = |code| json!({"$exception": "::M::EOpt", "code": code});
    let set = json!({"$exception": "::M::EOpt", "code": 1, "why": "why", "n": 5});
    let node = json!({"$class": "::M::Node", "$id": 1, "value": 3, "next": {"$ref": 1}});
    let node = json!({"$exception": "::M::EClass", "node": node});
    vec![
        ("exception_E0_e10", Thrown("throwSliced", e0.clone())),
        (
            "exception_E0_e11_compact",
            Thrown("throwCompact", e0.clone()),
        ),
        ("exception_E0_e11_sliced", Thrown("throwSliced", e0)),
        ("exception_E1_5_e10", Thrown("throwSliced", e1.clone())),
        (
            "exception_E1_5_e11_compact",
            Thrown("throwCompact", e1.clone()),
        ),
        ("exception_E1_5_e11_sliced", Thrown("throwSliced", e1)),
        ("exception_E2_6_e10", Thrown("throwSliced", e2.clone())),
        (
            "exception_E2_6_e11_compact",
            Thrown("throwCompact", e2.clone()),
        ),
        ("exception_E2_6_e11_sliced", Thrown("throwSliced", e2)),
        ("exception_E3_7_e10", Thrown("throwSliced", e3.clone())),
        (
            "exception_E3_7_e11_compact",
            Thrown("throwCompact", e3.clone()),
        ),
        ("exception_E3_7_e11_sliced", Thrown("throwSliced", e3)),
        ("exception_EOpt_1_e10", Thrown("throwSliced", unset(1))),
        (
            "exception_EOpt_1_e11_compact",
            Thrown("throwCompact", set.clone()),
        ),
        ("exception_EOpt_1_e11_sliced", Thrown("throwSliced", set)),
        ("exception_EOpt_0_e10", Thrown("throwSliced", unset(0))),
        (
            "exception_EOpt_0_e11_compact",
            Thrown("throwCompact", unset(0)),
        ),
        (
            "exception_EOpt_0_e11_sliced",
            Thrown("throwSliced", unset(0)),
        ),
        (
            "exception_EClass_3_e10",
            Thrown("throwSliced", node.clone()),
        ),
        (
            "exception_EClass_3_e11_compact",
            Thrown("throwCompact", node.clone()),
        ),
        ("exception_EClass_3_e11_sliced", Thrown("throwSliced", node)),
    ]
}

#[test]
fn requests_of_ice_are_read_and_written() {
    run("messages", requests());
}

#[test]
fn replies_of_ice_are_read_and_written() {
    run("replies", replies());
}

#[test]
fn user_exceptions_of_ice_are_read_and_written() {
    run("exceptions", exceptions());
}

#[test]
fn requests_of_a_batch_of_ice_are_read_and_written() {
    let vectors = load("messages");
    let batch = vectors.iter().find(|vector| vector.name == "batch_3");
    let batch = batch.expect("the vector of a batch");
    let contract = contract(batch.text("slice"));
    let requests = batch.json["message"]["requests"].as_array();
    let expected = [
        json!({}),
        json!({"text": "one", "n": 1}),
        json!({"text": "two", "n": 2}),
    ];
    let requests = requests.expect("the requests of the batch");
    assert_eq!(requests.len(), expected.len());
    for (request, expected) in requests.iter().zip(expected) {
        let name = request["operation"].as_str().expect("an operation");
        let bytes = from_hex(request["encapsulation"].as_str().expect("an encapsulation"));
        check_params(&operation(&contract, name), &bytes, &expected);
    }
}

/// Runs all vectors of a file, each with its case.
fn run(file: &str, cases: Vec<(&str, Case)>) {
    let vectors = load(file);
    let names: Vec<&str> = vectors.iter().map(|vector| vector.name.as_str()).collect();
    let known: Vec<&str> = cases.iter().map(|(name, _)| *name).collect();
    assert_eq!(names, known, "{file} has other vectors");
    for (vector, (_, case)) in vectors.iter().zip(&cases) {
        check(vector, case);
    }
}

fn check(vector: &Vector, case: &Case) {
    if let Skipped(reason) = case {
        println!("skipped {}: {reason}", vector.name);
        return;
    }
    let contract = contract(vector.text("slice"));
    let message = &vector.json["message"];
    let bytes = from_hex(message["encapsulation"].as_str().expect("an encapsulation"));
    // The dissection is what we read; the message is what was recorded.
    let is_end = vector.bytes.ends_with(&bytes);
    assert!(
        is_end,
        "{}: the encapsulation ends the message",
        vector.name
    );
    match case {
        Params(name, json) => {
            let operation = operation(&contract, name);
            assert_eq!(operation.mode() as u64, message["mode"], "mode of {name}");
            check_params(&operation, &bytes, json);
        }
        Results(name, json) => {
            let operation = operation(&contract, name);
            assert_eq!(operation.decode_reply(&bytes).as_ref(), Ok(json));
            let encoded = operation.encode_reply(json, encoding(&bytes));
            assert_eq!(encoded.map(|encoded| hex(&encoded)), Ok(hex(&bytes)));
        }
        Thrown(name, json) => {
            let operation = operation(&contract, name);
            assert_eq!(operation.decode_exception(&bytes).as_ref(), Ok(json));
            let encoded = operation.encode_exception(json, encoding(&bytes));
            assert_eq!(encoded.map(|encoded| hex(&encoded)), Ok(hex(&bytes)));
        }
        Skipped(_) => {}
    }
}

fn check_params(operation: &Operation, bytes: &[u8], json: &Json) {
    assert_eq!(operation.decode_request(bytes).as_ref(), Ok(json));
    let encoded = operation.encode_request(json, encoding(bytes));
    assert_eq!(encoded.map(|encoded| hex(&encoded)), Ok(hex(bytes)));
}

fn operation(contract: &Contract, name: &str) -> Operation {
    let found = contract.operation_of_object(&["::M::T"], name);
    found.unwrap_or_else(|error| panic!("{error}"))
}

fn encoding(encapsulation: &[u8]) -> EncodingVersion {
    let parsed = Encapsulation::parse(encapsulation);
    parsed.expect("an encapsulation").encoding
}
