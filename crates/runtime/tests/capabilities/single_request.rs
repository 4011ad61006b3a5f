//! Requests that come alone, among others that do not: however they are cut into reads, and whichever way they
//! are dispatched, they fare alike. The bytes are sent by hand, for a proxy does not say what arrives together.

use std::any::Any;
use std::collections::BTreeMap;
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use floe::dispatch::{DispatchFuture, DispatchSlot, Request, Requests};
use floe::message::Outcome;
use floe::pipeline::{DispatchInterceptor, NextDispatch};
use floe::{Dispatcher, Settings, SystemException};
use tokio::task::yield_now;

use crate::echo::encapsulation;
use crate::raw::header;
use crate::{blocking, echo};

/// All bytes of each reply, by its number.
type Replies = BTreeMap<i32, Vec<u8>>;

const REPLY: u8 = 2;
const CLOSE_CONNECTION: u8 = 4;

/// Does what the operation says.
#[derive(Default)]
struct Odd {
    kept: Mutex<Vec<bytes::Bytes>>,
    log: Mutex<Vec<&'static str>>,
    released: tokio::sync::Notify,
}

impl Odd {
    fn log(&self, what: &'static str) {
        self.log.lock().unwrap().push(what);
    }

    async fn answer(
        self: Arc<Self>,
        request: Request,
    ) -> Result<floe::dispatch::Response, SystemException> {
        let parameters = request.parameters();
        match request.operation() {
            "panic" => panic!("as asked"),
            "refuse" => return Err(SystemException::UnknownException("no".into())),
            "wait" => {
                for _ in 0..10 {
                    yield_now().await;
                }
            }
            "hold" => {
                self.log("held");
                self.released.notified().await;
                self.log("released");
            }
            "note" => self.log("noted"),
            "keep" => self.kept.lock().unwrap().push(parameters.clone()),
            "long" => return request.respond(&Outcome::Returned(encapsulation(&LONG).into())),
            "user" => return request.respond(&Outcome::UserException(parameters)),
            "replace" => {
                let adapter = request.current().adapter();
                assert!(adapter.remove(&floe::Identity::new("odd"), ""));
                adapter.add("odd", Self::default()).unwrap();
            }
            "close" => {
                let connection = request.current().connection().expect("over the wire");
                let mut closing = std::pin::pin!(connection.close());
                // It begins to close when it is polled, and ends when this is answered.
                let polled = std::future::poll_fn(|context| {
                    std::task::Poll::Ready(closing.as_mut().poll(context))
                });
                assert!(polled.await.is_pending());
            }
            "echo" => {}
            _ => return request.builtin("::Test::Odd", &["::Ice::Object", "::Test::Odd"]),
        }
        request.respond(&Outcome::Returned(parameters))
    }
}

static LONG: [u8; 20_000] = [7; 20_000];

impl Dispatcher for Odd {
    fn dispatch(self: Arc<Self>, requests: Requests, slot: &mut DispatchSlot) {
        requests.each(slot, move |request| self.clone().answer(request));
    }
}

/// Takes requests as events, and counts them, and how often it is given some.
#[derive(Default)]
struct Sink {
    dispatched: AtomicUsize,
    taken: AtomicUsize,
}

impl Sink {
    /// How often it was given requests, and how many events it took.
    fn counts(&self) -> (usize, usize) {
        let (dispatched, taken) = (&self.dispatched, &self.taken);
        (
            dispatched.load(Ordering::SeqCst),
            taken.load(Ordering::SeqCst),
        )
    }
}

impl Dispatcher for Sink {
    fn dispatch(self: Arc<Self>, requests: Requests, slot: &mut DispatchSlot) {
        self.dispatched.fetch_add(1, Ordering::SeqCst);
        let taken = requests.take_events(|events, _now| {
            self.taken.fetch_add(events.len(), Ordering::SeqCst);
        });
        taken.answer(slot);
    }
}

/// Counts what it passes on.
#[derive(Default)]
struct Counting(AtomicUsize);

impl DispatchInterceptor for Counting {
    fn dispatch(self: Arc<Self>, request: Request, next: NextDispatch) -> DispatchFuture {
        self.0.fetch_add(1, Ordering::SeqCst);
        next.dispatch(request)
    }
}

