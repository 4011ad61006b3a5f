//! Requests in a row: those of one message, or of several that arrived together.
//!
//! Most rows repeat one request with other parameters. What they have in common, up to the parameters,
//! is checked once; those that begin with the same bytes say the same.

use std::fmt;
use std::ops::Range;

use bytes::Bytes;

use super::fields::Fields;
use super::request::COMPRESSION_POSITION;
use super::{HEADER_LEN, IncomingRequest, RequestId};
use crate::encoding::{Decoder, EncodingVersion};

/// Requests in shared bytes, all fields checked, to be taken one after another.
#[derive(Clone, Default)]
pub(super) struct Row {
    bytes: Bytes,
    /// Bytes in front of each body: those of a header and a request id, or none.
    gap: usize,
    /// The first request, and then the one that was taken last.
    known: Option<Fields>,
    /// How many of those to come begin as the known one; what comes after them must be looked at.
    alike_count: usize,
    /// How many of these have parameters of the same length and encoding, too, before there are others.
    same_count: usize,
    remaining: usize,
    /// Where the gap in front of the next body starts.
    position: usize,
    /// Where the body starts that was taken last.
    taken_start: Option<usize>,
}

impl Row {
    /// A request of a message that was parsed alone.
    pub(super) fn of_one(request: IncomingRequest) -> Self {
        let (bytes, fields) = request.into_parts();
        Self {
            bytes,
            gap: FRAMING_LEN,
            known: Some(fields),
            alike_count: 1,
            same_count: 1,
            remaining: 1,
            position: fields.start() - FRAMING_LEN,
            taken_start: None,
        }
    }

    pub(super) fn remaining(&self) -> usize {
        self.remaining
    }

    /// The next request.
    pub(super) fn next(&mut self) -> Option<IncomingRequest> {
        self.advance()?;
        self.last()
    }

    /// The request that was taken last.
    pub(super) fn last(&self) -> Option<IncomingRequest> {
        let fields = self.known.filter(|_| self.taken_start.is_some())?;
        Some(IncomingRequest::new(self.bytes.clone(), fields))
    }

    /// Makes `request` the next one.
    #[inline]
    pub(super) fn next_over(&mut self, request: &mut IncomingRequest) -> Next {
        let before = self.taken_start;
        let Some(is_alike) = self.advance() else {
            return Next::End;
        };
        let (Some(known), (bytes, fields)) = (&self.known, request.parts_mut()) else {
            return Next::End;
        };
        // The start alone could be that of a request in other bytes.
        let is_shared = bytes.as_ptr() == self.bytes.as_ptr() && bytes.len() == self.bytes.len();
        if is_shared && is_alike && before == Some(fields.start()) {
            fields.differ_as(known);
            return Next::Alike;
        }
        *fields = *known;
        if !is_shared {
            *bytes = self.bytes.clone();
        }
        Next::Other
    }

    /// Length of the parameters of the next request, if `request` is the one that was taken last, and the
    /// next one begins alike.
    #[inline]
    pub(super) fn alike_len(&self, request: &IncomingRequest) -> Option<usize> {
        let (bytes, fields) = request.parts();
        if !self.is_last(bytes, fields) {
            return None;
        }
        match self.same_count {
            0 => self.next_alike_len(),
            _ => self.known.as_ref().map(|known| known.parameters.len()),
        }
    }

    /// Makes `request` the next one if it is the one that was taken last, and the next one begins alike and
    /// has parameters of at most this length.
    #[inline]
    pub(super) fn repeat_over(
        &mut self,
        request: &mut IncomingRequest,
        parameters_len_max: usize,
    ) -> bool {
        let (bytes, fields) = request.parts_mut();
        if !self.is_last(bytes, fields) {
            return false;
        }
        if self.same_count == 0 {
            return self.move_to_shorter(fields, parameters_len_max);
        }
        fields.parameters.len() <= parameters_len_max && self.move_to_same(fields)
    }

    /// Moves on to the next one, and makes these its fields, of which nothing changes but the number and the
    /// contents of the parameters.
    #[inline]
    fn move_to_same(&mut self, fields: &mut Fields) -> bool {
        let Some(known) = &mut self.known else {
            return false;
        };
        if self.gap > 0 {
            let Some((id, compression)) = framing(&self.bytes, self.position) else {
                return false;
            };
            (known.id, known.compression) = (id, compression);
            (fields.id, fields.compression) = (id, compression);
        }
        self.remaining -= 1;
        self.alike_count -= 1;
        self.same_count -= 1;
        let start = self.position + self.gap;
        known.shift_to(start);
        fields.shift_to(start);
        self.position = fields.end();
        self.taken_start = Some(start);
        true
    }

