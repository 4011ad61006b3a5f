//! A hub under full load for a while, with subscribers, topics and links that come and go.
//!
//! Promised, and so checked: a publisher that waits for room (facet `floe.wait`) loses nothing on the way to
//! subscribers that want that (`floe.overflow` = `block`), and each hears its events once and in order. All others
//! hear in order what they hear. The counts add up at each look, and memory and descriptors stay flat.
//!
//! - `load/passers.rs`: subscribers, topics and links that come and go

mod passers;

use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use clap::Args;
use floe::hub::{Delivery, HubClient, Overflow, Qos};
use floe::{Adapter, Communicator};
use serde_json::json;
use tokio::task::JoinHandle;

use super::books;
use super::findings::Findings;
use super::hearing::Hearing;
use super::publishing::Publishing;
use super::station::{Mode, PATIENCE, Station, wishes};
use crate::contract::feed::ListenerEvent;
use crate::process;
use crate::random::Random;
use crate::watch::Watch;

/// The topics that last.
const TOPICS: [&str; 2] = ["first", "second"];
/// Publishers of each, with a connection each.
const PUBLISHERS: usize = 2;
/// Events of a publisher that may be unanswered.
const AT_A_TIME: usize = 32;
/// The longest load of an event, in bytes.
const LOAD_MAX: usize = 1_000;
/// Bytes that may wait for a subscriber.
const QUEUE_BYTES: i64 = 1 << 20;
/// Subscribers that come and go in this process, and in processes that are killed.
const PASSERS: usize = 6;
const MORTALS: usize = 2;
/// Between two looks at counts and memory.
const LOOK_INTERVAL: Duration = Duration::from_secs(1);

/// A hub under full load, and who is audited afterwards.
#[derive(Debug, Args)]
pub(crate) struct Load {
    /// How long it lasts
    #[arg(long, default_value_t = 600)]
    seconds: u64,
    /// The seed that decides which subscribers come and go, and when
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Writes the result to this file as JSON, too
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// The state that all tasks share.
pub(super) struct Shared {
    pub(super) station: Station,
    pub(super) findings: Findings,
    pub(super) is_over: AtomicBool,
}

impl Shared {
    pub(super) fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Relaxed)
    }
}

/// A subscriber that stays, and must hear all.
struct Resident {
    name: String,
    topic: usize,
    hearing: Hearing,
    /// Where a servant is.
    _adapter: Option<Adapter>,
}

impl Load {
    #[tokio::main(worker_threads = 2)]
    pub(crate) async fn run(&self) -> ExitCode {
        process::raise_descriptor_limit();
        let settings = format!(
            "[queue]\nbytes = {QUEUE_BYTES}\n[delivery]\nflush-interval = \"20ms\"\ndiscard-interval = \"100ms\"\n"
        );
        let shared = Arc::new(Shared {
            station: Station::start(&settings),
            findings: Findings::default(),
            is_over: AtomicBool::new(false),
        });
        let residents = settle(&shared.station).await;
        let began = Instant::now();
        let publishers = self.publish(&shared).await;
        let mut passers: Vec<_> = (0..PASSERS)
            .map(|at| tokio::spawn(passers::pass(shared.clone(), at, self.random(at as u64))))
            .collect();
        passers.push(tokio::spawn(passers::churn(
            shared.clone(),
            self.random(100),
        )));
        passers.push(tokio::spawn(passers::link(
            shared.clone(),
            self.random(101),
        )));
        let mortals = passers::mortals(&shared, MORTALS, self.random(102));
        let watch = self.watch(&shared, began).await;
        shared.is_over.store(true, Ordering::Relaxed);
        let mut accepted = [0; TOPICS.len() * PUBLISHERS];
        for (at, publisher) in publishers.into_iter().enumerate() {
            accepted[at] = publisher.await.expect("no panic");
        }
        let taken = began.elapsed();
        let mut heard = 0;
        for passer in passers {
            heard += passer.await.expect("no panic");
        }
        let mortals = mortals.await.expect("no panic");
        heard += audit(&shared, &residents, &accepted).await;
        drop(mortals);
        let course = watch.course(began);
        for problem in course.iter().flat_map(|course| course.problems()) {
            shared.findings.add(format!("the hub: {problem}"));
        }
        let published: i64 = accepted.iter().sum();
        let result = json!({
            "seconds": self.seconds,
            "seed": self.seed,
            "published": published,
            "published_per_second": (published as f64 / taken.as_secs_f64()).round(),
            "heard_here": heard,
            "resident_bytes": course.map(|course| course.resident),
            "descriptors": course.map(|course| course.descriptors),
        });
        self.finish(shared, result).await
    }

