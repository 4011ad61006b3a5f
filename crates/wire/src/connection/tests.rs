//! Tests of the connection's state machine.

use bytes::BytesMut;

use super::{Connection, Event, Role};
use crate::encoding::EncodingVersion;
use crate::message::{
    BatchWriter, CLOSE_CONNECTION, Context, MESSAGE_SIZE_MAX_DEFAULT, Message, MessageType,
    OperationMode, Outcome, ProtocolError, RequestHeader, RequestId, Target, VALIDATE_CONNECTION,
    reply,
};
use crate::reference::Identity;

fn message(bytes: &[u8]) -> Message {
    Message::split(&mut BytesMut::from(bytes), MESSAGE_SIZE_MAX_DEFAULT)
        .expect("a good header")
        .expect("a whole message")
}

fn request(id: RequestId) -> Vec<u8> {
    let identity = Identity {
        name: "o".into(),
        category: String::new(),
    };
    let header = RequestHeader {
        identity: &identity,
        facet: "",
        operation: "op",
        mode: OperationMode::Normal,
        context: &Context::new(),
    };
    let mut bytes = Vec::new();
    header
        .write(&mut bytes, id, EncodingVersion::V1_1, |_| ())
        .expect("it has an encoding");
    bytes
}

fn reply_to(id: RequestId) -> Vec<u8> {
    let mut bytes = Vec::new();
    reply::write_returned(&mut bytes, id, EncodingVersion::V1_1, |_| ()).expect("empty");
    bytes
}

fn start(connection: &mut Connection<&'static str>, token: &'static str) -> RequestId {
    let id = connection.next_id().expect("it is active");
    connection.expect_reply(id, token);
    id
}

fn validated_client() -> Connection<&'static str> {
    let mut output = Vec::new();
    let mut client = Connection::new(Role::Client, &mut output);
    assert!(
        output.is_empty(),
        "a client must not send before it is validated"
    );
    let event = client.handle_message(message(&VALIDATE_CONNECTION), &mut output);
    assert!(matches!(event, Ok(Event::Validated)));
    client
}

#[test]
fn a_server_validates_at_once() {
    let mut output = Vec::new();
    let server = Connection::<()>::new(Role::Server, &mut output);
    assert!(server.is_active());
    assert_eq!(output, VALIDATE_CONNECTION);
}

#[test]
fn a_client_sends_nothing_before_it_is_validated() {
    let mut client = Connection::<()>::new(Role::Client, &mut Vec::new());
    assert!(client.next_id().is_err());
}

#[test]
fn any_first_message_but_validate_is_refused() {
    let mut client = Connection::<()>::new(Role::Client, &mut Vec::new());
    let error = client.handle_message(message(&request(RequestId(1))), &mut Vec::new());
    assert!(matches!(
        error,
        Err(ProtocolError::Unexpected {
            message: MessageType::Request,
            ..
        })
    ));
}

#[test]
fn replies_find_their_requests_in_any_order() {
    let mut client = validated_client();
    let first = start(&mut client, "first");
    let second = start(&mut client, "second");
    assert_eq!((first, second), (RequestId(1), RequestId(2)));
    for (id, token) in [(second, "second"), (first, "first")] {
        match client.handle_message(message(&reply_to(id)), &mut Vec::new()) {
            Ok(Event::Reply(found, reply)) => {
                assert_eq!(found, token);
                assert!(matches!(reply.outcome(), Ok(Outcome::Returned(_))));
            }
            other => panic!("expected a reply, got {other:?}"),
        }
    }
}

#[test]
fn a_reply_is_taken_off_the_input_only_if_it_is_whole_and_due() {
    let mut client = validated_client();
    let (first, second) = (start(&mut client, "first"), start(&mut client, "second"));
    let mut take = |bytes: &[u8]| {
        let mut input = BytesMut::from(bytes);
        let taken = client.take_reply(&mut input, MESSAGE_SIZE_MAX_DEFAULT, &mut Vec::new());
        (taken.map(|(token, reply)| (token, reply.id())), input.len())
    };
    let (whole, other) = (reply_to(second), reply_to(RequestId(77)));
    let both = [&whole[..], &other].concat();
    let heartbeat = VALIDATE_CONNECTION;
    assert_eq!(take(&whole[..whole.len() - 1]), (None, whole.len() - 1));
    assert_eq!(take(&other), (None, other.len()));
    assert_eq!(take(&heartbeat), (None, heartbeat.len()));
    let mut compressed = whole.clone();
    compressed[9] = 2;
    assert_eq!(take(&compressed), (None, whole.len()));
    assert_eq!(take(&both), (Some(("second", second)), other.len()));
    assert_eq!(take(&whole), (None, whole.len()), "it came once");
    assert_eq!(take(&reply_to(first)), (Some(("first", first)), 0));
}

