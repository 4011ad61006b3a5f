//! Requests.

use std::fmt;
use std::ops::Range;

use bytes::Bytes;

use super::fields::{Field, Fields, FieldsError};
use super::{
    Compression, Context, HEADER_LEN, Message, OperationMode, RefusedRequest, RequestFailed,
};
use crate::encoding::{
    Decode, DecodeError, Decoder, ENCAPSULATION_HEADER_LEN, Encapsulation, EncodingVersion,
};
use crate::reference::Identity;

/// Number of a request on its connection: 0 for oneway, else positive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RequestId(pub i32);

impl RequestId {
    /// The id of requests that get no reply.
    pub const ONEWAY: Self = Self(0);

    /// Returns true if no reply is sent.
    pub const fn is_oneway(self) -> bool {
        self.0 == 0
    }
}

/// Why a Request or BatchRequest message cannot be dispatched.
#[derive(Debug)]
pub(crate) enum RequestError {
    /// The message holds no requests. This is fatal for the connection.
    Malformed(DecodeError),
    /// The request must be answered with an exception.
    Refused(RefusedRequest),
}

impl RequestError {
    /// The error of a request with this id.
    pub(super) fn new(id: RequestId, error: FieldsError) -> Self {
        match error {
            FieldsError::NotARequest(error) => Self::Malformed(error),
            FieldsError::Unacceptable(error) => Self::Refused(RefusedRequest { id, error }),
        }
    }

    pub(super) fn into_decode_error(self) -> DecodeError {
        match self {
            Self::Malformed(error) => error,
            Self::Refused(refused) => refused.error,
        }
    }
}

impl From<DecodeError> for RequestError {
    fn from(error: DecodeError) -> Self {
        Self::Malformed(error)
    }
}

/// The position of the compression byte in a header.
pub(super) const COMPRESSION_POSITION: usize = 9;

impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A received request. Its fields are checked, nothing is copied, and the parameters are unopened.
///
/// A clone shares the bytes.
#[derive(Clone)]
pub struct IncomingRequest {
    /// The message, or several messages, that contain it.
    bytes: Bytes,
    fields: Fields,
}

impl IncomingRequest {
    /// Checks the fields of a Request message. Bytes after the parameters are ignored.
    ///
    /// # Errors
    /// [`DecodeError`].
    pub fn parse(message: &Message) -> Result<Self, DecodeError> {
        Self::from_message(message.clone()).map_err(RequestError::into_decode_error)
    }

    /// Parses a message that is not needed afterwards.
    pub(crate) fn from_message(message: Message) -> Result<Self, RequestError> {
        let mut decoder = Decoder::new(&message.bytes, EncodingVersion::V1_0);
        let header = decoder.bytes(HEADER_LEN, "header")?;
        let id = RequestId(decoder.int("request id")?);
        let fields = Fields::parse_or_refuse(&mut decoder, id);
        let mut fields = fields.map_err(|error| RequestError::new(id, error))?;
        fields.compression = header[COMPRESSION_POSITION];
        let end = decoder.position();
        let mut bytes = message.bytes;
        bytes.truncate(end);
        Ok(Self { bytes, fields })
    }

    /// A request with these fields in `bytes`.
    pub(super) fn new(bytes: Bytes, fields: Fields) -> Self {
        Self { bytes, fields }
    }

    pub(super) fn into_parts(self) -> (Bytes, Fields) {
        (self.bytes, self.fields)
    }

    /// Its bytes, and the positions of its fields.
    #[inline]
    pub(super) fn parts(&self) -> (&Bytes, &Fields) {
        (&self.bytes, &self.fields)
    }

    /// The parts that [`RequestBatch`](super::RequestBatch) changes to make it the next request.
    #[inline]
    pub(super) fn parts_mut(&mut self) -> (&mut Bytes, &mut Fields) {
        (&mut self.bytes, &mut self.fields)
    }