    fn random(&self, of: u64) -> Random {
        Random::new(self.seed.wrapping_mul(1_000).wrapping_add(of))
    }

    /// Starts the publishers; each ends with how many events were accepted from it.
    async fn publish(&self, shared: &Arc<Shared>) -> Vec<JoinHandle<i64>> {
        let mut publishers = Vec::new();
        for id in 0..TOPICS.len() * PUBLISHERS {
            let client = Communicator::new();
            let topic = TOPICS[id % TOPICS.len()];
            let publisher = shared.station.publisher(&client, topic, "floe.wait").await;
            let publishing = Publishing::new(publisher, id as i32, AT_A_TIME);
            let random = self.random(200 + id as u64);
            publishers.push(tokio::spawn(publish(shared.clone(), publishing, random)));
        }
        publishers
    }

    /// Looks at the hub until the time is over.
    async fn watch(&self, shared: &Shared, began: Instant) -> Watch {
        let (mut watch, end) = (Watch::default(), began + Duration::from_secs(self.seconds));
        while Instant::now() < end {
            watch.sample(shared.station.id(), Instant::now());
            for topic in TOPICS {
                match shared.station.status(topic).await {
                    Some(status) => books::check(&status, QUEUE_BYTES, &shared.findings),
                    None => shared
                        .findings
                        .add(format!("the hub does not tell of topic {topic}")),
                }
            }
            let next = (Instant::now() + LOOK_INTERVAL).min(end);
            tokio::time::sleep_until(next.into()).await;
        }
        watch
    }

    async fn finish(&self, shared: Arc<Shared>, mut result: serde_json::Value) -> ExitCode {
        let folder = shared.station.folder().display().to_string();
        let Ok(shared) = Arc::try_unwrap(shared) else {
            panic!("all tasks have ended");
        };
        if let Err(error) = shared.station.end().await {
            shared.findings.add(format!("the hub: {error}"));
        }
        let (findings, count) = shared.findings.all();
        findings
            .iter()
            .for_each(|finding| println!("finding: {finding}"));
        println!("{result:#}");
        result["findings"] = findings.into();
        if let Some(file) = &self.output
            && let Err(error) = fs::write(file, format!("{result:#}\n"))
        {
            println!("finding: cannot write {}: {error}", file.display());
            return ExitCode::FAILURE;
        }
        match count {
            0 => {
                println!("hub: passed");
                ExitCode::SUCCESS
            }
            count => {
                println!("hub: FAILED with {count} findings; its log is in {folder}");
                ExitCode::FAILURE
            }
        }
    }
}

/// Subscribes those who stay: in each mode, to each topic, as a servant and as a stream.
async fn settle(station: &Station) -> Vec<Resident> {
    let mut residents = Vec::new();
    for (topic, name) in TOPICS.iter().enumerate() {
        let proxy = station.topic(name).await;
        for mode in Mode::ALL {
            residents.push(settle_stream(station, topic, mode).await);
            let adapter = station.communicator.adapter("tcp -h 127.0.0.1 -p 0").await;
            let adapter = adapter.expect("a free port");
            let hearing = Hearing::default();
            let name = format!("resident-{name}-{}", mode.name());
            let added = adapter.add(name.as_str(), hearing.servant());
            adapter.activate();
            let wish = [("floe.overflow", "block")];
            let (subscriber, qos) = wishes(&added.expect("the first"), mode, &wish);
            let subscribed = proxy.subscribe_and_get_publisher(&qos, Some(&subscriber));
            subscribed.await.expect("a new subscriber");
            residents.push(Resident {
                name,
                topic,
                hearing,
                _adapter: Some(adapter),
            });
        }
    }
    residents
}

