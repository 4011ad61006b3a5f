//! Tagged (optional) values, in encoding 1.1: a header with the tag, then the value.
//!
//! Encoding 1.0 has none: they are not written, and are unset when read.

use std::collections::{BTreeMap, HashMap};
use std::hash::BuildHasher;

use super::class::{AnyClass, ClassType, Link};
use super::slice::TagScope;
use super::{Decode, DecodeError, DecodeErrorKind, Decoder, Encode, Encoder, EncodingVersion};
use super::{Nilable, ProtocolVersion};

/// The byte that ends the tagged members of a slice.
pub(super) const END_MARKER: u8 = 0xFF;
/// The tag field that says that the tag follows as a size.
const LONG_TAG: u8 = 30;

/// A type whose values may be tagged.
///
/// Source: Ice manual, "Data Encoding for Optional Values". Vectors: `tests/vectors/optionals.json`.
pub trait Tagged: Encode {
    /// The format, which says how the length of a value is encoded.
    const FORMAT: TagFormat;

    /// The number of bytes of every value, if it is always the same. An enumeration has none.
    const FIXED_LEN: Option<usize> = None;

    /// True if a value of format [`TagFormat::VSize`] starts with its length, as strings and sequences of one-byte
    /// elements do. Other values are preceded by it.
    const HAS_OWN_LEN: bool = false;

    /// The number of bytes of this value, if its format is [`TagFormat::VSize`].
    fn wire_len(&self) -> usize {
        Self::FIXED_LEN.unwrap_or_default()
    }
}

impl TagFormat {
    /// The format of a structure or sequence whose members or elements have this length together.
    pub const fn of_parts(fixed_len: Option<usize>) -> Self {
        match fixed_len {
            Some(_) => Self::VSize,
            None => Self::FSize,
        }
    }

    /// The length of two parts together, if both have a fixed length.
    pub const fn sum(one: Option<usize>, other: Option<usize>) -> Option<usize> {
        match (one, other) {
            (Some(one), Some(other)) => Some(one + other),
            _ => None,
        }
    }
}

impl Encoder<'_> {
    /// Appends a tagged value if it is set. Tags must come in increasing order.
    pub fn tagged<T: Tagged + ?Sized>(&mut self, tag: u32, value: Option<&T>) {
        if let Some(value) = value {
            let len = (!T::HAS_OWN_LEN).then(|| value.wire_len());
            self.tagged_with(tag, T::FORMAT, len, |encoder| encoder.put(value));
        }
    }

    /// Appends a tagged proxy if it is set. Nil counts as a value.
    pub fn tagged_proxy<T: Nilable>(&mut self, tag: u32, value: Option<Option<&T>>) {
        if let Some(proxy) = value {
            self.tagged_with(tag, TagFormat::FSize, None, |encoder| {
                T::encode_nilable(proxy, encoder);
            });
        }
    }

    /// Appends a tagged value that `write` writes. `len_in_front` is its number of bytes, if the format is
    /// [`TagFormat::VSize`] and the value does not start with it.
    pub fn tagged_with(
        &mut self,
        tag: u32,
        format: TagFormat,
        len_in_front: Option<usize>,
        write: impl FnOnce(&mut Self),
    ) {
        if let Some(open) = self.open_tagged(tag, format) {
            if let (TagFormat::VSize, Some(len)) = (format, len_in_front) {
                self.size(len);
            }
            write(self);
            self.close_tagged(open);
        }
    }

    /// Begins a tagged value: [`Encoder::close_tagged`] ends it. `None` in encoding 1.0, which has none: nothing may be
    /// written then. The caller writes the length of a value of [`TagFormat::VSize`] that does not start with it.
    pub fn open_tagged(&mut self, tag: u32, format: TagFormat) -> Option<TaggedStart> {
        if self.encoding() == EncodingVersion::V1_0 {
            return None;
        }
        self.has_tagged = true;
        match u8::try_from(tag) {
            Ok(tag) if tag < LONG_TAG => self.byte(tag << 3 | format as u8),
            _ => {
                self.byte(LONG_TAG << 3 | format as u8);
                self.size(tag as usize);
            }
        }
        let has_len = format == TagFormat::FSize;
        Some(TaggedStart(has_len.then(|| self.begin_len())))
    }

    /// Ends a tagged value.
    pub fn close_tagged(&mut self, start: TaggedStart) {
        if let TaggedStart(Some(len)) = start {
            self.end_len(len, len + 4);
        }
    }
}

/// Where a tagged value that is being written has its length, if that is known only at its end.
#[derive(Debug)]
pub struct TaggedStart(Option<usize>);

/// The bytes around a tagged value that is being read, if it says its length.
#[derive(Debug)]
pub struct TaggedScope<'a>(Option<&'a [u8]>);

impl<'a> Decoder<'a> {
    /// Reads a tagged value if it is set. Tags must be asked for in increasing order.
    ///
    /// # Errors
    /// [`DecodeErrorKind::WrongTagFormat`], or as [`Decode::decode`].
    pub fn tagged<T: Tagged + Decode>(&mut self, tag: u32) -> Result<Option<T>, DecodeError> {
        self.tagged_with(tag, T::FORMAT, !T::HAS_OWN_LEN, |decoder| decoder.get())
    }

