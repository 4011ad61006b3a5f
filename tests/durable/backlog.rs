//! A long log: it is opened without a look at most of its bytes after the hub was killed, and a subscriber that is far behind gets
//! all events while live subscribers get theirs.
//!
//! `FLOE_BACKLOG_EVENTS=10000000 cargo test --release -p floe-tests --test durable -- backlog:: --nocapture` does it with a log of more
//! than 10 GB, which must open within two seconds, and prints what the subscriber costs the live ones: it is a process of its own, which
//! is stopped in every other round. Without it, the test counts bytes and no times. A second test looks at the memory of the hub while
//! a subscriber that is stopped falls behind.

use std::fs;
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use floe::contracts::ice_storm::{QoS, TopicManagerProxy};
use floe::dispatch::{DispatchSlot, Requests};
use floe::{Adapter, Communicator, Context, Dispatcher, OperationMode, Proxy, TypedProxy};
use floe_hub::DURABLE_TOPICS;
use floe_hub::contracts::floe::DurableTopicsProxy;
use floe_tests::hub::{Data, serve_configured};
use floe_tests::peer::Peer;
use floe_tests::workspace;
use tokio::runtime::Runtime;
use tokio::sync::mpsc;

/// Events in a run that was not told otherwise: 131 MB.
const EVENTS: u64 = 120_000;
/// How far the subscriber is behind in such a run.
const BEHIND: u64 = 80 * BURST;
/// The bytes of the parameters of an event.
const LEN: usize = 1024;
/// How far a stopped subscriber is behind when the memory of the hub is looked at first: 6 MB.
const FEW: u64 = 6000;
/// How much more the hub may have when the subscriber is ten times as far behind, which is 55 MB more.
const GROWTH_MAX: u64 = 24 << 20;
/// How many are published at a time.
const BURST: u64 = 500;
const PATIENCE: Duration = Duration::from_secs(60);
/// After so long, what was under way to a process has come, and what a process begins has begun.
const SETTLED: Duration = Duration::from_millis(100);

/// The variable with the role of another process of this program. A test that finds it set is such a process.
const ROLE: &str = "FLOE_BACKLOG_CHILD";

/// Starts a hub with the durable topic `t`. With few events, its segments are short.
fn serve(data: &Data, is_short: bool) -> (Peer, String) {
    let retention = match is_short {
        true => "[topic.t.retention]\nbytes = \"140 MiB\"\n",
        false => "",
    };
    let config = format!("[topic.t]\ndurable = true\n{retention}");
    let floe = Command::new(workspace::program("floe"));
    serve_configured(floe, data, "tcp -h 127.0.0.1 -p 0", &config)
}

/// Counts the events that it gets, and adds up their numbers.
#[derive(Default)]
struct Counter {
    count: AtomicU64,
    sum: AtomicU64,
}

struct Counting(Arc<Counter>);

impl Dispatcher for Counting {
    fn dispatch(self: Arc<Self>, requests: Requests, slot: &mut DispatchSlot) {
        requests.each(slot, move |request| {
            if let Some(number) = number(request.operation()) {
                self.0.sum.fetch_add(number, Ordering::Relaxed);
                self.0.count.fetch_add(1, Ordering::Release);
            }
            std::future::ready(request.returned_nothing())
        });
    }
}

/// The subscriber that is far behind: subscribes from a sequence on, and tells how many events have come, and the sum of their numbers. As
/// a test it does nothing.
#[test]
fn child() {
    let Ok(role) = std::env::var(ROLE) else {
        return;
    };
    let (from, manager) = role.split_once(' ').expect("`FROM MANAGER`");
    let runtime = Runtime::new().expect("a runtime");
    runtime.block_on(async {
        let own = Communicator::new();
        let adapter = adapter(&own).await;
        let counter = Arc::new(Counter::default());
        let counting = Counting(counter.clone());
        let behind = adapter.add("behind", counting).expect("a new name");
        let wishes = [("floe.durable", "d"), ("floe.from", from)];
        subscribe(&own, manager, &behind, &wishes).await;
        println!("\nready");
        loop {
            let count = counter.count.load(Ordering::Acquire);
            println!("{count} {}", counter.sum.load(Ordering::Acquire));
            tokio::time::sleep(SETTLED).await;
        }
    });
}

