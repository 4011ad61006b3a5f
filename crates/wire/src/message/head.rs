//! The common part of many requests, encoded once.

use std::collections::BTreeMap;

use super::header::{begin_message, end_encapsulated, end_encapsulation, end_message, take_off};
use super::{HEADER_LEN, MessageType, OperationMode, RequestId};
use crate::encoding::{
    ENCAPSULATION_HEADER_LEN, Encapsulation, Encode, EncodeError, Encoder, EncodingVersion, Sink,
};
use crate::reference::{Identity, encode_facet};

/// Identity and facet of an object, as each request to it contains them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestTarget {
    bytes: Box<[u8]>,
}

impl RequestTarget {
    /// Encodes the target; `facet` is empty for the default facet.
    pub fn new(identity: &Identity, facet: &str) -> Self {
        let mut bytes = Vec::new();
        let mut encoder = Encoder::new(&mut bytes, EncodingVersion::V1_0);
        identity.encode(&mut encoder);
        encode_facet(facet, &mut encoder);
        Self {
            bytes: bytes.into(),
        }
    }

    /// Appends a Request message to this target with the [event](super::IncomingRequest::event) of another request:
    /// operation, mode, context and parameters are copied unopened. On error the buffer is unchanged.
    ///
    /// # Errors
    /// [`EncodeError`] if the message gets longer than its size can say.
    pub fn write_event(
        &self,
        buffer: &mut impl Sink,
        id: RequestId,
        event: &[u8],
    ) -> Result<(), EncodeError> {
        let start = begin_message(buffer, MessageType::Request);
        buffer.split().0.extend_from_slice(&id.0.to_le_bytes());
        self.write_event_body(buffer.split().0, event);
        end_message(buffer, start)
    }

    /// The length of the encoded target in bytes.
    #[inline]
    pub(super) fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Appends a request with an event, as a batch contains it.
    #[inline]
    pub(super) fn write_event_body(&self, buffer: &mut Vec<u8>, event: &[u8]) {
        buffer.extend_from_slice(&self.bytes);
        buffer.extend_from_slice(event);
    }

    /// Appends requests with events of `len` bytes each, which are stored one after the other.
    pub(super) fn write_event_bodies(&self, buffer: &mut Vec<u8>, events: &[u8], len: usize) {
        let rest = match self.len().max(len) {
            0..=32 => self.write_in_blocks::<32>(buffer, events, len),
            33..=BLOCK_MAX => self.write_in_blocks::<BLOCK_MAX>(buffer, events, len),
            _ => events,
        };
        for event in rest.chunks_exact(len) {
            self.write_event_body(buffer, event);
        }
    }

    /// Writes the events that are followed by enough bytes to copy a whole block, and removes the surplus. A copy with
    /// a length that the compiler knows takes a few instructions and no call. Returns the other events.
    fn write_in_blocks<'e, const N: usize>(
        &self,
        buffer: &mut Vec<u8>,
        mut events: &'e [u8],
        len: usize,
    ) -> &'e [u8] {
        let mut target = [0; N];
        target[..self.len()].copy_from_slice(&self.bytes);
        buffer.reserve(events.len() / len * (self.len() + len) + N);
        while let Some(event) = events.first_chunk::<N>() {
            let start = buffer.len();
            buffer.extend_from_slice(&target);
            buffer.truncate(start + self.len());
            buffer.extend_from_slice(event);
            buffer.truncate(start + self.len() + len);
            events = &events[len..];
        }
        events
    }
}

/// The longest block for such copies.
pub(super) const BLOCK_MAX: usize = 64;

/// Keys and values that a caller sends along with a request, next to the parameters.
pub type Context = BTreeMap<String, String>;

/// The head of a request: all fields but the parameters.
///
/// ```text
/// | identity: name, category | facet: 0 or 1 | operation | mode | context | parameters |
/// |--------------- target ----------------|
/// ```
///
/// Source: Ice manual, "Protocol Messages".
#[derive(Debug, Clone, Copy)]
pub struct RequestHead<'a> {
    /// The object.
    pub target: &'a RequestTarget,
    /// The operation.
    pub operation: &'a str,
    /// The mode, which says whether the request may be repeated.
    pub mode: OperationMode,
    /// Text that travels with the request.
    pub context: &'a Context,
}

