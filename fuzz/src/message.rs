//! Bytes as a peer sends them, given to a connection in the role of client and of server.

use bytes::BytesMut;
use floe_wire::Encapsulation;
use floe_wire::compression::Decompressor;
use floe_wire::connection::{Connection, Event, Role};
use floe_wire::message::{IncomingRequest, Message, Outcome};

/// Handles `input` as the bytes of one connection, in both roles, and reads everything that comes of it.
///
/// Whatever the bytes are, this must end, and without a panic.
pub(crate) fn run(input: &[u8]) {
    for role in [Role::Server, Role::Client] {
        run_as(role, input);
    }
}

fn run_as(role: Role, input: &[u8]) {
    let mut output = Vec::new();
    let mut connection = Connection::new(role, &mut output);
    let mut input = BytesMut::from(input);
    let mut decompressor = Decompressor::default();
    while let Ok(Some(message)) = Message::split(&mut input, SIZE_MAX) {
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
            Ok(event) => read(event, &mut connection, &mut output),
            Err(error) => {
                assert!(!error.to_string().is_empty());
                connection.fail();
                break;
            }
        }
    }
    connection.close(&mut output);
}

fn read(event: Event<()>, connection: &mut Connection<()>, output: &mut Vec<u8>) {
    match event {
        Event::Request(request) => {
            read_request(&request);
            if !request.id().is_oneway() {
                connection.handle_dispatched(output);
            }
        }
        Event::Batch(batch) => batch.for_each(|request| read_request(&request)),
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