    /// Releases the bytes. The request is invalid until [`RequestBatch::next_over`](super::RequestBatch::next_over)
    /// makes it another one.
    pub fn forget(&mut self) {
        self.bytes = Bytes::new();
        self.fields.clear();
    }

    /// Copies everything but the parameters into memory of its own. The copy has no parameters.
    ///
    /// A request that waits for its reply needs no more. The whole request would keep the buffer alive that it was read
    /// into, with the messages before and behind it.
    #[must_use]
    pub fn without_parameters(&self) -> Self {
        let head = self.fields.head(&self.bytes);
        let mut bytes = Vec::with_capacity(head.len() + ENCAPSULATION_HEADER_LEN);
        bytes.extend_from_slice(head);
        let EncodingVersion { major, minor } = self.encoding();
        bytes.extend_from_slice(&(ENCAPSULATION_HEADER_LEN as i32).to_le_bytes());
        bytes.extend_from_slice(&[major, minor]);
        let mut fields = self.fields;
        fields.cut_to_head();
        fields.parameters.end += ENCAPSULATION_HEADER_LEN as u32;
        Self {
            bytes: bytes.into(),
            fields,
        }
    }

    /// Number of the request on its connection.
    #[inline]
    pub fn id(&self) -> RequestId {
        self.fields.id
    }

    /// Name of the object.
    pub fn name(&self) -> &str {
        self.text(self.fields.name)
    }

    /// Category of the object.
    pub fn category(&self) -> &str {
        self.text(self.fields.category)
    }

    /// The object, as an owned value.
    pub fn identity(&self) -> Identity {
        Identity {
            name: self.name().to_owned(),
            category: self.category().to_owned(),
        }
    }

    /// The facet; empty for the default facet.
    pub fn facet(&self) -> &str {
        self.text(self.fields.facet)
    }

    /// The operation.
    pub fn operation(&self) -> &str {
        self.text(self.fields.operation)
    }

    /// The bytes of the operation, for comparisons.
    #[inline]
    pub fn operation_bytes(&self) -> &[u8] {
        &self.bytes[self.field(self.fields.operation)]
    }

    /// Returns the mode, which says whether the request may be repeated.
    #[inline]
    pub fn mode(&self) -> OperationMode {
        self.fields.mode
    }

    /// Encoding of the parameters. A reply must use it too.
    #[inline]
    pub fn encoding(&self) -> EncodingVersion {
        self.fields.encoding
    }

    /// Decodes the context. Each call decodes it again.
    pub fn context(&self) -> Context {
        let range = self.range(self.fields.context_start, self.fields.parameters.start);
        let mut decoder = Decoder::new(&self.bytes[range], EncodingVersion::V1_0);
        Context::decode(&mut decoder).expect("the context was checked when the request was parsed")
    }

    /// The message, or several messages, that contain the parameters.
    #[inline]
    pub fn message(&self) -> &Bytes {
        &self.bytes
    }

    /// How the reply may be compressed; `None` if it may not be.
    pub fn reply_compression(&self) -> Option<Compression> {
        Compression::of_reply(self.fields.compression)
    }

    /// The parameters with their encapsulation header, sharing the message's bytes.
    pub fn parameters(&self) -> Bytes {
        self.bytes.slice(self.field(self.fields.parameters))
    }

    /// Length of the parameters in bytes, encapsulation header included.
    #[inline]
    pub fn parameters_len(&self) -> usize {
        self.fields.parameters.len()
    }

    /// Returns true if there are no parameters. Parameters in an unknown encoding count as parameters.
    #[inline]
    pub fn has_no_parameters(&self) -> bool {
        self.parameters_len() == ENCAPSULATION_HEADER_LEN && self.encoding().is_supported()
    }

