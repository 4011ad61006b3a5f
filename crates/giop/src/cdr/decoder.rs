//! Reads values from a slice.

use super::wide;
use super::{CodeSet, DecodeError, DecodeErrorKind, Endian, Format};

/// Reads CDR from a slice, never beyond its end. A clone looks ahead.
#[derive(Debug, Clone)]
pub struct Decoder<'a> {
    bytes: &'a [u8],
    position: usize,
    /// The offset of the first byte, for alignment: from the start of the message, or of the encapsulation.
    origin: usize,
    /// The offset of the first byte in the outermost bytes, for errors and indirections.
    start: usize,
    format: Format,
}

impl<'a> Decoder<'a> {
    /// A decoder over bytes whose first one is aligned.
    pub fn new(bytes: &'a [u8], format: Format) -> Self {
        Self::at(bytes, 0, format)
    }

    /// A decoder over bytes whose first one has this offset in their message.
    pub fn at(bytes: &'a [u8], origin: usize, format: Format) -> Self {
        Self {
            bytes,
            position: 0,
            origin,
            start: origin,
            format,
        }
    }

    /// A decoder over the contents of an encapsulation that stands alone, such as a component of a reference.
    ///
    /// # Errors
    /// [`DecodeErrorKind::EndOfData`] or [`DecodeErrorKind::InvalidValue`] if it does not begin with its byte order.
    pub fn encapsulation_of(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let mut decoder = Self::new(bytes, Format::utf8(Endian::Big));
        let is_little = decoder.boolean("byte order of an encapsulation")?;
        decoder.format.endian = Endian::from_flag(is_little);
        Ok(decoder)
    }

    /// How the bytes are read.
    pub fn format(&self) -> Format {
        self.format
    }

    /// Bytes that are not read yet.
    pub fn remaining(&self) -> usize {
        self.bytes.len() - self.position
    }

    /// The offset of the next byte from the origin, by which values are aligned.
    pub fn offset(&self) -> usize {
        self.origin + self.position
    }

    /// The offset of the next byte in the outermost bytes.
    pub(crate) fn outer_offset(&self) -> usize {
        self.start + self.position
    }

    /// The number of bytes that were read.
    pub fn position(&self) -> usize {
        self.position
    }

