//! A hub with several threads: the order of each publisher's events while a subscriber's connection breaks and
//! reconnects.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use floe::{Communicator, OperationMode, Proxy, TypedProxy};
use floe_hub::WAITING_FACET;
use floe_hub::contracts::floe::SubscriberInfo;
use tokio::io::{AsyncReadExt, AsyncWriteExt, copy};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::world::{Inbox, Subscribers, World, nothing, publisher, soon, subscribe};

const PUBLISHERS: usize = 4;
/// Connections that break, one after the other.
const BREAKS: usize = 12;
/// Unanswered events when a connection breaks.
const WINDOW: usize = 32;
/// Queued events at that time; publishers wait for more room.
const QUEUE: usize = 24;

/// The state of the connections of a relay.
#[derive(Clone, Copy, Default)]
struct State {
    /// The number of broken connections, in the order in which they were made.
    broken: usize,
    /// True if replies are held back.
    holds_answers: bool,
}

/// Forwards connections to a port of loopback.
struct Relay {
    port: u16,
    state: watch::Sender<State>,
}

impl Relay {
    async fn start(target: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("loopback");
        let port = listener.local_addr().expect("an address").port();
        let (state, states) = watch::channel(State::default());
        tokio::spawn(async move {
            for number in 0.. {
                let Ok((near, _)) = listener.accept().await else {
                    return;
                };
                let far = TcpStream::connect(("127.0.0.1", target)).await;
                let far = far.expect("the subscriber lives");
                tokio::spawn(forward(near, far, number, states.clone()));
            }
        });
        Self { port, state }
    }

    fn hold_answers(&self) {
        self.state.send_modify(|state| state.holds_answers = true);
    }

    /// Breaks the current connection; the next one answers.
    fn cut(&self) {
        self.state.send_modify(|state| {
            *state = State {
                broken: state.broken + 1,
                holds_answers: false,
            }
        });
    }
}

/// Forwards a connection until it is to break.
async fn forward(
    mut near: TcpStream,
    mut far: TcpStream,
    number: usize,
    mut states: watch::Receiver<State>,
) {
    let (mut from_hub, mut to_hub) = near.split();
    let (mut from_subscriber, mut to_subscriber) = far.split();
    let mut answers = states.clone();
    let forward_answers = async {
        let mut buffer = [0; 4096];
        while let Ok(len @ 1..) = from_subscriber.read(&mut buffer).await {
            let may_pass = |state: &State| !state.holds_answers;
            let is_over = answers.wait_for(may_pass).await.is_err();
            if is_over || to_hub.write_all(&buffer[..len]).await.is_err() {
                return;
            }
        }
    };
    tokio::select! {
        biased;
        _ = states.wait_for(|state| state.broken > number) => {}
        _ = copy(&mut from_hub, &mut to_subscriber) => {}
        () = forward_answers => {}
    }
}

/// Publishes events that may be sent again, each when there is room for it, until it is told to end. Returns how many.
fn publish_until(ends: &Arc<AtomicBool>, publisher: &Proxy, number: usize) -> JoinHandle<usize> {
    // A connection of its own, which another thread may read.
    let own: Result<Proxy, _> = Communicator::new().proxy(&publisher.to_string());
    let publisher = own.expect("a proxy").ice_facet(WAITING_FACET);
    let ends = ends.clone();
    tokio::spawn(async move {
        let mut count = 0;
        while !ends.load(Ordering::Relaxed) {
            let (operation, nothing) = (format!("{number}-{count}"), nothing());
            let sent = publisher.invoke(&operation, OperationMode::Idempotent, &nothing);
            soon(sent).await.expect("the hub takes it");
            count += 1;
        }
        count
    })
}