/// A Request message to the object with this name.
fn request(id: i32, name: &str, operation: &str, payload: &[u8]) -> Vec<u8> {
    let mut body = id.to_le_bytes().to_vec();
    for text in [name, ""] {
        body.push(text.len() as u8);
        body.extend(text.as_bytes());
    }
    // No facet.
    body.push(0);
    body.push(operation.len() as u8);
    body.extend(operation.as_bytes());
    // Mode and context.
    body.extend([0, 0]);
    body.extend(encapsulation(payload));
    let mut message = header(0, 14 + body.len() as i32);
    message.extend(body);
    message
}

/// A server of either face, which lives as long as what is first; its adapter and port.
fn start(is_blocking: bool, settings: Settings) -> (Box<dyn Any>, floe::Adapter, u16) {
    let (server, adapter): (Box<dyn Any>, _) = if is_blocking {
        let server = blocking::Server::with_settings(settings);
        let adapter = server.adapter.clone();
        (Box::new(server), adapter)
    } else {
        let mut runtime = tokio::runtime::Builder::new_multi_thread();
        let runtime = runtime.worker_threads(1).enable_all().build().unwrap();
        let server = runtime.block_on(echo::Server::with_settings(settings));
        let adapter = server.adapter.clone();
        (Box::new((server, runtime)), adapter)
    };
    let port = adapter.endpoints()[0].port().unwrap();
    (server, adapter, port)
}

/// A client that has seen the connection validated.
fn connect(port: u16) -> TcpStream {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    stream.set_nodelay(true).unwrap();
    let limit = Some(Duration::from_secs(30));
    stream.set_read_timeout(limit).unwrap();
    stream.set_write_timeout(limit).unwrap();
    assert_eq!(message(&mut stream)[8], 3, "it is validated");
    stream
}

fn message(stream: &mut TcpStream) -> Vec<u8> {
    let mut message = vec![0; 14];
    stream.read_exact(&mut message).unwrap();
    let size = i32::from_le_bytes(message[10..].try_into().unwrap());
    message.resize(size as usize, 0);
    stream.read_exact(&mut message[14..]).unwrap();
    message
}

fn id_of(reply: &[u8]) -> i32 {
    assert_eq!(reply[8], REPLY);
    i32::from_le_bytes(reply[14..18].try_into().unwrap())
}

fn read_into(replies: &mut Replies, stream: &mut TcpStream) {
    let reply = message(stream);
    assert!(replies.insert(id_of(&reply), reply).is_none());
}

/// How the messages are cut into writes.
#[derive(Debug, Clone, Copy)]
enum Cut {
    /// Each alone: the next leaves when the one before is answered.
    Alone,
    /// By two, of which the second one is not whole yet.
    Uneven,
    /// All together.
    Together,
}

/// Sends all of it, and gives the replies to those that get one.
fn replies_to(messages: &[Vec<u8>], cut: Cut, stream: &mut TcpStream) -> Replies {
    let is_twoway = |message: &&Vec<u8>| message[8] == 0 && message[14..18] != [0; 4];
    let due = messages.iter().filter(is_twoway).count();
    let mut replies = Replies::new();
    match cut {
        Cut::Alone => {
            for message in messages {
                stream.write_all(message).unwrap();
                if is_twoway(&message) {
                    read_into(&mut replies, stream);
                }
            }
        }
        Cut::Uneven => {
            let bytes = messages.concat();
            let cut = |part: usize| part * bytes.len() / 7;
            for part in 0..7 {
                stream.write_all(&bytes[cut(part)..cut(part + 1)]).unwrap();
                thread::yield_now();
            }
        }
        Cut::Together => stream.write_all(&messages.concat()).unwrap(),
    }
    while replies.len() < due {
        read_into(&mut replies, stream);
    }
    replies
}

