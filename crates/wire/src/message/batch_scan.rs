//! Checks the requests of a batch before they are taken.

use super::fields::{Fields, FieldsError};
use super::header::TYPE_POSITION;
use super::request::COMPRESSION_POSITION;
use super::{Compression, HEADER_LEN, HeadCache, Header, MessageType, RequestId};
use crate::encoding::{DecodeErrorKind, Decoder, EncodingVersion};

/// The minimum length of a request in a BatchRequest message.
const REQUEST_LEN_MIN: usize = 12;
/// Header and count of a BatchRequest message.
pub(super) const REQUESTS_START: usize = HEADER_LEN + 4;

/// The length of each request of a BatchRequest message; `None` for another or a malformed message.
#[cfg(feature = "zstd")]
pub(crate) fn request_lens(message: &[u8]) -> Option<Vec<usize>> {
    if message.get(TYPE_POSITION) != Some(&(MessageType::BatchRequest as u8)) {
        return None;
    }
    let mut decoder = Decoder::new(message, EncodingVersion::V1_0);
    decoder.bytes(HEADER_LEN, "header").ok()?;
    let count = decoder.len("batch count").ok()?;
    let mut lens = Vec::new();
    for _ in 0..count {
        let before = decoder.remaining();
        Fields::parse(&mut decoder, RequestId::ONEWAY).ok()?;
        lens.push(before - decoder.remaining());
    }
    Some(lens)
}

/// The request bodies that have been checked.
pub(super) struct BatchScan {
    first: Option<Fields>,
    last: Option<Fields>,
    count: usize,
    twoway_count: usize,
    /// How many requests, from the first, begin with the same bytes.
    alike_count: usize,
    /// How many of these also have parameters of the same length and encoding.
    same_len_count: usize,
    start: usize,
    end: usize,
}

impl BatchScan {
    /// Checks the Request messages at the front of `input`, up to the first other message. Returns `None` if there is
    /// none.
    #[inline]
    pub(super) fn of_messages(
        input: &[u8],
        size_max: usize,
        cache: &mut HeadCache,
    ) -> Option<Self> {
        // Replies seldom come together with requests, so this single check usually decides.
        if input.get(TYPE_POSITION) != Some(&(MessageType::Request as u8)) {
            return None;
        }
        let mut scan = Self::new(0);
        while scan.add_message(input, size_max, cache).is_some() {
            scan.add_same(input, FRAMING_LEN, usize::MAX);
        }
        (scan.count > 0).then_some(scan)
    }

    /// Checks the requests of a BatchRequest message. Bytes after the last request are ignored.
    ///
    /// # Errors
    /// [`FieldsError`] if a request is malformed.
    pub(super) fn of_batch(message: &[u8]) -> Result<Self, FieldsError> {
        let mut decoder = Decoder::new(message, EncodingVersion::V1_0);
        decoder.bytes(HEADER_LEN, "header")?;
        let count = decoder.len("batch count")?;
        let needed = count.saturating_mul(REQUEST_LEN_MIN);
        if needed > decoder.remaining() {
            let kind = DecodeErrorKind::EndOfData {
                needed,
                remaining: decoder.remaining(),
            };
            return Err(decoder.error("batch count", kind).into());
        }
        let mut scan = Self::new(REQUESTS_START);
        while scan.count < count {
            if !scan.add_alike(message, scan.end, |_| true) {
                let mut decoder = decoder.clone();
                decoder.bytes(scan.end - REQUESTS_START, "batch")?;
                scan.add(Fields::parse_or_refuse(&mut decoder, RequestId::ONEWAY)?);
            }
            scan.add_same(message, 0, count - scan.count);
        }
        Ok(scan)
    }

    /// No requests yet. The gap before the first body begins at `start`.
    fn new(start: usize) -> Self {
        Self {
            first: None,
            last: None,
            count: 0,
            twoway_count: 0,
            alike_count: 0,
            same_len_count: 0,
            start,
            end: start,
        }
    }

    /// Checks one more message. Returns `None` if it does not belong to the batch.
    #[inline]
    fn add_message(&mut self, input: &[u8], size_max: usize, cache: &mut HeadCache) -> Option<()> {
        let start = self.end;
        let plain = PlainRequest::at(input.get(start..)?, size_max)?;
        let (end, body) = (start + plain.size, start + FRAMING_LEN);
        if !self.add_alike(input, body, |found| found == end) {
            // Parsed within its own message, so that it cannot reach into the next one.
            let fields = cache.fields_of(&input[..end], body)?;
            if fields.end() != end {
                return None;
            }
            self.add(fields);
        }
        self.twoway_count += usize::from(!plain.id.is_oneway());
        Some(())
    }

    /// The end of the last body.
    pub(super) fn end(&self) -> usize {
        self.end
    }

    pub(super) fn count(&self) -> usize {
        self.count
    }

