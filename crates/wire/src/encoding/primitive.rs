//! Built-in types.

use super::{Decode, DecodeError, Decoder, Encode, Encoder};

macro_rules! number {
    ($type:ty, $what:literal) => {
        impl Encode for $type {
            fn encode(&self, encoder: &mut Encoder<'_>) {
                encoder.bytes(&self.to_le_bytes());
            }

            fn encode_elements(elements: &[Self], encoder: &mut Encoder<'_>) {
                const LEN: usize = size_of::<$type>();
                let target = encoder.reserve(elements.len() * LEN);
                for (bytes, element) in target.chunks_exact_mut(LEN).zip(elements) {
                    bytes.copy_from_slice(&element.to_le_bytes());
                }
            }
        }

        impl Decode for $type {
            const MIN_WIRE_LEN: usize = size_of::<$type>();

            fn decode(decoder: &mut Decoder<'_>) -> Result<Self, DecodeError> {
                decoder.array($what).map(Self::from_le_bytes)
            }

            fn decode_elements(
                decoder: &mut Decoder<'_>,
                count: usize,
            ) -> Result<Vec<Self>, DecodeError> {
                const LEN: usize = size_of::<$type>();
                let bytes = decoder.bytes(count.saturating_mul(LEN), $what)?;
                let (elements, _) = bytes.as_chunks::<LEN>();
                Ok(elements
                    .iter()
                    .map(|element| Self::from_le_bytes(*element))
                    .collect())
            }
        }
    };
}

number!(u8, "byte");
number!(i16, "short");
number!(i32, "int");
number!(i64, "long");
number!(f32, "float");
number!(f64, "double");

impl Encode for bool {
    fn encode(&self, encoder: &mut Encoder<'_>) {
        encoder.byte(u8::from(*self));
    }
}

/// Any byte but zero is true.
impl Decode for bool {
    const MIN_WIRE_LEN: usize = 1;

    fn decode(decoder: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        decoder.byte("bool").map(|byte| byte != 0)
    }
}

impl Encode for str {
    fn encode(&self, encoder: &mut Encoder<'_>) {
        encoder.string(self);
    }
}

impl Encode for String {
    fn encode(&self, encoder: &mut Encoder<'_>) {
        encoder.string(self);
    }
}

impl Decode for String {
    const MIN_WIRE_LEN: usize = 1;

    fn decode(decoder: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        decoder.str("string").map(str::to_owned)
    }
}

impl<T: Encode + ?Sized> Encode for &T {
    fn encode(&self, encoder: &mut Encoder<'_>) {
        (*self).encode(encoder);
    }
}
