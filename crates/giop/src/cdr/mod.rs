//! CDR, the encoding of CORBA: aligned values in either byte order, to bytes and back.
//!
//! [`Decoder`] reads from a slice and [`Encoder`] appends to a buffer. Both align by the distance from an origin: the
//! first byte of the message, or of the innermost encapsulation. A [`Format`] says all that must be known to read bytes
//! that were cut out of a message. Types that only exist at run time are in `type_code/` and `any/`.
//!
//! Source: CORBA 3.0.3, 15.3 "CDR Transfer Syntax".

mod code_set;
mod decoder;
mod encoder;
mod error;
mod format;
mod wide;

pub use code_set::{CodeSet, CodeSetComponent, CodeSetInfo, CodeSets};
pub use decoder::Decoder;
pub use encoder::Encoder;
pub use error::{DecodeError, DecodeErrorKind, EncodeError};
pub use format::{Endian, Format, Version};

/// The longest text that an error quotes of a peer, in characters.
pub(crate) const QUOTED_LEN_MAX: usize = 80;

/// A peer's text for an error: cut, and with control characters escaped.
pub(crate) fn quoted(text: &str) -> String {
    let mut quoted: String = text
        .chars()
        .take(QUOTED_LEN_MAX)
        .flat_map(char::escape_debug)
        .collect();
    if text.chars().nth(QUOTED_LEN_MAX).is_some() {
        quoted.push_str("...");
    }
    quoted
}
