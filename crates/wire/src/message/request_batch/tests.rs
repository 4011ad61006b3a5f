//! Tests of batches of requests.

use bytes::BytesMut;

use super::*;
use crate::encoding::EncodingVersion;
use crate::message::{Context, OperationMode, RequestHead, RequestId, RequestTarget};
use crate::reference::Identity;

const SIZE_MAX: usize = 1_000;

fn request(id: i32, operation: &str, parameters: &[u8]) -> Vec<u8> {
    let identity = Identity::new("o");
    let header = RequestHead {
        target: &RequestTarget::new(&identity, "f"),
        operation,
        mode: OperationMode::Normal,
        context: &Context::from([("k".into(), "v".into())]),
    };
    let mut bytes = Vec::new();
    let written = header.write_with(&mut bytes, RequestId(id), |encoder| {
        encoder.encapsulation(EncodingVersion::V1_1, |encoder| encoder.bytes(parameters));
    });
    written.unwrap();
    bytes
}

fn split(input: &mut BytesMut) -> Option<RequestBatch> {
    RequestBatch::split(input, SIZE_MAX, &mut HeadCache::default())
}

#[test]
fn a_batch_has_the_same_requests_as_the_messages_one_by_one() {
    let messages = [
        request(0, "a", b""),
        request(7, "a", b"longer"),
        request(0, "a", b"p"),
        request(0, "b", b"p"),
        request(9, "b", b""),
        request(0, "a", b""),
    ];
    let mut input = BytesMut::from(&messages.concat()[..]);
    let mut batch = split(&mut input).expect("there are six");
    assert!(input.is_empty());
    assert_eq!((batch.len(), batch.twoway_count()), (6, 2));
    let mut over = batch.clone().next().expect("the first");
    for message in &messages {
        let mut alone = BytesMut::from(&message[..]);
        let alone = crate::message::Message::split(&mut alone, SIZE_MAX);
        let alone = IncomingRequest::parse(&alone.unwrap().unwrap()).unwrap();
        assert!(batch.next_over(&mut over));
        assert_eq!(over.id(), alone.id());
        assert_eq!(over.operation(), alone.operation());
        assert_eq!(over.target(), alone.target());
        assert_eq!(over.target_bytes(), alone.target_bytes());
        assert_eq!(over.context(), alone.context());
        assert_eq!(over.parameters(), alone.parameters());
        assert_eq!(over.event(), alone.event());
        assert_eq!(over.encoding(), alone.encoding());
    }
    assert!(!batch.next_over(&mut over));
}

#[test]
fn requests_to_the_same_object_are_taken_and_others_are_left() {
    let mut other = request(0, "a", b"other");
    // The object's name.
    other[19] = b'p';
    let messages = [
        request(0, "a", b""),
        request(7, "a", b"longer"),
        request(0, "b", b"p"),
        request(0, "b", b"q"),
        request(9, "b", b""),
        other.clone(),
        other,
        request(0, "a", b""),
    ];
    let mut input = BytesMut::from(&messages.concat()[..]);
    let mut batch = split(&mut input).expect("there are eight");
    let mut one_by_one = batch.clone();
    let mut followed = Vec::new();
    while let Some(mut request) = batch.next() {
        assert_eq!(one_by_one.next().unwrap().event(), request.event());
        while batch.next_to_same_object(&mut request) {
            let expected = one_by_one.next().unwrap();
            assert_eq!(format!("{request:?}"), format!("{expected:?}"));
            assert_eq!(expected.event(), request.event());
            assert_eq!(expected.event(), request.event_bytes());
            assert_eq!(expected.target_bytes(), request.target_bytes());
            followed.push(one_by_one.len());
        }
    }
    assert!(one_by_one.next().is_none());
    assert_eq!(followed, [6, 5, 4, 3, 1]);
}

#[test]
fn a_batch_ends_before_a_message_that_does_not_belong_to_it() {
    let good = request(0, "a", b"p");
    let mut is_malformed = good.clone();
    *is_malformed.last_mut().unwrap() = 0;
    is_malformed.push(0);
    is_malformed[10] += 1;
    let mut is_compressed = good.clone();
    is_compressed[9] = 2;
    let too_long = request(0, "a", &[0; SIZE_MAX]);
    let truncated = good[..good.len() - 1].to_vec();
    let heartbeat = crate::message::VALIDATE_CONNECTION.to_vec();
    for other in [is_malformed, is_compressed, too_long, truncated, heartbeat] {
        let mut input = BytesMut::from(&[&good[..], &good, &other].concat()[..]);
        let batch = split(&mut input).expect("two are good");
        assert_eq!((batch.len(), &input[..]), (2, &other[..]));
        assert!(split(&mut input).is_none());
        assert_eq!(input[..], other[..]);
    }
}

#[test]
fn parameters_never_reach_into_the_next_message() {
    let good = request(0, "a", b"p");
    let mut greedy = good.clone();
    let size = greedy.len() - 7;
    greedy[size] += 10;
    let bytes = [&good[..], &greedy, &good].concat();
    let mut input = BytesMut::from(&bytes[..]);
    let batch = split(&mut input).expect("one is good");
    assert_eq!((batch.len(), input.len()), (1, bytes.len() - good.len()));
}

#[test]
fn a_request_without_its_bytes_becomes_another_one() {
    let mut input = BytesMut::from(&request(3, "a", b"p")[..]);
    let mut request = split(&mut input)
        .and_then(|mut batch| batch.next())
        .unwrap();
    request.forget();
    assert_eq!((request.operation(), request.message().len()), ("", 0));
    let mut input = BytesMut::from(&self::request(4, "b", b"q")[..]);
    let mut batch = split(&mut input).unwrap();
    assert!(batch.next_over(&mut request));
    assert_eq!((request.id(), request.operation()), (RequestId(4), "b"));
}

