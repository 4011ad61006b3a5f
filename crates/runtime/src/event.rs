//! Events: undecoded requests on their way to another object.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use floe_wire::encoding::{
    DecodeError, DecodeErrorKind, Decoder, ENCAPSULATION_HEADER_LEN, EncodingVersion,
};
use floe_wire::message::{IncomingRequest, OperationMode};

/// Operation, mode, context and parameters of a request, in their encoded form.
///
/// A clone shares the bytes: an event for a thousand subscribers is held once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    bytes: Bytes,
}

impl Event {
    pub(crate) fn new(request: &IncomingRequest) -> Self {
        Self {
            bytes: request.event(),
        }
    }

    /// Makes an event of its bytes, in memory of its own.
    pub(crate) fn copied(bytes: &[u8]) -> Self {
        Self {
            bytes: Bytes::copy_from_slice(bytes),
        }
    }

    /// Copies the event into memory of its own. Otherwise it may keep the whole buffer alive that it was read into, up to
    /// 256 KiB. That is too much where small events wait.
    #[must_use]
    pub fn detached(&self) -> Self {
        Self::copied(&self.bytes)
    }

    /// The operation.
    pub fn operation(&self) -> &str {
        let mut decoder = Decoder::new(&self.bytes, EncodingVersion::V1_0);
        decoder
            .str("operation")
            .expect("the request was checked when it was parsed")
    }

    /// The bytes: operation, mode, context and parameters, in the protocol's order.
    #[inline]
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Length in bytes.
    #[inline]
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Always false: an event has at least an operation's size, a mode, a context and an encapsulation.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }
}

/// The parts of an event's bytes, undecoded.
///
/// ```text
/// | operation | mode | context | parameters |
/// |------ head ------|
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EventParts<'a> {
    /// The operation with its size in front, and the mode.
    pub head: &'a [u8],
    /// The mode alone.
    pub mode: OperationMode,
    /// The context: the number of its entries, and each key and value.
    pub context: &'a [u8],
    /// The encapsulation of the parameters, header included.
    pub parameters: &'a [u8],
}

impl<'a> EventParts<'a> {
    /// Splits the bytes of an event, as [`Event::as_bytes`] and [`Events::iter`] return them, into their parts. It
    /// checks everything but the content of the parameters, which stay undecoded.
    ///
    /// # Errors
    /// [`DecodeError`] if they are not an event.
    pub fn parse(event: &'a [u8]) -> Result<Self, DecodeError> {
        let mut decoder = Decoder::new(event, EncodingVersion::V1_0);
        decoder.str("operation")?;
        let mode = decoder.get::<OperationMode>()?;
        let head = decoder.position();
        for _ in 0..decoder.count(2, "context")? {
            decoder.str("context key")?;
            decoder.str("context value")?;
        }
        let context = decoder.position();
        decoder.encapsulation()?;
        decoder.finish_exact("event")?;
        Ok(Self {
            head: &event[..head],
            mode,
            context: &event[head..context],
            parameters: &event[context..],
        })
    }
}

/// One or more events in the order in which they arrived, in one piece of memory.
///
/// Clones and parts share the memory, so a thousand subscribers need no more than one. It lives as long as any of them.
#[derive(Debug, Clone)]
pub struct Events {
    /// The bytes of all events that share the memory, one after the other.
    bytes: Bytes,
    ends: Ends,
    /// The range of the events that this value stands for.
    range: Range<u32>,
    /// True if they were made for one holder.
    is_exclusive: bool,
}

/// The ends of events that share memory.
#[derive(Debug, Clone)]
enum Ends {
    /// All have this length, as is usual for the events of one publisher.
    Every(usize),
    /// The end of each event.
    Each(Arc<[u32]>),
}

impl Events {
    /// Number of events; never 0.
    #[expect(clippy::len_without_is_empty, reason = "there is always an event")]
    #[inline]
    pub fn len(&self) -> usize {
        self.range.len()
    }

    /// Length of all events in bytes.
    #[inline]
    pub fn byte_len(&self) -> usize {
        self.byte_len_of(self.len())
    }

    /// Length of the first `count` events in bytes.
    ///
    /// # Panics
    /// If there are not that many.
    #[inline]
    pub fn byte_len_of(&self, count: usize) -> usize {
        assert!(count <= self.len(), "there are {} events", self.len());
        match self.ends {
            Ends::Every(len) => len * count,
            Ends::Each(_) => self.end(self.range.start + count as u32) - self.end(self.range.start),
        }
    }

    /// The bytes of the last event.
    pub(crate) fn last(&self) -> &[u8] {
        let last = self.range.end - 1;
        &self.bytes[self.end(last)..self.end(last + 1)]
    }

