//! `any`: a value with its type, whose bytes are not decoded.

use std::sync::Arc;

use bytes::Bytes;

use super::transfer::{Budget, skip_within};
use super::{Value, copy_value};
use crate::cdr::{DecodeError, DecodeErrorKind, Decoder, EncodeError, Encoder, Format};
use crate::type_code::TypeCode;

/// A value of any type, with the type.
///
/// The value stays in the bytes in which it came. Their meaning depends on where they stood: CDR aligns by the offset in
/// the message, so the gaps between members differ when the first byte stands elsewhere. Therefore an `Any` knows the
/// [`Format`] of its bytes and their offset, modulo 8 (no type is aligned to more). [`Any::encode`] copies the bytes if
/// they will stand at such an offset again, in the same format. Otherwise it walks along the TypeCode with
/// [`copy_value`].
///
/// GIOP 1.2 aligns the arguments of each request to 8, so an `any` that is the first argument stands at one offset in all
/// messages of the same code sets and byte order, and passes on without a walk.
///
/// Two are equal if the types and the bytes are, with the gaps. Compare [`Any::value`] to compare what they mean.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Any {
    code: Arc<TypeCode>,
    bytes: Bytes,
    /// Below 8.
    origin: usize,
    format: Format,
}

impl Any {
    /// A value of a type.
    ///
    /// # Errors
    /// [`EncodeError`] if the value is not of that type.
    pub fn new(
        code: impl Into<Arc<TypeCode>>,
        value: &Value,
        format: Format,
    ) -> Result<Self, EncodeError> {
        let code = code.into();
        let mut encoder = Encoder::new(format);
        value.encode(&code, &mut encoder)?;
        Ok(Self {
            code,
            bytes: encoder.into_bytes().into(),
            origin: 0,
            format,
        })
    }

    /// An empty `any`.
    pub fn null(format: Format) -> Self {
        Self {
            code: Arc::new(TypeCode::Null),
            bytes: Bytes::new(),
            origin: 0,
            format,
        }
    }

    /// Reads a TypeCode and finds the end of its value, whose bytes are copied.
    ///
    /// # Errors
    /// [`DecodeError`]: the bytes are none, or above a limit of `any/` or `type_code/`.
    pub fn decode(decoder: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        let code = TypeCode::decode(decoder)?;
        Self::decode_within(code, decoder, &mut Budget::new(), 0)
    }

    /// Reads a value whose type was read before, at this depth of another value.
    pub(super) fn decode_within(
        code: Arc<TypeCode>,
        decoder: &mut Decoder<'_>,
        budget: &mut Budget,
        depth: usize,
    ) -> Result<Self, DecodeError> {
        let (start, origin) = (decoder.position(), decoder.offset() % 8);
        skip_within(&code, decoder, budget, depth)?;
        Ok(Self {
            code,
            bytes: Bytes::copy_from_slice(decoder.bytes_since(start)),
            origin,
            format: decoder.format(),
        })
    }

    /// Appends the TypeCode and the value.
    ///
    /// # Errors
    /// [`EncodeError::NotInCodeSet`] or [`EncodeError::NoWideCodeSet`] for text that the encoder's code sets do not have.
    pub fn encode(&self, encoder: &mut Encoder) -> Result<(), EncodeError> {
        self.code.encode(encoder)?;
        if encoder.offset() % 8 == self.origin && encoder.format() == self.format {
            encoder.octets(&self.bytes);
            return Ok(());
        }
        let copied = copy_value(&self.code, &mut self.decoder(), encoder);
        copied.map_err(|error| match error.kind {
            DecodeErrorKind::NotCopied(error) => error,
            // The value was walked along when it was made, by the same rules.
            _ => EncodeError::NotOfType("a value that was read before"),
        })
    }

    /// The type.
    pub fn code(&self) -> &Arc<TypeCode> {
        &self.code
    }

    /// The bytes of the value, as they came.
    pub fn bytes(&self) -> &Bytes {
        &self.bytes
    }

    /// A decoder over the value.
    pub fn decoder(&self) -> Decoder<'_> {
        Decoder::at(&self.bytes, self.origin, self.format)
    }

    /// The value as a tree.
    ///
    /// # Errors
    /// [`DecodeError`], if a reference in it is malformed; anything else was found when the `any` was made.
    pub fn value(&self) -> Result<Value, DecodeError> {
        Value::decode(&self.code, &mut self.decoder())
    }
}