/// Starts it.
fn start_behind(manager: &str, from: &str) -> Peer {
    let program = std::env::current_exe().expect("a running test has a path");
    let mut command = Command::new(program);
    command.args(["--exact", "backlog::child", "--nocapture"]);
    command.env(ROLE, format!("{from} {manager}"));
    let mut behind = Peer::start("the subscriber that is behind", &mut command);
    behind.ready();
    behind
}

/// Passes on when each event came, and its number.
struct Live(Mutex<mpsc::UnboundedSender<(u64, Instant)>>);

impl Dispatcher for Live {
    fn dispatch(self: Arc<Self>, requests: Requests, slot: &mut DispatchSlot) {
        requests.each(slot, move |request| {
            if let Some(number) = number(request.operation()) {
                let came = self.0.lock().expect("no panic");
                let _ = came.send((number, Instant::now()));
            }
            std::future::ready(request.returned_nothing())
        });
    }
}

/// Answers no event.
struct Stopped;

impl Dispatcher for Stopped {
    fn dispatch(self: Arc<Self>, requests: Requests, slot: &mut DispatchSlot) {
        requests.each(slot, |_| std::future::pending());
    }
}

fn number(operation: &str) -> Option<u64> {
    operation.strip_prefix('e')?.parse().ok()
}

/// An encapsulation of this many bytes.
fn parameters() -> Vec<u8> {
    let mut bytes = (LEN as u32).to_le_bytes().to_vec();
    bytes.extend([1, 1]);
    bytes.resize(LEN, 7);
    bytes
}

async fn publish_all(publisher: &Proxy, count: u64) {
    let context: Context = [("floe.acknowledge".to_owned(), "accepted".to_owned())].into();
    let (fast, parameters) = (publisher.ice_context(context), Arc::new(parameters()));
    for start in (1..=count).step_by(BURST as usize) {
        let burst = (start..=count).take(BURST as usize).map(|number| {
            let (fast, parameters) = (fast.clone(), parameters.clone());
            tokio::spawn(async move {
                let operation = format!("e{number}");
                let sent = fast.invoke(&operation, OperationMode::Normal, &parameters);
                sent.await.expect("the hub takes it");
            })
        });
        for sent in burst.collect::<Vec<_>>() {
            sent.await.expect("no task panics");
        }
    }
}

