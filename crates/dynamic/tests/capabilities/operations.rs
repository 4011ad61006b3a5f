//! Requests and replies as JSON.

use floe_dynamic::{Contract, Operation};
use floe_wire::EncodingVersion;
use floe_wire::message::OperationMode;
use serde_json::{Value as Json, json};

use crate::support::contract;

const SLICE: &str = r#"
module M
{
    struct Point { int x; int y; }
    exception E { }
    interface T
    {
        void noop();
        idempotent int add(int a, int b);
        string greet(string name, out int length) throws E;
        ["nonmutating"] idempotent void look();
        void move(Point to);
        void find(string text, optional(1) int first, optional(2) int count);
        int clash(out int returnValue, out string other);
    }
}
"#;

fn operation(name: &str) -> Operation {
    let contract: Contract = contract(SLICE);
    contract
        .operation_of_object(&["::M::T"], name)
        .expect("the operation exists")
}

fn request(name: &str, json: Json) -> Json {
    let operation = operation(name);
    let bytes = operation
        .encode_request(&json, EncodingVersion::V1_1)
        .unwrap_or_else(|error| panic!("{error}"));
    operation.decode_request(&bytes).expect("our own bytes")
}

fn refused_request(name: &str, json: Json) -> String {
    operation(name)
        .encode_request(&json, EncodingVersion::V1_1)
        .expect_err("the JSON is wrong")
        .to_string()
}

#[test]
fn parameters_are_given_by_name_or_in_order() {
    let expected = json!({"a": 1, "b": 2});
    assert_eq!(request("add", json!({"b": 2, "a": 1})), expected);
    assert_eq!(request("add", json!([1, 2])), expected);
}

#[test]
fn the_only_parameter_may_be_given_alone_if_it_is_no_object_or_array() {
    assert_eq!(request("greet", json!("Bob")), json!({"name": "Bob"}));
    assert_eq!(
        request("move", json!([{"x": 1, "y": 2}])),
        json!({"to": {"x": 1, "y": 2}})
    );
    assert_eq!(
        refused_request("move", json!({"x": 1, "y": 2})),
        "params.x: expected a parameter of move (to), got \"x\"\n\
         params.y: expected a parameter of move (to), got \"y\"\n\
         params.to: expected ::M::Point, got nothing; move has no default for it"
    );
}

#[test]
fn no_parameters_are_nothing() {
    for json in [json!(null), json!({}), json!([])] {
        assert_eq!(request("noop", json), json!({}));
    }
    assert_eq!(
        refused_request("noop", json!({"x": 1})),
        "params.x: expected nothing: noop has no parameters, got \"x\""
    );
}

#[test]
fn an_array_of_parameters_may_leave_out_optional_ones_at_its_end() {
    let find = operation("find");
    let encode = |json: Json| {
        find.encode_request(&json, EncodingVersion::V1_1)
            .expect("it fits")
    };
    let whole = encode(json!({"text": "a"}));
    assert_eq!(encode(json!(["a"])), whole);
    assert_eq!(encode(json!(["a", null])), whole);
    assert_eq!(
        encode(json!(["a", 3])),
        encode(json!({"text": "a", "first": 3}))
    );
    assert_eq!(
        refused_request("find", json!([])),
        "params: expected an array of 1 to 3 (text, first, count), got an array of 0"
    );
}

#[test]
fn a_wrong_parameter_is_named_with_its_path() {
    assert_eq!(
        refused_request("move", json!({"to": {"x": 1, "y": "2"}})),
        "params.to.y: expected an int (-2147483648 to 2147483647), got the string \"2\""
    );
    assert_eq!(
        refused_request("add", json!([1])),
        "params: expected an array of 2 (a, b), got an array of 1"
    );
    assert_eq!(
        refused_request("add", json!([1, true])),
        "params[1]: expected an int (-2147483648 to 2147483647), got true"
    );
    assert_eq!(
        refused_request("add", json!(5)),
        "params: expected an object with a, b, or an array of them, got the number 5"
    );
}

#[test]
fn results_are_an_object_and_travel_with_the_return_value_last() {
    let operation = operation("greet");
    let results = json!({"returnValue": "hi Bob", "length": 3});
    let bytes = operation
        .encode_reply(&results, EncodingVersion::V1_1)
        .unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(bytes, b"\x11\0\0\0\x01\x01\x03\0\0\0\x06hi Bob");
    let decoded = operation.decode_reply(&bytes).expect("our own bytes");
    assert_eq!(decoded.to_string(), results.to_string());
}

