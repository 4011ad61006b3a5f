//! Requests.

use std::fmt;
use std::ops::Range;

use bytes::Bytes;

use super::header::{begin_message, end_message};
use super::system_exception::{decode_facet, encode_facet};
use super::{Context, HEADER_LEN, Message, MessageType, OperationMode, RequestFailed};
use crate::compression::Compression;
use crate::encoding::{
    Decode, DecodeError, Decoder, Encapsulation, Encode, EncodeError, Encoder, EncodingVersion,
};
use crate::reference::Identity;

/// Number of a request on its connection: 0 for oneway, else positive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RequestId(pub i32);

impl RequestId {
    /// The id of requests that get no reply.
    pub const ONEWAY: Self = Self(0);

    /// Whether no reply is sent.
    pub const fn is_oneway(self) -> bool {
        self.0 == 0
    }
}

impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// What a request says besides its parameters.
///
/// ```text
/// | identity: name, category | facet: 0 or 1 | operation | mode | context | parameters |
/// ```
///
/// Source: Ice manual, "Protocol Messages".
#[derive(Debug, Clone, Copy)]
pub struct RequestHeader<'a> {
    /// The object.
    pub identity: &'a Identity,
    /// The facet; empty for the default facet.
    pub facet: &'a str,
    /// The operation.
    pub operation: &'a str,
    /// Whether it may be repeated.
    pub mode: OperationMode,
    /// What travels beside the parameters.
    pub context: &'a Context,
}

