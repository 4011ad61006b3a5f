//! Round trips of whatever there can be: types and values at random, and every message in each version and byte order.

use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use floe_giop::any::{Any, UnionValue, Value, copy_value};
use floe_giop::cdr::{Decoder, Encoder, Endian, Format, Version};
use floe_giop::message::{
    AddressingMode, CancelRequest, Header, LocateReply, LocateRequest, LocateStatus, Message,
    MessageType, Outcome, Reassembly, Reply, ReplyHead, ReplyStatus, Request, RequestHead,
    RequestId, ResponseExpected, ServiceContext, Target, encode_close_connection,
    encode_locate_reply, encode_message_error, fragments,
};
use floe_giop::reference::{Component, IiopProfile, Ior, Profile};
use floe_giop::system_exception::{Completion, SystemException, SystemExceptionKind};
use floe_giop::type_code::{Member, NamedKind, TypeCode, TypeName, UnionCase, UnionType};
use proptest::collection::vec;
use proptest::prelude::*;

fn text() -> impl Strategy<Value = String> {
    "[^\u{0}]{0,6}"
}

fn name() -> impl Strategy<Value = TypeName> {
    (text(), "[a-z]{0,5}").prop_map(|(id, name)| TypeName { id, name })
}

fn component() -> impl Strategy<Value = Component> {
    (any::<u32>(), vec(any::<u8>(), 0..9)).prop_map(|(tag, data)| Component {
        tag,
        data: data.into(),
    })
}

fn profile() -> impl Strategy<Value = Profile> {
    let iiop = (
        text(),
        any::<u16>(),
        vec(any::<u8>(), 0..9),
        vec(component(), 0..3),
        version(),
    );
    let iiop = iiop.prop_map(|(host, port, key, components, version)| {
        let components = if version == Version::V1_0 {
            Vec::new()
        } else {
            components
        };
        Profile::Iiop(IiopProfile {
            version,
            host,
            port,
            key: key.into(),
            components,
        })
    });
    prop_oneof![
        iiop,
        vec(component(), 0..3).prop_map(Profile::Components),
        (2u32.., vec(any::<u8>(), 0..9)).prop_map(|(tag, data)| Profile::Other {
            tag,
            data: data.into()
        }),
    ]
}

fn reference() -> impl Strategy<Value = Ior> {
    (text(), vec(profile(), 0..3)).prop_map(|(type_id, profiles)| Ior { type_id, profiles })
}

fn version() -> impl Strategy<Value = Version> {
    prop_oneof![
        Just(Version::V1_0),
        Just(Version::V1_1),
        Just(Version::V1_2)
    ]
}

fn endian() -> impl Strategy<Value = Endian> {
    any::<bool>().prop_map(Endian::from_flag)
}

type Typed = (TypeCode, Value);