    /// Copies the events of several values into one. Returns `None` if there are none, or if they are longer than 4 GiB
    /// together.
    #[must_use]
    pub fn joined(parts: &[Self]) -> Option<Self> {
        let mut joined = EventsBuilder {
            last_len: parts.iter().map(Self::byte_len).sum(),
            ..EventsBuilder::default()
        };
        let mut events = parts.iter().flat_map(Self::iter);
        events.all(|event| joined.push(event)).then_some(())?;
        joined.finish()
    }

    /// Divides the value into one for each event. They share the memory.
    pub fn into_each(self) -> impl Iterator<Item = Self> {
        let mut rest = Some(self);
        std::iter::from_fn(move || {
            let mut events = rest.take()?;
            if events.len() == 1 {
                return Some(events);
            }
            let first = events.split_to(1);
            rest = Some(events);
            Some(first)
        })
    }

    /// Removes the first `count` events and returns them.
    ///
    /// # Panics
    /// If either side would have no event left.
    #[must_use]
    pub fn split_to(&mut self, count: usize) -> Self {
        assert!(
            (1..self.len()).contains(&count),
            "{count} of {} events",
            self.len()
        );
        let mut front = self.clone();
        front.range.end = front.range.start + count as u32;
        self.range.start = front.range.end;
        front
    }

    /// Copies the events into memory of their own, if they use less than half of the shared memory. Otherwise a few
    /// events that wait for long would keep all the others alive.
    #[must_use]
    pub fn detached(self) -> Self {
        let range = self.end(self.range.start)..self.end(self.range.end);
        if range.len() >= self.bytes.len() / 2 {
            return self;
        }
        let ends = match &self.ends {
            Ends::Every(len) => Ends::Every(*len),
            Ends::Each(ends) => {
                let ends = &ends[self.range.start as usize..self.range.end as usize];
                Ends::Each(ends.iter().map(|end| end - range.start as u32).collect())
            }
        };
        Self {
            bytes: Bytes::copy_from_slice(&self.bytes[range]),
            ends,
            range: 0..self.range.len() as u32,
            is_exclusive: true,
        }
    }

    /// Marks the events as made for one holder, so that nothing else shares their memory. Parts keep the mark.
    #[must_use]
    pub fn exclusive(self) -> Self {
        Self {
            is_exclusive: true,
            ..self
        }
    }

    /// Returns true if they were made for one holder, by [`Events::detached`] or [`Events::exclusive`].
    #[inline]
    pub fn is_exclusive(&self) -> bool {
        self.is_exclusive
    }

    /// Iterates over the bytes of each event: operation, mode, context and parameters, in the protocol's order.
    pub fn iter(&self) -> impl Iterator<Item = &[u8]> {
        let mut start = self.end(self.range.start);
        self.range.clone().map(move |at| {
            let end = self.end(at + 1);
            &self.bytes[std::mem::replace(&mut start, end)..end]
        })
    }

    /// Iterates over the events as values of their own that share the memory.
    pub fn each(&self) -> impl Iterator<Item = Event> {
        let range = |at| self.end(at)..self.end(at + 1);
        self.range.clone().map(move |at| Event {
            bytes: self.bytes.slice(range(at)),
        })
    }

    /// Appends each event to a list. A single event moves its memory into the list, without a change of the reference
    /// count.
    pub fn append_to(self, list: &mut Vec<Event>) {
        match &self.ends {
            Ends::Every(len) if self.range == (0..1) && self.bytes.len() == *len => {
                list.push(Event { bytes: self.bytes });
            }
            _ => list.extend(self.each()),
        }
    }

    /// The bytes of all events, one after the other, and the length that each of them has. Returns `None` if they may
    /// have several lengths.
    pub(crate) fn alike(&self) -> Option<(&[u8], usize)> {
        match self.ends {
            Ends::Every(len) => {
                let range = self.end(self.range.start)..self.end(self.range.end);
                Some((&self.bytes[range], len))
            }
            Ends::Each(_) => None,
        }
    }

    /// Where the first `at` events in the memory end.
    #[inline]
    fn end(&self, at: u32) -> usize {
        match (&self.ends, at) {
            (_, 0) => 0,
            (Ends::Every(len), at) => len * at as usize,
            (Ends::Each(ends), at) => ends[at as usize - 1] as usize,
        }
    }
}

impl From<Event> for Events {
    fn from(event: Event) -> Self {
        Self {
            ends: Ends::Every(event.len()),
            bytes: event.bytes,
            range: 0..1,
            is_exclusive: false,
        }
    }
}

/// Collects events in one piece of memory.
#[derive(Debug, Default)]
pub struct EventsBuilder {
    bytes: Vec<u8>,
    count: u32,
    /// The common length, as long as all events have the same.
    each_len: usize,
    /// The ends, once one event has another length.
    ends: Vec<u32>,
    /// The total length of the events of the last [`EventsBuilder::finish`]. The next ones are likely to be as long.
    last_len: usize,
    /// The last event that was parsed.
    parsed: Option<ParsedEvent>,
}

