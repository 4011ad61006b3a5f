//! Bytes as a peer sends them over a WebSocket, opening and frames, to either side.

use floe_wire::websocket::{
    FrameReader, Incoming, Key, Side, check_request, check_response, head_len,
};

/// Reads `input` as the bytes of a WebSocket, at once and in pieces, for both sides.
///
/// Whatever the bytes are, this must end without a panic, and what is read must not depend on how the
/// bytes came. The first byte says how long the pieces are.
pub(crate) fn run(input: &[u8]) {
    let Some((&first, bytes)) = input.split_first() else {
        return;
    };
    let piece_len = usize::from(first % 32) + 1;
    for side in [Side::Client, Side::Server] {
        let whole = read(side, bytes, bytes.len().max(1), bytes.len().max(1));
        let pieces = read(side, bytes, piece_len, usize::from(first / 32) + 1);
        assert_eq!(whole, pieces, "however the bytes come");
    }
    open(bytes);
}

/// The opening, as either side reads it, and the frames behind it.
fn open(bytes: &[u8]) {
    if let Ok(Some(len)) = head_len(bytes, 0) {
        assert!(
            (2..=bytes.len()).contains(&len),
            "a head is a part of what came"
        );
        // Whether it is one is for them to say.
        let _ = check_request(&bytes[..len]);
        let _ = check_response(&bytes[..len], &Key::from_random([7; 16]));
    }
}

/// The frames that were read: the payload, the other frames with their offsets in the payload, and true if the input
/// ended with an error.
#[derive(Debug, Default, PartialEq, Eq)]
struct Seen {
    payload: Vec<u8>,
    others: Vec<(usize, Incoming)>,
    has_failed: bool,
}

fn read(side: Side, bytes: &[u8], piece_len: usize, room_len: usize) -> Seen {
    let mut reader = FrameReader::new(side);
    let mut seen = Seen::default();
    let mut room = vec![0; room_len];
    let (mut start, mut end) = (0, piece_len.min(bytes.len()));
    loop {
        let Ok((count, event)) = reader.read(&bytes[start..end], &mut room) else {
            seen.has_failed = true;
            return seen;
        };
        assert!(count <= end - start, "it takes no more than there is");
        start += count;
        match event {
            Some(Incoming::Data(count)) => seen.payload.extend_from_slice(&room[..count]),
            Some(other) => seen.others.push((seen.payload.len(), other)),
            None if count > 0 => {}
            None if end == bytes.len() => return seen,
            None => end = (end + piece_len).min(bytes.len()),
        }
    }
}
