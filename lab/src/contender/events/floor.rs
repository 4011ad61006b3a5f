//! The machine's own limit: a relay over bare sockets that carry as many bytes as Floe's messages have.
//!
//! The relay reads everything that is ready, writes once for each subscriber and turn, answers each publisher in
//! one write, and has no timer. What a hub must do to each event it does as well: a fresh request with the subscriber's
//! identity, and where it is acknowledged with its own length and id, around the parameters as they came. Nobody decodes
//! these but subscribers.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};

use rustix::event::{PollFd, PollFlags, poll};

use super::case::Case;
use super::floe::subscriber_name;
use super::publishing::publish_all;
use super::tally::Tally;
use super::{Cast, Clients, EventsContender, Service, announce_service};
use crate::contender::{Contender, Failure, Origin, end_with_stdin};
use crate::measure::Effort;

pub(crate) const FLOOR: Contender = Contender {
    name: "floor",
    refusal: |_| None,
    encoding: None,
    origin: Origin::Events(&EventsContender {
        service: Service::Own(|case| serve(Case::parse(case)?)),
        clients: Clients::Own(Cast { publish, subscribe }),
    }),
};

/// Bytes of a request `tick` to a topic's publisher object, and to a subscriber: the identities of both are
/// equally long.
///
/// ```text
/// | header 14 | id 4 | identity 22 | facet 1 | operation 5 | mode 1 | context 1 | parameters 6 | number 8 |
/// ```
const EVENT_LEN: usize = 62;

/// Bytes of the same in a batch: without header and id. The 18 bytes in front of each batch are left out.
const BATCHED_LEN: usize = EVENT_LEN - 18;

/// Bytes of a reply without results: header 14, request id 4, status 1, results 6.
const REPLY_LEN: usize = 25;

/// Bytes of what differs from event to event, at its end: the parameters, whose last 8 bytes are the number.
const PARAMETERS_LEN: usize = 14;

/// Where the id stands in a request.
const ID_START: usize = 14;

/// Bytes that the relay and a subscriber read at once.
const ROOM_LEN: usize = 256 * 1024;

/// The first byte from a publisher; a subscriber sends its number.
const PUBLISHER: u8 = u8::MAX;

fn event_len(case: Case) -> usize {
    if case.is_acknowledged() {
        EVENT_LEN
    } else {
        BATCHED_LEN
    }
}

fn serve(case: Case) -> Result<(), Failure> {
    end_with_stdin();
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    listener.set_nonblocking(true)?;
    announce_service(&listener.local_addr()?.to_string(), std::process::id())?;
    let mut relay = Relay {
        event_len: event_len(case),
        is_acknowledged: case.is_acknowledged(),
        publishers: Vec::new(),
        subscribers: Vec::new(),
        events: Vec::new(),
        requests: Vec::new(),
        room: vec![0; ROOM_LEN],
    };
    loop {
        let is_ready = relay.wait(&listener)?;
        if is_ready[0] {
            relay.accept(&listener)?;
        }
        relay.turn(&is_ready[1..])?;
    }
}

struct Relay {
    event_len: usize,
    is_acknowledged: bool,
    publishers: Vec<Publisher>,
    subscribers: Vec<Subscriber>,
    /// Those of this turn, of all publishers.
    events: Vec<u8>,
    /// The encoded requests of this turn for one subscriber.
    requests: Vec<u8>,
    room: Vec<u8>,
}

struct Publisher {
    stream: TcpStream,
    /// The beginning of an event.
    rest: Vec<u8>,
    /// Events of this turn.
    count: usize,
}

struct Subscriber {
    stream: TcpStream,
    /// The bytes in front of the parameters of each event.
    head: Vec<u8>,
    /// Of the request before; 0 before the first.
    id: u32,
}

impl Relay {
    /// Waits for something to read: whether there is something from the listener, then from publishers, then from
    /// subscribers.
    fn wait(&self, listener: &TcpListener) -> Result<Vec<bool>, Failure> {
        let publishers = self.publishers.iter().map(|publisher| &publisher.stream);
        let mut all = vec![PollFd::new(listener, PollFlags::IN)];
        let subscribers = self.subscribers.iter().map(|subscriber| &subscriber.stream);
        all.extend(publishers.chain(subscribers).map(readable));
        poll(&mut all, None)?;
        Ok(all.iter().map(|one| !one.revents().is_empty()).collect())
    }

