//! Protocol headers and frames: what cuts the stream into pieces.
//!
//! ```text
//! header:  "AMQP" | id | 1 | 0 | 0
//! frame:   size: u32 | data offset, in words: u8 | type: u8 | channel: u16 | more head | body
//! ```
//!
//! Source: OASIS AMQP 1.0, part 2, 2.2 and 2.3.

use std::fmt;

use bytes::{Buf, Bytes, BytesMut};

use crate::codec::Writer;
use crate::performative::Performative;

/// The header of a connection that begins with SASL.
pub const SASL_HEADER: [u8; 8] = *b"AMQP\x03\x01\x00\x00";
/// The header of a connection.
pub const AMQP_HEADER: [u8; 8] = *b"AMQP\x00\x01\x00\x00";
/// The length of a frame's head without more.
pub const FRAME_HEAD_LEN: usize = 8;
/// Each peer takes frames of this length.
pub const FRAME_LEN_MIN: u32 = 512;

/// A whole frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame {
    /// The layer that it belongs to.
    pub kind: FrameKind,
    /// The channel of its session.
    pub channel: u16,
    /// Its contents; empty in a sign of life.
    pub body: Bytes,
}

/// The layer that a frame belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FrameKind {
    /// The connection.
    Amqp,
    /// SASL.
    Sasl,
}

/// Bytes that are no frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FrameError {
    /// Shorter than its head, or longer than is allowed.
    Len {
        /// The length that it has.
        len: u32,
        /// The longest that is allowed.
        max: u32,
    },
    /// Its body begins outside of it.
    DataOffset(u8),
    /// A type that is not defined.
    Kind(u8),
}

impl fmt::Display for FrameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Len { len, max } => write!(
                f,
                "expected a frame of {FRAME_HEAD_LEN} to {max} bytes, got {len}"
            ),
            Self::DataOffset(offset) => write!(
                f,
                "expected the body of a frame to begin within it, at 8 bytes or more, got {} bytes",
                u32::from(*offset) * 4
            ),
            Self::Kind(kind) => write!(f, "expected a frame of type 0 or 1, got {kind}"),
        }
    }
}

impl std::error::Error for FrameError {}

/// Takes a whole frame off `input`; `None` if more must come first.
///
/// # Errors
/// If the bytes are no frame.
pub fn take_frame(input: &mut BytesMut, len_max: u32) -> Result<Option<Frame>, FrameError> {
    let Some(head) = input.first_chunk::<FRAME_HEAD_LEN>() else {
        return Ok(None);
    };
    let [s0, s1, s2, s3, offset, kind, c0, c1] = *head;
    let len = u32::from_be_bytes([s0, s1, s2, s3]);
    if len < FRAME_HEAD_LEN as u32 || len > len_max {
        return Err(FrameError::Len { len, max: len_max });
    }
    let body_at = usize::from(offset) * 4;
    if body_at < FRAME_HEAD_LEN || body_at > len as usize {
        return Err(FrameError::DataOffset(offset));
    }
    let kind = match kind {
        0 => FrameKind::Amqp,
        1 => FrameKind::Sasl,
        other => return Err(FrameError::Kind(other)),
    };
    if input.len() < len as usize {
        return Ok(None);
    }
    let mut body = input.split_to(len as usize).freeze();
    body.advance(body_at);
    Ok(Some(Frame {
        kind,
        channel: u16::from_be_bytes([c0, c1]),
        body,
    }))
}

/// A whole frame of a connection: a performative, and the payload of a transfer.
///
/// A [`Connection`](crate::connection::Connection) writes its own; this is for tests and for other ends.
pub fn encode_frame(channel: u16, performative: &Performative, payload: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let start = begin_frame(&mut bytes, FrameKind::Amqp, channel);
    let mut writer = Writer::appending_to(bytes);
    performative.encode(&mut writer);
    writer.encoded(payload);
    let mut bytes = writer.into_bytes();
    end_frame(&mut bytes, start);
    bytes
}

/// Appends the head of a frame, whose length [`end_frame`] fills in; returns where it begins.
pub(crate) fn begin_frame(output: &mut Vec<u8>, kind: FrameKind, channel: u16) -> usize {
    let start = output.len();
    let [c0, c1] = channel.to_be_bytes();
    output.extend_from_slice(&[0, 0, 0, 0, 2, kind as u8, c0, c1]);
    start
}

/// Ends the frame that begins at `start`.
pub(crate) fn end_frame(output: &mut [u8], start: usize) {
    let len = (output.len() - start) as u32;
    output[start..start + 4].copy_from_slice(&len.to_be_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_is_taken_when_it_is_whole() {
        let mut bytes = vec![9];
        let start = begin_frame(&mut bytes, FrameKind::Sasl, 258);
        bytes.extend_from_slice(b"body");
        end_frame(&mut bytes, start);
        for len in 1..bytes.len() {
            let mut input = BytesMut::from(&bytes[1..len]);
            assert_eq!(take_frame(&mut input, 512), Ok(None));
        }
        let mut input = BytesMut::from(&bytes[1..]);
        input.extend_from_slice(b"next");
        let frame = Frame {
            kind: FrameKind::Sasl,
            channel: 258,
            body: Bytes::from_static(b"body"),
        };
        assert_eq!(take_frame(&mut input, 512), Ok(Some(frame)));
        assert_eq!(&input[..], b"next");
    }

    #[test]
    fn a_frame_that_makes_no_sense_is_an_error_before_it_is_whole() {
        let error = |head: [u8; 8]| take_frame(&mut BytesMut::from(&head[..]), 512).unwrap_err();
        let len = |len| FrameError::Len { len, max: 512 };
        assert_eq!(error([0, 0, 0, 7, 2, 0, 0, 0]), len(7));
        assert_eq!(error([0, 0, 2, 1, 2, 0, 0, 0]), len(513));
        assert_eq!(error([0, 0, 0, 8, 1, 0, 0, 0]), FrameError::DataOffset(1));
        assert_eq!(error([0, 0, 0, 9, 3, 0, 0, 0]), FrameError::DataOffset(3));
        assert_eq!(error([0, 0, 0, 8, 2, 2, 0, 0]), FrameError::Kind(2));
    }
}
