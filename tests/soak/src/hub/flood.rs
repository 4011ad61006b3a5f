//! Batched publishers at full speed, beside subscribers that stop, crawl and return: the healthy subscribers must lose
//! nothing, and the memory of the hub must stay within its limit.

use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use clap::Args;
use floe::contracts::ice_storm::TopicProxy;
use floe::{Adapter, Communicator, TypedProxy};
use floe_hub::contracts::floe::TopicStatus;
use serde_json::json;
use tokio::task::JoinHandle;

use super::books;
use super::findings::Findings;
use super::hearing::Hearing;
use super::listen::Listener;
use super::publishing::micros;
use super::station::{Mode, PATIENCE, Station, topic, wishes};
use crate::process;
use crate::random::Random;

const TOPIC: &str = "flood";
const PUBLISHERS: i32 = 3;
/// Events of a batch, and the bytes that each carries.
const BATCH: usize = 100;
const LOAD: usize = 100;
/// Modes of the healthy subscribers, and of those in trouble.
const HEALTHY: [Mode; 2] = [Mode::Twoway, Mode::Oneway];
const TROUBLED: [Mode; 2] = [Mode::Twoway, Mode::Oneway];
/// Events and bytes that may wait for a subscriber.
const QUEUE_EVENTS: usize = 20_000;
const QUEUE_BYTES: i64 = 8 << 20;
/// The memory that the hub may take: full queues, in which so short an event takes more than its length again for where
/// it stands, then buffers of connections, and what the allocator keeps.
const MEMORY_MAX: u64 =
    (HEALTHY.len() + TROUBLED.len()) as u64 * 3 * QUEUE_BYTES.unsigned_abs() + (32 << 20);
/// Between two looks at the hub.
const LOOK_INTERVAL: Duration = Duration::from_millis(250);

/// Floods a hub, and checks what its subscribers get.
#[derive(Debug, Args)]
pub(crate) struct Flood {
    /// Seconds at full speed
    #[arg(long, default_value_t = 600, value_parser = clap::value_parser!(u64).range(1..))]
    seconds: u64,
    /// Decides which subscriber does what, and for how long
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Milliseconds for which a subscriber that stops may hold publishers back
    #[arg(long, default_value_t = 1_000)]
    patience: u64,
    /// Writes the result to this file as JSON, too
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// A subscriber that does nothing wrong.
struct Healthy {
    name: String,
    hearing: Hearing,
    _adapter: Adapter,
}

impl Flood {
    #[tokio::main(worker_threads = 2)]
    pub(crate) async fn run(&self) -> ExitCode {
        process::raise_descriptor_limit();
        let findings = Findings::default();
        let station = Station::start(&format!(
            "[queue]\nevents = {QUEUE_EVENTS}\nbytes = {QUEUE_BYTES}\npatience = \"{}ms\"\n",
            self.patience
        ));
        let client = Communicator::new();
        let subscribed_to = topic(&client, station.manager(), TOPIC).await;
        let mut healthy = Vec::new();
        for (at, mode) in HEALTHY.into_iter().enumerate() {
            healthy.push(subscriber(&client, &subscribed_to, at, mode).await);
        }
        let is_over = Arc::new(AtomicBool::new(false));
        let troubled = self.trouble(&station, &is_over);
        let publishers: Vec<_> = (0..PUBLISHERS)
            .map(|id| tokio::spawn(publish(station.manager().to_owned(), id, is_over.clone())))
            .collect();
        let (began, mut resident) = (Instant::now(), 0);
        while began.elapsed() < Duration::from_secs(self.seconds) {
            tokio::time::sleep(LOOK_INTERVAL).await;
            resident = resident.max(station.resident());
            match station.status(TOPIC).await {
                Some(status) => check(&status, &findings),
                None => findings.add("the hub does not tell of its topic"),
            }
        }
        is_over.store(true, Ordering::Relaxed);
        let mut published = Vec::new();
        for publisher in publishers {
            published.push(publisher.await.expect("no panic"));
        }
        let taken = began.elapsed();
        hear_all(&healthy, &published, &findings).await;
        // Those in trouble are well again, and get what is left for them.
        let troubled = troubled.await.expect("no panic");
        let is_done =
            |status: &TopicStatus| (status.totals.queued, status.totals.outstanding) == (0, 0);
        if !station.wait_for(TOPIC, is_done).await {
            findings.add("the hub: events are still queued or unanswered");
        }
        let lost = check_end(&station, &published, &findings).await;
        drop(troubled);
        if resident > MEMORY_MAX {
            findings.add(format!(
                "the hub: expected at most {MEMORY_MAX} B of memory, got {resident} B"
            ));
        }
        if let Err(error) = station.end().await {
            findings.add(format!("the hub: {error}"));
        }
        let published: i64 = published.iter().sum();
        let rate = (published as f64 / taken.as_secs_f64()).round();
        println!(
            "published {published} events, {rate} a second; lost {lost} of those in trouble, and the hub took at most {:.1} MB",
            resident as f64 / 1e6
        );
        let result = json!({
            "seconds": self.seconds,
            "seed": self.seed,
            "published": published,
            "published_per_second": rate,
            "lost_in_trouble": lost,
            "resident_bytes": resident,
        });
        self.finish(&findings, result)
    }

