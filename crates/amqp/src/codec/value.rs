//! A value of any type, as a tree.

use bytes::Bytes;

use super::{CodecError, CodecErrorKind, DEPTH_MAX, ELEMENTS_MAX, Reader, Symbol, Writer};

/// A value of any type.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Value {
    /// None.
    Null,
    /// True or false.
    Bool(bool),
    /// 8 bits without a sign.
    Ubyte(u8),
    /// 16 bits without a sign.
    Ushort(u16),
    /// 32 bits without a sign.
    Uint(u32),
    /// 64 bits without a sign.
    Ulong(u64),
    /// 8 bits with a sign.
    Byte(i8),
    /// 16 bits with a sign.
    Short(i16),
    /// 32 bits with a sign.
    Int(i32),
    /// 64 bits with a sign.
    Long(i64),
    /// IEEE 754, 32 bits.
    Float(f32),
    /// IEEE 754, 64 bits.
    Double(f64),
    /// IEEE 754 decimal, as its 32 bits.
    Decimal32([u8; 4]),
    /// IEEE 754 decimal, as its 64 bits.
    Decimal64([u8; 8]),
    /// IEEE 754 decimal, as its 128 bits.
    Decimal128([u8; 16]),
    /// A character of Unicode.
    Char(char),
    /// Milliseconds since 1970.
    Timestamp(i64),
    /// A universally unique id.
    Uuid([u8; 16]),
    /// Bytes.
    Binary(Bytes),
    /// A text.
    String(String),
    /// A symbol.
    Symbol(Symbol),
    /// Values of any types.
    List(Vec<Value>),
    /// Keys and values, in the order in which they were sent. A key may come twice.
    Map(Vec<(Value, Value)>),
    /// Values of one type.
    Array(Array),
    /// A value and its descriptor.
    Described(Box<(Value, Value)>),
}

/// Values of one type.
#[derive(Debug, Clone, PartialEq)]
pub struct Array(Vec<Value>);

impl Array {
    /// An array of these values; `None` if they are of several types, or described.
    pub fn new(values: Vec<Value>) -> Option<Self> {
        let kind = values.first().map_or(0x40, Value::array_code);
        let fits = |value: &Value| value.array_code() == kind && kind != 0;
        values.iter().all(fits).then_some(Self(values))
    }

    /// The values.
    pub fn values(&self) -> &[Value] {
        &self.0
    }
}

impl Value {
    /// A text.
    pub fn text(text: &str) -> Self {
        Self::String(text.to_owned())
    }

    /// Reads a value, of at most [`ELEMENTS_MAX`] nodes and [`DEPTH_MAX`] levels.
    ///
    /// # Errors
    /// If it is not whole, has an error in it, is larger than that, or has an array of described values.
    pub fn decode(reader: &mut Reader<'_>, reading: &'static str) -> Result<Self, CodecError> {
        let mut tree = Tree {
            reading,
            left: ELEMENTS_MAX,
        };
        tree.value(reader, DEPTH_MAX)
    }

    /// Writes it.
    pub fn encode(&self, writer: &mut Writer) {
        match self {
            Self::Null => writer.null(),
            Self::Bool(value) => writer.bool(*value),
            Self::Uint(value) => writer.uint(*value),
            Self::Ulong(value) => writer.ulong(*value),
            Self::Int(value) => match i8::try_from(*value) {
                Ok(short) => writer.encoded(&[0x54, short as u8]),
                Err(_) => self.encode_wide(writer),
            },
            Self::Long(value) => match i8::try_from(*value) {
                Ok(short) => writer.encoded(&[0x55, short as u8]),
                Err(_) => self.encode_wide(writer),
            },
            Self::Binary(value) => writer.binary(value),
            Self::String(value) => writer.string(value),
            Self::Symbol(value) => writer.symbol(value),
            Self::List(values) => writer.list(|writer| {
                values.iter().for_each(|value| value.encode(writer));
                values.len() as u32
            }),
            Self::Map(entries) => writer.map(|writer| {
                for (key, value) in entries {
                    key.encode(writer);
                    value.encode(writer);
                }
                entries.len() as u32 * 2
            }),
            Self::Array(array) => writer.array(|writer| {
                writer.byte(array.0.first().map_or(0x40, Self::array_code));
                array.0.iter().for_each(|value| value.encode_body(writer));
                array.0.len() as u32
            }),
            Self::Described(described) => {
                writer.byte(0x00);
                described.0.encode(writer);
                described.1.encode(writer);
            }
            Self::Ubyte(_)
            | Self::Ushort(_)
            | Self::Byte(_)
            | Self::Short(_)
            | Self::Float(_)
            | Self::Double(_)
            | Self::Decimal32(_)
            | Self::Decimal64(_)
            | Self::Decimal128(_)
            | Self::Char(_)
            | Self::Timestamp(_)
            | Self::Uuid(_) => self.encode_wide(writer),
        }
    }