#[test]
fn a_cached_header_does_not_change_the_requests() {
    let messages = [
        request(1, "a", b"p"),
        request(2, "a", b"longer"),
        request(3, "b", b"longer"),
        request(4, "a", b""),
        request(0, "a", &[7; 300]),
    ];
    let mut cache = HeadCache::default();
    for message in &messages {
        let [mut input, mut alone] = [(); 2].map(|()| BytesMut::from(&message[..]));
        let batch = RequestBatch::split(&mut input, SIZE_MAX, &mut cache);
        let request = batch.and_then(|mut batch| batch.next()).unwrap();
        let alone = split(&mut alone)
            .and_then(|mut batch| batch.next())
            .unwrap();
        assert_eq!(format!("{request:?}"), format!("{alone:?}"));
        assert_eq!(request.parameters(), alone.parameters());
        assert_eq!(request.event(), alone.event());
    }
}

#[test]
fn a_request_with_a_cached_head_must_still_be_whole() {
    let good = request(0, "a", b"p");
    let mut cache = HeadCache::default();
    let mut input = BytesMut::from(&good[..]);
    RequestBatch::split(&mut input, SIZE_MAX, &mut cache).expect("it is good");
    for wrong in [-1, 1, 100] {
        let mut bad = good.clone();
        let size = bad.len() - 7;
        bad[size] = bad[size].wrapping_add_signed(wrong);
        let mut input = BytesMut::from(&bad[..]);
        assert!(RequestBatch::split(&mut input, SIZE_MAX, &mut cache).is_none());
        assert_eq!(input[..], bad[..]);
    }
}

#[test]
fn a_request_is_repeated_exactly_if_the_next_one_begins_alike() {
    let messages = [
        request(0, "a", b""),
        request(7, "a", b"longer"),
        request(0, "a", b"p"),
        request(9, "b", b"p"),
        request(0, "b", b""),
        request(0, "a", b""),
    ];
    let bytes = messages.concat();
    let [mut batch, one_by_one] = [(); 2].map(|()| split(&mut BytesMut::from(&bytes[..])).unwrap());
    let expected: Vec<_> = one_by_one.collect();
    let mut request = batch.next().unwrap();
    let mut repeated = Vec::new();
    for (at, expected) in expected.iter().enumerate().skip(1) {
        let len = expected.parameters_len();
        let alike_len = batch.alike_len(&request);
        assert!(!batch.next_alike(&mut request, len - 1), "too long");
        if batch.next_alike(&mut request, len) {
            assert_eq!(alike_len, Some(len));
            repeated.push(at);
        } else {
            assert_eq!(alike_len, None);
            assert!(batch.next_over(&mut request));
        }
        assert_eq!(format!("{request:?}"), format!("{expected:?}"));
        assert_eq!(request.parameters(), expected.parameters());
        assert_eq!(request.event(), expected.event());
        let last = RequestBatch::last(&batch).unwrap();
        assert_eq!(last.event(), expected.event());
        assert_eq!((batch.len(), batch.twoway_count()), (5 - at, 2));
    }
    assert_eq!(repeated, [1, 2, 4]);
    assert_eq!(batch.alike_len(&request), None);
    assert!(!batch.next_alike(&mut request, usize::MAX));
    assert!(!batch.next_over(&mut request));
}

#[test]
fn damaged_messages_are_read_the_same_in_every_way() {
    let bytes = [0, 7, 0, 0].map(|id| request(id, "a", b"p")).concat();
    for at in 0..bytes.len() {
        for flipped in [0x01, 0x04, 0x80, 0xff] {
            let mut bytes = bytes.clone();
            bytes[at] ^= flipped;
            let together = split(&mut BytesMut::from(&bytes[..]));
            let mut alone = BytesMut::from(&bytes[..]);
            let mut batch = together.unwrap_or_default();
            let mut over: Option<IncomingRequest> = None;
            while batch.len() > 0 {
                let message = crate::message::Message::split(&mut alone, SIZE_MAX);
                let expected = IncomingRequest::parse(&message.unwrap().unwrap()).unwrap();
                match &mut over {
                    None => over = batch.next(),
                    Some(request) => {
                        let is_next = batch.next_alike(request, usize::MAX);
                        assert!(is_next || batch.next_over(request));
                    }
                }
                let request = over.as_ref().unwrap();
                assert_eq!(format!("{request:?}"), format!("{expected:?}"));
                assert_eq!(request.parameters(), expected.parameters());
                assert_eq!(request.event(), expected.event());
            }
            // The rest is not a whole request, or is malformed.
            assert!(split(&mut alone).is_none(), "{flipped:x} at {at}");
        }
    }
}

#[test]
fn only_the_last_request_is_repeated() {
    let bytes = [
        request(0, "a", b""),
        request(0, "a", b""),
        request(0, "a", b""),
    ]
    .concat();
    let [mut batch, mut other] = [(); 2].map(|()| split(&mut BytesMut::from(&bytes[..])).unwrap());
    let (mut first, mut foreign) = (batch.next().unwrap(), other.next().unwrap());
    assert!(
        !batch.next_alike(&mut foreign, usize::MAX),
        "it stands in other bytes"
    );
    let mut earlier = first.clone();
    assert!(batch.next_alike(&mut first, usize::MAX));
    assert!(
        !batch.next_alike(&mut earlier, usize::MAX),
        "another was taken since"
    );
    assert_eq!(batch.len(), 1);
}
