//! Why bytes are no message.

use std::fmt;

use crate::codec::CodecError;

/// Bytes that are no message.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum MessageError {
    /// A value that is wrong.
    Codec(CodecError),
    /// A section that messages do not have.
    UnknownSection {
        /// Its descriptor.
        code: u64,
        /// Where it begins.
        offset: usize,
    },
    /// A section that comes again, or behind one that it must precede.
    Order {
        /// Its descriptor.
        section: u64,
        /// Where it begins.
        offset: usize,
    },
    /// More sections than [`BODY_SECTIONS_MAX`](super::BODY_SECTIONS_MAX).
    TooManySections,
    /// Lists of a body with more values together than [`ELEMENTS_MAX`](crate::codec::ELEMENTS_MAX).
    TooManyElements,
    /// A section that should be a map.
    NoMap,
    /// A section that should be a list.
    NoList,
}

impl fmt::Display for MessageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Codec(error) => error.fmt(f),
            Self::UnknownSection { code, offset } => write!(
                f,
                "expected a section of a message, got descriptor {code:#x}, at byte {offset}"
            ),
            Self::Order { section, offset } => write!(
                f,
                "expected the sections of a message in their order and once each, got {section:#x}, at byte {offset}"
            ),
            Self::TooManySections => write!(
                f,
                "expected a body of at most {} sections, got more",
                super::BODY_SECTIONS_MAX
            ),
            Self::TooManyElements => write!(
                f,
                "expected a body of at most {} elements, got more",
                crate::codec::ELEMENTS_MAX
            ),
            Self::NoMap => f.write_str("expected a section that is a map, got another value"),
            Self::NoList => f.write_str("expected a section that is a list, got another value"),
        }
    }
}

impl std::error::Error for MessageError {}

impl From<CodecError> for MessageError {
    fn from(error: CodecError) -> Self {
        Self::Codec(error)
    }
}
