//! Frames of the WebSocket protocol, as they are sent.

use super::Opcode;

/// Code of a close frame at a normal end.
pub const CLOSE_NORMAL: u16 = 1000;
/// Code of a close frame to a peer that broke the protocol.
pub const CLOSE_PROTOCOL_ERROR: u16 = 1002;
/// Code of a close frame to a peer that sent a message above the limit.
pub const CLOSE_TOO_LONG: u16 = 1009;

/// The maximum bytes of a control frame's payload.
pub const CONTROL_LEN_MAX: usize = 125;

/// The mask of a client's payload: four random bytes, new for each frame.
pub type Mask = [u8; 4];

/// Appends the header of a binary frame that is a whole message with `len` bytes of payload. A client gives a mask,
/// with which the payload must be masked; a server gives none.
///
/// ```text
/// | fin, opcode: 1 | masked, length: 1 | longer length: 0, 2 or 8, big-endian | mask: 0 or 4 |
/// ```
pub fn append_data_header(buffer: &mut Vec<u8>, len: usize, mask: Option<Mask>) {
    append_header(buffer, Opcode::Binary, len, mask);
}

/// Appends a whole control frame. A payload that is too long is truncated.
pub fn append_control(buffer: &mut Vec<u8>, opcode: Opcode, payload: &[u8], mask: Option<Mask>) {
    let payload = &payload[..payload.len().min(CONTROL_LEN_MAX)];
    append_header(buffer, opcode, payload.len(), mask);
    append_masked(buffer, payload, mask.unwrap_or_default(), 0);
}

/// Appends masked payload, of which `offset` bytes were appended before.
pub fn append_masked(buffer: &mut Vec<u8>, payload: &[u8], mask: Mask, offset: usize) {
    let start = buffer.len();
    buffer.extend_from_slice(payload);
    apply_mask(&mut buffer[start..], mask, offset);
}

/// Masks or unmasks: doing it twice restores the bytes.
pub(super) fn apply_mask(bytes: &mut [u8], mut mask: Mask, offset: usize) {
    mask.rotate_left(offset % 4);
    // Eight bytes at a time, which compilers vectorize.
    let [a, b, c, d] = mask;
    let wide = u64::from_ne_bytes([a, b, c, d, a, b, c, d]);
    let (words, rest) = bytes.as_chunks_mut::<8>();
    for word in words {
        *word = (u64::from_ne_bytes(*word) ^ wide).to_ne_bytes();
    }
    for (byte, mask) in rest.iter_mut().zip(mask.iter().cycle()) {
        *byte ^= mask;
    }
}

fn append_header(buffer: &mut Vec<u8>, opcode: Opcode, len: usize, mask: Option<Mask>) {
    buffer.push(FIN | opcode.code());
    let masked = if mask.is_some() { MASKED } else { 0 };
    match len {
        0..=125 => buffer.push(masked | len as u8),
        126..=0xFFFF => {
            buffer.push(masked | LEN_16);
            buffer.extend_from_slice(&(len as u16).to_be_bytes());
        }
        _ => {
            buffer.push(masked | LEN_64);
            buffer.extend_from_slice(&(len as u64).to_be_bytes());
        }
    }
    buffer.extend_from_slice(mask.as_ref().map_or(&[][..], |mask| mask));
}

/// The frame ends its message.
pub(super) const FIN: u8 = 0x80;
/// The payload is masked.
pub(super) const MASKED: u8 = 0x80;
/// The length is in the next two bytes, or in the next eight.
pub(super) const LEN_16: u8 = 126;
pub(super) const LEN_64: u8 = 127;

#[cfg(test)]
mod tests {
    use super::apply_mask;

    #[test]
    fn a_mask_continues_across_pieces() {
        let bytes: Vec<u8> = (0..100).collect();
        let mask = [1, 20, 255, 77];
        let mut whole = bytes.clone();
        apply_mask(&mut whole, mask, 0);
        assert_eq!(whole[5], bytes[5] ^ 20);
        for split in 0..bytes.len() {
            let mut parts = bytes.clone();
            let (head, tail) = parts.split_at_mut(split);
            apply_mask(head, mask, 0);
            apply_mask(tail, mask, split);
            assert_eq!(parts, whole, "split at {split}");
        }
    }
}