    fn encode_wide(&self, writer: &mut Writer) {
        writer.byte(self.array_code());
        self.encode_body(writer);
    }

    /// The constructor of its widest form, which is the one that fits all elements of an array; 0 if it is described.
    fn array_code(&self) -> u8 {
        match self {
            Self::Null => 0x40,
            Self::Bool(_) => 0x56,
            Self::Ubyte(_) => 0x50,
            Self::Ushort(_) => 0x60,
            Self::Uint(_) => 0x70,
            Self::Ulong(_) => 0x80,
            Self::Byte(_) => 0x51,
            Self::Short(_) => 0x61,
            Self::Int(_) => 0x71,
            Self::Long(_) => 0x81,
            Self::Float(_) => 0x72,
            Self::Double(_) => 0x82,
            Self::Decimal32(_) => 0x74,
            Self::Decimal64(_) => 0x84,
            Self::Decimal128(_) => 0x94,
            Self::Char(_) => 0x73,
            Self::Timestamp(_) => 0x83,
            Self::Uuid(_) => 0x98,
            Self::Binary(_) => 0xB0,
            Self::String(_) => 0xB1,
            Self::Symbol(_) => 0xB3,
            Self::List(_) => 0xD0,
            Self::Map(_) => 0xD1,
            Self::Array(_) => 0xF0,
            Self::Described(_) => 0,
        }
    }

    /// Writes what follows the constructor of the widest form.
    fn encode_body(&self, writer: &mut Writer) {
        let variable = |writer: &mut Writer, bytes: &[u8]| {
            writer.encoded(&(bytes.len() as u32).to_be_bytes());
            writer.encoded(bytes);
        };
        match self {
            Self::Null => {}
            Self::Bool(value) => writer.byte(u8::from(*value)),
            Self::Ubyte(value) => writer.byte(*value),
            Self::Ushort(value) => writer.encoded(&value.to_be_bytes()),
            Self::Uint(value) => writer.encoded(&value.to_be_bytes()),
            Self::Ulong(value) => writer.encoded(&value.to_be_bytes()),
            Self::Byte(value) => writer.byte(*value as u8),
            Self::Short(value) => writer.encoded(&value.to_be_bytes()),
            Self::Int(value) => writer.encoded(&value.to_be_bytes()),
            Self::Long(value) => writer.encoded(&value.to_be_bytes()),
            Self::Float(value) => writer.encoded(&value.to_be_bytes()),
            Self::Double(value) => writer.encoded(&value.to_be_bytes()),
            Self::Decimal32(value) => writer.encoded(value),
            Self::Decimal64(value) => writer.encoded(value),
            Self::Decimal128(value) | Self::Uuid(value) => writer.encoded(value),
            Self::Char(value) => writer.encoded(&u32::from(*value).to_be_bytes()),
            Self::Timestamp(value) => writer.encoded(&value.to_be_bytes()),
            Self::Binary(value) => variable(writer, value),
            Self::String(value) => variable(writer, value.as_bytes()),
            Self::Symbol(value) => variable(writer, value.as_str().as_bytes()),
            // Elements of arrays of compounds have the wide form, whatever their length.
            Self::List(_) | Self::Map(_) | Self::Array(_) => self.encode_wide_compound(writer),
            Self::Described(_) => unreachable!("Array::new refuses described values"),
        }
    }

    fn encode_wide_compound(&self, writer: &mut Writer) {
        let mut contents = Writer::default();
        let count = match self {
            Self::List(values) => {
                values.iter().for_each(|value| value.encode(&mut contents));
                values.len() as u32
            }
            Self::Map(entries) => {
                for (key, value) in entries {
                    key.encode(&mut contents);
                    value.encode(&mut contents);
                }
                entries.len() as u32 * 2
            }
            Self::Array(array) => {
                contents.byte(array.0.first().map_or(0x40, Self::array_code));
                let elements = array.0.iter();
                elements.for_each(|value| value.encode_body(&mut contents));
                array.0.len() as u32
            }
            _ => unreachable!("only compounds have this form"),
        };
        writer.encoded(&(contents.len() as u32 + 4).to_be_bytes());
        writer.encoded(&count.to_be_bytes());
        writer.encoded(&contents.into_bytes());
    }
}

/// Reads a tree within its limits.
struct Tree {
    reading: &'static str,
    /// How many nodes it may still have.
    left: usize,
}

impl Tree {
    fn value(&mut self, reader: &mut Reader<'_>, depth: usize) -> Result<Value, CodecError> {
        let code = reader.constructor(self.reading)?;
        self.body(code, reader, depth)
    }

