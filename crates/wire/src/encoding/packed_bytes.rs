//! Sequences of fixed-size elements that stay in the message that brought them, and own a share of it.

use std::fmt;
use std::marker::PhantomData;

use bytes::Bytes;

use super::tagged::elements_len;
use super::{
    Decode, DecodeError, Decoder, Encode, Encoder, EncodingVersion, Packed, TagFormat, Tagged,
};

/// A sequence of elements of a fixed size, kept as the bytes that travel.
///
/// It is to [`Packed`] what [`Bytes`] is to `&[u8]`: decoded from shared bytes, a message say, it is a
/// slice of them. No element is copied, and the whole message stays in memory as long as the value
/// lives. A clone shares the bytes, too, and so does a message that it is sent in, if it is long. An element is decoded each time that it is asked for, which
/// cannot fail and costs about what reading a slice costs.
///
/// Elements are numbers, `bool`, and structs of nothing else ([`Decode::PACKED_LEN`]).
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

    /// Whether there is no element.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// The element at an index, `None` beyond the last one.
    #[inline]
    pub fn get(&self, index: usize) -> Option<T> {
        self.as_packed().get(index)
    }

    /// The elements in turn.
    #[inline]
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = T> + ExactSizeIterator + use<'_, T> {
        self.as_packed().iter()
    }

    /// The elements, decoded: numbers as one block.
    pub fn to_vec(&self) -> Vec<T> {
        self.as_packed().to_vec()
    }

    /// The same sequence, borrowed.
    #[inline]
    pub fn as_packed(&self) -> Packed<'_, T> {
        Packed::of(&self.bytes)
    }

    /// The bytes of the elements, as they travel: integers little-endian.
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

/// Nothing: the packed form of no elements.
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
    fn it_has_the_bytes_of_a_vec() {
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
    fn what_is_decoded_from_a_message_shares_its_bytes() {
        let message = Bytes::from(encoded(|encoder| encoder.put(&vec![7_i64, -8])));
        let mut decoder = Decoder::new(&message, EncodingVersion::V1_1).with_owner(&message);
        let packed: PackedBytes<i64> = decoder.get().expect("two numbers");
        assert_eq!(packed.as_bytes().as_ptr(), message[1..].as_ptr());
        assert_eq!(packed.clone().as_bytes().as_ptr(), message[1..].as_ptr());
        assert_eq!((packed.get(1), packed.get(2)), (Some(-8), None));
    }

    #[test]
    fn each_way_to_make_one_gives_the_same() {
        let packed: PackedBytes<i16> = (1..4).collect();
        assert_eq!(packed, vec![1, 2, 3].into());
        assert_ne!(packed, PackedBytes::default());
        assert!(PackedBytes::<i16>::default().is_empty());
        assert_eq!(format!("{packed:?}"), "[1, 2, 3]");
    }

    #[test]
    fn one_cut_short_is_refused_wherever_it_ends() {
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
