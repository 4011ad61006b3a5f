//! Sequences of fixed-size elements that share the memory of their message.

use std::fmt;
use std::marker::PhantomData;

use bytes::Bytes;

use super::tagged::elements_len;
use super::{
    Decode, DecodeError, Decoder, Encode, Encoder, EncodingVersion, Packed, TagFormat, Tagged,
};

/// A sequence of fixed-size elements, stored as encoded bytes.
///
/// It relates to [`Packed`] as [`Bytes`] relates to `&[u8]`. If it is decoded from shared bytes, for example a message,
/// it is a slice of them: no element is copied, and the whole message stays in memory while the value lives. A clone
/// shares the bytes. A message that sends a long one shares them too. An element is decoded at each access, which
/// cannot fail and costs about as much as an access to a slice.
///
/// Elements are numbers, `bool`, and structs of them ([`Decode::PACKED_LEN`]).
///
/// ```
/// use floe_wire::encoding::PackedBytes;
///
/// let numbers = PackedBytes::from(vec![1.5, 2.5]);
/// assert_eq!(numbers.get(1), Some(2.5));
/// assert_eq!(numbers.iter().sum::<f64>(), 4.0);
/// ```
pub struct PackedBytes<T> {
    /// A whole number of elements.
    bytes: Bytes,
    elements: PhantomData<fn() -> T>,
}

impl<T: Decode> PackedBytes<T> {
    /// Number of elements.
    #[inline]
    pub fn len(&self) -> usize {
        self.as_packed().len()
    }

    /// Returns true if there is no element.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// The element at an index; `None` after the last one.
    #[inline]
    pub fn get(&self, index: usize) -> Option<T> {
        self.as_packed().get(index)
    }

    /// The elements in turn.
    #[inline]
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = T> + ExactSizeIterator + use<'_, T> {
        self.as_packed().iter()
    }

    /// Decodes the elements. Numbers are copied as one block.
    pub fn to_vec(&self) -> Vec<T> {
        self.as_packed().to_vec()
    }

    /// Borrows the sequence.
    #[inline]
    pub fn as_packed(&self) -> Packed<'_, T> {
        Packed::of(&self.bytes)
    }

    /// The bytes of the elements, as they are encoded: integers little-endian.
    pub fn as_bytes(&self) -> &Bytes {
        &self.bytes
    }
}

impl<T: Encode + Decode> From<&[T]> for PackedBytes<T> {
    fn from(elements: &[T]) -> Self {
        const { assert!(T::PACKED_LEN.is_some(), "elements have a fixed length") };
        let mut bytes = Vec::new();
        let mut encoder = Encoder::new(&mut bytes, EncodingVersion::V1_1);
        T::encode_elements(elements, &mut encoder);
        encoder.finish().expect("numbers have always an encoding");
        Self {
            bytes: bytes.into(),
            elements: PhantomData,
        }
    }
}

impl<T: Encode + Decode> From<Vec<T>> for PackedBytes<T> {
    fn from(elements: Vec<T>) -> Self {
        Self::from(&*elements)
    }
}

impl<T: Encode + Decode> FromIterator<T> for PackedBytes<T> {
    fn from_iter<I: IntoIterator<Item = T>>(elements: I) -> Self {
        Self::from(Vec::from_iter(elements))
    }
}

impl<T: Decode> Encode for PackedBytes<T> {
    fn encode(&self, encoder: &mut Encoder<'_>) {
        encoder.size(self.len());
        encoder.shared_bytes(&self.bytes);
    }
}

impl<T: Decode> Decode for PackedBytes<T> {
    const MIN_WIRE_LEN: usize = 1;

    fn decode(decoder: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        let count = decoder.count(Packed::<T>::LEN, "sequence")?;
        Ok(Self {
            bytes: decoder.shared_bytes(count * Packed::<T>::LEN, "sequence")?,
            elements: PhantomData,
        })
    }
}

impl<T: Tagged + Decode> Tagged for PackedBytes<T> {
    const FORMAT: TagFormat = <[T]>::FORMAT;
    const HAS_OWN_LEN: bool = <[T]>::HAS_OWN_LEN;

    fn wire_len(&self) -> usize {
        elements_len(self.len(), T::FIXED_LEN)
    }
}

/// The packed form of no elements: nothing.
impl<T> Default for PackedBytes<T> {
    fn default() -> Self {
        Self {
            bytes: Bytes::new(),
            elements: PhantomData,
        }
    }
}

impl<T> Clone for PackedBytes<T> {
    fn clone(&self) -> Self {
        Self {
            bytes: self.bytes.clone(),
            elements: PhantomData,
        }
    }
}

impl<T: Decode + PartialEq> PartialEq for PackedBytes<T> {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

impl<T: Decode + Eq> Eq for PackedBytes<T> {}

impl<T: Decode + fmt::Debug> fmt::Debug for PackedBytes<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_packed().fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn encoded(encode: impl FnOnce(&mut Encoder<'_>)) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut encoder = Encoder::new(&mut bytes, EncodingVersion::V1_1);
        encode(&mut encoder);
        encoder.finish().expect("it has an encoding");
        bytes
    }

    #[test]
    fn it_is_encoded_like_a_vec() {
        let plain = vec![0.0, -1.5, f64::MAX];
        let packed = PackedBytes::from(&*plain);
        let bytes = encoded(|encoder| {
            encoder.put(&plain);
            encoder.tagged(1, Some(&plain));
        });
        assert_eq!(
            bytes,
            encoded(|encoder| {
                encoder.put(&packed);
                encoder.tagged(1, Some(&packed));
            })
        );
        let mut decoder = Decoder::new(&bytes, EncodingVersion::V1_1);
        assert_eq!(decoder.get(), Ok(packed.clone()));
        assert_eq!(decoder.tagged(1), Ok(Some(packed.clone())));
        assert_eq!((decoder.remaining(), packed.to_vec()), (0, plain));
    }

    #[test]
    fn a_value_decoded_from_a_message_shares_its_bytes() {
        let message = Bytes::from(encoded(|encoder| encoder.put(&vec![7_i64, -8])));
        let mut decoder = Decoder::new(&message, EncodingVersion::V1_1).with_owner(&message);
        let packed: PackedBytes<i64> = decoder.get().expect("two numbers");
        assert_eq!(packed.as_bytes().as_ptr(), message[1..].as_ptr());
        assert_eq!(packed.clone().as_bytes().as_ptr(), message[1..].as_ptr());
        assert_eq!((packed.get(1), packed.get(2)), (Some(-8), None));
    }

    #[test]
    fn all_constructors_give_equal_values() {
        let packed: PackedBytes<i16> = (1..4).collect();
        assert_eq!(packed, vec![1, 2, 3].into());
        assert_ne!(packed, PackedBytes::default());
        assert!(PackedBytes::<i16>::default().is_empty());
        assert_eq!(format!("{packed:?}"), "[1, 2, 3]");
    }

    #[test]
    fn a_truncated_sequence_is_refused() {
        let bytes = encoded(|encoder| encoder.put(&vec![1_i32; 300]));
        for end in 0..bytes.len() {
            let short = Bytes::copy_from_slice(&bytes[..end]);
            let mut decoder = Decoder::new(&short, EncodingVersion::V1_1).with_owner(&short);
            assert!(decoder.get::<PackedBytes<i32>>().is_err(), "{end}");
        }
        let hostile = [255, 255, 255, 255, 127];
        let mut decoder = Decoder::new(&hostile, EncodingVersion::V1_1);
        assert!(decoder.get::<PackedBytes<i32>>().is_err());
    }
}
