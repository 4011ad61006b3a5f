//! An encoded value that is passed on and not looked at.

use bytes::Bytes;

use super::{CodecError, Field, Reader, Value, Writer};

/// One encoded value of any type, checked when it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Raw(Bytes);

impl Raw {
    /// Encodes a value.
    pub fn of(value: &Value) -> Self {
        let mut writer = Writer::default();
        value.encode(&mut writer);
        Self(writer.into_bytes().into())
    }

    /// Its bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// The value.
    ///
    /// # Errors
    /// If it is a described array, which [`Value`] does not hold.
    pub fn value(&self) -> Result<Value, CodecError> {
        Value::decode(&mut Reader::new(&self.0), "a value")
    }

    /// True if it is a map without entries.
    pub fn is_empty_map(&self) -> bool {
        let map = Reader::new(&self.0).map("a map");
        map.is_ok_and(|(count, _)| count == 0)
    }
}

impl Field for Raw {
    fn decode(reader: &mut Reader<'_>, reading: &'static str) -> Result<Self, CodecError> {
        let start = reader.position();
        reader.check(reading)?;
        Ok(Self(Bytes::copy_from_slice(reader.since(start))))
    }

    fn encode(&self, writer: &mut Writer) {
        writer.encoded(&self.0);
    }
}
