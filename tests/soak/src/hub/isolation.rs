//! Twenty subscribers, three of which misbehave in every other part of a round: one is stopped, one reads a byte
//! a second, one dies and returns. The other seventeen lose nothing, the counts add up, and the hub stays within
//! the memory that its queues may take. How long events take beside well subscribers and beside bad ones is told,
//! and not judged: that is the machine's affair, too.

use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Args;
use floe::{Adapter, Communicator};
use serde_json::json;

use super::books;
use super::findings::Findings;
use super::hearing::Hearing;
use super::listen::Listener;
use super::publishing::Publishing;
use super::station::{Mode, PATIENCE, Station, wishes};
use super::trickle::Trickle;
use crate::process;

/// Subscribers that do nothing wrong.
const WELL_COUNT: usize = 17;
/// How they get events; batches are left out, for these wait on purpose.
const MODES: [Mode; 3] = [Mode::Twoway, Mode::Ordered, Mode::Oneway];
/// Bytes that may wait for a subscriber.
const QUEUE_BYTES: i64 = 2 << 20;
/// The memory that the hub may take besides its queues: buffers of connections, and what the allocator keeps.
const OTHER_BYTES: u64 = 16 << 20;
/// Events that may be on their way to the well subscribers: few, so that no queue of theirs is ever full.
const AHEAD_MAX: i64 = 64;
/// Events that are being published at a time.
const WINDOW: usize = 32;
/// The most that an event may carry: queues of well subscribers are never full.
const LOAD_MAX: usize = QUEUE_BYTES as usize / (AHEAD_MAX as usize + WINDOW) - 1024;
/// The longest stop: half of the time after which the hub gives up an event without an answer. A subscriber that goes on
/// later than that hears such events although they do not count as delivered, and some of them twice.
const STOP_MAX: Duration = Duration::from_secs(30);
/// Between two looks at what the hub tells.
const LOOK_INTERVAL: Duration = Duration::from_millis(200);
const TOPIC: &str = "feed";

/// Measures what well subscribers see of bad ones, and fails if they lose an event.
#[derive(Debug, Args)]
pub(crate) struct Isolation {
    /// Rounds, each with a part in which all are well and one in which three are not
    #[arg(long, default_value_t = 20)]
    rounds: usize,
    /// Events in a part
    #[arg(long, default_value_t = 2_000)]
    events: usize,
    /// Bytes that an event carries; so few that no queue of a well subscriber is ever full
    #[arg(long, default_value_t = 4_000, value_parser = load)]
    load: usize,
    /// Events a second; 0 is as many as the well subscribers take
    #[arg(long, default_value_t = 1_000)]
    rate: u32,
    /// Writes the result to this file as JSON, too
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

fn load(text: &str) -> Result<usize, String> {
    let load = text.parse().ok().filter(|load| *load <= LOAD_MAX);
    load.ok_or_else(|| format!("expected a number of bytes up to {LOAD_MAX}"))
}

impl Isolation {
    #[tokio::main(worker_threads = 2)]
    pub(crate) async fn run(&self) -> ExitCode {
        process::raise_descriptor_limit();
        let findings = Findings::default();
        let mut scene = Scene::set().await;
        let mut parts = Vec::new();
        for round in 0..self.rounds {
            let calm = scene.play(self, false, &findings).await;
            let troubled = scene.play(self, true, &findings).await;
            println!("round {}: calm {calm}, troubled {troubled}", round + 1);
            parts.push([calm, troubled]);
        }
        scene.audit(&findings).await;
        let resident = parts.iter().flatten().map(|part| part.resident).max();
        scene.end(&findings).await;
        self.tell(&parts, resident.unwrap_or_default(), &findings)
    }

    fn tell(&self, parts: &[[Part; 2]], resident: u64, findings: &Findings) -> ExitCode {
        let (shown, count) = findings.all();
        let ratios: Vec<f64> = parts
            .iter()
            .map(|[calm, troubled]| f64::from(troubled.median) / f64::from(calm.median.max(1)))
            .collect();
        let ratio = quartiles(ratios.clone());
        println!(
            "median beside bad subscribers / beside well ones: {:.2} ({:.2} to {:.2}); at most {resident} B resident",
            ratio[1], ratio[0], ratio[2]
        );
        shown
            .iter()
            .for_each(|finding| println!("finding: {finding}"));
        if let Some(file) = &self.output {
            let of = |part: &Part| json!({"median_us": part.median, "p99_us": part.p99, "resident": part.resident});
            let rounds: Vec<_> = parts
                .iter()
                .map(|[calm, troubled]| json!({"calm": of(calm), "troubled": of(troubled)}))
                .collect();
            let result = json!({"rounds": rounds, "ratios": ratios, "findings": shown});
            if let Err(error) = fs::write(file, format!("{result:#}\n")) {
                eprintln!("cannot write {}: {error}", file.display());
                return ExitCode::FAILURE;
            }
        }
        match count {
            0 => {
                println!("isolation: passed");
                ExitCode::SUCCESS
            }
            count => {
                println!("isolation: FAILED with {count} findings");
                ExitCode::FAILURE
            }
        }
    }
}

/// The observations of the well subscribers in a part.
#[derive(Debug, Clone, Copy)]
struct Part {
    /// Microseconds.
    median: u32,
    p99: u32,
    /// The most that the hub took, in bytes.
    resident: u64,
}

impl std::fmt::Display for Part {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self {
            median,
            p99,
            resident,
        } = self;
        let megabytes = resident >> 20;
        write!(f, "{median} us (99 %: {p99} us, hub {megabytes} MiB)")
    }
}

