//! User exceptions as JSON.

use floe_dynamic::Contract;
use floe_wire::EncodingVersion;
use serde_json::{Value as Json, json};

use crate::support::contract;

const BASE: &str = "module M { exception Failure { string reason; };";
const FULL: &str = "
    module M
    {
        exception Failure { string reason; }
        exception Timeout extends Failure { int seconds = 30; }
        exception Other { }
        interface T
        {
            void sliced() throws Failure;
            [\"format:compact\"] void compact() throws Failure;
        }
    }";

fn encoded(operation: &str, json: &Json, encoding: EncodingVersion) -> Vec<u8> {
    contract(FULL)
        .operation_of_object(&["::M::T"], operation)
        .expect("the operation exists")
        .encode_exception(json, encoding)
        .unwrap_or_else(|error| panic!("{error}"))
}

fn decoded(contract: &Contract, bytes: &[u8]) -> Json {
    contract
        .decode_exception(bytes)
        .unwrap_or_else(|error| panic!("{error}"))
}

fn knows_only_the_base() -> Contract {
    contract(&format!("{BASE} }};"))
}

#[test]
fn members_of_bases_come_first_and_defaults_may_be_left_out() {
    let given = json!({"$exception": "::M::Timeout", "reason": "late"});
    let expected = r#"{"$exception":"::M::Timeout","reason":"late","seconds":30}"#;
    for encoding in [EncodingVersion::V1_0, EncodingVersion::V1_1] {
        for operation in ["sliced", "compact"] {
            let bytes = encoded(operation, &given, encoding);
            assert_eq!(decoded(&contract(FULL), &bytes).to_string(), expected);
        }
    }
}

#[test]
fn of_an_unknown_exception_the_nearest_known_base_is_read() {
    let given = json!({"$exception": "::M::Timeout", "reason": "late", "seconds": 1});
    let expected =
        json!({"$exception": "::M::Failure", "$thrown": "::M::Timeout", "reason": "late"});
    for encoding in [EncodingVersion::V1_0, EncodingVersion::V1_1] {
        let bytes = encoded("sliced", &given, encoding);
        assert_eq!(decoded(&knows_only_the_base(), &bytes), expected);
    }
}

#[test]
fn of_an_exception_without_a_readable_base_the_type_id_is_told() {
    let given = json!({"$exception": "::M::Timeout", "reason": "late", "seconds": 1});
    let compact = encoded("compact", &given, EncodingVersion::V1_1);
    let expected = json!({"$exception": "::M::Timeout", "$unknown": true});
    assert_eq!(decoded(&knows_only_the_base(), &compact), expected);

    let other = encoded(
        "sliced",
        &json!({"$exception": "::M::Other"}),
        EncodingVersion::V1_0,
    );
    let expected = json!({"$exception": "::M::Other", "$unknown": true});
    assert_eq!(decoded(&knows_only_the_base(), &other), expected);
}

#[test]
fn an_operation_throws_what_it_declares_and_what_extends_it() {
    let operation = contract(FULL).operation_of_object(&["::M::T"], "sliced");
    let operation = operation.expect("the operation exists");
    assert!(operation.throws("::M::Failure"));
    assert!(operation.throws("::M::Timeout"));
    assert!(!operation.throws("::M::Other"));
    assert!(!operation.throws("::M::Unknown"));
}

#[test]
fn json_that_is_no_exception_is_refused() {
    let operation = contract(FULL).operation_of_object(&["::M::T"], "sliced");
    let operation = operation.expect("the operation exists");
    let refused = |json: Json| {
        let result = operation.encode_exception(&json, EncodingVersion::V1_1);
        result.expect_err("the JSON is wrong").to_string()
    };
    assert_eq!(
        refused(json!({"reason": "late"})),
        "exception: expected an object with \"$exception\" and the members of the exception, \
         got an object with \"reason\""
    );
    assert_eq!(
        refused(json!({"$exception": "::M::Nothing"})),
        "exception: expected the type id of an exception, got \"::M::Nothing\"; \
         the Slice files define none of this name that is supported"
    );
    assert_eq!(
        refused(json!({"$exception": "::M::Timeout", "reason": 1, "second": 2})),
        "exception.second: expected a member of ::M::Timeout (reason, seconds), got \"second\"; \
         did you mean `seconds`?\n\
         exception.reason: expected a string, got the number 1"
    );
}

#[test]
fn bytes_with_other_bases_than_declared_are_refused() {
    let renamed =
        "module M { exception Other { }; exception Timeout extends Other { int seconds; }; };";
    let given = json!({"$exception": "::M::Timeout", "reason": "late", "seconds": 1});
    let bytes = encoded("sliced", &given, EncodingVersion::V1_1);
    let error = contract(renamed)
        .decode_exception(&bytes)
        .expect_err("other bases");
    assert!(
        error.to_string().contains("other bases than declared"),
        "{error}"
    );
}

#[test]
fn a_member_that_cannot_be_decoded_is_named() {
    let longer = "module M { exception Failure { string reason; int more; }; };";
    let given = json!({"$exception": "::M::Failure", "reason": "late"});
    let bytes = encoded("compact", &given, EncodingVersion::V1_1);
    let error = contract(longer)
        .decode_exception(&bytes)
        .expect_err("a member is missing");
    assert!(
        error
            .to_string()
            .starts_with("exception.more: cannot decode int"),
        "{error}"
    );
}
