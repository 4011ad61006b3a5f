//! Frames and fragments, and hostile ones.

use bytes::{Bytes, BytesMut};

use super::*;
use crate::cdr::{Endian, Format, Version};

const LEN_MAX: usize = 1 << 16;

fn format(version: Version) -> Format {
    Format {
        version,
        ..Format::utf8(Endian::Little)
    }
}

fn request(id: u32, version: Version, octets: usize) -> Bytes {
    let head = RequestHead {
        target: Target::Key(Bytes::from_static(b"key")),
        operation: "op".to_owned(),
        response: ResponseExpected::Target,
        contexts: Vec::new(),
    };
    let bytes = vec![7; octets];
    let write = |encoder: &mut crate::cdr::Encoder| encoder.octet_sequence(&bytes);
    head.encode(RequestId(id), format(version), write)
        .expect("it is short")
}

fn message(bytes: &[u8]) -> Message {
    let mut stream = BytesMut::from(bytes);
    Message::split(&mut stream, LEN_MAX)
        .expect("it is one")
        .expect("it is whole")
}

fn fragment(id: u32, has_more: bool, contents: &[u8]) -> Message {
    let header = Header {
        version: Version::V1_2,
        endian: Endian::Little,
        has_more,
        message_type: MessageType::Fragment,
        body_len: 4 + contents.len() as u32,
    };
    message(&[&header.to_bytes()[..], &id.to_le_bytes(), contents].concat())
}

#[test]
fn a_message_is_taken_off_the_stream_when_it_is_whole() {
    let bytes = request(1, Version::V1_2, 3);
    for len in 0..bytes.len() {
        let mut stream = BytesMut::from(&bytes[..len]);
        assert_eq!(Message::split(&mut stream, LEN_MAX), Ok(None), "{len}");
    }
    let mut stream = BytesMut::from(&[&bytes[..], b"GI"].concat()[..]);
    let message = Message::split(&mut stream, LEN_MAX)
        .expect("it is one")
        .expect("it is whole");
    assert_eq!((message.bytes, &stream[..]), (bytes, &b"GI"[..]));
}

#[test]
fn a_stream_of_something_else_is_refused_at_its_first_bytes() {
    for (bytes, expected) in [
        (&b"GET / HTTP/1.1"[..], "begins with GIOP, got `GET "),
        (&b"Gx"[..], "begins with GIOP"),
        (b"GIOP\x02\0\0\0\0\0\0\0", "got 2.0"),
        (b"GIOP\x01\x03\0\0\0\0\0\0", "got 1.3"),
        (b"GIOP\x01\x02\0\x08\0\0\0\0", "type 0 to 7, got 8"),
        (b"GIOP\x01\0\0\x07\0\0\0\0", "type 0 to 7, got 7"),
        (
            b"GIOP\x01\x02\0\0\xff\xff\xff\xff",
            "at most 65536 bytes, got 4294967307",
        ),
    ] {
        let error = Message::split(&mut BytesMut::from(bytes), LEN_MAX).expect_err("hostile");
        assert!(error.to_string().contains(expected), "{error}");
    }
}

#[test]
fn fragments_of_mixed_messages_are_joined() {
    let messages = [1, 2].map(|id| message(&request(id, Version::V1_2, 100)));
    let pieces = messages
        .each_ref()
        .map(|whole| fragments(whole, 40).expect("it is 1.2"));
    assert!(pieces[0].len() > 2 && pieces[0].len() == pieces[1].len());
    let mut reassembly = Reassembly::default();
    let mut joined = Vec::new();
    for (a, b) in pieces[0].iter().zip(&pieces[1]) {
        for piece in [a, b] {
            joined.extend(
                reassembly
                    .handle(message(piece), LEN_MAX)
                    .expect("it belongs"),
            );
        }
    }
    assert_eq!(joined, messages);
    assert_eq!(reassembly.buffered_len(), 0);
}