impl RequestHead<'_> {
    /// Appends a whole Request message. `encapsulation` writes its parameters with their encapsulation header. On error
    /// the buffer is unchanged.
    ///
    /// # Errors
    /// [`EncodeError`] if a parameter has no encoding.
    #[inline]
    pub fn write_with(
        &self,
        buffer: &mut impl Sink,
        id: RequestId,
        encapsulation: impl FnOnce(&mut Encoder<'_>),
    ) -> Result<(), EncodeError> {
        let start = begin_message(buffer, MessageType::Request);
        buffer.split().0.extend_from_slice(&id.0.to_le_bytes());
        let written = self
            .write_body(buffer, encapsulation)
            .and_then(|()| end_message(buffer, start));
        if written.is_err() {
            take_off(buffer, start);
        }
        written
    }

    /// Appends the body, as a Request contains it once and a BatchRequest several times.
    #[inline]
    pub(super) fn write_body(
        &self,
        buffer: &mut impl Sink,
        encapsulation: impl FnOnce(&mut Encoder<'_>),
    ) -> Result<(), EncodeError> {
        let mut encoder = Encoder::new(buffer, EncodingVersion::V1_0);
        self.encode(&mut encoder);
        encapsulation(&mut encoder);
        encoder.finish()
    }

    fn encode(&self, encoder: &mut Encoder<'_>) {
        encoder.bytes(&self.target.bytes);
        encoder.string(self.operation);
        self.mode.encode(encoder);
        match self.context.is_empty() {
            true => encoder.size(0),
            false => self.context.encode(encoder),
        }
    }

    /// Encodes the head for many requests, whose parameters have this encoding.
    ///
    /// # Errors
    /// [`EncodeError`] if a text is too long for its size.
    pub fn prepare(&self, encoding: EncodingVersion) -> Result<PreparedHead, EncodeError> {
        let mut message = Vec::new();
        self.write_with(&mut message, RequestId::ONEWAY, |encoder| {
            encoder.bytes(&Encapsulation::header(encoding, 0));
        })?;
        Ok(PreparedHead::new(message, encoding))
    }
}

/// The beginning of all requests to one operation: a whole request with empty parameters.
///
/// ```text
/// | header | id | target | operation | mode | context | size of nothing | encoding |
/// ```
#[derive(Debug, Clone)]
pub struct PreparedHead {
    message: Vec<u8>,
    /// The head with zeros after it, if it is short enough.
    padded: Option<[u8; PADDED_LEN]>,
    encoding: EncodingVersion,
}

impl PreparedHead {
    fn new(message: Vec<u8>, encoding: EncodingVersion) -> Self {
        let padded = (message.len() <= PADDED_LEN).then(|| {
            let mut padded = [0; PADDED_LEN];
            padded[..message.len()].copy_from_slice(&message);
            padded
        });
        Self {
            message,
            padded,
            encoding,
        }
    }

    /// Appends the message from a position on. A copy with a length that the compiler knows takes a few instructions;
    /// any other copy of a few bytes is a call.
    #[inline(always)]
    fn append(&self, bytes: &mut Vec<u8>, from: usize) {
        let Some(padded) = &self.padded else {
            return bytes.extend_from_slice(&self.message[from..]);
        };
        let end = bytes.len() + self.message.len() - from;
        bytes.extend_from_slice(&padded[from..]);
        bytes.truncate(end);
    }

    /// Appends a whole Request message; `parameters` writes the content of the encapsulation. On error the buffer is
    /// unchanged.
    ///
    /// # Errors
    /// [`EncodeError`] if a parameter has no encoding.
    #[inline(always)]
    pub fn write(
        &self,
        buffer: &mut impl Sink,
        id: RequestId,
        parameters: impl FnOnce(&mut Encoder<'_>),
    ) -> Result<(), EncodeError> {
        let (bytes, _) = buffer.split();
        let start = bytes.len();
        self.append(bytes, 0);
        if !id.is_oneway() {
            bytes[start + HEADER_LEN..start + BODY_START].copy_from_slice(&id.0.to_le_bytes());
        }
        let mut encoder = Encoder::new(buffer, self.encoding);
        parameters(&mut encoder);
        let written = encoder.finish();
        let written = written.and_then(|()| end_encapsulated(buffer, start, self.message.len()));
        if written.is_err() {
            take_off(buffer, start);
        }
        written
    }

    /// Appends a request, as a batch contains it. After an error, the appended bytes are invalid.
    #[inline(always)]
    pub(super) fn write_body(
        &self,
        buffer: &mut Vec<u8>,
        parameters: impl FnOnce(&mut Encoder<'_>),
    ) -> Result<(), EncodeError> {
        self.append(buffer, BODY_START);
        let end = buffer.len();
        let mut encoder = Encoder::new(buffer, self.encoding);
        parameters(&mut encoder);
        encoder.finish()?;
        if buffer.len() == end {
            return Ok(());
        }
        let encapsulation = end - ENCAPSULATION_HEADER_LEN;
        let len = buffer.len() - encapsulation;
        end_encapsulation(buffer, encapsulation, len)
    }
}

/// Header and request id.
const BODY_START: usize = HEADER_LEN + 4;

/// The longest head that is padded: one with short names and no context.
const PADDED_LEN: usize = BODY_START + 64;

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;
    use crate::encoding::{Buffer, PIECE_MIN};

    #[test]
    fn a_prepared_request_has_the_same_bytes() {
        let target = RequestTarget::new(&Identity::new("n"), "f");
        let long = Bytes::from(vec![7; PIECE_MIN]);
        for encoding in [EncodingVersion::V1_0, EncodingVersion::V1_1] {
            for context in [Context::new(), Context::from([("k".into(), "v".into())])] {
                let head = RequestHead {
                    target: &target,
                    operation: "op",
                    mode: OperationMode::Idempotent,
                    context: &context,
                };
                let prepared = head.prepare(encoding).unwrap();
                let (mut one, mut other) = (Buffer::default(), Buffer::default());
                for (id, parameters) in [(0, &long[..0]), (7, &long[..300]), (8, &long[..])] {
                    let (id, bytes) = (RequestId(id), long.slice_ref(parameters));
                    let write = |encoder: &mut Encoder<'_>| encoder.shared_bytes(&bytes);
                    head.write_with(&mut one, id, |encoder| {
                        encoder.encapsulation(encoding, write);
                    })
                    .unwrap();
                    prepared.write(&mut other, id, write).unwrap();
                }
                assert!(other.has_pieces());
                let len = other.bytes().len();
                let fail = |encoder: &mut Encoder<'_>| {
                    encoder.shared_bytes(&long);
                    encoder.fail(EncodeError::FixedProxy);
                };
                assert!(prepared.write(&mut other, RequestId(9), fail).is_err());
                assert_eq!(other.bytes().len(), len);
                assert_eq!(one.into_vec(), other.into_vec());
            }
        }
    }
}
