//! Sequences in containers other than `Vec`: those of the standard library, those of other crates in a [`Collected`],
//! and bytes that share the memory of their message.

use std::collections::{BTreeSet, HashSet, LinkedList, VecDeque};
use std::hash::{BuildHasher, Hash};
use std::ops::{Deref, DerefMut};

use bytes::Bytes;

use super::tagged::elements_len;
use super::{Decode, DecodeError, Decoder, Encode, Encoder, TagFormat, Tagged};

/// A container of any crate as a sequence: `Collected<SmallVec<[i32; 4]>>`.
///
/// The container must be made from an iterator of its elements and be iterated by reference, with
/// its exact length known.
///
/// ```
/// use floe_wire::encoding::Collected;
///
/// let numbers: Collected<Vec<i32>> = [1, 2].into_iter().collect();
/// assert_eq!(numbers.len(), 2);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Collected<C>(pub C);

impl<C> Deref for Collected<C> {
    type Target = C;

    fn deref(&self) -> &C {
        &self.0
    }
}

impl<C> DerefMut for Collected<C> {
    fn deref_mut(&mut self) -> &mut C {
        &mut self.0
    }
}

impl<C> From<C> for Collected<C> {
    fn from(container: C) -> Self {
        Self(container)
    }
}

impl<T, C: FromIterator<T>> FromIterator<T> for Collected<C> {
    fn from_iter<I: IntoIterator<Item = T>>(elements: I) -> Self {
        Self(elements.into_iter().collect())
    }
}

impl<C: IntoIterator> Encode for Collected<C>
where
    C::Item: Encode,
    for<'a> &'a C: IntoIterator<Item = &'a C::Item, IntoIter: ExactSizeIterator>,
{
    fn encode(&self, encoder: &mut Encoder<'_>) {
        encode_all((&self.0).into_iter(), encoder);
    }
}

impl<C: IntoIterator + FromIterator<C::Item>> Decode for Collected<C>
where
    C::Item: Decode,
{
    const MIN_WIRE_LEN: usize = 1;

    fn decode(decoder: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        decode_all(decoder).map(Self)
    }
}

impl<C: IntoIterator> Tagged for Collected<C>
where
    C::Item: Tagged,
    for<'a> &'a C: IntoIterator<Item = &'a C::Item, IntoIter: ExactSizeIterator>,
{
    const FORMAT: TagFormat = <[C::Item]>::FORMAT;
    const HAS_OWN_LEN: bool = <[C::Item]>::HAS_OWN_LEN;

    fn wire_len(&self) -> usize {
        elements_len((&self.0).into_iter().len(), C::Item::FIXED_LEN)
    }
}

/// Sequences in containers of the standard library. A container that holds each element once loses duplicates when it
/// is decoded.
macro_rules! containers {
    ($($container:ty $(where [$($bound:tt)+] $([$($parameter:tt)+])?)?;)*) => {$(
        impl<T: Encode $($(, $($parameter)+)?)?> Encode for $container {
            fn encode(&self, encoder: &mut Encoder<'_>) {
                encode_all(self.iter(), encoder);
            }
        }

        impl<T: Decode $($(+ $bound)+ $(, $($parameter)+ + Default)?)?> Decode for $container {
            const MIN_WIRE_LEN: usize = 1;

            fn decode(decoder: &mut Decoder<'_>) -> Result<Self, DecodeError> {
                decode_all(decoder)
            }
        }

        impl<T: Tagged $($(, $($parameter)+)?)?> Tagged for $container {
            const FORMAT: TagFormat = <[T]>::FORMAT;
            const HAS_OWN_LEN: bool = <[T]>::HAS_OWN_LEN;

            fn wire_len(&self) -> usize {
                elements_len(self.len(), T::FIXED_LEN)
            }
        }
    )*};
}
containers! {
    Box<[T]>;
    VecDeque<T>;
    LinkedList<T>;
    BTreeSet<T> where [Ord];
    HashSet<T, S> where [Hash Eq] [S: BuildHasher];
}

/// A sequence of bytes. It is decoded without a copy if the decoder reads from shared bytes, and a long one is encoded
/// without a copy if the encoder appends to a [`Buffer`](super::Buffer).
impl Encode for Bytes {
    fn encode(&self, encoder: &mut Encoder<'_>) {
        encoder.size(self.len());
        encoder.shared_bytes(self);
    }
}

impl Decode for Bytes {
    const MIN_WIRE_LEN: usize = 1;

