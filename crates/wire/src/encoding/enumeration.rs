//! Encodes enumerators.

use super::{DecodeError, Decoder, Encoder, EncodingVersion};

/// Width of an enumeration in encoding 1.0: the smallest integer above its largest value.
///
/// In encoding 1.1 an enumerator is a size, with any type. The comparisons are strict: a largest value of 127 takes two
/// bytes. Vectors: `tests/vectors/enums.json`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EnumWidth {
    /// Largest value below 127.
    Byte,
    /// Largest value below 32,767.
    Short,
    /// Any larger value.
    Int,
}

impl EnumWidth {
    /// The width of an enumeration with this largest value.
    pub const fn for_max(max: i32) -> Self {
        match max {
            ..127 => Self::Byte,
            127..32_767 => Self::Short,
            _ => Self::Int,
        }
    }

    /// Appends the value of an enumerator.
    pub fn encode(self, value: i32, encoder: &mut Encoder<'_>) {
        if encoder.encoding() != EncodingVersion::V1_0 {
            return encoder.size(value as usize);
        }
        match self {
            Self::Byte => encoder.byte(value as u8),
            Self::Short => encoder.bytes(&(value as i16).to_le_bytes()),
            Self::Int => encoder.int(value),
        }
    }

    /// Reads the value of an enumerator. The caller checks whether the enumeration has it.
    ///
    /// # Errors
    /// As [`Decoder::size`].
    pub fn decode(self, decoder: &mut Decoder<'_>, what: &'static str) -> Result<i32, DecodeError> {
        if decoder.encoding() != EncodingVersion::V1_0 {
            return decoder.size(what).map(|value| value as i32);
        }
        match self {
            Self::Byte => decoder.byte(what).map(i32::from),
            Self::Short => decoder.array(what).map(i16::from_le_bytes).map(i32::from),
            Self::Int => decoder.int(what),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::EnumWidth;

    #[test]
    fn a_largest_value_equal_to_the_limit_takes_the_next_wider_integer() {
        assert_eq!(EnumWidth::for_max(126), EnumWidth::Byte);
        assert_eq!(EnumWidth::for_max(127), EnumWidth::Short);
        assert_eq!(EnumWidth::for_max(32_766), EnumWidth::Short);
        assert_eq!(EnumWidth::for_max(32_767), EnumWidth::Int);
    }
}
