//! Request messages that arrived together, one after another.

use bytes::BytesMut;

use super::fields::Fields;
use super::header::TYPE_POSITION;
use super::known::KnownHead;
use super::row::{AlikeEvent, Checked, FRAMING_LEN, Next, Row, framing, parse};
use super::{HEADER_LEN, Header, IncomingRequest, MessageType, RequestId};
use crate::compression::Compression;

/// Request messages that follow one another in what was read: their fields are checked, their bytes
/// shared. It is as if each had been taken alone, but many small ones cost far less.
#[derive(Debug, Clone, Default)]
pub struct IncomingRun {
    row: Row,
    twoway_count: usize,
}

impl IncomingRun {
    /// Takes the Request messages at the front of `input` off it, up to the first that is something
    /// else, compressed, not whole, longer than `size_max`, or malformed: those are left for
    /// [`Message::split`](super::Message::split). `None` if there is none.
    ///
    /// `known` makes it cheap to read requests like those that were read before.
    pub fn split(input: &mut BytesMut, size_max: usize, known: &mut KnownHead) -> Option<Self> {
        // Replies are nearly always alone with their kind: one look is enough for them.
        if input.get(TYPE_POSITION) != Some(&(MessageType::Request as u8)) {
            return None;
        }
        let mut checked = Checked::new(0);
        let mut twoway_count = 0;
        while let Some(is_oneway) = check_next(&mut checked, input, size_max, known) {
            twoway_count += usize::from(!is_oneway);
            twoway_count += checked.add_same(input, FRAMING_LEN, usize::MAX);
        }
        if checked.count() == 0 {
            return None;
        }
        let bytes = input.split_to(checked.end()).freeze();
        Some(Self {
            row: checked.into_row(bytes, FRAMING_LEN),
            twoway_count,
        })
    }

    /// Those of a batch: none gets a reply.
    pub(super) fn of_batch(row: Row) -> Self {
        Self {
            row,
            twoway_count: 0,
        }
    }

    /// Number of requests to come that get a reply.
    pub fn twoway_count(&self) -> usize {
        self.twoway_count
    }

    /// The request that was taken last.
    pub fn last(&self) -> Option<IncomingRequest> {
        self.row.last()
    }

    /// Makes `request` the next one, and says what it was made. The bytes are shared anew only if
    /// `request` was none of this run.
    #[inline]
    pub fn next_over(&mut self, request: &mut IncomingRequest) -> Next {
        let next = self.row.next_over(request);
        if next != Next::End && !request.id().is_oneway() {
            self.twoway_count -= 1;
        }
        next
    }

    /// Length of the parameters of the next request, if `request` is the one that was taken last, and the
    /// next one begins alike: what [`IncomingRun::repeat_over`] would make of it.
    #[inline]
    pub fn alike_len(&self, request: &IncomingRequest) -> Option<usize> {
        self.row.alike_len(request)
    }

    /// Makes `request` the next one if it is the one that was taken last, and the next one begins alike.
    #[inline]
    pub fn repeat_over(&mut self, request: &mut IncomingRequest) -> bool {
        self.repeat_over_up_to(request, usize::MAX)
    }

    /// The same if the parameters of the next one have at most this length.
    #[inline]
    pub fn repeat_over_up_to(
        &mut self,
        request: &mut IncomingRequest,
        parameters_len_max: usize,
    ) -> bool {
        let is_repeated = self.row.repeat_over(request, parameters_len_max);
        if is_repeated && !request.id().is_oneway() {
            self.twoway_count -= 1;
        }
        is_repeated
    }

    /// Takes the next request as an event, if it begins as the one that was taken last.
    #[inline]
    pub fn next_alike(&mut self) -> Option<AlikeEvent<'_>> {
        let next = self.row.next_alike()?;
        if !next.id().is_oneway() {
            self.twoway_count -= 1;
        }
        Some(next)
    }
}

/// A request that arrived in a message of its own, such as a compressed one.
impl From<IncomingRequest> for IncomingRun {
    fn from(request: IncomingRequest) -> Self {
        Self {
            twoway_count: usize::from(!request.id().is_oneway()),
            row: Row::of_one(request),
        }
    }
}

impl Iterator for IncomingRun {
    type Item = IncomingRequest;

