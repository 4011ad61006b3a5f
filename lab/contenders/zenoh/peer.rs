//! The scenario `events` with zenoh: a router in a process of its own, publishers and subscribers as its clients, over
//! TCP on loopback. A put is acknowledged by nobody; where a queue is full it waits, and drops nothing.

use std::io::Read;
use std::net::{Ipv4Addr, TcpListener};
use std::sync::{Mutex, PoisonError};

use zenoh::qos::CongestionControl;
use zenoh::{Config, Wait};

use crate::contender::events::case::{Case, Work};
use crate::contender::events::publishing::publish_all;
use crate::contender::events::tally::Tally;
use crate::contender::{Failure, announce};
use crate::measure::Effort;

const KEY: &str = "tick";

/// Runs the router.
pub(crate) fn serve() -> Result<(), Failure> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let endpoint = format!("tcp/{}", listener.local_addr()?);
    // The port was free a moment ago.
    drop(listener);
    let _router = zenoh::open(config("router", "listen/endpoints", &endpoint)?).wait()?;
    let pid = std::process::id();
    announce(&format!("{{\"address\": \"{endpoint}\", \"pid\": {pid}}}"))?;
    wait_for_end();
    Ok(())
}

pub(crate) fn publish(
    case: Case,
    effort: Effort,
    address: &str,
    index: usize,
) -> Result<(), Failure> {
    let session = zenoh::open(config("client", "connect/endpoints", address)?).wait()?;
    let publisher = session
        .declare_publisher(KEY)
        .congestion_control(CongestionControl::Block)
        // What is express does not wait for others to share a batch with.
        .express(case.work != Work::Batched)
        .wait()?;
    publish_all(case, effort, index, |numbers| {
        for number in numbers {
            publisher.put(number.to_le_bytes().as_slice()).wait()?;
        }
        Ok(())
    })
}

pub(crate) fn subscribe(case: Case, effort: Effort, address: &str) -> Result<(), Failure> {
    let session = zenoh::open(config("client", "connect/endpoints", address)?).wait()?;
    // Guards what the one connection counts: nobody waits.
    let tally = Mutex::new(Tally::new(case, effort));
    let _subscriber = session
        .declare_subscriber(KEY)
        .callback(move |sample| {
            let mut tally = tally.lock().unwrap_or_else(PoisonError::into_inner);
            let taken = match sample.payload().to_bytes().as_ref().try_into() {
                Ok(bytes) => tally.take(i64::from_le_bytes(bytes)),
                Err(_) => Err("expected 8 bytes from zenoh".into()),
            };
            if let Err(error) = taken {
                eprintln!("{error}");
                std::process::exit(1);
            }
        })
        .wait()?;
    wait_for_end();
    Ok(())
}

/// Without looking for others than the one that is named.
fn config(mode: &str, endpoints: &str, endpoint: &str) -> Result<Config, Failure> {
    let mut config = Config::default();
    config.insert_json5("mode", &format!("\"{mode}\""))?;
    config.insert_json5(endpoints, &format!("[\"{endpoint}\"]"))?;
    config.insert_json5("scouting/multicast/enabled", "false")?;
    config.insert_json5("scouting/gossip/enabled", "false")?;
    Ok(config)
}

/// The end of stdin says that all is over.
fn wait_for_end() {
    // A broken stdin is as good as an ended one.
    let _ = std::io::stdin().read_to_end(&mut Vec::new());
}
