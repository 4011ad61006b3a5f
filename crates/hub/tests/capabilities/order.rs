//! The order of each publisher's events, for each way in which a program can receive them: one suite, with the face as its
//! parameter.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use floe::blocking::{self, Wait};
use floe::codegen::{Answer, Answered};
use floe::dispatch::{DispatchSlot, Request, Requests};
use floe::encoding::Encoder;
use floe::hub::{Delivery, HubClient, Qos, Retries, Subscription, Topic, TypedEvent};
use floe::{
    Dispatcher, EncodingVersion, InvokeError, OperationMode, Proxy, SystemException, TypedProxy,
};
use floe_hub::contracts::floe::DurableTopicsProxy;
use floe_hub::{DURABLE_TOPICS, DurableSettings, StoreSettings};
use proptest::prelude::*;
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::broadcast;

use crate::world::{Directory, World, soon};

/// An event: who published it, and how many it had published before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Numbered {
    publisher: i32,
    number: i32,
}

impl Numbered {
    fn parameters(self) -> Vec<u8> {
        let mut parameters = Vec::new();
        let mut encoder = Encoder::new(&mut parameters, EncodingVersion::V1_1);
        encoder.encapsulation(EncodingVersion::V1_1, |encoder| {
            encoder.put(&self.publisher);
            encoder.put(&self.number);
        });
        encoder.finish().expect("two numbers");
        parameters
    }
}

impl TypedEvent for Numbered {
    const TYPE_ID: &'static str = "::Test::Numbers";
    const TYPE_IDS: &'static [&'static str] = &["::Ice::Object", "::Test::Numbers"];

    fn decode(request: &Request) -> Option<Result<Self, SystemException>> {
        (request.operation_bytes() == b"numbered").then(|| {
            request.decode(OperationMode::Normal, |decoder| {
                Ok(Self {
                    publisher: decoder.get()?,
                    number: decoder.get()?,
                })
            })
        })
    }
}

/// How a program receives events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Face {
    /// `next()`.
    Stream,
    /// `next_batch()`.
    Batches,
    /// `blocking_iter()`, in a thread of its own.
    Blocking,
    /// `subscribe_servant`.
    Servant,
    /// The program asks the hub for events of a durable topic.
    Pull,
}

/// The events of one round, and what happens meanwhile.
#[derive(Debug, Clone)]
struct Round {
    face: Face,
    delivery: Delivery,
    is_durable: bool,
    capacity: usize,
    /// How many events are published together, as a batch without replies; each by itself and awaited if it is 1.
    together: usize,
    publishers: i32,
    /// How often the consumer pauses: after so many events.
    pause_after: usize,
    /// How often all connections between subscribers and hub break.
    cuts: usize,
}

/// Events of each publisher.
const EVENTS: i32 = 400;

impl Round {
    fn qos(&self) -> Qos {
        let qos = Qos::new()
            .delivery(self.delivery)
            .retries(Retries::Unlimited)
            .queue_events(100_000);
        match self.is_durable {
            true => qos.durable("d").begin_at("beginning"),
            false => qos,
        }
    }
}

fn rounds() -> impl Strategy<Value = Round> {
    let faces = prop_oneof![
        4 => Just(Face::Stream),
        2 => Just(Face::Batches),
        1 => Just(Face::Blocking),
        1 => Just(Face::Servant),
        1 => Just(Face::Pull),
    ];
    let deliveries = prop_oneof![
        Just(Delivery::Twoway),
        Just(Delivery::Ordered),
        Just(Delivery::Oneway),
        Just(Delivery::Batch),
    ];
    let capacities = prop_oneof![Just(1), Just(2), Just(7), Just(256)];
    let together = prop_oneof![Just(1), Just(3), Just(100)];
    let pauses = prop_oneof![Just(1), Just(10), Just(100), Just(usize::MAX)];
    let others = (any::<bool>(), 1..3_i32, pauses, 0..3_usize);
    (faces, deliveries, capacities, together, others).prop_map(
        |(face, delivery, capacity, together, (is_durable, publishers, pause_after, cuts))| {
            let is_durable = is_durable && matches!(delivery, Delivery::Twoway | Delivery::Ordered);
            Round {
                face,
                delivery: match face {
                    Face::Pull => Delivery::Twoway,
                    _ => delivery,
                },
                is_durable: is_durable || face == Face::Pull,
                capacity,
                together,
                publishers,
                pause_after,
                cuts,
            }
        },
    )
}

/// A hub that its clients reach through a relay, which can break all connections. Publishers reach it directly.
struct BreakableHub {
    world: World,
    relayed: String,
    direct: String,
    breaks: broadcast::Sender<()>,
    _directory: Directory,
}

