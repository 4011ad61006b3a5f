//! Types that can be a field of a composite.

use bytes::Bytes;

use super::{CodecError, CodecErrorKind, Reader, SYMBOLS_MAX, Symbol, Value, Writer};

/// A type with an encoding.
pub trait Field: Sized {
    /// Reads a value that is not null; `reading` is what errors call it.
    ///
    /// # Errors
    /// If the next value is not whole or of another type.
    fn decode(reader: &mut Reader<'_>, reading: &'static str) -> Result<Self, CodecError>;

    /// Writes it.
    fn encode(&self, writer: &mut Writer);

    /// The value of a field that is null or left out; `None` if the field must be there.
    fn absent() -> Option<Self> {
        None
    }

    /// True if null is written instead.
    fn is_absent(&self) -> bool {
        false
    }
}

impl<T: Field> Field for Option<T> {
    fn decode(reader: &mut Reader<'_>, reading: &'static str) -> Result<Self, CodecError> {
        T::decode(reader, reading).map(Some)
    }

    fn encode(&self, writer: &mut Writer) {
        match self {
            Some(value) => value.encode(writer),
            None => writer.null(),
        }
    }

    fn absent() -> Option<Self> {
        Some(None)
    }

    fn is_absent(&self) -> bool {
        self.is_none()
    }
}

/// All booleans of the protocol are false if they are left out.
impl Field for bool {
    fn decode(reader: &mut Reader<'_>, reading: &'static str) -> Result<Self, CodecError> {
        match reader.constructor(reading)? {
            0x41 => Ok(true),
            0x42 => Ok(false),
            0x56 => match reader.take_u8(reading)? {
                0 => Ok(false),
                1 => Ok(true),
                other => {
                    let kind = CodecErrorKind::UndefinedValue(other.into());
                    Err(reader.error(reading, kind))
                }
            },
            code => Err(reader.wrong_type(code, reading)),
        }
    }

    fn encode(&self, writer: &mut Writer) {
        writer.bool(*self);
    }

    fn absent() -> Option<Self> {
        Some(false)
    }

    fn is_absent(&self) -> bool {
        !self
    }
}

impl Field for u8 {
    fn decode(reader: &mut Reader<'_>, reading: &'static str) -> Result<Self, CodecError> {
        match reader.constructor(reading)? {
            0x50 => reader.take_u8(reading),
            code => Err(reader.wrong_type(code, reading)),
        }
    }

    fn encode(&self, writer: &mut Writer) {
        writer.ubyte(*self);
    }
}

impl Field for u16 {
    fn decode(reader: &mut Reader<'_>, reading: &'static str) -> Result<Self, CodecError> {
        match reader.constructor(reading)? {
            0x60 => Ok(Self::from_be_bytes(reader.take_array(reading)?)),
            code => Err(reader.wrong_type(code, reading)),
        }
    }

    fn encode(&self, writer: &mut Writer) {
        writer.ushort(*self);
    }
}

impl Field for u32 {
    fn decode(reader: &mut Reader<'_>, reading: &'static str) -> Result<Self, CodecError> {
        match reader.constructor(reading)? {
            0x43 => Ok(0),
            0x52 => reader.take_u8(reading).map(Self::from),
            0x70 => reader.take_u32(reading),
            code => Err(reader.wrong_type(code, reading)),
        }
    }

    fn encode(&self, writer: &mut Writer) {
        writer.uint(*self);
    }
}

impl Field for u64 {
    fn decode(reader: &mut Reader<'_>, reading: &'static str) -> Result<Self, CodecError> {
        match reader.constructor(reading)? {
            0x44 => Ok(0),
            0x53 => reader.take_u8(reading).map(Self::from),
            0x80 => Ok(Self::from_be_bytes(reader.take_array(reading)?)),
            code => Err(reader.wrong_type(code, reading)),
        }
    }

    fn encode(&self, writer: &mut Writer) {
        writer.ulong(*self);
    }
}

