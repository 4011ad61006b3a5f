//! Subscribers, topics and links that come and go.

use std::sync::Arc;
use std::time::Duration;

use floe::contracts::ice_storm::NoSuchLinkError;
use tokio::task::JoinHandle;

use super::{Shared, TOPICS};
use crate::hub::hearing::Hearing;
use crate::hub::listen::Listener;
use crate::hub::station::{Mode, wishes};
use crate::random::Random;

/// How long a passer stays at most, and rests between two visits, in milliseconds.
const STAY_MAX: usize = 400;
/// How long a topic or a link lasts at most, in milliseconds.
const LAST_MAX: usize = 300;
/// How long a process lives at most, in milliseconds.
const LIFE_MAX: usize = 3_000;
/// The policies that passers ask for.
const POLICIES: [&str; 4] = ["drop-oldest", "drop-newest", "disconnect", "block"];
/// Events that may wait for a passer.
const QUEUES: [&str; 3] = ["1", "50", "100000"];

/// Subscribes, hears for a while, and unsubscribes, until the run is over; how many events it heard.
pub(super) async fn pass(shared: Arc<Shared>, number: usize, mut random: Random) -> u64 {
    let station = &shared.station;
    let adapter = station.communicator.adapter("tcp -h 127.0.0.1 -p 0").await;
    let adapter = adapter.expect("a free port");
    adapter.activate();
    let mut heard_in_all = 0;
    let mut visit = 0;
    while !shared.is_over() {
        visit += 1;
        let name = format!("passer-{number}-{visit}");
        let topic = station.topic(random.pick::<&str>(&TOPICS)).await;
        let hearing = Hearing::default();
        let added = adapter.add(name.as_str(), hearing.servant());
        let mode = *random.pick(&Mode::ALL);
        let policy = *random.pick(&POLICIES);
        let queue = match policy {
            // Publishers wait for it, and this is to be full load.
            "block" => "100000",
            _ => *random.pick(&QUEUES),
        };
        let wish = [("floe.overflow", policy), ("floe.queueEvents", queue)];
        let added = added.expect("a new name");
        let (subscriber, qos) = wishes(&added, mode, &wish);
        match topic
            .subscribe_and_get_publisher(&qos, Some(&subscriber))
            .await
        {
            Ok(_) => rest(&mut random, STAY_MAX).await,
            Err(error) => shared
                .findings
                .add(format!("{name}: cannot subscribe: {error}")),
        }
        if let Err(error) = topic.unsubscribe(Some(&subscriber)).await {
            shared
                .findings
                .add(format!("{name}: cannot unsubscribe: {error}"));
        }
        rest(&mut random, STAY_MAX / 4).await;
        adapter.remove(&added.reference().identity, "");
        let heard = hearing.heard();
        heard_in_all += heard.count;
        let what = format!("{name} ({mode:?}, {wish:?}): events out of order");
        shared.findings.expect(&what, 0, heard.disorders);
    }
    adapter.destroy().await;
    heard_in_all
}

/// Makes topics with a subscriber, publishes to them, and destroys them, until the run is over.
pub(super) async fn churn(shared: Arc<Shared>, mut random: Random) -> u64 {
    let station = &shared.station;
    let adapter = station.communicator.adapter("tcp -h 127.0.0.1 -p 0").await;
    let adapter = adapter.expect("a free port");
    adapter.activate();
    let hearing = Hearing::default();
    let subscriber = adapter.add("mayfly", hearing.servant()).expect("the first");
    let mut number = 0;
    while !shared.is_over() {
        number += 1;
        let name = format!("mayfly-{number}");
        let topic = station.topic(&name).await;
        let (subscriber, qos) = wishes(&subscriber, Mode::Oneway, &[]);
        let subscribed = topic
            .subscribe_and_get_publisher(&qos, Some(&subscriber))
            .await;
        let publisher = station.publisher(&station.communicator, &name, "").await;
        let published = publisher.heard(1, number, 0, &[]).await;
        rest(&mut random, LAST_MAX).await;
        let destroyed = topic.destroy().await;
        let all = subscribed
            .map_err(|error| error.to_string())
            .and(published.and(destroyed).map_err(|error| error.to_string()));
        if let Err(error) = all {
            shared.findings.add(format!("topic {name}: {error}"));
        }
    }
    adapter.destroy().await;
    hearing.count()
}

/// Links a topic that lasts to another one and takes the link away, until the run is over.
pub(super) async fn link(shared: Arc<Shared>, mut random: Random) -> u64 {
    let station = &shared.station;
    let from = station.topic(TOPICS[0]).await;
    let to = station.topic("linked").await;
    while !shared.is_over() {
        if let Err(error) = from.link(Some(&to), 0).await {
            shared.findings.add(format!("cannot link: {error}"));
        }
        rest(&mut random, LAST_MAX).await;
        match from.unlink(Some(&to)).await {
            Ok(()) => {}
            // A link whose queue is full loses events and stays.
            Err(NoSuchLinkError::NoSuchLink(_)) => shared.findings.add("a link has gone"),
            Err(error) => shared.findings.add(format!("cannot unlink: {error}")),
        }
        rest(&mut random, LAST_MAX).await;
    }
    0
}

/// Processes that subscribe, and are killed and stopped; they live until the result is dropped.
pub(super) fn mortals(
    shared: &Arc<Shared>,
    count: usize,
    mut random: Random,
) -> JoinHandle<Vec<Listener>> {
    let shared = shared.clone();
    tokio::task::spawn_blocking(move || {
        let (manager, log) = (shared.station.manager(), shared.station.folder());
        let start = |at: usize| {
            let (name, mode) = (format!("mortal-{at}"), Mode::ALL[at % Mode::ALL.len()]);
            Listener::start(&name, manager, TOPICS[at % TOPICS.len()], mode, "3", log)
        };
        let mut mortals: Vec<_> = (0..count).map(start).collect();
        while !shared.is_over() {
            let at = random.below(count);
            sleep(&mut random, LIFE_MAX);
            if random.below(2) == 0 {
                mortals[at].die();
                sleep(&mut random, LAST_MAX);
                mortals[at].come(log);
            } else {
                mortals[at].stop();
                sleep(&mut random, LAST_MAX);
                mortals[at].resume();
            }
        }
        mortals
    })
}

async fn rest(random: &mut Random, milliseconds_max: usize) {
    tokio::time::sleep(millis(random, milliseconds_max)).await;
}

fn sleep(random: &mut Random, milliseconds_max: usize) {
    std::thread::sleep(millis(random, milliseconds_max));
}

fn millis(random: &mut Random, max: usize) -> Duration {
    Duration::from_millis(random.below(max) as u64)
}
