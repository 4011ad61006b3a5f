//! The header that every protocol message starts with.

use std::fmt;

use super::ProtocolError;
use crate::encoding::{
    ENCAPSULATION_HEADER_LEN, EncodeError, EncodingVersion, ProtocolVersion, Sink,
};

/// Length of the header in bytes.
pub const HEADER_LEN: usize = 14;

/// Default limit for the size of a message in bytes, header included: 1 MiB, as in Ice.
pub const MESSAGE_SIZE_MAX_DEFAULT: usize = 1024 * 1024;

/// The whole ValidateConnection message. A server sends it first, and either side sends it as a heartbeat.
pub const VALIDATE_CONNECTION: [u8; HEADER_LEN] = header(MessageType::ValidateConnection, 14);

/// The whole CloseConnection message, which ends a connection gracefully.
pub const CLOSE_CONNECTION: [u8; HEADER_LEN] = header(MessageType::CloseConnection, 14);

/// The position of the message type in a header.
pub(super) const TYPE_POSITION: usize = 8;
/// The position of the size in a header.
pub(super) const SIZE_POSITION: usize = 10;

const MAGIC: [u8; 4] = *b"IceP";

/// Header of a protocol message: 14 bytes, integers little-endian.
///
/// ```text
/// 0       4          6          8      9             10     14
/// | magic | protocol | encoding | type | compression | size |
/// ```
///
/// `size` counts bytes and includes the header, so it is never below [`HEADER_LEN`].
///
/// Source: Ice manual, "Protocol Messages". Vectors: `tests/vectors/messages.json`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// The message type.
    pub message_type: MessageType,
    /// 0: not compressed; 1: not compressed, but the reply may be; 2: compressed. [`Compression`](super::Compression) has
    /// the values between Floe peers. With any other value, the message is not compressed, and the reply must not be.
    ///
    /// Source: observed, Ice 3.7.8: only 2 means compressed. It compresses the reply to any other value but 0, too.
    pub compression: u8,
    /// Length of the whole message in bytes.
    pub size: usize,
}

impl Header {
    /// Decodes and checks a header. `size_max` is the limit for the size of a message in bytes.
    ///
    /// # Errors
    /// [`ProtocolError`], fatal for the connection.
    pub fn decode(bytes: &[u8; HEADER_LEN], size_max: usize) -> Result<Self, ProtocolError> {
        let [
            m0,
            m1,
            m2,
            m3,
            p0,
            p1,
            e0,
            e1,
            kind,
            compression,
            s0,
            s1,
            s2,
            s3,
        ] = *bytes;
        if [m0, m1, m2, m3] != MAGIC {
            return Err(ProtocolError::BadMagic([m0, m1, m2, m3]));
        }
        if [p0, p1] != [1, 0] {
            return Err(ProtocolError::UnsupportedProtocol(ProtocolVersion::new(
                p0, p1,
            )));
        }
        if [e0, e1] != [1, 0] {
            let version = EncodingVersion::new(e0, e1);
            return Err(ProtocolError::UnsupportedProtocolEncoding(version));
        }
        let message_type = MessageType::from_byte(kind)?;
        let size = i32::from_le_bytes([s0, s1, s2, s3]);
        let size = usize::try_from(size)
            .ok()
            .filter(|size| *size >= HEADER_LEN)
            .ok_or(ProtocolError::SizeTooSmall(size))?;
        if size > size_max {
            return Err(ProtocolError::SizeTooLarge {
                size,
                limit: size_max,
            });
        }
        Ok(Self {
            message_type,
            compression,
            size,
        })
    }
}

/// The five messages of the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MessageType {
    /// An invocation.
    Request,
    /// Several oneway invocations.
    BatchRequest,
    /// The reply to a twoway invocation.
    Reply,
    /// The first message of a server, and a heartbeat.
    ValidateConnection,
    /// The last message of a side that closes gracefully.
    CloseConnection,
}