/// All who take part.
struct Scene {
    station: Station,
    well: Vec<(Hearing, Adapter)>,
    stopped: Listener,
    mortal: Listener,
    trickle: Trickle,
    publishing: Publishing,
    /// The hub's memory when all had subscribed, in bytes.
    resident: u64,
}

impl Scene {
    async fn set() -> Self {
        let settings =
            format!("[queue]\nbytes = {QUEUE_BYTES}\n[delivery]\ndiscard-interval = \"200ms\"\n");
        let station = Station::start(&settings);
        let topic = station.topic(TOPIC).await;
        let mut well = Vec::new();
        for at in 0..WELL_COUNT {
            let endpoint = "tcp -h 127.0.0.1 -p 0";
            let adapter = station.communicator.adapter(endpoint).await;
            let adapter = adapter.expect("a free port");
            let hearing = Hearing::default();
            let added = adapter.add(well_name(at), hearing.servant());
            adapter.activate();
            let mode = MODES[at % MODES.len()];
            let (subscriber, qos) = wishes(&added.expect("the first"), mode, &[]);
            let subscribed = topic.subscribe_and_get_publisher(&qos, Some(&subscriber));
            subscribed.await.expect("a new subscriber");
            well.push((hearing, adapter));
        }
        let trickle = Trickle::start();
        let subscriber = station.communicator.proxy(&trickle.proxy("trickle"));
        let (subscriber, qos) = wishes(
            &subscriber.expect("a proxy"),
            Mode::Oneway,
            &[("retryCount", "-1")],
        );
        let subscribed = topic.subscribe_and_get_publisher(&qos, Some(&subscriber));
        subscribed.await.expect("a new subscriber");
        let listener = |name, mode| {
            let (manager, log) = (station.manager(), station.folder());
            Listener::start(name, manager, TOPIC, mode, "-1", log)
        };
        let stopped = listener("stopped", Mode::Twoway);
        let mortal = listener("mortal", Mode::Twoway);
        let client = Communicator::new();
        let publisher = station.publisher(&client, TOPIC, "").await;
        Self {
            resident: station.resident(),
            station,
            well,
            stopped,
            mortal,
            trickle,
            publishing: Publishing::new(publisher, 1, WINDOW),
        }
    }

    /// Publishes so many events; three subscribers misbehave if there is to be trouble.
    async fn play(&mut self, plan: &Isolation, is_troubled: bool, findings: &Findings) -> Part {
        self.well.iter().for_each(|(hearing, _)| {
            hearing.take_latencies();
        });
        if is_troubled {
            self.stopped.stop();
            self.trickle.set_slow(true);
            self.mortal.die();
        }
        let began = Instant::now();
        let mut is_stopped = is_troubled;
        let mut next_look = began;
        let mut resident = 0;
        for at in 0..plan.events {
            if at == plan.events / 2 && is_troubled {
                self.mortal.come(self.station.folder());
            }
            if is_stopped && began.elapsed() > STOP_MAX {
                self.stopped.resume();
                is_stopped = false;
            }
            if plan.rate > 0 {
                let due = began + Duration::from_secs(1).mul_f64(at as f64 / f64::from(plan.rate));
                tokio::time::sleep_until(due.into()).await;
            }
            self.wait_for_room(findings).await;
            let published = self.publishing.publish(plan.load).await;
            published.unwrap_or_else(|error| panic!("the hub does not take an event: {error}"));
            if Instant::now() >= next_look {
                next_look = Instant::now() + LOOK_INTERVAL;
                resident = resident.max(self.look(findings).await);
            }
        }
        self.publishing.finish().await.expect("the hub takes them");
        self.hear_all(findings).await;
        let resident = resident.max(self.look(findings).await);
        self.stopped.resume();
        self.trickle.set_slow(false);
        self.rest(findings).await;
        let mut latencies: Vec<u32> = Vec::new();
        for (hearing, _) in &self.well {
            latencies.extend(hearing.take_latencies());
        }
        latencies.sort_unstable();
        let at = |share: f64| {
            let index = (latencies.len() as f64 * share) as usize;
            latencies.get(index).copied().unwrap_or_default()
        };
        Part {
            median: at(0.5),
            p99: at(0.99),
            resident,
        }
    }