    /// Adds the body at `start` if it begins like the one before it and ends where it should.
    #[inline]
    fn add_alike(
        &mut self,
        bytes: &[u8],
        start: usize,
        is_end: impl FnOnce(usize) -> bool,
    ) -> bool {
        let Some(last) = &self.last else {
            return false;
        };
        // Once a request has had another length, the requests after it usually have any length.
        let are_same = self.same_len_count == self.count;
        let same = are_same.then(|| last.end_of_same(bytes, start)).flatten();
        let Some(end) = same.or_else(|| last.end_of_alike(bytes, start)) else {
            return false;
        };
        if !is_end(end) {
            return false;
        }
        self.same_len_count += usize::from(same.is_some());
        self.alike_count += usize::from(self.alike_count == self.count);
        self.count += 1;
        self.end = end;
        true
    }

    /// Adds the following requests that are equal to the first one except for their ids and the content of their
    /// parameters, if all requests so far are. At most `count_max`. Each follows a gap of this many bytes, which holds
    /// the header and id of a message, or nothing.
    #[inline]
    fn add_same(&mut self, bytes: &[u8], gap: usize, count_max: usize) {
        // A single request, as most that get a reply are, is not compared again.
        if bytes.len() != self.end && self.same_len_count == self.count {
            self.add_all_same(bytes, gap, count_max);
        }
    }

    fn add_all_same(&mut self, bytes: &[u8], gap: usize, count_max: usize) {
        let Some(first) = &self.first else { return };
        let (checked, rest) = bytes.split_at(self.end);
        let step = gap + first.end() - first.start();
        let template = &checked[first.start() - gap..][..gap + first.contents_start()];
        let mut twoway_count = 0;
        let mut count = 0;
        for next in rest.chunks_exact(step).take(count_max) {
            let next = &next[..template.len()];
            match (next.split_first_chunk(), template.split_first_chunk()) {
                (Some((framing, next)), Some((known, template))) if gap == FRAMING_LEN => {
                    if !is_same_framing(framing, known) || next != template {
                        break;
                    }
                    twoway_count += usize::from(!id_of(framing).is_oneway());
                }
                _ if next != template => break,
                _ => {}
            }
            count += 1;
        }
        self.end += count * step;
        self.count += count;
        self.alike_count += count;
        self.same_len_count += count;
        self.twoway_count += twoway_count;
    }

    /// Adds a body that was parsed field by field.
    fn add(&mut self, fields: Fields) {
        if self.first.is_none() {
            self.first = Some(fields);
            (self.alike_count, self.same_len_count) = (1, 1);
        }
        self.count += 1;
        self.end = fields.end();
        self.last = Some(fields);
    }

    /// The number of requests that get a reply.
    pub(super) fn twoway_count(&self) -> usize {
        self.twoway_count
    }

    /// How many requests, from the first, begin with the same bytes.
    pub(super) fn alike_count(&self) -> usize {
        self.alike_count
    }

    /// How many of these also have parameters of the same length and encoding.
    pub(super) fn same_len_count(&self) -> usize {
        self.same_len_count
    }

    /// The start of the gap before the first body.
    pub(super) fn start(&self) -> usize {
        self.start
    }

    pub(super) fn into_first(self) -> Option<Fields> {
        self.first
    }
}

/// Parses the fields of the body at `start`. Returns `None` if they are malformed.
pub(super) fn parse_fields(bytes: &[u8], start: usize) -> Option<Fields> {
    let mut decoder = Decoder::new(bytes, EncodingVersion::V1_0);
    decoder.bytes(start, "message").ok()?;
    Fields::parse(&mut decoder, RequestId::ONEWAY).ok()
}

/// The request id and compression byte of the Request message at `start`.
#[inline]
pub(super) fn framing(bytes: &[u8], start: usize) -> Option<(RequestId, u8)> {
    let framing = bytes.get(start..)?.first_chunk()?;
    Some((id_of(framing), framing[COMPRESSION_POSITION]))
}

/// The bytes of a Request message before its body.
type Framing = [u8; FRAMING_LEN];

#[inline]
fn id_of(framing: &Framing) -> RequestId {
    let [.., i0, i1, i2, i3] = *framing;
    RequestId(i32::from_le_bytes([i0, i1, i2, i3]))
}

/// Returns true if two messages have the same header.
#[inline]
fn is_same_framing(one: &Framing, other: &Framing) -> bool {
    one.first_chunk::<HEADER_LEN>() == other.first_chunk()
}

/// Bytes of a Request message before its body: header and request id.
pub(super) const FRAMING_LEN: usize = HEADER_LEN + 4;
/// The size, id and compression byte of a Request message that is not compressed.
pub(super) struct PlainRequest {
    pub(super) size: usize,
    pub(super) id: RequestId,
    /// The compression byte of its header.
    pub(super) compression: u8,
}

impl PlainRequest {
    /// Parses the message at the front of `input`, if it is whole.
    #[inline]
    pub(super) fn at(input: &[u8], size_max: usize) -> Option<Self> {
        let header = Header::decode(input.first_chunk::<HEADER_LEN>()?, size_max).ok()?;
        let is_plain = header.message_type == MessageType::Request
            && Compression::of_message(header.compression).is_none();
        if !is_plain {
            return None;
        }
        let (id, compression) = framing(input.get(..header.size)?, 0)?;
        Some(Self {
            size: header.size,
            id,
            compression,
        })
    }
}