/// Requests of all kinds, and what else may come between them.
fn mixed() -> Vec<Vec<u8>> {
    let heartbeat = header(3, 14);
    let mut messages = Vec::new();
    let mut id = 0;
    for _ in 0..3 {
        for (name, operation, payload) in [
            ("odd", "echo", &b"one"[..]),
            ("odd", "echo", b"longer than the one before"),
            ("odd", "panic", b""),
            ("odd", "echo", b"two"),
            ("odd", "refuse", b""),
            ("odd", "wait", b"late"),
            ("odd", "user", b"exception"),
            ("none", "echo", b""),
            ("odd", "nothing like it", b""),
            ("odd", "long", b""),
            ("odd", "keep", b"kept"),
            ("sink", "any", b"event"),
            ("echo", "echo", b"another object"),
            ("odd", "replace", b""),
            ("odd", "echo", &LONG),
            ("odd", "echo", b"three"),
            ("odd", "echo", b"four"),
        ] {
            id += 1;
            messages.push(request(id, name, operation, payload));
            if id % 4 == 0 {
                messages.push(request(0, name, operation, payload));
            }
            if id % 7 == 0 {
                messages.push(heartbeat.clone());
            }
        }
    }
    messages
}

#[test]
fn requests_fare_alike_however_they_arrive() {
    let messages = mixed();
    let request_count = messages.iter().filter(|message| message[8] == 0).count();
    for is_intercepted in [false, true] {
        let mut expected: Option<Replies> = None;
        for is_blocking in [true, false] {
            for cut in [Cut::Alone, Cut::Uneven, Cut::Together] {
                let what = format!("{cut:?} {is_blocking} {is_intercepted}");
                let (_server, adapter, port) = start(is_blocking, Settings::default());
                let (sink, counting) = (Arc::<Sink>::default(), Arc::new(Counting::default()));
                adapter.add("odd", Odd::default()).unwrap();
                adapter.add("sink", sink.clone()).unwrap();
                if is_intercepted {
                    adapter.intercept(counting.clone());
                }
                let replies = replies_to(&messages, cut, &mut connect(port));
                let counts = (sink.counts().1, counting.0.load(Ordering::SeqCst));
                let intercepted = if is_intercepted { request_count } else { 0 };
                assert_eq!(counts, (4, intercepted), "{what}");
                let statuses: Vec<u8> = replies.values().map(|reply| reply[18]).collect();
                let due = [0, 0, 7, 0, 7, 0, 1, 2, 4, 0, 0, 0, 0, 0, 0, 0, 0];
                assert_eq!(statuses, due.repeat(3), "{what}");
                let expected = expected.get_or_insert_with(|| replies.clone());
                for (id, reply) in expected {
                    assert!(replies.get(id) == Some(reply), "{id} {what}");
                }
            }
        }
    }
}

#[test]
fn events_that_come_together_are_taken_together_by_the_servant_that_is_there() {
    for is_blocking in [true, false] {
        for (cut, dispatched) in [(Cut::Alone, 6), (Cut::Together, 2)] {
            let (_server, adapter, port) = start(is_blocking, Settings::default());
            let (sink, next) = (Arc::<Sink>::default(), Arc::<Sink>::default());
            adapter.add("sink", sink.clone()).unwrap();
            let stream = &mut connect(port);
            let mut last = 0;
            let mut send = |count| {
                let ids = last + 1..=last + count;
                last += count;
                let events: Vec<_> = ids
                    .map(|id| request(id, "sink", &format!("event{}", id / 2), b""))
                    .collect();
                let replies = replies_to(&events, cut, stream);
                assert_eq!(replies.len(), count as usize);
                assert!(replies.values().all(|reply| reply[18] == 0));
            };
            send(3);
            send(3);
            assert_eq!(sink.counts().1, 6, "{cut:?}");
            // A read may end in the middle.
            let count = sink.counts().0;
            assert!((dispatched..=6).contains(&count), "{cut:?} {count}");
            assert!(adapter.remove(&"sink".parse().unwrap(), ""));
            adapter.add("sink", next.clone()).unwrap();
            send(2);
            assert_eq!((sink.counts().1, next.counts().1), (6, 2), "{cut:?}");
        }
    }
}

/// A request that comes alone still waits for the permit that another one holds.
#[test]
fn a_request_alone_waits_for_the_budget_as_all_do() {
    for is_blocking in [true, false] {
        let mut settings = Settings::default();
        settings.dispatch_limit = 1;
        let (_server, adapter, port) = start(is_blocking, settings);
        let odd = Arc::new(Odd::default());
        adapter.add("odd", odd.clone()).unwrap();
        let stream = &mut connect(port);
        let warm = [
            request(1, "odd", "echo", b""),
            request(2, "odd", "echo", b""),
        ];
        replies_to(&warm, Cut::Alone, stream);
        stream.write_all(&request(3, "odd", "hold", b"")).unwrap();
        while odd.log.lock().unwrap().is_empty() {
            thread::yield_now();
        }
        stream.write_all(&request(4, "odd", "note", b"")).unwrap();
        // It is taken in as soon as it comes, and begins when the one before has ended.
        odd.released.notify_one();
        let mut replies = Replies::new();
        read_into(&mut replies, stream);
        read_into(&mut replies, stream);
        assert_eq!(*odd.log.lock().unwrap(), ["held", "released", "noted"]);
        assert!(replies.values().all(|reply| reply[18] == 0));
    }
}