    fn accept(&mut self, listener: &TcpListener) -> Result<(), Failure> {
        let (mut stream, _) = listener.accept()?;
        stream.set_nodelay(true)?;
        let mut role = [0];
        stream.set_nonblocking(false)?;
        stream.read_exact(&mut role)?;
        stream.set_nonblocking(true)?;
        match role[0] {
            PUBLISHER => self.publishers.push(Publisher {
                stream,
                rest: Vec::new(),
                count: 0,
            }),
            index => self.subscribers.push(Subscriber {
                stream,
                head: head(usize::from(index), self.is_acknowledged),
                id: 0,
            }),
        }
        Ok(())
    }

    /// Reads what is ready, and passes it on. Whoever has just been accepted has its turn later.
    fn turn(&mut self, is_ready: &[bool]) -> Result<(), Failure> {
        self.events.clear();
        let (of_publishers, of_subscribers) =
            is_ready.split_at(self.publishers.len().min(is_ready.len()));
        for (publisher, _) in self.publishers.iter_mut().zip(of_publishers).filter(ready) {
            publisher.read(&mut self.room, &mut self.events, self.event_len)?;
        }
        for (subscriber, _) in self
            .subscribers
            .iter_mut()
            .zip(of_subscribers)
            .filter(ready)
        {
            // Acknowledgements.
            nothing_if_blocked(subscriber.stream.read(&mut self.room))?;
        }
        for subscriber in &mut self.subscribers {
            self.requests.clear();
            for event in self.events.chunks_exact(self.event_len) {
                subscriber.write_request(event, self.is_acknowledged, &mut self.requests);
            }
            write_whole(&mut subscriber.stream, &self.requests)?;
        }
        if self.is_acknowledged {
            for publisher in &mut self.publishers {
                let reply = [0; REPLY_LEN * 64];
                write_whole(
                    &mut publisher.stream,
                    &reply[..REPLY_LEN * publisher.count.min(64)],
                )?;
            }
        }
        self.publishers
            .iter_mut()
            .for_each(|publisher| publisher.count = 0);
        Ok(())
    }
}

impl Publisher {
    /// Moves whole events to `events`.
    fn read(
        &mut self,
        room: &mut [u8],
        events: &mut Vec<u8>,
        event_len: usize,
    ) -> Result<(), Failure> {
        let count = nothing_if_blocked(self.stream.read(room))?;
        let len_before = events.len();
        events.append(&mut self.rest);
        events.extend_from_slice(&room[..count]);
        // Those of the publishers before are whole.
        let rest_len = events.len() % event_len;
        self.rest = events.split_off(events.len() - rest_len);
        self.count = (events.len() - len_before) / event_len;
        Ok(())
    }
}

impl Subscriber {
    /// Appends the request that carries an event.
    fn write_request(&mut self, event: &[u8], is_acknowledged: bool, requests: &mut Vec<u8>) {
        let start = requests.len();
        requests.extend_from_slice(&self.head);
        requests.extend_from_slice(&event[event.len() - PARAMETERS_LEN..]);
        if is_acknowledged {
            self.id += 1;
            let id = &mut requests[start + ID_START..start + ID_START + 4];
            id.copy_from_slice(&self.id.to_le_bytes());
        }
    }
}

/// The bytes in front of the parameters of an event for this subscriber: of a request, or of one in a batch.
fn head(index: usize, is_acknowledged: bool) -> Vec<u8> {
    let mut head = Vec::new();
    if is_acknowledged {
        // Protocol 1.0, encoding 1.0, a request, not compressed.
        head.extend_from_slice(b"IceP\x01\x00\x01\x00\x00\x00");
        head.extend_from_slice(&(EVENT_LEN as u32).to_le_bytes());
        // Its id.
        head.extend_from_slice(&[0; 4]);
    }
    put_text(&mut head, &subscriber_name(index));
    // No category, no facet.
    head.extend_from_slice(&[0, 0]);
    put_text(&mut head, "tick");
    // A mode, no context.
    head.extend_from_slice(&[0, 0]);
    head
}

/// Text of less than 255 bytes.
fn put_text(bytes: &mut Vec<u8>, text: &str) {
    bytes.push(text.len() as u8);
    bytes.extend_from_slice(text.as_bytes());
}

fn readable(stream: &TcpStream) -> PollFd<'_> {
    PollFd::new(stream, PollFlags::IN)
}

fn ready<T>((_, is_ready): &(T, &bool)) -> bool {
    **is_ready
}

fn nothing_if_blocked(result: io::Result<usize>) -> io::Result<usize> {
    match result {
        Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(0),
        result => result,
    }
}

