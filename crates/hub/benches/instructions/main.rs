//! How many instructions a hub spends on an event that goes to ten subscribers, or on an event from each of ten
//! publishers that goes to one: figures that do not depend on what else the machine does, so that a regression of a few
//! per cent is seen. The cases of `stream` have the subscriber of the guide; `/program` counts that instead of the hub.
//!
//! `cargo bench -p floe-hub --bench instructions` runs each case in callgrind (Debian package `valgrind`) and compares
//! with `counts.txt` beside this file; `UPDATE=1` writes that file instead, as a new compiler asks for. The counted
//! process is a hub as `floe serve` runs it. It starts the publisher and the subscribers as a child, whose instructions
//! do not count. A counted program starts the hub and the publisher as a child in the same way.

#[path = "../../../wire/benches/instructions/counts.rs"]
mod counts;

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write, stdin};
use std::process::{Command, ExitCode, Stdio};
use std::sync::Arc;
use std::time::Duration;

use floe::contracts::ice_storm::{TopicManagerProxy, TopicProxy};
use floe::dispatch::{Request, dispatch_fn};
use floe::encoding::Encoder;
use floe::hub::{HubClient, TypedEvent};
use floe::{
    Communicator, EncodingVersion, OperationMode, Proxy, Settings, SystemException, TypedProxy,
};
use floe_hub::{Hub, HubSettings};
use tokio::runtime::Builder;
use tokio::sync::{Semaphore, mpsc, oneshot};
use tokio::task::JoinSet;

use counts::Repetitions;

const CASES: [&str; 7] = [
    "oneway-1-10",
    "twoway-1-10",
    "twoway-10-1",
    "batched100-1-10",
    "stream-10-1",
    "stream-batched-1-1",
    "stream-batched/program",
];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[1..] {
        ["hub", "stream-batched/program", rounds] => {
            run(read_stream(rounds.parse().expect("a number of rounds")));
        }
        ["hub", case, rounds] => run(serve(case, rounds)),
        ["publisher"] => run(serve_and_publish()),
        ["clients", case, manager, rounds] => {
            let rounds = rounds.parse().expect("a number of rounds");
            run(play(case, manager, rounds));
        }
        _ => {
            let repetitions = Repetitions {
                few: 50,
                many: 350,
                rounds: 3,
            };
            let arguments = |case: &str| vec!["hub".to_owned(), case.to_owned()];
            let cases = CASES.map(|case| (case.to_owned(), arguments(case)));
            return repetitions.count(cases.into());
        }
    }
    ExitCode::SUCCESS
}

/// Runs one side in a single thread, as `floe serve` does.
fn run(side: impl Future<Output = ()>) {
    let runtime = Builder::new_current_thread().enable_all().build();
    runtime.expect("a runtime").block_on(side);
}

/// Serves a hub until the child has ended, which plays a case this many times.
async fn serve(case: &str, rounds: &str) {
    let (_communicator, hub) = start_hub().await;
    let mut clients = Command::new(std::env::current_exe().expect("a running program has a path"));
    clients.args(["clients", case, &hub.topic_manager(), rounds]);
    let (sender, ended) = oneshot::channel();
    std::thread::spawn(move || sender.send(clients.status()));
    let status = ended.await.expect("the thread lives");
    assert!(
        status.is_ok_and(|status| status.success()),
        "the clients failed"
    );
}

async fn start_hub() -> (Communicator, Hub) {
    let mut settings = HubSettings::default();
    settings.listen = "tcp -h 127.0.0.1 -p 0".to_owned();
    let mut connections = Settings::default();
    connections.turn_time_max *= CALLGRIND_SLOWNESS;
    let communicator = Communicator::with_settings(connections);
    let hub = Hub::start(&communicator, settings).await;
    (communicator, hub.expect("a hub starts"))
}

/// The program of the guide: reads so many batches of events from a stream, one after the other.
async fn read_stream(rounds: usize) {
    let itself = std::env::current_exe().expect("a running program has a path");
    let mut publisher = Command::new(itself);
    publisher.arg("publisher").stdin(Stdio::piped());
    let mut publisher = publisher.stdout(Stdio::piped()).spawn().expect("a child");
    let mut manager = String::new();
    let mut output = BufReader::new(publisher.stdout.take().expect("it is piped"));
    output.read_line(&mut manager).expect("a proxy");
    let mut demand = publisher.stdin.take().expect("it is piped");
    let hub = HubClient::connect(manager.trim()).await.expect("a hub");
    let topic = hub.topic("tick").await.expect("a topic");
    let mut events = topic.subscribe::<Tick>().await.expect("a subscription");
    for _ in 0..rounds {
        demand.write_all(b"\n").expect("the publisher reads it");
        for _ in 0..STREAM_BATCH_LEN {
            let Tick(text) = events.next().await.expect("an event").expect("no loss");
            assert_eq!(text, "7654321");
        }
    }
    drop(demand);
    publisher.wait().expect("the publisher ends");
}

