//! The vectors of `tests/vectors/giop.json`: messages that omniORB has sent, read and written again.
//!
//! omniORB leaves what was in its memory in the gaps of alignment, which are 0 here.

use bytes::{Bytes, BytesMut};
use floe_giop::any::{Any, Value};
use floe_giop::cdr::{CodeSets, Decoder, Encoder, Format, Version};
use floe_giop::message::{
    LocateReply, LocateRequest, Message, MessageType, Outcome, Reply, ReplyHead, Request,
    context_id, encode_close_connection, encode_locate_reply,
};
use floe_giop::reference::{Component, Ior, tag};
use serde_json::Value as Json;

/// The vectors with this key.
fn vectors(key: &str) -> Vec<(String, Json)> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/vectors/giop.json");
    let text = std::fs::read_to_string(path).expect("the vectors are there");
    let json: Json = serde_json::from_str(&text).expect("it is JSON");
    let vectors = json["vectors"].as_array().expect("it is a list");
    let with_key = vectors.iter().filter(|vector| !vector[key].is_null());
    let named = with_key.map(|vector| {
        let name = vector["name"].as_str().expect("it has a name");
        (name.to_owned(), vector.clone())
    });
    named.collect()
}

fn bytes_of(vector: &Json) -> Bytes {
    let hex = vector["hex"].as_str().expect("it is text");
    let digit = |at| u8::from_str_radix(&hex[at..at + 2], 16).expect("it is hex");
    (0..hex.len()).step_by(2).map(digit).collect()
}

/// All messages, with their names.
fn messages() -> Vec<(String, Message)> {
    let messages = vectors("hex").into_iter().map(|(name, vector)| {
        let mut stream = BytesMut::from(&bytes_of(&vector)[..]);
        let message = Message::split(&mut stream, 1 << 20)
            .expect(&name)
            .expect(&name);
        assert!(stream.is_empty(), "{name}");
        let kind = format!("{:?}", message.header.message_type);
        assert_eq!(vector["kind"], kind, "{name}");
        (name, message)
    });
    messages.collect()
}

#[test]
fn each_message_is_written_again_as_it_was() {
    let messages = messages();
    assert_eq!(messages.len(), 70);
    for (name, message) in messages {
        let header = message.header;
        let format = Format::plain(header.version, header.endian);
        let written = match header.message_type {
            MessageType::Request => {
                let request = Request::decode(&message).expect(&name);
                request.head.encode(request.id, format, |encoder| {
                    encoder.octets(&request.body.bytes);
                    Ok(())
                })
            }
            MessageType::Reply => {
                let Reply {
                    id,
                    status,
                    contexts,
                    body,
                } = Reply::decode(&message).expect(&name);
                let head = ReplyHead {
                    id,
                    status,
                    contexts,
                };
                head.encode(format, |encoder| {
                    encoder.octets(&body.bytes);
                    Ok(())
                })
            }
            MessageType::LocateRequest => {
                LocateRequest::decode(&message).expect(&name).encode(format)
            }
            MessageType::LocateReply => {
                let reply = LocateReply::decode(&message).expect(&name);
                encode_locate_reply(reply.id, &reply.status().expect(&name), format)
            }
            MessageType::CloseConnection => {
                Ok(encode_close_connection(header.version, header.endian))
            }
            other => panic!("{name}: no vector should be a {other}"),
        };
        let written = written.expect(&name);
        assert_eq!(written.len(), message.bytes.len(), "{name}");
        let mut gap = 0;
        for (at, (ours, theirs)) in written.iter().zip(&message.bytes).enumerate() {
            let is_gap = ours != theirs;
            gap = if is_gap { gap + 1 } else { 0 };
            assert!(
                !is_gap || (*ours == 0 && gap < 8),
                "{name}: byte {at} is {ours}, not {theirs}"
            );
        }
        let again = Message::split(&mut BytesMut::from(&written[..]), 1 << 20);
        let again = again.expect(&name).expect(&name);
        assert_eq!(meaning(&again), meaning(&message), "{name}");
    }
}

/// All that a message says.
fn meaning(message: &Message) -> String {
    let read = match message.header.message_type {
        MessageType::Request => Request::decode(message).map(|request| format!("{request:?}")),
        MessageType::Reply => Reply::decode(message).map(|reply| format!("{reply:?}")),
        MessageType::LocateRequest => {
            LocateRequest::decode(message).map(|asked| format!("{asked:?}"))
        }
        MessageType::LocateReply => LocateReply::decode(message).map(|reply| format!("{reply:?}")),
        _ => Ok(String::new()),
    };
    format!("{:?} {}", message.header, read.expect("it was read before"))
}

