//! Sequences of fixed-size elements that are read in place.

use std::fmt;
use std::marker::PhantomData;

use super::{Decode, DecodeError, Decoder, Encode, Encoder, EncodingVersion, View};

/// A sequence of fixed-size elements that is borrowed from the message instead of decoded.
///
/// Elements are numbers, `bool`, and structs of them ([`Decode::PACKED_LEN`]). They follow each other without gaps or
/// alignment, so they cannot be borrowed as a slice. An element is decoded at each access, which cannot fail and costs
/// about as much as an access to a slice. [`Packed::to_vec`] copies numbers as one block.
///
/// ```
/// use floe_wire::encoding::{Packed, View};
/// use floe_wire::{Decoder, EncodingVersion};
///
/// let bytes = b"\x02\x01\x00\x00\x00\x00\x00\x00\x00\xfe\xff\xff\xff\xff\xff\xff\xff";
/// let numbers = Packed::<i64>::decode_view(&mut Decoder::new(bytes, EncodingVersion::V1_1))?;
/// assert_eq!(numbers.get(1), Some(-2));
/// assert_eq!(numbers.iter().sum::<i64>(), -1);
/// # Ok::<_, floe_wire::DecodeError>(())
/// ```
pub struct Packed<'a, T> {
    /// A whole number of elements.
    bytes: &'a [u8],
    elements: PhantomData<fn() -> T>,
}

impl<'a, T: Decode> Packed<'a, T> {
    pub(super) const LEN: usize = match T::PACKED_LEN {
        Some(len) if len > 0 => len,
        _ => panic!("the elements of a packed sequence have a fixed length"),
    };

    /// Wraps `bytes`, which are a whole number of elements.
    #[inline]
    pub(super) fn of(bytes: &'a [u8]) -> Self {
        Self {
            bytes,
            elements: PhantomData,
        }
    }

    /// Number of elements.
    #[inline]
    pub fn len(&self) -> usize {
        self.bytes.len() / Self::LEN
    }

    /// Returns true if there is no element.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// The element at an index; `None` after the last one.
    #[inline]
    pub fn get(&self, index: usize) -> Option<T> {
        let start = index.checked_mul(Self::LEN)?;
        let end = start.checked_add(Self::LEN)?;
        self.bytes.get(start..end).map(element)
    }

    /// The elements in turn.
    #[inline]
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = T> + ExactSizeIterator + use<'a, T> {
        self.bytes.chunks_exact(Self::LEN).map(element)
    }

    /// The elements, decoded.
    pub fn to_vec(&self) -> Vec<T> {
        let mut decoder = Decoder::new(self.bytes, EncodingVersion::V1_1);
        T::decode_elements(&mut decoder, self.len()).expect(FIXED)
    }

    /// The bytes of the elements, as they are in the message: integers little-endian.
    pub fn as_bytes(&self) -> &'a [u8] {
        self.bytes
    }
}

impl<'a, T: Decode> View<'a> for Packed<'a, T> {
    type Owned = Vec<T>;

    const MIN_WIRE_LEN: usize = 1;

    #[inline]
    fn decode_view(decoder: &mut Decoder<'a>) -> Result<Self, DecodeError> {
        let count = decoder.count(Self::LEN, "sequence")?;
        Ok(Self {
            bytes: decoder.bytes(count * Self::LEN, "sequence")?,
            elements: PhantomData,
        })
    }

    fn into_owned(self) -> Vec<T> {
        self.to_vec()
    }
}

impl<T: Decode> Encode for Packed<'_, T> {
    fn encode(&self, encoder: &mut Encoder<'_>) {
        encoder.size(self.len());
        encoder.bytes(self.bytes);
    }
}

/// The packed form of no elements: nothing.
impl<T> Default for Packed<'_, T> {
    fn default() -> Self {
        Self {
            bytes: &[],
            elements: PhantomData,
        }
    }
}

impl<T> Clone for Packed<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Packed<'_, T> {}

impl<T: Decode + PartialEq> PartialEq for Packed<'_, T> {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

impl<T: Decode + fmt::Debug> fmt::Debug for Packed<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

/// The [`Decode::PACKED_LEN`] of a struct whose members have these lengths.
pub const fn packed_len(members: &[Option<usize>]) -> Option<usize> {
    let mut total = 0;
    let mut rest = members;
    while let [first, others @ ..] = rest {
        match *first {
            Some(len) => total += len,
            None => return None,
        }
        rest = others;
    }
    Some(total)
}

/// Decodes an element of a fixed length from exactly its bytes.
#[inline]
pub(super) fn element<T: Decode>(bytes: &[u8]) -> T {
    T::decode(&mut Decoder::new(bytes, EncodingVersion::V1_1)).expect(FIXED)
}

const FIXED: &str = "a type with PACKED_LEN takes any bytes of that length";
