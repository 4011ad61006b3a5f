//! Requests and the messages without a body.

use bytes::BytesMut;
use floe_wire::compression::{Compression, Compressor, Decompressor};
use floe_wire::message::{
    BatchWriter, CLOSE_CONNECTION, Context, IncomingReply, IncomingRequest,
    MESSAGE_SIZE_MAX_DEFAULT, Message, MessageType, OperationMode, Outcome, RequestBatch,
    RequestHead, RequestId, RequestTarget, VALIDATE_CONNECTION,
};
use floe_wire::reference::Identity;
use serde_json::Value;

use crate::file::{Vector, from_hex, hex, load};

#[test]
fn messages_are_read_and_written_as_ice_does() {
    load("messages").iter().for_each(run);
}

#[test]
fn datagrams_are_read_and_written_as_ice_does() {
    let vectors = load("datagrams");
    let (compressed, plain): (Vec<_>, Vec<_>) = vectors.iter().partition(is_compressed);
    plain.into_iter().for_each(run);
    assert_eq!(names(&compressed), ["datagram_compressed"]);
}

#[test]
fn messages_that_may_be_compressed_but_are_not_are_read() {
    let vectors = load("compressed");
    let (compressed, plain): (Vec<_>, Vec<_>) = vectors.iter().partition(is_compressed);
    plain.into_iter().for_each(run);
    assert_eq!(
        names(&compressed),
        ["request_compressed", "reply_compressed", "batch_compressed"]
    );
}

#[test]
fn compressed_messages_are_read_and_written_as_ice_does() {
    let vectors = load("compressed").into_iter().chain(load("datagrams"));
    let compressed: Vec<_> = vectors.filter(|vector| is_compressed(&vector)).collect();
    assert_eq!(compressed.len(), 4);
    for vector in &compressed {
        let fields = &vector.json["message"];
        let packed = split(vector);
        let plain = decompress(packed.clone(), &vector.name);
        let size = plain.header.size as u64;
        assert_eq!(size, fields["uncompressed_size"], "{}", vector.name);
        check_content(&plain, fields, &vector.name);

        let mut written = plain.bytes.to_vec();
        Compressor::new(Compression::Bzip2).compress(&mut written, 0);
        assert_eq!(hex(&written), hex(&packed.bytes), "{}", vector.name);
    }
}

fn decompress(message: Message, name: &str) -> Message {
    let plain = Decompressor::default().decompress(message, MESSAGE_SIZE_MAX_DEFAULT);
    plain.unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn check_content(message: &Message, fields: &Value, name: &str) {
    match text(&fields["type"]) {
        "request" => {
            let request = IncomingRequest::parse(message).expect(name);
            assert_eq!(request.id().0, fields["request_id"], "{name}");
            assert_eq!(request.operation(), fields["operation"], "{name}");
            assert_eq!(request.reply_compression(), Some(Compression::Bzip2));
        }
        "reply" => {
            let reply = IncomingReply::parse(message).expect(name);
            assert_eq!(reply.id().0, fields["request_id"], "{name}");
            assert!(matches!(reply.outcome(), Ok(Outcome::Returned(_))));
        }
        "batch_request" => {
            let batch = RequestBatch::parse(message).expect(name);
            let requests = fields["requests"].as_array().expect("requests");
            assert_eq!(batch.len(), requests.len(), "{name}");
            for (request, fields) in batch.zip(requests) {
                check_fields(&request, fields, name);
            }
        }
        other => panic!("{name}: a compressed {other}"),
    }
}

/// Takes the message off its bytes and compares the header with the vector's fields.
pub(crate) fn split(vector: &Vector) -> Message {
    let mut input = BytesMut::from(&vector.bytes[..]);
    let message = Message::split(&mut input, MESSAGE_SIZE_MAX_DEFAULT);
    let message = message
        .unwrap_or_else(|error| panic!("{}: {error}", vector.name))
        .unwrap_or_else(|| panic!("{}: not a whole message", vector.name));
    assert!(
        input.is_empty(),
        "{}: {} bytes are left",
        vector.name,
        input.len()
    );
    let fields = &vector.json["message"];
    assert_eq!(
        message.header.size as u64, fields["message_size"],
        "{}",
        vector.name
    );
    assert_eq!(
        message.header.compression, fields["compression_status"],
        "{}",
        vector.name
    );
    message
}

/// Returns true if our bytes for the vector must be those of Ice: we never offer compressed replies.
pub(crate) fn is_ours(vector: &Vector) -> bool {
    vector.json["exact"] == true && vector.json["message"]["compression_status"] == 0
}

pub(crate) fn identity(json: &Value) -> Identity {
    Identity::with_category(text(&json["name"]), text(&json["category"]))
}

pub(crate) fn facet(json: &Value) -> &str {
    match json.as_array().expect("a list").as_slice() {
        [] => "",
        [facet] => text(facet),
        more => panic!("{} facets", more.len()),
    }
}

pub(crate) fn text(json: &Value) -> &str {
    json.as_str()
        .unwrap_or_else(|| panic!("{json} is no string"))
}

fn is_compressed(vector: &&Vector) -> bool {
    vector.json["message"]["compression_status"] == 2
}

fn names<'a>(vectors: &[&'a Vector]) -> Vec<&'a str> {
    vectors.iter().map(|vector| vector.name.as_str()).collect()
}