    /// The bytes from `from`, a [`Decoder::position`], up to the next one.
    pub(crate) fn bytes_since(&self, from: usize) -> &'a [u8] {
        &self.bytes[from..self.position]
    }

    /// An error here.
    pub fn error(&self, what: &'static str, kind: DecodeErrorKind) -> DecodeError {
        DecodeError {
            kind,
            what,
            offset: self.outer_offset(),
        }
    }

    /// Skips the gap in front of a value that is aligned to `alignment` bytes: 1, 2, 4 or 8.
    ///
    /// # Errors
    /// [`DecodeErrorKind::EndOfData`].
    pub fn align(&mut self, alignment: usize, what: &'static str) -> Result<(), DecodeError> {
        let gap = self.offset().next_multiple_of(alignment) - self.offset();
        self.octets(gap, what).map(drop)
    }

    /// Reads `len` raw bytes.
    ///
    /// # Errors
    /// [`DecodeErrorKind::EndOfData`].
    pub fn octets(&mut self, len: usize, what: &'static str) -> Result<&'a [u8], DecodeError> {
        let end = self.position.saturating_add(len);
        let Some(taken) = self.bytes.get(self.position..end) else {
            return Err(self.end_of_data(what, len as u64));
        };
        self.position = end;
        Ok(taken)
    }

    /// Reads all bytes that remain.
    pub fn rest(&mut self) -> &'a [u8] {
        let rest = &self.bytes[self.position..];
        self.position = self.bytes.len();
        rest
    }

    fn end_of_data(&self, what: &'static str, needed: u64) -> DecodeError {
        let remaining = self.remaining();
        self.error(what, DecodeErrorKind::EndOfData { needed, remaining })
    }

    /// Reads the bytes of a number, most significant first.
    fn number<const N: usize>(&mut self, what: &'static str) -> Result<[u8; N], DecodeError> {
        self.align(N.min(8), what)?;
        let taken = self.octets(N, what)?;
        let mut bytes = [0; N];
        bytes.copy_from_slice(taken);
        if self.format.endian == Endian::Little {
            bytes.reverse();
        }
        Ok(bytes)
    }

    /// Reads an `octet`.
    ///
    /// # Errors
    /// [`DecodeErrorKind::EndOfData`].
    pub fn octet(&mut self, what: &'static str) -> Result<u8, DecodeError> {
        self.number::<1>(what).map(|[byte]| byte)
    }

    /// Reads a `boolean`.
    ///
    /// # Errors
    /// [`DecodeErrorKind::EndOfData`]; [`DecodeErrorKind::InvalidValue`] for other bytes than 0 and 1.
    pub fn boolean(&mut self, what: &'static str) -> Result<bool, DecodeError> {
        let here = self.clone();
        match self.octet(what)? {
            0 => Ok(false),
            1 => Ok(true),
            other => Err(here.error(what, DecodeErrorKind::InvalidValue(other.into()))),
        }
    }

    /// Reads a `short`.
    ///
    /// # Errors
    /// [`DecodeErrorKind::EndOfData`].
    pub fn short(&mut self, what: &'static str) -> Result<i16, DecodeError> {
        self.number(what).map(i16::from_be_bytes)
    }

    /// Reads an `unsigned short`.
    ///
    /// # Errors
    /// [`DecodeErrorKind::EndOfData`].
    pub fn ushort(&mut self, what: &'static str) -> Result<u16, DecodeError> {
        self.number(what).map(u16::from_be_bytes)
    }

    /// Reads a `long`: 32 bits.
    ///
    /// # Errors
    /// [`DecodeErrorKind::EndOfData`].
    pub fn long(&mut self, what: &'static str) -> Result<i32, DecodeError> {
        self.number(what).map(i32::from_be_bytes)
    }

    /// Reads an `unsigned long`: 32 bits.
    ///
    /// # Errors
    /// [`DecodeErrorKind::EndOfData`].
    pub fn ulong(&mut self, what: &'static str) -> Result<u32, DecodeError> {
        self.number(what).map(u32::from_be_bytes)
    }

    /// Reads a `long long`: 64 bits.
    ///
    /// # Errors
    /// [`DecodeErrorKind::EndOfData`].
    pub fn longlong(&mut self, what: &'static str) -> Result<i64, DecodeError> {
        self.number(what).map(i64::from_be_bytes)
    }

    /// Reads an `unsigned long long`: 64 bits.
    ///
    /// # Errors
    /// [`DecodeErrorKind::EndOfData`].
    pub fn ulonglong(&mut self, what: &'static str) -> Result<u64, DecodeError> {
        self.number(what).map(u64::from_be_bytes)
    }

    /// Reads a `float`.
    ///
    /// # Errors
    /// [`DecodeErrorKind::EndOfData`].
    pub fn float(&mut self, what: &'static str) -> Result<f32, DecodeError> {
        self.number(what).map(f32::from_be_bytes)
    }

    /// Reads a `double`.
    ///
    /// # Errors
    /// [`DecodeErrorKind::EndOfData`].
    pub fn double(&mut self, what: &'static str) -> Result<f64, DecodeError> {
        self.number(what).map(f64::from_be_bytes)
    }

    /// Reads a `long double`: the 16 bytes of an IEEE quadruple, most significant first.
    ///
    /// # Errors
    /// [`DecodeErrorKind::EndOfData`].
    pub fn long_double(&mut self, what: &'static str) -> Result<[u8; 16], DecodeError> {
        self.number(what)
    }

    /// Reads a count of elements, each of which takes at least `element_len_min` bytes.
    ///
    /// # Errors
    /// [`DecodeErrorKind::EndOfData`] if the elements cannot fit into what remains, and [`DecodeErrorKind::TooLong`] if
    /// there are more than `max`.
    pub fn count(
        &mut self,
        element_len_min: usize,
        max: usize,
        what: &'static str,
    ) -> Result<usize, DecodeError> {
        let here = self.clone();
        let count = self.ulong(what)?;
        if u64::from(count) > max as u64 {
            let (len, max) = (count.into(), max as u64);
            return Err(here.error(what, DecodeErrorKind::TooLong { len, max }));
        }
        let needed = u64::from(count) * element_len_min as u64;
        if needed > self.remaining() as u64 {
            return Err(self.end_of_data(what, needed));
        }
        // It is not above `max`, which is a usize.
        Ok(count as usize)
    }

    /// Reads a `sequence<octet>`.
    ///
    /// # Errors
    /// [`DecodeErrorKind::EndOfData`].
    pub fn octet_sequence(&mut self, what: &'static str) -> Result<&'a [u8], DecodeError> {
        let len = self.count(1, usize::MAX, what)?;
        self.octets(len, what)
    }

    /// Reads an encapsulation: a `sequence<octet>` whose first byte is its byte order.
    ///
    /// # Errors
    /// As [`Decoder::octet_sequence`] and [`Decoder::boolean`].
    pub fn encapsulation(&mut self, what: &'static str) -> Result<Decoder<'a>, DecodeError> {
        let bytes = self.octet_sequence(what)?;
        let mut inner = Decoder {
            bytes,
            position: 0,
            origin: 0,
            start: self.outer_offset() - bytes.len(),
            format: self.format,
        };
        inner.format.endian = Endian::from_flag(inner.boolean(what)?);
        Ok(inner)
    }

    /// Reads a `char`.
    ///
    /// # Errors
    /// [`DecodeErrorKind::EndOfData`], [`DecodeErrorKind::InvalidText`] if the byte is no character by itself.
    pub fn char(&mut self, what: &'static str) -> Result<char, DecodeError> {
        let here = self.clone();
        let byte = self.octet(what)?;
        let code_set = self.format.code_sets.narrow;
        match code_set {
            CodeSet::ISO_8859_1 => Ok(char::from(byte)),
            _ if byte.is_ascii() => Ok(char::from(byte)),
            _ => Err(here.error(what, DecodeErrorKind::InvalidText(code_set))),
        }
    }

    /// Reads a `string`.
    ///
    /// # Errors
    /// [`DecodeErrorKind::EndOfData`]; [`DecodeErrorKind::NoNul`] and [`DecodeErrorKind::InnerNul`];
    /// [`DecodeErrorKind::InvalidText`].
    pub fn string(&mut self, what: &'static str) -> Result<String, DecodeError> {
        let code_set = self.format.code_sets.narrow;
        self.text_in(code_set, what)
    }

    /// Reads a `string` of the protocol itself, such as the name of an operation, a repository id or a host.
    ///
    /// These are ASCII by the specification, whatever the code set of the connection is; other ORBs send UTF-8 or ISO
    /// 8859-1 in them. This reads UTF-8 if it is that, and ISO 8859-1 otherwise.
    ///
    /// # Errors
    /// As [`Decoder::string`].
    pub fn name(&mut self, what: &'static str) -> Result<String, DecodeError> {
        let bytes = self.string_bytes(what)?;
        Ok(match std::str::from_utf8(bytes) {
            Ok(text) => text.to_owned(),
            Err(_) => bytes.iter().copied().map(char::from).collect(),
        })
    }

    fn text_in(&mut self, code_set: CodeSet, what: &'static str) -> Result<String, DecodeError> {
        let here = self.clone();
        let bytes = self.string_bytes(what)?;
        let text = match code_set {
            CodeSet::ISO_8859_1 => Some(bytes.iter().copied().map(char::from).collect()),
            CodeSet::ISO_646 if !bytes.is_ascii() => None,
            CodeSet::ISO_646 | CodeSet::UTF_8 => String::from_utf8(bytes.to_vec()).ok(),
            _ => None,
        };
        text.ok_or_else(|| here.error(what, DecodeErrorKind::InvalidText(code_set)))
    }

    /// Reads the bytes of a `string`, without the NUL at its end.
    ///
    /// # Errors
    /// [`DecodeErrorKind::EndOfData`], [`DecodeErrorKind::NoNul`] and [`DecodeErrorKind::InnerNul`].
    pub fn string_bytes(&mut self, what: &'static str) -> Result<&'a [u8], DecodeError> {
        let here = self.clone();
        let Some((0, text)) = self.octet_sequence(what)?.split_last() else {
            return Err(here.error(what, DecodeErrorKind::NoNul));
        };
        match text.contains(&0) {
            true => Err(here.error(what, DecodeErrorKind::InnerNul)),
            false => Ok(text),
        }
    }

    /// Reads a `wchar`.
    ///
    /// # Errors
    /// [`DecodeErrorKind::NoWideCodeSet`], [`DecodeErrorKind::EndOfData`], [`DecodeErrorKind::InvalidText`].
    pub fn wchar(&mut self, what: &'static str) -> Result<char, DecodeError> {
        wide::decode_char(self, what)
    }

    /// Reads a `wstring`.
    ///
    /// # Errors
    /// As [`Decoder::wchar`], and [`DecodeErrorKind::NoNul`] in GIOP 1.1.
    pub fn wstring(&mut self, what: &'static str) -> Result<String, DecodeError> {
        wide::decode_string(self, what)
    }

    /// Checks that nothing is left.
    ///
    /// # Errors
    /// [`DecodeErrorKind::TrailingBytes`].
    pub fn finish(&self, what: &'static str) -> Result<(), DecodeError> {
        match self.remaining() {
            0 => Ok(()),
            count => Err(self.error(what, DecodeErrorKind::TrailingBytes(count))),
        }
    }
}