impl BreakableHub {
    async fn start() -> Self {
        let directory = Directory::new();
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("loopback");
        let port = listener.local_addr().expect("an address").port();
        let relayed = format!("tcp -h 127.0.0.1 -p {port}");
        let published = relayed.clone();
        let target = unused_port();
        let world = World::with(|settings| {
            settings.listen = format!("tcp -h 127.0.0.1 -p {target}");
            settings.store = StoreSettings::Disk(directory.0.clone());
            settings.published_endpoints = Some(published);
            settings.discard_interval = Duration::ZERO;
            settings.flush_interval = Duration::from_millis(5);
            let durable = DurableSettings::default();
            settings
                .durable_topics
                .insert("durable".to_owned(), durable);
        })
        .await;
        let (breaks, _) = broadcast::channel(1);
        tokio::spawn(relay(listener, target, breaks.clone()));
        Self {
            world,
            relayed,
            direct: format!("tcp -h 127.0.0.1 -p {target}"),
            breaks,
            _directory: directory,
        }
    }

    fn topic(round: &Round) -> &'static str {
        match round.is_durable {
            true => "durable",
            false => "live",
        }
    }
}

/// A port that was free a moment ago.
fn unused_port() -> u16 {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("loopback");
    listener.local_addr().expect("an address").port()
}

async fn relay(listener: TcpListener, target: u16, breaks: broadcast::Sender<()>) {
    while let Ok((mut near, _)) = listener.accept().await {
        let mut is_over = breaks.subscribe();
        tokio::spawn(async move {
            let mut far = TcpStream::connect(("127.0.0.1", target)).await?;
            tokio::select! {
                copied = copy_bidirectional(&mut near, &mut far) => { copied?; }
                _ = is_over.recv() => {}
            }
            std::io::Result::Ok(())
        });
    }
}

/// A consumer: the events that it got, and how it behaves.
#[derive(Clone)]
struct Consumer {
    got: Arc<Mutex<Vec<Numbered>>>,
    pause_after: usize,
}

impl Consumer {
    /// Takes an event. Returns true if the consumer pauses after it.
    fn take(&self, event: Numbered) -> bool {
        let mut got = self.got.lock().expect("no panic");
        got.push(event);
        got.len().is_multiple_of(self.pause_after)
    }

    async fn take_and_pause(&self, event: Numbered) {
        if self.take(event) {
            tokio::time::sleep(PAUSE).await;
        }
    }

    fn count(&self) -> usize {
        self.got.lock().expect("no panic").len()
    }
}

const PAUSE: Duration = Duration::from_micros(300);

impl Answer for Consumer {
    async fn answer(&self, request: Request) -> Answered {
        match Numbered::decode(&request) {
            Some(event) => {
                if self.take(event?) {
                    std::thread::sleep(PAUSE);
                }
                Ok(request.returned_nothing()?)
            }
            None => floe::codegen::builtin(request, Numbered::TYPE_ID, Numbered::TYPE_IDS),
        }
    }
}

impl Dispatcher for Consumer {
    fn dispatch(self: Arc<Self>, requests: Requests, slot: &mut DispatchSlot) {
        floe::codegen::dispatch(self, requests, slot);
    }
}

