//! Bytes as a peer sends them, given to a connection in the role of client and of server.

use bytes::BytesMut;
use floe_wire::Encapsulation;
use floe_wire::compression::Decompressor;
use floe_wire::connection::{ConnectionEvent, Input, RequestIds, Role, StateMachine};
use floe_wire::encoding::Buffer;
use floe_wire::message::{
    HeadCache, IncomingReply, IncomingRequest, Message, Outcome, RequestBatch, reply,
};

/// Handles `input` as the bytes of one connection, in both roles, and reads everything that comes of it.
///
/// Whatever the bytes are, this must end, and without a panic.
pub(crate) fn run(input: &[u8]) {
    check_plain_replies(input);
    for role in [Role::Server, Role::Client] {
        let alone = run_as(role, input, None);
        let mut cache = HeadCache::default();
        // The second time it remembers how the last request began.
        for _ in 0..2 {
            let together = run_as(role, input, Some(&mut cache));
            assert_eq!(
                alone, together,
                "requests are the same however they are taken"
            );
        }
    }
}

/// Replies that are known at a look are those messages, and nothing else is there.
fn check_plain_replies(input: &[u8]) {
    let Some(replies) = reply::all_returned_nothing(input, SIZE_MAX) else {
        return;
    };
    let mut rest = BytesMut::from(input);
    for (id, encoding) in replies {
        let message = Message::split(&mut rest, SIZE_MAX).expect("a good message");
        let mut same = Buffer::default();
        reply::write_returned(&mut same, id, encoding, |_| ()).expect("it is short");
        assert_eq!(
            message.expect("a whole one").bytes,
            same.bytes_mut()[..],
            "a reply of nothing, and no other message"
        );
    }
    assert!(rest.is_empty(), "all were replies of nothing");
}

/// Targets and events of all requests. Without a cache, each message is given to the connection by itself; with
/// one, all of the input is, and each request is made of the one before it.
fn run_as(role: Role, input: &[u8], mut cache: Option<&mut HeadCache>) -> Vec<bytes::Bytes> {
    let mut events = Vec::new();
    let mut output = Vec::new();
    let mut connection = StateMachine::new(role, &mut output);
    let mut input = BytesMut::from(input);
    let mut decompressor = Decompressor::default();
    let mut replies = Vec::new();
    let mut decompressed = None;
    loop {
        // Some request is in flight, so that replies find one. Before validation it is refused.
        let _ = connection.append_requests(RequestIds::Next(1), |_, _| Ok::<_, ()>(()), |_| ());
        let alone = &mut HeadCache::default();
        let next = match (decompressed.take(), &cache) {
            (Some(message), _) => Input::Message(message),
            (None, Some(_)) => Input::Bytes(&mut input),
            (None, None) => match Message::split(&mut input, SIZE_MAX) {
                Ok(Some(message)) if message.is_compressed() => {
                    let Ok(message) = decompressor.decompress(message, SIZE_MAX) else {
                        break;
                    };
                    Input::Message(message)
                }
                Ok(Some(message)) => Input::Message(message),
                _ => break,
            },
        };
        let is_message = matches!(next, Input::Message(_));
        let cache = cache.as_deref_mut();
        let is_over = cache.is_some();
        let cache = cache.unwrap_or(alone);
        let handled = connection.handle_input(next, SIZE_MAX, cache, &mut replies, &mut output);
        for ((), reply) in replies.drain(..) {
            read_reply(&reply);
        }
        match handled {
            Ok(Some(ConnectionEvent::Requests(batch))) => {
                let read_one = |request: IncomingRequest| {
                    read_request(&request);
                    events.push(bytes::Bytes::copy_from_slice(request.target_bytes()));
                    events.push(request.event());
                    if !request.id().is_oneway() {
                        connection.handle_dispatched(&mut output);
                    }
                };
                match is_over {
                    true => take_over(batch, read_one),
                    false => batch.for_each(read_one),
                }
            }
            Ok(Some(ConnectionEvent::Refused(refused))) => {
                assert!(!refused.exception().to_string().is_empty());
                if !refused.id.is_oneway() {
                    connection.handle_dispatched(&mut output);
                }
            }
            Ok(Some(ConnectionEvent::Compressed(message))) => {
                let Ok(message) = decompressor.decompress(message, SIZE_MAX) else {
                    break;
                };
                assert!(
                    message.bytes.len() <= SIZE_MAX,
                    "a message keeps to its limit"
                );
                decompressed = Some(message);
            }
            Ok(Some(
                ConnectionEvent::Validated
                | ConnectionEvent::Heartbeat
                | ConnectionEvent::Closed(_),
            )) => {}
            Ok(None) if is_message => {}
            Ok(None) => {
                break;
            }
            Err(error) => {
                assert!(!error.to_string().is_empty());
                break;
            }
        }
    }
    connection.fail();
    connection.close(&mut output);
    events
}

fn read_reply(reply: &IncomingReply) {
    if let Ok(Outcome::Returned(bytes) | Outcome::UserException(bytes)) = reply.outcome() {
        assert!(
            Encapsulation::parse(&bytes).is_ok(),
            "an outcome holds a whole encapsulation"
        );
    }
}

/// Takes each request as a server does, which makes it of the one before.
fn take_over(mut batch: RequestBatch, mut read_one: impl FnMut(IncomingRequest)) {
    let Some(mut request) = batch.next() else {
        return;
    };
    loop {
        read_one(request.clone());
        let left = batch.len();
        let alike_len = batch.alike_len(&request);
        if let Some(len) = alike_len {
            let is_shorter = batch.next_alike(&mut request, len - 1);
            assert!(!is_shorter, "it is as long as was said");
        }
        let is_alike = batch.next_alike(&mut request, usize::MAX);
        assert_eq!(is_alike, alike_len.is_some(), "it was said to begin alike");
        let target = request.target_bytes().to_vec();
        let is_same_object = !is_alike && batch.next_to_same_object(&mut request);
        if is_same_object {
            assert_eq!(target, request.target_bytes(), "it is the same object");
        } else if !is_alike && !batch.next_over(&mut request) {
            assert_eq!(left, 0, "all were taken");
            return;
        }
        let len = request.parameters().len();
        assert_eq!(alike_len.unwrap_or(len), len, "it is as long as was said");
        assert_eq!(batch.len(), left - 1, "one was taken");
    }
}

/// A request that was accepted can be read in all its parts.
fn read_request(request: &IncomingRequest) {
    assert!(
        Encapsulation::parse(&request.parameters()).is_ok(),
        "parameters are a whole encapsulation"
    );
    assert!(
        request.event().ends_with(&request.parameters()),
        "an event ends with its parameters"
    );
    let target = request.target();
    assert_eq!(
        (target.identity, target.facet.as_str()),
        (request.identity(), request.facet())
    );
    let _ = (request.context(), request.mode(), request.operation());
}

/// The default limit of a connection.
const SIZE_MAX: usize = 1 << 20;
