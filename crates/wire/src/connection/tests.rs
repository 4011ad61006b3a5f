//! Tests of the connection's state machine.

use bytes::BytesMut;

use super::{ConnectionEvent, Input, NotAppended, Replies, RequestIds, Role, StateMachine};
use crate::encoding::EncodingVersion;
use crate::message::{
    BatchWriter, CLOSE_CONNECTION, Context, HeadCache, IncomingReply, MESSAGE_SIZE_MAX_DEFAULT,
    Message, MessageType, OperationMode, Outcome, ProtocolError, RequestHead, RequestId,
    RequestTarget, SystemException, VALIDATE_CONNECTION, reply,
};
use crate::reference::Identity;

fn message(bytes: &[u8]) -> Message {
    Message::split(&mut BytesMut::from(bytes), MESSAGE_SIZE_MAX_DEFAULT)
        .expect("a good header")
        .expect("a whole message")
}

/// The result of a message: the event, and the replies.
type Meaning<T> = Result<(Option<ConnectionEvent<T>>, Replies<T>), ProtocolError>;

/// Gives a message to a connection as a part of the bytes and as a separate message, which must have the same result.
fn handle<T: Clone + std::fmt::Debug>(
    connection: &mut StateMachine<T>,
    bytes: &[u8],
    output: &mut Vec<u8>,
) -> Meaning<T> {
    let mut other = connection.clone();
    let (mut input, mut replies) = (BytesMut::from(bytes), Vec::new());
    let mut handle = |connection: &mut StateMachine<T>, input: Input<'_>, output: &mut Vec<u8>| {
        let cache = &mut HeadCache::default();
        let size_max = MESSAGE_SIZE_MAX_DEFAULT;
        let event = connection.handle_input(input, size_max, cache, &mut replies, output);
        event.map(|event| (event, std::mem::take(&mut replies)))
    };
    let mut other_output = output.clone();
    let alone = handle(
        &mut other,
        Input::Message(message(bytes)),
        &mut other_output,
    );
    let meaning = handle(connection, Input::Bytes(&mut input), output);
    assert_eq!(format!("{alone:?}"), format!("{meaning:?}"));
    assert_eq!(*output, other_output);
    meaning
}

fn request(id: RequestId) -> Vec<u8> {
    let identity = Identity {
        name: "o".into(),
        category: String::new(),
    };
    let header = RequestHead {
        target: &RequestTarget::new(&identity, ""),
        operation: "op",
        mode: OperationMode::Normal,
        context: &Context::new(),
    };
    let mut bytes = Vec::new();
    header
        .write_with(&mut bytes, id, |encoder| {
            encoder.encapsulation(EncodingVersion::V1_1, |_| ());
        })
        .expect("it has an encoding");
    bytes
}

fn reply_to(id: RequestId) -> Vec<u8> {
    let mut bytes = Vec::new();
    reply::write_returned(&mut bytes, id, EncodingVersion::V1_1, |_| ()).expect("empty");
    bytes
}

fn start(connection: &mut StateMachine<&'static str>, token: &'static str) -> RequestId {
    let appended =
        connection.append_requests(RequestIds::Next(1), |_, _| Ok::<_, ()>(()), |_| token);
    appended.expect("it is active")
}

fn validated_client() -> StateMachine<&'static str> {
    let mut output = Vec::new();
    let mut client = StateMachine::new(Role::Client, &mut output);
    assert!(
        output.is_empty(),
        "a client must not send before it is validated"
    );
    let event = handle(&mut client, &VALIDATE_CONNECTION, &mut output);
    assert!(matches!(event, Ok((Some(ConnectionEvent::Validated), _))));
    client
}

#[test]
fn a_server_validates_first() {
    let mut output = Vec::new();
    let server = StateMachine::<()>::new(Role::Server, &mut output);
    assert!(server.is_active());
    assert_eq!(output, VALIDATE_CONNECTION);
}