    /// Moves on to the next one if it begins alike and has parameters of at most this length, and makes these
    /// its fields.
    #[inline(never)]
    fn move_to_shorter(&mut self, fields: &mut Fields, parameters_len_max: usize) -> bool {
        let len = self.next_alike_len();
        let is_next = len.is_some_and(|len| len <= parameters_len_max)
            && self.move_to_alike(self.position + self.gap)
            && self.end_move().is_some();
        if is_next && let Some(known) = &self.known {
            self.remaining -= 1;
            fields.differ_as(known);
        }
        is_next
    }

    /// Length of the parameters of the next request, if that begins as the known one.
    fn next_alike_len(&self) -> Option<usize> {
        let known = self.known.as_ref()?;
        let start = self.position + self.gap;
        let is_alike = self.alike_count > 0 || known.begins_alike(&self.bytes, start);
        let parameters = is_alike.then(|| known.parameters_at(&self.bytes, start));
        parameters.flatten().map(|(len, _)| len)
    }

    /// Whether these are of the request that was taken last, and another one comes.
    #[inline]
    fn is_last(&self, bytes: &Bytes, fields: &Fields) -> bool {
        // The start alone could be that of a request in other bytes.
        let is_shared = bytes.as_ptr() == self.bytes.as_ptr() && bytes.len() == self.bytes.len();
        is_shared && self.remaining > 0 && self.taken_start == Some(fields.start())
    }

    /// Takes the next request as an event, if it begins as the one that was taken last.
    #[inline]
    pub(super) fn next_alike(&mut self) -> Option<AlikeEvent<'_>> {
        let before = self.known.as_ref()?;
        self.taken_start?;
        let start = self.position + self.gap;
        if self.alike_count == 0 && !before.begins_alike(&self.bytes, start) {
            return None;
        }
        self.advance()?;
        let known = self.known.as_ref()?;
        Some(AlikeEvent {
            message: &self.bytes,
            range: known.event(),
            id: known.id,
            encoding: known.encoding(),
        })
    }

    /// Makes the next request the known one; whether it begins as that before.
    #[inline]
    fn advance(&mut self) -> Option<bool> {
        self.remaining = self.remaining.checked_sub(1)?;
        let start = self.position + self.gap;
        let is_alike = self.move_to_alike(start);
        if !is_alike {
            self.known = Some(parse(&self.bytes, start)?);
        }
        self.end_move()?;
        Some(is_alike)
    }

    /// Makes the known fields those of the body at `start`, if that begins alike; else nothing is changed.
    #[inline]
    fn move_to_alike(&mut self, start: usize) -> bool {
        let Some(known) = &mut self.known else {
            return false;
        };
        if self.same_count > 0 {
            self.same_count -= 1;
            self.alike_count -= 1;
            known.shift_to(start);
            true
        } else if self.alike_count > 0 {
            self.alike_count -= 1;
            known.move_to(&self.bytes, start)
        } else {
            known.move_to_alike(&self.bytes, start)
        }
    }

    /// Notes that the known one was taken, and what stands in front of it.
    #[inline]
    fn end_move(&mut self) -> Option<()> {
        let known = self.known.as_mut()?;
        if self.gap > 0 {
            (known.id, known.compression) = framing(&self.bytes, self.position)?;
        }
        self.position = known.end();
        self.taken_start = Some(known.start());
        Some(())
    }
}

/// What a request was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// Nothing: there is none any more.
    End,
    /// One that differs from it in number and parameters only.
    Alike,
    /// Any other.
    Other,
}

/// A request as an event: one that begins as the request before it, and so is to the same object.
#[derive(Debug)]
pub struct AlikeEvent<'a> {
    message: &'a Bytes,
    range: Range<usize>,
    id: RequestId,
    encoding: EncodingVersion,
}

impl AlikeEvent<'_> {
    /// See [`IncomingRequest::event_bytes`].
    #[inline]
    pub fn bytes(&self) -> &[u8] {
        &self.message[self.range.clone()]
    }

    /// See [`IncomingRequest::event`].
    pub fn to_bytes(&self) -> Bytes {
        self.message.slice(self.range.clone())
    }

    /// Number of the request on its connection.
    #[inline]
    pub fn id(&self) -> RequestId {
        self.id
    }

    /// Encoding of the parameters, which a reply must use too.
    #[inline]
    pub fn encoding(&self) -> EncodingVersion {
        self.encoding
    }
}

impl fmt::Debug for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Row")
            .field("remaining", &self.remaining)
            .field("position", &self.position)
            .finish_non_exhaustive()
    }
}

/// A row on its way: the bodies that were checked so far.
pub(super) struct Checked {
    first: Option<Fields>,
    last: Option<Fields>,
    count: usize,
    /// How many begin as the first, it included, before there is another one.
    alike_count: usize,
    /// How many of these have parameters of the same length and encoding.
    same_count: usize,
    start: usize,
    end: usize,
}

