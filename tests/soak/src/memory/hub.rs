//! The memory of a hub: idle, with many topics, with many subscribers of one.

use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

use floe::hub::{HubClient, ServantSubscription};
use floe::{Adapter, Communicator, Proxy, TypedProxy};

use super::figure::Figure;
use crate::contract::feed::{ListenerDispatcher, ListenerProxy};
use crate::hub::hearing::Hearing;
use crate::hub::station::{Mode, hub_program, topic, wishes};
use crate::member::Member;
use crate::process;

/// Resident bytes of an idle hub. 8 MB were asked for. ADR 102 says of what the others are: clean pages of the program, of which
/// Linux maps many more than are touched, and not always as many.
pub(super) const IDLE_MAX: u64 = 11_500_000;
/// Bytes that an idle hub has written itself: its heap, its stack, and addresses that the loader has filled in. No other
/// process shares them, and the system cannot read them again from a file.
const IDLE_WRITTEN_MAX: u64 = 1_100_000;
/// [`IDLE_WRITTEN_MAX`] for a hub that was built without optimisation: it has more addresses to fill in.
const IDLE_WRITTEN_MAX_DEV: u64 = 3_700_000;
/// Bytes that the hub writes for its topics. Each knows who created it and which publications are under way, and counts what was
/// lost by seven reasons.
const TOPICS_MAX: u64 = 4_100_000;
/// Bytes that the hub writes for its subscribers.
const SUBSCRIBERS_MAX: u64 = 8_800_000;
/// Bytes that the hub writes for programs that subscribe as a stream does: each has a connection for its calls, and another
/// one for its events.
const STREAMS_MAX: u64 = 12_000_000;
/// [`IDLE_MAX`] for a hub that was built without optimisation: its code is several times as long.
pub(super) const IDLE_MAX_DEV: u64 = 38_000_000;

/// A hub that takes no more for so long is idle: what it still does after it is ready would be counted for the topics.
const CALM: Duration = Duration::from_secs(1);
/// It is idle by then at the latest; if not, the figure shows it.
const CALM_LIMIT: Duration = Duration::from_secs(20);

/// Bytes that the event carries which every subscriber gets.
const EVENT_LEN: usize = 100;
/// Events that each stream gets. A hub drops some of what a connection keeps only after a few.
const STREAMED: i64 = 20;
/// It may take this long on a busy machine.
const HEARD_LIMIT: Duration = Duration::from_secs(60);

/// Measures a `floe serve` with so many topics and subscribers.
pub(super) fn figures(topic_count: usize, subscriber_count: usize) -> Vec<Figure> {
    let program = hub_program();
    process::forget_pages(&program).expect("the program can be read");
    let mut serve = Command::new(program);
    serve.args(["serve", "--transient", "--listen", "tcp -h 127.0.0.1 -p 0"]);
    let log = std::env::temp_dir().join(format!("floe-memory-hub-{}.log", std::process::id()));
    let started = Member::start(serve, &log);
    let (hub, manager) = started.unwrap_or_else(|error| panic!("the hub: {error}"));
    let written = || process::written(hub.id()).expect("it runs, and the system has /proc");
    let idle_written = settled(written);
    let idle = process::resident(hub.id()).expect("it runs, and the system has /proc");
    let runtime = tokio::runtime::Runtime::new().expect("threads");
    let communicator = Communicator::new();
    runtime.block_on(make_topics(&communicator, &manager, topic_count));
    let with_topics = written();
    let subscribers = runtime.block_on(subscribe(&communicator, &manager, subscriber_count));
    let with_subscribers = settled(written);
    let streams = runtime.block_on(subscribe_streams(&communicator, &manager, subscriber_count));
    let with_streams = settled(written);
    drop((subscribers, streams));
    // It was of use only if the hub had not started.
    let _ = std::fs::remove_file(log);
    let (idle_max, idle_written_max) = match cfg!(debug_assertions) {
        true => (IDLE_MAX_DEV, IDLE_WRITTEN_MAX_DEV),
        false => (IDLE_MAX, IDLE_WRITTEN_MAX),
    };
    vec![
        Figure::bytes("idle hub (8 MB were asked for: ADR 102)", idle, idle_max),
        Figure::bytes(
            "idle hub, of which it has written itself",
            idle_written,
            idle_written_max,
        ),
        Figure::bytes(
            &format!("hub, what {topic_count} topics add"),
            with_topics.saturating_sub(idle_written),
            TOPICS_MAX,
        ),
        Figure::bytes(
            &format!("hub, what {subscriber_count} subscribers add that got an event"),
            with_subscribers.saturating_sub(with_topics),
            SUBSCRIBERS_MAX,
        ),
        Figure::bytes(
            &format!("hub, what {subscriber_count} streams add that got events"),
            with_streams.saturating_sub(with_subscribers),
            STREAMS_MAX,
        ),
    ]
}