#[test]
fn a_client_sends_nothing_before_it_is_validated() {
    let mut client = StateMachine::<()>::new(Role::Client, &mut Vec::new());
    assert!(client.reserve_id().is_none());
}

#[test]
fn any_first_message_but_validate_is_refused() {
    let mut client = StateMachine::<()>::new(Role::Client, &mut Vec::new());
    let error = handle(&mut client, &request(RequestId(1)), &mut Vec::new());
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
        match handle(&mut client, &reply_to(id), &mut Vec::new()) {
            Ok((None, replies)) => {
                let [(found, reply)] = &replies[..] else {
                    panic!("expected one, got {replies:?}");
                };
                assert_eq!(*found, token);
                assert!(matches!(reply.outcome(), Ok(Outcome::Returned(_))));
            }
            other => panic!("expected a reply, got {other:?}"),
        }
    }
}

#[test]
fn input_gives_all_replies_up_to_the_first_event() {
    let mut client = validated_client();
    let (first, second) = (start(&mut client, "first"), start(&mut client, "second"));
    let mut handle = |input: &mut BytesMut| {
        let mut replies = Vec::new();
        let cache = &mut HeadCache::default();
        let output = &mut Vec::new();
        let bytes = Input::Bytes(&mut *input);
        let event =
            client.handle_input(bytes, MESSAGE_SIZE_MAX_DEFAULT, cache, &mut replies, output);
        let tokens: Vec<_> = replies.into_iter().map(|(token, _)| token).collect();
        (event.expect("all are good"), tokens, input.len())
    };
    let [one, other, late] = [first, second, RequestId(77)].map(reply_to);
    let mut compressed = one.clone();
    compressed[9] = 2;
    let truncated = &one[..one.len() - 1];
    let (first_request, heartbeat) = (request(RequestId(5)), VALIDATE_CONNECTION);
    let all = [
        &other[..],
        &late,
        &other,
        &heartbeat,
        &compressed,
        &first_request,
        &request(RequestId(6)),
        &one,
        truncated,
    ];
    let mut input = BytesMut::from(&all.concat()[..]);
    let (event, tokens, _) = handle(&mut input);
    assert!(matches!(event, Some(ConnectionEvent::Heartbeat)));
    assert_eq!(tokens, ["second"], "it came once, and another one is late");
    let (event, tokens, _) = handle(&mut input);
    assert!(
        matches!(event, Some(ConnectionEvent::Compressed(message)) if message.bytes == compressed[..])
    );
    assert!(tokens.is_empty());
    let (event, ..) = handle(&mut input);
    assert!(matches!(event, Some(ConnectionEvent::Requests(batch)) if batch.len() == 2));
    let (event, tokens, left) = handle(&mut input);
    assert!(event.is_none());
    assert_eq!((&tokens[..], left), (&["first"][..], truncated.len()));
    assert_eq!(client.dispatching(), 2);
}

#[test]
fn a_reply_that_the_driver_took_is_handled_once_and_only_if_it_is_meant() {
    let mut client = validated_client();
    let first = start(&mut client, "first");
    let mut output = Vec::new();
    let mut take = |id, meant: &str| client.handle_reply(id, |token| *token == meant, &mut output);
    assert_eq!(take(RequestId(77), "first"), None);
    assert_eq!(take(first, "another"), None);
    assert_eq!(take(first, "first"), Some("first"));
    assert_eq!(take(first, "first"), None, "it came once");
    assert!(output.is_empty());

    let last = start(&mut client, "last");
    client.close(&mut output);
    assert!(output.is_empty(), "a reply is due");
    let taken = client.handle_reply(last, |_| true, &mut output);
    assert_eq!(taken, Some("last"));
    assert_eq!(output, CLOSE_CONNECTION);
}

