//! Bytes as a CORBA peer sends them: messages, TypeCodes, values of `any`, and references as text.

use bytes::{Bytes, BytesMut};
use floe_giop::any::Any;
use floe_giop::cdr::{Decoder, EncodeError, Encoder, Endian, Format, Version};
use floe_giop::connection::{Connection, ConnectionEvent, ConnectionSettings, Role};
use floe_giop::message::{LocateStatus, RequestHead, ResponseExpected, Target};
use floe_giop::reference::{Ior, TEXT_LEN_MAX};
use floe_giop::type_code::TypeCode;

/// Reads `input` as one of these, which its first byte says.
///
/// Whatever the bytes are, this must end without a panic. What can be read must be written and read again without a
/// difference, and messages must mean the same in whichever pieces they come.
pub(crate) fn run(input: &[u8]) {
    let Some((&first, bytes)) = input.split_first() else {
        return;
    };
    let endian = Endian::from_flag(first & 4 == 4);
    let format = Format {
        version: if first & 8 == 8 {
            Version::V1_1
        } else {
            Version::V1_2
        },
        ..Format::utf8(endian)
    };
    match first & 3 {
        0 => {
            for role in [Role::Client, Role::Server] {
                let whole = converse(role, bytes, bytes.len().max(1));
                let pieces = converse(role, bytes, usize::from(first / 16) + 1);
                assert_eq!(whole, pieces, "however the bytes come");
            }
        }
        1 => read_type(bytes, format),
        2 => read_any(&mut Decoder::at(bytes, usize::from(first / 32), format)),
        _ => read_text(bytes),
    }
}

/// The events that a stream gives, as text.
fn converse(role: Role, bytes: &[u8], piece_len: usize) -> Vec<String> {
    let settings = ConnectionSettings {
        message_len_max: 1 << 16,
        ..ConnectionSettings::default()
    };
    let mut connection = Connection::new(role, settings);
    if role == Role::Client {
        for token in 0..4 {
            let head = RequestHead {
                target: Target::Key(Bytes::new()),
                operation: "op".to_owned(),
                response: ResponseExpected::Target,
                contexts: Vec::new(),
            };
            connection
                .send_request(head, token, |_| Ok(()))
                .expect("it is active");
            connection
                .send_locate(Target::Key(Bytes::new()), token)
                .expect("it is active");
        }
    }
    let mut events = Vec::new();
    let mut stream = BytesMut::new();
    for piece in bytes.chunks(piece_len) {
        stream.extend_from_slice(piece);
        loop {
            match connection.handle_input(&mut stream) {
                Ok(None) => break,
                Ok(Some(event)) => {
                    events.push(format!("{event:?}"));
                    answer(&mut connection, event);
                }
                Err(error) => {
                    // The text quotes what has come so far.
                    events.push(format!("{:?}", std::mem::discriminant(&error)));
                    return events;
                }
            }
        }
    }
    events
}

fn answer(connection: &mut Connection<i32>, event: ConnectionEvent<i32>) {
    match event {
        ConnectionEvent::Request(request) => {
            read_any(&mut request.body.decoder());
            if request.head.response != ResponseExpected::None {
                connection.reply(request.id, |_| Ok(())).expect("it waits");
            }
        }
        ConnectionEvent::Locate(request) => {
            let here = LocateStatus::ObjectHere;
            connection
                .reply_locate(request.id, &here)
                .expect("it waits");
        }
        ConnectionEvent::Reply(_, reply) => {
            // Whether it is well-formed is for it to say.
            let _ = reply.outcome();
        }
        ConnectionEvent::LocateReply(_, reply) => {
            let _ = reply.status();
        }
        _ => {}
    }
    while connection.poll_output().is_some() {}
}

fn read_type(bytes: &[u8], format: Format) {
    let Ok(code) = TypeCode::decode(&mut Decoder::new(bytes, format)) else {
        return;
    };
    let mut encoder = Encoder::new(format);
    code.encode(&mut encoder)
        .expect("what was read can be written");
    let again = TypeCode::decode(&mut Decoder::new(encoder.as_bytes(), format));
    assert_eq!(again, Ok(code), "what was written can be read");
}

fn read_any(decoder: &mut Decoder<'_>) {
    let Ok(any) = Any::decode(decoder) else {
        return;
    };
    // References are taken apart only here, so that this may fail.
    let _ = any.value();
    for (offset, endian) in [(1, Endian::Big), (4, Endian::Little)] {
        let format = Format {
            endian,
            ..Format::utf8(endian)
        };
        let mut encoder = Encoder::at(offset, format);
        match any.encode(&mut encoder) {
            // The code sets of a message may have had more characters.
            Err(EncodeError::NotInCodeSet { .. } | EncodeError::NoWideCodeSet) => continue,
            written => written.expect("what was read can be written"),
        }
        let first = encoder.into_bytes();
        let mut decoder = Decoder::at(&first, offset, format);
        let again = Any::decode(&mut decoder).expect("what was written can be read");
        let mut encoder = Encoder::at(offset, format);
        again
            .encode(&mut encoder)
            .expect("what was read can be written");
        assert_eq!(encoder.into_bytes(), first);
    }
}

fn read_text(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    let Ok(reference) = text.parse::<Ior>() else {
        return;
    };
    let text = reference.to_text().expect("what was read can be written");
    if text.len() <= TEXT_LEN_MAX {
        assert_eq!(text.parse(), Ok(reference));
    }
}