#[test]
fn a_sole_reply_is_taken_only_if_it_is_all_that_came_and_meant() {
    let mut client = validated_client();
    let first = start(&mut client, "first");
    let mut take = |bytes: &[u8], meant: &str| {
        let mut input = BytesMut::from(bytes);
        let is_meant = |token: &&str| *token == meant;
        let taken = client.take_sole_reply(&mut input, MESSAGE_SIZE_MAX_DEFAULT, is_meant);
        (taken.map(|reply| reply.id()), input.len())
    };
    let (whole, other) = (reply_to(first), reply_to(RequestId(77)));
    let more = [&whole[..], &other].concat();
    assert_eq!(
        take(&whole[..whole.len() - 1], "first"),
        (None, whole.len() - 1)
    );
    assert_eq!(take(&more, "first"), (None, more.len()));
    assert_eq!(take(&other, "first"), (None, other.len()));
    assert_eq!(take(&whole, "another"), (None, whole.len()));
    assert_eq!(take(&whole, "first"), (Some(first), 0));
    assert_eq!(take(&whole, "first"), (None, whole.len()), "it came once");
    let last = start(&mut client, "last");
    client.close(&mut Vec::new());
    let mut input = BytesMut::from(&reply_to(last)[..]);
    let taken = client.take_sole_reply(&mut input, MESSAGE_SIZE_MAX_DEFAULT, |_| true);
    assert!(taken.is_none(), "it ends the close, too");
}

#[test]
fn a_sole_reply_answers_its_request_whatever_its_header_says_of_compression_unless_it_is_compressed()
 {
    let taken = |change: fn(&mut Vec<u8>), size_max| {
        let mut client = validated_client();
        let id = start(&mut client, "mine");
        let mut reply = reply_to(id);
        change(&mut reply);
        let taken = client.take_answered(&reply, size_max, |_| true);
        assert_eq!(client.in_flight(), usize::from(taken.is_none()));
        taken.map(|(_, token)| token)
    };
    let all = MESSAGE_SIZE_MAX_DEFAULT;
    assert_eq!(taken(|_| (), all), Some("mine"));
    assert_eq!(
        taken(|reply| reply[9] = 1, all),
        Some("mine"),
        "it could be"
    );
    assert_eq!(taken(|reply| reply[9] = 2, all), None, "it is");
    assert_eq!(taken(|reply| reply[0] = b'i', all), None);
    assert_eq!(taken(|reply| reply[8] = 0, all), None, "a request");
    assert_eq!(taken(|reply| reply.truncate(17), all), None);
    assert_eq!(taken(|reply| reply.push(0), all), None);
    assert_eq!(
        taken(|reply| reply[13] = 0x80, all),
        None,
        "a negative size"
    );
    assert_eq!(taken(|_| (), 24), None, "longer than messages may be");
    assert_eq!(taken(|_| (), 25), Some("mine"));
}

#[test]
fn late_reply_to_a_cancelled_request_is_ignored() {
    let mut client = validated_client();
    let id = start(&mut client, "given up");
    assert_eq!(client.cancel(id, &mut Vec::new()), Some("given up"));
    let event = client.handle_message(message(&reply_to(id)), &mut Vec::new());
    assert!(matches!(event, Ok(Event::Nothing)));
}

#[test]
fn close_waits_for_the_replies_of_both_directions() {
    let mut output = Vec::new();
    let mut connection = validated_client();
    let id = start(&mut connection, "mine");
    let theirs = connection.handle_message(message(&request(RequestId(7))), &mut output);
    assert!(matches!(theirs, Ok(Event::Request(_))));

    connection.close(&mut output);
    assert!(connection.next_id().is_err());
    assert!(output.is_empty());
    connection
        .handle_message(message(&reply_to(id)), &mut output)
        .unwrap();
    assert!(output.is_empty(), "a dispatch is still running");
    connection.handle_dispatched(&mut output);
    assert_eq!(output, CLOSE_CONNECTION);
    assert!(connection.is_closing());
}

#[test]
fn requests_after_the_decision_to_close_are_discarded() {
    let mut connection = validated_client();
    connection.close(&mut Vec::new());
    let event = connection.handle_message(message(&request(RequestId(1))), &mut Vec::new());
    assert!(matches!(event, Ok(Event::Nothing)));
    assert_eq!(connection.dispatching(), 0);
}

#[test]
fn a_graceful_close_by_the_peer_gives_back_what_was_not_executed() {
    let mut client = validated_client();
    start(&mut client, "a");
    start(&mut client, "b");
    match client.handle_message(message(&CLOSE_CONNECTION), &mut Vec::new()) {
        Ok(Event::Closed(tokens)) => assert_eq!(tokens, ["a", "b"]),
        other => panic!("expected a close, got {other:?}"),
    }
    assert!(client.is_closed());
}

#[test]
fn heartbeats_may_be_sent_until_close_connection_is() {
    let mut output = Vec::new();
    let mut client: Connection<&str> = Connection::new(Role::Client, &mut output);
    assert!(!client.may_send_heartbeat(), "it is not validated yet");
    client = validated_client();
    let id = start(&mut client, "due");
    client.close(&mut output);
    assert!(client.may_send_heartbeat(), "a reply is still due");
    client.cancel(id, &mut output);
    assert!(client.is_closing() && !client.may_send_heartbeat());
}

