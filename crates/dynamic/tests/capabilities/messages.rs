//! Whole messages, taken apart.

use bytes::Bytes;
use floe_dynamic::{Contract, MessageReader};
use floe_wire::EncodingVersion;
use floe_wire::message::{
    BatchWriter, CLOSE_CONNECTION, Context, OperationMode, Outcome, RequestFailed, RequestHead,
    RequestId, RequestTarget, SystemException, VALIDATE_CONNECTION, reply,
};
use floe_wire::reference::Identity;
use serde_json::{Value as Json, json};

use crate::support;

const SLICE: &str = "
    module M
    {
        exception Late { int minutes; }
        interface Till { int add(string item, short count) throws Late; void clear(); }
        interface Shelf { void clear(); }
    }";

pub(crate) fn contract() -> Contract {
    support::contract(SLICE)
}

/// One message of each kind.
pub(crate) fn all() -> Vec<Vec<u8>> {
    vec![
        request("add", b"\x03tea\x02\0"),
        batch(),
        returned(),
        thrown(),
        system(),
        VALIDATE_CONNECTION.to_vec(),
        CLOSE_CONNECTION.to_vec(),
    ]
}

fn with_header<T>(operation: &str, run: impl FnOnce(&RequestHead<'_>) -> T) -> T {
    let context = Context::from([("who".to_owned(), "Ada".to_owned())]);
    run(&RequestHead {
        target: &RequestTarget::new(&Identity::with_category("till", "shop"), "north"),
        operation,
        mode: OperationMode::Idempotent,
        context: &context,
    })
}

fn request(operation: &str, payload: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let written = with_header(operation, |header| {
        header.write_with(&mut bytes, RequestId(7), |encoder| {
            encoder.encapsulation(EncodingVersion::V1_1, |encoder| encoder.bytes(payload));
        })
    });
    written.expect("a short message");
    bytes
}

fn batch() -> Vec<u8> {
    let mut batch = BatchWriter::default();
    for payload in [&b"\x03tea\x01\0"[..], b"\x03tea"] {
        let pushed = with_header("add", |header| {
            batch.push(header, usize::MAX, |encoder| {
                encoder.encapsulation(EncodingVersion::V1_1, |encoder| encoder.bytes(payload));
            })
        });
        pushed.expect("a short message");
    }
    batch.finish().expect("there are requests")
}

fn reply(outcome: Outcome) -> Vec<u8> {
    let mut bytes = Vec::new();
    reply::write_outcome(&mut bytes, RequestId(7), &outcome).expect("a short message");
    bytes
}

fn returned() -> Vec<u8> {
    let add = contract().operation("add").expect("the operation exists");
    let results = add.encode_reply(&json!(5), EncodingVersion::V1_1);
    reply(Outcome::Returned(results.expect("an int").into()))
}

fn thrown() -> Vec<u8> {
    let add = contract().operation("add").expect("the operation exists");
    let json = json!({"$exception": "::M::Late", "minutes": 3});
    let thrown = add.encode_exception(&json, EncodingVersion::V1_1);
    reply(Outcome::UserException(thrown.expect("an exception").into()))
}

fn system() -> Vec<u8> {
    let failed = RequestFailed {
        identity: Identity::with_category("till", "shop"),
        facet: "north".to_owned(),
        operation: "add".to_owned(),
    };
    reply(Outcome::System(SystemException::FacetNotExist(failed)))
}

fn read(reader: &MessageReader, bytes: Vec<u8>) -> Json {
    let mut rest = Bytes::from(bytes);
    let message = reader.read(&mut rest);
    assert!(rest.is_empty(), "the message is taken off");
    message.unwrap_or_else(|error| panic!("{error}")).json
}

fn known() -> MessageReader {
    MessageReader::default().with_contract(&contract(), None)
}

#[test]
fn without_a_contract_payloads_stay_hexadecimal() {
    let reader = MessageReader::default();
    assert_eq!(
        read(&reader, request("add", b"\x03tea\x02\0")),
        json!({
            "type": "request", "protocol": "1.0", "protocol_encoding": "1.0", "compression": 0,
            "size": 61, "request_id": 7,
            "identity": {"name": "till", "category": "shop"}, "facet": "north",
            "operation": "add", "mode": "idempotent", "context": {"who": "Ada"},
            "encapsulation": {"encoding": "1.1", "payload": "037465610200"},
        })
    );
    let thrown = read(&reader, thrown());
    assert_eq!(
        thrown["status"],
        json!({"code": 1, "name": "user_exception"})
    );
    assert_eq!(thrown.get("exception"), None);
}

#[test]
fn with_a_contract_parameters_and_exceptions_are_opened() {
    let request = read(&known(), request("add", b"\x03tea\x02\0"));
    assert_eq!(request["parameters"], json!({"item": "tea", "count": 2}));
    let thrown = read(&known(), thrown());
    assert_eq!(
        thrown["exception"],
        json!({"$exception": "::M::Late", "minutes": 3})
    );
}

#[test]
fn results_need_the_operation_that_a_reply_does_not_name() {
    assert_eq!(read(&known(), returned()).get("results"), None);
    let add = contract().operation("add").expect("the operation exists");
    let reader = known().with_operation(&add);
    assert_eq!(
        read(&reader, returned())["results"],
        json!({"returnValue": 5})
    );
}

#[test]
fn an_interface_or_an_operation_settles_which_one_is_meant() {
    let ambiguous = read(&known(), request("clear", b""));
    let error = ambiguous["error"].as_str().expect("an error");
    assert!(error.starts_with("several interfaces have an operation clear"));

    let one = MessageReader::default().with_contract(&contract(), Some("::M::Shelf"));
    assert_eq!(read(&one, request("clear", b""))["parameters"], json!({}));
    let clear = contract().operation("::M::Till::clear");
    let other = known().with_operation(&clear.expect("the operation exists"));
    assert_eq!(read(&other, request("clear", b""))["parameters"], json!({}));
}

#[test]
fn what_does_not_fit_is_told_beside_the_rest() {
    let message = known()
        .read(&mut batch().into())
        .expect("its fields are right");
    assert_eq!(message.error_count, 1);
    let requests = message.json["requests"].as_array().expect("requests");
    assert_eq!(
        requests[0]["parameters"],
        json!({"item": "tea", "count": 1})
    );
    assert_eq!(
        requests[1]["error"],
        "not what `int add(string item, short count) throws ::M::Late` takes: \
         params.count: cannot decode short at byte 4: expected 2 more bytes, 0 are left"
    );
    assert_eq!(requests[1]["encapsulation"]["payload"], "03746561");
}

#[test]
fn a_system_exception_says_what_was_not_found() {
    let message = read(&MessageReader::default(), system());
    assert_eq!(
        message["status"],
        json!({"code": 3, "name": "facet_not_exist"})
    );
    assert_eq!(message["facet"], "north");
}

#[test]
fn several_messages_are_taken_off_one_by_one() {
    let mut rest = Bytes::from(all().concat());
    let mut types = Vec::new();
    while !rest.is_empty() {
        let message = MessageReader::default().read(&mut rest);
        let json = message.unwrap_or_else(|error| panic!("{error}")).json;
        types.push(json["type"].as_str().expect("a type").to_owned());
    }
    assert_eq!(
        types,
        [
            "request",
            "batch_request",
            "reply",
            "reply",
            "reply",
            "validate_connection",
            "close_connection"
        ]
    );
}

#[test]
fn what_is_no_message_is_refused_with_the_place() {
    let refused = |bytes: &[u8]| {
        let read = MessageReader::default().read(&mut Bytes::copy_from_slice(bytes));
        read.expect_err("it is no message").to_string()
    };
    assert_eq!(
        refused(b"IceP"),
        "expected a message header of 14 bytes, got 4"
    );
    let request = request("add", b"");
    assert_eq!(
        refused(&request[..40]),
        "expected a message of 55 bytes, got 40"
    );
    assert!(refused(b"HTTP/1.1 200 OK").contains("does not speak the Ice protocol"));
    let mut bad = request.clone();
    bad[18] = 200;
    assert_eq!(
        refused(&bad),
        "malformed Request message: cannot decode identity name at byte 19: \
         expected 200 more bytes, 36 are left"
    );
}