/// The events of each publisher, by connection, in the order in which the connections were made.
async fn heard(inbox: &mut Inbox) -> Vec<HashMap<usize, Vec<usize>>> {
    let mut connections: Vec<(String, HashMap<usize, Vec<usize>>)> = Vec::new();
    while inbox.has_more() {
        let received = inbox.next().await;
        let (publisher, number) = received.operation.split_once('-').expect("two numbers");
        let (publisher, number) = (publisher.parse().unwrap(), number.parse().unwrap());
        let known = connections.iter().position(|(it, _)| *it == received.peer);
        let at = known.unwrap_or_else(|| {
            connections.push((received.peer, HashMap::new()));
            connections.len() - 1
        });
        connections[at].1.entry(publisher).or_default().push(number);
    }
    connections.into_iter().map(|(_, heard)| heard).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn events_of_each_publisher_stay_in_order_while_connections_break() {
    let world = World::with(|settings| settings.discard_interval = Duration::ZERO).await;
    let subscribers = Subscribers::start().await;
    let port = subscribers.adapter.endpoints()[0].port().expect("tcp");
    let relay = Relay::start(port).await;
    let topic = world.create("t").await;
    let wishes = [
        ("floe.overflow", "block"),
        ("floe.queueEvents", &QUEUE.to_string()),
        ("floe.outstanding", &WINDOW.to_string()),
        ("retryCount", "-1"),
    ];
    let mut inboxes = Vec::new();
    // The others send over the same connection, and any of them may be the one that reconnects.
    for name in ["other-1", "other-2", "s"] {
        inboxes.push(subscribers.add(name).1);
        let text = format!("{name}:tcp -h 127.0.0.1 -p {}", relay.port);
        let subscriber: Proxy = world.client.proxy(&text).expect("a proxy");
        subscribe(&topic, &subscriber, &wishes).await;
    }
    let ends = Arc::<AtomicBool>::default();
    let publisher = publisher(&topic).await;
    let publishing = (0..PUBLISHERS).map(|number| publish_until(&ends, &publisher, number));
    let publishing: Vec<_> = publishing.collect();
    // The message that validates a connection must not be held back.
    let is_connected = |it: &SubscriberInfo| it.delivered > 0;
    world
        .info_when("t", |info| info.subscribers.iter().all(is_connected))
        .await;
    for _ in 0..BREAKS {
        relay.hold_answers();
        // In the end, each publisher waits for one of the subscribers, which has a full window and a queue more than
        // half full.
        let is_stuck =
            |it: &SubscriberInfo| it.outstanding == WINDOW as i64 && it.queued > (QUEUE / 2) as i64;
        let stuck = world
            .info_when("t", |info| info.subscribers.iter().any(is_stuck))
            .await;
        let delivered = stuck.subscribers.iter().map(|it| it.delivered).max();
        relay.cut();
        // All unanswered and queued events came, and more.
        let enough = delivered.map(|count| count + (2 * (WINDOW + QUEUE)) as i64);
        let goes_on = |it: &SubscriberInfo| Some(it.delivered) > enough;
        world
            .info_when("t", |info| info.subscribers.iter().all(goes_on))
            .await;
    }
    ends.store(true, Ordering::Relaxed);
    let mut published = Vec::new();
    for publishing in publishing {
        published.push(soon(publishing).await.expect("it ends"));
    }
    let all: usize = published.iter().sum();
    let info = world
        .info_when("t", |info| {
            let is_done = |it: &SubscriberInfo| it.delivered == all as i64;
            info.subscribers.iter().all(is_done)
        })
        .await;
    assert_eq!(info.published, all as i64);
    subscribers.stop().await;
    for inbox in &mut inboxes {
        let heard = heard(inbox).await;
        assert!(heard.len() > BREAKS, "{} connections", heard.len());
        for (publisher, count) in published.iter().enumerate() {
            check_order(heard.iter().filter_map(|it| it.get(&publisher)), *count);
        }
    }
}

/// On each connection, events come one after the other. Events that were unanswered when it broke may come again on the
/// next one, before later events, and no event is left out.
fn check_order<'a>(connections: impl Iterator<Item = &'a Vec<usize>>, count: usize) {
    let mut next = 0;
    for numbers in connections {
        assert!(
            numbers.is_sorted_by(|before, after| before < after),
            "{numbers:?}"
        );
        let again = numbers.partition_point(|number| *number < next);
        assert!(again <= WINDOW, "{again} events came again: {numbers:?}");
        let new = &numbers[again..];
        assert!(
            new.iter().copied().eq(next..next + new.len()),
            "{next} was to come: {numbers:?}"
        );
        next += new.len();
    }
    assert_eq!(next, count);
}
