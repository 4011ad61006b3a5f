//! Sequences: a size, then the elements.

use super::{Decode, DecodeError, Decoder, Encode, Encoder};

impl<T: Encode> Encode for [T] {
    fn encode(&self, encoder: &mut Encoder<'_>) {
        encoder.size(self.len());
        T::encode_elements(self, encoder);
    }
}

impl<T: Encode> Encode for Vec<T> {
    fn encode(&self, encoder: &mut Encoder<'_>) {
        self.as_slice().encode(encoder);
    }
}

impl<T: Decode> Decode for Vec<T> {
    const MIN_WIRE_LEN: usize = 1;

    fn decode(decoder: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        let count = decoder.count(T::MIN_WIRE_LEN, "sequence")?;
        T::decode_elements(decoder, count)
    }
}
