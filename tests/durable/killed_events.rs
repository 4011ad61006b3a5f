//! A hub that is killed at any moment, while events are published to a durable topic and a durable subscriber reads them:
//! each event that was acknowledged is in the log once, nothing is there that was not published, and the subscriber gets
//! each event in the order of the log. After each kill, the test leaves behind the last record what a write leaves that the kill of a
//! machine has torn.
//!
//! `FLOE_DURABLE_ROUNDS` says how often it is killed, `FLOE_CRASH_SEED` repeats a run as far as time allows.

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::{Seek, SeekFrom, Write};
use std::path::PathBuf;
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use floe::contracts::ice_storm::{QoS, TopicManagerProxy, TopicProxy};
use floe::dispatch::{DispatchSlot, Requests};
use floe::{Adapter, Communicator, Dispatcher, OperationMode, Proxy, TypedProxy};
use floe_tests::hub::{Data, serve_configured};
use floe_tests::peer::Peer;
use floe_tests::workspace;
use tokio::runtime::Runtime;

/// Kills in a run that was not told otherwise.
const ROUNDS: u64 = 8;
/// Publishers at a time, and how many unanswered events each of them has.
const PUBLISHERS: usize = 3;
const UNANSWERED: usize = 8;
/// The longest that a hub lives.
const LIFE_MAX: Duration = Duration::from_millis(200);
/// The bytes of a segment before its first record, of a record before those that its length counts, and before its sequence.
const HEADER_LEN: usize = 80;
const PREFIX_LEN: usize = 8;
const SEQUENCE_AT: usize = 8;
const PATIENCE: Duration = Duration::from_secs(60);

/// Starts a hub with the durable topic `t`.
fn serve(data: &Data, endpoint: &str) -> (Peer, String) {
    let floe = Command::new(workspace::program("floe"));
    serve_configured(floe, data, endpoint, "[topic.t]\ndurable = true\n")
}

/// The fates of a publisher's events, by number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Acknowledged,
    Unknown,
}

/// An event: the place of its publisher, and its number.
type Event = (usize, u64);

/// Records the operations that it gets, which name events.
#[derive(Clone, Default)]
struct Recorder(Arc<Mutex<Vec<Event>>>);

impl Dispatcher for Recorder {
    fn dispatch(self: Arc<Self>, requests: Requests, slot: &mut DispatchSlot) {
        requests.each(slot, move |request| {
            if let Some(event) = parse(request.operation()) {
                self.0.lock().expect("no panic").push(event);
            }
            std::future::ready(request.returned_nothing())
        });
    }
}

fn parse(operation: &str) -> Option<Event> {
    let (publisher, number) = operation.strip_prefix('e')?.split_once('n')?;
    Some((publisher.parse().ok()?, number.parse().ok()?))
}

async fn topic(communicator: &Communicator, manager: &str) -> TopicProxy {
    let manager = TopicManagerProxy::from_proxy(communicator.proxy(manager).expect("a proxy"));
    manager.retrieve("t").await.expect("the hub answers")
}

async fn publisher(communicator: &Communicator, manager: &str) -> Proxy {
    let publisher = topic(communicator, manager).await.get_publisher().await;
    publisher.expect("the hub answers")
}

/// Publishes until the hub is gone. Returns what happened to each event, from this number on.
async fn publish_until_killed(publisher: Proxy, own: usize, first: u64) -> BTreeMap<u64, Fate> {
    let mut fates = BTreeMap::new();
    for start in (first..).step_by(UNANSWERED) {
        // All of a burst are sent before the first is answered.
        let burst = (start..).take(UNANSWERED).map(|number| {
            let publisher = publisher.clone();
            tokio::spawn(async move {
                let operation = format!("e{own}n{number}");
                let nothing = [6, 0, 0, 0, 1, 1];
                let sent = publisher.invoke(&operation, OperationMode::Normal, &nothing);
                (number, sent.await.is_ok())
            })
        });
        let mut is_over = false;
        for sent in burst.collect::<Vec<_>>() {
            let (number, is_acknowledged) = sent.await.expect("no task panics");
            is_over |= !is_acknowledged;
            let fate = match is_acknowledged {
                true => Fate::Acknowledged,
                false => Fate::Unknown,
            };
            fates.insert(number, fate);
        }
        if is_over {
            return fates;
        }
    }
    unreachable!("the hub is killed before")
}

/// A subscriber that listens as long as the test lives.
async fn subscriber(communicator: &Communicator, name: &str) -> (Adapter, Proxy, Recorder) {
    let adapter = communicator.adapter("tcp -h 127.0.0.1 -p 0").await;
    let adapter = adapter.expect("loopback");
    let recorder = Recorder::default();
    let proxy = adapter.add(name, recorder.clone()).expect("a new name");
    adapter.activate();
    (adapter, proxy, recorder)
}