    /// Starts subscribers that stop, crawl and return until it is over.
    fn trouble(&self, station: &Station, is_over: &Arc<AtomicBool>) -> JoinHandle<Vec<Listener>> {
        let listeners = TROUBLED.into_iter().enumerate().map(|(at, mode)| {
            let (manager, log) = (station.manager(), station.folder());
            let name = format!("troubled-{at}");
            Listener::start(&name, manager, TOPIC, mode, "-1", log)
        });
        let mut listeners: Vec<_> = listeners.collect();
        let mut random = Random::new(self.seed);
        let is_over = is_over.clone();
        tokio::spawn(async move {
            while !is_over.load(Ordering::Relaxed) {
                let at = random.below(listeners.len());
                trouble(&mut listeners[at], &mut random).await;
            }
            listeners
        })
    }

    fn finish(&self, findings: &Findings, mut result: serde_json::Value) -> ExitCode {
        let (shown, count) = findings.all();
        for finding in &shown {
            println!("finding: {finding}");
        }
        if let Some(file) = &self.output {
            result["findings"] = shown.into();
            if let Err(error) = fs::write(file, format!("{result:#}\n")) {
                eprintln!("cannot write {}: {error}", file.display());
                return ExitCode::FAILURE;
            }
        }
        match count {
            0 => {
                println!("flood: passed");
                ExitCode::SUCCESS
            }
            count => {
                println!("flood: FAILED with {count} findings");
                ExitCode::FAILURE
            }
        }
    }
}

/// One subscriber stops, crawls, or is well for a while.
async fn trouble(listener: &mut Listener, random: &mut Random) {
    let millis = |random: &mut Random, limit| Duration::from_millis(1 + random.below(limit) as u64);
    match random.below(3) {
        0 => {
            listener.stop();
            tokio::time::sleep(millis(random, 4_000)).await;
            listener.resume();
        }
        1 => {
            for _ in 0..10 {
                listener.stop();
                tokio::time::sleep(millis(random, 500)).await;
                listener.resume();
                tokio::time::sleep(millis(random, 5)).await;
            }
        }
        _ => tokio::time::sleep(millis(random, 2_000)).await,
    }
}

/// Publishes batches without a pause until it is over. Returns the number of events.
async fn publish(manager: String, id: i32, is_over: Arc<AtomicBool>) -> i64 {
    let client = Communicator::new();
    let publisher = topic(&client, &manager, TOPIC).await.get_publisher().await;
    let publisher = publisher.expect("a topic");
    let publisher = crate::contract::feed::ListenerProxy::from_proxy(publisher.ice_batch_oneway());
    let mut number = 0;
    while !is_over.load(Ordering::Relaxed) {
        for _ in 0..BATCH {
            number += 1;
            let added = publisher.heard(id, number, micros(), &[7; LOAD]).await;
            added.expect("a batch takes it");
        }
        let flushed = publisher.ice_flush_batch().await;
        flushed.expect("the hub takes it");
        tokio::task::yield_now().await;
    }
    client.shutdown().await;
    number
}

async fn subscriber(client: &Communicator, topic: &TopicProxy, at: usize, mode: Mode) -> Healthy {
    let adapter = client.adapter("tcp -h 127.0.0.1 -p 0").await;
    let adapter = adapter.expect("a free port");
    let (name, hearing) = (format!("healthy-{at}"), Hearing::default());
    let added = adapter.add(name.as_str(), hearing.servant());
    adapter.activate();
    let (subscriber, qos) = wishes(&added.expect("the first"), mode, &[]);
    let subscribed = topic.subscribe_and_get_publisher(&qos, Some(&subscriber));
    subscribed.await.expect("a new subscriber");
    Healthy {
        name,
        hearing,
        _adapter: adapter,
    }
}

/// Checks what holds at any moment.
fn check(status: &TopicStatus, findings: &Findings) {
    books::check(status, QUEUE_BYTES, findings);
    for at in 0..HEALTHY.len() {
        let name = format!("healthy-{at}");
        let lost = books::find(status, &name).map(|info| books::lost(&info.lost));
        findings.expect(&format!("{name}: lost"), Some(0), lost);
    }
}

/// Waits until the healthy subscribers have heard all events of all publishers in order.
async fn hear_all(healthy: &[Healthy], published: &[i64], findings: &Findings) {
    let until = Instant::now() + PATIENCE;
    for Healthy { name, hearing, .. } in healthy {
        let last = || {
            let heard = hearing.heard();
            let last = (0..PUBLISHERS).map(|id| heard.last_of(id));
            last.collect::<Vec<_>>()
        };
        while last() != published && Instant::now() < until {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        findings.expect(&format!("{name}: last heard"), published.to_vec(), last());
        let heard = hearing.heard();
        let came = (heard.missing, heard.disorders);
        findings.expect(&format!("{name}: missing, disorders"), (0, 0), came);
    }
}

/// Checks the counts when nothing is under way. Returns how many events were lost.
async fn check_end(station: &Station, published: &[i64], findings: &Findings) -> i64 {
    let Some(status) = station.status(TOPIC).await else {
        findings.add("the hub does not tell of its topic");
        return 0;
    };
    check(&status, findings);
    let published: i64 = published.iter().sum();
    books::check_at_rest(&status, published, findings);
    for subscriber in &status.subscribers {
        findings.expect(
            "offered to a subscriber",
            published,
            subscriber.info.offered,
        );
    }
    books::lost(&status.totals.lost)
}
