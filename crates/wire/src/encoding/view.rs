//! Values that borrow from the message that contains them.

use std::collections::BTreeMap;

use super::{Decode, DecodeError, Decoder};

/// A value that is read in place: text and bytes are borrowed from the message instead of copied.
///
/// A view relates to its owned type as `&str` relates to `String`, and has the same encoding. Malformed values are
/// found during decoding, as with [`Decode`]; using a view cannot fail.
///
/// | Slice | owned | view |
/// |---|---|---|
/// | `string` | `String` | `&str` |
/// | `sequence<byte>` | `Vec<u8>` | `&[u8]` |
/// | sequence of numbers, `bool`, or structs of these | `Vec<T>` | [`Packed<T>`](super::Packed) |
/// | struct `S` with `["rust:view"]` | `S` | `SView`, generated |
/// | sequence of strings, or of anything else that has a view | `Vec<T>` | `Vec` of views |
/// | dictionary with such keys or values | `BTreeMap<K, V>` | `BTreeMap` of views |
/// | anything else | `T` | `T` |
///
/// ```
/// use floe_wire::{Decoder, EncodingVersion};
///
/// let bytes = b"\x02\x05hello\x05world";
/// let mut decoder = Decoder::new(bytes, EncodingVersion::V1_1);
/// let words: Vec<&str> = decoder.view()?;
/// assert_eq!(words, ["hello", "world"]);
/// # Ok::<_, floe_wire::DecodeError>(())
/// ```
pub trait View<'a>: Sized {
    /// The type with the same encoding that owns its data.
    type Owned;

    /// As [`Decode::MIN_WIRE_LEN`].
    const MIN_WIRE_LEN: usize;

    /// Reads a value that borrows from the decoder's bytes.
    ///
    /// # Errors
    /// As [`Decode::decode`].
    fn decode_view(decoder: &mut Decoder<'a>) -> Result<Self, DecodeError>;

    /// Copies what the value borrows.
    fn into_owned(self) -> Self::Owned;

    /// Reads `count` elements of a sequence. The caller has compared `count` with the remaining bytes.
    ///
    /// # Errors
    /// As [`Decode::decode`].
    #[inline]
    fn decode_views(decoder: &mut Decoder<'a>, count: usize) -> Result<Vec<Self>, DecodeError> {
        let mut views = Vec::with_capacity(count);
        decoder.each(count, Self::MIN_WIRE_LEN, |decoder| {
            views.push(Self::decode_view(decoder)?);
            Ok(())
        })?;
        Ok(views)
    }
}

impl<'a> View<'a> for &'a str {
    type Owned = String;

    const MIN_WIRE_LEN: usize = 1;

    #[inline]
    fn decode_view(decoder: &mut Decoder<'a>) -> Result<Self, DecodeError> {
        decoder.str("string")
    }

    fn into_owned(self) -> String {
        self.to_owned()
    }
}

impl<'a> View<'a> for &'a [u8] {
    type Owned = Vec<u8>;

    const MIN_WIRE_LEN: usize = 1;

    #[inline]
    fn decode_view(decoder: &mut Decoder<'a>) -> Result<Self, DecodeError> {
        let len = decoder.count(1, "sequence")?;
        decoder.bytes(len, "sequence")
    }

    fn into_owned(self) -> Vec<u8> {
        self.to_owned()
    }
}

/// Keys in views keep their order, so that a view can be searched with a borrowed key.
impl<'a, K: View<'a, Owned: Ord> + Ord, V: View<'a>> View<'a> for BTreeMap<K, V> {
    type Owned = BTreeMap<K::Owned, V::Owned>;

    const MIN_WIRE_LEN: usize = 1;

    fn decode_view(decoder: &mut Decoder<'a>) -> Result<Self, DecodeError> {
        let min_wire_len = K::MIN_WIRE_LEN + V::MIN_WIRE_LEN;
        let count = decoder.count(min_wire_len, "dictionary")?;
        let mut map = Self::new();
        decoder.each(count, min_wire_len, |decoder| {
            let key = K::decode_view(decoder)?;
            map.insert(key, V::decode_view(decoder)?);
            Ok(())
        })?;
        Ok(map)
    }

    fn into_owned(self) -> Self::Owned {
        let entries = self.into_iter();
        entries
            .map(|(key, value)| (key.into_owned(), value.into_owned()))
            .collect()
    }
}

/// Values that borrow nothing.
macro_rules! itself {
    ($($type:ty),*) => {$(
        impl<'a> View<'a> for $type {
            type Owned = Self;

            const MIN_WIRE_LEN: usize = <Self as Decode>::MIN_WIRE_LEN;

            #[inline]
            fn decode_view(decoder: &mut Decoder<'a>) -> Result<Self, DecodeError> {
                Self::decode(decoder)
            }

            fn into_owned(self) -> Self {
                self
            }
        }
    )*};
}

itself!(bool, u8, i16, i32, i64, f32, f64);

impl<'a, V: View<'a>> View<'a> for Vec<V> {
    type Owned = Vec<V::Owned>;

    const MIN_WIRE_LEN: usize = 1;

    #[inline]
    fn decode_view(decoder: &mut Decoder<'a>) -> Result<Self, DecodeError> {
        let count = decoder.count(V::MIN_WIRE_LEN, "sequence")?;
        V::decode_views(decoder, count)
    }

    fn into_owned(self) -> Vec<V::Owned> {
        self.into_iter().map(V::into_owned).collect()
    }
}