    /// Waits until the well subscribers are not far behind.
    async fn wait_for_room(&self, findings: &Findings) {
        let accepted = self.publishing.accepted();
        self.wait_until_heard(accepted - AHEAD_MAX, findings).await;
    }

    /// Waits until the well subscribers have heard all.
    async fn hear_all(&self, findings: &Findings) {
        let accepted = self.publishing.accepted();
        self.wait_until_heard(accepted, findings).await;
    }

    async fn wait_until_heard(&self, count: i64, findings: &Findings) {
        let until = Instant::now() + PATIENCE;
        for (at, (hearing, _)) in self.well.iter().enumerate() {
            while i64::try_from(hearing.count()).unwrap_or(i64::MAX) < count {
                if Instant::now() > until {
                    let heard = hearing.count();
                    return findings.add(format!(
                        "{}: expected {count} events, got {heard} in time",
                        well_name(at)
                    ));
                }
                tokio::time::sleep(Duration::from_micros(200)).await;
            }
        }
    }

    /// Looks at the counts of the hub, and at what it takes; that.
    async fn look(&self, findings: &Findings) -> u64 {
        match self.station.status(TOPIC).await {
            Some(status) => books::check(&status, QUEUE_BYTES, findings),
            None => findings.add("the hub does not tell of its topic"),
        }
        let resident = self.station.resident();
        // Three queues may be full, and hold different events.
        let limit = self.resident + 3 * QUEUE_BYTES.unsigned_abs() + OTHER_BYTES;
        if resident > limit {
            findings.add(format!(
                "the hub: expected at most {limit} B of memory, got {resident} B"
            ));
        }
        resident
    }

    /// Waits until nothing is under way.
    async fn rest(&self, findings: &Findings) {
        let is_idle = self.station.wait_for(TOPIC, |status| {
            status.totals.queued == 0 && status.totals.outstanding == 0
        });
        if !is_idle.await {
            findings.add("the hub: expected its queues to be empty in the end");
        }
    }

    /// Checks what all have heard against what the hub tells.
    async fn audit(&mut self, findings: &Findings) {
        let published = self.publishing.accepted();
        let Some(status) = self.station.status(TOPIC).await else {
            return findings.add("the hub does not tell of its topic");
        };
        books::check(&status, QUEUE_BYTES, findings);
        books::check_at_rest(&status, published, findings);
        for (at, (hearing, _)) in self.well.iter().enumerate() {
            let (name, heard) = (well_name(at), hearing.heard());
            let came = (heard.last_of(1), heard.missing, heard.disorders);
            findings.expect(
                &format!("{name}: heard, missing, disorders"),
                (published, 0, 0),
                came,
            );
            let told = books::find(&status, &name);
            let told = told.map(|info| (info.offered, info.delivered, books::lost(&info.lost)));
            findings.expect(
                &format!("{name}: offered, delivered, lost"),
                Some((published, published, 0)),
                told,
            );
        }
        for name in ["stopped", "mortal", "trickle"] {
            let offered = books::find(&status, name).map(|info| info.offered);
            findings.expect(&format!("offered to {name}"), Some(published), offered);
        }
        let told = books::find(&status, "stopped").map(|info| info.delivered);
        let heard = self.stopped.heard();
        let heard = heard.map(|(count, disorders)| (count.cast_signed(), disorders));
        findings.expect(
            "stopped: heard, disorders",
            told.map(|count| (count, 0)),
            heard,
        );
        let lost = books::find(&status, "stopped").map_or(0, |info| books::lost(&info.lost));
        if lost == 0 {
            findings
                .add("stopped: expected it to lose events, or this shows nothing; publish more");
        }
    }

    async fn end(self, findings: &Findings) {
        if let Err(error) = self.station.end().await {
            findings.add(format!("the hub: {error}"));
        }
    }
}

fn well_name(at: usize) -> String {
    format!("well-{at}")
}

/// The lower quartile, the median and the upper quartile.
fn quartiles(mut of: Vec<f64>) -> [f64; 3] {
    of.sort_by(f64::total_cmp);
    let at = |share: usize| {
        let index = of.len() * share / 4;
        of.get(index.min(of.len().saturating_sub(1))).copied()
    };
    [1, 2, 3].map(|share| at(share).unwrap_or_default())
}
