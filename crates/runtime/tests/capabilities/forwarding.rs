//! Events that are sent without any wait, and whose answers are told where they are read.

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use floe::forwarding::{ConnectionToken, Event, Events, EventsBuilder, PendingEvent, ReplySink};
use floe::message::Outcome;
use floe::{Communicator, InvokeError, OperationMode, Proxy};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;

use crate::echo::{NOTHING, soon};
use crate::raw::header;

/// The outcome that was reported for an event.
#[derive(Debug, PartialEq, Eq)]
enum Told {
    Nothing,
    Said(Outcome),
    System,
    NotDispatched,
    PerhapsDispatched,
}

/// Notes what it is told, in that order.
#[derive(Default)]
struct Notes {
    told: Mutex<Vec<(u64, Told)>>,
    more: Notify,
    /// How often it was told of events that failed.
    failed_count: AtomicUsize,
}

impl Notes {
    fn note(&self, number: u64, told: Told) {
        self.told.lock().unwrap().push((number, told));
        self.more.notify_one();
    }

    /// Waits until so many answers were told.
    async fn wait_for(&self, count: usize) -> Vec<(u64, Told)> {
        let all = async {
            while self.told.lock().unwrap().len() < count {
                self.more.notified().await;
            }
        };
        soon(all).await;
        std::mem::take(&mut self.told.lock().unwrap())
    }
}

impl ReplySink for Notes {
    fn returned(&self, numbers: Range<u64>) {
        numbers.for_each(|number| self.note(number, Told::Nothing));
    }

    fn answered(&self, numbers: Range<u64>, answer: Result<Option<Outcome>, InvokeError>) {
        let last = numbers.end - 1;
        self.returned(numbers.start..last);
        let told = match answer {
            Ok(None) => Told::Nothing,
            Ok(Some(outcome)) => Told::Said(outcome),
            Err(InvokeError::System(_)) => Told::System,
            Err(other) => panic!("{other}"),
        };
        self.note(last, told);
    }

    fn failed(&self, failures: Vec<(Range<u64>, InvokeError)>) {
        self.failed_count.fetch_add(1, Ordering::SeqCst);
        for (numbers, error) in failures {
            for number in numbers {
                let told = match &error {
                    InvokeError::NotDispatched(_) => Told::NotDispatched,
                    InvokeError::PerhapsDispatched(_) => Told::PerhapsDispatched,
                    other => panic!("{other}"),
                };
                self.note(number, told);
            }
        }
    }
}

/// A peer that does what the test says, and a proxy with a connection to it.
struct Peer {
    stream: TcpStream,
    proxy: Proxy,
    sink: Arc<Notes>,
    _communicator: Communicator,
}

impl Peer {
    async fn connect() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let communicator = Communicator::new();
        let proxy: Proxy = communicator
            .proxy(&format!("sink:tcp -h 127.0.0.1 -p {port}"))
            .unwrap();
        let accept = async {
            let (mut stream, _) = listener.accept().await.unwrap();
            stream.write_all(&header(3, 14)).await.unwrap();
            stream
        };
        let (stream, connected) = tokio::join!(soon(accept), soon(proxy.connect()));
        connected.unwrap();
        Self {
            stream,
            proxy,
            sink: Arc::default(),
            _communicator: communicator,
        }
    }

    /// Sends so many events, that with the number `first` first.
    fn forward(&self, first: u64, count: usize) -> Vec<PendingEvent> {
        let sent = self
            .proxy
            .try_forward(&events(count), &self.sink, first, None);
        let sent = sent.expect("it has a connection with room");
        assert_eq!(sent.len(), count);
        sent.collect()
    }

    /// Reads so many requests; their ids.
    async fn ids(&mut self, count: usize) -> Vec<i32> {
        let requests = self.requests(count).await;
        requests.into_iter().map(|(id, _)| id).collect()
    }

    /// Reads so many requests, or batches of them: their ids, or how many they are, and what follows.
    async fn requests(&mut self, count: usize) -> Vec<(i32, Vec<u8>)> {
        let mut requests = Vec::new();
        for _ in 0..count {
            let mut head = [0; 18];
            soon(self.stream.read_exact(&mut head)).await.unwrap();
            let number = |at: usize| i32::from_le_bytes(head[at..at + 4].try_into().unwrap());
            let mut rest = vec![0; number(10) as usize - head.len()];
            soon(self.stream.read_exact(&mut rest)).await.unwrap();
            assert!(head[8] <= 1, "a request or a batch");
            requests.push((number(14), rest));
        }
        requests
    }

    async fn write(&mut self, messages: &[Vec<u8>]) {
        soon(self.stream.write_all(&messages.concat()))
            .await
            .unwrap();
    }
}

