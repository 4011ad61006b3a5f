//! Errors of decoding.

use std::fmt;

/// Bytes that are not the encoding of what was expected.
///
/// In a submessage, the rest of its message is ignored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DecodeError {
    /// The kind of error.
    pub kind: DecodeErrorKind,
    /// The thing being decoded, such as a field of a submessage.
    pub what: &'static str,
    /// The position of the error in bytes, from the start of what the decoder was given.
    pub offset: usize,
}

/// The kind of error in the bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum DecodeErrorKind {
    /// The value needs more bytes than there are.
    EndOfData {
        /// Bytes that the value needs.
        needed: usize,
        /// Bytes that remain.
        remaining: usize,
    },
    /// A number to which the protocol gives no meaning here.
    InvalidValue(i64),
    /// A count or a length above a limit.
    TooLong {
        /// The limit, with the unit of `got`.
        limit: usize,
        /// The count or the length.
        got: usize,
    },
    /// A string that is not UTF-8, or without the zero at its end.
    InvalidString,
    /// Bytes that do not begin with `RTPS`.
    NotRtps,
    /// Another major version of the protocol than 2.
    UnsupportedVersion(u8, u8),
    /// Something that this release does not support.
    NotSupported(&'static str),
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, what, offset } = self;
        write!(f, "cannot decode {what} at byte {offset}: {kind}")
    }
}

impl fmt::Display for DecodeErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::EndOfData { needed, remaining } => {
                write!(f, "it needs {needed} bytes, and {remaining} remain")
            }
            Self::InvalidValue(value) => write!(f, "{value} is not allowed here"),
            Self::TooLong { limit, got } => write!(f, "expected at most {limit}, got {got}"),
            Self::InvalidString => f.write_str("expected UTF-8 that ends with a zero"),
            Self::NotRtps => f.write_str("expected `RTPS`"),
            Self::UnsupportedVersion(major, minor) => {
                write!(f, "expected RTPS version 2, got {major}.{minor}")
            }
            Self::NotSupported(feature) => write!(f, "{feature} is not supported"),
        }
    }
}

impl std::error::Error for DecodeError {}
