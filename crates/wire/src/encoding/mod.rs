//! The Ice encoding, versions 1.0 and 1.1: values to bytes and back.
//!
//! [`Encoder`] appends to a buffer, and [`Decoder`] reads from a slice. Slice types implement [`Encode`] and
//! [`Decode`]. All integers are little-endian, and nothing is aligned. Messages live in `message/`.

mod buffer;
mod class;
mod collection;
mod decoder;
mod encapsulation;
mod encoder;
mod enumeration;
mod error;
mod exception;
mod map;
mod packed;
mod packed_bytes;
mod primitive;
mod printable;
mod sequence;
mod slice;
mod tagged;
mod version;
mod view;

pub use buffer::{Buffer, PIECE_MIN, Sink};
pub use class::{
    AnyClass, CLASS_MEMORY_PER_BYTE, Class, ClassFactory, ClassFormat, ClassId, ClassInfo,
    ClassReader, ClassTable, ClassType, Classes, ClassesOf, Draft, Extends, GRAPH_DEPTH_MAX,
    GRAPH_STACK_MAX, Graph, InstanceId, Link, Ref, SliceId, TYPE_ID_LEN_MAX, UnknownClass,
    UnknownSlice,
};
pub use collection::Collected;
pub use decoder::Decoder;
pub use encapsulation::{ENCAPSULATION_HEADER_LEN, Encapsulation};
pub use encoder::Encoder;
pub use enumeration::EnumWidth;
pub use error::{DecodeError, DecodeErrorKind, EncodeError};
pub use exception::{ExceptionFormat, ExceptionReader, ExceptionWriter, UserException};
pub use packed::{Packed, packed_len};
pub use packed_bytes::PackedBytes;
pub(crate) use printable::Printable;
pub use tagged::{TagFormat, Tagged, TaggedScope, TaggedStart};
pub use version::{EncodingVersion, ProtocolVersion};
pub use view::View;

/// The maximum memory of decoded values, in bytes for each byte of their encoding.
///
/// An empty string takes 24 bytes of memory, and 1 on the wire. The worst case is a dictionary with one entry, for
/// which the standard library reserves 11: eleven times 24 bytes for each byte on the wire, and another 24. Class
/// instances reach [`CLASS_MEMORY_PER_BYTE`]. The memory that a value keeps from an earlier one
/// ([`Decode::decode_into`]) is not counted.
pub const VALUE_MEMORY_PER_BYTE: usize = 12 * 24;

/// A value that can be encoded.
pub trait Encode {
    /// Appends the value.
    fn encode(&self, encoder: &mut Encoder<'_>);

    /// Appends the elements of a sequence, without its size.
    ///
    /// Fixed-size numbers override it to move the whole sequence in one step.
    fn encode_elements(elements: &[Self], encoder: &mut Encoder<'_>)
    where
        Self: Sized,
    {
        for element in elements {
            element.encode(encoder);
        }
    }
}

/// A value that can be read from its encoding.
pub trait Decode: Sized {
    /// The minimum number of bytes of a value on the wire, in any encoding.
    ///
    /// Sequences compare it with the remaining bytes before they allocate.
    const MIN_WIRE_LEN: usize;

    /// The number of bytes of every value, if it is always the same, in any encoding.
    ///
    /// A type that sets this promises that any bytes of that length are a valid value. These are numbers, `bool`, and
    /// structs of them. A sequence of them is compared with the remaining bytes once, and can be read in place: see
    /// [`Packed`].
    const PACKED_LEN: Option<usize> = None;

    /// Reads a value.
    ///
    /// # Errors
    /// [`DecodeError`] with the offset at which the bytes are invalid.
    fn decode(decoder: &mut Decoder<'_>) -> Result<Self, DecodeError>;

    /// Reads `count` elements of a sequence. The caller has compared `count` with the remaining bytes.
    ///
    /// # Errors
    /// As [`Decode::decode`].
    fn decode_elements(decoder: &mut Decoder<'_>, count: usize) -> Result<Vec<Self>, DecodeError> {
        sequence::decode_elements(decoder, count)
    }

    /// Reads a value into this one, and reuses its memory if possible.
    ///
    /// After an error, the value is a mixture of old and new.
    ///
    /// # Errors
    /// As [`Decode::decode`].
    fn decode_into(&mut self, decoder: &mut Decoder<'_>) -> Result<(), DecodeError> {
        *self = Self::decode(decoder)?;
        Ok(())
    }

    /// Reads `count` elements into those of a vector, like [`Decode::decode_into`]. The caller has compared `count`
    /// with the remaining bytes.
    ///
    /// # Errors
    /// As [`Decode::decode`].
    fn decode_elements_into(
        elements: &mut Vec<Self>,
        decoder: &mut Decoder<'_>,
        count: usize,
    ) -> Result<(), DecodeError> {
        sequence::decode_elements_into(elements, decoder, count)
    }
}

/// A type whose value may be absent on the wire: proxies.
///
/// It defines the encoding of `Option<T>`, where `None` is the nil value.
pub trait Nilable: Sized {
    /// The minimum number of bytes of a value: that of nil.
    const NIL_WIRE_LEN: usize;

    /// Appends a value, or nil.
    fn encode_nilable(value: Option<&Self>, encoder: &mut Encoder<'_>);

    /// Reads a value, or nil.
    ///
    /// # Errors
    /// As [`Decode::decode`].
    fn decode_nilable(decoder: &mut Decoder<'_>) -> Result<Option<Self>, DecodeError>;

    /// Reads a value that is not nil.
    ///
    /// # Errors
    /// As [`Decode::decode`], and [`DecodeErrorKind::NilProxy`].
    fn decode_present(decoder: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        let start = decoder.clone();
        let value = Self::decode_nilable(decoder)?;
        value.ok_or_else(|| start.error("proxy", DecodeErrorKind::NilProxy))
    }
}

impl<T: Nilable> Encode for Option<T> {
    fn encode(&self, encoder: &mut Encoder<'_>) {
        T::encode_nilable(self.as_ref(), encoder);
    }
}

impl<T: Nilable> Decode for Option<T> {
    const MIN_WIRE_LEN: usize = T::NIL_WIRE_LEN;

    fn decode(decoder: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        T::decode_nilable(decoder)
    }
}