#[test]
fn one_that_closes_its_connection_is_answered_before_that() {
    for is_blocking in [true, false] {
        let (_server, adapter, port) = start(is_blocking, Settings::default());
        adapter.add("odd", Odd::default()).unwrap();
        let stream = &mut connect(port);
        let warm = request(1, "odd", "echo", b"");
        replies_to(&[warm], Cut::Alone, stream);
        stream.write_all(&request(2, "odd", "close", b"")).unwrap();
        let reply = message(stream);
        assert_eq!((id_of(&reply), reply[18]), (2, 0));
        let last = message(stream);
        assert_eq!((last[8], last.len()), (CLOSE_CONNECTION, 14));
        // No further request is dispatched.
        let _ = stream.write_all(&request(3, "odd", "echo", b""));
        stream.shutdown(std::net::Shutdown::Write).unwrap();
        let mut rest = Vec::new();
        let _ = stream.read_to_end(&mut rest);
        assert!(rest.is_empty());
    }
}

/// If the peer does not read its replies, the connection fills up. Then no more replies are made, and none is lost or
/// overtaken.
#[test]
fn a_peer_that_does_not_read_gets_all_replies_in_their_order_later() {
    const COUNT: i32 = 4_000;

    for is_blocking in [true, false] {
        let mut settings = Settings::default();
        settings.output_limit = 20_000;
        let (_server, _adapter, port) = start(is_blocking, settings);
        let stream = &mut connect(port);
        let requests = (1..=COUNT).map(|id| request(id, "echo", "echo", &[7; 5_000]));
        let mut bytes = requests.flatten();
        let mut left: Vec<u8> = Vec::new();
        // As much as goes without a reader, and then all the rest.
        stream.set_nonblocking(true).unwrap();
        loop {
            left.extend(bytes.by_ref().take(10_000 - left.len()));
            match stream.write(&left) {
                Ok(0) => break,
                Ok(count) => drop(left.drain(..count)),
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) => panic!("{error}"),
            }
        }
        stream.set_nonblocking(false).unwrap();
        left.extend(bytes);
        let mut writing = stream.try_clone().unwrap();
        let writer = thread::spawn(move || writing.write_all(&left).unwrap());
        for id in 1..=COUNT {
            let reply = message(stream);
            assert_eq!((id_of(&reply), reply.len()), (id, 14 + 5 + 6 + 5_000));
        }
        writer.join().unwrap();
    }
}

/// Notes whether events share the memory of the message that they came in.
#[derive(Default)]
struct Shares(std::sync::Mutex<Vec<bool>>);

impl Dispatcher for Shares {
    fn dispatch(self: Arc<Self>, requests: Requests, slot: &mut DispatchSlot) {
        let message = requests.front().event();
        let start = |event: &floe::forwarding::Event| event.as_bytes().as_ptr();
        let taken = requests.take_events(|events, _now| {
            let event = events.each().next().unwrap();
            assert_eq!(event, message);
            self.0
                .lock()
                .unwrap()
                .push(start(&event) == start(&message));
        });
        taken.answer(slot);
    }
}

#[test]
fn a_small_event_is_taken_in_memory_of_its_own_and_a_long_one_is_not_copied() {
    for is_blocking in [true, false] {
        let (_server, adapter, port) = start(is_blocking, Settings::default());
        let shares = Arc::<Shares>::default();
        adapter.add("shares", shares.clone()).unwrap();
        let stream = &mut connect(port);
        for id in 1..=4 {
            let payload = match id % 2 {
                0 => vec![7; 100_000],
                _ => vec![7; 10],
            };
            let event = request(id, "shares", "event", &payload);
            replies_to(&[event], Cut::Alone, stream);
        }
        assert_eq!(*shares.0.lock().unwrap(), [false, true, false, true]);
    }
}