#[test]
fn a_return_value_beside_an_out_parameter_of_its_name_gets_another_key() {
    let operation = operation("clash");
    let results = json!({"_returnValue": 1, "returnValue": 2, "other": "x"});
    let bytes = operation
        .encode_reply(&results, EncodingVersion::V1_1)
        .unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(
        operation.decode_reply(&bytes).expect("our own bytes"),
        results
    );
    assert_eq!(bytes[6..], *b"\x02\0\0\0\x01x\x01\0\0\0");
}

#[test]
fn what_comes_back_decides_whether_an_operation_must_be_twoway() {
    assert!(!operation("noop").returns_data());
    assert!(operation("add").returns_data());
}

#[test]
fn the_mode_of_a_request_is_that_of_the_declaration() {
    assert_eq!(operation("greet").mode(), OperationMode::Normal);
    assert_eq!(operation("add").mode(), OperationMode::Idempotent);
    assert_eq!(operation("look").mode(), OperationMode::Nonmutating);
}

#[test]
fn an_operation_is_shown_as_declared() {
    assert_eq!(
        operation("greet").to_string(),
        "string greet(string name, out int length) throws ::M::E"
    );
    assert_eq!(
        operation("add").to_string(),
        "idempotent int add(int a, int b)"
    );
    assert_eq!(operation("move").to_string(), "void move(::M::Point to)");
}

#[test]
fn bytes_of_another_signature_are_refused_with_the_parameter() {
    let bytes = operation("greet")
        .encode_request(&json!(["Bob"]), EncodingVersion::V1_1)
        .expect("valid parameters");
    let error = operation("move")
        .decode_request(&bytes)
        .expect_err("4 bytes are no Point");
    assert_eq!(
        error.to_string(),
        "params.to.y: cannot decode int at byte 4: expected 4 more bytes, 0 are left"
    );
    let error = operation("noop")
        .decode_request(b"\x07\0\0")
        .expect_err("no encapsulation");
    assert!(error.to_string().starts_with("params: "), "{error}");
}

#[test]
fn where_there_are_no_values_encoding_1_1_may_have_anything_and_1_0_nothing() {
    let noop = operation("noop");
    for (bytes, is_taken) in [
        (&[6_u8, 0, 0, 0, 1, 1][..], true),
        (&[7, 0, 0, 0, 1, 1, 1], true),
        (&[8, 0, 0, 0, 1, 1, 1, 2], true),
        (&[6, 0, 0, 0, 1, 0], true),
        (&[7, 0, 0, 0, 1, 0, 1], false),
    ] {
        assert_eq!(noop.decode_request(bytes).is_ok(), is_taken, "{bytes:?}");
        assert_eq!(noop.decode_reply(bytes).is_ok(), is_taken, "{bytes:?}");
    }
}

#[test]
fn an_example_fits_the_parameters_of_its_operation() {
    let slice = "module M {
        enum Colour { red, green }
        struct Point { double x; float y; bool z; } struct Key { int x; string y; }
        sequence<Point> Points; sequence<Points> Deeper; sequence<Deeper> Deepest; sequence<Deepest> Bottom;
        dictionary<string, Points> ByName; dictionary<Colour, byte> ByColour; dictionary<Key, int> ByKey;
        class Base { string name; Base next; optional(1) int extra; }
        class Derived extends Base { Colour colour; }
        interface I {
            void all(Point point, Points points, Bottom bottom, ByName names, ByColour colours, ByKey places,
                     Derived made, I* proxy, Object any, short a, byte b, long c, optional(1) int d);
            void none();
            void left(optional(1) string text);
        }
    }";
    let contract = contract(slice);
    for name in ["all", "none", "left"] {
        let operation = contract.operation(name).expect("it is declared");
        let example = operation.example();
        for encoding in [EncodingVersion::V1_0, EncodingVersion::V1_1] {
            let encoded = operation.encode_request(&example, encoding);
            encoded.unwrap_or_else(|error| panic!("{name}: {error}: {example}"));
        }
    }
    let example = contract.operation("all").expect("it is declared").example();
    assert_eq!(example["points"], json!([{"x": 1.5, "y": 1.5, "z": true}]));
    assert_eq!(example["made"]["colour"], json!("red"));
    assert!(example.get("d").is_none(), "{example}");
}
