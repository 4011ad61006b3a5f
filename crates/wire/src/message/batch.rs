//! Batches: several oneway requests behind one header.

use bytes::Bytes;

use super::header::{begin_message, end_message};
use super::request::write_target;
use super::{HEADER_LEN, IncomingRequest, Message, MessageType, RequestHeader, RequestId};
use crate::encoding::{
    DecodeError, DecodeErrorKind, Decoder, EncodeError, Encoder, EncodingVersion,
};
use crate::reference::Identity;

/// The least bytes that a request takes in a batch.
const REQUEST_LEN_MIN: usize = 12;
/// Header and count.
const REQUESTS_START: usize = HEADER_LEN + 4;

/// Collects requests into one BatchRequest message.
#[derive(Debug, Default)]
pub struct BatchWriter {
    buffer: Vec<u8>,
    count: i32,
}

impl BatchWriter {
    /// Adds a request whose parameters, encapsulation header included, are what `encapsulation`
    /// writes; on error the batch is as before.
    ///
    /// # Errors
    /// [`EncodeError`] if a parameter has no encoding, or if the message gets longer than its size
    /// can say.
    pub fn push(
        &mut self,
        header: &RequestHeader<'_>,
        encapsulation: impl FnOnce(&mut Encoder<'_>),
    ) -> Result<(), EncodeError> {
        self.add(|buffer| header.write_body(buffer, encapsulation))
    }

    /// Adds a request for `identity` around the [`IncomingRequest::event`] of another.
    ///
    /// # Errors
    /// [`EncodeError`] if the message gets longer than its size can say.
    pub fn push_event(
        &mut self,
        identity: &Identity,
        facet: &str,
        event: &[u8],
    ) -> Result<(), EncodeError> {
        self.add(|buffer| {
            write_target(buffer, identity, facet);
            buffer.extend_from_slice(event);
            Ok(())
        })
    }

    /// Number of requests.
    pub fn count(&self) -> usize {
        self.count as usize
    }

    /// Length of the message in bytes; 0 if there is no request.
    pub fn message_len(&self) -> usize {
        if self.count == 0 {
            0
        } else {
            self.buffer.len()
        }
    }

    /// Takes the message out; `None` if there is no request.
    pub fn finish(&mut self) -> Option<Vec<u8>> {
        if self.count == 0 {
            return None;
        }
        let mut message = std::mem::take(&mut self.buffer);
        message[HEADER_LEN..REQUESTS_START].copy_from_slice(&self.count.to_le_bytes());
        self.count = 0;
        end_message(&mut message, 0).expect("the length is checked with each request added");
        Some(message)
    }

    fn add(
        &mut self,
        write: impl FnOnce(&mut Vec<u8>) -> Result<(), EncodeError>,
    ) -> Result<(), EncodeError> {
        if self.buffer.is_empty() {
            begin_message(&mut self.buffer, MessageType::BatchRequest);
            self.buffer.extend_from_slice(&[0; 4]);
        }
        let start = self.buffer.len();
        let mut written = write(&mut self.buffer);
        let len = self.buffer.len();
        if len > i32::MAX as usize {
            written = Err(EncodeError::TooLong { what: "batch", len });
        }
        match written {
            Ok(()) => self.count += 1,
            Err(_) => self.buffer.truncate(start),
        }
        written
    }
}

/// The requests of a BatchRequest message, all fields checked.
#[derive(Debug, Clone)]
pub struct IncomingBatch {
    bytes: Bytes,
    position: usize,
    remaining: usize,
}

impl IncomingBatch {
    /// Checks the fields of all requests.
    ///
    /// # Errors
    /// [`DecodeError`], fatal for the connection.
    pub fn parse(message: &Message) -> Result<Self, DecodeError> {
        let mut decoder = Decoder::new(&message.bytes, EncodingVersion::V1_0);
        decoder.bytes(HEADER_LEN, "header")?;
        let count = decoder.len("batch count")?;
        let needed = count.saturating_mul(REQUEST_LEN_MIN);
        if needed > decoder.remaining() {
            let kind = DecodeErrorKind::EndOfData {
                needed,
                remaining: decoder.remaining(),
            };
            return Err(decoder.error("batch count", kind));
        }
        for _ in 0..count {
            IncomingRequest::parse_body(&message.bytes, &mut decoder, RequestId::ONEWAY)?;
        }
        decoder.finish_exact("batch")?;
        Ok(Self {
            bytes: message.bytes.clone(),
            position: REQUESTS_START,
            remaining: count,
        })
    }
}

impl Iterator for IncomingBatch {
    type Item = IncomingRequest;

    fn next(&mut self) -> Option<IncomingRequest> {
        self.remaining = self.remaining.checked_sub(1)?;
        let mut decoder = Decoder::new(&self.bytes, EncodingVersion::V1_0);
        decoder.bytes(self.position, "batch").ok()?;
        let request =
            IncomingRequest::parse_body(&self.bytes, &mut decoder, RequestId::ONEWAY).ok()?;
        self.position = decoder.position();
        Some(request)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.remaining, Some(self.remaining))
    }
}

impl ExactSizeIterator for IncomingBatch {}
