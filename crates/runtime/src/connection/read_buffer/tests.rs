//! Tests of the read buffer with input as sockets deliver it: in pieces, several messages together, long, and still
//! held.

use super::*;

const SIZE_MAX: usize = 1 << 20;

fn read(input: &mut ReadBuffer, bytes: &[u8]) {
    let room = input.room(SIZE_MAX);
    room[..bytes.len()].copy_from_slice(bytes);
    input.filled(bytes.len(), SIZE_MAX);
}

/// Returns a message of this many bytes, filled with `fill` after its header.
fn message(size: usize, fill: u8) -> Vec<u8> {
    let mut message = b"IceP\x01\x00\x01\x00\x02\x00".to_vec();
    message.extend(u32::try_from(size).unwrap().to_le_bytes());
    message.resize(size, fill);
    message
}

/// Reads bytes as from a socket that has them all. Returns the number of reads.
fn read_all(input: &mut ReadBuffer, mut bytes: &[u8]) -> usize {
    let mut read_count = 0;
    while !bytes.is_empty() {
        let count = input.room(SIZE_MAX).len().min(bytes.len());
        read(input, &bytes[..count]);
        bytes = &bytes[count..];
        read_count += 1;
    }
    read_count
}

fn next(input: &mut ReadBuffer) -> Option<Message> {
    match input.next()? {
        wire::Input::Bytes(bytes) => Message::split(bytes, SIZE_MAX).unwrap(),
        wire::Input::Message(message) => Some(message),
    }
}

#[test]
fn a_message_alone_is_taken_off_or_overwritten_by_the_next() {
    let mut input = ReadBuffer::default();
    let address = input.room(SIZE_MAX).as_ptr();
    for bytes in [&b"one"[..], b"other", &[7; READ_LEN_MIN]] {
        let room = input.room(SIZE_MAX);
        assert_eq!(room.as_ptr(), address);
        room[..bytes.len()].copy_from_slice(bytes);
        assert_eq!(input.single(bytes.len()), Some(bytes));
        input.learn(bytes.len());
        assert_eq!(input.len(), 0);
    }
    input.room(SIZE_MAX)[..4].copy_from_slice(b"kept");
    let kept = input.take_single(4);
    read(&mut input, &message(20, 7));
    assert_eq!(next(&mut input).unwrap().bytes, message(20, 7)[..]);
    assert_eq!(kept, b"kept"[..]);
}

#[test]
fn messages_read_in_pieces_are_joined() {
    let mut input = ReadBuffer::default();
    let whole = message(20, 7);
    for piece in whole.chunks(7) {
        assert!(next(&mut input).is_none());
        read(&mut input, piece);
    }
    assert_eq!(next(&mut input).unwrap().bytes, whole);
    assert_eq!(input.len(), 0);
}

#[test]
fn the_allocation_is_reused_while_no_message_holds_it() {
    let mut input = ReadBuffer::default();
    let bytes = message(20, 1);
    read(&mut input, &bytes);
    let start = input.bytes.as_ptr();
    for _ in 0..100_000 {
        assert_eq!(next(&mut input).unwrap().bytes, bytes);
        read(&mut input, &bytes);
    }
    let distance = input.bytes.as_ptr() as usize - start as usize;
    assert!(distance < READ_LEN_MIN, "it moved by {distance}");
}

#[test]
fn a_waiting_connection_gives_its_room_to_the_next() {
    let [mut first, mut second] = [ReadBuffer::default(), ReadBuffer::default()];
    read(&mut first, b"message");
    let _ = first.bytes.split_to(7);
    let room = first.room(SIZE_MAX).as_ptr();
    let mut rests = BytesMut::new();
    first.give_back(&mut rests);
    assert_eq!(first.room.capacity() + first.bytes.capacity(), 0);
    second.take_room(&mut rests);
    assert_eq!(second.room(SIZE_MAX).as_ptr(), room);
}

#[test]
fn a_connection_that_waits_after_a_long_message_gives_its_room_back() {
    let mut input = ReadBuffer::default();
    read_all(&mut input, &message(100_000, 1));
    next(&mut input).unwrap();
    // The next message is expected to be as long, so it would be read elsewhere.
    input.room(SIZE_MAX);
    input.give_back(&mut BytesMut::new());
    // A buffer without capacity may hold an allocation, and then points to its end.
    let nowhere = BytesMut::new().as_ptr();
    assert_eq!([input.room.as_ptr(), input.bytes.as_ptr()], [nowhere; 2]);
}

