//! Replies, their encapsulations unopened.

use bytes::Bytes;
use floe_wire::message::reply::write_outcome;
use floe_wire::message::{
    IncomingReply, MessageType, Outcome, RequestFailed, RequestId, SystemException,
};
use serde_json::Value;

use crate::file::{Vector, from_hex, hex, load};
use crate::messages::{facet, identity, is_ours, split, text};

#[test]
fn replies_are_read_and_written_as_ice_does() {
    load("replies").iter().for_each(run);
}

/// Runs a reply both ways.
pub(crate) fn run(vector: &Vector) {
    let message = split(vector);
    assert_eq!(
        message.header.message_type,
        MessageType::Reply,
        "{}",
        vector.name
    );
    let fields = &vector.json["message"];
    let reply = IncomingReply::parse(&message);
    let reply = reply.unwrap_or_else(|error| panic!("{}: {error}", vector.name));
    assert_eq!(reply.id().0, fields["request_id"], "{}", vector.name);
    let expected = outcome(fields);
    assert_eq!(reply.outcome().as_ref(), Ok(&expected), "{}", vector.name);

    if is_ours(vector) {
        let mut written = Vec::new();
        write_outcome(&mut written, RequestId(reply.id().0), &expected).expect("short enough");
        assert_eq!(hex(&written), hex(&vector.bytes), "writing {}", vector.name);
    }
}

/// Returns the outcome that the fields of a vector describe.
fn outcome(fields: &Value) -> Outcome {
    let encapsulation = || Bytes::from(from_hex(text(&fields["encapsulation"])));
    let message = || text(&fields["message"]).to_owned();
    let target = || RequestFailed {
        identity: identity(&fields["identity"]),
        facet: facet(&fields["facet"]).to_owned(),
        operation: text(&fields["operation"]).to_owned(),
    };
    match fields["reply_status"]["code"].as_u64() {
        Some(0) => Outcome::Returned(encapsulation()),
        Some(1) => Outcome::UserException(encapsulation()),
        Some(2) => Outcome::System(SystemException::ObjectNotExist(target())),
        Some(3) => Outcome::System(SystemException::FacetNotExist(target())),
        Some(4) => Outcome::System(SystemException::OperationNotExist(target())),
        Some(5) => Outcome::System(SystemException::UnknownLocalException(message())),
        Some(6) => Outcome::System(SystemException::UnknownUserException(message())),
        Some(7) => Outcome::System(SystemException::UnknownException(message())),
        other => panic!("no reply status {other:?}"),
    }
}