fn run(vector: &Vector) {
    let message = split(vector);
    match vector.json["message"]["type"].as_str() {
        Some("request") => run_request(vector, &message),
        Some("batch_request") => run_batch(vector, &message),
        Some("reply") => crate::replies::run(vector),
        Some("validate_connection") => {
            assert_eq!(message.header.message_type, MessageType::ValidateConnection);
            assert_eq!(
                hex(&VALIDATE_CONNECTION),
                hex(&vector.bytes),
                "{}",
                vector.name
            );
        }
        Some("close_connection") => {
            assert_eq!(message.header.message_type, MessageType::CloseConnection);
            // Compression is 1 in 3.7 and 0 in 3.8, which is what we send.
            let mut ours = CLOSE_CONNECTION;
            ours[9] = 1;
            assert_eq!(hex(&ours), hex(&vector.bytes), "{}", vector.name);
        }
        other => panic!("{}: no message {other:?}", vector.name),
    }
}

fn run_request(vector: &Vector, message: &Message) {
    assert_eq!(
        message.header.message_type,
        MessageType::Request,
        "{}",
        vector.name
    );
    let fields = &vector.json["message"];
    let request = IncomingRequest::parse(message);
    let request = request.unwrap_or_else(|error| panic!("{}: {error}", vector.name));
    assert_eq!(request.id().0, fields["request_id"], "{}", vector.name);
    check_fields(&request, fields, &vector.name);
    if !is_ours(vector) {
        return;
    }

    let mut forwarded = Vec::new();
    let target = RequestTarget::new(&request.identity(), request.facet());
    target
        .write_event(&mut forwarded, request.id(), &request.event())
        .expect("short enough");
    assert_eq!(
        hex(&forwarded),
        hex(&vector.bytes),
        "forwarding {}",
        vector.name
    );

    let mut written = Vec::new();
    let id = RequestId(request.id().0);
    with_header(fields, |header, parameters| {
        header
            .write_with(&mut written, id, |encoder| encoder.bytes(parameters))
            .expect("encodable");
    });
    assert_eq!(hex(&written), hex(&vector.bytes), "writing {}", vector.name);
}

fn run_batch(vector: &Vector, message: &Message) {
    assert_eq!(
        message.header.message_type,
        MessageType::BatchRequest,
        "{}",
        vector.name
    );
    let fields = vector.json["message"]["requests"]
        .as_array()
        .expect("a list");
    let batch = RequestBatch::parse(message);
    let batch = batch.unwrap_or_else(|error| panic!("{}: {error}", vector.name));
    let requests: Vec<_> = batch.collect();
    assert_eq!(requests.len(), fields.len(), "{}", vector.name);

    let mut writer = BatchWriter::default();
    let mut forwarder = BatchWriter::default();
    for (request, fields) in requests.iter().zip(fields) {
        check_fields(request, fields, &vector.name);
        with_header(fields, |header, parameters| {
            writer
                .push(header, usize::MAX, |encoder| encoder.bytes(parameters))
                .expect("encodable");
        });
        forwarder
            .push_event(
                &RequestTarget::new(&request.identity(), request.facet()),
                &request.event(),
                usize::MAX,
            )
            .expect("short enough");
    }
    for written in [writer.finish(), forwarder.finish()] {
        let written = written.expect("a batch with requests");
        assert_eq!(hex(&written), hex(&vector.bytes), "writing {}", vector.name);
    }
}

fn check_fields(request: &IncomingRequest, fields: &Value, name: &str) {
    assert_eq!(request.identity(), identity(&fields["identity"]), "{name}");
    assert_eq!(request.facet(), facet(&fields["facet"]), "{name}");
    assert_eq!(request.operation(), fields["operation"], "{name}");
    assert_eq!(request.mode(), mode(&fields["mode"]), "{name}");
    assert_eq!(request.context(), context(&fields["context"]), "{name}");
    assert_eq!(
        request.encoding().to_string(),
        fields["encapsulation_encoding"],
        "{name}"
    );
    assert_eq!(
        hex(&request.parameters()),
        fields["encapsulation"],
        "{name}"
    );
}

/// Calls `write` with what the fields of a vector say.
fn with_header(fields: &Value, write: impl FnOnce(&RequestHead<'_>, &[u8])) {
    let header = RequestHead {
        target: &RequestTarget::new(&identity(&fields["identity"]), facet(&fields["facet"])),
        operation: text(&fields["operation"]),
        mode: mode(&fields["mode"]),
        context: &context(&fields["context"]),
    };
    write(&header, &from_hex(text(&fields["encapsulation"])));
}

fn mode(json: &Value) -> OperationMode {
    match json.as_u64() {
        Some(0) => OperationMode::Normal,
        Some(1) => OperationMode::Nonmutating,
        Some(2) => OperationMode::Idempotent,
        _ => panic!("{json} is no operation mode"),
    }
}

fn context(json: &Value) -> Context {
    let entries = json.as_object().expect("a context").iter();
    entries
        .map(|(key, value)| (key.clone(), text(value).to_owned()))
        .collect()
}