/// Returns the memory once it stays the same.
fn settled(memory: impl Fn() -> u64) -> u64 {
    let limit = Instant::now() + CALM_LIMIT;
    let (mut since, mut last) = (Instant::now(), memory());
    while since.elapsed() < CALM && Instant::now() < limit {
        sleep(CALM / 20);
        let now = memory();
        if now != last {
            (since, last) = (Instant::now(), now);
        }
    }
    last
}

async fn make_topics(communicator: &Communicator, manager: &str, count: usize) {
    for number in 0..count {
        topic(communicator, manager, &format!("topic-{number}")).await;
    }
}

/// Subscribes objects, each at an endpoint of its own as if it were a program of its own, and publishes one event to
/// them all. Returns what receives them.
async fn subscribe(communicator: &Communicator, manager: &str, count: usize) -> Vec<Adapter> {
    let topic = topic(communicator, manager, "crowded").await;
    let hearing = Hearing::default();
    let mut adapters = Vec::new();
    for number in 0..count {
        let adapter = communicator.adapter("tcp -h 127.0.0.1 -p 0").await;
        let adapter = adapter.expect("a free port");
        let added = adapter.add(format!("subscriber-{number}"), hearing.servant());
        adapter.activate();
        let mode = Mode::ALL[number % 4];
        let (subscriber, qos) = wishes(&added.expect("the first"), mode, &[]);
        let subscribed = topic.subscribe_and_get_publisher(&qos, Some(&subscriber));
        subscribed.await.expect("a new subscriber");
        adapters.push(adapter);
    }
    let publisher = topic.get_publisher().await.expect("a topic");
    publish(&publisher, 1, &hearing, count).await;
    adapters
}

/// Subscribes as so many programs with streams do, and publishes events to them all. Returns what receives them.
async fn subscribe_streams(
    communicator: &Communicator,
    manager: &str,
    count: usize,
) -> Vec<(HubClient, ServantSubscription)> {
    let topic = topic(communicator, manager, "streamed").await;
    let hearing = Hearing::default();
    let mut streams = Vec::new();
    for _ in 0..count {
        let client = HubClient::connect(manager).await.expect("a hub");
        let topic = client.topic("streamed").await.expect("a topic");
        let dispatcher = ListenerDispatcher::new(hearing.clone());
        let stream = topic.subscribe_servant(dispatcher).start().await;
        streams.push((client, stream.expect("a new subscriber")));
    }
    let publisher = topic.get_publisher().await.expect("a topic");
    for number in 1..=STREAMED {
        publish(&publisher, number, &hearing, count).await;
    }
    streams
}

/// Publishes an event, and waits until so many subscribers have heard it and those before it.
async fn publish(publisher: &Proxy, number: i64, hearing: &Hearing, count: usize) {
    let publisher = ListenerProxy::from_proxy(publisher.clone());
    let published = publisher.heard(0, number, 0, &[7; EVENT_LEN]).await;
    published.expect("the hub takes it");
    let until = Instant::now() + HEARD_LIMIT;
    while hearing.count() < count as u64 * number.unsigned_abs() {
        assert!(
            Instant::now() < until,
            "subscribers have not heard the event"
        );
        tokio::time::sleep(CALM / 100).await;
    }
}
