//! Two state machines that speak with each other, and with peers that break the rules.

use bytes::{Bytes, BytesMut};

use super::*;
use crate::cdr::{CodeSet, Decoder};
use crate::message::{Outcome, Target};

fn head(response: ResponseExpected) -> RequestHead {
    RequestHead {
        target: Target::Key(Bytes::from_static(b"key")),
        operation: "op".to_owned(),
        response,
        contexts: Vec::new(),
    }
}

fn pair(settings: ConnectionSettings) -> (Connection<u8>, Connection<u8>) {
    let client = Connection::new(Role::Client, settings.clone());
    (client, Connection::new(Role::Server, settings))
}

/// All that one side has to write.
fn output<T>(connection: &mut Connection<T>) -> BytesMut {
    let mut bytes = BytesMut::new();
    while let Some(piece) = connection.poll_output() {
        bytes.extend_from_slice(&piece);
    }
    bytes
}

fn call(client: &mut Connection<u8>, token: u8) -> RequestId {
    let write = |encoder: &mut Encoder| encoder.string("é");
    client
        .send_request(head(ResponseExpected::Target), token, write)
        .expect("it is active")
}

fn event(connection: &mut Connection<u8>, input: &mut BytesMut) -> Option<ConnectionEvent<u8>> {
    connection
        .handle_input(input)
        .expect("the peer keeps to the protocol")
}

fn next_request(server: &mut Connection<u8>, input: &mut BytesMut) -> Request {
    match event(server, input) {
        Some(ConnectionEvent::Request(request)) => request,
        other => panic!("expected a request, got {other:?}"),
    }
}

fn next_reply(client: &mut Connection<u8>, input: &mut BytesMut) -> (u8, Outcome) {
    match event(client, input) {
        Some(ConnectionEvent::Reply(token, reply)) => {
            (token, reply.outcome().expect("it is well-formed"))
        }
        other => panic!("expected a reply, got {other:?}"),
    }
}

#[test]
fn replies_come_back_with_their_tokens_in_any_order() {
    let (mut client, mut server) = pair(ConnectionSettings::default());
    let ids = [call(&mut client, 1), call(&mut client, 2)];
    let mut input = output(&mut client);
    for id in ids {
        let request = next_request(&mut server, &mut input);
        assert_eq!(request.id, id);
        assert_eq!(request.body.decoder().string("text"), Ok("é".to_owned()));
    }
    for id in ids.into_iter().rev() {
        server
            .reply(id, |encoder| encoder.string("ü"))
            .expect("it waits");
    }
    let mut input = output(&mut server);
    for expected in [2, 1] {
        let (token, outcome) = next_reply(&mut client, &mut input);
        let Outcome::Results(body) = outcome else {
            panic!("{outcome:?}")
        };
        assert_eq!(
            (token, body.decoder().string("text")),
            (expected, Ok("ü".to_owned()))
        );
    }
    assert_eq!((client.in_flight(), server.dispatching()), (0, 0));
}

#[test]
fn the_first_request_says_the_code_sets_and_the_others_do_not() {
    let (mut client, mut server) = pair(ConnectionSettings::default());
    call(&mut client, 1);
    call(&mut client, 2);
    let mut input = output(&mut client);
    assert_eq!(next_request(&mut server, &mut input).head.contexts.len(), 1);
    assert_eq!(next_request(&mut server, &mut input).head.contexts.len(), 0);
    assert_eq!(server.code_sets(), CodeSets::UTF);
}

#[test]
fn a_client_with_an_unknown_code_set_is_told_so() {
    let code_sets = CodeSets {
        narrow: CodeSet(0x1234),
        wide: None,
    };
    let (mut client, mut server) = pair(ConnectionSettings {
        code_sets,
        ..Default::default()
    });
    let sent = client.send_request(head(ResponseExpected::Target), 1, |_| Ok(()));
    sent.expect("it is active");
    assert!(event(&mut server, &mut output(&mut client)).is_none());
    let (_, outcome) = next_reply(&mut client, &mut output(&mut server));
    let Outcome::SystemException(exception) = outcome else {
        panic!("{outcome:?}")
    };
    assert_eq!(exception.kind, Kind::CodesetIncompatible);
}

