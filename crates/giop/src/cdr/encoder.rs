//! Appends values to a buffer.

use super::wide;
use super::{CodeSet, EncodeError, Endian, Format};

/// Appends CDR to a buffer of its own.
#[derive(Debug)]
pub struct Encoder {
    bytes: Vec<u8>,
    /// Added to the length of the buffer for alignment; wraps, because an encapsulation begins anew at 0.
    origin: usize,
    format: Format,
}

impl Encoder {
    /// An encoder whose first byte is aligned.
    pub fn new(format: Format) -> Self {
        Self::at(0, format)
    }

    /// An encoder whose first byte will have this offset in its message.
    pub fn at(origin: usize, format: Format) -> Self {
        Self {
            bytes: Vec::new(),
            origin,
            format,
        }
    }

    /// The bytes of an encapsulation that stands alone, such as a component of a reference.
    ///
    /// # Errors
    /// Those of `write`.
    pub fn encapsulation_bytes(
        write: impl FnOnce(&mut Self) -> Result<(), EncodeError>,
    ) -> Result<Vec<u8>, EncodeError> {
        let mut encoder = Self::new(Format::utf8(Endian::NATIVE));
        encoder.boolean(Endian::NATIVE.flag());
        write(&mut encoder)?;
        Ok(encoder.into_bytes())
    }

    /// How the bytes are written.
    pub fn format(&self) -> Format {
        self.format
    }

    /// The offset of the next byte from the origin, by which values are aligned.
    pub fn offset(&self) -> usize {
        self.origin.wrapping_add(self.bytes.len())
    }

    /// The number of bytes so far.
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Returns true if there are no bytes yet.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// The bytes.
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    /// The bytes so far.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Forgets all bytes but the first `len`.
    pub(crate) fn truncate(&mut self, len: usize) {
        self.bytes.truncate(len);
    }

    /// Overwrites the four bytes of an `unsigned long` at `position`.
    pub(crate) fn patch_ulong(&mut self, position: usize, value: u32) {
        let bytes = match self.format.endian {
            Endian::Big => value.to_be_bytes(),
            Endian::Little => value.to_le_bytes(),
        };
        self.bytes[position..position + 4].copy_from_slice(&bytes);
    }

    /// Appends the gap in front of a value that is aligned to `alignment` bytes: 1, 2, 4 or 8.
    pub fn align(&mut self, alignment: usize) {
        let misaligned = self.offset() % alignment;
        if misaligned > 0 {
            let len = self.bytes.len() + alignment - misaligned;
            self.bytes.resize(len, 0);
        }
    }

