//! The positions of the fields of a request.

use super::{OperationMode, RequestId};
use crate::encoding::{
    DecodeError, DecodeErrorKind, Decoder, ENCAPSULATION_HEADER_LEN, EncodingVersion,
};
use crate::reference::decode_facet;

/// The fields of a request. Positions are relative to the start of the body, so that they are valid for all requests
/// that begin with the same bytes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fields {
    pub(super) id: RequestId,
    /// Where the body starts.
    pub(super) start: u32,
    pub(super) name: Field,
    pub(super) category: Field,
    pub(super) facet: Field,
    /// The position of the size before the operation's text.
    pub(super) event_start: u32,
    pub(super) operation: Field,
    pub(super) context_start: u32,
    pub(super) parameters: Field,
    pub(super) mode: OperationMode,
    pub(super) encoding: EncodingVersion,
    /// The compression byte of the message header.
    pub(super) compression: u8,
}

/// A range of bytes of a body; messages are at most 2 GiB long.
#[derive(Debug, Clone, Copy)]
pub(super) struct Field {
    pub(super) start: u32,
    pub(super) end: u32,
}

/// Why the fields of a request cannot be parsed.
#[derive(Debug)]
pub(super) enum FieldsError {
    /// The body is not that of a request.
    NotARequest(DecodeError),
    /// The body is that of a request, but a field has a value that Floe does not accept.
    Unacceptable(DecodeError),
}

impl FieldsError {
    pub(super) fn into_decode_error(self) -> DecodeError {
        let (Self::NotARequest(error) | Self::Unacceptable(error)) = self;
        error
    }
}

impl From<DecodeError> for FieldsError {
    fn from(error: DecodeError) -> Self {
        match error.kind {
            DecodeErrorKind::InvalidUtf8 => Self::Unacceptable(error),
            _ => Self::NotARequest(error),
        }
    }
}

impl Fields {
    /// Parses the fields of the body at the position of `decoder`.
    pub(super) fn parse(decoder: &mut Decoder<'_>, id: RequestId) -> Result<Self, DecodeError> {
        Self::parse_or_refuse(decoder, id).map_err(FieldsError::into_decode_error)
    }

    /// Parses the fields like [`Fields::parse`]. The error tells what the connection does with the request.
    pub(super) fn parse_or_refuse(
        decoder: &mut Decoder<'_>,
        id: RequestId,
    ) -> Result<Self, FieldsError> {
        let start = decoder.position();
        let name = text(decoder, start, |decoder| decoder.str("identity name"))?;
        let category = text(decoder, start, |decoder| decoder.str("identity category"))?;
        let facet = text(decoder, start, decode_facet)?;
        let event_start = (decoder.position() - start) as u32;
        let operation = text(decoder, start, |decoder| decoder.str("operation"))?;
        let mode = mode(decoder)?;
        let context_start = (decoder.position() - start) as u32;
        check_context(decoder)?;
        let parameters_start = decoder.position() - start;
        let parameters = decoder.encapsulation();
        let parameters = parameters.map_err(FieldsError::Unacceptable)?;
        Ok(Self {
            id,
            start: start as u32,
            name,
            category,
            facet,
            event_start,
            operation,
            context_start,
            parameters: Field::new(parameters_start, decoder.position() - start),
            mode,
            encoding: parameters.encoding,
            compression: 0,
        })
    }

    /// Changes these to the fields of another body in the same bytes, if it begins like this one, up to the parameters.
    /// Returns false, and changes nothing, if it does not.
    #[inline]
    pub(super) fn move_to_alike(&mut self, bytes: &[u8], start: usize) -> bool {
        self.begins_alike(bytes, start) && self.move_to(bytes, start)
    }

    /// Changes these to the fields of a body that is known to begin like this one. Returns false if its parameters are
    /// no encapsulation.
    #[inline]
    pub(super) fn move_to(&mut self, bytes: &[u8], start: usize) -> bool {
        let Some((len, encoding)) = self.parameters_at(bytes, start) else {
            return false;
        };
        self.start = start as u32;
        self.parameters.end = self.parameters.start + len as u32;
        self.encoding = encoding;
        true
    }

    /// The end of another body in the same bytes, if it begins like this one.
    #[inline]
    pub(super) fn end_of_alike(&self, bytes: &[u8], start: usize) -> Option<usize> {
        if !self.begins_alike(bytes, start) {
            return None;
        }
        let (len, _) = self.parameters_at(bytes, start)?;
        Some(start + self.parameters.start as usize + len)
    }

