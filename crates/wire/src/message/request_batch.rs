//! A batch of requests that arrived together.
//!
//! Most batches repeat one request with other parameters. The bytes before the parameters are parsed once; a request
//! that begins with the same bytes has the same fields.

#[cfg(test)]
mod tests;

use std::fmt;

use bytes::{Bytes, BytesMut};

use super::batch_scan::{BatchScan, FRAMING_LEN, framing, parse_fields};
use super::fields::Fields;
use super::{HeadCache, IncomingRequest, Message, RequestError, RequestId};
use crate::encoding::DecodeError;

/// One or more requests that arrived together: in consecutive Request messages, or in one BatchRequest message. All
/// fields are checked, and the bytes are shared.
///
/// The requests are the same as if each had come alone, but many small ones cost far less.
#[derive(Clone, Default)]
pub struct RequestBatch {
    bytes: Bytes,
    /// The number of bytes before each body: a header and a request id, or none in a BatchRequest message.
    gap: usize,
    /// The request that was taken last; before that, the first one.
    last: Option<Fields>,
    /// How many of the next requests begin like the last one. The request after them must be parsed.
    alike_count: usize,
    /// How many of these also have parameters of the same length and encoding.
    same_len_count: usize,
    remaining: usize,
    twoway_count: usize,
    /// The start of the gap before the next body.
    position: usize,
    /// The start of the body that was taken last.
    taken_start: Option<usize>,
}

impl RequestBatch {
    /// Takes the Request messages off the front of `input`, up to the first message that is of another type,
    /// compressed, incomplete, longer than `size_max`, or malformed. [`Message::split`] takes that one. Returns `None`
    /// if there is no request.
    ///
    /// `cache` saves the parsing of requests like those that were read before.
    #[inline]
    pub fn split(input: &mut BytesMut, size_max: usize, cache: &mut HeadCache) -> Option<Self> {
        let scan = BatchScan::of_messages(input, size_max, cache)?;
        let bytes = input.split_to(scan.end()).freeze();
        Some(Self::new(bytes, FRAMING_LEN, scan))
    }

    /// The requests of a BatchRequest message. Bytes after them are ignored.
    ///
    /// # Errors
    /// [`DecodeError`].
    pub fn parse(message: &Message) -> Result<Self, DecodeError> {
        Self::from_message(message.clone()).map_err(RequestError::into_decode_error)
    }

    /// Parses a message that is not needed afterwards.
    pub(crate) fn from_message(message: Message) -> Result<Self, RequestError> {
        let scan = BatchScan::of_batch(&message.bytes);
        let scan = scan.map_err(|error| RequestError::new(RequestId::ONEWAY, error))?;
        Ok(Self::new(message.bytes, 0, scan))
    }

    #[inline]
    fn new(bytes: Bytes, gap: usize, scan: BatchScan) -> Self {
        Self {
            bytes,
            gap,
            position: scan.start(),
            alike_count: scan.alike_count(),
            same_len_count: scan.same_len_count(),
            remaining: scan.count(),
            twoway_count: scan.twoway_count(),
            last: scan.into_first(),
            taken_start: None,
        }
    }

    /// Returns true if each request is dispatched only when the one before it is done, as in a BatchRequest message.
    #[inline]
    pub fn is_serial(&self) -> bool {
        self.gap == 0
    }

    /// The number of requests left that get a reply.
    pub fn twoway_count(&self) -> usize {
        self.twoway_count
    }

    /// Length of all messages in bytes.
    pub fn byte_len(&self) -> usize {
        self.bytes.len()
    }

    /// The request that was taken last.
    pub fn last(&self) -> Option<IncomingRequest> {
        let fields = self.last.filter(|_| self.taken_start.is_some())?;
        Some(IncomingRequest::new(self.bytes.clone(), fields))
    }

    /// Makes `request` the next one. Returns false if there is none. If `request` is of this batch, the bytes are not
    /// shared again.
    #[inline]
    pub fn next_over(&mut self, request: &mut IncomingRequest) -> bool {
        let before = self.taken_start;
        let Some(is_alike) = self.advance() else {
            return false;
        };
        let (Some(last), (bytes, fields)) = (&self.last, request.parts_mut()) else {
            return false;
        };
        // A request in other bytes could have the same start.
        let is_shared = bytes.as_ptr() == self.bytes.as_ptr() && bytes.len() == self.bytes.len();
        if is_shared && is_alike && before == Some(fields.start()) {
            fields.differ_as(last);
            return true;
        }
        *fields = *last;
        if !is_shared {
            *bytes = self.bytes.clone();
        }
        true
    }

    /// Length of the parameters of the next request, if `request` is the one that was taken last, and the next one
    /// begins like it.
    #[inline]
    pub fn alike_len(&self, request: &IncomingRequest) -> Option<usize> {
        let (bytes, fields) = request.parts();
        if !self.is_last(bytes, fields) {
            return None;
        }
        match self.same_len_count {
            0 => self.next_alike_len(),
            _ => self.last.as_ref().map(|last| last.parameters.len()),
        }
    }

    /// Makes `request` the next one, if it is the one that was taken last, and the next one begins like it and has
    /// parameters of at most this length.
    #[inline]
    pub fn next_alike(&mut self, request: &mut IncomingRequest, parameters_len_max: usize) -> bool {
        let (bytes, fields) = request.parts_mut();
        if !self.is_last(bytes, fields) {
            return false;
        }
        if self.same_len_count == 0 {
            return self.move_to_shorter(fields, parameters_len_max);
        }
        fields.parameters.len() <= parameters_len_max && self.move_to_same_len(fields)
    }