fn events(count: usize) -> Vec<Event> {
    let mut builder = EventsBuilder::default();
    for _ in 0..count {
        let write = |bytes: &mut Vec<u8>| {
            bytes.extend(b"\x02op\x00\x00");
            bytes.extend(NOTHING);
            Ok(())
        };
        builder.push_with(write).unwrap();
    }
    let mut events = Vec::new();
    if let Some(built) = builder.finish() {
        built.append_to(&mut events);
    }
    events
}

/// A run of so many events.
fn run(count: usize) -> Events {
    let events: Vec<_> = events(count).into_iter().map(Events::from).collect();
    Events::joined(&events).expect("they are short")
}

/// A reply with this status and what stands behind it.
fn reply(id: i32, status: u8, rest: &[u8]) -> Vec<u8> {
    let mut reply = header(2, 19 + rest.len() as i32);
    reply.extend(id.to_le_bytes());
    reply.push(status);
    reply.extend(rest);
    reply
}

fn nothing(id: i32) -> Vec<u8> {
    reply(id, 0, &NOTHING)
}

fn all_nothing(numbers: Range<u64>) -> Vec<(u64, Told)> {
    numbers.map(|number| (number, Told::Nothing)).collect()
}

fn end_all(forwardings: Vec<PendingEvent>) {
    forwardings.into_iter().for_each(PendingEvent::end);
}

#[tokio::test]
async fn answers_are_told_by_their_numbers_in_the_order_in_which_they_come() {
    let mut peer = Peer::connect().await;
    let mut sent = peer.forward(7, 1);
    sent.extend(peer.forward(8, 4));
    let ids = peer.ids(5).await;
    assert!(ids.windows(2).all(|two| two[1] == two[0] + 1), "{ids:?}");
    let replies: Vec<_> = ids.iter().map(|id| nothing(*id)).collect();
    peer.write(&replies).await;
    assert_eq!(peer.sink.wait_for(5).await, all_nothing(7..12));
    // A reply in two parts, and two in another order.
    sent.extend(peer.forward(12, 3));
    let ids = peer.ids(3).await;
    let (mut start, rest) = (nothing(ids[0]), nothing(ids[0]).split_off(20));
    start.truncate(20);
    peer.write(&[start]).await;
    tokio::task::yield_now().await;
    peer.write(&[rest, nothing(ids[2]), nothing(ids[1])]).await;
    let told = peer.sink.wait_for(3).await;
    let numbers: Vec<_> = told.iter().map(|(number, _)| *number).collect();
    assert_eq!(numbers, [12, 14, 13]);
    end_all(sent);
}

#[tokio::test]
async fn what_a_servant_says_is_told_of_its_event_alone() {
    let mut peer = Peer::connect().await;
    let sent = peer.forward(0, 5);
    let ids = peer.ids(5).await;
    let thrown = [7, 0, 0, 0, 1, 1, 5];
    let replies = [
        nothing(ids[0]),
        reply(ids[1], 1, &thrown),
        nothing(ids[2]),
        reply(ids[3], 7, b"\x02no"),
        nothing(ids[4]),
    ];
    peer.write(&replies).await;
    let told = peer.sink.wait_for(5).await;
    let thrown = Outcome::UserException(thrown.to_vec().into());
    let expected = [
        (0, Told::Nothing),
        (1, Told::Said(thrown)),
        (2, Told::Nothing),
        (3, Told::System),
        (4, Told::Nothing),
    ];
    assert_eq!(told, expected);
    end_all(sent);
}