/// Subscribes one that reads a stream in a task.
async fn settle_stream(station: &Station, topic: usize, mode: Mode) -> Resident {
    let hub = HubClient::connect_with(&station.communicator, station.manager()).await;
    let proxy = hub.expect("the hub").topic(TOPICS[topic]).await;
    let name = format!("resident-{}-{}-stream", TOPICS[topic], mode.name());
    let qos = Qos::new()
        .delivery(match mode {
            Mode::Twoway => Delivery::Twoway,
            Mode::Ordered => Delivery::Ordered,
            Mode::Oneway => Delivery::Oneway,
            Mode::Batch => Delivery::Batch,
        })
        .overflow(Overflow::Block);
    let events = proxy.expect("a topic").subscribe::<ListenerEvent>();
    let events = events.identity(name.as_str()).qos(qos);
    let mut events = events.await.expect("a new subscriber");
    let hearing = Hearing::default();
    let own = hearing.clone();
    tokio::spawn(async move {
        while let Some(event) = events.next().await {
            own.take(event);
        }
    });
    Resident {
        name,
        topic,
        hearing,
        _adapter: None,
    }
}

/// Publishes as much as the hub takes; how many events it accepted.
async fn publish(shared: Arc<Shared>, mut publishing: Publishing, mut random: Random) -> i64 {
    while !shared.is_over() {
        if let Err(error) = publishing.publish(random.below(LOAD_MAX)).await {
            shared
                .findings
                .add(format!("an event was not accepted: {error}"));
            break;
        }
    }
    if let Err(error) = publishing.finish().await {
        shared
            .findings
            .add(format!("an event was not accepted: {error}"));
    }
    publishing.accepted()
}

/// Waits until those who stay have heard all, and checks that; how much they heard.
async fn audit(shared: &Shared, residents: &[Resident], accepted: &[i64]) -> u64 {
    let (station, findings) = (&shared.station, &shared.findings);
    let mut heard_by_all = 0;
    let of_topic = |topic: usize| (topic..accepted.len()).step_by(TOPICS.len());
    for resident in residents {
        let until = Instant::now() + PATIENCE;
        let has_all = |resident: &Resident| {
            let heard = resident.hearing.heard();
            of_topic(resident.topic).all(|id| heard.last_of(id as i32) >= accepted[id])
        };
        while !has_all(resident) && Instant::now() < until {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        let heard = resident.hearing.heard();
        let name = &resident.name;
        for id in of_topic(resident.topic) {
            let what = format!("{name}: the last event of publisher {id}");
            findings.expect(&what, accepted[id], heard.last_of(id as i32));
        }
        let what = format!("{name}: missing, out of order");
        findings.expect(&what, (0, 0), (heard.missing, heard.disorders));
        heard_by_all += heard.count;
    }
    for (topic, name) in TOPICS.iter().enumerate() {
        let is_idle = station.wait_for(name, |status| {
            status.totals.queued == 0 && status.totals.outstanding == 0
        });
        if !is_idle.await {
            findings.add(format!(
                "topic {name}: expected its queues to be empty in the end"
            ));
        }
        let published = of_topic(topic).map(|id| accepted[id]).sum();
        match station.status(name).await {
            Some(status) => {
                books::check(&status, QUEUE_BYTES, findings);
                books::check_at_rest(&status, published, findings);
                check_residents(&status, residents, topic, published, findings);
            }
            None => findings.add(format!("the hub does not tell of topic {name}")),
        }
    }
    heard_by_all
}

/// Checks that the hub tells of those who stay that they lost nothing.
fn check_residents(
    status: &floe_hub::contracts::floe::TopicStatus,
    residents: &[Resident],
    topic: usize,
    published: i64,
    findings: &Findings,
) {
    for resident in residents.iter().filter(|resident| resident.topic == topic) {
        let told = books::find(status, &resident.name);
        let told = told.map(|info| (info.offered, books::lost(&info.lost)));
        findings.expect(
            &format!("{}: offered, lost", resident.name),
            Some((published, 0)),
            told,
        );
    }
}
