//! Batches: several oneway requests behind one header.

use super::batch_scan::REQUESTS_START;
use super::header::{begin_message, end_message};
use super::{HEADER_LEN, MessageType, PreparedHead, RequestHead, RequestTarget};
use crate::encoding::{EncodeError, Encoder};

/// The longest message whose length fits into a size.
const LEN_MAX: usize = i32::MAX as usize;
/// The maximum bytes to reserve for a message before it has any.
const CAPACITY_MAX: usize = 64 * 1024;
/// Collects requests into one BatchRequest message.
#[derive(Debug, Default)]
pub struct BatchWriter {
    buffer: Vec<u8>,
    /// The end of the last whole request; 0 if there is none. Anything after it was left by a panic.
    end: usize,
    count: i32,
    /// The length of the previous message, at most [`CAPACITY_MAX`]: the next one will probably be as long.
    capacity: usize,
}

impl BatchWriter {
    /// Adds a request. `encapsulation` writes its parameters with their encapsulation header. If the message would
    /// exceed `len_max` bytes, the earlier requests are returned as a message of their own. On error the batch is
    /// unchanged.
    ///
    /// # Errors
    /// [`EncodeError`] if a parameter has no encoding.
    #[inline]
    pub fn push(
        &mut self,
        head: &RequestHead<'_>,
        len_max: usize,
        encapsulation: impl FnOnce(&mut Encoder<'_>),
    ) -> Result<Option<Vec<u8>>, EncodeError> {
        self.add(len_max, |buffer| head.write_body(buffer, encapsulation))
    }

    /// Adds a request with a prepared head; `parameters` writes the content of the encapsulation. Returns false, and
    /// leaves the batch unchanged, if it is the first request, if the message would exceed `len_max` bytes, or if a
    /// parameter cannot be encoded.
    #[inline]
    pub fn extend_prepared(
        &mut self,
        head: &PreparedHead,
        len_max: usize,
        parameters: impl FnOnce(&mut Encoder<'_>),
    ) -> bool {
        if self.count == 0 {
            return false;
        }
        // A panic may have left part of another request.
        self.buffer.truncate(self.end);
        let written = head.write_body(&mut self.buffer, parameters);
        let end = self.buffer.len();
        if written.is_err() || end > len_max.min(LEN_MAX) {
            self.buffer.truncate(self.end);
            return false;
        }
        self.end = end;
        self.count += 1;
        true
    }

    /// Adds a request with the [event](super::IncomingRequest::event) of another request, like [`BatchWriter::push`].
    ///
    /// # Errors
    /// [`EncodeError`] if the message gets longer than its size can say.
    pub fn push_event(
        &mut self,
        target: &RequestTarget,
        event: &[u8],
        len_max: usize,
    ) -> Result<Option<Vec<u8>>, EncodeError> {
        self.add(len_max, |buffer| {
            target.write_event_body(buffer, event);
            Ok(())
        })
    }

    /// The number of requests.
    pub fn count(&self) -> usize {
        self.count as usize
    }

    /// Length of the message in bytes; 0 if there is no request.
    pub fn message_len(&self) -> usize {
        self.end
    }

    /// Discards all requests. Returns how many there were.
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

    /// Writes the header if there is none, and removes anything after the last whole request. Returns the position of
    /// the next request.
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

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use bytes::BytesMut;

    use super::*;
    use crate::encoding::{DecodeError, Decoder, EncodingVersion};
    use crate::message::fields::Fields;
    use crate::message::{
        Context, IncomingRequest, Message, OperationMode, RequestBatch, RequestId,
    };
    use crate::reference::Identity;

    fn push(batch: &mut BatchWriter, encapsulation: impl FnOnce(&mut Encoder<'_>)) {
        let target = RequestTarget::new(&Identity::new("object"), "");
        let context = Context::new();
        let head = RequestHead {
            target: &target,
            operation: "run",
            mode: OperationMode::Normal,
            context: &context,
        };
        let full = batch.push(&head, LEN_MAX, encapsulation);
        assert!(full.expect("it has an encoding").is_none());
    }

    fn nothing(encoder: &mut Encoder<'_>) {
        encoder.bytes(&[6, 0, 0, 0, 1, 1]);
    }

    #[test]
    fn a_panic_in_the_middle_of_a_request_removes_it() {
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
            let requests = requests(&batch.finish().expect("it has requests"));
            assert_eq!(requests.len(), request_count + 1);
        }
    }

    /// Parses the requests of a whole message.
    fn requests(message: &[u8]) -> Vec<IncomingRequest> {
        let mut input = BytesMut::from(message);
        let message = Message::split(&mut input, LEN_MAX);
        let message = message.expect("a good header").expect("a whole message");
        RequestBatch::parse(&message)
            .expect("whole requests")
            .collect()
    }

    #[test]
    fn a_prepared_request_has_the_same_bytes() {
        let target = RequestTarget::new(&Identity::new("object"), "facet");
        for encoding in [EncodingVersion::V1_0, EncodingVersion::V1_1] {
            for context in [Context::new(), Context::from([("k".into(), "v".into())])] {
                let head = RequestHead {
                    target: &target,
                    operation: "run",
                    mode: OperationMode::Idempotent,
                    context: &context,
                };
                let prepared = head.prepare(encoding).unwrap();
                let (mut one, mut other) = (BatchWriter::default(), BatchWriter::default());
                for len in [0, 1, 300, 0] {
                    let write = |encoder: &mut Encoder<'_>| encoder.bytes(&vec![7; len]);
                    let whole = |encoder: &mut Encoder<'_>| encoder.encapsulation(encoding, write);
                    one.push(&head, LEN_MAX, whole).unwrap();
                    if other.count() == 0 {
                        other.push(&head, LEN_MAX, whole).unwrap();
                    } else {
                        assert!(other.extend_prepared(&prepared, LEN_MAX, write));
                    }
                }
                assert_eq!(one.count(), other.count());
                assert_eq!(one.finish(), other.finish());
            }
        }
    }

    #[test]
    fn a_request_that_does_not_extend_a_batch_changes_nothing() {
        let target = RequestTarget::new(&Identity::new("object"), "");
        let head = RequestHead {
            target: &target,
            operation: "run",
            mode: OperationMode::Normal,
            context: &Context::new(),
        };
        let prepared = head.prepare(EncodingVersion::V1_1).unwrap();
        let mut batch = BatchWriter::default();
        assert!(
            !batch.extend_prepared(&prepared, LEN_MAX, |_| ()),
            "no first"
        );
        assert!(batch.finish().is_none());
        push(&mut batch, nothing);
        let len = batch.message_len();
        let step = len - REQUESTS_START;
        assert!(!batch.extend_prepared(&prepared, len + step - 1, |_| ()));
        let fail = |encoder: &mut Encoder<'_>| {
            encoder.bytes(b"something");
            encoder.fail(EncodeError::FixedProxy);
        };
        assert!(!batch.extend_prepared(&prepared, LEN_MAX, fail));
        let panicked = catch_unwind(AssertUnwindSafe(|| {
            batch.extend_prepared(&prepared, LEN_MAX, |encoder| {
                encoder.bytes(b"something");
                panic!("in the middle")
            })
        }));
        assert!(panicked.is_err());
        assert_eq!((batch.count(), batch.message_len()), (1, len));
        assert!(batch.extend_prepared(&prepared, len + step, |_| ()));
        let requests = requests(&batch.finish().expect("it has requests"));
        assert_eq!(requests.len(), 2);
        assert!(requests.iter().all(IncomingRequest::has_no_parameters));
    }

    /// Requests that differ from the first one in one field each, with the first one in between.
    fn different_requests() -> Vec<u8> {
        let identity = Identity::new("object");
        let other = Identity {
            name: "object".into(),
            category: "c".into(),
        };
        let (none, some) = (Context::new(), Context::from([("k".into(), "v".into())]));
        let (v1_0, v1_1) = (EncodingVersion::V1_0, EncodingVersion::V1_1);
        let (normal, idempotent) = (OperationMode::Normal, OperationMode::Idempotent);
        let mut batch = BatchWriter::default();
        for (identity, facet, operation, mode, context, encoding, parameters) in [
            (&identity, "", "run", normal, &none, v1_1, ""),
            (&Identity::new("abject"), "", "run", normal, &none, v1_1, ""),
            (&other, "", "run", normal, &none, v1_1, ""),
            (&identity, "f", "run", normal, &none, v1_1, ""),
            (&identity, "", "ran", normal, &none, v1_1, ""),
            (&identity, "", "run", idempotent, &none, v1_1, ""),
            (&identity, "", "run", normal, &some, v1_1, ""),
            (&identity, "", "run", normal, &none, v1_0, ""),
            (&identity, "", "run", normal, &none, v1_1, "parameters"),
        ] {
            let target = RequestTarget::new(identity, facet);
            let head = RequestHead {
                target: &target,
                operation,
                mode,
                context,
            };
            for _ in 0..3 {
                let whole = |encoder: &mut Encoder<'_>| {
                    encoder.encapsulation(encoding, |encoder| encoder.bytes(parameters.as_bytes()));
                };
                batch.push(&head, LEN_MAX, whole).unwrap();
                push(&mut batch, nothing);
            }
        }
        batch.finish().unwrap()
    }