/// An event that was parsed. Another one of its length that begins with the same bytes needs no parsing, because the
/// content of the parameters stays undecoded.
#[derive(Debug)]
struct ParsedEvent {
    /// Where the parsed bytes are in the builder: operation, mode, context and the header of the parameters.
    head: Range<usize>,
    /// The length of the event.
    len: usize,
}

impl EventsBuilder {
    /// Adds the event with these bytes, as [`Event::as_bytes`] returns them. Returns false, and adds nothing, if the
    /// total would exceed 4 GiB.
    #[inline]
    #[must_use]
    pub(crate) fn push(&mut self, event: &[u8]) -> bool {
        if u32::try_from(self.bytes.len() + event.len()).is_err() {
            return false;
        }
        if self.count == 0 {
            self.bytes.reserve(self.last_len.max(event.len()));
        }
        self.bytes.extend_from_slice(event);
        self.note(event.len());
        true
    }

    /// Adds the event that `write` appends: its operation, mode, context and parameters, in the protocol's order.
    ///
    /// # Errors
    /// The error of `write`, or [`DecodeError`] if the bytes are not an event or the total would exceed 4 GiB. Nothing
    /// is added then.
    pub fn push_with(
        &mut self,
        write: impl FnOnce(&mut Vec<u8>) -> Result<(), DecodeError>,
    ) -> Result<(), DecodeError> {
        let start = self.bytes.len();
        let written = write(&mut self.bytes).and_then(|()| {
            self.check(start)?;
            u32::try_from(self.bytes.len()).map_err(|_| DecodeError {
                kind: DecodeErrorKind::InvalidValue(self.bytes.len() as i64),
                what: "length of all events",
                offset: start,
            })
        });
        match written {
            Ok(_) => self.note(self.bytes.len() - start),
            Err(_) => {
                self.bytes.truncate(start);
                self.parsed = None;
            }
        }
        written.map(drop)
    }

    /// Checks that the bytes from `start` on are an event. Most events of a log or a publisher begin like the one before,
    /// and need no parsing.
    #[inline]
    fn check(&mut self, start: usize) -> Result<(), DecodeError> {
        let event = &self.bytes[start..];
        let is_alike = |parsed: &ParsedEvent| {
            parsed.len == event.len() && event.starts_with(&self.bytes[parsed.head.clone()])
        };
        if self.parsed.as_ref().is_some_and(is_alike) {
            return Ok(());
        }
        let parameters = EventParts::parse(event)?.parameters;
        let head_len = event.len() - parameters.len() + ENCAPSULATION_HEADER_LEN;
        self.parsed = Some(ParsedEvent {
            head: start..start + head_len,
            len: event.len(),
        });
        Ok(())
    }

    /// Length of the added events, in bytes.
    pub(crate) fn byte_len(&self) -> usize {
        self.bytes.len()
    }

    /// Returns the added events; `None` if there are none. The builder is empty afterwards, and holds no memory.
    pub fn finish(&mut self) -> Option<Events> {
        let count = std::mem::take(&mut self.count);
        let mut bytes = std::mem::take(&mut self.bytes);
        let ends = std::mem::take(&mut self.ends);
        self.parsed = None;
        self.last_len = bytes.len();
        // A few short events behind many need not hold as much memory as those.
        if bytes.len() < bytes.capacity() / 2 {
            bytes.shrink_to_fit();
        }
        let ends = match ends.is_empty() {
            true => Ends::Every(self.each_len),
            false => Ends::Each(ends.into()),
        };
        (count > 0).then(|| Events {
            bytes: bytes.into(),
            ends,
            range: 0..count,
            is_exclusive: false,
        })
    }

    /// Records that the last bytes are an event. The total length fits a `u32`.
    #[inline]
    fn note(&mut self, len: usize) {
        if self.count == 0 {
            self.each_len = len;
        } else if len != self.each_len || !self.ends.is_empty() {
            self.note_end();
        }
        self.count += 1;
    }

