//! Numbers, octets and strings as RTPS and plain CDR encode them, in either byte order.

mod decoder;
mod encoder;
mod error;

pub use decoder::Decoder;
pub use encoder::Encoder;
pub use error::{DecodeError, DecodeErrorKind};

/// The order of the bytes of a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ByteOrder {
    /// The most significant byte comes first.
    Big,
    /// The least significant byte comes first.
    Little,
}
