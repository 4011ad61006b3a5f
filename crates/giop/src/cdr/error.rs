//! Errors of decoding and encoding.

use std::fmt;

use super::CodeSet;

/// Bytes that are not the encoding of what was expected.
///
/// In the arguments of a request, answer with the system exception `MARSHAL`; the connection stays open. In other parts
/// of a message it closes the connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DecodeError {
    /// The kind of error.
    pub kind: DecodeErrorKind,
    /// The thing being decoded: a type of IDL or a field of the protocol.
    pub what: &'static str,
    /// The position of the error in bytes, from the start of the outermost bytes: the message, or the value.
    pub offset: usize,
}

/// The kind of error in the bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum DecodeErrorKind {
    /// The value needs more bytes than there are.
    EndOfData {
        /// Bytes that the value needs, as far as they are known.
        needed: u64,
        /// Bytes that remain.
        remaining: usize,
    },
    /// A string without the NUL that ends it, or with a length of 0, which leaves no room for one.
    NoNul,
    /// A NUL within a string.
    InnerNul,
    /// Bytes that are no text in the code set of the connection.
    InvalidText(CodeSet),
    /// A wide character or string where no code set for them is known: in GIOP 1.0, or none was negotiated.
    NoWideCodeSet,
    /// A number to which the protocol gives no meaning.
    InvalidValue(i64),
    /// More elements, bytes or digits than the type or a limit allows.
    TooLong {
        /// The length that came.
        len: u64,
        /// The most that is allowed.
        max: u64,
    },
    /// Types or values that are nested more deeply than this limit.
    TooDeep(usize),
    /// More values without any bytes, such as empty structs, than this limit.
    TooManyEmpty(usize),
    /// An indirection to a place where nothing of its kind begins: this offset, relative to itself.
    BadIndirection(i32),
    /// A TypeCode that IDL does not allow.
    InvalidType(&'static str),
    /// A value that may be legal and that this crate does not read.
    NotSupported(&'static str),
    /// Bytes after the last value.
    TrailingBytes(usize),
    /// A value that has no encoding in the format into which it is copied.
    NotCopied(EncodeError),
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at byte {}: {}", self.what, self.offset, self.kind)
    }
}

impl fmt::Display for DecodeErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::EndOfData { needed, remaining } => {
                write!(f, "expected {needed} more bytes, got {remaining}")
            }
            Self::NoNul => f.write_str("expected a string that ends with NUL, got one without it"),
            Self::InnerNul => f.write_str("expected NUL only at the end of a string, got one within"),
            Self::InvalidText(code_set) => {
                write!(f, "expected text in {code_set}, got other bytes")
            }
            Self::NoWideCodeSet => f.write_str(
                "got wide characters, for which no code set was negotiated; use a reference with a code set component \
                 and GIOP 1.1 or later",
            ),
            Self::InvalidValue(value) => write!(f, "unexpected value {value}"),
            Self::TooLong { len, max } => write!(f, "expected a length of at most {max}, got {len}"),
            Self::TooDeep(max) => write!(f, "nested more than {max} deep, which is the limit"),
            Self::TooManyEmpty(max) => {
                write!(f, "more than {max} values without any bytes, which is the limit")
            }
            Self::BadIndirection(offset) => write!(
                f,
                "expected an indirection to an earlier TypeCode of the same value, got offset {offset}"
            ),
            Self::InvalidType(problem) => write!(f, "invalid TypeCode: {problem}"),
            Self::NotSupported(feature) => write!(f, "{feature} are not supported"),
            Self::TrailingBytes(1) => f.write_str("1 byte is left after the last value"),
            Self::TrailingBytes(count) => write!(f, "{count} bytes are left after the last value"),
            Self::NotCopied(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for DecodeError {}

/// A value that cannot be encoded.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum EncodeError {
    /// A string, sequence or encapsulation longer than the 4,294,967,295 that a length can say.
    TooLong {
        /// The thing that is too long.
        what: &'static str,
        /// Its length.
        len: usize,
    },
    /// A character that the code set of the connection does not have.
    NotInCodeSet {
        /// The character.
        character: char,
        /// The code set.
        code_set: CodeSet,
    },
    /// A NUL within a string.
    InnerNul,
    /// A wide character or string where no code set for them is known: in GIOP 1.0, or none was negotiated.
    NoWideCodeSet,
    /// A value that does not match its TypeCode: what was expected.
    NotOfType(&'static str),
    /// A value nested more deeply than this limit.
    TooDeep(usize),
    /// Something that this version of GIOP cannot say.
    NotInVersion(&'static str),
}

impl fmt::Display for EncodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLong { what, len } => {
                write!(f, "cannot encode a {what} of length {len}: the most is {}", u32::MAX)
            }
            Self::NotInCodeSet { character, code_set } => write!(
                f,
                "cannot encode the character {character:?}: the connection uses {code_set}, which does not have it"
            ),
            Self::InnerNul => f.write_str("cannot encode a string with a NUL within"),
            Self::NoWideCodeSet => f.write_str(
                "cannot encode wide characters: no code set for them was negotiated, or the peer speaks GIOP 1.0",
            ),
            Self::NotOfType(expected) => {
                write!(f, "cannot encode the value: its TypeCode expects {expected}")
            }
            Self::TooDeep(max) => write!(f, "cannot encode a value nested more than {max} deep"),
            Self::NotInVersion(what) => write!(f, "cannot encode {what} in this version of GIOP"),
        }
    }
}

impl std::error::Error for EncodeError {}
