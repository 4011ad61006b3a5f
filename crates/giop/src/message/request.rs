//! Requests.

use bytes::Bytes;

use super::header::encode_message;
use super::{Body, Message, MessageType, RequestId, ServiceContext, Target};
use crate::cdr::{DecodeError, DecodeErrorKind, Decoder, EncodeError, Encoder, Format, Version};

/// The reply that the client waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResponseExpected {
    /// None: a oneway request.
    None,
    /// An empty reply as soon as the server has the request, before it is dispatched. Before GIOP 1.2 this cannot be
    /// said, and is encoded as [`ResponseExpected::Target`].
    Server,
    /// The results.
    Target,
}

/// All of a request but its id and its arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestHead {
    /// The object.
    pub target: Target,
    /// The operation.
    pub operation: String,
    /// The reply that the client waits for.
    pub response: ResponseExpected,
    /// Service contexts.
    pub contexts: Vec<ServiceContext>,
}

/// A request that came.
///
/// ```text
/// 1.0, 1.1  | contexts | id | response | (1.1: 3 bytes) | key | operation | principal | arguments |
/// 1.2       | id | response | 3 bytes | target | operation | contexts | gap to 8 | arguments |
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// Its number.
    pub id: RequestId,
    /// Target, operation and so on.
    pub head: RequestHead,
    /// The arguments.
    pub body: Body,
}

impl Request {
    /// Reads a request.
    ///
    /// # Errors
    /// [`DecodeError`]. The connection cannot go on, because the id may be wrong.
    pub fn decode(message: &Message) -> Result<Self, DecodeError> {
        let mut decoder = message.decoder();
        let (id, head) = match message.header.version {
            Version::V1_2 => decode_1_2(&mut decoder)?,
            _ => decode_1_0(&mut decoder)?,
        };
        let body = Body::decode(message, decoder, true)?;
        Ok(Self { id, head, body })
    }
}

impl RequestHead {
    /// The bytes of a request, of which `write` appends the arguments.
    ///
    /// # Errors
    /// [`EncodeError`]; those of `write`.
    pub fn encode(
        &self,
        id: RequestId,
        format: Format,
        write: impl FnOnce(&mut Encoder) -> Result<(), EncodeError>,
    ) -> Result<Bytes, EncodeError> {
        encode_message(MessageType::Request, format, |encoder| {
            match format.version {
                Version::V1_2 => {
                    encoder.ulong(id.0);
                    encoder.octet(match self.response {
                        ResponseExpected::None => 0,
                        ResponseExpected::Server => 1,
                        ResponseExpected::Target => 3,
                    });
                    encoder.octets(&[0; 3]);
                    self.target.encode(encoder)?;
                    encoder.name(&self.operation)?;
                    ServiceContext::encode_list(&self.contexts, encoder)?;
                }
                version => {
                    ServiceContext::encode_list(&self.contexts, encoder)?;
                    encoder.ulong(id.0);
                    encoder.boolean(self.response != ResponseExpected::None);
                    if version == Version::V1_1 {
                        encoder.octets(&[0; 3]);
                    }
                    self.target.encode(encoder)?;
                    encoder.name(&self.operation)?;
                    // The principal, which nobody uses.
                    encoder.octet_sequence(&[])?;
                }
            }
            Body::encode(encoder, write)
        })
    }
}

fn decode_1_0(decoder: &mut Decoder<'_>) -> Result<(RequestId, RequestHead), DecodeError> {
    let contexts = ServiceContext::decode_list(decoder)?;
    let id = RequestId(decoder.ulong("id of a request")?);
    let response = match decoder.boolean("response expected")? {
        true => ResponseExpected::Target,
        false => ResponseExpected::None,
    };
    if decoder.format().version == Version::V1_1 {
        decoder.octets(3, "reserved bytes of a request")?;
    }
    let target = Target::decode(decoder)?;
    let operation = decoder.name("operation")?;
    decoder.octet_sequence("principal")?;
    let head = RequestHead {
        target,
        operation,
        response,
        contexts,
    };
    Ok((id, head))
}

fn decode_1_2(decoder: &mut Decoder<'_>) -> Result<(RequestId, RequestHead), DecodeError> {
    let id = RequestId(decoder.ulong("id of a request")?);
    let here = decoder.clone();
    let response = match decoder.octet("response flags")? {
        0 => ResponseExpected::None,
        1 => ResponseExpected::Server,
        3 => ResponseExpected::Target,
        other => {
            let kind = DecodeErrorKind::InvalidValue(other.into());
            return Err(here.error("response flags", kind));
        }
    };
    decoder.octets(3, "reserved bytes of a request")?;
    let target = Target::decode(decoder)?;
    let operation = decoder.name("operation")?;
    let contexts = ServiceContext::decode_list(decoder)?;
    let head = RequestHead {
        target,
        operation,
        response,
        contexts,
    };
    Ok((id, head))
}
