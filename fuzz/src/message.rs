//! Bytes as a peer sends them, given to a connection in the role of client and of server.

use bytes::BytesMut;
use floe_wire::Encapsulation;
use floe_wire::compression::Decompressor;
use floe_wire::connection::{Connection, Event, Role};
use floe_wire::encoding::Buffer;
use floe_wire::message::{IncomingRequest, IncomingRun, KnownHead, Message, Next, Outcome, reply};

/// Handles `input` as the bytes of one connection, in both roles, and reads everything that comes of it.
///
/// Whatever the bytes are, this must end, and without a panic.
pub(crate) fn run(input: &[u8]) {
    check_plain_replies(input);
    for role in [Role::Server, Role::Client] {
        let alone = run_as(role, input, None);
        let mut known = KnownHead::default();
        // The second time it remembers how the last request began.
        for _ in 0..2 {
            let together = run_as(role, input, Some(&mut known));
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

/// Targets and events of all requests, which are taken one by one or, if something is known of those before,
/// those together that arrived together, each made of the one before it.
fn run_as(role: Role, input: &[u8], mut known: Option<&mut KnownHead>) -> Vec<bytes::Bytes> {
    let is_over = known.is_some();
    let mut events = Vec::new();
    let mut output = Vec::new();
    let mut connection = Connection::new(role, &mut output);
    let mut input = BytesMut::from(input);
    let mut decompressor = Decompressor::default();
    loop {
        if let Some(known) = &mut known
            && let Some(event) = connection.take_requests(&mut input, SIZE_MAX, known)
        {
            read(event, is_over, &mut connection, &mut output, &mut events);
            continue;
        }
        if is_over
            && let Some((token, reply)) = connection.take_reply(&mut input, SIZE_MAX, &mut output)
        {
            let event = Event::Reply(token, reply);
            read(event, is_over, &mut connection, &mut output, &mut events);
            continue;
        }
        let Ok(Some(message)) = Message::split(&mut input, SIZE_MAX) else {
            break;
        };
        let Ok(message) = decompressor.decompress(message, SIZE_MAX) else {
            connection.fail();
            break;
        };
        assert!(
            message.bytes.len() <= SIZE_MAX,
            "a message keeps to its limit"
        );
        // Some request is in flight, so that replies find one. Before validation it is refused.
        if let Ok(id) = connection.next_id() {
            connection.expect_reply(id, ());
        }
        match connection.handle_message(message.clone(), &mut output) {
            Ok(event) => {
                read(event, is_over, &mut connection, &mut output, &mut events);
            }
            Err(error) => {
                assert!(!error.to_string().is_empty());
                connection.fail();
                break;
            }
        }
    }
    connection.close(&mut output);
    events
}

fn read(
    event: Event<()>,
    is_over: bool,
    connection: &mut Connection<()>,
    output: &mut Vec<u8>,
    events: &mut Vec<bytes::Bytes>,
) {
    let mut read_one = |request: IncomingRequest| {
        read_request(&request);
        events.push(bytes::Bytes::copy_from_slice(request.target_bytes()));
        events.push(request.event());
        if !request.id().is_oneway() {
            connection.handle_dispatched(output);
        }
    };
    match event {
        Event::Request(request) => read_one(request),
        Event::Run(run) if is_over => take_over(run, read_one),
        Event::Run(run) => run.for_each(read_one),
        Event::Batch(batch) if is_over => take_over(batch.into_run(), read_one),
        Event::Batch(batch) => batch.for_each(read_one),
        Event::Reply((), reply) => {
            if let Ok(Outcome::Returned(bytes) | Outcome::UserException(bytes)) = reply.outcome() {
                assert!(
                    Encapsulation::parse(&bytes).is_ok(),
                    "an outcome holds a whole encapsulation"
                );
            }
        }
        Event::Validated | Event::Heartbeat | Event::Nothing | Event::Closed(_) => {}
    }
}

/// Takes each request as a server does, which makes it of the one before.
fn take_over(mut run: IncomingRun, mut read_one: impl FnMut(IncomingRequest)) {
    let Some(mut request) = run.next() else {
        return;
    };
    loop {
        read_one(request.clone());
        let left = run.len();
        let alike_len = run.alike_len(&request);
        if let Some(len) = alike_len {
            let is_shorter = run.repeat_over_up_to(&mut request, len - 1);
            assert!(!is_shorter, "it is as long as was said");
        }
        let is_alike = run.repeat_over(&mut request);
        assert_eq!(is_alike, alike_len.is_some(), "it was said to begin alike");
        if !is_alike && run.next_over(&mut request) == Next::End {
            assert_eq!(left, 0, "all were taken");
            return;
        }
        let len = request.parameters().len();
        assert_eq!(alike_len.unwrap_or(len), len, "it is as long as was said");
        assert_eq!(run.len(), left - 1, "one was taken");
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