impl Checked {
    /// None so far; the gap in front of the first body begins at `start`.
    pub(super) fn new(start: usize) -> Self {
        Self {
            first: None,
            last: None,
            count: 0,
            alike_count: 0,
            same_count: 0,
            start,
            end: start,
        }
    }

    /// Where the last body ends.
    pub(super) fn end(&self) -> usize {
        self.end
    }

    pub(super) fn count(&self) -> usize {
        self.count
    }

    /// Adds the body at the end of those before it, without a gap, if it begins as they do.
    #[inline]
    pub(super) fn add_alike(&mut self, bytes: &[u8]) -> bool {
        self.add_alike_if(bytes, self.end, |_| true)
    }

    /// Adds the body from `start` to `end` if it begins as the one before it.
    #[inline]
    pub(super) fn add_alike_until(&mut self, bytes: &[u8], start: usize, end: usize) -> bool {
        self.add_alike_if(bytes, start, |found| found == end)
    }

    #[inline]
    fn add_alike_if(
        &mut self,
        bytes: &[u8],
        start: usize,
        is_end: impl FnOnce(usize) -> bool,
    ) -> bool {
        let Some(last) = &self.last else {
            return false;
        };
        // Once one was longer or shorter, those that follow are mostly of any length.
        let are_same = self.same_count == self.count;
        let same = are_same.then(|| last.end_of_same(bytes, start)).flatten();
        let Some(end) = same.or_else(|| last.end_of_alike(bytes, start)) else {
            return false;
        };
        if !is_end(end) {
            return false;
        }
        self.same_count += usize::from(same.is_some());
        self.alike_count += usize::from(self.alike_count == self.count);
        self.count += 1;
        self.end = end;
        true
    }

    /// Adds those that follow and are the first one again but for its number and the contents of its
    /// parameters, if so far there are no others: up to `count_max`, each behind a gap of so many bytes that
    /// hold the header and number of a message, or none. How many of them get a reply.
    #[inline]
    pub(super) fn add_same(&mut self, bytes: &[u8], gap: usize, count_max: usize) -> usize {
        // One that comes alone, as most do that get a reply, is not looked at again.
        if bytes.len() == self.end || self.same_count != self.count {
            return 0;
        }
        self.add_all_same(bytes, gap, count_max)
    }

    fn add_all_same(&mut self, bytes: &[u8], gap: usize, count_max: usize) -> usize {
        let Some(first) = &self.first else { return 0 };
        let (row, rest) = bytes.split_at(self.end);
        let step = gap + first.end() - first.start();
        let template = &row[first.start() - gap..][..gap + first.contents_start()];
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
        self.same_count += count;
        twoway_count
    }

    /// Adds a body that was read field by field.
    pub(super) fn add(&mut self, fields: Fields) {
        if self.first.is_none() {
            self.first = Some(fields);
            (self.alike_count, self.same_count) = (1, 1);
        }
        self.count += 1;
        self.end = fields.end();
        self.last = Some(fields);
    }

    pub(super) fn into_row(self, bytes: Bytes, gap: usize) -> Row {
        Row {
            bytes,
            gap,
            known: self.first,
            alike_count: self.alike_count,
            same_count: self.same_count,
            remaining: self.count,
            position: self.start,
            taken_start: None,
        }
    }
}

/// The fields of the body at `start`; `None` if they have an error.
pub(super) fn parse(bytes: &[u8], start: usize) -> Option<Fields> {
    let mut decoder = Decoder::new(bytes, EncodingVersion::V1_0);
    decoder.bytes(start, "message").ok()?;
    Fields::parse(&mut decoder, RequestId::ONEWAY).ok()
}

/// Request id and compression of the Request message at `start`.
#[inline]
pub(super) fn framing(bytes: &[u8], start: usize) -> Option<(RequestId, u8)> {
    let framing = bytes.get(start..)?.first_chunk()?;
    Some((id_of(framing), framing[COMPRESSION_POSITION]))
}

/// What stands in front of the body of a Request message.
type Framing = [u8; FRAMING_LEN];

#[inline]
fn id_of(framing: &Framing) -> RequestId {
    let [.., i0, i1, i2, i3] = *framing;
    RequestId(i32::from_le_bytes([i0, i1, i2, i3]))
}

/// Whether two messages have the same header.
#[inline]
fn is_same_framing(one: &Framing, other: &Framing) -> bool {
    one.first_chunk::<HEADER_LEN>() == other.first_chunk()
}

/// Bytes of a Request message in front of its body: header and request id.
pub(super) const FRAMING_LEN: usize = HEADER_LEN + 4;
