//! Errors of a peer that break the connection.

use std::fmt;

use super::{FRAGMENTED_MESSAGES_MAX, MessageType, RequestId};
use crate::cdr::DecodeError;

/// The peer broke the protocol: answer with MessageError, and close the connection.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ProtocolError {
    /// The stream does not go on with a message of GIOP.
    BadMagic([u8; 4]),
    /// A version of GIOP other than 1.0 to 1.2.
    UnsupportedVersion {
        /// The first number.
        major: u8,
        /// The second number.
        minor: u8,
    },
    /// A type of message that GIOP does not have.
    UnknownType(u8),
    /// A message, or all fragments of one, longer than the limit.
    TooLong {
        /// Its length, with the header.
        len: u64,
        /// The limit.
        max: usize,
    },
    /// A message whose bytes are invalid.
    Malformed {
        /// The message.
        message: MessageType,
        /// The error.
        error: DecodeError,
    },
    /// A message that may not come here.
    Unexpected {
        /// The message.
        message: MessageType,
        /// The messages that may.
        expected: &'static str,
    },
    /// A fragment of a message of which there is no beginning.
    UnknownFragment(Option<RequestId>),
    /// A fragment without contents that is not the last one.
    EmptyFragment,
    /// More messages in fragments at a time than the limit.
    TooManyFragmented,
    /// A request with the id of another one that is not answered.
    DuplicateRequest(RequestId),
}

impl fmt::Display for ProtocolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BadMagic(bytes) => write!(
                f,
                "expected a message that begins with GIOP, got `{}`; is the peer a CORBA program, and without TLS?",
                bytes.escape_ascii()
            ),
            Self::UnsupportedVersion { major, minor } => {
                write!(f, "expected GIOP 1.0, 1.1 or 1.2, got {major}.{minor}")
            }
            Self::UnknownType(number) => {
                write!(f, "expected a message of type 0 to 7, got {number}")
            }
            Self::TooLong { len, max } => write!(
                f,
                "expected a message of at most {max} bytes, got {len}; raise the limit or send less at a time"
            ),
            Self::Malformed { message, error } => write!(f, "invalid {message}: {error}"),
            Self::Unexpected { message, expected } => {
                write!(f, "expected {expected}, got a {message}")
            }
            Self::UnknownFragment(Some(RequestId(id))) => {
                write!(f, "got a fragment of message {id}, which has not begun")
            }
            Self::UnknownFragment(None) => f.write_str("got a fragment, and no message has begun"),
            Self::EmptyFragment => {
                f.write_str("got a fragment without contents that is not the last one")
            }
            Self::TooManyFragmented => write!(
                f,
                "expected at most {FRAGMENTED_MESSAGES_MAX} messages in fragments at a time, got more"
            ),
            Self::DuplicateRequest(RequestId(id)) => {
                write!(
                    f,
                    "got a second request {id} before the first one was answered"
                )
            }
        }
    }
}

impl std::error::Error for ProtocolError {}