/// A type with a value of it.
fn typed() -> impl Strategy<Value = Typed> {
    let leaf = prop_oneof![
        Just((TypeCode::Null, Value::Null)),
        any::<bool>().prop_map(|x| (TypeCode::Boolean, Value::Boolean(x))),
        any::<u8>().prop_map(|x| (TypeCode::Octet, Value::Octet(x))),
        (1u8..128).prop_map(|x| (TypeCode::Char, Value::Char(x.into()))),
        any::<char>().prop_map(|x| (TypeCode::WChar, Value::WChar(x))),
        any::<i16>().prop_map(|x| (TypeCode::Short, Value::Short(x))),
        any::<u16>().prop_map(|x| (TypeCode::UShort, Value::UShort(x))),
        any::<i32>().prop_map(|x| (TypeCode::Long, Value::Long(x))),
        any::<u32>().prop_map(|x| (TypeCode::ULong, Value::ULong(x))),
        any::<i64>().prop_map(|x| (TypeCode::LongLong, Value::LongLong(x))),
        any::<u64>().prop_map(|x| (TypeCode::ULongLong, Value::ULongLong(x))),
        any::<i16>().prop_map(|x| (TypeCode::Float, Value::Float(x.into()))),
        any::<i32>().prop_map(|x| (TypeCode::Double, Value::Double(x.into()))),
        any::<[u8; 16]>().prop_map(|x| (TypeCode::LongDouble, Value::LongDouble(x))),
        text().prop_map(|x| (TypeCode::STRING, Value::String(x))),
        text().prop_map(|x| (TypeCode::WString(7), Value::WString(x))),
        any::<[u8; 3]>().prop_map(|x| {
            (
                TypeCode::Fixed {
                    digits: 4,
                    scale: -1,
                },
                Value::Fixed(x.to_vec()),
            )
        }),
        vec(any::<u8>(), 0..9)
            .prop_map(|x| (TypeCode::sequence(TypeCode::Octet), Value::Octets(x))),
        vec(any::<u8>(), 0..9).prop_map(|x| (TypeCode::Principal, Value::Octets(x))),
        (name(), 0u32..2)
            .prop_map(|(name, x)| { (TypeCode::enumeration(name, &["A", "B"]), Value::Enum(x)) }),
        (name(), reference()).prop_map(|(name, x)| {
            let code = TypeCode::Named(NamedKind::ObjectReference, name);
            (code, Value::Reference(Box::new(x)))
        }),
        (name(), vec(any::<i16>(), 0..3)).prop_map(|(name, ids)| recursive(name, &ids)),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            (name(), vec(("[a-z]{0,3}", inner.clone()), 0..4)).prop_map(structure),
            (inner.clone(), 0usize..4).prop_map(|((code, value), count)| {
                (TypeCode::sequence(code), elements(value, count))
            }),
            (inner.clone(), 0u32..4).prop_map(|((code, value), len)| {
                let elements = elements(value, len as usize);
                (
                    TypeCode::Array {
                        element: code.into(),
                        len,
                    },
                    elements,
                )
            }),
            (name(), inner.clone()).prop_map(|(name, (code, value))| {
                (
                    TypeCode::Alias {
                        name,
                        original: code.into(),
                    },
                    value,
                )
            }),
            (name(), inner.clone(), any::<i16>(), any::<bool>()).prop_map(union),
            (inner.clone(), endian()).prop_map(|((code, value), endian)| {
                let any = Any::new(code, &value, Format::utf8(endian)).expect("it is of its type");
                (TypeCode::Any, Value::Any(Box::new(any)))
            }),
            inner.prop_map(|(code, _)| (TypeCode::TypeCode, Value::TypeCode(Arc::new(code)))),
        ]
    })
}

/// A sequence of an alias of octets holds octets, too: this combination is seldom made by luck.
#[test]
fn octets_behind_an_alias_are_octets() {
    let name = TypeName {
        id: "IDL:Byte:1.0".to_owned(),
        name: "Byte".to_owned(),
    };
    let byte = TypeCode::Alias {
        name,
        original: TypeCode::Octet.into(),
    };
    let array = TypeCode::Array {
        element: byte.clone().into(),
        len: 3,
    };
    let value = Value::Octets(vec![1, 2, 3]);
    for code in [TypeCode::sequence(byte), array] {
        let any = Any::new(code, &value, Format::utf8(Endian::Little)).expect("it is of its type");
        assert_eq!(any.value().expect("it was written"), value);
    }
}

fn elements(value: Value, count: usize) -> Value {
    match value {
        Value::Octet(byte) => Value::Octets(vec![byte; count]),
        value => Value::Sequence(vec![value; count]),
    }
}

fn structure((name, members): (TypeName, Vec<(String, Typed)>)) -> Typed {
    let members = members
        .into_iter()
        .map(|(name, (code, value))| (Member::new(&name, code), value));
    let (members, values) = members.unzip();
    (TypeCode::structure(name, members), Value::Struct(values))
}

