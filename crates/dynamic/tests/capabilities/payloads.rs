//! Payloads of encapsulations, by the name of what they hold.

use floe_dynamic::{Contract, PayloadType};
use floe_wire::EncodingVersion;
use floe_wire::encoding::ClassFormat;
use serde_json::{Value as Json, json};

use crate::support::contract;

const SLICE: &str = "
    module M
    {
        exception Failure { int code; }
        exception Late extends Failure { string why; }
        exception Other { }
        interface T
        {
            string greet(string name, out int length) throws Failure;
            [\"format:compact\"] void compact() throws Failure;
        }
    }";

const V1_1: EncodingVersion = EncodingVersion::V1_1;

fn named(contract: &Contract, name: &str) -> PayloadType {
    PayloadType::named(contract, name, None).unwrap_or_else(|error| panic!("{error}"))
}

fn late() -> Json {
    json!({"$exception": "::M::Late", "code": 1, "why": "rain"})
}

#[test]
fn parameters_results_and_exceptions_are_told_apart_by_who_asks() {
    let greet = contract(SLICE).operation("greet").expect("it exists");
    let both_ways = |payload_type: PayloadType, json: Json, bytes: &[u8]| {
        assert_eq!(payload_type.encode(&json, V1_1, None).as_deref(), Ok(bytes));
        assert_eq!(payload_type.decode(bytes, V1_1), Ok(json));
    };
    both_ways(
        PayloadType::params(&greet),
        json!({"name": "Ada"}),
        b"\x03Ada",
    );
    both_ways(
        PayloadType::results(&greet),
        json!({"returnValue": "hi", "length": 2}),
        b"\x02\0\0\0\x02hi",
    );
    let thrown = json!({"$exception": "::M::Failure", "code": 1});
    let bytes = b"\x30\x0c::M::Failure\x08\0\0\0\x01\0\0\0";
    both_ways(PayloadType::thrown(&greet), thrown, bytes);
}

#[test]
fn results_that_are_a_user_exception_are_encoded_as_one() {
    let greet = contract(SLICE).operation("greet").expect("it exists");
    let thrown = PayloadType::thrown(&greet).encode(&late(), V1_1, None);
    let results = PayloadType::results(&greet).encode(&late(), V1_1, None);
    assert_eq!(results, thrown);
    assert!(thrown.is_ok());
}

#[test]
fn a_format_overrides_that_of_the_operation() {
    let contract = contract(SLICE);
    let compact = PayloadType::thrown(&contract.operation("compact").expect("it exists"));
    let sliced = PayloadType::thrown(&contract.operation("greet").expect("it exists"));
    let encode = |payload_type: &PayloadType, format| {
        let bytes = payload_type.encode(&late(), V1_1, format);
        bytes.unwrap_or_else(|error| panic!("{error}"))
    };
    let short = encode(&compact, None);
    let long = encode(&sliced, None);
    assert!(short.len() < long.len());
    assert_eq!(encode(&sliced, Some(ClassFormat::Compact)), short);
    assert_eq!(encode(&compact, Some(ClassFormat::Sliced)), long);
}

#[test]
fn an_exception_by_name_is_it_or_one_that_extends_it() {
    let contract = contract(SLICE);
    let failure = named(&contract, "::M::Failure");
    let bytes = failure.encode(&late(), V1_1, None).expect("it extends it");
    assert_eq!(failure.decode(&bytes, V1_1), Ok(late()));

    let other = named(&contract, "M::Other");
    let refused = other.decode(&bytes, V1_1).expect_err("it is another one");
    assert_eq!(
        refused.to_string(),
        "exception: expected ::M::Other or an exception that extends it, got the type id \"::M::Late\""
    );
    let refused = other
        .encode(&late(), V1_1, None)
        .expect_err("it is another");
    assert_eq!(
        refused.to_string(),
        "exception.$exception: expected ::M::Other or an exception that extends it, got \"::M::Late\""
    );
}

#[test]
fn bytes_that_are_left_over_are_refused_with_their_offset() {
    let refused = named(&contract(""), "short").decode(&[1, 0, 9], V1_1);
    assert_eq!(
        refused.map_err(|error| error.to_string()),
        Err("value: cannot decode value at byte 2: 1 byte is left after the last value".to_owned())
    );
}

#[test]
fn an_exception_cannot_be_tagged() {
    let refused = PayloadType::named(&contract(SLICE), "::M::Failure", Some(1));
    assert_eq!(
        refused.map(|_| ()).map_err(|error| error.to_string()),
        Err("::M::Failure is no data type: expected a built-in type, struct, class, enum, sequence, \
             dictionary or proxy".to_owned())
    );
}

#[test]
fn exceptions_are_among_the_names_that_are_suggested() {
    let error = PayloadType::named(&contract(SLICE), "M::Failrue", None);
    assert_eq!(
        error.map(|_| ()).map_err(|error| error.to_string()),
        Err("no type M::Failrue in the Slice files; did you mean `::M::Failure`?".to_owned())
    );
}
