//! One of four subscribers is stopped while events are offered at a steady rate: what the other three get in each
//! second, and what the hub takes. It must lose nothing for the three, and stay within the
//! memory that its queues may take.

use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Args;
use floe::{Adapter, Communicator, Proxy, TypedProxy};
use serde_json::json;

use super::books;
use super::findings::Findings;
use super::hearing::Hearing;
use super::listen::Listener;
use super::publishing::micros;
use super::station::{Mode, PATIENCE, Station, topic, wishes};
use crate::contract::feed::ListenerProxy;
use crate::process;

/// Subscribers that do nothing wrong.
const WELL_COUNT: usize = 3;
/// Bytes that an event carries.
const LOAD: usize = 100;
/// Bytes that may wait for a subscriber of Floe's hub: full after some seconds.
const QUEUE_BYTES: i64 = 8 << 20;
/// The memory that a full queue may take in all: so short an event takes more than its length again for where it
/// stands.
const QUEUE_MEMORY: u64 = 3 * QUEUE_BYTES.unsigned_abs();
/// The memory that the hub may take besides that: buffers of connections, and what the allocator keeps.
const OTHER_BYTES: u64 = 8 << 20;
/// Events leave so often.
const TICK: Duration = Duration::from_millis(1);
/// Seconds of each part that do not count: connections are made, the queue fills.
const LEAD: usize = 2;
const TOPIC: &str = "feed";

/// Measures what three subscribers get while a fourth one is stopped.
#[derive(Debug, Args)]
pub(crate) struct Stalled {
    /// Seconds in which all are well, and then seconds in which one is stopped
    #[arg(long, default_value_t = 15, value_parser = clap::value_parser!(u64).range(5..))]
    seconds: u64,
    /// Events a second
    #[arg(long, default_value_t = 20_000, value_parser = clap::value_parser!(u32).range(1..))]
    rate: u32,
    /// Writes the result to this file as JSON, too
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// A second of it.
#[derive(Debug, Clone, Copy)]
struct Second {
    /// Events that were offered, and that the well subscriber with the fewest got.
    offered: f64,
    heard: f64,
    resident: u64,
}

impl Stalled {
    #[tokio::main(worker_threads = 2)]
    pub(crate) async fn run(&self) -> ExitCode {
        process::raise_descriptor_limit();
        let findings = Findings::default();
        let station = Station::start(&format!("[queue]\nbytes = {QUEUE_BYTES}\n"));
        let client = Communicator::new();
        let subscribed_to = topic(&client, station.manager(), TOPIC).await;
        let mut well = Vec::new();
        for at in 0..WELL_COUNT {
            well.push(subscriber(&client, &subscribed_to, at).await);
        }
        let (manager, log) = (station.manager(), station.folder());
        let mut stopped = Listener::start("stopped", manager, TOPIC, Mode::Oneway, "-1", log);
        let publisher = subscribed_to.get_publisher().await.expect("a topic");
        let publisher = publisher.ice_batch_oneway();
        let mut offering = Offering::new(ListenerProxy::from_proxy(publisher), self.rate);
        let calm = self.part(&mut offering, &well, &station).await;
        stopped.stop();
        let stalled = self.part(&mut offering, &well, &station).await;
        hear_all(&well, offering.offered, &findings).await;
        check(&station, &calm, &stalled, offering.offered, &findings).await;
        // Stopped, it would not end.
        stopped.resume();
        drop(stopped);
        if let Err(error) = station.end().await {
            findings.add(format!("the hub: {error}"));
        }
        self.tell(&calm, &stalled, &findings)
    }

    /// Offers events for some seconds, and looks each second at what came.
    async fn part(
        &self,
        offering: &mut Offering,
        well: &[(Hearing, Adapter)],
        station: &Station,
    ) -> Vec<Second> {
        let heard = || {
            let counts = well.iter().map(|(hearing, _)| hearing.count());
            counts.collect::<Vec<_>>()
        };
        let mut seconds = Vec::new();
        offering.begin();
        let mut before = (Instant::now(), offering.offered, heard());
        for _ in 0..self.seconds {
            offering
                .offer_until(before.0 + Duration::from_secs(1))
                .await;
            let now = (Instant::now(), offering.offered, heard());
            let taken = (now.0 - before.0).as_secs_f64();
            let fewest = now
                .2
                .iter()
                .zip(&before.2)
                .map(|(now, before)| now - before);
            seconds.push(Second {
                offered: (now.1 - before.1) as f64 / taken,
                heard: fewest.min().unwrap_or_default() as f64 / taken,
                resident: station.resident(),
            });
            before = now;
        }
        seconds
    }

