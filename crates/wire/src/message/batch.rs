//! Batches: several oneway requests behind one header.

use super::header::{begin_message, end_message};
use super::request::Fields;
use super::row::{AlikeEvent, Checked, Next, Row};
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
    /// Where the last whole request ends; 0 if there is none. What stands behind it is what a panic
    /// left of another one.
    end: usize,
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
        self.end
    }

    /// Forgets all requests; how many there were.
    pub fn discard(&mut self) -> usize {
        self.end = 0;
        std::mem::take(&mut self.count) as usize
    }

    /// Takes the message out; `None` if there is no request.
    pub fn finish(&mut self) -> Option<Vec<u8>> {
        if self.count == 0 {
            return None;
        }
        let mut message = std::mem::take(&mut self.buffer);
        message.truncate(std::mem::take(&mut self.end));
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
        let start = self.begin();
        let written = write(&mut self.buffer);
        let len = self.buffer.len() - start;
        written.and_then(|()| check_len(len))?;
        let is_over = self.buffer.len() > len_max.min(LEN_MAX);
        let mut full = None;
        if is_over && self.count > 0 {
            let last = self.buffer.split_off(start);
            full = self.finish();
            self.begin();
            self.buffer.extend_from_slice(&last);
        }
        self.end = self.buffer.len();
        self.count += 1;
        Ok(full)
    }

    /// Makes sure that there is a header, and nothing but whole requests behind it; gives the place
    /// of the next one.
    #[inline]
    fn begin(&mut self) -> usize {
        self.buffer.truncate(self.end);
        if self.buffer.is_empty() {
            self.buffer.reserve(self.capacity);
            begin_message(&mut self.buffer, MessageType::BatchRequest);
            self.buffer.extend_from_slice(&[0; 4]);
        }
        self.buffer.len()
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

    /// Takes the next request as an event, if it begins as the one that was taken last.
    #[inline]
    pub fn next_alike(&mut self) -> Option<AlikeEvent<'_>> {
        self.row.next_alike()
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

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use bytes::BytesMut;

    use super::*;
    use crate::message::OperationMode;
    use crate::reference::Identity;

    fn push(batch: &mut BatchWriter, encapsulation: impl FnOnce(&mut Encoder<'_>)) {
        let target = Target::new(&Identity::new("object"), "");
        let context = crate::message::Context::new();
        let head = RequestHead {
            target: &target,
            operation: "run",
            mode: OperationMode::Normal,
            context: &context,
        };
        let full = batch.push_head(&head, LEN_MAX, encapsulation);
        assert!(full.expect("it has an encoding").is_none());
    }

    fn nothing(encoder: &mut Encoder<'_>) {
        encoder.bytes(&[6, 0, 0, 0, 1, 1]);
    }

    #[test]
    fn a_panic_in_the_middle_of_a_request_leaves_nothing_of_it() {
        for request_count in [0, 1] {
            let mut batch = BatchWriter::default();
            (0..request_count).for_each(|_| push(&mut batch, nothing));
            let len = batch.message_len();
            let panicked = catch_unwind(AssertUnwindSafe(|| {
                push(&mut batch, |encoder| {
                    encoder.bytes(&[6, 0, 0]);
                    panic!("in the middle")
                });
            }));
            assert!(panicked.is_err());
            assert_eq!((batch.count(), batch.message_len()), (request_count, len));
            push(&mut batch, nothing);
            let message = batch.finish().expect("it has requests");
            let mut input = BytesMut::from(&message[..]);
            let message = Message::split(&mut input, LEN_MAX);
            let message = message.expect("a good header").expect("a whole message");
            let requests = IncomingBatch::parse(&message).expect("whole requests");
            assert_eq!(requests.count(), request_count + 1);
        }
    }
}