#[test]
fn a_started_message_keeps_its_room() {
    let mut input = ReadBuffer::default();
    read(&mut input, b"mess");
    input.give_back(&mut BytesMut::new());
    read(&mut input, b"age");
    assert_eq!(input.bytes, "message");
}

#[test]
fn a_held_message_is_not_overwritten() {
    let mut input = ReadBuffer::default();
    read(&mut input, &message(20, 1));
    let held = next(&mut input).unwrap();
    for _ in 0..10_000 {
        read(&mut input, &message(20, 2));
        next(&mut input).unwrap();
    }
    assert_eq!(held.bytes, message(20, 1));
}

#[test]
fn a_full_read_enlarges_the_room() {
    let mut input = ReadBuffer::default();
    for _ in 0..20 {
        let len = input.room(SIZE_MAX).len();
        input.filled(len, SIZE_MAX);
        input.bytes.clear();
    }
    assert_eq!(input.room(SIZE_MAX).len(), READ_LEN_MAX);
}

#[test]
fn a_long_message_does_not_swallow_the_next_one() {
    let mut input = ReadBuffer::default();
    let long = message(300_000, 3);
    let both = [&long[..], &message(20, 4)].concat();
    read_all(&mut input, &both[..300_000]);
    assert_eq!(next(&mut input).unwrap().bytes, long);
    read_all(&mut input, &both[300_000..]);
    assert_eq!(next(&mut input).unwrap().bytes, message(20, 4));
    assert!(next(&mut input).is_none());
}

#[test]
fn the_header_of_a_long_message_reserves_little() {
    let mut input = ReadBuffer::default();
    read(&mut input, &message(SIZE_MAX, 0)[..HEADER_LEN]);
    assert!(input.room(SIZE_MAX).len() <= LONG_MIN);
    assert_eq!(input.needed(SIZE_MAX), SIZE_MAX);
}

/// Reads a long message twice. Returns where the second one begins, in a buffer that is kept.
fn read_twice(input: &mut ReadBuffer) -> *const u8 {
    read_all(input, &message(900_000, 1));
    next(input).unwrap();
    read_all(input, &message(900_000, 1));
    next(input).unwrap().bytes.as_ptr()
}

#[test]
fn a_long_buffer_that_is_kept_begins_at_a_cache_line() {
    let mut input = ReadBuffer::default();
    assert_eq!(read_twice(&mut input).align_offset(ALIGNMENT), 0);
    input.drop_long_buffers();
    let mut unaligned = BytesMut::zeroed(100_000 + ALIGNMENT);
    unaligned.advance((unaligned.as_ptr().align_offset(ALIGNMENT) + 16) % ALIGNMENT);
    let aligned = aligned(unaligned.clone());
    assert_eq!(aligned.as_ptr().align_offset(ALIGNMENT), 0);
    assert_eq!(aligned.len(), unaligned.len());
}

#[test]
fn the_buffer_of_a_long_message_serves_the_next_one() {
    let mut input = ReadBuffer::default();
    let start = read_twice(&mut input);
    assert_eq!(
        read_all(&mut input, &message(800_000, 2)),
        2,
        "its start is expected"
    );
    let held = next(&mut input).unwrap();
    assert_eq!(held.bytes.as_ptr(), start);
    read_all(&mut input, &message(800_000, 3));
    assert_eq!(next(&mut input).unwrap().bytes, message(800_000, 3));
    assert_eq!(held.bytes, message(800_000, 2), "it is held");
}

#[test]
fn a_waiting_connection_gives_its_long_buffer_to_the_next() {
    let [mut first, mut second] = [ReadBuffer::default(), ReadBuffer::default()];
    let start = read_twice(&mut first);
    first.give_back(&mut BytesMut::new());
    assert!(!first.has_long_buffer());
    read_all(&mut second, &message(800_000, 2));
    assert_eq!(next(&mut second).unwrap().bytes.as_ptr(), start);
}

#[test]
fn a_thread_keeps_one_long_buffer_for_all_waiting_connections() {
    let mut inputs: Vec<_> = (0..10).map(|_| ReadBuffer::default()).collect();
    for input in &mut inputs {
        read_all(input, &message(900_000, 1));
        next(input).unwrap();
    }
    let mut room = BytesMut::new();
    inputs
        .iter_mut()
        .for_each(|input| input.give_back(&mut room));
    assert_eq!(LONG.with_borrow(Vec::len), 1);
    inputs[0].drop_long_buffers();
    assert_eq!(LONG.with_borrow(Vec::len), 0);
}