/// Serves a hub, and publishes a batch for each line of the input.
async fn serve_and_publish() {
    let (_hub_communicator, hub) = start_hub().await;
    println!("{}", hub.topic_manager());
    let communicator = Communicator::new();
    let manager = hub.topic_manager();
    let publisher = topic(&communicator, &manager).await.get_publisher().await;
    let publisher: Proxy = publisher.expect("a publisher");
    let publisher = publisher.ice_batch_oneway();
    let (sender, mut demand) = mpsc::unbounded_channel();
    std::thread::spawn(move || stdin().lines().try_for_each(|_| sender.send(())));
    while demand.recv().await.is_some() {
        publish(publisher.clone(), STREAM_BATCH_LEN).await;
    }
}

async fn topic(communicator: &Communicator, manager: &str) -> TopicProxy {
    let manager: TopicManagerProxy = communicator.proxy(manager).expect("a proxy");
    match manager.retrieve("tick").await {
        Ok(topic) => topic,
        Err(_) => manager.create("tick").await.expect("a topic"),
    }
}

/// An event of these cases.
struct Tick(String);

impl TypedEvent for Tick {
    const TYPE_ID: &'static str = "::Test::Ticker";
    const TYPE_IDS: &'static [&'static str] = &["::Ice::Object", "::Test::Ticker"];

    fn decode(request: &Request) -> Option<Result<Self, SystemException>> {
        let decode = || request.decode(OperationMode::Normal, |decoder| Ok(Self(decoder.get()?)));
        (request.operation_bytes() == b"tick").then(decode)
    }
}

/// Events of a batch that goes to a stream, as in the lab.
const STREAM_BATCH_LEN: usize = 1_000;

/// Publishes an event of each publisher, or a batch of them, and waits until all subscribers have them, before it
/// publishes the next. So the hub does not send a number of events together that depends on its speed.
async fn play(case: &str, manager: &str, rounds: usize) {
    let (publisher_count, subscriber_count, batch_len) = match case {
        "oneway-1-10" | "twoway-1-10" => (1, 10, 1),
        "twoway-10-1" | "stream-10-1" => (10, 1, 1),
        "batched100-1-10" => (1, 10, 100),
        "stream-batched-1-1" => (1, 1, STREAM_BATCH_LEN),
        other => panic!("expected a case of this benchmark, got {other}"),
    };
    let is_twoway = case.starts_with("twoway");
    let communicator = Communicator::new();
    let topic = topic(&communicator, manager).await;
    let publisher: Proxy = topic.get_publisher().await.expect("a publisher");
    let publisher = match case {
        "oneway-1-10" => publisher.ice_oneway(),
        "batched100-1-10" | "stream-batched-1-1" => publisher.ice_batch_oneway(),
        _ => publisher,
    };
    // Each has a connection of its own.
    let publishers: Vec<Proxy> = (0..publisher_count)
        .map(|number: usize| publisher.ice_connection_id(&number.to_string()))
        .collect();
    let received = Arc::new(Semaphore::new(0));
    let qos = BTreeMap::new();
    for subscriber in 0..subscriber_count {
        let noted = received.clone();
        if case.starts_with("stream") {
            let hub = HubClient::connect(manager).await.expect("a hub");
            let topic = hub.topic("tick").await.expect("a topic");
            let mut events = topic.subscribe::<Tick>().await.expect("a subscription");
            tokio::spawn(async move {
                while let Some(Ok(_)) = events.next().await {
                    noted.add_permits(1);
                }
            });
            continue;
        }
        let servant = dispatch_fn(move |request| {
            noted.add_permits(1);
            request.returned_nothing()
        });
        // Each has a connection of its own.
        let adapter = communicator.adapter("tcp -h 127.0.0.1 -p 0").await;
        let adapter = adapter.expect("an adapter");
        let identity = format!("subscriber{subscriber}");
        let proxy = adapter.add(&*identity, servant).expect("a proxy");
        adapter.activate();
        let proxy = match is_twoway {
            true => proxy,
            false => proxy.ice_oneway(),
        };
        let subscribed = topic.subscribe_and_get_publisher(&qos, Some(&proxy));
        subscribed.await.expect("a subscription");
    }
    for _ in 0..rounds {
        let publications = publishers.iter().map(|it| publish(it.clone(), batch_len));
        publications.collect::<JoinSet<()>>().join_all().await;
        let count = subscriber_count * publisher_count * batch_len;
        let count = u32::try_from(count).expect("a small number");
        let all = received.acquire_many(count).await;
        all.expect("it is never closed").forget();
        // The hub takes the answers.
        tokio::time::sleep(PAUSE).await;
    }
}

/// Publishes this many events.
async fn publish(publisher: Proxy, count: usize) {
    let parameters = parameters();
    for _ in 0..count {
        let published = publisher.invoke("tick", OperationMode::Normal, &parameters);
        published.await.expect("the hub takes it");
    }
    publisher.flush_batch().await.expect("the hub takes it");
}

/// A program in callgrind takes about this many times as long. Connections have their turns by the clock, so they would
/// have many more of them for the same work.
const CALLGRIND_SLOWNESS: u32 = 50;

/// Longer than callgrind takes for an event.
const PAUSE: Duration = Duration::from_millis(5);

/// The parameters of an event: a short text.
fn parameters() -> Vec<u8> {
    let mut bytes = Vec::new();
    let encoding = EncodingVersion::V1_1;
    let mut encoder = Encoder::new(&mut bytes, encoding);
    encoder.encapsulation(encoding, |encoder| encoder.string("7654321"));
    encoder.finish().expect("a short event");
    bytes
}