    fn next(&mut self) -> Option<IncomingRequest> {
        let request = self.row.next()?;
        if !request.id().is_oneway() {
            self.twoway_count -= 1;
        }
        Some(request)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let count = self.row.remaining();
        (count, Some(count))
    }
}

impl ExactSizeIterator for IncomingRun {}

/// Checks one message more; whether it gets no reply, or `None` if it does not belong to the run.
#[inline]
fn check_next(
    checked: &mut Checked,
    input: &[u8],
    size_max: usize,
    known: &mut KnownHead,
) -> Option<bool> {
    let start = checked.end();
    let plain = Plain::at(input.get(start..)?, size_max)?;
    let (end, body) = (start + plain.size, start + FRAMING_LEN);
    if !checked.add_alike_until(input, body, end) {
        // Read within its own message, so that it cannot reach into the next one.
        let fields = fields_of(&input[..end], body, known)?;
        if fields.end() != end {
            return None;
        }
        checked.add(fields);
    }
    Some(plain.id.is_oneway())
}

/// What stands in front of the body of a Request message that is not compressed.
pub(super) struct Plain {
    pub(super) size: usize,
    pub(super) id: RequestId,
    /// What it says of compression.
    pub(super) compression: u8,
}

impl Plain {
    /// That of the message at the front of `input`, if all of it is there.
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

/// The fields of the body at `start`, in a message that ends with the input.
#[inline]
pub(super) fn fields_of(input: &[u8], start: usize, known: &mut KnownHead) -> Option<Fields> {
    if let Some(fields) = known.fields_at(input, start) {
        return Some(fields);
    }
    let fields = parse(input, start)?;
    known.remember(input, &fields);
    Some(fields)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encoding::EncodingVersion;
    use crate::message::{Context, OperationMode, RequestHeader};
    use crate::reference::Identity;

    const SIZE_MAX: usize = 1_000;

    fn request(id: i32, operation: &str, parameters: &[u8]) -> Vec<u8> {
        let identity = Identity::new("o");
        let header = RequestHeader {
            identity: &identity,
            facet: "f",
            operation,
            mode: OperationMode::Normal,
            context: &Context::from([("k".into(), "v".into())]),
        };
        let mut bytes = Vec::new();
        let write = |encoder: &mut crate::encoding::Encoder<'_>| encoder.bytes(parameters);
        let encoding = EncodingVersion::V1_1;
        header
            .write(&mut bytes, RequestId(id), encoding, write)
            .unwrap();
        bytes
    }

    fn split(input: &mut BytesMut) -> Option<IncomingRun> {
        IncomingRun::split(input, SIZE_MAX, &mut KnownHead::default())
    }

    #[test]
    fn a_run_gives_what_each_message_alone_would_have_given() {
        let messages = [
            request(0, "a", b""),
            request(7, "a", b"longer"),
            request(0, "a", b"p"),
            request(0, "b", b"p"),
            request(9, "b", b""),
            request(0, "a", b""),
        ];
        let mut input = BytesMut::from(&messages.concat()[..]);
        let mut run = split(&mut input).expect("there are six");
        assert!(input.is_empty());
        assert_eq!((run.len(), run.twoway_count()), (6, 2));
        let mut over = run.clone().next().expect("the first");
        let mut alike_count = 0;
        for message in &messages {
            let mut alone = BytesMut::from(&message[..]);
            let alone = crate::message::Message::split(&mut alone, SIZE_MAX);
            let alone = IncomingRequest::parse(&alone.unwrap().unwrap()).unwrap();
            alike_count += usize::from(run.next_over(&mut over) == Next::Alike);
            assert_eq!(over.id(), alone.id());
            assert_eq!(over.operation(), alone.operation());
            assert_eq!(over.target(), alone.target());
            assert_eq!(over.target_bytes(), alone.target_bytes());
            assert_eq!(over.context(), alone.context());
            assert_eq!(over.parameters(), alone.parameters());
            assert_eq!(over.event(), alone.event());
            assert_eq!(over.encoding(), alone.encoding());
        }
        assert_eq!(run.next_over(&mut over), Next::End);
        assert_eq!((alike_count, run.twoway_count()), (3, 0));
    }

    #[test]
    fn events_that_begin_alike_are_those_that_would_have_been_taken_one_by_one() {
        let messages = [
            request(0, "a", b""),
            request(7, "a", b"longer"),
            request(0, "b", b"p"),
            request(0, "b", b"q"),
            request(9, "b", b""),
            request(0, "a", b""),
        ];
        let mut input = BytesMut::from(&messages.concat()[..]);
        let mut run = IncomingRun::split(&mut input, SIZE_MAX, &mut KnownHead::default())
            .expect("there are six");
        assert!(run.next_alike().is_none(), "as which?");
        let mut one_by_one = run.clone();
        let mut alike = Vec::new();
        while let Some(request) = run.next() {
            assert_eq!(one_by_one.next().unwrap().event(), request.event());
            while let Some(event) = run.next_alike() {
                let expected = one_by_one.next().unwrap();
                assert_eq!(expected.event(), event.to_bytes());
                assert_eq!(expected.event(), event.bytes());
                assert_eq!(expected.target_bytes(), request.target_bytes());
                assert_eq!(
                    (expected.id(), expected.encoding()),
                    (event.id(), event.encoding())
                );
                alike.push(expected.id().0);
            }
            assert_eq!(run.twoway_count(), one_by_one.twoway_count());
        }
        assert!(one_by_one.next().is_none());
        assert_eq!(alike, [7, 0, 9]);
    }

    #[test]
    fn a_run_ends_before_what_does_not_belong_to_it() {
        let good = request(0, "a", b"p");
        let mut is_malformed = good.clone();
        *is_malformed.last_mut().unwrap() = 0;
        is_malformed.push(0);
        is_malformed[10] += 1;
        let mut is_compressed = good.clone();
        is_compressed[9] = 2;
        let too_long = request(0, "a", &[0; SIZE_MAX]);
        let truncated = good[..good.len() - 1].to_vec();
        let heartbeat = crate::message::VALIDATE_CONNECTION.to_vec();
        for other in [is_malformed, is_compressed, too_long, truncated, heartbeat] {
            let mut input = BytesMut::from(&[&good[..], &good, &other].concat()[..]);
            let run = split(&mut input).expect("two are good");
            assert_eq!((run.len(), &input[..]), (2, &other[..]));
            assert!(split(&mut input).is_none());
            assert_eq!(input[..], other[..]);
        }
    }

    #[test]
    fn parameters_never_reach_into_the_next_message() {
        let good = request(0, "a", b"p");
        let mut greedy = good.clone();
        let size = greedy.len() - 7;
        greedy[size] += 10;
        let bytes = [&good[..], &greedy, &good].concat();
        let mut input = BytesMut::from(&bytes[..]);
        let run = split(&mut input).expect("one is good");
        assert_eq!((run.len(), input.len()), (1, bytes.len() - good.len()));
    }

    #[test]
    fn a_request_without_its_bytes_is_made_another_one() {
        let mut input = BytesMut::from(&request(3, "a", b"p")[..]);
        let mut request = split(&mut input).and_then(|mut run| run.next()).unwrap();
        request.forget();
        assert_eq!((request.operation(), request.message().len()), ("", 0));
        let mut input = BytesMut::from(&self::request(4, "b", b"q")[..]);
        let mut run = split(&mut input).unwrap();
        assert_eq!(run.next_over(&mut request), Next::Other);
        assert_eq!((request.id(), request.operation()), (RequestId(4), "b"));
    }

    #[test]
    fn what_a_read_remembers_of_those_before_changes_nothing() {
        let messages = [
            request(1, "a", b"p"),
            request(2, "a", b"longer"),
            request(3, "b", b"longer"),
            request(4, "a", b""),
            request(0, "a", &[7; 300]),
        ];
        let mut known = KnownHead::default();
        for message in &messages {
            let [mut input, mut alone] = [(); 2].map(|()| BytesMut::from(&message[..]));
            let run = IncomingRun::split(&mut input, SIZE_MAX, &mut known);
            let request = run.and_then(|mut run| run.next()).unwrap();
            let alone = split(&mut alone).and_then(|mut run| run.next()).unwrap();
            assert_eq!(format!("{request:?}"), format!("{alone:?}"));
            assert_eq!(request.parameters(), alone.parameters());
            assert_eq!(request.event(), alone.event());
        }
    }

    #[test]
    fn one_that_begins_as_known_must_still_be_whole() {
        let good = request(0, "a", b"p");
        let mut known = KnownHead::default();
        let mut input = BytesMut::from(&good[..]);
        IncomingRun::split(&mut input, SIZE_MAX, &mut known).expect("it is good");
        for wrong in [-1, 1, 100] {
            let mut bad = good.clone();
            let size = bad.len() - 7;
            bad[size] = bad[size].wrapping_add_signed(wrong);
            let mut input = BytesMut::from(&bad[..]);
            assert!(IncomingRun::split(&mut input, SIZE_MAX, &mut known).is_none());
            assert_eq!(input[..], bad[..]);
        }
    }

    #[test]
    fn a_request_is_repeated_exactly_if_the_next_one_begins_alike() {
        let messages = [
            request(0, "a", b""),
            request(7, "a", b"longer"),
            request(0, "a", b"p"),
            request(9, "b", b"p"),
            request(0, "b", b""),
            request(0, "a", b""),
        ];
        let bytes = messages.concat();
        let [mut run, one_by_one] =
            [(); 2].map(|()| split(&mut BytesMut::from(&bytes[..])).unwrap());
        let expected: Vec<_> = one_by_one.collect();
        let mut request = run.next().unwrap();
        let mut repeated = Vec::new();
        for (at, expected) in expected.iter().enumerate().skip(1) {
            let len = expected.parameters_len();
            let alike_len = run.alike_len(&request);
            assert!(!run.repeat_over_up_to(&mut request, len - 1), "too long");
            if run.repeat_over_up_to(&mut request, len) {
                assert_eq!(alike_len, Some(len));
                repeated.push(at);
            } else {
                assert_eq!(alike_len, None);
                assert_eq!(run.next_over(&mut request), Next::Other);
            }
            assert_eq!(format!("{request:?}"), format!("{expected:?}"));
            assert_eq!(request.parameters(), expected.parameters());
            assert_eq!(request.event(), expected.event());
            let last = IncomingRun::last(&run).unwrap();
            assert_eq!(last.event(), expected.event());
            let due = messages[at + 1..].iter().filter(|message| message[14] > 0);
            assert_eq!((run.len(), run.twoway_count()), (5 - at, due.count()));
        }
        assert_eq!(repeated, [1, 2, 4]);
        assert_eq!(run.alike_len(&request), None);
        assert!(!run.repeat_over(&mut request));
        assert_eq!(run.next_over(&mut request), Next::End);
    }

    #[test]
    fn damaged_messages_are_the_same_however_they_are_taken() {
        let bytes = [0, 7, 0, 0].map(|id| request(id, "a", b"p")).concat();
        for at in 0..bytes.len() {
            for flipped in [0x01, 0x04, 0x80, 0xff] {
                let mut bytes = bytes.clone();
                bytes[at] ^= flipped;
                let together = split(&mut BytesMut::from(&bytes[..]));
                let mut alone = BytesMut::from(&bytes[..]);
                let mut run = together.unwrap_or_default();
                let mut over: Option<IncomingRequest> = None;
                while run.len() > 0 {
                    let message = crate::message::Message::split(&mut alone, SIZE_MAX);
                    let expected = IncomingRequest::parse(&message.unwrap().unwrap()).unwrap();
                    match &mut over {
                        None => over = run.next(),
                        Some(request) => {
                            let is_next = run.repeat_over(request);
                            assert!(is_next || run.next_over(request) != Next::End);
                        }
                    }
                    let request = over.as_ref().unwrap();
                    assert_eq!(format!("{request:?}"), format!("{expected:?}"));
                    assert_eq!(request.parameters(), expected.parameters());
                    assert_eq!(request.event(), expected.event());
                }
                // What is left is no whole request, or an error.
                assert!(split(&mut alone).is_none(), "{flipped:x} at {at}");
            }
        }
    }

    #[test]
    fn a_request_that_was_not_the_last_one_is_not_repeated() {
        let bytes = [
            request(0, "a", b""),
            request(0, "a", b""),
            request(0, "a", b""),
        ]
        .concat();
        let [mut run, mut other] =
            [(); 2].map(|()| split(&mut BytesMut::from(&bytes[..])).unwrap());
        let (mut first, mut foreign) = (run.next().unwrap(), other.next().unwrap());
        assert!(!run.repeat_over(&mut foreign), "it stands in other bytes");
        let mut earlier = first.clone();
        assert!(run.repeat_over(&mut first));
        assert!(!run.repeat_over(&mut earlier), "another was taken since");
        assert_eq!(run.len(), 1);
    }
}