#[test]
fn a_single_reply_is_the_whole_input_with_any_compression_byte_unless_it_is_compressed() {
    let taken = |change: fn(&mut Vec<u8>), size_max| {
        let mut reply = reply_to(RequestId(7));
        change(&mut reply);
        IncomingReply::peek_single(&reply, size_max).map(|id| id.0)
    };
    let all = MESSAGE_SIZE_MAX_DEFAULT;
    assert_eq!(taken(|_| (), all), Some(7));
    assert_eq!(taken(|reply| reply[9] = 1, all), Some(7), "it could be");
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
    assert_eq!(taken(|_| (), 25), Some(7));
}

#[test]
fn late_reply_to_a_cancelled_request_is_ignored() {
    let mut client = validated_client();
    let id = start(&mut client, "given up");
    assert_eq!(client.cancel(id, &mut Vec::new()), Some("given up"));
    let event = handle(&mut client, &reply_to(id), &mut Vec::new());
    assert!(matches!(event, Ok((None, replies)) if replies.is_empty()));
}

#[test]
fn close_waits_for_the_replies_of_both_directions() {
    let mut output = Vec::new();
    let mut connection = validated_client();
    let id = start(&mut connection, "mine");
    let theirs = handle(&mut connection, &request(RequestId(7)), &mut output);
    assert!(matches!(
        theirs,
        Ok((Some(ConnectionEvent::Requests(_)), _))
    ));

    connection.close(&mut output);
    assert!(connection.reserve_id().is_none());
    assert!(output.is_empty());
    handle(&mut connection, &reply_to(id), &mut output).unwrap();
    assert!(output.is_empty(), "a dispatch is still running");
    connection.handle_dispatched(&mut output);
    assert_eq!(output, CLOSE_CONNECTION);
    assert!(connection.is_closing());
}

#[test]
fn requests_after_the_decision_to_close_are_discarded() {
    let mut connection = validated_client();
    connection.close(&mut Vec::new());
    let event = handle(&mut connection, &request(RequestId(1)), &mut Vec::new());
    assert!(matches!(event, Ok((None, replies)) if replies.is_empty()));
    assert_eq!(connection.dispatching(), 0);
}

#[test]
fn a_graceful_close_by_the_peer_returns_the_requests_that_were_not_executed() {
    let mut client = validated_client();
    start(&mut client, "a");
    start(&mut client, "b");
    match handle(&mut client, &CLOSE_CONNECTION, &mut Vec::new()) {
        Ok((Some(ConnectionEvent::Closed(tokens)), _)) => assert_eq!(tokens, ["a", "b"]),
        other => panic!("expected a close, got {other:?}"),
    }
    assert!(client.is_closed());
}

#[test]
fn heartbeats_may_be_sent_until_close_connection_is_sent() {
    let mut output = Vec::new();
    let mut client: StateMachine<&str> = StateMachine::new(Role::Client, &mut output);
    assert!(!client.may_send_heartbeat(), "it is not validated yet");
    client = validated_client();
    let id = start(&mut client, "due");
    client.close(&mut output);
    assert!(client.may_send_heartbeat(), "a reply is still due");
    client.cancel(id, &mut output);
    assert!(client.is_closing() && !client.may_send_heartbeat());
}

