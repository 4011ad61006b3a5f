//! Why bytes are no AMQP value.

use std::fmt;

/// Bytes that are not what they should be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CodecError {
    /// Where, counted from the beginning of the bytes that were given to the reader.
    pub offset: usize,
    /// The value or field that was being read.
    pub reading: &'static str,
    /// The kind of error.
    pub kind: CodecErrorKind,
}

/// The kind of error in the bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum CodecErrorKind {
    /// They end before the value does.
    Truncated,
    /// A value of another type; its constructor is given.
    WrongType(u8),
    /// A constructor that AMQP does not define.
    UnknownConstructor(u8),
    /// A size or a count that does not fit its contents.
    BadSize,
    /// A string that is not UTF-8, a symbol that is not ASCII, or a character that Unicode does not have.
    BadText,
    /// Values within values, deeper than [`DEPTH_MAX`](super::DEPTH_MAX).
    TooDeep,
    /// More elements than this limit, such as [`ELEMENTS_MAX`](super::ELEMENTS_MAX).
    TooMany(usize),
    /// A field that must have a value has none.
    Missing,
    /// A value that is not one of those that are defined.
    UndefinedValue(u64),
    /// A descriptor that does not belong here.
    UnknownDescriptor,
}

impl fmt::Display for CodecError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "expected {}, got ", self.reading)?;
        match self.kind {
            CodecErrorKind::Truncated => f.write_str("the end of the bytes"),
            CodecErrorKind::WrongType(code) => {
                write!(f, "a value of another type (constructor {code:#04x})")
            }
            CodecErrorKind::UnknownConstructor(code) => {
                write!(f, "the unknown constructor {code:#04x}")
            }
            CodecErrorKind::BadSize => f.write_str("a size or count that does not fit"),
            CodecErrorKind::BadText => f.write_str("text that is none"),
            CodecErrorKind::TooDeep => {
                write!(f, "values within more than {} others", super::DEPTH_MAX)
            }
            CodecErrorKind::TooMany(max) => write!(f, "more than {max} elements"),
            CodecErrorKind::Missing => f.write_str("none"),
            CodecErrorKind::UndefinedValue(value) => write!(f, "the undefined value {value}"),
            CodecErrorKind::UnknownDescriptor => f.write_str("an unknown descriptor"),
        }?;
        write!(f, ", at byte {}", self.offset)
    }
}

impl std::error::Error for CodecError {}
