//! Violations of the protocol.

use std::fmt;

use super::{CompressionError, MessageType};
use crate::encoding::{DecodeError, EncodingVersion, ProtocolVersion};

/// A violation of the protocol. The connection is closed immediately.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ProtocolError {
    /// The first four bytes of a message are not `IceP`: the peer does not speak this protocol.
    BadMagic([u8; 4]),
    /// A version of the protocol that Floe does not support.
    UnsupportedProtocol(ProtocolVersion),
    /// An unknown version of the encoding of message headers.
    UnsupportedProtocolEncoding(EncodingVersion),
    /// A message size smaller than the header, or negative.
    SizeTooSmall(i32),
    /// A message above the limit.
    SizeTooLarge {
        /// Its size in bytes, header included.
        size: usize,
        /// The limit in bytes.
        limit: usize,
    },
    /// A message type outside 0 to 4.
    UnknownMessageType(u8),
    /// A compressed message that cannot be decompressed.
    Compression {
        /// The message type.
        message: MessageType,
        /// The error in it.
        error: CompressionError,
    },
    /// A message that is not allowed now.
    Unexpected {
        /// The message type.
        message: MessageType,
        /// The messages that are allowed now.
        expected: &'static str,
    },
    /// A message with invalid fields.
    Malformed {
        /// The message type.
        message: MessageType,
        /// The error in it.
        error: DecodeError,
    },
}

impl ProtocolError {
    /// Returns true if the message exceeds the limit, as received or after decompression.
    pub fn is_too_large(&self) -> bool {
        let inflated =
            |error: &CompressionError| matches!(error, CompressionError::SizeTooLarge { .. });
        match self {
            Self::SizeTooLarge { .. } => true,
            Self::Compression { error, .. } => inflated(error),
            _ => false,
        }
    }
}

impl fmt::Display for ProtocolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BadMagic(magic) => write!(
                f,
                "expected a message that starts with 49 63 65 50 (\"IceP\"), got {:02x} {:02x} {:02x} {:02x}: \
                 the peer does not speak the Ice protocol{}",
                magic[0],
                magic[1],
                magic[2],
                magic[3],
                guess(magic)
            ),
            Self::UnsupportedProtocol(version) => {
                write!(f, "expected protocol 1.0, got {version}")
            }
            Self::UnsupportedProtocolEncoding(version) => {
                write!(f, "expected protocol encoding 1.0, got {version}")
            }
            Self::SizeTooSmall(size) => {
                write!(
                    f,
                    "expected a message of at least 14 bytes, its header says {size}"
                )
            }
            Self::SizeTooLarge { size, limit } => write!(
                f,
                "expected a message of at most {limit} bytes, its header says {size}: \
                 if the message is legitimate, raise the limit on this side \
                 (connections.message-bytes in the floe.toml of `floe serve`, Settings::message_size_max, or \
                 Ice.MessageSizeMax)"
            ),
            Self::UnknownMessageType(kind) => {
                write!(f, "expected a message type from 0 to 4, got {kind}")
            }
            Self::Compression { message, error } => {
                write!(f, "cannot decompress a {message} message: {error}")
            }
            Self::Unexpected { message, expected } => {
                write!(f, "expected {expected}, got a {message} message")
            }
            Self::Malformed { message, error } => write!(f, "malformed {message} message: {error}"),
        }
    }
}

impl std::error::Error for ProtocolError {}

/// A guess at what the peer sent instead.
fn guess(magic: &[u8; 4]) -> &'static str {
    match magic {
        [0x16, 3, ..] | [0x15, 3, ..] => {
            ", but TLS: one side says `ssl` or `wss`, the other does not"
        }
        b"GET " | b"HTTP" => {
            ", but HTTP: is this the port of a web server, or does only one side say `ws`?"
        }
        _ => "",
    }
}
