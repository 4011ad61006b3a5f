//! The subscriber of the example `exactly-once` is killed at any moment, and all events are delivered to it again: its table
//! has each event once, and in order.
//!
//! `FLOE_EXACTLY_ONCE_SEED` repeats a run as far as time allows.

use std::process::Command;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use exactly_once::demo::OrdersProxy;
use floe::hub::HubClient;
use floe_tests::hub::{Data, serve};
use floe_tests::peer::Peer;
use floe_tests::workspace;
use rusqlite::{Connection, OpenFlags};
use tokio::runtime::Runtime;

/// Kills in a run.
const ROUNDS: u64 = 10;
/// Orders that are published before each life of the subscriber, and as many before its last one.
const ORDERS_PER_LIFE: i32 = 24;
const ORDERS: i32 = (ROUNDS as i32 + 1) * ORDERS_PER_LIFE;
/// It has written 1 to this many orders when its last moments begin.
const WRITTEN_MAX: u64 = 12;
/// It is killed within this time.
const LAST_MOMENTS: Duration = Duration::from_millis(10);

#[test]
fn a_killed_subscriber_has_each_event_in_its_table_once() {
    let seed = std::env::var("FLOE_EXACTLY_ONCE_SEED").ok();
    let mut seed = seed.and_then(|seed| seed.parse().ok()).unwrap_or_else(|| {
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        since.map_or(1, |since| since.as_nanos() as u64)
    });
    println!("FLOE_EXACTLY_ONCE_SEED={seed}");
    let (data, files) = (Data::new("exactly-once"), Data::new("exactly-once-files"));
    std::fs::create_dir_all(files.path()).expect("the target folder can be written");
    let (_hub, manager) = serve(&data, "tcp -h 127.0.0.1 -p 0");
    floe(&["topic", "create", "sales", "--durable", "--hub", &manager]);
    let (_, endpoint) = manager.split_once(':').expect("an endpoint");

    let file = files.path().join("orders.db");
    let subscriber = || {
        let program = workspace::program("exactly-once-subscriber");
        let mut command = Command::new(program);
        command.arg(endpoint).arg(&file).arg(ORDERS.to_string());
        Peer::start("exactly-once-subscriber", &mut command)
    };
    let position = ["topic", "position", "sales", "table", "--hub", &manager];
    for round in 0..ROUNDS {
        publish(endpoint, round);
        let mut subscriber = subscriber();
        for _ in 0..=random(&mut seed) % WRITTEN_MAX {
            subscriber.line_after("order ");
        }
        let moments = random(&mut seed) % LAST_MOMENTS.as_micros() as u64;
        std::thread::sleep(Duration::from_micros(moments));
        subscriber.kill();
        if round % 2 == 1 {
            // Not only the order that was under way comes again, but all of them.
            floe(&[&position[..], &["--set", "beginning"]].concat());
        }
    }
    publish(endpoint, ROUNDS);
    subscriber().succeed();

    let read_only = OpenFlags::SQLITE_OPEN_READ_ONLY;
    let table = Connection::open_with_flags(&file, read_only).expect("a database");
    let mut rows = table
        .prepare("SELECT number FROM orders ORDER BY rowid")
        .expect("the table is there");
    let rows = rows.query_map([], |row| row.get(0)).expect("a query");
    let numbers: Vec<i32> = rows.collect::<Result<_, _>>().expect("numbers");
    assert_eq!(numbers, (0..ORDERS).collect::<Vec<_>>());
}

/// Publishes the orders of a life.
fn publish(endpoint: &str, life: u64) {
    let first = life as i32 * ORDERS_PER_LIFE;
    let runtime = Runtime::new().expect("a runtime");
    runtime.block_on(async {
        let hub = HubClient::connect(endpoint).await.expect("the hub answers");
        let topic = hub.topic("sales").await.expect("it was created");
        let orders: OrdersProxy = topic.publisher().await.expect("the hub answers");
        for number in first..first + ORDERS_PER_LIFE {
            let placed = orders.placed(number, "bread").await;
            placed.expect("the hub stores it");
        }
    });
}

fn floe(arguments: &[&str]) {
    let mut command = Command::new(workspace::program("floe"));
    Peer::start("floe", command.args(arguments)).succeed();
}

fn random(seed: &mut u64) -> u64 {
    // A splitmix64 step.
    *seed = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mixed = (*seed ^ (*seed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed ^ (mixed >> 27)
}