    fn body(
        &mut self,
        code: u8,
        reader: &mut Reader<'_>,
        depth: usize,
    ) -> Result<Value, CodecError> {
        let reading = self.reading;
        let too = |kind| Err(reader.error(reading, kind));
        let Some(depth) = depth.checked_sub(1) else {
            return too(CodecErrorKind::TooDeep);
        };
        let Some(left) = self.left.checked_sub(1) else {
            return too(CodecErrorKind::TooMany(ELEMENTS_MAX));
        };
        self.left = left;
        Ok(match code {
            0x00 => {
                let descriptor = self.value(reader, depth)?;
                let value = self.value(reader, depth)?;
                Value::Described(Box::new((descriptor, value)))
            }
            0x40 => Value::Null,
            0x41 => Value::Bool(true),
            0x42 => Value::Bool(false),
            0x56 => match reader.take_u8(reading)? {
                value @ (0 | 1) => Value::Bool(value == 1),
                value => {
                    let kind = CodecErrorKind::UndefinedValue(value.into());
                    return Err(reader.error(reading, kind));
                }
            },
            0x43 => Value::Uint(0),
            0x44 => Value::Ulong(0),
            0x45 => Value::List(Vec::new()),
            0x50 => Value::Ubyte(reader.take_u8(reading)?),
            0x51 => Value::Byte(reader.take_u8(reading)? as i8),
            0x52 => Value::Uint(reader.take_u8(reading)?.into()),
            0x53 => Value::Ulong(reader.take_u8(reading)?.into()),
            0x54 => Value::Int((reader.take_u8(reading)? as i8).into()),
            0x55 => Value::Long((reader.take_u8(reading)? as i8).into()),
            0x60 => Value::Ushort(u16::from_be_bytes(reader.take_array(reading)?)),
            0x61 => Value::Short(i16::from_be_bytes(reader.take_array(reading)?)),
            0x70 => Value::Uint(reader.take_u32(reading)?),
            0x71 => Value::Int(i32::from_be_bytes(reader.take_array(reading)?)),
            0x72 => Value::Float(f32::from_be_bytes(reader.take_array(reading)?)),
            0x73 => {
                let scalar = char::from_u32(reader.take_u32(reading)?);
                let bad = || reader.error(reading, CodecErrorKind::BadText);
                Value::Char(scalar.ok_or_else(bad)?)
            }
            0x74 => Value::Decimal32(reader.take_array(reading)?),
            0x80 => Value::Ulong(u64::from_be_bytes(reader.take_array(reading)?)),
            0x81 => Value::Long(i64::from_be_bytes(reader.take_array(reading)?)),
            0x82 => Value::Double(f64::from_be_bytes(reader.take_array(reading)?)),
            0x83 => Value::Timestamp(i64::from_be_bytes(reader.take_array(reading)?)),
            0x84 => Value::Decimal64(reader.take_array(reading)?),
            0x94 => Value::Decimal128(reader.take_array(reading)?),
            0x98 => Value::Uuid(reader.take_array(reading)?),
            0xA0 | 0xB0 => {
                let len = reader.take_len(code == 0xB0, reading)?;
                Value::Binary(Bytes::copy_from_slice(reader.take(len, reading)?))
            }
            0xA1 | 0xB1 => {
                let len = reader.take_len(code == 0xB1, reading)?;
                Value::text(reader.take_utf8(len, reading)?)
            }
            0xA3 | 0xB3 => {
                let len = reader.take_len(code == 0xB3, reading)?;
                let text = reader.take_ascii(len, reading)?;
                Value::Symbol(Symbol::from_text(text).expect("it was checked to be ASCII"))
            }
            0xC0 | 0xD0 => {
                let compound = reader.take_compound(code == 0xD0, reading)?;
                let (count, mut contents) = (compound.count, compound.contents);
                let values = (0..count).map(|_| self.value(&mut contents, depth));
                let values = values.collect::<Result<_, _>>()?;
                contents.must_be_empty(reading)?;
                Value::List(values)
            }
            0xC1 | 0xD1 => {
                let compound = reader.take_compound(code == 0xD1, reading)?;
                let (count, mut contents) = (compound.count, compound.contents);
                if count % 2 != 0 {
                    return Err(contents.error(reading, CodecErrorKind::BadSize));
                }
                let mut entries = Vec::new();
                for _ in 0..count / 2 {
                    let key = self.value(&mut contents, depth)?;
                    entries.push((key, self.value(&mut contents, depth)?));
                }
                contents.must_be_empty(reading)?;
                Value::Map(entries)
            }
            0xE0 | 0xF0 => {
                let compound = reader.take_compound(code == 0xF0, reading)?;
                let (count, mut contents) = (compound.count, compound.contents);
                if count == 0 {
                    return Ok(Value::Array(Array(Vec::new())));
                }
                let element = contents.constructor(reading)?;
                if element == 0 {
                    return Err(contents.error(reading, CodecErrorKind::UnknownConstructor(0)));
                }
                let values = (0..count).map(|_| self.body(element, &mut contents, depth));
                let values = values.collect::<Result<_, _>>()?;
                contents.must_be_empty(reading)?;
                Value::Array(Array(values))
            }
            _ => {
                let kind = CodecErrorKind::UnknownConstructor(code);
                return Err(reader.error(reading, kind));
            }
        })
    }
}