impl Field for String {
    fn decode(reader: &mut Reader<'_>, reading: &'static str) -> Result<Self, CodecError> {
        match reader.constructor(reading)? {
            code @ (0xA1 | 0xB1) => {
                let len = reader.take_len(code == 0xB1, reading)?;
                reader.take_utf8(len, reading).map(str::to_owned)
            }
            code => Err(reader.wrong_type(code, reading)),
        }
    }

    fn encode(&self, writer: &mut Writer) {
        writer.string(self);
    }
}

impl Field for Symbol {
    fn decode(reader: &mut Reader<'_>, reading: &'static str) -> Result<Self, CodecError> {
        let code = reader.constructor(reading)?;
        symbol_body(code, reader, reading)
    }

    fn encode(&self, writer: &mut Writer) {
        writer.symbol(self);
    }
}

fn symbol_body(
    code: u8,
    reader: &mut Reader<'_>,
    reading: &'static str,
) -> Result<Symbol, CodecError> {
    let (0xA3 | 0xB3) = code else {
        return Err(reader.wrong_type(code, reading));
    };
    let len = reader.take_len(code == 0xB3, reading)?;
    let text = reader.take_ascii(len, reading)?;
    Ok(Symbol::from_text(text).expect("it was checked to be ASCII"))
}

impl Field for Bytes {
    fn decode(reader: &mut Reader<'_>, reading: &'static str) -> Result<Self, CodecError> {
        reader.binary(reading).map(Self::copy_from_slice)
    }

    fn encode(&self, writer: &mut Writer) {
        writer.binary(self);
    }
}

impl Field for Value {
    fn decode(reader: &mut Reader<'_>, reading: &'static str) -> Result<Self, CodecError> {
        Self::decode(reader, reading)
    }

    fn encode(&self, writer: &mut Writer) {
        self.encode(writer);
    }
}

/// Milliseconds since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Timestamp(pub i64);

impl Field for Timestamp {
    fn decode(reader: &mut Reader<'_>, reading: &'static str) -> Result<Self, CodecError> {
        match reader.constructor(reading)? {
            0x83 => Ok(Self(i64::from_be_bytes(reader.take_array(reading)?))),
            code => Err(reader.wrong_type(code, reading)),
        }
    }

    fn encode(&self, writer: &mut Writer) {
        writer.byte(0x83);
        writer.encoded(&self.0.to_be_bytes());
    }
}

/// Symbols, where the protocol allows several: one alone, or an array.
impl Field for Vec<Symbol> {
    fn decode(reader: &mut Reader<'_>, reading: &'static str) -> Result<Self, CodecError> {
        let code = reader.constructor(reading)?;
        let (0xE0 | 0xF0) = code else {
            return Ok(vec![symbol_body(code, reader, reading)?]);
        };
        let compound = reader.take_compound(code == 0xF0, reading)?;
        let mut contents = compound.contents;
        if compound.count == 0 {
            return Ok(Vec::new());
        }
        let code = contents.constructor(reading)?;
        if compound.count as usize > SYMBOLS_MAX {
            return Err(contents.error(reading, CodecErrorKind::TooMany(SYMBOLS_MAX)));
        }
        let symbols = (0..compound.count).map(|_| symbol_body(code, &mut contents, reading));
        let symbols = symbols.collect::<Result<_, _>>()?;
        contents.must_be_empty(reading)?;
        Ok(symbols)
    }

    fn encode(&self, writer: &mut Writer) {
        writer.array(|writer| {
            writer.byte(0xB3);
            for symbol in self {
                let text = symbol.as_str().as_bytes();
                writer.encoded(&(text.len() as u32).to_be_bytes());
                writer.encoded(text);
            }
            self.len() as u32
        });
    }

    fn absent() -> Option<Self> {
        Some(Vec::new())
    }

    fn is_absent(&self) -> bool {
        self.is_empty()
    }
}
