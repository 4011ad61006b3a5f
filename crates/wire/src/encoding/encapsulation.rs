//! Encapsulations: a payload with its length and encoding version.

use super::{DecodeError, DecodeErrorKind, Decoder, EncodingVersion};

/// Bytes before the payload: a 32-bit length and the encoding version.
pub const ENCAPSULATION_HEADER_LEN: usize = 6;

/// An unopened encapsulation.
///
/// ```text
/// 0      4          6
/// | size | encoding | payload ...
/// ```
///
/// `size` counts all bytes, including its own, so it is never below 6.
///
/// Source: Ice manual, "Data Encoding for Encapsulations".
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Encapsulation<'a> {
    /// Encoding of the payload.
    pub encoding: EncodingVersion,
    /// The encoded values.
    pub payload: &'a [u8],
}

impl<'a> Encapsulation<'a> {
    /// Reads an encapsulation that is not part of a larger value.
    ///
    /// # Errors
    /// As [`Decoder::encapsulation`], and [`DecodeErrorKind::TrailingBytes`].
    #[inline]
    pub fn parse(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        if let Some(([a, b, c, d, major, minor], payload)) =
            bytes.split_first_chunk::<ENCAPSULATION_HEADER_LEN>()
            && usize::try_from(i32::from_le_bytes([*a, *b, *c, *d])) == Ok(bytes.len())
        {
            let (major, minor) = (*major, *minor);
            let encoding = EncodingVersion { major, minor };
            return Ok(Self { encoding, payload });
        }
        Self::parse_stepwise(bytes)
    }

    /// Finds out what is wrong with the header.
    #[cold]
    fn parse_stepwise(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let mut decoder = Decoder::new(bytes, EncodingVersion::V1_1);
        let encapsulation = Self::read(&mut decoder)?;
        decoder.finish_exact("encapsulation")?;
        Ok(encapsulation)
    }

    /// A decoder for the payload.
    ///
    /// # Errors
    /// [`DecodeErrorKind::UnsupportedEncoding`].
    #[inline]
    pub fn decoder(&self) -> Result<Decoder<'a>, DecodeError> {
        if !self.encoding.is_supported() {
            return Err(self.unsupported());
        }
        // Made only here, so that the compiler builds it in its last place and does not copy it there.
        Ok(Decoder::new(self.payload, self.encoding))
    }

    #[cold]
    fn unsupported(&self) -> DecodeError {
        let kind = DecodeErrorKind::UnsupportedEncoding(self.encoding);
        Decoder::new(self.payload, self.encoding).error("encapsulation", kind)
    }

    /// The header of an encapsulation with a payload of `payload_len` bytes.
    pub fn header(encoding: EncodingVersion, payload_len: u32) -> [u8; ENCAPSULATION_HEADER_LEN] {
        let [a, b, c, d] = (payload_len + ENCAPSULATION_HEADER_LEN as u32).to_le_bytes();
        [a, b, c, d, encoding.major, encoding.minor]
    }

    pub(super) fn read(decoder: &mut Decoder<'a>) -> Result<Self, DecodeError> {
        let start = decoder.clone();
        let size = decoder.int("encapsulation size")?;
        let encoding = decoder.get::<EncodingVersion>()?;
        let Some(payload_len) = usize::try_from(size)
            .ok()
            .and_then(|size| size.checked_sub(ENCAPSULATION_HEADER_LEN))
        else {
            let kind = DecodeErrorKind::InvalidValue(i64::from(size));
            return Err(start.error("encapsulation size", kind));
        };
        let payload = decoder.bytes(payload_len, "encapsulation")?;
        Ok(Self { encoding, payload })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unsupported_encoding_is_reported_where_it_stands() {
        let bytes = [7, 7, 6, 0, 0, 0, 2, 0];
        let mut decoder = Decoder::new(&bytes, EncodingVersion::V1_1);
        decoder.bytes(2, "before").expect("two bytes");
        let error = decoder.open_encapsulation().expect_err("encoding 2.0");
        let kind = DecodeErrorKind::UnsupportedEncoding(EncodingVersion::new(2, 0));
        assert_eq!((error.kind, error.offset), (kind, 6));
    }
}