impl RequestHeader<'_> {
    /// Appends a whole Request message. On error the buffer is as before.
    ///
    /// # Errors
    /// [`EncodeError`] if a parameter has no encoding.
    pub fn write(
        &self,
        buffer: &mut Vec<u8>,
        id: RequestId,
        encoding: EncodingVersion,
        parameters: impl FnOnce(&mut Encoder<'_>),
    ) -> Result<(), EncodeError> {
        self.write_with(buffer, id, |encoder| {
            encoder.encapsulation(encoding, parameters)
        })
    }

    /// Appends a whole Request message whose parameters, encapsulation header included, are what
    /// `encapsulation` writes. On error the buffer is as before.
    ///
    /// # Errors
    /// [`EncodeError`] if a parameter has no encoding.
    pub fn write_with(
        &self,
        buffer: &mut Vec<u8>,
        id: RequestId,
        encapsulation: impl FnOnce(&mut Encoder<'_>),
    ) -> Result<(), EncodeError> {
        let start = begin_message(buffer, MessageType::Request);
        buffer.extend_from_slice(&id.0.to_le_bytes());
        let written = self
            .write_body(buffer, encapsulation)
            .and_then(|()| end_message(buffer, start));
        if written.is_err() {
            buffer.truncate(start);
        }
        written
    }

    /// Appends a request's body, as it stands in a Request and, several times, in a BatchRequest.
    pub(super) fn write_body(
        &self,
        buffer: &mut Vec<u8>,
        encapsulation: impl FnOnce(&mut Encoder<'_>),
    ) -> Result<(), EncodeError> {
        let mut encoder = Encoder::new(buffer, EncodingVersion::V1_0);
        self.identity.encode(&mut encoder);
        encode_facet(self.facet, &mut encoder);
        encoder.string(self.operation);
        self.mode.encode(&mut encoder);
        self.context.encode(&mut encoder);
        encapsulation(&mut encoder);
        encoder.finish()
    }
}

/// Appends a Request message for another target around the [`IncomingRequest::event`] of a request
/// that came from elsewhere: operation, mode, context and parameters travel unopened.
///
/// # Errors
/// [`EncodeError`] if the message gets longer than its size can say.
pub fn forward_request(
    buffer: &mut Vec<u8>,
    id: RequestId,
    identity: &Identity,
    facet: &str,
    event: &[u8],
) -> Result<(), EncodeError> {
    let start = begin_message(buffer, MessageType::Request);
    buffer.extend_from_slice(&id.0.to_le_bytes());
    write_target(buffer, identity, facet);
    buffer.extend_from_slice(event);
    end_message(buffer, start)
}

pub(super) fn write_target(buffer: &mut Vec<u8>, identity: &Identity, facet: &str) {
    let mut encoder = Encoder::new(buffer, EncodingVersion::V1_0);
    identity.encode(&mut encoder);
    encode_facet(facet, &mut encoder);
}

/// A request as it arrived: fields checked, nothing copied, parameters unopened.
///
/// A clone shares the bytes.
#[derive(Clone)]
pub struct IncomingRequest {
    bytes: Bytes,
    fields: Fields,
}

/// What a request says besides its bytes.
#[derive(Clone, Copy)]
pub(super) struct Fields {
    id: RequestId,
    name: Field,
    category: Field,
    facet: Field,
    /// Where the operation's size stands, in front of its text.
    event_start: u32,
    operation: Field,
    mode: OperationMode,
    context: Field,
    parameters: Field,
    encoding: EncodingVersion,
}

/// A range of bytes of a message; messages are at most 2 GiB long.
#[derive(Clone, Copy)]
struct Field {
    start: u32,
    end: u32,
}

impl IncomingRequest {
    /// Checks the fields of a Request message.
    ///
    /// # Errors
    /// [`DecodeError`], fatal for the connection.
    pub fn parse(message: &Message) -> Result<Self, DecodeError> {
        Self::from_message(message.clone())
    }

    /// The same for a message that nobody needs any more.
    pub(crate) fn from_message(message: Message) -> Result<Self, DecodeError> {
        let mut decoder = Decoder::new(&message.bytes, EncodingVersion::V1_0);
        decoder.bytes(HEADER_LEN, "header")?;
        let id = RequestId(decoder.int("request id")?);
        let fields = Fields::parse(&mut decoder, id)?;
        decoder.finish_exact("request")?;
        let bytes = message.bytes;
        Ok(Self { bytes, fields })
    }

    /// A request whose fields stand in `bytes`.
    pub(super) fn new(bytes: Bytes, fields: Fields) -> Self {
        Self { bytes, fields }
    }

    /// Number of the request on its connection.
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

    /// Whether it may be repeated.
    pub fn mode(&self) -> OperationMode {
        self.fields.mode
    }

    /// Encoding of the parameters, which a reply must use too.
    pub fn encoding(&self) -> EncodingVersion {
        self.fields.encoding
    }

    /// What travels beside the parameters, decoded anew at each call.
    pub fn context(&self) -> Context {
        let mut decoder = Decoder::new(
            &self.bytes[self.fields.context.range()],
            EncodingVersion::V1_0,
        );
        Context::decode(&mut decoder).expect("the context was checked when the request was parsed")
    }

    /// The whole message: what the parameters are a part of.
    pub fn message(&self) -> &Bytes {
        &self.bytes
    }

    /// What the reply may be compressed with; `None` if it may not be.
    pub fn reply_compression(&self) -> Option<Compression> {
        let status = self.bytes.get(9).copied();
        status.and_then(Compression::of_reply)
    }

    /// The parameters with their encapsulation header, sharing the message's bytes.
    pub fn parameters(&self) -> Bytes {
        self.bytes.slice(self.fields.parameters.range())
    }

    /// Length of the parameters in bytes, encapsulation header included.
    pub fn parameters_len(&self) -> usize {
        self.fields.parameters.range().len()
    }

    /// The parameters' encapsulation, borrowed.
    pub fn encapsulation(&self) -> Encapsulation<'_> {
        let range = self.fields.parameters.range();
        let payload =
            &self.bytes[range.start + crate::encoding::ENCAPSULATION_HEADER_LEN..range.end];
        Encapsulation {
            encoding: self.fields.encoding,
            payload,
        }
    }

    /// Operation, mode, context and parameters as they stand on the wire: what
    /// [`forward_request`] sends on to another target. Shares the message's bytes.
    pub fn event(&self) -> Bytes {
        self.bytes
            .slice(self.fields.event_start as usize..self.fields.parameters.end as usize)
    }

    /// The target, for an answer that says it does not exist.
    pub fn target(&self) -> RequestFailed {
        RequestFailed {
            identity: self.identity(),
            facet: self.facet().to_owned(),
            operation: self.operation().to_owned(),
        }
    }

    fn text(&self, field: Field) -> &str {
        std::str::from_utf8(&self.bytes[field.range()])
            .expect("text fields were checked when the request was parsed")
    }
}

impl Fields {
    /// Checks the fields of the body at which `decoder` stands.
    pub(super) fn parse(decoder: &mut Decoder<'_>, id: RequestId) -> Result<Self, DecodeError> {
        let name = text(decoder, |decoder| decoder.str("identity name"))?;
        let category = text(decoder, |decoder| decoder.str("identity category"))?;
        let facet = text(decoder, decode_facet)?;
        let event_start = decoder.position() as u32;
        let operation = text(decoder, |decoder| decoder.str("operation"))?;
        let mode = decoder.get()?;
        let context_start = decoder.position();
        check_context(decoder)?;
        let parameters_start = decoder.position();
        let parameters = decoder.encapsulation()?;
        Ok(Self {
            id,
            name,
            category,
            facet,
            event_start,
            operation,
            mode,
            context: Field::new(context_start, parameters_start),
            parameters: Field::new(parameters_start, decoder.position()),
            encoding: parameters.encoding,
        })
    }
}

impl Field {
    fn new(start: usize, end: usize) -> Self {
        Self {
            start: start as u32,
            end: end as u32,
        }
    }

    fn range(self) -> Range<usize> {
        self.start as usize..self.end as usize
    }
}

/// Reads a string and remembers where its text stands.
fn text<'a>(
    decoder: &mut Decoder<'a>,
    read: impl FnOnce(&mut Decoder<'a>) -> Result<&'a str, DecodeError>,
) -> Result<Field, DecodeError> {
    let text = read(decoder)?;
    let end = decoder.position();
    Ok(Field::new(end - text.len(), end))
}

fn check_context(decoder: &mut Decoder<'_>) -> Result<(), DecodeError> {
    for _ in 0..decoder.count(2, "context")? {
        decoder.str("context key")?;
        decoder.str("context value")?;
    }
    Ok(())
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
            .field("parameters_len", &self.fields.parameters.range().len())
            .finish_non_exhaustive()
    }
}
