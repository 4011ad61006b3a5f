//! Sequences: a size, then the elements.

use super::packed::element;
use super::{Decode, DecodeError, Decoder, Encode, Encoder};

impl<T: Encode> Encode for [T] {
    #[inline]
    fn encode(&self, encoder: &mut Encoder<'_>) {
        encoder.size(self.len());
        T::encode_elements(self, encoder);
    }
}

impl<T: Encode> Encode for Vec<T> {
    #[inline]
    fn encode(&self, encoder: &mut Encoder<'_>) {
        self.as_slice().encode(encoder);
    }
}

impl<T: Decode> Decode for Vec<T> {
    const MIN_WIRE_LEN: usize = 1;

    #[inline]
    fn decode(decoder: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        let count = decoder.count(T::MIN_WIRE_LEN, "sequence")?;
        T::decode_elements(decoder, count)
    }

    #[inline]
    fn decode_into(&mut self, decoder: &mut Decoder<'_>) -> Result<(), DecodeError> {
        let count = decoder.count(T::MIN_WIRE_LEN, "sequence")?;
        T::decode_elements_into(self, decoder, count)
    }
}

/// Reads the elements of a sequence. For elements of a fixed length, it checks the remaining bytes only once.
#[inline]
pub(super) fn decode_elements<T: Decode>(
    decoder: &mut Decoder<'_>,
    count: usize,
) -> Result<Vec<T>, DecodeError> {
    let mut elements = Vec::with_capacity(count);
    decode_more(&mut elements, decoder, count)?;
    Ok(elements)
}

/// Reads the elements of a sequence into those of a vector.
#[inline]
pub(super) fn decode_elements_into<T: Decode>(
    elements: &mut Vec<T>,
    decoder: &mut Decoder<'_>,
    count: usize,
) -> Result<(), DecodeError> {
    if T::PACKED_LEN.is_some() {
        elements.clear();
        elements.reserve_exact(count);
        return decode_more(elements, decoder, count);
    }
    elements.truncate(count);
    elements.reserve_exact(count - elements.len());
    let mut index = 0;
    decoder.each(count, T::MIN_WIRE_LEN, |decoder| {
        match elements.get_mut(index) {
            Some(element) => element.decode_into(decoder)?,
            None => elements.push(T::decode(decoder)?),
        }
        index += 1;
        Ok(())
    })
}

#[inline]
fn decode_more<T: Decode>(
    elements: &mut Vec<T>,
    decoder: &mut Decoder<'_>,
    count: usize,
) -> Result<(), DecodeError> {
    match T::PACKED_LEN {
        Some(len) if len > 0 => {
            let bytes = decoder.bytes(count.saturating_mul(len), "sequence")?;
            elements.extend(bytes.chunks_exact(len).map(element::<T>));
        }
        _ => {
            decoder.each(count, T::MIN_WIRE_LEN, |decoder| {
                elements.push(T::decode(decoder)?);
                Ok(())
            })?;
        }
    }
    Ok(())
}