#[test]
fn text_of_a_oneway_request_in_an_unknown_code_set_is_an_error_and_no_loss() {
    let code_sets = CodeSets {
        narrow: CodeSet(0x1234),
        wide: None,
    };
    let (mut client, mut server) = pair(ConnectionSettings {
        code_sets,
        ..Default::default()
    });
    let write = |encoder: &mut Encoder| encoder.string_bytes(b"abc");
    let sent = client.send_request(head(ResponseExpected::None), 1, write);
    sent.expect("it is active");
    let request = next_request(&mut server, &mut output(&mut client));
    let text = request.body.decoder().string("text");
    assert!(text.is_err_and(|error| error.to_string().contains("0x00001234")));
}

#[test]
fn a_server_answers_in_the_version_of_the_request() {
    for version in [Version::V1_0, Version::V1_1, Version::V1_2] {
        let settings = ConnectionSettings {
            version,
            ..Default::default()
        };
        let mut client = Connection::<u8>::new(Role::Client, settings);
        let mut server = Connection::<u8>::new(Role::Server, ConnectionSettings::default());
        let sent = client.send_request(head(ResponseExpected::Target), 1, |encoder| {
            encoder.double(1.5);
            Ok(())
        });
        let id = sent.expect("it is active");
        let request = next_request(&mut server, &mut output(&mut client));
        assert_eq!(
            request.body.decoder().double("number"),
            Ok(1.5),
            "{version}"
        );
        // Results that are written before it is known that they will be sent.
        let mut results = server.results_encoder(id).expect("it waits");
        results.double(2.5);
        let write = |encoder: &mut Encoder| {
            encoder.octets(results.as_bytes());
            Ok(())
        };
        server.reply(id, write).expect("it waits");
        let input = output(&mut server);
        assert_eq!(input[5], version.minor());
        let (_, outcome) = next_reply(&mut client, &mut input.clone());
        let Outcome::Results(body) = outcome else {
            panic!("{outcome:?}")
        };
        assert_eq!(body.decoder().double("number"), Ok(2.5), "{version}");
    }
}

#[test]
fn a_cancelled_request_counts_until_it_is_answered_and_its_reply_is_ignored() {
    let (mut client, mut server) = pair(ConnectionSettings::default());
    let id = call(&mut client, 7);
    assert_eq!(client.cancel(id), Some(7));
    assert_eq!(client.cancel(id), None);
    let mut input = output(&mut client);
    next_request(&mut server, &mut input);
    let cancelled = event(&mut server, &mut input);
    assert!(matches!(cancelled, Some(ConnectionEvent::Cancelled(other)) if other == id));
    assert_eq!(server.dispatching(), 1);
    server.reply(id, |_| Ok(())).expect("it may be answered");
    assert!(event(&mut client, &mut output(&mut server)).is_none());
}

#[test]
fn a_full_server_leaves_requests_where_they_are() {
    let (mut client, mut server) = pair(ConnectionSettings {
        dispatches_max: 1,
        ..Default::default()
    });
    let (first, second) = (call(&mut client, 1), call(&mut client, 2));
    let mut input = output(&mut client);
    next_request(&mut server, &mut input);
    let left = input.len();
    assert!(left > 0 && event(&mut server, &mut input).is_none());
    assert_eq!(input.len(), left);
    server.reply(first, |_| Ok(())).expect("it waits");
    assert_eq!(next_request(&mut server, &mut input).id, second);
}

#[test]
fn a_client_has_no_more_requests_in_flight_than_its_limit() {
    let (mut client, _) = pair(ConnectionSettings {
        in_flight_max: 1,
        ..Default::default()
    });
    call(&mut client, 1);
    let refused = client.send_request(head(ResponseExpected::Target), 2, |_| Ok(()));
    assert_eq!(refused, Err(SendError::TooMany(1)));
}

#[test]
fn a_request_that_cannot_be_encoded_leaves_no_trace() {
    let (mut client, _) = pair(ConnectionSettings::default());
    let sent = client.send_request(head(ResponseExpected::Target), 1, |encoder| {
        encoder.string("a\0b")
    });
    assert_eq!(sent, Err(SendError::Encode(EncodeError::InnerNul)));
    assert_eq!((client.in_flight(), client.poll_output()), (0, None));
}

#[test]
fn a_server_that_closes_answers_what_it_has_and_gives_back_the_rest() {
    let (mut client, mut server) = pair(ConnectionSettings::default());
    let first = call(&mut client, 1);
    next_request(&mut server, &mut output(&mut client));
    server.close();
    assert!(!server.is_closing());
    call(&mut client, 2);
    assert!(event(&mut server, &mut output(&mut client)).is_none());
    server.reply(first, |_| Ok(())).expect("it waits");
    assert!(server.is_closing());
    let mut input = output(&mut server);
    assert_eq!(next_reply(&mut client, &mut input).0, 1);
    let closed = event(&mut client, &mut input);
    assert!(matches!(closed, Some(ConnectionEvent::Closed(tokens)) if tokens == [2]));
    let refused = client.send_request(head(ResponseExpected::Target), 3, |_| Ok(()));
    assert_eq!(refused, Err(SendError::NotActive));
}