/// Plays a round, and returns what its consumer got until nothing more came.
async fn play(round: &Round) -> Vec<Numbered> {
    let hub = BreakableHub::start().await;
    let consumer = Consumer {
        got: Arc::default(),
        pause_after: round.pause_after,
    };
    let client = soon(HubClient::connect(&hub.relayed)).await.expect("a hub");
    let topic = soon(client.topic(BreakableHub::topic(round)))
        .await
        .expect("a topic");
    let consuming = consume(&hub, &topic, round, consumer.clone()).await;
    let publishing = (0..round.publishers).map(|publisher| {
        // Past the relay: what publishers lose is not the question.
        let text = format!("IceStorm/{}.publish:{}", topic.name(), hub.direct);
        let proxy: Proxy = hub.world.client.proxy(&text).expect("a proxy");
        tokio::spawn(publish(proxy, publisher, round.together))
    });
    let publishing: Vec<_> = publishing.collect();
    for _ in 0..round.cuts {
        let before = consumer.count();
        let start = Instant::now();
        // A break is worth more in the middle of the events.
        while consumer.count() < before + 50 && start.elapsed() < Duration::from_millis(200) {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        let _ = hub.breaks.send(());
    }
    for publishing in publishing {
        soon(publishing).await.expect("no panic");
    }
    wait_for_all(round, &consumer).await;
    consuming.abort();
    let got = consumer.got.lock().expect("no panic").clone();
    soon(hub.world.shut_down()).await;
    got
}

async fn publish(publisher: Proxy, number_of: i32, together: usize) {
    let batch = publisher.ice_batch_oneway();
    for number in 0..EVENTS {
        let event = Numbered {
            publisher: number_of,
            number,
        };
        let parameters = event.parameters();
        let proxy = if together == 1 { &publisher } else { &batch };
        let sent = proxy.invoke("numbered", OperationMode::Normal, &parameters);
        soon(sent).await.expect("the hub takes it");
        if together > 1 && (number as usize + 1).is_multiple_of(together) {
            soon(batch.ice_flush_batch())
                .await
                .expect("the hub takes them");
        }
    }
    soon(batch.ice_flush_batch())
        .await
        .expect("the hub takes them");
}

/// Waits until all events have come, or, if connections broke, until no more come.
async fn wait_for_all(round: &Round, consumer: &Consumer) {
    let all = (EVENTS * round.publishers) as usize;
    let (mut count, mut since) = (0, Instant::now());
    let silence = match round.cuts {
        0 => Duration::from_secs(10),
        // Longer than it takes to subscribe again.
        _ => Duration::from_millis(400),
    };
    while consumer.count() < all || round.cuts > 0 {
        if consumer.count() != count {
            (count, since) = (consumer.count(), Instant::now());
        }
        if since.elapsed() > silence {
            return;
        }
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

/// Ends when it is dropped or aborted.
struct Consuming(
    Vec<tokio::task::JoinHandle<()>>,
    Option<Box<dyn FnOnce() + Send>>,
);

impl Consuming {
    fn abort(self) {
        self.0.iter().for_each(tokio::task::JoinHandle::abort);
        if let Some(end) = self.1 {
            end();
        }
    }
}

async fn consume(
    hub: &BreakableHub,
    topic: &Topic,
    round: &Round,
    consumer: Consumer,
) -> Consuming {
    let (qos, capacity) = (round.qos(), round.capacity);
    let subscribe = || {
        let events = topic.subscribe::<Numbered>().qos(qos.clone());
        events.capacity(capacity).check_interval(OFTEN)
    };
    match round.face {
        Face::Stream => {
            let mut events: Subscription<Numbered> = soon(subscribe().start()).await.unwrap();
            Consuming(
                vec![tokio::spawn(async move {
                    while let Some(event) = events.next().await {
                        if let Ok(event) = event {
                            consumer.take_and_pause(event).await;
                        }
                    }
                })],
                None,
            )
        }
        Face::Batches => {
            let mut events: Subscription<Numbered> = soon(subscribe().start()).await.unwrap();
            Consuming(
                vec![tokio::spawn(async move {
                    while let Some(batch) = events.next_batch().await {
                        for event in batch.into_iter().flatten() {
                            consumer.take_and_pause(event).await;
                        }
                    }
                })],
                None,
            )
        }
        Face::Servant => {
            let servant = topic.subscribe_servant(consumer).qos(qos);
            let subscription = servant.check_interval(OFTEN).start();
            let mut subscription = soon(subscription).await.unwrap();
            Consuming(
                vec![tokio::spawn(async move {
                    while subscription.next_interruption().await.is_some() {}
                })],
                None,
            )
        }
        Face::Blocking => {
            let (endpoints, name) = (hub.relayed.clone(), topic.name().to_owned());
            let communicator = blocking::Communicator::new();
            let own = communicator.clone();
            let (ready, is_ready) = tokio::sync::oneshot::channel();
            std::thread::spawn(move || {
                let topic = own.hub(&endpoints).unwrap().topic(&name).wait().unwrap();
                let events = topic.subscribe::<Numbered>().qos(qos).capacity(capacity);
                let mut events = events.check_interval(OFTEN).start().wait().unwrap();
                let _ = ready.send(());
                for event in events.blocking_iter().flatten() {
                    if consumer.take(event) {
                        std::thread::sleep(PAUSE);
                    }
                }
            });
            soon(is_ready).await.unwrap();
            Consuming(Vec::new(), Some(Box::new(move || communicator.shutdown())))
        }
        Face::Pull => {
            let topics = hub
                .world
                .client
                .proxy(&format!("{DURABLE_TOPICS}:{}", hub.direct));
            let topics: DurableTopicsProxy = topics.expect("a proxy");
            let name = topic.name().to_owned();
            let wishes = qos.entries().clone();
            soon(topics.open_pull(&name, &wishes)).await.unwrap();
            Consuming(
                vec![tokio::spawn(async move {
                    if let Err(error) = pull(&topics, &name, &consumer).await {
                        panic!("{error}");
                    }
                })],
                None,
            )
        }
    }
}

const OFTEN: Duration = Duration::from_millis(50);

async fn pull(
    topics: &DurableTopicsProxy,
    name: &str,
    consumer: &Consumer,
) -> Result<(), InvokeError> {
    loop {
        let Ok(events) = topics.pull(name, "d", 64, 1_000).await else {
            return Ok(());
        };
        let Some(last) = events.last().map(|event| event.number) else {
            continue;
        };
        for event in events {
            let mut decoder = floe::encoding::Encapsulation::parse(&event.parameters)
                .and_then(|encapsulation| encapsulation.decoder())
                .expect("as it was published");
            let event = Numbered {
                publisher: decoder.get().expect("a number"),
                number: decoder.get().expect("a number"),
            };
            consumer.take_and_pause(event).await;
        }
        if topics.acknowledge_to(name, "d", last).await.is_err() {
            return Ok(());
        }
    }
}

/// Checks the events of each publisher: see `docs/guides/events.md`.
fn check(round: &Round, got: &[Numbered]) -> Result<(), String> {
    let mut by_publisher = BTreeMap::<i32, Vec<i32>>::new();
    for event in got {
        by_publisher
            .entry(event.publisher)
            .or_default()
            .push(event.number);
    }
    for (publisher, numbers) in by_publisher {
        // What a broken connection makes come again begins a new run, which goes on from something that came before.
        let is_again =
            |before: i32, next: i32| round.is_durable && round.cuts > 0 && next <= before;
        for pair in numbers.windows(2) {
            let [before, next] = [pair[0], pair[1]];
            if next <= before && !is_again(before, next) {
                return Err(format!(
                    "{next} of publisher {publisher} came after {before}"
                ));
            }
            if next > before + 1 && (round.cuts == 0 || round.is_durable) {
                return Err(format!(
                    "{next} of publisher {publisher} came directly after {before}"
                ));
            }
        }
        let again = numbers.windows(2).filter(|pair| pair[1] <= pair[0]).count();
        if again > round.cuts {
            return Err(format!(
                "events of publisher {publisher} came again {again} times"
            ));
        }
        if (round.cuts == 0 || round.is_durable) && numbers.last() != Some(&(EVENTS - 1)) {
            return Err(format!(
                "the last of publisher {publisher} is {:?}",
                numbers.last()
            ));
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: std::env::var("FLOE_ORDER_ROUNDS").map_or(16, |rounds| rounds.parse().unwrap()),
        max_shrink_iters: 20,
        ..ProptestConfig::default()
    })]

    #[test]
    fn each_publishers_events_keep_their_order_for_every_face(
        round in rounds(),
        workers in prop_oneof![Just(0_usize), Just(2)],
    ) {
        let runtime = match workers {
            0 => tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap(),
            workers => tokio::runtime::Builder::new_multi_thread()
                .worker_threads(workers)
                .enable_all()
                .build()
                .unwrap(),
        };
        let got = runtime.block_on(play(&round));
        runtime.shutdown_background();
        prop_assert_eq!(check(&round, &got), Ok(()), "{} events", got.len());
    }
}

#[tokio::test]
async fn a_batch_of_a_durable_stream_is_acknowledged_as_a_whole_when_the_program_asks_for_more() {
    let hub = BreakableHub::start().await;
    let client = soon(HubClient::connect(&hub.direct)).await.unwrap();
    let topic = soon(client.topic("durable")).await.unwrap();
    let qos = Qos::new().durable("d").begin_at("beginning");
    let publisher: Proxy = soon(topic.publisher()).await.unwrap();
    publish(publisher, 0, 1).await;
    let mut events = soon(topic.subscribe::<Numbered>().qos(qos).start())
        .await
        .unwrap();
    let topics = hub
        .world
        .client
        .proxy(&format!("{DURABLE_TOPICS}:{}", hub.direct));
    let topics: DurableTopicsProxy = topics.unwrap();
    let position = async || {
        soon(topics.contents("durable"))
            .await
            .unwrap()
            .subscriptions[0]
            .position
    };
    let first = soon(events.next_batch()).await.unwrap();
    assert!(!first.is_empty());
    // Longer than replies take that leave without a reason to wait.
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert_eq!(
        position().await,
        1,
        "the program has {} events",
        first.len()
    );
    events.acknowledge();
    let start = Instant::now();
    while position().await <= first.len() as i64 {
        assert!(start.elapsed() < Duration::from_secs(10));
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    assert_eq!(position().await, first.len() as i64 + 1);
}
