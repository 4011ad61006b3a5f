//! Reading values one after the other, without copying them.

use super::{CodecError, CodecErrorKind, DEPTH_MAX, ELEMENTS_MAX};

/// A place in bytes that hold values.
#[derive(Debug, Clone)]
pub struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
    /// Where `bytes` begins in the bytes that the first reader was given, for errors.
    base: usize,
}

/// Which type a described value has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Descriptor<'a> {
    /// A number: the domain in the upper 32 bits, the type in the lower ones.
    Code(u64),
    /// A name.
    Name(&'a str),
}

/// The head of a list, map or array, and a reader of what is in it.
#[derive(Debug)]
pub(super) struct Compound<'a> {
    pub(super) count: u32,
    pub(super) contents: Reader<'a>,
}

impl<'a> Reader<'a> {
    /// Reads `bytes` from the beginning.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self {
            bytes,
            at: 0,
            base: 0,
        }
    }

    /// True if nothing is left.
    pub fn is_empty(&self) -> bool {
        self.at == self.bytes.len()
    }

    /// How many bytes have been read.
    pub fn position(&self) -> usize {
        self.at
    }

    /// The bytes that have been read since `start`, an earlier [`Reader::position`].
    pub fn since(&self, start: usize) -> &'a [u8] {
        &self.bytes[start.min(self.at)..self.at]
    }

    /// The bytes that are left.
    pub fn rest(&self) -> &'a [u8] {
        &self.bytes[self.at..]
    }

    pub(crate) fn error(&self, reading: &'static str, kind: CodecErrorKind) -> CodecError {
        CodecError {
            offset: self.base + self.at,
            reading,
            kind,
        }
    }

    /// The constructor of the next value, which stays unread; `None` at the end.
    pub fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    /// Reads the next value if it is null.
    pub fn take_null(&mut self) -> bool {
        let is_null = self.peek() == Some(0x40);
        self.at += usize::from(is_null);
        is_null
    }

    pub(super) fn take(
        &mut self,
        len: usize,
        reading: &'static str,
    ) -> Result<&'a [u8], CodecError> {
        let left = self.bytes.len() - self.at;
        if len > left {
            return Err(self.error(reading, CodecErrorKind::Truncated));
        }
        let taken = &self.bytes[self.at..self.at + len];
        self.at += len;
        Ok(taken)
    }

    pub(super) fn take_array<const N: usize>(
        &mut self,
        reading: &'static str,
    ) -> Result<[u8; N], CodecError> {
        let taken = self.take(N, reading)?;
        Ok(taken.try_into().expect("that many were taken"))
    }

    pub(super) fn take_u8(&mut self, reading: &'static str) -> Result<u8, CodecError> {
        Ok(self.take(1, reading)?[0])
    }

    pub(super) fn take_u32(&mut self, reading: &'static str) -> Result<u32, CodecError> {
        Ok(u32::from_be_bytes(self.take_array(reading)?))
    }

    /// A length in front of bytes, as wide as the constructor says.
    pub(super) fn take_len(
        &mut self,
        is_wide: bool,
        reading: &'static str,
    ) -> Result<usize, CodecError> {
        Ok(if is_wide {
            self.take_u32(reading)? as usize
        } else {
            usize::from(self.take_u8(reading)?)
        })
    }

    /// The head of a list or map whose constructor has been read, and its contents.
    pub(super) fn take_compound(
        &mut self,
        is_wide: bool,
        reading: &'static str,
    ) -> Result<Compound<'a>, CodecError> {
        let size = self.take_len(is_wide, reading)?;
        let base = self.base + self.at;
        let mut contents = Reader {
            bytes: self.take(size, reading)?,
            at: 0,
            base,
        };
        let count = contents.take_len(is_wide, reading)? as u32;
        Ok(Compound { count, contents })
    }

    /// As [`Reader::take_compound`], of values that take a byte each or more.
    fn take_counted(
        &mut self,
        is_wide: bool,
        reading: &'static str,
    ) -> Result<Compound<'a>, CodecError> {
        let compound = self.take_compound(is_wide, reading)?;
        if compound.count as usize > compound.contents.rest().len() {
            return Err(compound.contents.error(reading, CodecErrorKind::BadSize));
        }
        Ok(compound)
    }

    /// A list: how many values it has, and a reader of them.
    ///
    /// # Errors
    /// If the next value is not a whole list.
    pub fn list(&mut self, reading: &'static str) -> Result<(u32, Reader<'a>), CodecError> {
        let code = self.constructor(reading)?;
        let compound = match code {
            0x45 => return Ok((0, self.nothing())),
            0xC0 | 0xD0 => self.take_counted(code == 0xD0, reading)?,
            _ => return Err(self.wrong_type(code, reading)),
        };
        Ok((compound.count, compound.contents))
    }

    /// A map: how many values it has, keys included, and a reader of them.
    ///
    /// # Errors
    /// If the next value is not a whole map.
    pub fn map(&mut self, reading: &'static str) -> Result<(u32, Reader<'a>), CodecError> {
        let code = self.constructor(reading)?;
        let (0xC1 | 0xD1) = code else {
            return Err(self.wrong_type(code, reading));
        };
        let compound = self.take_counted(code == 0xD1, reading)?;
        if compound.count % 2 != 0 {
            return Err(compound.contents.error(reading, CodecErrorKind::BadSize));
        }
        Ok((compound.count, compound.contents))
    }

    /// The bytes of a binary value.
    ///
    /// # Errors
    /// If the next value is not a whole one of that type.
    pub fn binary(&mut self, reading: &'static str) -> Result<&'a [u8], CodecError> {
        match self.constructor(reading)? {
            code @ (0xA0 | 0xB0) => {
                let len = self.take_len(code == 0xB0, reading)?;
                self.take(len, reading)
            }
            code => Err(self.wrong_type(code, reading)),
        }
    }

    /// The text of a string.
    ///
    /// # Errors
    /// If the next value is not a whole one of that type, or not UTF-8.
    pub fn string(&mut self, reading: &'static str) -> Result<&'a str, CodecError> {
        match self.constructor(reading)? {
            code @ (0xA1 | 0xB1) => {
                let len = self.take_len(code == 0xB1, reading)?;
                self.take_utf8(len, reading)
            }
            code => Err(self.wrong_type(code, reading)),
        }
    }

    fn nothing(&self) -> Reader<'a> {
        Reader {
            bytes: &[],
            at: 0,
            base: self.base + self.at,
        }
    }

    pub(super) fn constructor(&mut self, reading: &'static str) -> Result<u8, CodecError> {
        self.take_u8(reading)
    }

    /// The error for a constructor that has been read and is not that of the type.
    pub(super) fn wrong_type(&self, code: u8, reading: &'static str) -> CodecError {
        let mut error = self.error(reading, CodecErrorKind::WrongType(code));
        error.offset = error.offset.saturating_sub(1);
        error
    }

    /// The descriptor of a described value, up to the value itself.
    ///
    /// # Errors
    /// If the next value is not described, or by another thing than a number or a name.
    pub fn descriptor(&mut self, reading: &'static str) -> Result<Descriptor<'a>, CodecError> {
        let code = self.constructor(reading)?;
        if code != 0 {
            return Err(self.wrong_type(code, reading));
        }
        match self.constructor(reading)? {
            0x44 => Ok(Descriptor::Code(0)),
            0x53 => Ok(Descriptor::Code(u64::from(self.take_u8(reading)?))),
            0x80 => Ok(Descriptor::Code(u64::from_be_bytes(
                self.take_array(reading)?,
            ))),
            code @ (0xA3 | 0xB3) => {
                let len = self.take_len(code == 0xB3, reading)?;
                self.take_ascii(len, reading).map(Descriptor::Name)
            }
            _ => Err(self.error(reading, CodecErrorKind::UnknownDescriptor)),
        }
    }

    pub(super) fn take_ascii(
        &mut self,
        len: usize,
        reading: &'static str,
    ) -> Result<&'a str, CodecError> {
        let bytes = self.take(len, reading)?;
        let text = std::str::from_utf8(bytes).ok().filter(|t| t.is_ascii());
        text.ok_or_else(|| self.error(reading, CodecErrorKind::BadText))
    }

    pub(super) fn take_utf8(
        &mut self,
        len: usize,
        reading: &'static str,
    ) -> Result<&'a str, CodecError> {
        let bytes = self.take(len, reading)?;
        std::str::from_utf8(bytes).map_err(|_| self.error(reading, CodecErrorKind::BadText))
    }

    /// Passes a value of any type by its size, without a look at what is in it.
    ///
    /// # Errors
    /// If it is not whole, or its constructor is undefined.
    pub fn skip(&mut self, reading: &'static str) -> Result<(), CodecError> {
        let mut code = self.constructor(reading)?;
        let mut described = 0;
        while code == 0 {
            described += 1;
            if described > DEPTH_MAX {
                return Err(self.error(reading, CodecErrorKind::TooDeep));
            }
            // A descriptor is a number or a name in all that peers send; a described descriptor is legal and senseless.
            self.at -= 1;
            self.descriptor(reading)?;
            code = self.constructor(reading)?;
        }
        let len = match code >> 4 {
            0x4 => 0,
            0x5 => 1,
            0x6 => 2,
            0x7 => 4,
            0x8 => 8,
            0x9 => 16,
            0xA | 0xC | 0xE => self.take_len(false, reading)?,
            0xB | 0xD | 0xF => self.take_len(true, reading)?,
            _ => return Err(self.error(reading, CodecErrorKind::UnknownConstructor(code))),
        };
        self.take(len, reading).map(|_| ())
    }

    /// Passes a value of any type, and checks all that is in it.
    ///
    /// # Errors
    /// As [`Reader::skip`], and if something in it is wrong, too deep or too much.
    pub fn check(&mut self, reading: &'static str) -> Result<(), CodecError> {
        let mut left = ELEMENTS_MAX;
        self.check_value(reading, DEPTH_MAX, &mut left)
    }

    fn check_value(
        &mut self,
        reading: &'static str,
        depth: usize,
        left: &mut usize,
    ) -> Result<(), CodecError> {
        let code = self.constructor(reading)?;
        self.check_body(code, reading, depth, left)
    }

    fn check_body(
        &mut self,
        code: u8,
        reading: &'static str,
        depth: usize,
        left: &mut usize,
    ) -> Result<(), CodecError> {
        let depth = depth
            .checked_sub(1)
            .ok_or_else(|| self.error(reading, CodecErrorKind::TooDeep))?;
        *left = left
            .checked_sub(1)
            .ok_or_else(|| self.error(reading, CodecErrorKind::TooMany(ELEMENTS_MAX)))?;
        match code {
            0x00 => {
                self.check_value(reading, depth, left)?;
                self.check_value(reading, depth, left)
            }
            0x40..=0x45 => Ok(()),
            0x50..=0x56 => self.take(1, reading).map(|_| ()),
            0x60 | 0x61 => self.take(2, reading).map(|_| ()),
            0x70..=0x72 | 0x74 => self.take(4, reading).map(|_| ()),
            0x73 => {
                let scalar = self.take_u32(reading)?;
                match char::from_u32(scalar) {
                    Some(_) => Ok(()),
                    None => Err(self.error(reading, CodecErrorKind::BadText)),
                }
            }
            0x80..=0x84 => self.take(8, reading).map(|_| ()),
            0x94 | 0x98 => self.take(16, reading).map(|_| ()),
            0xA0 | 0xB0 => {
                let len = self.take_len(code == 0xB0, reading)?;
                self.take(len, reading).map(|_| ())
            }
            0xA1 | 0xB1 => {
                let len = self.take_len(code == 0xB1, reading)?;
                self.take_utf8(len, reading).map(|_| ())
            }
            0xA3 | 0xB3 => {
                let len = self.take_len(code == 0xB3, reading)?;
                self.take_ascii(len, reading).map(|_| ())
            }
            0xC0 | 0xC1 | 0xD0 | 0xD1 => {
                let mut compound = self.take_counted(code >= 0xD0, reading)?;
                if code & 1 == 1 && compound.count % 2 != 0 {
                    return Err(compound.contents.error(reading, CodecErrorKind::BadSize));
                }
                for _ in 0..compound.count {
                    compound.contents.check_value(reading, depth, left)?;
                }
                compound.contents.must_be_empty(reading)
            }
            0xE0 | 0xF0 => {
                let mut compound = self.take_compound(code == 0xF0, reading)?;
                let contents = &mut compound.contents;
                if compound.count == 0 && contents.is_empty() {
                    return Ok(());
                }
                let element = contents.constructor(reading)?;
                if element == 0 {
                    contents.at -= 1;
                    contents.descriptor(reading)?;
                    let element = contents.constructor(reading)?;
                    return contents.check_elements(element, compound.count, depth, left, reading);
                }
                contents.check_elements(element, compound.count, depth, left, reading)
            }
            _ => Err(self.error(reading, CodecErrorKind::UnknownConstructor(code))),
        }
    }

    fn check_elements(
        &mut self,
        code: u8,
        count: u32,
        depth: usize,
        left: &mut usize,
        reading: &'static str,
    ) -> Result<(), CodecError> {
        if code == 0 {
            return Err(self.error(reading, CodecErrorKind::UnknownConstructor(code)));
        }
        for _ in 0..count {
            self.check_body(code, reading, depth, left)?;
        }
        self.must_be_empty(reading)
    }

    /// # Errors
    /// If something is left.
    pub(super) fn must_be_empty(&self, reading: &'static str) -> Result<(), CodecError> {
        if self.is_empty() {
            Ok(())
        } else {
            Err(self.error(reading, CodecErrorKind::BadSize))
        }
    }
}