#[tokio::test]
async fn a_reply_answers_the_events_of_its_run() {
    let mut peer = Peer::connect().await;
    let forward = |peer: &Peer, first, lens: &[usize]| {
        let runs: Vec<_> = lens.iter().map(|len| run(*len)).collect();
        let sent = peer
            .proxy
            .try_forward_runs(&runs, &peer.sink, first, None)
            .expect("it has a connection with room");
        assert_eq!(sent.len(), lens.len());
        sent.collect::<Vec<_>>()
    };
    let sent = forward(&peer, 5, &[3, 1, 4]);
    let bodies = peer.requests(5).await;
    let (a, b, c) = (bodies[1].0, bodies[2].0, bodies[4].0);
    assert!(a > 0 && b == a + 1 && c == b + 1);
    // A plain peer could read them: a batch, whose count stands where a request has its id, and a request.
    let ids: Vec<_> = bodies.iter().map(|(id, _)| *id).collect();
    assert_eq!(ids, [2, a, b, 3, c]);
    let one = &bodies[1].1;
    let expected = [2, 1, 1, 3, 1].map(|count| one.repeat(count));
    assert!(bodies.iter().map(|(_, body)| body).eq(&expected));
    // The exception is told of the last event of its run.
    peer.write(&[nothing(a), nothing(b), reply(c, 7, b"\x02no")])
        .await;
    let mut expected = all_nothing(5..13);
    expected[7].1 = Told::System;
    assert_eq!(peer.sink.wait_for(8).await, expected);
    end_all(sent);
    // A run that is given up takes its reply with it.
    let mut sent = forward(&peer, 13, &[2, 2]);
    drop(sent.remove(0));
    let bodies = peer.requests(4).await;
    peer.write(&[nothing(bodies[1].0), nothing(bodies[3].0)])
        .await;
    assert_eq!(peer.sink.wait_for(2).await, all_nothing(15..17));
    end_all(sent);
    // If the connection breaks, all events have failed, in their order.
    let sent = forward(&peer, 17, &[3, 1]);
    peer.requests(3).await;
    let sink = peer.sink.clone();
    drop(peer.stream);
    let failed = sink.wait_for(4).await;
    let numbers: Vec<_> = failed.iter().map(|(number, _)| *number).collect();
    assert_eq!(numbers, [17, 18, 19, 20]);
    assert!(
        failed
            .iter()
            .all(|(_, told)| *told == Told::PerhapsDispatched),
        "{failed:?}"
    );
    end_all(sent);
}

#[tokio::test]
async fn a_long_run_is_several_messages_that_a_peer_takes() {
    let mut peer = Peer::connect().await;
    let mut builder = EventsBuilder::default();
    for _ in 0..40 {
        let write = |bytes: &mut Vec<u8>| {
            bytes.extend(b"\x02op\x00\x00");
            bytes.extend((6_i32 + 100_000).to_le_bytes());
            bytes.extend([1, 1]);
            bytes.resize(bytes.len() + 100_000, 7);
            Ok(())
        };
        builder.push_with(write).unwrap();
    }
    let runs = [builder.finish().unwrap()];
    let sent = peer.proxy.try_forward_runs(&runs, &peer.sink, 0, None);
    let sent: Vec<_> = sent.expect("it has a connection with room").collect();
    let mut counts = Vec::new();
    while counts.iter().sum::<i32>() < 39 {
        let (count, body) = peer.requests(1).await.remove(0);
        assert!(
            body.len() < 1024 * 1024,
            "peers refuse longer messages by default"
        );
        counts.push(count);
    }
    assert!(counts.len() > 3, "{counts:?}");
    let (id, _) = peer.requests(1).await.remove(0);
    peer.write(&[nothing(id)]).await;
    assert_eq!(peer.sink.wait_for(40).await, all_nothing(0..40));
    end_all(sent);
}

