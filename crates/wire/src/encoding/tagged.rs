//! Tagged (optional) values: for now, skipping those that nobody asked for.

use super::{DecodeError, DecodeErrorKind, Decoder};

/// The byte that ends the tagged members of a slice.
const END_MARKER: u8 = 0xFF;
/// Tag field that says "the tag follows as a size".
const LONG_TAG: u8 = 30;

/// How a tagged value says its length: the low three bits of its header.
///
/// Source: Ice manual, "Data Encoding for Optional Values".
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TagFormat {
    /// One byte.
    F1,
    /// Two bytes.
    F2,
    /// Four bytes.
    F4,
    /// Eight bytes.
    F8,
    /// A size.
    Size,
    /// A size and so many bytes.
    VSize,
    /// A 32-bit length and so many bytes.
    FSize,
    /// A class instance.
    Class,
}

impl TagFormat {
    /// The format in the low bits of a header byte.
    pub const fn from_bits(bits: u8) -> Self {
        match bits & 0b111 {
            0 => Self::F1,
            1 => Self::F2,
            2 => Self::F4,
            3 => Self::F8,
            4 => Self::Size,
            5 => Self::VSize,
            6 => Self::FSize,
            _ => Self::Class,
        }
    }

    fn skip(self, decoder: &mut Decoder<'_>) -> Result<(), DecodeError> {
        const WHAT: &str = "tagged value";
        let len = match self {
            Self::F1 => 1,
            Self::F2 => 2,
            Self::F4 => 4,
            Self::F8 => 8,
            Self::Size => return decoder.size(WHAT).map(|_| ()),
            Self::VSize => decoder.size(WHAT)?,
            Self::FSize => decoder.len(WHAT)?,
            Self::Class => {
                return Err(decoder.error(WHAT, DecodeErrorKind::NotSupported("class instances")));
            }
        };
        decoder.bytes(len, WHAT).map(|_| ())
    }
}

/// Skips the tagged values at the end of an encapsulation's payload.
pub(super) fn skip_rest(decoder: &mut Decoder<'_>) -> Result<(), DecodeError> {
    while decoder.remaining() > 0 {
        if skip_one(decoder)?.is_none() {
            let kind = DecodeErrorKind::TrailingBytes(decoder.remaining() + 1);
            return Err(decoder.error("end of encapsulation", kind));
        }
    }
    Ok(())
}

/// Skips the tagged members of a slice and their end marker.
pub(super) fn skip_to_end_marker(decoder: &mut Decoder<'_>) -> Result<(), DecodeError> {
    while skip_one(decoder)?.is_some() {}
    Ok(())
}

/// Skips one tagged value; `None` if it was the end marker.
fn skip_one(decoder: &mut Decoder<'_>) -> Result<Option<()>, DecodeError> {
    let header = decoder.byte("tagged value header")?;
    if header == END_MARKER {
        return Ok(None);
    }
    if header >> 3 == LONG_TAG {
        decoder.size("tag")?;
    }
    TagFormat::from_bits(header).skip(decoder).map(Some)
}