    fn parse(bytes: &[u8]) -> Result<RequestBatch, DecodeError> {
        let mut input = BytesMut::from(bytes);
        let message = Message::split(&mut input, LEN_MAX).unwrap().unwrap();
        RequestBatch::parse(&message)
    }

    /// The requests of a batch as text, each made from the one before it.
    fn taken_over(mut batch: RequestBatch) -> Vec<String> {
        let mut texts = Vec::new();
        let Some(mut request) = batch.next() else {
            return texts;
        };
        loop {
            let parts = (request.context(), request.parameters(), request.event());
            texts.push(format!("{request:?} {parts:?}"));
            if !batch.next_alike(&mut request, usize::MAX) && !batch.next_over(&mut request) {
                return texts;
            }
        }
    }

    /// The requests of a batch as text, each parsed field by field.
    fn taken_alone(bytes: &[u8], batch: RequestBatch) -> Vec<String> {
        let mut decoder = Decoder::new(bytes, EncodingVersion::V1_0);
        decoder.bytes(REQUESTS_START, "header").unwrap();
        let alone = (0..batch.len()).map(|_| {
            let fields = Fields::parse(&mut decoder, RequestId::ONEWAY).unwrap();
            let request = IncomingRequest::new(bytes.to_vec().into(), fields);
            let parts = (request.context(), request.parameters(), request.event());
            format!("{request:?} {parts:?}")
        });
        alone.collect()
    }

    #[test]
    fn requests_that_differ_in_any_field_are_distinguished() {
        let bytes = different_requests();
        let batch = parse(&bytes).unwrap();
        assert_eq!(batch.len(), 54);
        let taken = taken_over(batch.clone());
        assert_eq!(taken, taken_alone(&bytes, batch));
        let different: std::collections::BTreeSet<_> = taken.iter().collect();
        assert_eq!(different.len(), 9);
    }

    #[test]
    fn a_damaged_batch_is_refused_or_read_the_same_in_both_ways() {
        let bytes = different_requests();
        for at in HEADER_LEN..bytes.len() {
            for flipped in [0x01, 0x04, 0x80, 0xff] {
                let mut bytes = bytes.clone();
                bytes[at] ^= flipped;
                if let Ok(batch) = parse(&bytes) {
                    let taken = taken_over(batch.clone());
                    assert_eq!(taken, taken_alone(&bytes, batch), "{flipped:x} at {at}");
                }
            }
        }
    }
}