    /// Appends raw bytes.
    pub fn octets(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    fn number<const N: usize>(&mut self, mut big_endian: [u8; N]) {
        self.align(N.min(8));
        if self.format.endian == Endian::Little {
            big_endian.reverse();
        }
        self.octets(&big_endian);
    }

    /// Appends an `octet`.
    pub fn octet(&mut self, value: u8) {
        self.bytes.push(value);
    }

    /// Appends a `boolean`.
    pub fn boolean(&mut self, value: bool) {
        self.octet(value.into());
    }

    /// Appends a `short`.
    pub fn short(&mut self, value: i16) {
        self.number(value.to_be_bytes());
    }

    /// Appends an `unsigned short`.
    pub fn ushort(&mut self, value: u16) {
        self.number(value.to_be_bytes());
    }

    /// Appends a `long`: 32 bits.
    pub fn long(&mut self, value: i32) {
        self.number(value.to_be_bytes());
    }

    /// Appends an `unsigned long`: 32 bits.
    pub fn ulong(&mut self, value: u32) {
        self.number(value.to_be_bytes());
    }

    /// Appends a `long long`: 64 bits.
    pub fn longlong(&mut self, value: i64) {
        self.number(value.to_be_bytes());
    }

    /// Appends an `unsigned long long`: 64 bits.
    pub fn ulonglong(&mut self, value: u64) {
        self.number(value.to_be_bytes());
    }

    /// Appends a `float`.
    pub fn float(&mut self, value: f32) {
        self.number(value.to_be_bytes());
    }

    /// Appends a `double`.
    pub fn double(&mut self, value: f64) {
        self.number(value.to_be_bytes());
    }

    /// Appends a `long double`: the 16 bytes of an IEEE quadruple, most significant first.
    pub fn long_double(&mut self, value: [u8; 16]) {
        self.number(value);
    }

    /// Appends the length of `what`.
    ///
    /// # Errors
    /// [`EncodeError::TooLong`].
    pub fn len_of(&mut self, what: &'static str, len: usize) -> Result<(), EncodeError> {
        let value = u32::try_from(len).map_err(|_| EncodeError::TooLong { what, len })?;
        self.ulong(value);
        Ok(())
    }

    /// Appends a `sequence<octet>`.
    ///
    /// # Errors
    /// [`EncodeError::TooLong`].
    pub fn octet_sequence(&mut self, bytes: &[u8]) -> Result<(), EncodeError> {
        self.len_of("sequence of octets", bytes.len())?;
        self.octets(bytes);
        Ok(())
    }

    /// Appends an encapsulation, whose contents `write` appends, in this encoder's byte order.
    ///
    /// # Errors
    /// Those of `write`, and [`EncodeError::TooLong`].
    pub fn encapsulation<E: From<EncodeError>>(
        &mut self,
        write: impl FnOnce(&mut Self) -> Result<(), E>,
    ) -> Result<(), E> {
        self.ulong(0);
        let start = self.bytes.len();
        let outer = std::mem::replace(&mut self.origin, 0usize.wrapping_sub(start));
        self.boolean(self.format.endian.flag());
        let written = write(self);
        self.origin = outer;
        written?;
        let len = self.bytes.len() - start;
        let what = "encapsulation";
        let value = u32::try_from(len).map_err(|_| EncodeError::TooLong { what, len })?;
        self.patch_ulong(start - 4, value);
        Ok(())
    }

    /// Appends a `char`.
    ///
    /// # Errors
    /// [`EncodeError::NotInCodeSet`] if it takes more than one byte.
    pub fn char(&mut self, value: char) -> Result<(), EncodeError> {
        let code_set = self.format.code_sets.narrow;
        let character = value;
        let max = match code_set {
            CodeSet::ISO_8859_1 => 0xff,
            _ => 0x7f,
        };
        match u8::try_from(u32::from(value)) {
            Ok(byte) if byte <= max => self.octet(byte),
            _ => {
                return Err(EncodeError::NotInCodeSet {
                    character,
                    code_set,
                });
            }
        }
        Ok(())
    }

    /// Appends a `string`.
    ///
    /// # Errors
    /// [`EncodeError::InnerNul`], [`EncodeError::NotInCodeSet`], [`EncodeError::TooLong`].
    pub fn string(&mut self, value: &str) -> Result<(), EncodeError> {
        let code_set = self.format.code_sets.narrow;
        let is_latin = code_set == CodeSet::ISO_8859_1;
        let fits = |character: char| match code_set {
            CodeSet::UTF_8 => true,
            CodeSet::ISO_8859_1 => u32::from(character) <= 0xff,
            _ => character.is_ascii(),
        };
        if let Some(character) = value.chars().find(|character| !fits(*character)) {
            return Err(EncodeError::NotInCodeSet {
                character,
                code_set,
            });
        }
        match is_latin && !value.is_ascii() {
            false => self.string_bytes(value.as_bytes()),
            // All fit, as was checked.
            true => self.string_bytes(&value.chars().map(|c| c as u8).collect::<Vec<_>>()),
        }
    }

    /// Appends a `string` of the protocol itself, such as the name of an operation, in UTF-8: see
    /// [`Decoder::name`](super::Decoder::name).
    ///
    /// # Errors
    /// [`EncodeError::InnerNul`], [`EncodeError::TooLong`].
    pub fn name(&mut self, value: &str) -> Result<(), EncodeError> {
        self.string_bytes(value.as_bytes())
    }

    /// Appends a `string` of these bytes, and a NUL.
    ///
    /// # Errors
    /// [`EncodeError::InnerNul`], [`EncodeError::TooLong`].
    pub fn string_bytes(&mut self, bytes: &[u8]) -> Result<(), EncodeError> {
        if bytes.contains(&0) {
            return Err(EncodeError::InnerNul);
        }
        self.len_of("string", bytes.len() + 1)?;
        self.octets(bytes);
        self.octet(0);
        Ok(())
    }

    /// Appends a `wchar`.
    ///
    /// # Errors
    /// [`EncodeError::NoWideCodeSet`]; [`EncodeError::NotInCodeSet`] if it needs a surrogate pair in GIOP 1.1.
    pub fn wchar(&mut self, value: char) -> Result<(), EncodeError> {
        wide::encode_char(self, value)
    }

    /// Appends a `wstring`.
    ///
    /// # Errors
    /// [`EncodeError::NoWideCodeSet`], [`EncodeError::InnerNul`], [`EncodeError::TooLong`].
    pub fn wstring(&mut self, value: &str) -> Result<(), EncodeError> {
        wide::encode_string(self, value)
    }
}