    /// Reads a tagged value with `read` if it is set. `has_len_in_front` says whether a value of format
    /// [`TagFormat::VSize`] is preceded by its length.
    ///
    /// # Errors
    /// [`DecodeErrorKind::WrongTagFormat`], [`DecodeErrorKind::TrailingBytes`] if the value is shorter than its length
    /// says, or as `read`.
    pub fn tagged_with<T>(
        &mut self,
        tag: u32,
        format: TagFormat,
        has_len_in_front: bool,
        read: impl FnOnce(&mut Self) -> Result<T, DecodeError>,
    ) -> Result<Option<T>, DecodeError> {
        let Some(scope) = self.open_tagged(tag, format, has_len_in_front)? else {
            return Ok(None);
        };
        let value = read(self)?;
        self.close_tagged(scope)?;
        Ok(Some(value))
    }

    /// Goes to a tagged value if it is set: [`Decoder::close_tagged`] ends it.
    ///
    /// # Errors
    /// As [`Decoder::tagged_with`].
    pub fn open_tagged(
        &mut self,
        tag: u32,
        format: TagFormat,
        has_len_in_front: bool,
    ) -> Result<Option<TaggedScope<'a>>, DecodeError> {
        if !self.find_tag(tag, format)? {
            return Ok(None);
        }
        let len = match format {
            TagFormat::FSize => self.len(WHAT)?,
            TagFormat::VSize if has_len_in_front => self.size(WHAT)?,
            _ => return Ok(Some(TaggedScope(None))),
        };
        let remaining = self.remaining();
        if len > remaining {
            let needed = len;
            return Err(self.error(WHAT, DecodeErrorKind::EndOfData { needed, remaining }));
        }
        let outer = self.narrow(self.position() + len);
        Ok(Some(TaggedScope(Some(outer))))
    }

    /// Ends a tagged value that has been read.
    ///
    /// # Errors
    /// [`DecodeErrorKind::TrailingBytes`] if the value is shorter than its length says.
    pub fn close_tagged(&mut self, scope: TaggedScope<'a>) -> Result<(), DecodeError> {
        let TaggedScope(Some(outer)) = scope else {
            return Ok(());
        };
        match self.remaining() {
            0 => {
                self.widen(outer);
                Ok(())
            }
            left => Err(self.error(WHAT, DecodeErrorKind::TrailingBytes(left))),
        }
    }

    /// Moves to the value with this tag, past lower tags. Returns `false` if there is none.
    fn find_tag(&mut self, wanted: u32, expected: TagFormat) -> Result<bool, DecodeError> {
        if self.encoding() == EncodingVersion::V1_0
            || self.tag_scope == (TagScope::Slice { has_tagged: false })
        {
            return Ok(false);
        }
        while self.remaining() > 0 {
            let start = self.position();
            let header = self.byte("tagged value header")?;
            if header == END_MARKER {
                self.seek(start);
                return Ok(false);
            }
            let got = TagFormat::from_bits(header);
            let tag = self.tag(header)?;
            if tag > wanted {
                self.seek(start);
                return Ok(false);
            }
            if tag == wanted && got == expected {
                return Ok(true);
            }
            if tag == wanted {
                let kind = DecodeErrorKind::WrongTagFormat { tag, expected, got };
                return Err(self.error_at(start, WHAT, kind));
            }
            got.skip(self)?;
        }
        Ok(false)
    }

    fn tag(&mut self, header: u8) -> Result<u32, DecodeError> {
        match header >> 3 {
            LONG_TAG => self.size("tag").map(|tag| tag as u32),
            tag => Ok(u32::from(tag)),
        }
    }
}

const WHAT: &str = "tagged value";

macro_rules! fixed {
    ($($type:ty => $format:ident),*) => {$(
        impl Tagged for $type {
            const FORMAT: TagFormat = TagFormat::$format;
            const FIXED_LEN: Option<usize> = Some(size_of::<$type>());
        }
    )*};
}
fixed!(bool => F1, u8 => F1, i16 => F2, i32 => F4, i64 => F8, f32 => F4, f64 => F8);
fixed!(EncodingVersion => VSize, ProtocolVersion => VSize);

impl Tagged for str {
    const FORMAT: TagFormat = TagFormat::VSize;
    const HAS_OWN_LEN: bool = true;
}

impl<T: Tagged + ?Sized> Tagged for &T {
    const FORMAT: TagFormat = T::FORMAT;
    const FIXED_LEN: Option<usize> = T::FIXED_LEN;
    const HAS_OWN_LEN: bool = T::HAS_OWN_LEN;

    fn wire_len(&self) -> usize {
        (**self).wire_len()
    }
}

impl Tagged for String {
    const FORMAT: TagFormat = str::FORMAT;
    const HAS_OWN_LEN: bool = str::HAS_OWN_LEN;
}

