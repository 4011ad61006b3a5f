//! Batches: several oneway requests behind one header.

use super::header::{begin_message, end_message};
use super::request::Fields;
use super::row::{Checked, Next, Row};
use super::{
    HEADER_LEN, IncomingRequest, Message, MessageType, RequestHead, RequestHeader, RequestId,
    Target,
};
use crate::encoding::{
    DecodeError, DecodeErrorKind, Decoder, EncodeError, Encoder, EncodingVersion,
};

/// The least bytes that a request takes in a batch.
const REQUEST_LEN_MIN: usize = 12;
/// The longest message that a size can say.
const LEN_MAX: usize = i32::MAX as usize;
/// The most bytes that are reserved for a message before it has any.
const CAPACITY_MAX: usize = 64 * 1024;
/// Header and count.
const REQUESTS_START: usize = HEADER_LEN + 4;

/// Collects requests into one BatchRequest message.
#[derive(Debug, Default)]
pub struct BatchWriter {
    buffer: Vec<u8>,
    count: i32,
    /// Of the message before, for this one will be as long; bounded by [`CAPACITY_MAX`].
    capacity: usize,
}

impl BatchWriter {
    /// Adds a request whose parameters, encapsulation header included, are what `encapsulation`
    /// writes. If the message would get longer than `len_max` bytes, the requests before it come
    /// back as a message of their own. On error the batch is as before.
    ///
    /// # Errors
    /// [`EncodeError`] if a parameter has no encoding.
    pub fn push(
        &mut self,
        header: &RequestHeader<'_>,
        len_max: usize,
        encapsulation: impl FnOnce(&mut Encoder<'_>),
    ) -> Result<Option<Vec<u8>>, EncodeError> {
        self.add(len_max, |buffer| header.write_body(buffer, encapsulation))
    }

    /// Adds a request to a target that is encoded already, as [`BatchWriter::push`] does.
    ///
    /// # Errors
    /// [`EncodeError`] if a parameter has no encoding.
    #[inline]
    pub fn push_head(
        &mut self,
        head: &RequestHead<'_>,
        len_max: usize,
        encapsulation: impl FnOnce(&mut Encoder<'_>),
    ) -> Result<Option<Vec<u8>>, EncodeError> {
        self.add(len_max, |buffer| head.write_body(buffer, encapsulation))
    }

    /// Adds a request whose head is encoded already, see [`RequestHead::to_bytes`], as
    /// [`BatchWriter::push`] does.
    ///
    /// # Errors
    /// [`EncodeError`] if a parameter has no encoding.
    #[inline]
    pub fn push_encoded(
        &mut self,
        head: &[u8],
        len_max: usize,
        encapsulation: impl FnOnce(&mut Encoder<'_>),
    ) -> Result<Option<Vec<u8>>, EncodeError> {
        self.add(len_max, |buffer| {
            buffer.extend_from_slice(head);
            let mut encoder = Encoder::new(buffer, EncodingVersion::V1_0);
            encapsulation(&mut encoder);
            encoder.finish()
        })
    }

    /// Adds a request around the [`IncomingRequest::event`] of another, as [`BatchWriter::push`]
    /// does.
    ///
    /// # Errors
    /// [`EncodeError`] if the message gets longer than its size can say.
    pub fn push_event(
        &mut self,
        target: &Target,
        event: &[u8],
        len_max: usize,
    ) -> Result<Option<Vec<u8>>, EncodeError> {
        self.add(len_max, |buffer| {
            target.write_event_body(buffer, event);
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

    /// Forgets all requests; how many there were.
    pub fn discard(&mut self) -> usize {
        self.buffer.clear();
        std::mem::take(&mut self.count) as usize
    }

    /// Takes the message out; `None` if there is no request.
    pub fn finish(&mut self) -> Option<Vec<u8>> {
        if self.count == 0 {
            return None;
        }
        let mut message = std::mem::take(&mut self.buffer);
        self.capacity = message.len().min(CAPACITY_MAX);
        message[HEADER_LEN..REQUESTS_START].copy_from_slice(&self.count.to_le_bytes());
        self.count = 0;
        end_message(&mut message, 0).expect("the length is checked with each request added");
        Some(message)
    }

    #[inline]
    fn add(
        &mut self,
        len_max: usize,
        write: impl FnOnce(&mut Vec<u8>) -> Result<(), EncodeError>,
    ) -> Result<Option<Vec<u8>>, EncodeError> {
        self.begin();
        let start = self.buffer.len();
        let written = write(&mut self.buffer);
        let len = self.buffer.len() - start;
        if let Err(error) = written.and_then(|()| check_len(len)) {
            self.buffer.truncate(start);
            return Err(error);
        }
        let is_over = self.buffer.len() > len_max.min(LEN_MAX);
        let mut full = None;
        if is_over && self.count > 0 {
            let last = self.buffer.split_off(start);
            full = self.finish();
            self.begin();
            self.buffer.extend_from_slice(&last);
        }
        self.count += 1;
        Ok(full)
    }

    /// Makes sure that there is a header.
    fn begin(&mut self) {
        if self.buffer.is_empty() {
            self.buffer.reserve(self.capacity);
            begin_message(&mut self.buffer, MessageType::BatchRequest);
            self.buffer.extend_from_slice(&[0; 4]);
        }
    }
}

/// Checks that a request fits into a message by itself.
fn check_len(len: usize) -> Result<(), EncodeError> {
    if len > LEN_MAX - REQUESTS_START {
        return Err(EncodeError::TooLong {
            what: "request",
            len,
        });
    }
    Ok(())
}

/// The requests of a BatchRequest message, all fields checked.
#[derive(Debug, Clone)]
pub struct IncomingBatch {
    row: Row,
    byte_len: usize,
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
        let mut checked = Checked::new(REQUESTS_START);
        for _ in 0..count {
            if !checked.add_alike(&message.bytes) {
                let mut decoder = decoder.clone();
                decoder.bytes(checked.end() - REQUESTS_START, "batch")?;
                checked.add(Fields::parse(&mut decoder, RequestId::ONEWAY)?);
            }
        }
        decoder.bytes(checked.end() - REQUESTS_START, "batch")?;
        decoder.finish_exact("batch")?;
        Ok(Self {
            row: checked.into_row(message.bytes.clone(), 0),
            byte_len: message.bytes.len(),
        })
    }

    /// Length of the whole message in bytes.
    pub fn byte_len(&self) -> usize {
        self.byte_len
    }

    /// Makes `request` the next one, and says what it was made. The bytes are shared anew only if
    /// `request` was none of this batch.
    #[inline]
    pub fn next_over(&mut self, request: &mut IncomingRequest) -> Next {
        self.row.next_over(request)
    }
}

impl Iterator for IncomingBatch {
    type Item = IncomingRequest;

    fn next(&mut self) -> Option<IncomingRequest> {
        self.row.next()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let count = self.row.remaining();
        (count, Some(count))
    }
}

impl ExactSizeIterator for IncomingBatch {}