    /// The parameters' encapsulation, borrowed.
    #[inline]
    pub fn encapsulation(&self) -> Encapsulation<'_> {
        let range = self.field(self.fields.parameters);
        let payload = &self.bytes[range.start + ENCAPSULATION_HEADER_LEN..range.end];
        Encapsulation {
            encoding: self.fields.encoding,
            payload,
        }
    }

    /// Operation, mode, context and parameters, as they are on the wire.
    /// [`RequestTarget::write_event`](super::RequestTarget::write_event) sends them to another target. Shares the
    /// message's bytes.
    pub fn event(&self) -> Bytes {
        let range = self.range(self.fields.event_start, self.fields.parameters.end);
        self.bytes.slice(range)
    }

    /// Borrows the bytes of the event.
    pub fn event_bytes(&self) -> &[u8] {
        &self.bytes[self.range(self.fields.event_start, self.fields.parameters.end)]
    }

    /// Identity and facet, as they are on the wire. Equal bytes mean the same target, but a peer may encode the same
    /// target with other bytes.
    pub fn target_bytes(&self) -> &[u8] {
        &self.bytes[self.range(0, self.fields.event_start)]
    }

    /// The target, for a reply that says that it does not exist.
    pub fn target(&self) -> RequestFailed {
        RequestFailed {
            identity: self.identity(),
            facet: self.facet().to_owned(),
            operation: self.operation().to_owned(),
        }
    }

    fn text(&self, field: Field) -> &str {
        std::str::from_utf8(&self.bytes[self.field(field)])
            .expect("text fields were checked when the request was parsed")
    }

    #[inline]
    fn field(&self, field: Field) -> Range<usize> {
        self.range(field.start, field.end)
    }

    #[inline]
    fn range(&self, start: u32, end: u32) -> Range<usize> {
        let body = self.fields.start as usize;
        body + start as usize..body + end as usize
    }
}

impl fmt::Debug for IncomingRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("IncomingRequest")
            .field("id", &self.fields.id)
            .field("identity", &self.identity())
            .field("facet", &self.facet())
            .field("operation", &self.operation())
            .field("mode", &self.fields.mode)
            .field("encoding", &self.fields.encoding)
            .field("parameters_len", &self.fields.parameters.len())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use bytes::BytesMut;

    use super::*;
    use crate::message::{RequestHead, RequestTarget};

    #[test]
    fn a_request_without_parameters_keeps_all_else_and_not_its_message() {
        let identity = Identity::with_category("o", "c");
        let header = RequestHead {
            target: &RequestTarget::new(&identity, "f"),
            operation: "op",
            mode: OperationMode::Idempotent,
            context: &Context::from([("k".into(), "v".into())]),
        };
        let mut bytes = Vec::new();
        let written = header.write_with(&mut bytes, RequestId(7), |encoder| {
            encoder.encapsulation(EncodingVersion::V1_0, |encoder| encoder.bytes(&[9; 1000]));
        });
        written.unwrap();
        // The reply may be compressed.
        bytes[COMPRESSION_POSITION] = 1;
        let message = Message::split(&mut BytesMut::from(&bytes[..]), 10_000);
        let message = message.unwrap().unwrap();
        let whole = IncomingRequest::parse(&message).unwrap();
        let kept = whole.without_parameters();
        assert_eq!(kept.id(), whole.id());
        assert_eq!(kept.target(), whole.target());
        assert_eq!(kept.target_bytes(), whole.target_bytes());
        assert_eq!(kept.context(), whole.context());
        assert_eq!(
            (kept.mode(), kept.encoding()),
            (whole.mode(), whole.encoding())
        );
        assert_eq!(kept.reply_compression(), whole.reply_compression());
        assert!(kept.has_no_parameters() && kept.encapsulation().payload.is_empty());
        assert_eq!(kept.parameters(), [6, 0, 0, 0, 1, 0][..]);
        assert!(kept.event().ends_with(&kept.parameters()));
        assert!(!message.bytes.is_unique());
        drop(whole);
        assert!(message.bytes.is_unique());
    }
}
