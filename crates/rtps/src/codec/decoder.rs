//! Takes values off bytes.

use super::{ByteOrder, DecodeError, DecodeErrorKind};

/// Reads values from bytes, in one byte order.
#[derive(Debug, Clone)]
pub struct Decoder<'a> {
    bytes: &'a [u8],
    at: usize,
    order: ByteOrder,
}

impl<'a> Decoder<'a> {
    /// A decoder at the start of `bytes`, to which alignment counts.
    pub fn new(bytes: &'a [u8], order: ByteOrder) -> Self {
        Self {
            bytes,
            at: 0,
            order,
        }
    }

    /// The byte order.
    pub fn order(&self) -> ByteOrder {
        self.order
    }

    /// The position in bytes.
    pub fn offset(&self) -> usize {
        self.at
    }

    /// How many bytes remain.
    pub fn remaining(&self) -> usize {
        self.bytes.len() - self.at
    }

    /// The bytes that remain.
    pub fn rest(&self) -> &'a [u8] {
        &self.bytes[self.at..]
    }

    /// An error at this place.
    pub fn error(&self, what: &'static str, kind: DecodeErrorKind) -> DecodeError {
        DecodeError {
            kind,
            what,
            offset: self.at,
        }
    }

    /// An error at this place: `value` has no meaning.
    pub fn invalid(&self, what: &'static str, value: impl Into<i64>) -> DecodeError {
        self.error(what, DecodeErrorKind::InvalidValue(value.into()))
    }

    /// Takes `len` bytes.
    ///
    /// # Errors
    /// If fewer remain.
    pub fn take(&mut self, what: &'static str, len: usize) -> Result<&'a [u8], DecodeError> {
        let remaining = self.remaining();
        if len > remaining {
            let needed = len;
            return Err(self.error(what, DecodeErrorKind::EndOfData { needed, remaining }));
        }
        let taken = &self.bytes[self.at..self.at + len];
        self.at += len;
        Ok(taken)
    }

    /// Takes an array of bytes.
    ///
    /// # Errors
    /// If fewer remain.
    pub fn array<const N: usize>(&mut self, what: &'static str) -> Result<[u8; N], DecodeError> {
        let taken = self.take(what, N)?;
        let mut array = [0; N];
        array.copy_from_slice(taken);
        Ok(array)
    }

    /// Skips to the next multiple of `alignment`, a power of two; to the end if that is nearer.
    pub fn align(&mut self, alignment: usize) {
        self.at = self.at.next_multiple_of(alignment).min(self.bytes.len());
    }

    /// Takes an octet.
    ///
    /// # Errors
    /// If none remains.
    pub fn u8(&mut self, what: &'static str) -> Result<u8, DecodeError> {
        self.array(what).map(|[byte]| byte)
    }

    /// Takes 16 bits, which need not be aligned.
    ///
    /// # Errors
    /// If fewer remain.
    pub fn u16(&mut self, what: &'static str) -> Result<u16, DecodeError> {
        let bytes = self.array(what)?;
        Ok(match self.order {
            ByteOrder::Big => u16::from_be_bytes(bytes),
            ByteOrder::Little => u16::from_le_bytes(bytes),
        })
    }

    /// Takes 32 bits, which need not be aligned.
    ///
    /// # Errors
    /// If fewer remain.
    pub fn u32(&mut self, what: &'static str) -> Result<u32, DecodeError> {
        let bytes = self.array(what)?;
        Ok(match self.order {
            ByteOrder::Big => u32::from_be_bytes(bytes),
            ByteOrder::Little => u32::from_le_bytes(bytes),
        })
    }

    /// Takes 32 bits with a sign, which need not be aligned.
    ///
    /// # Errors
    /// If fewer remain.
    pub fn i32(&mut self, what: &'static str) -> Result<i32, DecodeError> {
        self.u32(what).map(u32::cast_signed)
    }

    /// Takes a CDR string of at most `limit` bytes: its length with the zero at its end, aligned to 4, and its bytes.
    ///
    /// # Errors
    /// If it is longer, not UTF-8, or not whole.
    pub fn string(&mut self, what: &'static str, limit: usize) -> Result<&'a str, DecodeError> {
        self.align(4);
        let got = self.u32(what)? as usize;
        if got > limit + 1 {
            return Err(self.error(what, DecodeErrorKind::TooLong { limit, got }));
        }
        let start = self.at;
        let bytes = self.take(what, got)?;
        let text = match bytes.split_last() {
            Some((0, text)) => text,
            // Some peers write an empty string without its zero.
            None => &[],
            Some(_) => return Err(string_error(what, start)),
        };
        std::str::from_utf8(text).map_err(|_| string_error(what, start))
    }
}

fn string_error(what: &'static str, offset: usize) -> DecodeError {
    DecodeError {
        kind: DecodeErrorKind::InvalidString,
        what,
        offset,
    }
}