/// The values that went to `echo` and came back.
fn values() -> Vec<(String, Any)> {
    let mut code_sets = CodeSets::default();
    let mut values = Vec::new();
    let mut is_echo = std::collections::HashMap::new();
    for (name, message) in messages() {
        let version = message.header.version;
        let mut read = |mut body: floe_giop::message::Body, code_sets| {
            body.format.code_sets = code_sets;
            let mut decoder = body.decoder();
            let any = Any::decode(&mut decoder).expect(&name);
            decoder.finish("any").expect(&name);
            values.push((name.clone(), any));
        };
        match message.header.message_type {
            MessageType::Request => {
                let request = Request::decode(&message).expect(&name);
                let mut contexts = request.head.contexts.iter();
                if let Some(found) = contexts.find(|found| found.id == context_id::CODE_SETS) {
                    code_sets = CodeSets::from_context(&found.data).expect(&name);
                } else if version == Version::V1_0 {
                    code_sets = CodeSets::default();
                }
                is_echo.insert(
                    (version.minor(), request.id),
                    request.head.operation == "echo",
                );
                if request.head.operation == "echo" {
                    read(request.body, code_sets);
                }
            }
            MessageType::Reply => {
                let reply = Reply::decode(&message).expect(&name);
                if is_echo[&(version.minor(), reply.id)]
                    && let Outcome::Results(body) = reply.outcome().expect(&name)
                {
                    read(body, code_sets);
                }
            }
            _ => {}
        }
    }
    values
}

#[test]
fn each_any_keeps_its_meaning_in_both_byte_orders_and_at_each_offset() {
    let values = values();
    assert!(values.len() >= 30, "{}", values.len());
    for (name, any) in values {
        let value = any.value().expect(&name);
        for endian in [floe_giop::cdr::Endian::Big, floe_giop::cdr::Endian::Little] {
            for offset in 0..8 {
                let format = Format::utf8(endian);
                let mut encoder = Encoder::at(offset, format);
                any.encode(&mut encoder).expect(&name);
                let bytes = encoder.into_bytes();
                let again = Any::decode(&mut Decoder::at(&bytes, offset, format)).expect(&name);
                assert_eq!(again.code(), any.code(), "{name}");
                // The bytes of an inner any are in another byte order.
                if !matches!(value, Value::Any(_)) {
                    assert_eq!(again.value().as_ref(), Ok(&value), "{name}");
                }
            }
        }
    }
}

#[test]
fn the_struct_of_an_event_is_read_with_all_its_members() {
    let values = values();
    let ticks = values.iter().filter(|(_, any)| {
        any.code()
            .name()
            .is_some_and(|name| name.id == "IDL:Market/Tick:1.0")
    });
    let ticks: Vec<_> = ticks.collect();
    assert_eq!(ticks.len(), 2);
    for (name, any) in ticks {
        let Value::Struct(members) = any.value().expect(name) else {
            panic!("{name}")
        };
        assert_eq!(members[0], Value::String("Zürich €7".to_owned()));
        assert_eq!(members[1], Value::Enum(1));
        assert_eq!(members[4], Value::Octets(vec![0, 1, 255, 7]));
        assert_eq!(members[5], Value::Boolean(false));
        assert_eq!(members[6], Value::LongLong(-(1 << 62) + 7));
        assert_eq!(members[7], Value::Double(7.125));
        assert_eq!(members[8], Value::WString("🦀 Москва 7".to_owned()));
    }
}

#[test]
fn each_reference_is_printed_as_it_was() {
    let vectors = vectors("text");
    assert_eq!(vectors.len(), 3);
    for (name, vector) in vectors {
        let text = vector["text"].as_str().expect("it is text");
        let reference: Ior = text.parse().expect(&name);
        assert_eq!(reference.type_id, "IDL:Market/Feed:1.0");
        let profile = reference.iiop_profiles().next().expect(&name);
        assert_eq!(profile.host, "127.0.0.1");
        let orb_type = profile
            .components
            .iter()
            .find(|found| found.tag == tag::ORB_TYPE);
        // "ATT\0" is what omniORB has called itself since it was made by AT&T.
        let orb_type = orb_type.map(Component::to_orb_type);
        match profile.version {
            Version::V1_0 => assert_eq!(orb_type, None),
            _ => assert_eq!(orb_type, Some(Ok(0x4154_5400))),
        }
        if cfg!(target_endian = "little") {
            assert_eq!(
                reference.to_text().expect(&name).to_lowercase(),
                text.to_lowercase()
            );
        }
    }
}