    fn tell(&self, calm: &[Second], stalled: &[Second], findings: &Findings) -> ExitCode {
        let (shown, count) = findings.all();
        let (calm, stalled) = (Summary::of(calm), Summary::of(stalled));
        println!("all well:    {calm}\none stopped: {stalled}");
        println!(
            "the worst second beside a stopped subscriber / the worst beside well ones: {:.3}",
            stalled.worst / calm.worst.max(1.0)
        );
        for finding in &shown {
            println!("finding: {finding}");
        }
        if let Some(file) = &self.output {
            let result = json!({"calm": calm.json(), "stalled": stalled.json(), "findings": shown});
            if let Err(error) = fs::write(file, format!("{result:#}\n")) {
                eprintln!("cannot write {}: {error}", file.display());
                return ExitCode::FAILURE;
            }
        }
        match count {
            0 => {
                println!("stalled: passed");
                ExitCode::SUCCESS
            }
            count => {
                println!("stalled: FAILED with {count} findings");
                ExitCode::FAILURE
            }
        }
    }
}

/// The summary of the seconds of a part.
struct Summary {
    /// Events a second, over all that counts.
    offered: f64,
    /// In the worst second, of the well subscriber with the fewest.
    worst: f64,
    /// At the first second that counts, and at the last.
    resident: [u64; 2],
}

impl Summary {
    fn of(seconds: &[Second]) -> Self {
        let counting = &seconds[LEAD.min(seconds.len() - 1)..];
        let offered: f64 = counting.iter().map(|second| second.offered).sum();
        let heard = counting.iter().map(|second| second.heard);
        Self {
            offered: offered / counting.len() as f64,
            worst: heard.fold(f64::INFINITY, f64::min),
            resident: [counting[0].resident, counting[counting.len() - 1].resident],
        }
    }

    fn json(&self) -> serde_json::Value {
        json!({"offered": self.offered, "worst": self.worst, "resident": self.resident})
    }
}

impl std::fmt::Display for Summary {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let [first, last] = self.resident.map(|bytes| bytes as f64 / 1e6);
        write!(
            f,
            "{:.0} events/s offered, {:.0} heard in the worst second; the hub takes {first:.1} MB, then {last:.1} MB",
            self.offered, self.worst
        )
    }
}

/// Events at a steady rate.
struct Offering {
    publisher: ListenerProxy,
    rate: u32,
    offered: i64,
    began: Instant,
    offered_before: i64,
}

impl Offering {
    fn new(publisher: ListenerProxy, rate: u32) -> Self {
        Self {
            publisher,
            rate,
            offered: 0,
            began: Instant::now(),
            offered_before: 0,
        }
    }

    /// From now on the rate counts: what was not offered in time before is not made up for.
    fn begin(&mut self) {
        self.began = Instant::now();
        self.offered_before = self.offered;
    }

    async fn offer_until(&mut self, end: Instant) {
        while Instant::now() < end {
            let due = self.began.elapsed().as_secs_f64() * f64::from(self.rate);
            while self.offered - self.offered_before < due as i64 {
                self.offered += 1;
                let added = self.publisher.heard(0, self.offered, micros(), &[7; LOAD]);
                added.await.expect("a batch takes it");
            }
            let flushed = self.publisher.ice_flush_batch().await;
            flushed.expect("the hub takes them");
            tokio::time::sleep(TICK).await;
        }
    }
}

async fn subscriber(
    client: &Communicator,
    topic: &floe::contracts::ice_storm::TopicProxy,
    at: usize,
) -> (Hearing, Adapter) {
    let adapter = client.adapter("tcp -h 127.0.0.1 -p 0").await;
    let adapter = adapter.expect("a free port");
    let hearing = Hearing::default();
    let added = adapter.add(well_name(at), hearing.servant());
    adapter.activate();
    let added: Proxy = added.expect("the first");
    let (subscriber, qos) = wishes(&added, Mode::Oneway, &[]);
    let subscribed = topic.subscribe_and_get_publisher(&qos, Some(&subscriber));
    subscribed.await.expect("a new subscriber");
    (hearing, adapter)
}

/// Waits until the well subscribers have heard all, in order.
async fn hear_all(well: &[(Hearing, Adapter)], offered: i64, findings: &Findings) {
    let until = Instant::now() + PATIENCE;
    for (at, (hearing, _)) in well.iter().enumerate() {
        while hearing.heard().last_of(0) < offered && Instant::now() < until {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        let heard = hearing.heard();
        let came = (heard.last_of(0), heard.missing, heard.disorders);
        let what = format!("{}: heard, missing, disorders", well_name(at));
        findings.expect(&what, (offered, 0, 0), came);
    }
}

/// Checks what the hub tells, and that a full queue is all that it took.
async fn check(
    station: &Station,
    calm: &[Second],
    stalled: &[Second],
    offered: i64,
    findings: &Findings,
) {
    let Some(status) = station.status(TOPIC).await else {
        return findings.add("the hub does not tell of its topic");
    };
    books::check(&status, QUEUE_BYTES, findings);
    for at in 0..WELL_COUNT {
        let told = books::find(&status, &well_name(at));
        let told = told.map(|info| (info.offered, books::lost(&info.lost)));
        let what = format!("{}: offered, lost", well_name(at));
        findings.expect(&what, Some((offered, 0)), told);
    }
    let resident = |seconds: &[Second]| seconds.iter().map(|second| second.resident).max();
    let (before, most) = (resident(calm), resident(stalled));
    let limit = before.unwrap_or_default() + QUEUE_MEMORY + OTHER_BYTES;
    if most > Some(limit) {
        findings.add(format!(
            "the hub: expected at most {limit} B of memory, got {most:?}"
        ));
    }
}

fn well_name(at: usize) -> String {
    format!("well-{at}")
}