    /// Makes `request` the next one, if it is the one that was taken last, and the next one has the same target.
    #[inline]
    pub fn next_to_same_object(&mut self, request: &mut IncomingRequest) -> bool {
        self.next_alike(request, usize::MAX)
            || self.is_next_to_same_object(request) && self.next_over(request)
    }

    /// Identity and facet come first and contain their own lengths, so it is enough to compare bytes.
    fn is_next_to_same_object(&self, request: &IncomingRequest) -> bool {
        let (bytes, fields) = request.parts();
        let next = self.bytes.get(self.position + self.gap..);
        self.is_last(bytes, fields)
            && next.is_some_and(|next| next.starts_with(request.target_bytes()))
    }

    /// Moves on to the next request and to its fields, if these differ only in the id and in the content of the
    /// parameters.
    #[inline]
    fn move_to_same_len(&mut self, fields: &mut Fields) -> bool {
        let Some(last) = &mut self.last else {
            return false;
        };
        if self.gap > 0 {
            let Some((id, compression)) = framing(&self.bytes, self.position) else {
                return false;
            };
            (last.id, last.compression) = (id, compression);
            (fields.id, fields.compression) = (id, compression);
        }
        self.remaining -= 1;
        self.alike_count -= 1;
        self.same_len_count -= 1;
        let start = self.position + self.gap;
        last.shift_to(start);
        fields.shift_to(start);
        self.position = fields.end();
        self.taken_start = Some(start);
        true
    }

    /// Moves on to the next request and to its fields, if it begins like the last one and has parameters of at most
    /// this length.
    #[inline(never)]
    fn move_to_shorter(&mut self, fields: &mut Fields, parameters_len_max: usize) -> bool {
        let len = self.next_alike_len();
        let is_next = len.is_some_and(|len| len <= parameters_len_max)
            && self.move_to_alike(self.position + self.gap)
            && self.end_move().is_some();
        if is_next && let Some(last) = &self.last {
            self.remaining -= 1;
            fields.differ_as(last);
        }
        is_next
    }

    /// Length of the parameters of the next request, if it begins like the last one.
    fn next_alike_len(&self) -> Option<usize> {
        let last = self.last.as_ref()?;
        let start = self.position + self.gap;
        let is_alike = self.alike_count > 0 || last.begins_alike(&self.bytes, start);
        let parameters = is_alike.then(|| last.parameters_at(&self.bytes, start));
        parameters.flatten().map(|(len, _)| len)
    }

    /// Returns true if these are the fields of the request that was taken last, and another one follows.
    #[inline]
    fn is_last(&self, bytes: &Bytes, fields: &Fields) -> bool {
        // A request in other bytes could have the same start.
        let is_shared = bytes.as_ptr() == self.bytes.as_ptr() && bytes.len() == self.bytes.len();
        is_shared && self.remaining > 0 && self.taken_start == Some(fields.start())
    }

    /// Parses the next request. Returns whether it begins like the one before it.
    #[inline]
    fn advance(&mut self) -> Option<bool> {
        self.remaining = self.remaining.checked_sub(1)?;
        let start = self.position + self.gap;
        let is_alike = self.move_to_alike(start);
        if !is_alike {
            self.last = Some(parse_fields(&self.bytes, start)?);
        }
        self.end_move()?;
        Some(is_alike)
    }

    /// Moves the known fields to the body at `start`, if it begins like the last one. Otherwise changes nothing.
    #[inline]
    fn move_to_alike(&mut self, start: usize) -> bool {
        let Some(last) = &mut self.last else {
            return false;
        };
        if self.same_len_count > 0 {
            self.same_len_count -= 1;
            self.alike_count -= 1;
            last.shift_to(start);
            true
        } else if self.alike_count > 0 {
            self.alike_count -= 1;
            last.move_to(&self.bytes, start)
        } else {
            last.move_to_alike(&self.bytes, start)
        }
    }

    /// Notes that the known request was taken, and the gap after it.
    #[inline]
    fn end_move(&mut self) -> Option<()> {
        let last = self.last.as_mut()?;
        if self.gap > 0 {
            (last.id, last.compression) = framing(&self.bytes, self.position)?;
        }
        self.position = last.end();
        self.taken_start = Some(last.start());
        Some(())
    }
}

/// A request that arrived in a message of its own, such as a compressed one.
impl From<IncomingRequest> for RequestBatch {
    fn from(request: IncomingRequest) -> Self {
        let twoway_count = usize::from(!request.id().is_oneway());
        let (bytes, fields) = request.into_parts();
        Self {
            bytes,
            gap: FRAMING_LEN,
            position: fields.start() - FRAMING_LEN,
            last: Some(fields),
            alike_count: 1,
            same_len_count: 1,
            remaining: 1,
            twoway_count,
            taken_start: None,
        }
    }
}

impl Iterator for RequestBatch {
    type Item = IncomingRequest;

    fn next(&mut self) -> Option<IncomingRequest> {
        self.advance()?;
        // Called by its full name, because the iterator has a method of this name too.
        Self::last(self)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.remaining, Some(self.remaining))
    }
}

impl ExactSizeIterator for RequestBatch {}

impl fmt::Debug for RequestBatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RequestBatch")
            .field("remaining", &self.remaining)
            .field("is_serial", &self.is_serial())
            .finish_non_exhaustive()
    }
}