#[test]
fn a_heartbeat_is_an_event() {
    let mut client = validated_client();
    let event = handle(&mut client, &VALIDATE_CONNECTION, &mut Vec::new());
    assert!(matches!(event, Ok((Some(ConnectionEvent::Heartbeat), _))));
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
        let header = RequestHead {
            target: &RequestTarget::new(&identity, "f"),
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
    let mut server = StateMachine::<()>::new(Role::Server, &mut Vec::new());
    match handle(&mut server, &bytes, &mut Vec::new()) {
        Ok((Some(ConnectionEvent::Requests(batch)), _)) => {
            assert!(batch.is_serial());
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
    let target = RequestTarget::new(&Identity::new("o"), "");
    bytes
        .push_event(
            &target,
            b"\x01x\x00\x00\x06\x00\x00\x00\x01\x01",
            usize::MAX,
        )
        .unwrap();
    let mut bytes = bytes.finish().unwrap();
    bytes[14..18].copy_from_slice(&i32::MAX.to_le_bytes());
    let mut server = StateMachine::<()>::new(Role::Server, &mut Vec::new());
    let error = handle(&mut server, &bytes, &mut Vec::new());
    assert!(matches!(error, Err(ProtocolError::Malformed { .. })));
}

#[test]
fn an_event_is_forwarded_byte_for_byte() {
    use crate::message::IncomingRequest;
    let original = message(&request(RequestId(9)));
    let incoming = IncomingRequest::parse(&original).unwrap();
    let mut forwarded = Vec::new();
    let target = RequestTarget::new(&incoming.identity(), "");
    let id = RequestId(9);
    let written = target.write_event(&mut forwarded, id, &incoming.event());
    assert_eq!(written, Ok(()));
    assert_eq!(forwarded, original.bytes);
}

#[test]
fn a_batch_over_its_limit_returns_the_earlier_requests() {
    let target = RequestTarget::new(&Identity::new("o"), "");
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
fn two_sides_that_close_at_the_same_time_answer_each_other() {
    let mut output = Vec::new();
    let mut client = validated_client();
    let mut server = StateMachine::<&'static str>::new(Role::Server, &mut output);
    let ids = (
        start(&mut client, "client's"),
        start(&mut server, "server's"),
    );
    output.clear();
    client.close(&mut output);
    server.close(&mut output);
    assert!(output.is_empty(), "replies of both sides are due");

    let to_server = handle(&mut server, &request(ids.0), &mut output);
    assert!(
        matches!(to_server, Ok((Some(ConnectionEvent::Requests(_)), _))),
        "{to_server:?}"
    );
    let to_client = handle(&mut client, &request(ids.1), &mut output);
    assert!(
        matches!(to_client, Ok((Some(ConnectionEvent::Requests(_)), _))),
        "{to_client:?}"
    );
    server.handle_dispatched(&mut output);
    client.handle_dispatched(&mut output);
    let replied = handle(&mut client, &reply_to(ids.0), &mut output);
    assert!(matches!(replied, Ok((None, replies)) if replies[0].0 == "client's"));
    assert_eq!(
        output, CLOSE_CONNECTION,
        "the client waits for nothing more"
    );
    let late = handle(&mut client, &request(RequestId(9)), &mut output);
    assert!(matches!(late, Ok((None, _))), "{late:?}");
}

#[test]
fn a_batch_of_requests_is_in_flight_whole_or_not_at_all() {
    let mut client = validated_client();
    let mut written = Vec::new();
    let appended = client.append_requests(
        RequestIds::Next(3),
        |id, at| {
            written.push((id.0, at));
            Ok::<_, ()>(())
        },
        |at| ["a", "b", "c"][at],
    );
    assert_eq!(appended, Ok(RequestId(1)));
    assert_eq!(
        (written, client.in_flight()),
        (vec![(1, 0), (2, 1), (3, 2)], 3)
    );

    let fail_second = |_, at| if at == 1 { Err("no encoding") } else { Ok(()) };
    let appended = client.append_requests(RequestIds::Next(2), fail_second, |_| "never");
    assert_eq!(appended, Err(NotAppended::Unwritten("no encoding")));
    assert_eq!(client.in_flight(), 3);

    let reserved = client.reserve_id().expect("it is active");
    let later = start(&mut client, "later");
    let ids = RequestIds::Reserved(reserved);
    let appended = client.append_requests(ids, |_, _| Ok::<_, ()>(()), |_| "reserved");
    assert_eq!(appended, Ok(reserved));
    assert!(reserved.0 < later.0);
    assert_eq!(client.in_flight(), 5);

    client.close(&mut Vec::new());
    let appended = client.append_requests(RequestIds::Next(1), |_, _| Ok::<_, ()>(()), |_| "x");
    assert_eq!(appended, Err(NotAppended::NotActive));
}

/// A message with three bytes more than it needs.
fn longer(message: &[u8]) -> Vec<u8> {
    let mut message = [message, b"abc"].concat();
    let size = message.len() as i32;
    message[10..14].copy_from_slice(&size.to_le_bytes());
    message
}

#[test]
fn a_request_with_an_unacceptable_field_is_refused_alone() {
    let good = request(RequestId(7));
    let parameters = good.len() - 6;
    let (name, mode) = (19, parameters - 2);
    let mut server = StateMachine::<()>::new(Role::Server, &mut Vec::new());
    for (at, byte) in [
        (name, 0xFF),
        (mode, 3),
        (mode, 0xFF),
        (parameters, 5),
        (parameters, 7),
        (parameters + 3, 0x80),
    ] {
        let mut bad = good.clone();
        bad[at] = byte;
        let output = &mut Vec::new();
        match handle(&mut server, &bad, output) {
            Ok((Some(ConnectionEvent::Refused(refused)), _)) => {
                assert_eq!(refused.id, RequestId(7));
                let text = refused.exception().to_string();
                assert!(text.contains("malformed request: cannot decode"), "{text}");
            }
            other => panic!("byte {at} is {byte}: {other:?}"),
        }
        assert_eq!(server.dispatching(), 1, "its reply is due");
        server.handle_dispatched(output);
    }
    let event = handle(&mut server, &good, &mut Vec::new());
    assert!(matches!(event, Ok((Some(ConnectionEvent::Requests(_)), _))));
}

#[test]
fn a_refused_request_is_ignored_after_the_decision_to_close() {
    let mut server = StateMachine::<()>::new(Role::Server, &mut Vec::new());
    server.close(&mut Vec::new());
    let mut bad = request(RequestId(7));
    let mode = bad.len() - 8;
    bad[mode] = 3;
    let event = handle(&mut server, &bad, &mut Vec::new());
    assert!(matches!(event, Ok((None, _))), "{event:?}");
    assert_eq!(server.dispatching(), 0);
}

#[test]
fn a_message_that_holds_no_request_is_fatal() {
    let mut server = StateMachine::<()>::new(Role::Server, &mut Vec::new());
    let good = request(RequestId(7));
    let (name_len, facet_count, context) = (18, 21, good.len() - 7);
    for (at, byte) in [(name_len, 200), (facet_count, 2), (context, 200)] {
        let mut bad = good.clone();
        bad[at] = byte;
        let event = handle(&mut server, &bad, &mut Vec::new());
        assert!(
            matches!(event, Err(ProtocolError::Malformed { .. })),
            "{at}: {event:?}"
        );
    }
}

#[test]
fn bytes_after_a_request_are_ignored() {
    let mut server = StateMachine::<()>::new(Role::Server, &mut Vec::new());
    let one = request(RequestId(7));
    let expected = one.len() - 6..one.len();
    for bytes in [one.clone(), longer(&one)] {
        let event = handle(&mut server, &bytes, &mut Vec::new());
        let Ok((Some(ConnectionEvent::Requests(batch)), _)) = event else {
            panic!("expected a request, got {event:?}");
        };
        let requests: Vec<_> = batch.collect();
        let [request] = &requests[..] else {
            panic!("expected one, got {requests:?}");
        };
        assert_eq!(request.parameters(), one[expected.clone()]);
    }
}

#[test]
fn a_batch_with_an_unacceptable_field_is_refused_as_a_whole() {
    let mut server = StateMachine::<()>::new(Role::Server, &mut Vec::new());
    let good = request(RequestId::ONEWAY)[18..].to_vec();
    let mut bad = good.clone();
    let mode = bad.len() - 8;
    bad[mode] = 3;
    let mut bytes = b"IceP\x01\x00\x01\x00\x01\x00\x00\x00\x00\x00\x03\x00\x00\x00".to_vec();
    bytes.extend([&good[..], &bad, &good].concat());
    let event = handle(&mut server, &longer(&bytes), &mut Vec::new());
    assert!(
        matches!(&event, Ok((Some(ConnectionEvent::Refused(refused)), _)) if refused.id.is_oneway()),
        "{event:?}"
    );
    assert_eq!(server.dispatching(), 0);
}

#[test]
fn bytes_after_a_batch_are_ignored() {
    let mut server = StateMachine::<()>::new(Role::Server, &mut Vec::new());
    let body = &request(RequestId::ONEWAY)[18..];
    let mut bytes = b"IceP\x01\x00\x01\x00\x01\x00\x00\x00\x00\x00\x02\x00\x00\x00".to_vec();
    (0..3).for_each(|_| bytes.extend(body));
    // The count says two.
    let event = handle(&mut server, &longer(&bytes), &mut Vec::new());
    let Ok((Some(ConnectionEvent::Requests(batch)), _)) = event else {
        panic!("expected requests, got {event:?}");
    };
    assert_eq!(batch.len(), 2);
}

#[test]
fn bytes_after_a_reply_are_ignored() {
    let mut client = validated_client();
    let id = start(&mut client, "token");
    let nothing = Outcome::Returned(vec![6, 0, 0, 0, 1, 1].into());
    let failed = Outcome::System(SystemException::UnknownException("no".into()));
    for expected in [nothing, failed] {
        let mut bytes = Vec::new();
        reply::write_outcome(&mut bytes, id, &expected).unwrap();
        let (_, replies) = handle(&mut client.clone(), &longer(&bytes), &mut Vec::new()).unwrap();
        assert_eq!(replies[0].1.outcome(), Ok(expected));
    }
}

#[test]
fn a_reply_without_a_status_fails_its_request_alone() {
    let mut client = validated_client();
    let (first, second) = (start(&mut client, "first"), start(&mut client, "second"));
    let mut bytes = b"IceP\x01\x00\x01\x00\x02\x00\x12\x00\x00\x00".to_vec();
    bytes.extend(first.0.to_le_bytes());
    let (_, replies) = handle(&mut client, &bytes, &mut Vec::new()).unwrap();
    let [("first", reply)] = &replies[..] else {
        panic!("expected the reply to the first, got {replies:?}");
    };
    assert!(!reply.is_of_servant() && !reply.is_of_missing_object());
    assert!(reply.outcome().is_err());
    let (_, replies) = handle(&mut client, &bytes, &mut Vec::new()).unwrap();
    assert!(replies.is_empty(), "no request has its id now");
    let (_, replies) = handle(&mut client, &reply_to(second), &mut Vec::new()).unwrap();
    assert_eq!(replies.len(), 1);
}

#[test]
fn the_text_of_an_exception_need_not_be_utf_8() {
    let mut client = validated_client();
    let id = start(&mut client, "token");
    let exception = SystemException::UnknownException("caf?".into());
    let mut bytes = Vec::new();
    reply::write_outcome(&mut bytes, id, &Outcome::System(exception)).unwrap();
    *bytes.last_mut().unwrap() = 0xE9;
    let (_, replies) = handle(&mut client, &bytes, &mut Vec::new()).unwrap();
    let exception = SystemException::UnknownException("caf\u{FFFD}".into());
    assert_eq!(replies[0].1.outcome(), Ok(Outcome::System(exception)));
}

#[test]
fn heartbeats_and_close_may_have_a_body_but_validation_may_not() {
    let mut output = Vec::new();
    let mut client = StateMachine::<&str>::new(Role::Client, &mut output);
    let event = handle(&mut client, &longer(&VALIDATE_CONNECTION), &mut output);
    assert!(matches!(event, Err(ProtocolError::Malformed { .. })));

    let mut client = validated_client();
    start(&mut client, "due");
    let event = handle(&mut client, &longer(&VALIDATE_CONNECTION), &mut output);
    assert!(matches!(event, Ok((Some(ConnectionEvent::Heartbeat), _))));
    let event = handle(&mut client, &longer(&CLOSE_CONNECTION), &mut output);
    assert!(
        matches!(&event, Ok((Some(ConnectionEvent::Closed(tokens)), _)) if tokens == &["due"]),
        "{event:?}"
    );
}