#[test]
fn a_far_too_long_buffer_is_not_kept() {
    let mut input = ReadBuffer::default();
    read_all(&mut input, &message(900_000, 1));
    next(&mut input).unwrap();
    read_all(&mut input, &message(100_000, 1));
    next(&mut input).unwrap();
    assert_eq!(input.kept.len(), 0);
    read_all(&mut input, &message(100_000, 1));
    next(&mut input).unwrap();
    assert_eq!(input.kept.len(), 100_000);
}

/// Reads these pieces one after another. Returns the messages in them.
fn messages(input: &mut ReadBuffer, pieces: &[&[u8]]) -> Vec<Bytes> {
    let mut messages = Vec::new();
    for piece in pieces {
        let mut rest = *piece;
        while !rest.is_empty() {
            let count = input.room(SIZE_MAX).len().min(rest.len());
            read(input, &rest[..count]);
            rest = &rest[count..];
            while let Some(message) = next(input) {
                messages.push(message.bytes);
            }
        }
    }
    messages
}

#[test]
fn what_follows_a_long_message_may_be_anything() {
    let [long, longer] = [message(100_000, 1), message(200_000, 2)];
    let [shorter, short] = [message(40_000, 3), message(20, 4)];
    for next in [&long, &longer, &shorter, &short] {
        for last in [&long, &longer, &shorter, &short] {
            let all = [&long[..], next, last, &long, &short].concat();
            let expected = [&long, next, last, &long, &short].map(|it| Bytes::from(it.clone()));
            for step in [5, 13, 14, 19, 50_000, 150_000, all.len()] {
                let mut input = ReadBuffer::default();
                let pieces: Vec<_> = all.chunks(step).collect();
                assert_eq!(messages(&mut input, &pieces), expected, "by {step}");
            }
        }
    }
}

#[test]
fn a_held_long_message_is_not_overwritten() {
    let mut input = ReadBuffer::default();
    let held = messages(&mut input, &[&message(100_000, 1)]);
    let others = messages(&mut input, &[&message(100_000, 2), &message(100_000, 3)]);
    assert_eq!(held, [message(100_000, 1)]);
    assert_eq!(others, [message(100_000, 2), message(100_000, 3)]);
}

#[test]
fn a_bad_header_instead_of_a_long_message_is_detected() {
    let mut input = ReadBuffer::default();
    messages(&mut input, &[&message(100_000, 1)]);
    read(&mut input, &message(SIZE_MAX + 1, 2)[..50_000]);
    let Some(wire::Input::Bytes(bytes)) = input.next() else {
        panic!("it is read with others");
    };
    assert!(Message::split(bytes, SIZE_MAX).is_err());
    messages(&mut input, &[]);
}

#[test]
fn bytes_just_read_can_be_inspected_in_place_if_none_stand_before_them() {
    let mut input = ReadBuffer::default();
    let whole = message(40, 7);
    let address = input.room(SIZE_MAX).as_ptr();
    input.room(SIZE_MAX)[..40].copy_from_slice(&whole);
    assert_eq!(input.single(40), Some(&whole[..]));
    assert_eq!(
        input.room(SIZE_MAX).as_ptr(),
        address,
        "the next ones take its address"
    );

    read(&mut input, &whole[..15]);
    input.room(SIZE_MAX)[..25].copy_from_slice(&whole[15..]);
    assert!(input.single(25).is_none(), "a part of it stands before");
    input.filled(25, SIZE_MAX);
    assert_eq!(next(&mut input).unwrap().bytes, whole);

    let long = message(LONG_MIN, 8);
    read(&mut input, &long[..20]);
    input.room(SIZE_MAX)[..20].copy_from_slice(&long[20..40]);
    assert!(input.single(20).is_none(), "it is part of a long one");
}

#[cfg(unix)]
#[test]
fn only_a_short_read_is_copied_from_the_start_of_the_room() {
    let mut input = ReadBuffer::default();
    let whole = message(40, 7);
    input.room(SIZE_MAX)[..40].copy_from_slice(&whole);
    let start = input.start_of_room::<64>(40).map(|read| &read[..40]);
    assert_eq!(start, Some(&whole[..]));
    assert!(input.start_of_room::<32>(40).is_none(), "it is longer");
}
