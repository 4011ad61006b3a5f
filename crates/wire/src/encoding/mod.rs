//! The Ice encoding, versions 1.0 and 1.1: values to bytes and back.
//!
//! [`Encoder`] appends to a caller's buffer, [`Decoder`] reads from a slice; [`Encode`] and
//! [`Decode`] are what a Slice type implements. All integers are little-endian and nothing is
//! aligned. Messages and what surrounds a value on the wire live in `message/`.

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
pub use tagged::{TagFormat, Tagged};
pub use version::{EncodingVersion, ProtocolVersion};
pub use view::View;

/// Memory that decoded values take at most, for a byte of their encoding, in bytes.
///
/// An empty string takes 24 bytes, and 1 on the wire. The worst is a dictionary with one entry, for
/// which the standard library makes room for 11: eleven times that for each byte, and its own 24.
/// Instances of classes come to [`CLASS_MEMORY_PER_BYTE`]. That a value has been read over another
/// ([`Decode::decode_into`]) and kept the room of that is not counted.
pub const VALUE_MEMORY_PER_BYTE: usize = 12 * 24;

/// A value that has an encoding.
pub trait Encode {
    /// Appends the value.
    fn encode(&self, encoder: &mut Encoder<'_>);

    /// Appends the elements of a sequence, without the size in front.
    ///
    /// Fixed-size numbers override it to move the whole sequence at once.
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
    /// The least number of bytes that a value takes on the wire, in any encoding.
    ///
    /// Sequences check it against the bytes that remain before they allocate.
    const MIN_WIRE_LEN: usize;

    /// The number of bytes that every value takes, where it is always the same, in any encoding.
    ///
    /// A type that gives it promises that any bytes of that length are a value: numbers, `bool`,
    /// and structs of nothing else. A sequence of them is checked against the bytes left once, and
    /// can be read in place: see [`Packed`].
    const PACKED_LEN: Option<usize> = None;

    /// Reads a value.
    ///
    /// # Errors
    /// [`DecodeError`] with the offset at which the bytes stop making sense.
    fn decode(decoder: &mut Decoder<'_>) -> Result<Self, DecodeError>;

    /// Reads `count` elements of a sequence; the caller has checked `count` against the bytes left.
    ///
    /// # Errors
    /// As [`Decode::decode`].
    fn decode_elements(decoder: &mut Decoder<'_>, count: usize) -> Result<Vec<Self>, DecodeError> {
        sequence::decode_elements(decoder, count)
    }

    /// Reads a value over this one and keeps what it has allocated, where that is of use.
    ///
    /// After an error the value is a mix of old and new.
    ///
    /// # Errors
    /// As [`Decode::decode`].
    fn decode_into(&mut self, decoder: &mut Decoder<'_>) -> Result<(), DecodeError> {
        *self = Self::decode(decoder)?;
        Ok(())
    }

    /// Reads `count` elements over those of a vector, as [`Decode::decode_into`]; the caller has
    /// checked `count` against the bytes left.
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
/// It gives `Option<T>` its encoding, `None` being the nil value.
pub trait Nilable: Sized {
    /// The least number of bytes that a value takes: that of the nil value.
    const NIL_WIRE_LEN: usize;

    /// Appends a value, or nil.
    fn encode_nilable(value: Option<&Self>, encoder: &mut Encoder<'_>);

    /// Reads a value, or nil.
    ///
    /// # Errors
    /// As [`Decode::decode`].
    fn decode_nilable(decoder: &mut Decoder<'_>) -> Result<Option<Self>, DecodeError>;
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