#[test]
fn hostile_fragments_are_refused() {
    let whole = message(&request(1, Version::V1_2, 100));
    let first = fragments(&whole, 40).expect("it is 1.2").remove(0);
    let begun = || {
        let mut reassembly = Reassembly::default();
        assert_eq!(reassembly.handle(message(&first), LEN_MAX), Ok(None));
        reassembly
    };
    let unknown = begun().handle(fragment(2, false, b"12345678"), LEN_MAX);
    assert_eq!(
        unknown,
        Err(ProtocolError::UnknownFragment(Some(RequestId(2))))
    );
    let empty = begun().handle(fragment(1, true, b""), LEN_MAX);
    assert_eq!(empty, Err(ProtocolError::EmptyFragment));
    let again = begun().handle(message(&first), LEN_MAX);
    assert_eq!(again, Err(ProtocolError::DuplicateRequest(RequestId(1))));
    // Endless ones end at the limit.
    let mut endless = begun();
    let mut count = 0;
    while endless
        .handle(fragment(1, true, &[0; 1000]), LEN_MAX)
        .is_ok()
    {
        count += 1;
        assert!(endless.buffered_len() <= LEN_MAX);
    }
    assert_eq!(count, 65);
    // A fragment whose own id is cut.
    let header = Header {
        body_len: 2,
        ..fragment(1, true, b"x").header
    };
    let cut = message(&[&header.to_bytes()[..], b"12"].concat());
    assert!(matches!(
        begun().handle(cut, LEN_MAX),
        Err(ProtocolError::Malformed { .. })
    ));
}

#[test]
fn many_messages_in_fragments_at_a_time_are_refused() {
    let mut reassembly = Reassembly::default();
    let mut begin = |id| {
        let whole = message(&request(id, Version::V1_2, 100));
        let first = fragments(&whole, 40).expect("it is 1.2").remove(0);
        reassembly.handle(message(&first), LEN_MAX)
    };
    for id in 0..FRAGMENTED_MESSAGES_MAX as u32 {
        assert_eq!(begin(id), Ok(None));
    }
    assert_eq!(begin(1000), Err(ProtocolError::TooManyFragmented));
}

#[test]
fn a_cancelled_message_needs_no_other_fragments() {
    let whole = message(&request(1, Version::V1_2, 100));
    let first = fragments(&whole, 40).expect("it is 1.2").remove(0);
    let mut reassembly = Reassembly::default();
    reassembly
        .handle(message(&first), LEN_MAX)
        .expect("it begins");
    reassembly.cancel(RequestId(1));
    assert_eq!(reassembly.buffered_len(), 0);
    assert_eq!(reassembly.handle(message(&first), LEN_MAX), Ok(None));
}

#[test]
fn fragments_of_giop_1_1_have_no_id() {
    let whole = request(1, Version::V1_1, 100);
    let mut header = message(&whole).header;
    (header.has_more, header.body_len) = (true, 36);
    let first = [&header.to_bytes()[..], &whole[12..48]].concat();
    header.message_type = MessageType::Fragment;
    (header.has_more, header.body_len) = (false, whole.len() as u32 - 48);
    let second = [&header.to_bytes()[..], &whole[48..]].concat();
    let mut reassembly = Reassembly::default();
    assert_eq!(reassembly.handle(message(&first), LEN_MAX), Ok(None));
    let joined = reassembly
        .handle(message(&second), LEN_MAX)
        .expect("it belongs");
    assert_eq!(joined, Some(message(&whole)));
}

#[test]
fn giop_1_0_has_no_flag_for_fragments() {
    let mut bytes = request(1, Version::V1_0, 3).to_vec();
    bytes[6] |= 2;
    assert!(!message(&bytes).header.has_more);
}

#[test]
fn a_body_that_ends_before_it_is_aligned_is_refused() {
    // No arguments, so that no gap is written.
    let head = RequestHead {
        target: Target::Key(Bytes::from_static(b"key")),
        operation: "op".to_owned(),
        response: ResponseExpected::Target,
        contexts: Vec::new(),
    };
    let empty = head.encode(RequestId(1), format(Version::V1_2), |_| Ok(()));
    let empty = empty.expect("it is short");
    assert_ne!(empty.len() % 8, 0);
    let with = |count: usize| {
        let mut header = message(&empty).header;
        header.body_len += count as u32;
        let bytes = [&header.to_bytes()[..], &empty[12..], &vec![0; count]].concat();
        Request::decode(&message(&bytes)).map(|request| request.body.bytes.len())
    };
    let gap = 8 - empty.len() % 8;
    assert_eq!(with(0), Ok(0));
    assert!(with(gap - 1).is_err());
    assert_eq!((with(gap), with(gap + 3)), (Ok(0), Ok(3)));
}
