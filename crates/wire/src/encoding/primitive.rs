//! Built-in types.

use super::{Decode, DecodeError, Decoder, Encode, Encoder};

macro_rules! number {
    ($type:ty, $what:literal) => {
        impl Encode for $type {
            #[inline]
            fn encode(&self, encoder: &mut Encoder<'_>) {
                encoder.bytes(&self.to_le_bytes());
            }

            #[inline]
            fn encode_elements(elements: &[Self], encoder: &mut Encoder<'_>) {
                if cfg!(target_endian = "little") {
                    return encoder.bytes(bytemuck::cast_slice(elements));
                }
                for element in elements {
                    element.encode(encoder);
                }
            }
        }

        impl Decode for $type {
            const MIN_WIRE_LEN: usize = size_of::<$type>();
            const PACKED_LEN: Option<usize> = Some(size_of::<$type>());

            #[inline]
            fn decode(decoder: &mut Decoder<'_>) -> Result<Self, DecodeError> {
                decoder.array($what).map(Self::from_le_bytes)
            }

            #[inline]
            fn decode_elements(
                decoder: &mut Decoder<'_>,
                count: usize,
            ) -> Result<Vec<Self>, DecodeError> {
                let len = count.saturating_mul(size_of::<$type>());
                let bytes = decoder.bytes(len, $what)?;
                Ok(numbers(bytes, Self::from_le_bytes))
            }

            #[inline]
            fn decode_elements_into(
                elements: &mut Vec<Self>,
                decoder: &mut Decoder<'_>,
                count: usize,
            ) -> Result<(), DecodeError> {
                if elements.capacity() < count || cfg!(target_endian = "big") {
                    *elements = Self::decode_elements(decoder, count)?;
                    return Ok(());
                }
                let bytes = decoder.bytes(count.saturating_mul(size_of::<$type>()), $what)?;
                elements.resize(count, 0 as Self);
                bytemuck::cast_slice_mut(elements).copy_from_slice(bytes);
                Ok(())
            }
        }
    };
}

/// Decodes numbers. As a function of its own that is not inlined, it becomes one `memcpy`.
#[inline(never)]
fn numbers<T, const LEN: usize>(bytes: &[u8], from_le_bytes: impl Fn([u8; LEN]) -> T) -> Vec<T> {
    let (chunks, _) = bytes.as_chunks::<LEN>();
    chunks.iter().map(|chunk| from_le_bytes(*chunk)).collect()
}

number!(u8, "byte");
number!(i16, "short");
number!(i32, "int");
number!(i64, "long");
number!(f32, "float");
number!(f64, "double");

impl Encode for bool {
    #[inline]
    fn encode(&self, encoder: &mut Encoder<'_>) {
        encoder.byte(u8::from(*self));
    }
}

/// Any byte but zero is `true`.
impl Decode for bool {
    const MIN_WIRE_LEN: usize = 1;
    const PACKED_LEN: Option<usize> = Some(1);

    #[inline]
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

    #[inline]
    fn decode(decoder: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        decoder.str("string").map(str::to_owned)
    }

    #[inline]
    fn decode_into(&mut self, decoder: &mut Decoder<'_>) -> Result<(), DecodeError> {
        let text = decoder.str("string")?;
        self.clear();
        self.push_str(text);
        Ok(())
    }
}

impl<T: Encode + ?Sized> Encode for &T {
    fn encode(&self, encoder: &mut Encoder<'_>) {
        (*self).encode(encoder);
    }
}
