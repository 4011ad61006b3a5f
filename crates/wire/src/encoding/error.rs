//! Errors of decoding and encoding.

use std::fmt;

use super::{EncodingVersion, GRAPH_STACK_MAX, Printable, TYPE_ID_LEN_MAX, TagFormat};

/// Bytes that are not the encoding of what was expected.
///
/// In the parameters of a request, this becomes reply status 5 and the connection stays open. In other fields of a
/// message it closes the connection, but for those of a [`RefusedRequest`](crate::message::RefusedRequest).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DecodeError {
    /// The kind of error.
    pub kind: DecodeErrorKind,
    /// The thing being decoded: a Slice type or a field of the protocol.
    pub what: &'static str,
    /// The position of the error in bytes, from the start of the message or of the encapsulation payload.
    pub offset: usize,
}

/// The kind of error in the bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum DecodeErrorKind {
    /// The value needs more bytes than there are.
    EndOfData {
        /// Bytes that the value needs, as far as they are known.
        needed: usize,
        /// Bytes that remain.
        remaining: usize,
    },
    /// A negative size or count.
    NegativeSize(i32),
    /// A string that is not UTF-8.
    InvalidUtf8,
    /// A number that is not an enumerator.
    UnknownEnumerator(i32),
    /// A nil proxy where the contract excludes it.
    NilProxy,
    /// A number to which the protocol gives no meaning.
    InvalidValue(i64),
    /// Bytes after the last value.
    TrailingBytes(usize),
    /// An encapsulation in an unknown encoding.
    UnsupportedEncoding(EncodingVersion),
    /// A tagged value in another format than its type has.
    WrongTagFormat {
        /// The tag.
        tag: u32,
        /// The format of the expected type.
        expected: TagFormat,
        /// The format that the value has.
        got: TagFormat,
    },
    /// A reference to a class instance that never follows.
    UnknownInstance(i32),
    /// A class instance that is not of the expected class or of a class derived from it.
    UnexpectedClass(String),
    /// A class instance without a slice of a known class, or with unknown slices that cannot be skipped.
    UnknownClass(String),
    /// A slice of another base class than the class has.
    OtherBases(String),
    /// A graph of class instances that is nested more deeply than this limit.
    GraphTooDeep(usize),
    /// A graph of class instances that is nested so deeply that it reaches the limit of the stack:
    /// [`GRAPH_STACK_MAX`](super::GRAPH_STACK_MAX).
    GraphStack(usize),
    /// A type id of this many bytes: [`TYPE_ID_LEN_MAX`](super::TYPE_ID_LEN_MAX).
    TypeIdTooLong(usize),
    /// A slice with an indirection table that no member refers to.
    UnusedIndirectionTable,
    /// The encoding uses a feature that this release does not support.
    NotSupported(&'static str),
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "cannot decode {} at byte {}: {}",
            self.what, self.offset, self.kind
        )
    }
}

impl fmt::Display for DecodeErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::EndOfData { needed, remaining } => {
                write!(f, "expected {needed} more bytes, {remaining} are left")
            }
            Self::NegativeSize(size) => write!(f, "expected a size of at least 0, got {size}"),
            Self::InvalidUtf8 => f.write_str("expected UTF-8 text"),
            Self::NilProxy => {
                f.write_str("got a nil proxy, which the contract excludes here with `rust:nonnull`")
            }
            Self::UnknownEnumerator(value) => write!(f, "no enumerator has the value {value}"),
            Self::InvalidValue(value) => write!(f, "unexpected value {value}"),
            Self::TrailingBytes(1) => f.write_str("1 byte is left after the last value"),
            Self::TrailingBytes(count) => write!(f, "{count} bytes are left after the last value"),
            Self::UnsupportedEncoding(version) => {
                write!(f, "encoding {version} is not supported, 1.0 and 1.1 are")
            }
            Self::WrongTagFormat { tag, expected, got } => {
                write!(
                    f,
                    "expected tag {tag} with format {expected:?}, got {got:?}"
                )
            }
            Self::UnknownInstance(id) => write!(f, "no instance has the id {id}"),
            Self::UnexpectedClass(type_id) => {
                let type_id = Printable(type_id);
                write!(f, "got an instance of {type_id}, which is no such class")
            }
            Self::UnknownClass(type_id) => write!(
                f,
                "class {} is not known here, and the sender's format gives no base to fall \
                 back on; let it send in the sliced format, or add its Slice definition",
                Printable(type_id)
            ),
            Self::OtherBases(type_id) => write!(
                f,
                "class {} has other bases than in the Slice definition known here",
                Printable(type_id)
            ),
            Self::GraphTooDeep(max) => write!(
                f,
                "more than {max} class instances are below one another, which is the limit"
            ),
            Self::GraphStack(depth) => write!(
                f,
                "{depth} class instances inside one another take all of the {GRAPH_STACK_MAX} bytes \
                 of stack that they may; send fewer, or build with optimization"
            ),
            Self::TypeIdTooLong(len) => {
                write!(f, "expected at most {TYPE_ID_LEN_MAX} bytes, got {len}")
            }
            Self::UnusedIndirectionTable => {
                f.write_str("no member refers to the slice's indirection table")
            }
            Self::NotSupported(feature) => write!(f, "{feature} are not yet supported"),
        }
    }
}