#[tokio::test]
async fn events_share_a_connection_with_calls_and_with_events_of_others() {
    let mut peer = Peer::connect().await;
    let other = Arc::new(Notes::default());
    let proxy = peer.proxy.clone();
    let call = || {
        let proxy = proxy.clone();
        tokio::spawn(async move { proxy.invoke("op", OperationMode::Normal, &NOTHING).await })
    };
    let sent = peer.forward(0, 2);
    let mut ids = peer.ids(2).await;
    let first = call();
    ids.extend(peer.ids(1).await);
    let others = proxy.try_forward(&events(2), &other, 2, None).unwrap();
    ids.extend(peer.ids(2).await);
    let second = call();
    ids.extend(peer.ids(1).await);
    let replies: Vec<_> = ids.iter().map(|id| nothing(*id)).collect();
    peer.write(&replies).await;
    for call in [first, second] {
        let outcome = soon(call).await.unwrap().unwrap();
        assert_eq!(outcome, Some(Outcome::Returned(NOTHING.to_vec().into())));
    }
    assert_eq!(peer.sink.wait_for(2).await, all_nothing(0..2));
    assert_eq!(other.wait_for(2).await, all_nothing(2..4));
    end_all(sent);
    others.for_each(PendingEvent::end);
}

#[tokio::test]
async fn events_that_are_given_up_are_not_told() {
    let mut peer = Peer::connect().await;
    let mut sent = peer.forward(0, 3);
    drop(sent.remove(1));
    // Events that are not taken from the iterator are given up as well.
    let left = peer.proxy.try_forward(&events(3), &peer.sink, 3, None);
    sent.extend(left.unwrap().take(1));
    let ids = peer.ids(6).await;
    let replies: Vec<_> = ids.iter().map(|id| nothing(*id)).collect();
    peer.write(&replies).await;
    let told = peer.sink.wait_for(3).await;
    let numbers: Vec<_> = told.iter().map(|(number, _)| *number).collect();
    assert_eq!(numbers, [0, 2, 3]);
    end_all(sent);
    let sent = peer.forward(6, 1);
    let ids = peer.ids(1).await;
    peer.write(&[nothing(ids[0])]).await;
    assert_eq!(peer.sink.wait_for(1).await, all_nothing(6..7));
    end_all(sent);
}

#[tokio::test]
async fn events_behind_others_leave_by_the_same_way_or_not_at_all() {
    let peer = Peer::connect().await;
    let mut sent = peer.forward(0, 1);
    let way = sent[0].token().expect("it is under way");
    let forward = |first, way: Option<&ConnectionToken>| {
        peer.proxy.try_forward(&events(1), &peer.sink, first, way)
    };
    sent.extend(forward(1, Some(&way)).expect("it is its connection"));
    let elsewhere = Peer::connect().await;
    let others = elsewhere.forward(0, 1);
    assert!(forward(2, others[0].token().as_ref()).is_none());
    sent.extend(forward(2, None).expect("it has a connection"));
    assert!(way.is_open());
    let Peer { stream, sink, .. } = peer;
    drop(stream);
    assert_eq!(sink.wait_for(3).await.len(), 3);
    assert!(!way.is_open());
    end_all(sent);
}

#[tokio::test]
async fn a_connection_that_breaks_leaves_in_doubt_what_was_not_answered() {
    let mut peer = Peer::connect().await;
    let sent = peer.forward(0, 3);
    let ids = peer.ids(3).await;
    peer.write(&[nothing(ids[0])]).await;
    assert_eq!(peer.sink.wait_for(1).await, all_nothing(0..1));
    let Peer { stream, sink, .. } = peer;
    drop(stream);
    let doubtful = [1, 2].map(|number| (number, Told::PerhapsDispatched));
    assert_eq!(sink.wait_for(2).await, doubtful);
    assert_eq!(sink.failed_count.load(Ordering::SeqCst), 1, "at once");
    end_all(sent);
}

#[tokio::test]
async fn a_peer_that_closes_has_surely_not_taken_what_it_did_not_answer() {
    let mut peer = Peer::connect().await;
    let sent = peer.forward(0, 3);
    let ids = peer.ids(3).await;
    peer.write(&[nothing(ids[0]), header(4, 14)]).await;
    let expected = [
        (0, Told::Nothing),
        (1, Told::NotDispatched),
        (2, Told::NotDispatched),
    ];
    assert_eq!(peer.sink.wait_for(3).await, expected);
    end_all(sent);
}

/// Notes that it was told, where others do so too.
struct InTurn {
    own: usize,
    turns: Arc<Mutex<Vec<usize>>>,
    told: Arc<Notify>,
}