    fn decode(decoder: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        let len = decoder.size("sequence")?;
        decoder.shared_bytes(len, "sequence")
    }
}

impl Tagged for Bytes {
    const FORMAT: TagFormat = <[u8]>::FORMAT;
    const HAS_OWN_LEN: bool = <[u8]>::HAS_OWN_LEN;
}

fn encode_all<'a, T: Encode + 'a>(
    elements: impl ExactSizeIterator<Item = &'a T>,
    encoder: &mut Encoder<'_>,
) {
    encoder.size(elements.len());
    for element in elements {
        element.encode(encoder);
    }
}

fn decode_all<T: Decode, C: FromIterator<T>>(decoder: &mut Decoder<'_>) -> Result<C, DecodeError> {
    let count = decoder.count(T::MIN_WIRE_LEN, "sequence")?;
    decoder.elements(count, T::MIN_WIRE_LEN).collect()
}

#[cfg(test)]
mod tests {
    use std::fmt::Debug;

    use super::*;
    use crate::encoding::EncodingVersion;

    #[test]
    fn every_container_is_encoded_like_a_vec() {
        fn check<C: Encode + Decode + Tagged + PartialEq + Debug + FromIterator<i32>>() {
            let plain = vec![1, 5, 9];
            let container: C = plain.iter().copied().collect();
            let mut bytes = Vec::new();
            let mut encoder = Encoder::new(&mut bytes, EncodingVersion::V1_1);
            encoder.put(&container);
            encoder.tagged(1, Some(&container));
            let mut expected = Vec::new();
            let mut encoder = Encoder::new(&mut expected, EncodingVersion::V1_1);
            encoder.put(&plain);
            encoder.tagged(1, Some(&plain));
            let decoder = &mut Decoder::new(&expected, EncodingVersion::V1_1);
            assert_eq!(decoder.get::<C>().as_ref(), Ok(&container));
            assert_eq!(decoder.tagged::<C>(1), Ok(Some(container)));
            assert_eq!(decoder.remaining(), 0);
            bytes.sort_unstable();
            expected.sort_unstable();
            assert_eq!(bytes, expected);
        }
        check::<Box<[i32]>>();
        check::<VecDeque<i32>>();
        check::<LinkedList<i32>>();
        check::<BTreeSet<i32>>();
        check::<HashSet<i32>>();
        check::<Collected<Vec<i32>>>();
        check::<Collected<BTreeSet<i32>>>();
    }

    #[test]
    fn an_element_cannot_claim_the_bytes_of_later_elements() {
        let bytes = [2, 1, 0];
        let error = |offset: Result<usize, DecodeError>| offset.unwrap_err().offset;
        let decoder = || Decoder::new(&bytes, EncodingVersion::V1_1);
        let plain = decoder().get::<Vec<Vec<String>>>().map(|it| it.len());
        let linked = decoder().get::<LinkedList<LinkedList<String>>>();
        assert_eq!(error(plain), 1);
        assert_eq!(error(linked.map(|it| it.len())), 1);
    }

    #[test]
    fn shared_bytes_are_not_copied_and_others_are() {
        let message = Bytes::from_static(&[9, 9, 3, 1, 2, 3]);
        let mut decoder = Decoder::new(&message[2..], EncodingVersion::V1_1).with_owner(&message);
        let decoded: Bytes = decoder.get().expect("three bytes");
        assert_eq!(*decoded, [1, 2, 3]);
        assert_eq!(decoded.as_ptr(), message[3..].as_ptr());

        let other = [3, 1, 2, 3];
        for mut decoder in [
            Decoder::new(&other, EncodingVersion::V1_1),
            Decoder::new(&other, EncodingVersion::V1_1).with_owner(&message),
        ] {
            let decoded: Bytes = decoder.get().expect("three bytes");
            assert_eq!(*decoded, [1, 2, 3]);
        }
        let mut short = Decoder::new(&message[2..5], EncodingVersion::V1_1).with_owner(&message);
        assert!(short.get::<Bytes>().is_err());
    }

    #[test]
    fn a_hostile_count_allocates_nothing() {
        let bytes = [255, 255, 255, 255, 127];
        let mut decoder = Decoder::new(&bytes, EncodingVersion::V1_1);
        assert!(decoder.get::<VecDeque<i32>>().is_err());
        let mut decoder = Decoder::new(&bytes, EncodingVersion::V1_1);
        assert!(decoder.get::<Bytes>().is_err());
    }
}