impl MessageType {
    const fn from_byte(byte: u8) -> Result<Self, ProtocolError> {
        match byte {
            0 => Ok(Self::Request),
            1 => Ok(Self::BatchRequest),
            2 => Ok(Self::Reply),
            3 => Ok(Self::ValidateConnection),
            4 => Ok(Self::CloseConnection),
            other => Err(ProtocolError::UnknownMessageType(other)),
        }
    }
}

impl fmt::Display for MessageType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Request => "Request",
            Self::BatchRequest => "BatchRequest",
            Self::Reply => "Reply",
            Self::ValidateConnection => "ValidateConnection",
            Self::CloseConnection => "CloseConnection",
        })
    }
}

/// Begins a message: appends its header, whose size [`end_message`] fills in. Returns its position.
pub(super) fn begin_message(buffer: &mut impl Sink, message_type: MessageType) -> usize {
    let (buffer, _) = buffer.split();
    let start = buffer.len();
    buffer.extend_from_slice(&header(message_type, 0));
    start
}

/// Fills in the size of the message that began at `start`, or removes the message if it is too long.
pub(super) fn end_message(buffer: &mut impl Sink, start: usize) -> Result<(), EncodeError> {
    let (bytes, pieces) = buffer.split();
    let pieces_len = pieces.map_or(0, |pieces| pieces.len_behind(start));
    let len = bytes.len() - start + pieces_len;
    let Ok(size) = i32::try_from(len) else {
        take_off(buffer, start);
        return Err(EncodeError::TooLong {
            what: "message",
            len,
        });
    };
    bytes[start + SIZE_POSITION..start + HEADER_LEN].copy_from_slice(&size.to_le_bytes());
    Ok(())
}

/// Fills in the sizes of the message that began at `start`. Its first `head_len` bytes are those of the same message
/// with an empty encapsulation at the end, so there is nothing to do if nothing follows them.
#[inline(always)]
pub(super) fn end_encapsulated(
    buffer: &mut impl Sink,
    start: usize,
    head_len: usize,
) -> Result<(), EncodeError> {
    let (bytes, pieces) = buffer.split();
    let pieces_len = pieces.map_or(0, |pieces| pieces.len_behind(start));
    let len = bytes.len() - start + pieces_len;
    if len == head_len {
        return Ok(());
    }
    let what = "message";
    let size = i32::try_from(len).map_err(|_| EncodeError::TooLong { what, len })?;
    bytes[start + SIZE_POSITION..start + HEADER_LEN].copy_from_slice(&size.to_le_bytes());
    let encapsulation = head_len - ENCAPSULATION_HEADER_LEN;
    end_encapsulation(bytes, start + encapsulation, len - encapsulation)
}

/// Fills in the size of the encapsulation that began at `start`.
#[inline(always)]
pub(super) fn end_encapsulation(
    bytes: &mut [u8],
    start: usize,
    len: usize,
) -> Result<(), EncodeError> {
    let what = "encapsulation";
    let size = i32::try_from(len).map_err(|_| EncodeError::TooLong { what, len })?;
    bytes[start..start + 4].copy_from_slice(&size.to_le_bytes());
    Ok(())
}

/// Removes the message that began at `start`.
pub(super) fn take_off(buffer: &mut impl Sink, start: usize) {
    let (bytes, pieces) = buffer.split();
    bytes.truncate(start);
    if let Some(pieces) = pieces {
        pieces.truncate(start);
    }
}

pub(super) const fn header(message_type: MessageType, size: i32) -> [u8; HEADER_LEN] {
    let [s0, s1, s2, s3] = size.to_le_bytes();
    let [m0, m1, m2, m3] = MAGIC;
    [
        m0,
        m1,
        m2,
        m3,
        1,
        0,
        1,
        0,
        message_type as u8,
        0,
        s0,
        s1,
        s2,
        s3,
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_compression_byte_is_accepted() {
        for byte in 0..=u8::MAX {
            let mut bytes = VALIDATE_CONNECTION;
            bytes[9] = byte;
            assert_eq!(Header::decode(&bytes, 100).unwrap().compression, byte);
        }
    }
}