#[test]
fn a_heartbeat_is_told() {
    let mut client = validated_client();
    let event = client.handle_message(message(&VALIDATE_CONNECTION), &mut Vec::new());
    assert!(matches!(event, Ok(Event::Heartbeat)));
}

#[test]
fn a_batch_gives_its_requests_in_order() {
    let mut batch = BatchWriter::default();
    assert_eq!(batch.finish(), None);
    let identity = Identity {
        name: "o".into(),
        category: "c".into(),
    };
    for operation in ["a", "b", "c"] {
        let header = RequestHeader {
            identity: &identity,
            facet: "f",
            operation,
            mode: OperationMode::Normal,
            context: &Context::from([("k".into(), "v".into())]),
        };
        batch
            .push(&header, usize::MAX, |e| {
                e.encapsulation(EncodingVersion::V1_1, |e| e.put(&7_i32))
            })
            .unwrap();
    }
    let bytes = batch.finish().expect("three requests");
    let mut server = Connection::<()>::new(Role::Server, &mut Vec::new());
    match server.handle_message(message(&bytes), &mut Vec::new()) {
        Ok(Event::Batch(batch)) => {
            let requests: Vec<_> = batch.collect();
            let operations: Vec<_> = requests.iter().map(|request| request.operation()).collect();
            assert_eq!(operations, ["a", "b", "c"]);
            assert!(
                requests
                    .iter()
                    .all(|r| r.identity() == identity && r.facet() == "f")
            );
            assert_eq!(requests[0].context()["k"], "v");
        }
        other => panic!("expected a batch, got {other:?}"),
    }
}

#[test]
fn a_batch_count_that_cannot_fit_is_refused() {
    let mut bytes = BatchWriter::default();
    let target = Target::new(&Identity::new("o"), "");
    bytes
        .push_event(
            &target,
            b"\x01x\x00\x00\x06\x00\x00\x00\x01\x01",
            usize::MAX,
        )
        .unwrap();
    let mut bytes = bytes.finish().unwrap();
    bytes[14..18].copy_from_slice(&i32::MAX.to_le_bytes());
    let mut server = Connection::<()>::new(Role::Server, &mut Vec::new());
    let error = server.handle_message(message(&bytes), &mut Vec::new());
    assert!(matches!(error, Err(ProtocolError::Malformed { .. })));
}

#[test]
fn an_event_is_forwarded_byte_for_byte() {
    use crate::message::IncomingRequest;
    let original = message(&request(RequestId(9)));
    let incoming = IncomingRequest::parse(&original).unwrap();
    let mut forwarded = Vec::new();
    let target = Target::new(&incoming.identity(), "");
    let id = RequestId(9);
    let written = target.write_event(&mut forwarded, id, &incoming.event());
    assert_eq!(written, Ok(()));
    assert_eq!(forwarded, original.bytes);
}

#[test]
fn a_batch_over_its_limit_gives_back_what_came_before() {
    let target = Target::new(&Identity::new("o"), "");
    let event = b"\x02op\x00\x00\x06\x00\x00\x00\x01\x01";
    let mut batch = BatchWriter::default();
    assert_eq!(batch.push_event(&target, event, 60), Ok(None));
    assert_eq!(batch.push_event(&target, event, 60), Ok(None));
    let full = batch
        .push_event(&target, event, 60)
        .unwrap()
        .expect("two fit into 60 bytes");
    assert_eq!((full.len(), batch.count()), (48, 1));
    assert_eq!(batch.finish().expect("the third").len(), 33);
}

#[test]
fn both_sides_that_close_with_requests_in_flight_answer_each_other() {
    let mut output = Vec::new();
    let mut client = validated_client();
    let mut server = Connection::<&'static str>::new(Role::Server, &mut output);
    let ids = (
        start(&mut client, "client's"),
        start(&mut server, "server's"),
    );
    output.clear();
    client.close(&mut output);
    server.close(&mut output);
    assert!(output.is_empty(), "replies of both sides are due");

    let to_server = server.handle_message(message(&request(ids.0)), &mut output);
    assert!(matches!(to_server, Ok(Event::Request(_))), "{to_server:?}");
    let to_client = client.handle_message(message(&request(ids.1)), &mut output);
    assert!(matches!(to_client, Ok(Event::Request(_))), "{to_client:?}");
    server.handle_dispatched(&mut output);
    client.handle_dispatched(&mut output);
    let replied = client.handle_message(message(&reply_to(ids.0)), &mut output);
    assert!(matches!(replied, Ok(Event::Reply("client's", _))));
    assert_eq!(
        output, CLOSE_CONNECTION,
        "the client waits for nothing more"
    );
    let late = client.handle_message(message(&request(RequestId(9))), &mut output);
    assert!(matches!(late, Ok(Event::Nothing)), "{late:?}");
}