impl std::error::Error for DecodeError {}

/// A value that cannot be encoded.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum EncodeError {
    /// A string, sequence or message longer than the 2,147,483,647 that a size can say.
    TooLong {
        /// The thing that is too long.
        what: &'static str,
        /// Its length.
        len: usize,
    },
    /// A proxy that is fixed to a connection: it has no meaning for a peer.
    FixedProxy,
    /// An enumerator that is out of range for the enumeration.
    InvalidEnumerator(i32),
    /// A link to a class instance that is not complete yet, or a draft without an instance.
    IncompleteInstance,
    /// A graph leads to an instance of this class that is no part of it, and that leads back into it.
    OutsideGraph(String),
    /// A graph leads to an instance of this class, and that to an instance of another graph, which is
    /// not finished.
    OtherGraph(String),
    /// A class instance with only unknown slices, in a format that cannot carry them.
    UnknownClass(String),
    /// A graph of class instances that is nested more deeply than this limit.
    GraphTooDeep(usize),
    /// A value typed at run time that does not match its type: the expected type, and the value.
    NotOfType(String),
}

impl fmt::Display for EncodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLong { what, len } => {
                write!(
                    f,
                    "cannot encode a {what} of length {len}: the most is {}",
                    i32::MAX
                )
            }
            Self::FixedProxy => {
                f.write_str("cannot encode a fixed proxy: it is only valid on its connection")
            }
            Self::InvalidEnumerator(value) => {
                write!(f, "cannot encode {value}: it is no enumerator")
            }
            Self::IncompleteInstance => f.write_str(
                "a class instance is not complete: fill every draft of its graph, and finish the graph",
            ),
            Self::OutsideGraph(type_id) => write!(
                f,
                "an instance of {type_id} leads back into a graph that leads to it, and is no part of \
                 that graph: add it to the graph, too"
            ),
            Self::OtherGraph(type_id) => write!(
                f,
                "an instance of {type_id} leads to an instance of another graph, which is not \
                 finished: finish that one first, or build both in one graph"
            ),
            Self::UnknownClass(type_id) => write!(
                f,
                "cannot encode an instance of {}: the class is not known here, and only the \
                 sliced format of encoding 1.1 carries such",
                Printable(type_id)
            ),
            Self::GraphTooDeep(max) => write!(
                f,
                "cannot encode more than {max} class instances inside one another"
            ),
            Self::NotOfType(problem) => write!(f, "cannot encode {problem}"),
        }
    }
}

impl std::error::Error for EncodeError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn type_ids_of_a_peer_bring_no_control_characters_into_a_text() {
        let hostile = || "::A\u{1b}[2J\n::B".to_owned();
        let decoding = [
            DecodeErrorKind::UnexpectedClass(hostile()),
            DecodeErrorKind::UnknownClass(hostile()),
            DecodeErrorKind::OtherBases(hostile()),
        ];
        let encoding = EncodeError::UnknownClass(hostile());
        let texts = decoding.iter().map(ToString::to_string);
        for text in texts.chain([encoding.to_string()]) {
            assert!(text.contains("::A\\u{1b}[2J\\n::B"), "{text:?}");
        }
    }
}
