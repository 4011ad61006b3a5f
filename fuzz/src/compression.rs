//! Compressed messages of one direction of a connection.

use bytes::BytesMut;
use floe_wire::compression::{Decompressor, INFLATION_LEN_MIN};
use floe_wire::message::Message;

/// Longer than a message with no limit of its ratio, so that the ratio is checked too.
const SIZE_MAX: usize = 2 * INFLATION_LEN_MIN;
const RATIO_MAX: usize = 100;

/// Reads `input` as bodies of compressed messages, each with the byte of its compression and its length before it.
///
/// Whatever the bytes are, this must end without a panic, and a message has the length that it claims.
pub(crate) fn run(input: &[u8]) {
    let mut decompressor = Decompressor::with_ratio_max(RATIO_MAX);
    let mut rest = input;
    while let [compression, low, high, behind @ ..] = rest {
        let len = usize::from(u16::from_le_bytes([*low, *high])).min(behind.len());
        let (body, next) = behind.split_at(len);
        rest = next;
        let Some(message) = message(*compression, body) else {
            return;
        };
        let packed_len = message.bytes.len();
        let Ok(plain) = decompressor.decompress(message, SIZE_MAX) else {
            // It is fatal for the connection.
            return;
        };
        assert_eq!(plain.header.size, plain.bytes.len());
        assert!(plain.bytes.len() <= SIZE_MAX.max(packed_len));
    }
}

/// A request with this body, which begins with the size that it claims to have.
fn message(compression: u8, body: &[u8]) -> Option<Message> {
    let mut bytes = BytesMut::from(&b"IceP\x01\x00\x01\x00\x00"[..]);
    bytes.extend_from_slice(&[compression]);
    let size = i32::try_from(14 + body.len()).ok()?;
    bytes.extend_from_slice(&size.to_le_bytes());
    bytes.extend_from_slice(body);
    Message::split(&mut bytes, usize::MAX).ok().flatten()
}