/// A list: a struct with an id and a sequence of such structs.
fn recursive(name: TypeName, ids: &[i16]) -> Typed {
    let members = vec![
        Member::new("id", TypeCode::Short),
        Member::new("rest", TypeCode::sequence(TypeCode::Recursive(2))),
    ];
    let list = |rest: Vec<Value>, id: &i16| {
        vec![Value::Struct(vec![
            Value::Short(*id),
            Value::Sequence(rest),
        ])]
    };
    let mut value = ids.iter().fold(Vec::new(), list);
    let empty = || Value::Struct(vec![Value::Short(0), Value::Sequence(Vec::new())]);
    (
        TypeCode::structure(name, members),
        value.pop().unwrap_or_else(empty),
    )
}

fn union((name, (code, value), label, has_default): (TypeName, Typed, i16, bool)) -> Typed {
    let code = Arc::new(code);
    let case = |label: i16| UnionCase {
        label: label.into(),
        name: "m".to_owned(),
        code: Arc::clone(&code),
    };
    let union = UnionType {
        name,
        discriminator: TypeCode::Short.into(),
        default: has_default.then_some(1),
        cases: vec![case(label), case(label.wrapping_add(1))],
    };
    let discriminator = i128::from(label.wrapping_add(if has_default { 2 } else { 0 }));
    let value = UnionValue {
        discriminator,
        member: Some(value),
    };
    (
        TypeCode::Union(Box::new(union)),
        Value::Union(Box::new(value)),
    )
}

/// Compares values, but for the bytes of any, which differ in their gaps and byte order.
fn assert_same(a: &Value, b: &Value) {
    match (a, b) {
        (Value::Any(a), Value::Any(b)) => {
            assert_eq!(a.code(), b.code());
            assert_same(
                &a.value().expect("it was read"),
                &b.value().expect("it was read"),
            );
        }
        (Value::Struct(a), Value::Struct(b)) | (Value::Sequence(a), Value::Sequence(b)) => {
            assert_eq!(a.len(), b.len());
            a.iter().zip(b).for_each(|(a, b)| assert_same(a, b));
        }
        (Value::Union(a), Value::Union(b)) => {
            assert_eq!(a.discriminator, b.discriminator);
            assert_eq!(a.member.is_some(), b.member.is_some());
            a.member
                .iter()
                .zip(&b.member)
                .for_each(|(a, b)| assert_same(a, b));
        }
        (a, b) => assert_eq!(a, b),
    }
}

fn whole(bytes: &Bytes) -> Message {
    let mut stream = BytesMut::from(&bytes[..]);
    let message = Message::split(&mut stream, 1 << 20).expect("it is one");
    assert!(stream.is_empty());
    message.expect("it is whole")
}

fn target() -> impl Strategy<Value = Target> {
    prop_oneof![
        vec(any::<u8>(), 0..20).prop_map(|key| Target::Key(key.into())),
        profile().prop_map(Target::Profile),
        (0u32..3, reference()).prop_map(|(selected, reference)| Target::Reference {
            selected,
            reference
        }),
    ]
}

fn contexts() -> impl Strategy<Value = Vec<ServiceContext>> {
    let context = (any::<u32>(), vec(any::<u8>(), 0..9));
    vec(
        context.prop_map(|(id, data)| ServiceContext {
            id,
            data: data.into(),
        }),
        0..3,
    )
}