    /// Records the end of each event before the one that is being added.
    fn note_end(&mut self) {
        if self.ends.is_empty() {
            let each = (1..=self.count).map(|count| count * self.each_len as u32);
            self.ends.extend(each);
        }
        self.ends.push(self.bytes.len() as u32);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn built(events: &[&[u8]]) -> Events {
        let mut builder = EventsBuilder::default();
        assert!(events.iter().all(|event| builder.push(event)));
        builder.finish().expect("there are some")
    }

    #[test]
    fn events_keep_their_bytes_whole_and_split() {
        check_parts([b"one", b"three", b"f", b"fourth"]);
        check_parts([b"one", b"two", b"six", b"ten"]);
        check_parts([b"one", b"two", b"six", b"four"]);
        check_parts([b"one", b"two", b"four", b"six"]);
    }

    #[test]
    fn only_events_of_one_length_have_a_common_length() {
        let mut events = built(&[b"one", b"two", b"six"]);
        assert_eq!(events.alike(), Some((&b"onetwosix"[..], 3)));
        let front = events.split_to(1);
        assert_eq!(front.alike(), Some((&b"one"[..], 3)));
        assert_eq!(events.alike(), Some((&b"twosix"[..], 3)));
        assert_eq!(built(&[b"one", b"two", b"four"]).alike(), None);
        let single = Event {
            bytes: Bytes::from_static(b"single"),
        };
        assert_eq!(Events::from(single).alike(), Some((&b"single"[..], 6)));
    }

    fn check_parts(all: [&[u8]; 4]) {
        for count in 1..=all.len() {
            let events = built(&all[..count]);
            assert_eq!(events.len(), count);
            assert_eq!(events.iter().collect::<Vec<_>>(), &all[..count]);
            let bytes = |count: usize| all[..count].iter().map(|event| event.len()).sum::<usize>();
            assert_eq!(events.byte_len(), bytes(count));
            for at in 1..count {
                let mut back = events.clone();
                let front = back.split_to(at);
                assert_eq!(front.iter().collect::<Vec<_>>(), &all[..at]);
                assert_eq!(back.iter().collect::<Vec<_>>(), &all[at..count]);
                assert_eq!(back.byte_len_of(1), all[at].len());
                for part in [&front, &back] {
                    let own = part.clone().detached();
                    assert!(own.iter().eq(part.iter()));
                    assert_eq!(own.byte_len(), part.byte_len());
                    assert!(own.bytes.len() <= 2 * own.byte_len() + 1);
                }
                let each: Vec<_> = back.each().collect();
                assert_eq!(each[0].as_bytes(), all[at]);
                let mut list = Vec::new();
                back.append_to(&mut list);
                front.append_to(&mut list);
                let listed: Vec<_> = list.iter().map(Event::as_bytes).collect();
                assert_eq!(listed, [&all[at..count], &all[..at]].concat());
            }
        }
        assert!(EventsBuilder::default().finish().is_none());
    }

    #[test]
    fn a_short_event_behind_many_takes_little_memory() {
        let mut builder = EventsBuilder::default();
        for _ in 0..1000 {
            assert!(builder.push(&[7; 100]));
        }
        drop(builder.finish());
        assert!(builder.push(&[7; 10]));
        let events = builder.finish().expect("there is one");
        let memory = Vec::from(events.bytes);
        assert!(memory.capacity() <= 20, "{}", memory.capacity());
    }

    #[test]
    fn an_event_is_checked_however_much_it_is_like_the_one_before() {
        let alike: [&[u8]; 4] = [
            b"\x02op\x01\x01\x01k\x01v\x08\0\0\0\x01\x01ab",
            b"\x02op\x01\x01\x01k\x01v\x08\0\0\0\x01\x01cd",
            b"\x02op\x01\x01\x01k\x01w\x08\0\0\0\x01\x01ef",
            b"\x02op\x01\0\x0b\0\0\0\x01\x01abcde",
        ];
        for before in &alike {
            for event in &alike {
                for at in 0..event.len() {
                    for byte in 0..=u8::MAX {
                        let mut changed = event.to_vec();
                        changed[at] = byte;
                        let mut builder = EventsBuilder::default();
                        let mut push = |bytes: &[u8]| {
                            builder.push_with(|buffer| {
                                buffer.extend_from_slice(bytes);
                                Ok(())
                            })
                        };
                        push(before).unwrap();
                        let expected = EventParts::parse(&changed).map(drop);
                        assert_eq!(push(&changed), expected, "{changed:?} behind {before:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn bytes_that_are_not_an_event_are_refused_and_not_added() {
        let event = b"\x02op\x01\x01\x01k\x01v\x06\0\0\0\x01\x01";
        let parts = EventParts::parse(event).unwrap();
        assert_eq!(parts.head, b"\x02op\x01");
        assert_eq!(parts.context, b"\x01\x01k\x01v");
        assert_eq!(parts.parameters, b"\x06\0\0\0\x01\x01");
        let mut builder = EventsBuilder::default();
        let mut push = |bytes: &[u8]| {
            builder.push_with(|buffer| {
                buffer.extend_from_slice(bytes);
                Ok(())
            })
        };
        push(event).unwrap();
        for cut in 0..event.len() {
            push(&event[..cut]).unwrap_err();
        }
        push(&[&event[..], b"x"].concat()).unwrap_err();
        push(event).unwrap();
        let events = builder.finish().expect("there are two");
        assert_eq!(events.iter().collect::<Vec<_>>(), [&event[..], event]);
    }
}