#[test]
fn peers_that_break_the_rules_get_message_error() {
    let (mut client, mut server) = pair(ConnectionSettings::default());
    call(&mut client, 1);
    let request = output(&mut client);
    let garbage = BytesMut::from(&b"HTTP/1.1 200 OK"[..]);
    let twice = BytesMut::from(&[&request[..], &request[..]].concat()[..]);
    for input in [garbage, twice] {
        let mut server = Connection::<u8>::new(Role::Server, ConnectionSettings::default());
        let mut input = input;
        let error = loop {
            match server.handle_input(&mut input) {
                Ok(Some(_)) => {}
                Ok(None) => panic!("expected an error"),
                Err(error) => break error,
            }
        };
        assert!(server.is_closed(), "{error}");
        let written = output(&mut server);
        let answer = Message::split(&mut written.clone(), 100).expect("it is one");
        let answer = answer.expect("it is whole");
        assert_eq!(answer.header.message_type, MessageType::MessageError);
        assert!(event(&mut server, &mut request.clone()).is_none());
    }
    // A request to a client, and a reply to a server.
    let refused = client.handle_input(&mut request.clone());
    assert!(matches!(refused, Err(ProtocolError::Unexpected { .. })));
    assert_eq!(client.handle_end(), [1]);
    next_request(&mut server, &mut request.clone());
    server.reply(RequestId(0), |_| Ok(())).expect("it waits");
    let mut reply = output(&mut server);
    let refused = server.handle_input(&mut reply);
    assert!(matches!(refused, Err(ProtocolError::Unexpected { .. })));
}

#[test]
fn a_reply_to_nothing_is_ignored_and_a_message_error_ends_all() {
    let (mut client, mut server) = pair(ConnectionSettings::default());
    let id = call(&mut client, 1);
    next_request(&mut server, &mut output(&mut client));
    server.reply(id, |_| Ok(())).expect("it waits");
    assert_eq!(server.reply(id, |_| Ok(())), Err(SendError::NotWaiting(id)));
    let reply = output(&mut server);
    let mut twice = BytesMut::from(&[&reply[..], &reply[..]].concat()[..]);
    assert_eq!(next_reply(&mut client, &mut twice).0, 1);
    assert!(event(&mut client, &mut twice).is_none());
    call(&mut client, 2);
    let mut error = BytesMut::from(&encode_message_error(Version::V1_2, Endian::Big)[..]);
    let ended = event(&mut client, &mut error);
    assert!(matches!(ended, Some(ConnectionEvent::PeerError(tokens)) if tokens == [2]));
}

#[test]
fn objects_are_located() {
    let (mut client, mut server) = pair(ConnectionSettings::default());
    let target = Target::Key(Bytes::from_static(b"key"));
    client.send_locate(target.clone(), 5).expect("it is active");
    let asked = event(&mut server, &mut output(&mut client));
    let Some(ConnectionEvent::Locate(asked)) = asked else {
        panic!("{asked:?}")
    };
    assert_eq!(asked.target, target);
    let forward = LocateStatus::Forward {
        reference: Ior::NIL,
        is_permanent: false,
    };
    server.reply_locate(asked.id, &forward).expect("it waits");
    let reply = event(&mut client, &mut output(&mut server));
    let Some(ConnectionEvent::LocateReply(5, reply)) = reply else {
        panic!("{reply:?}")
    };
    assert_eq!(reply.status(), Ok(forward));
}

#[test]
fn arguments_are_read_with_the_format_that_came() {
    let settings = ConnectionSettings {
        endian: Endian::Big,
        ..Default::default()
    };
    let (mut client, mut server) = pair(settings);
    let sent = client.send_request(head(ResponseExpected::None), 1, |encoder| {
        encoder.ulong(0x0102_0304);
        Ok(())
    });
    sent.expect("it is active");
    assert_eq!(client.in_flight(), 0);
    let request = next_request(&mut server, &mut output(&mut client));
    assert_eq!(&request.body.bytes[..], [1, 2, 3, 4]);
    let mut decoder: Decoder<'_> = request.body.decoder();
    assert_eq!(decoder.ulong("number"), Ok(0x0102_0304));
}