proptest! {
    #[test]
    fn a_type_survives((code, _) in typed(), endian in endian()) {
        let mut encoder = Encoder::new(Format::utf8(endian));
        code.encode(&mut encoder).expect("it is one");
        let mut decoder = Decoder::new(encoder.as_bytes(), Format::utf8(endian));
        let again = TypeCode::decode(&mut decoder).expect("it was written");
        prop_assert_eq!(&*again, &code);
        decoder.finish("TypeCode").expect("nothing is left");
    }

    #[test]
    fn a_value_survives_at_any_offset(
        (code, value) in typed(),
        from in (0usize..8, endian()),
        to in (0usize..8, endian()),
    ) {
        let format = Format::utf8(from.1);
        let mut encoder = Encoder::at(from.0, format);
        value.encode(&code, &mut encoder).expect("it is of its type");
        let bytes = encoder.into_bytes();
        let mut copy = Encoder::at(to.0, Format::utf8(to.1));
        let mut decoder = Decoder::at(&bytes, from.0, format);
        copy_value(&code, &mut decoder, &mut copy).expect("it is of its type");
        decoder.finish("value").expect("nothing is left");
        let mut decoder = Decoder::at(copy.as_bytes(), to.0, Format::utf8(to.1));
        assert_same(&Value::decode(&code, &mut decoder).expect("it was written"), &value);
        decoder.finish("value").expect("nothing is left");
        // A part of it is an error and nothing worse.
        for len in 0..bytes.len() {
            let cut = Value::decode(&code, &mut Decoder::at(&bytes[..len], from.0, format));
            prop_assert!(cut.is_err());
        }
    }

    #[test]
    fn a_reference_survives_its_text(reference in reference()) {
        let text = reference.to_text().expect("it is short");
        prop_assert_eq!(text.parse::<Ior>(), Ok(reference));
    }

    #[test]
    fn a_request_survives(
        target in target(),
        operation in text(),
        contexts in contexts(),
        id in any::<u32>(),
        response in prop_oneof![
            Just(ResponseExpected::None), Just(ResponseExpected::Server), Just(ResponseExpected::Target)
        ],
        (version, endian) in (version(), endian()),
        numbers in vec(any::<i64>(), 0..3),
        piece_len in 24usize..80,
    ) {
        let format = Format { version, ..Format::utf8(endian) };
        let head = RequestHead { target, operation, response, contexts };
        let write = |encoder: &mut Encoder| {
            numbers.iter().for_each(|number| encoder.longlong(*number));
            Ok(())
        };
        let encoded = head.encode(RequestId(id), format, write);
        if version < Version::V1_2 && head.target.key().is_none() {
            prop_assert!(encoded.is_err());
            return Ok(());
        }
        let message = whole(&encoded.expect("it is short"));
        let request = Request::decode(&message).expect("it was written");
        prop_assert_eq!(request.id, RequestId(id));
        prop_assert_eq!(&request.head.operation, &head.operation);
        prop_assert_eq!(&request.head.contexts, &head.contexts);
        if version == Version::V1_2 {
            prop_assert_eq!(&request.head, &head);
        } else {
            prop_assert_eq!(request.head.target.key(), head.target.key());
            let is_expected = |response| response != ResponseExpected::None;
            prop_assert_eq!(is_expected(request.head.response), is_expected(head.response));
        }
        let mut arguments = request.body.decoder();
        for number in numbers {
            prop_assert_eq!(arguments.longlong("number"), Ok(number));
        }
        arguments.finish("arguments").expect("nothing is left");
        if version == Version::V1_2 {
            let mut reassembly = Reassembly::default();
            let mut joined = None;
            for piece in fragments(&message, piece_len).expect("it is 1.2") {
                prop_assert!(joined.is_none());
                joined = reassembly.handle(whole(&piece), 1 << 20).expect("it belongs");
            }
            prop_assert_eq!(joined, Some(message));
        }
    }

    #[test]
    fn a_reply_survives(
        contexts in contexts(),
        id in any::<u32>(),
        reference in reference(),
        (version, endian) in (version(), endian()),
        minor in any::<u32>(),
    ) {
        let format = Format { version, ..Format::utf8(endian) };
        let reply = |status, write: &dyn Fn(&mut Encoder)| {
            let head = ReplyHead { id: RequestId(id), status, contexts: contexts.clone() };
            let encoded = head.encode(format, |encoder| {
                write(encoder);
                Ok(())
            });
            encoded.map(|bytes| {
                let reply = Reply::decode(&whole(&bytes)).expect("it was written");
                assert_eq!((reply.id, &reply.contexts), (RequestId(id), &contexts));
                reply.outcome().expect("it was written")
            })
        };
        let results = reply(ReplyStatus::NoException, &|encoder| encoder.double(1.5));
        let Ok(Outcome::Results(body)) = results else { panic!("{results:?}") };
        prop_assert_eq!(body.decoder().double("number"), Ok(1.5));
        let user = reply(ReplyStatus::UserException, &|encoder| {
            encoder.name("IDL:X:1.0").expect("it is short");
        });
        let is_x = matches!(user, Ok(Outcome::UserException { id, .. }) if id == "IDL:X:1.0");
        prop_assert!(is_x);
        for kind in SystemExceptionKind::ALL {
            let exception = SystemException { kind: *kind, minor, completed: Completion::Maybe };
            let system = reply(ReplyStatus::SystemException, &|encoder| {
                exception.encode(encoder).expect("it is short");
            });
            prop_assert_eq!(system, Ok(Outcome::SystemException(exception)));
        }
        let is_1_2 = version == Version::V1_2;
        for (status, is_permanent) in [
            (ReplyStatus::LocationForward, false),
            (ReplyStatus::LocationForwardPerm, true),
        ] {
            let forward = reply(status, &|encoder| reference.encode(encoder).expect("it is short"));
            let expected = Outcome::Forward { reference: reference.clone(), is_permanent };
            match is_1_2 || !is_permanent {
                true => prop_assert_eq!(forward, Ok(expected)),
                false => prop_assert!(forward.is_err()),
            }
        }
        let mode = reply(ReplyStatus::NeedsAddressingMode, &|encoder| {
            AddressingMode::Reference.encode(encoder);
        });
        match is_1_2 {
            true => prop_assert_eq!(mode, Ok(Outcome::NeedsAddressingMode(AddressingMode::Reference))),
            false => prop_assert!(mode.is_err()),
        }
    }

    #[test]
    fn the_other_messages_survive(
        id in any::<u32>(),
        target in target(),
        reference in reference(),
        (version, endian) in (version(), endian()),
    ) {
        let format = Format { version, ..Format::utf8(endian) };
        let id = RequestId(id);
        let cancel = CancelRequest { id };
        let bytes = cancel.encode(format).expect("it is short");
        prop_assert_eq!(CancelRequest::decode(&whole(&bytes)), Ok(cancel));
        if version == Version::V1_2 {
            let locate = LocateRequest { id, target };
            let bytes = locate.encode(format).expect("it is short");
            prop_assert_eq!(LocateRequest::decode(&whole(&bytes)), Ok(locate));
        }
        let exception = SystemException::not_executed(SystemExceptionKind::Transient);
        for (status, is_old) in [
            (LocateStatus::UnknownObject, true),
            (LocateStatus::ObjectHere, true),
            (LocateStatus::Forward { reference: reference.clone(), is_permanent: false }, true),
            (LocateStatus::Forward { reference, is_permanent: true }, false),
            (LocateStatus::SystemException(exception), false),
            (LocateStatus::NeedsAddressingMode(AddressingMode::Profile), false),
        ] {
            let encoded = encode_locate_reply(id, &status, format);
            if version < Version::V1_2 && !is_old {
                prop_assert!(encoded.is_err());
                continue;
            }
            let reply = LocateReply::decode(&whole(&encoded.expect("it is short")));
            let reply = reply.expect("it was written");
            prop_assert_eq!((reply.id, reply.status()), (id, Ok(status)));
        }
        for (bytes, message_type) in [
            (encode_close_connection(version, endian), MessageType::CloseConnection),
            (encode_message_error(version, endian), MessageType::MessageError),
        ] {
            let expected = Header { version, endian, has_more: false, message_type, body_len: 0 };
            prop_assert_eq!(whole(&bytes).header, expected);
        }
    }
}