/// How long each of these events takes to the live subscriber.
async fn latencies(
    publisher: &Proxy,
    numbers: std::ops::Range<u64>,
    live: &mut mpsc::UnboundedReceiver<(u64, Instant)>,
) -> Vec<Duration> {
    let mut latencies = Vec::new();
    for number in numbers {
        let operation = format!("e{number}");
        let sent = Instant::now();
        let published = publisher.invoke(&operation, OperationMode::Normal, &[6, 0, 0, 0, 1, 1]);
        let (published, came) =
            tokio::join!(published, tokio::time::timeout(PATIENCE, live.recv()));
        published.expect("the hub takes it");
        let (came, at) = came.expect("it comes in time").expect("the servant lives");
        assert_eq!(came, number);
        latencies.push(at.saturating_duration_since(sent));
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    latencies.sort_unstable();
    latencies
}

async fn subscribe(
    communicator: &Communicator,
    manager: &str,
    proxy: &Proxy,
    qos: &[(&str, &str)],
) {
    let wishes: QoS = qos
        .iter()
        .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
        .collect();
    let manager = TopicManagerProxy::from_proxy(communicator.proxy(manager).expect("a proxy"));
    let topic = manager.retrieve("t").await.expect("the hub answers");
    let subscribed = topic.subscribe_and_get_publisher(&wishes, Some(proxy));
    subscribed.await.expect("a subscription");
}

async fn adapter(communicator: &Communicator) -> Adapter {
    let adapter = communicator.adapter("tcp -h 127.0.0.1 -p 0").await;
    let adapter = adapter.expect("loopback");
    adapter.activate();
    adapter
}

/// The bytes that a process has read, from files and connections. `None` where the system does not count them.
fn read_len(hub: &Peer) -> Option<u64> {
    let counts = fs::read_to_string(format!("/proc/{}/io", hub.id())).ok()?;
    let line = counts
        .lines()
        .find_map(|line| line.strip_prefix("rchar: "))?;
    line.parse().ok()
}

/// The bytes that a process has of its own. `None` where the system does not count them.
fn own_memory(hub: &Peer) -> Option<u64> {
    let counts = fs::read_to_string(format!("/proc/{}/smaps_rollup", hub.id())).ok()?;
    let line = counts
        .lines()
        .find_map(|line| line.strip_prefix("Anonymous:"))?;
    let kibibytes: u64 = line.trim().strip_suffix(" kB")?.parse().ok()?;
    Some(kibibytes << 10)
}

#[tokio::test]
async fn a_subscriber_that_is_stopped_costs_the_hub_no_memory_however_far_it_falls_behind() {
    let data = Data::new("durable-memory");
    let own = Communicator::new();
    let (hub, manager) = serve(&data, false);
    let publisher = publisher(&own, &manager).await;
    let adapter = adapter(&own).await;
    let stopped = adapter.add("stopped", Stopped).expect("a new name");
    let wishes = [("floe.durable", "d"), ("floe.from", "beginning")];
    subscribe(&own, &manager, &stopped, &wishes).await;
    publish_all(&publisher, FEW).await;
    let few = own_memory(&hub);
    publish_all(&publisher, 9 * FEW).await;
    let many = own_memory(&hub);
    let contents = topics(&own, &manager).contents("t").await;
    let behind = contents.expect("the hub answers").subscriptions[0].behind;
    assert!(behind as u64 > 9 * FEW, "it is {behind} events behind");
    println!("memory of the hub: {few:?} bytes, and {many:?} later");
    if let Some((few, many)) = few.zip(many) {
        assert!(many < few + GROWTH_MAX, "{few} bytes, and {many} later");
    }
    own.shutdown().await;
}

#[test]
fn a_long_log_opens_fast_and_a_subscriber_that_is_far_behind_gets_all_while_others_get_theirs() {
    let told = std::env::var("FLOE_BACKLOG_EVENTS").ok();
    let told = told.map(|count| count.parse().expect("FLOE_BACKLOG_EVENTS is a number"));
    let runtime = Runtime::new().expect("a runtime");
    runtime.block_on(run(told.unwrap_or(EVENTS), told.is_some()));
}

async fn run(count: u64, is_timed: bool) {
    let data = Data::new("durable-backlog");
    let own = Communicator::new();
    let (mut hub, manager) = serve(&data, !is_timed);
    let publisher = publisher(&own, &manager).await;
    publish_all(&publisher, count).await;
    // All before it are safe, too.
    let last = publisher.invoke("last", OperationMode::Normal, &[6, 0, 0, 0, 1, 1]);
    last.await.expect("the hub takes it");
    hub.kill();

    let begin = Instant::now();
    let (hub, manager) = serve(&data, !is_timed);
    let took = begin.elapsed();
    let read = read_len(&hub);
    let topics = topics(&own, &manager);
    let contents = topics.contents("t").await.expect("the hub answers");
    assert_eq!(contents.next as u64, count + 2);
    println!(
        "opened {} bytes in {took:?}, and read {read:?}",
        contents.bytes
    );
    if let Some(read) = read {
        assert!(
            read < contents.bytes as u64 * 2 / 3,
            "read {read} of {contents:?}"
        );
    }
    assert!(
        !is_timed || took < Duration::from_secs(2),
        "it took {took:?}"
    );

    let publisher = self::publisher(&own, &manager).await;
    let adapter = adapter(&own).await;
    let (sender, mut came) = mpsc::unbounded_channel();
    let live = adapter
        .add("live", Live(Mutex::new(sender)))
        .expect("a new name");
    subscribe(&own, &manager, &live, &[]).await;
    // The events of a burst may come in any order, and bursts come one after the other.
    let start = if is_timed { 1 } else { count - BEHIND + 1 };
    let begin = Instant::now();
    let mut behind = start_behind(&manager, &format!("seq:{start}"));
    let (rounds, samples) = if is_timed { (10, 500) } else { (2, 25) };
    let (mut quiet, mut busy) = (Vec::new(), Vec::new());
    let mut next = count + 1;
    for _ in 0..rounds {
        for (signal, latencies) in [("STOP", &mut quiet), ("CONT", &mut busy)] {
            behind.signal(signal);
            tokio::time::sleep(SETTLED).await;
            let numbers = next..next + samples;
            next = numbers.end;
            latencies.push(self::latencies(&publisher, numbers, &mut came).await);
        }
    }
    let contents = topics.contents("t").await.expect("the hub answers");
    let is_behind = contents.subscriptions[0].behind;
    println!("the subscriber is {is_behind} events behind");
    assert!(
        !is_timed || is_behind > 0,
        "the last rounds had no subscriber that is behind"
    );
    for (share, name) in [(50, "median"), (99, "99th percentile")] {
        let at = |round: &Vec<Duration>| round[round.len() * share / 100].as_secs_f64();
        let rounds = quiet.iter().zip(&busy);
        let mut ratios: Vec<f64> = rounds.map(|(quiet, busy)| at(busy) / at(quiet)).collect();
        ratios.sort_by(f64::total_cmp);
        let middle = |rounds: &[Vec<Duration>]| {
            let mut figures: Vec<f64> = rounds.iter().map(|round| at(round) * 1e6).collect();
            figures.sort_by(f64::total_cmp);
            figures[figures.len() / 2]
        };
        println!(
            "latency of live events, {name}: {:.0} us, and {:.0} us meanwhile: {:.3} ({:.3} to {:.3})",
            middle(&quiet),
            middle(&busy),
            ratios[ratios.len() / 2],
            ratios[0],
            ratios[ratios.len() - 1],
        );
    }
    let last = next - 1;
    let all = last + 1 - start;
    let mut known = (0, Instant::now());
    let line = loop {
        // It tells its counts as long as it lives.
        let line = behind.line();
        let came: u64 = line
            .split(' ')
            .next()
            .map_or(0, |count| count.parse().unwrap_or(0));
        if came >= all {
            break line;
        }
        if came > known.0 {
            known = (came, Instant::now());
        }
        assert!(known.1.elapsed() < PATIENCE, "{came} of {all} have come");
    };
    println!("read {all} events in {:?}", begin.elapsed());
    assert_eq!(
        line,
        format!("{all} {}", (start + last) * all / 2),
        "each comes once"
    );
    own.shutdown().await;
}

async fn publisher(communicator: &Communicator, manager: &str) -> Proxy {
    let manager = TopicManagerProxy::from_proxy(communicator.proxy(manager).expect("a proxy"));
    let topic = manager.retrieve("t").await.expect("the hub answers");
    topic.get_publisher().await.expect("the hub answers")
}

fn topics(communicator: &Communicator, manager: &str) -> DurableTopicsProxy {
    let proxy = communicator.proxy(&format!("{DURABLE_TOPICS}:{}", endpoint(manager)));
    DurableTopicsProxy::from_proxy(proxy.expect("a proxy"))
}

/// The endpoints of a proxy.
fn endpoint(proxy: &str) -> &str {
    proxy.split_once(':').expect("an endpoint").1
}