impl<T: Tagged> Tagged for Vec<T> {
    const FORMAT: TagFormat = <[T]>::FORMAT;
    const HAS_OWN_LEN: bool = <[T]>::HAS_OWN_LEN;

    fn wire_len(&self) -> usize {
        self.as_slice().wire_len()
    }
}

impl<T: Tagged> Tagged for [T] {
    const FORMAT: TagFormat = TagFormat::of_parts(T::FIXED_LEN);
    const HAS_OWN_LEN: bool = matches!(T::FIXED_LEN, Some(1));

    fn wire_len(&self) -> usize {
        elements_len(self.len(), T::FIXED_LEN)
    }
}

impl<K: Tagged, V: Tagged> Tagged for BTreeMap<K, V> {
    const FORMAT: TagFormat = TagFormat::of_parts(TagFormat::sum(K::FIXED_LEN, V::FIXED_LEN));

    fn wire_len(&self) -> usize {
        elements_len(self.len(), TagFormat::sum(K::FIXED_LEN, V::FIXED_LEN))
    }
}

impl<K: Tagged, V: Tagged, S: BuildHasher> Tagged for HashMap<K, V, S> {
    const FORMAT: TagFormat = TagFormat::of_parts(TagFormat::sum(K::FIXED_LEN, V::FIXED_LEN));

    fn wire_len(&self) -> usize {
        elements_len(self.len(), TagFormat::sum(K::FIXED_LEN, V::FIXED_LEN))
    }
}

/// A proxy. Nil counts as a value.
impl<T: Nilable> Tagged for Option<T> {
    const FORMAT: TagFormat = TagFormat::FSize;
}

impl<T: ClassType + ?Sized> Tagged for Link<T> {
    const FORMAT: TagFormat = TagFormat::Class;
}

/// The number of bytes of a size and this many elements.
pub(super) fn elements_len(count: usize, element_len: Option<usize>) -> usize {
    let size_len = if count < 255 { 1 } else { 5 };
    size_len + count * element_len.unwrap_or_default()
}

/// The format of a tagged value, in the low three bits of its header: how its length is encoded.
///
/// Source: Ice manual, "Data Encoding for Optional Values".
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TagFormat {
    /// One byte.
    F1,
    /// Two bytes.
    F2,
    /// Four bytes.
    F4,
    /// Eight bytes.
    F8,
    /// A size.
    Size,
    /// A size, and this many bytes.
    VSize,
    /// A 32-bit length, and this many bytes.
    FSize,
    /// A class instance.
    Class,
}

impl TagFormat {
    /// The format in the low bits of a header byte.
    pub const fn from_bits(bits: u8) -> Self {
        match bits & 0b111 {
            0 => Self::F1,
            1 => Self::F2,
            2 => Self::F4,
            3 => Self::F8,
            4 => Self::Size,
            5 => Self::VSize,
            6 => Self::FSize,
            _ => Self::Class,
        }
    }

    fn skip(self, decoder: &mut Decoder<'_>) -> Result<(), DecodeError> {
        let len = match self {
            Self::F1 => 1,
            Self::F2 => 2,
            Self::F4 => 4,
            Self::F8 => 8,
            Self::Size => return decoder.size(WHAT).map(|_| ()),
            Self::VSize => decoder.size(WHAT)?,
            Self::FSize => decoder.len(WHAT)?,
            Self::Class => return decoder.get::<Link<dyn AnyClass>>().map(|_| ()),
        };
        decoder.bytes(len, WHAT).map(|_| ())
    }
}

/// Skips the tagged values at the end of an encapsulation's payload. The last byte may be an end marker, although none
/// is required there. Bytes that are no tagged values are values that the reader does not expect.
///
/// Source: observed, Ice 3.7.8 for C++ and Python.
pub(super) fn skip_rest(decoder: &mut Decoder<'_>) -> Result<(), DecodeError> {
    loop {
        let count = decoder.remaining();
        if count == 0 {
            return Ok(());
        }
        let kind = DecodeErrorKind::TrailingBytes(count);
        let surplus = decoder.error("end of encapsulation", kind);
        match skip_one(decoder) {
            Ok(Some(())) => {}
            Ok(None) if decoder.remaining() == 0 => return Ok(()),
            Ok(None) => {
                let kind = DecodeErrorKind::TrailingBytes(decoder.remaining());
                return Err(decoder.error("end of encapsulation", kind));
            }
            Err(_) => return Err(surplus),
        }
    }
}

/// Skips the tagged members of a slice and their end marker.
pub(super) fn skip_to_end_marker(decoder: &mut Decoder<'_>) -> Result<(), DecodeError> {
    while skip_one(decoder)?.is_some() {}
    Ok(())
}

/// Skips one tagged value. Returns `None` if it was the end marker.
fn skip_one(decoder: &mut Decoder<'_>) -> Result<Option<()>, DecodeError> {
    let header = decoder.byte("tagged value header")?;
    if header == END_MARKER {
        return Ok(None);
    }
    decoder.tag(header)?;
    TagFormat::from_bits(header).skip(decoder).map(Some)
}