impl ReplySink for InTurn {
    fn returned(&self, _numbers: Range<u64>) {}

    fn answered(&self, _numbers: Range<u64>, _answer: Result<Option<Outcome>, InvokeError>) {}

    fn failed(&self, failures: Vec<(Range<u64>, InvokeError)>) {
        assert_eq!(failures.len(), 2);
        self.turns.lock().unwrap().push(self.own);
        self.told.notify_one();
    }
}

#[tokio::test]
async fn those_whose_connection_breaks_are_told_in_the_order_in_which_they_sent() {
    let peer = Peer::connect().await;
    let (turns, told) = (Arc::default(), Arc::<Notify>::default());
    let sink = |own| {
        let (turns, told) = (Arc::clone(&turns), told.clone());
        Arc::new(InTurn { own, turns, told })
    };
    let sinks: Vec<_> = (0..10).map(sink).collect();
    let order: Vec<_> = [7, 2, 9, 0, 4, 1, 8, 3, 6, 5].into();
    let again = order.iter().rev();
    let forward = |own: &usize| {
        let sent = peer.proxy.try_forward(&events(1), &sinks[*own], 0, None);
        sent.expect("it has a connection with room")
    };
    let sent: Vec<_> = order.iter().chain(again).flat_map(forward).collect();
    drop(peer.stream);
    while turns.lock().unwrap().len() < sinks.len() {
        soon(told.notified()).await;
    }
    assert_eq!(*turns.lock().unwrap(), order);
    end_all(sent);
}

/// Notes of each answer whether its way is open then.
#[derive(Default)]
struct Looks {
    way: Mutex<Option<ConnectionToken>>,
    seen: Mutex<Vec<bool>>,
    more: Notify,
}

impl Looks {
    fn look(&self) {
        let is_open = self
            .way
            .lock()
            .unwrap()
            .as_ref()
            .map(ConnectionToken::is_open);
        self.seen
            .lock()
            .unwrap()
            .push(is_open.expect("it was sent"));
        self.more.notify_one();
    }
}

impl ReplySink for Looks {
    fn returned(&self, numbers: Range<u64>) {
        numbers.for_each(|_| self.look());
    }

    fn answered(&self, _numbers: Range<u64>, _answer: Result<Option<Outcome>, InvokeError>) {
        self.look();
    }

    fn failed(&self, failures: Vec<(Range<u64>, InvokeError)>) {
        failures.iter().for_each(|_| self.look());
    }
}

#[tokio::test]
async fn what_comes_with_the_end_of_a_connection_finds_its_way_closed() {
    let mut peer = Peer::connect().await;
    let looks = Arc::<Looks>::default();
    let sent = peer.proxy.try_forward(&events(2), &looks, 0, None);
    let sent: Vec<_> = sent.expect("it has a connection with room").collect();
    *looks.way.lock().unwrap() = sent[0].token();
    let ids = peer.ids(2).await;
    peer.write(&[nothing(ids[0]), header(4, 14)]).await;
    while looks.seen.lock().unwrap().len() < 2 {
        soon(looks.more.notified()).await;
    }
    assert_eq!(*looks.seen.lock().unwrap(), [false, false]);
    end_all(sent);
}

#[tokio::test]
async fn a_connection_that_closes_waits_for_answers_and_ends_with_the_last() {
    let mut peer = Peer::connect().await;
    let sent = peer.forward(0, 2);
    let ids = peer.ids(2).await;
    let communicator = peer._communicator.clone();
    let shutdown = tokio::spawn(async move { communicator.shutdown().await });
    peer.write(&[nothing(ids[0])]).await;
    assert_eq!(peer.sink.wait_for(1).await, all_nothing(0..1));
    peer.write(&[nothing(ids[1])]).await;
    assert_eq!(peer.sink.wait_for(1).await, all_nothing(1..2));
    let mut close = [0; 14];
    soon(peer.stream.read_exact(&mut close)).await.unwrap();
    assert_eq!(close[..], header(4, 14));
    let Peer { stream, .. } = peer;
    drop(stream);
    soon(shutdown).await.unwrap();
    end_all(sent);
}