    /// The end of another body in the same bytes, if it begins like this one and its parameters have the same length
    /// and encoding. One comparison checks everything but the content of the parameters.
    #[inline]
    pub(super) fn end_of_same(&self, bytes: &[u8], start: usize) -> Option<usize> {
        let own = self.start as usize;
        let contents = self.contents_start();
        let end = start + self.parameters.end as usize;
        let body = bytes.get(start..end)?;
        body.starts_with(&bytes[own..own + contents]).then_some(end)
    }

    /// Changes these to the fields of a body that differs only in the content of its parameters.
    #[inline]
    pub(super) fn shift_to(&mut self, start: usize) {
        self.start = start as u32;
    }

    /// Returns true if the body at `start` begins like this one, up to the parameters.
    #[inline]
    pub(super) fn begins_alike(&self, bytes: &[u8], start: usize) -> bool {
        let body = bytes.get(start..);
        body.is_some_and(|body| body.starts_with(self.head(bytes)))
    }

    /// The bytes before the parameters.
    #[inline]
    pub(super) fn head<'a>(&self, bytes: &'a [u8]) -> &'a [u8] {
        let own = self.start as usize;
        &bytes[own..own + self.parameters.start as usize]
    }

    /// The start of the content of the parameters.
    #[inline]
    pub(super) fn contents_start(&self) -> usize {
        self.parameters.start as usize + ENCAPSULATION_HEADER_LEN
    }

    /// Length and encoding of the parameters of a body at `start` that begins like this one.
    #[inline]
    pub(super) fn parameters_at(
        &self,
        bytes: &[u8],
        start: usize,
    ) -> Option<(usize, EncodingVersion)> {
        let parameters = bytes.get(start + self.parameters.start as usize..)?;
        let [s0, s1, s2, s3, major, minor] =
            *parameters.first_chunk::<ENCAPSULATION_HEADER_LEN>()?;
        let size = i32::from_le_bytes([s0, s1, s2, s3]);
        let size = usize::try_from(size).ok()?;
        let is_whole = size >= ENCAPSULATION_HEADER_LEN && size <= parameters.len();
        is_whole.then_some((size, EncodingVersion::new(major, minor)))
    }

    /// Copies the fields that can differ from those of a body that begins like this one.
    #[inline]
    pub(super) fn differ_as(&mut self, other: &Self) {
        (self.id, self.compression) = (other.id, other.compression);
        (self.start, self.encoding) = (other.start, other.encoding);
        self.parameters.end = other.parameters.end;
    }

    /// Where the body starts.
    #[inline]
    pub(super) fn start(&self) -> usize {
        self.start as usize
    }

    /// Where the body ends.
    #[inline]
    pub(super) fn end(&self) -> usize {
        self.start as usize + self.parameters.end as usize
    }

    /// Makes these the fields of a copy of the head alone.
    pub(super) fn cut_to_head(&mut self) {
        self.start = 0;
        self.parameters.end = self.parameters.start;
    }

    /// Makes all texts empty, so that they refer to no bytes.
    pub(super) fn clear(&mut self) {
        let nothing = Field::new(0, 0);
        (self.start, self.event_start, self.context_start) = (0, 0, 0);
        (self.name, self.category, self.facet) = (nothing, nothing, nothing);
        (self.operation, self.parameters) = (nothing, nothing);
    }
}

impl Field {
    pub(super) fn new(start: usize, end: usize) -> Self {
        Self {
            start: start as u32,
            end: end as u32,
        }
    }

    #[inline]
    pub(super) fn len(self) -> usize {
        (self.end - self.start) as usize
    }
}

/// Reads a string of the body at `start`, and notes the position of its text.
fn text<'a>(
    decoder: &mut Decoder<'a>,
    start: usize,
    read: impl FnOnce(&mut Decoder<'a>) -> Result<&'a str, DecodeError>,
) -> Result<Field, DecodeError> {
    let text = read(decoder)?;
    let end = decoder.position() - start;
    Ok(Field::new(end - text.len(), end))
}

fn mode(decoder: &mut Decoder<'_>) -> Result<OperationMode, FieldsError> {
    decoder
        .get()
        .map_err(|error: DecodeError| match error.kind {
            DecodeErrorKind::InvalidValue(_) => FieldsError::Unacceptable(error),
            _ => error.into(),
        })
}

fn check_context(decoder: &mut Decoder<'_>) -> Result<(), DecodeError> {
    for _ in 0..decoder.count(2, "context")? {
        decoder.str("context key")?;
        decoder.str("context value")?;
    }
    Ok(())
}