async fn subscribe(
    communicator: &Communicator,
    manager: &str,
    subscriber: &Proxy,
    qos: &[(&str, &str)],
) {
    let mut wishes = QoS::new();
    for (key, value) in qos {
        wishes.insert((*key).to_owned(), (*value).to_owned());
    }
    let topic = topic(communicator, manager).await;
    let subscribed = topic.subscribe_and_get_publisher(&wishes, Some(subscriber));
    subscribed.await.expect("a subscription");
}

#[test]
fn what_a_killed_hub_has_acknowledged_reaches_the_log_once_and_the_subscriber() {
    let rounds = number("FLOE_DURABLE_ROUNDS").unwrap_or(ROUNDS);
    let seed = number("FLOE_CRASH_SEED").unwrap_or_else(|| {
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        since.map_or(1, |since| since.as_nanos() as u64)
    });
    println!("FLOE_DURABLE_ROUNDS={rounds} FLOE_CRASH_SEED={seed}");
    let runtime = Runtime::new().expect("a runtime");
    runtime.block_on(run(rounds, seed));
}

async fn run(rounds: u64, mut seed: u64) {
    let data = Data::new("durable-crash");
    let own = Communicator::new();
    let (_adapter, durable, received) = subscriber(&own, "durable").await;
    let mut fates = vec![BTreeMap::new(); PUBLISHERS];
    let mut torn_count = 0;
    for round in 0..rounds {
        let (mut hub, manager) = serve(&data, "tcp -h 127.0.0.1 -p 0");
        let communicator = Communicator::new();
        if round == 0 {
            let wishes = [
                ("floe.durable", "d"),
                ("floe.from", "beginning"),
                ("reliability", "ordered"),
            ];
            subscribe(&communicator, &manager, &durable, &wishes).await;
        }
        let to = publisher(&communicator, &manager).await;
        let publishing: Vec<_> = fates
            .iter()
            .enumerate()
            .map(|(own, fates): (usize, &BTreeMap<u64, Fate>)| {
                let first = fates.keys().last().map_or(0, |last| last + 1);
                tokio::spawn(publish_until_killed(to.clone(), own, first))
            })
            .collect();
        tokio::time::sleep(life(&mut seed)).await;
        hub.kill();
        for (fates, publishing) in fates.iter_mut().zip(publishing) {
            fates.extend(publishing.await.expect("no publisher panics"));
        }
        communicator.shutdown().await;
        torn_count += u64::from(tear(&data, &mut seed));
    }
    assert!(torn_count > 0, "no segment was torn in {rounds} rounds");
    let acknowledged = fates.iter().flat_map(BTreeMap::values);
    let acknowledged = acknowledged
        .filter(|fate| **fate == Fate::Acknowledged)
        .count();
    println!("{acknowledged} acknowledged events");
    assert!(
        acknowledged as u64 > rounds,
        "{acknowledged} events prove little"
    );

    let (_hub, manager) = serve(&data, "tcp -h 127.0.0.1 -p 0");
    let (_other, reader, log) = subscriber(&own, "reader").await;
    let wishes = [("floe.from", "beginning"), ("reliability", "ordered")];
    subscribe(&own, &manager, &reader, &wishes).await;
    // The last event of all, after which both have everything.
    let last: Event = (PUBLISHERS, 0);
    let to = publisher(&own, &manager).await;
    let (operation, nothing) = (format!("e{PUBLISHERS}n0"), [6, 0, 0, 0, 1, 1]);
    let sent = to.invoke(&operation, OperationMode::Normal, &nothing);
    sent.await.expect("the hub takes it");
    let log = wait_for(&log, last).await;
    let received = wait_for(&received, last).await;
    check_log(&log, &fates);
    check_received(&received, &log);
    own.shutdown().await;
}

fn life(seed: &mut u64) -> Duration {
    Duration::from_micros(random(seed) % LIFE_MAX.as_micros() as u64)
}