/// Writes all, and waits for room where there is none.
fn write_whole(stream: &mut TcpStream, mut bytes: &[u8]) -> Result<(), Failure> {
    while !bytes.is_empty() {
        match stream.write(bytes) {
            Ok(count) => bytes = &bytes[count..],
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                poll(&mut [PollFd::new(stream, PollFlags::OUT)], None)?;
            }
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

fn connect(address: &str, role: u8) -> io::Result<TcpStream> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_nodelay(true)?;
    stream.write_all(&[role])?;
    Ok(stream)
}

fn publish(case: Case, effort: Effort, address: &str, index: usize) -> Result<(), Failure> {
    let mut stream = connect(address, PUBLISHER)?;
    let event_len = event_len(case);
    let mut bytes = Vec::new();
    publish_all(case, effort, index, |numbers| {
        bytes.resize(numbers.len() * event_len, 0);
        for (event, number) in bytes.chunks_exact_mut(event_len).zip(numbers) {
            event[event_len - 8..].copy_from_slice(&number.to_le_bytes());
        }
        stream.write_all(&bytes)?;
        if case.is_acknowledged() {
            stream.read_exact(&mut [0; REPLY_LEN])?;
        }
        Ok(())
    })
}

fn subscribe(case: Case, effort: Effort, address: &str, index: usize) -> Result<(), Failure> {
    let mut stream = connect(address, u8::try_from(index)?)?;
    end_with_stdin();
    let event_len = event_len(case);
    let mut tally = Tally::new(case, effort);
    let mut room = vec![0; ROOM_LEN];
    let mut filled = 0;
    loop {
        match stream.read(&mut room[filled..])? {
            0 => return Err("the relay is gone".into()),
            count => filled += count,
        }
        let whole = filled - filled % event_len;
        for event in room[..whole].chunks_exact(event_len) {
            let (_, number) = event
                .split_last_chunk()
                .expect("an event ends with 8 bytes");
            tally.take(i64::from_le_bytes(*number))?;
        }
        if case.is_acknowledged() {
            stream.write_all(&vec![0; whole / event_len * REPLY_LEN])?;
        }
        room.copy_within(whole..filled, 0);
        filled -= whole;
    }
}

#[cfg(test)]
mod tests {
    use floe_wire::encoding::EncodingVersion;
    use floe_wire::message::{
        BatchWriter, Context, OperationMode, RequestHead, RequestId, RequestTarget,
    };

    use super::super::floe::TOPIC;
    use super::*;

    #[test]
    fn events_have_the_length_of_those_of_the_protocol() {
        let context = Context::new();
        for identity in [
            format!("IceStorm/{TOPIC}.publish"),
            subscriber_name(0),
            subscriber_name(29),
        ] {
            let identity = identity.parse().unwrap();
            let header = RequestHead {
                target: &RequestTarget::new(&identity, ""),
                operation: "tick",
                mode: OperationMode::Normal,
                context: &context,
            };
            let number = |encoder: &mut floe_wire::encoding::Encoder<'_>| {
                encoder.encapsulation(EncodingVersion::V1_1, |encoder| encoder.put(&7_i64));
            };
            let mut message = Vec::new();
            header
                .write_with(&mut message, RequestId(1), number)
                .unwrap();
            assert_eq!(message.len(), EVENT_LEN);
            let mut batch = BatchWriter::default();
            for _ in 0..3 {
                let full = batch.push(&header, 1 << 20, number);
                assert!(full.unwrap().is_none());
            }
            assert_eq!(batch.finish().unwrap().len(), 18 + 3 * BATCHED_LEN);
        }
    }

    #[test]
    fn the_relay_makes_requests_of_the_protocol() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let mut subscriber = Subscriber {
            stream,
            head: head(7, true),
            id: 0,
        };
        let identity = subscriber_name(7).parse().unwrap();
        let context = Context::new();
        let header = RequestHead {
            target: &RequestTarget::new(&identity, ""),
            operation: "tick",
            mode: OperationMode::Normal,
            context: &context,
        };
        let number = |encoder: &mut floe_wire::encoding::Encoder<'_>| {
            encoder.encapsulation(EncodingVersion::V1_1, |encoder| encoder.put(&7_i64));
        };
        let (mut expected, mut second) = (Vec::new(), Vec::new());
        for (id, message) in [(1, &mut expected), (2, &mut second)] {
            header.write_with(message, RequestId(id), number).unwrap();
        }
        expected.append(&mut second);
        // What a publisher sends differs in everything but the parameters.
        let mut event = vec![0xff; EVENT_LEN];
        event[EVENT_LEN - PARAMETERS_LEN..]
            .copy_from_slice(&expected[EVENT_LEN - PARAMETERS_LEN..EVENT_LEN]);
        let mut requests = Vec::new();
        subscriber.write_request(&event, true, &mut requests);
        subscriber.write_request(&event, true, &mut requests);
        assert_eq!(requests, expected);
        subscriber.head = head(7, false);
        requests.clear();
        subscriber.write_request(&event, false, &mut requests);
        assert_eq!(requests, expected[18..EVENT_LEN]);
    }
}