/// A splitmix64 step.
fn random(seed: &mut u64) -> u64 {
    *seed = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mixed = (*seed ^ (*seed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed ^ (mixed >> 27)
}

/// Tears a write behind the last whole record: the kill of a process keeps all that was written before, and what was acknowledged is
/// there. Returns false if the log has no record yet.
fn tear(data: &Data, seed: &mut u64) -> bool {
    let Some((path, bytes)) = newest_segment(data) else {
        return false;
    };
    let Some(last) = last_record(&bytes) else {
        return false;
    };
    let end = last.end;
    let last = &bytes[last];
    // The next record: its check sum is that of another one, as if some of its bytes had not reached the disk.
    let mut next = last.to_vec();
    let sequence = u64_at(last, SEQUENCE_AT) + 1;
    next[SEQUENCE_AT..SEQUENCE_AT + 8].copy_from_slice(&sequence.to_le_bytes());
    let cut = 1 + random(seed) as usize % (next.len() - 1);
    let random_bytes = |seed: &mut u64| (0..cut * 100).map(|_| random(seed) as u8).collect();
    let (torn, is_cut): (Vec<u8>, bool) = match random(seed) % 5 {
        // The zeros that the hub has written ahead did not reach the disk.
        0 => (Vec::new(), true),
        // Only the first bytes did, and the file has its length or not.
        1 => (next[..cut].to_vec(), false),
        2 => (next[..cut].to_vec(), true),
        // An old block of the disk stands there: anything, or a record that the log had before.
        3 => (random_bytes(seed), true),
        _ => ([last, &next].concat(), false),
    };
    let file = OpenOptions::new().write(true).open(path);
    let mut file = file.expect("the test may write it");
    let written = file.seek(SeekFrom::Start(end as u64));
    let written = written.and_then(|_| file.write_all(&torn));
    written.expect("the disk has room");
    if is_cut {
        let len = (end + torn.len()) as u64;
        file.set_len(len).expect("the test may cut it");
    }
    true
}

/// The segment that was being written, and its bytes.
fn newest_segment(data: &Data) -> Option<(PathBuf, Vec<u8>)> {
    let entries = fs::read_dir(data.path().join("topics/t/log")).ok()?;
    let paths = entries.flatten().map(|entry| entry.path());
    let segments = paths.filter(|path| path.extension().is_some_and(|it| it == "log"));
    let newest = segments.max()?;
    let bytes = fs::read(&newest).expect("the test may read it");
    Some((newest, bytes))
}

/// Where the last whole record stands. `crates/hub/src/core/log/record.rs` shows a record, and `segment.rs` what is before.
fn last_record(bytes: &[u8]) -> Option<std::ops::Range<usize>> {
    let (mut last, mut at) = (None::<std::ops::Range<usize>>, HEADER_LEN);
    while let Some(len) = bytes.get(at..at + 4) {
        let len = u32::from_le_bytes(len.try_into().expect("four bytes")) as usize;
        let end = at + PREFIX_LEN + len;
        let sequence = bytes.get(at + SEQUENCE_AT..end.min(at + SEQUENCE_AT + 8));
        let follows = |sequence: &[u8]| match &last {
            Some(last) => u64_at(sequence, 0) == u64_at(&bytes[last.clone()], SEQUENCE_AT) + 1,
            None => u64_at(sequence, 0) > 0,
        };
        if end > bytes.len() || !sequence.is_some_and(|it| it.len() == 8 && follows(it)) {
            return last;
        }
        last = Some(at..end);
        at = end;
    }
    last
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
}

/// Waits as long as events come.
async fn wait_for(recorder: &Recorder, last: Event) -> Vec<Event> {
    let (mut count, mut since) = (0, Instant::now());
    loop {
        {
            let events = recorder.0.lock().expect("no panic");
            if events.last() == Some(&last) {
                return events.clone();
            }
            if events.len() > count {
                (count, since) = (events.len(), Instant::now());
            }
        }
        assert!(
            since.elapsed() < PATIENCE,
            "{count} events, and not the last"
        );
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// The log has each acknowledged event once, and none that was not published.
fn check_log(log: &[Event], fates: &[BTreeMap<u64, Fate>]) {
    let mut found = vec![Vec::new(); fates.len() + 1];
    for (publisher, number) in log {
        found[*publisher].push(*number);
    }
    for (publisher, fates) in fates.iter().enumerate() {
        let found = &found[publisher];
        for number in found {
            assert!(fates.contains_key(number), "{number} was not published");
        }
        let mut sorted = found.clone();
        sorted.sort_unstable();
        sorted.dedup();
        assert_eq!(sorted.len(), found.len(), "an event is there twice");
        let acknowledged = fates
            .iter()
            .filter(|(_, fate)| **fate == Fate::Acknowledged);
        for (number, _) in acknowledged {
            assert!(
                sorted.binary_search(number).is_ok(),
                "{publisher}: {number} is missing"
            );
        }
    }
}

/// The subscriber got all that the log has, in its order. After a kill, the event under way may come again.
fn check_received(received: &[Event], log: &[Event]) {
    let mut firsts = Vec::new();
    let mut known = std::collections::BTreeSet::new();
    for event in received {
        if known.insert(*event) {
            firsts.push(*event);
        }
    }
    assert_eq!(firsts, log);
}

fn number(variable: &str) -> Option<u64> {
    let text = std::env::var(variable).ok()?;
    let number = text.parse();
    Some(number.unwrap_or_else(|_| panic!("expected a number in {variable}, got {text:?}")))
}
