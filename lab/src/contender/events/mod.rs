//! Contenders of the scenario `events`: a service, publishers and subscribers each, all of them processes.
//!
//! - `case.rs`: what there is to do
//! - `number.rs`: what an event says
//! - `publishing.rs`, `tally.rs`: what publishers and subscribers of ours do, whatever is between them
//! - `daemon.rs`: starts services that are programs of others
//! - the rest: the contenders, a file each; those that are built have their sources in `contenders/`
//!
//! What they agree on, in whatever language they are written:
//!
//! ```text
//! PROGRAM [..] service CASE                             prints {"address": text, "pid": number} when it can be reached
//! PROGRAM [..] subscriber CASE MILLIS ADDRESS INDEX     prints `ready` when it has got something of each publisher;
//!                                                       when all publishers have ended, a line with "delivered"
//! PROGRAM [..] publisher CASE MILLIS ADDRESS INDEX      publishes probes until a line comes on stdin, then events for
//!                                                       a quarter of MILLIS, a mark, events for MILLIS, and an end;
//!                                                       prints {"published": count}
//! ```
//!
//! Where there is no service, ADDRESS is a name that no other run has. All of them live until their stdin ends. `pid` is
//! the process whose time and memory count. The line of a subscriber is `{"calls": [[value, count], ..], "delivered": count}`;
//! the values are nanoseconds in a case of latency, and else one value: events a second.

mod artemis;
pub(crate) mod case;
mod cyclonedds;
pub(crate) mod daemon;
mod fastdds;
mod floe;
mod floor;
mod guide;
mod iceoryx2;
mod icestorm;
mod mosquitto;
mod nats;
mod nats_jetstream;
mod number;
mod omnievents;
mod publishing;
mod qpid;
mod redis;
mod tally;
mod zenoh;
mod zeromq;

use std::path::Path;

use serde_json::json;

pub(crate) use artemis::ARTEMIS;
pub(crate) use cyclonedds::CYCLONEDDS;
pub(crate) use fastdds::FASTDDS;
pub(crate) use floe::{FLOE, FLOE_RULES, FLOE_SERVANT, FLOE_TUNED};
pub(crate) use floor::FLOOR;
pub(crate) use iceoryx2::ICEORYX2;
pub(crate) use icestorm::ICESTORM;
pub(crate) use mosquitto::MOSQUITTO;
pub(crate) use nats::{CONNECTION_HPP as NATS_CONNECTION_HPP, NATS};
pub(crate) use nats_jetstream::NATS_JETSTREAM;
pub(crate) use omnievents::OMNIEVENTS;
pub(crate) use qpid::QPID;
pub(crate) use redis::REDIS;
pub(crate) use zenoh::ZENOH;
pub(crate) use zeromq::ZEROMQ;

use super::program::Program;
use super::{Failure, announce};
use crate::measure::Effort;
use case::Case;

/// The parts of a contender.
#[derive(Debug)]
pub(crate) struct EventsContender {
    pub(crate) service: Service,
    pub(crate) clients: Clients,
}

/// The service between publishers and subscribers.
#[derive(Debug)]
pub(crate) enum Service {
    /// This very program, started again, which may start another one.
    Own(fn(case: &str) -> Result<(), Failure>),
    /// The program of the publishers and subscribers has one.
    Built,
    /// Nothing: they find one another, by a name that the lab gives to them as the address.
    Nobody,
}

/// Publishers and subscribers.
#[derive(Debug)]
pub(crate) enum Clients {
    /// This very program, started again.
    Own(Cast),
    /// A program that is built when it is first needed.
    Built(&'static Program),
}

/// Publishers and subscribers of this very program.
#[derive(Debug)]
pub(crate) struct Cast {
    pub(crate) publish: Role,
    pub(crate) subscribe: Role,
}

impl Service {
    /// Runs the service, if it is this program's to run.
    pub(super) fn serve(&self, case: &str) -> Result<(), Failure> {
        match self {
            Self::Own(serve) => serve(case),
            Self::Built | Self::Nobody => Err("this program does not run the service".into()),
        }
    }
}

impl EventsContender {
    /// The role of a publisher or a subscriber, if this program plays it.
    pub(super) fn role(&self, name: &str) -> Option<Role> {
        match (&self.clients, name) {
            (Clients::Own(cast), "publisher") => Some(cast.publish),
            (Clients::Own(cast), "subscriber") => Some(cast.subscribe),
            _ => None,
        }
    }
}

/// The hub of the `floe` command, for contenders of other scenarios.
pub(crate) const FLOE_SERVICE: fn(case: &str) -> Result<(), Failure> = |_| floe::serve(&[]);

/// The same, which collects events for batch subscribers as long as the IceStorm of the lab does.
pub(crate) const FLOE_BATCHING_SERVICE: fn(case: &str) -> Result<(), Failure> = |_| {
    let settings = daemon::scratch("floe.toml");
    std::fs::write(&settings, "[delivery]\nflush-interval = \"10ms\"\n")?;
    floe::serve(&["--config", utf8(&settings)?])
};

/// A path as an argument of a program.
fn utf8(path: &Path) -> Result<&str, Failure> {
    Ok(path.to_str().ok_or("the path of a folder is no UTF-8")?)
}

/// Starts the hub with these arguments instead of `--transient`, once it is prepared with the proxy of its topic manager.
pub(crate) fn serve_floe_hub(
    arguments: &[&std::ffi::OsStr],
    prepare: impl FnOnce(&str) -> Result<(), Failure>,
) -> Result<(), Failure> {
    floe::serve_hub(arguments, prepare)
}

/// A NATS server, of this program and with these further settings, for the same.
pub(crate) const NATS_SERVER: fn(program: &Path, further: &str) -> Result<(), Failure> =
    |program, further| nats::serve(program, further);

/// IceStorm in an IceBox, for the same.
pub(crate) const ICESTORM_SERVICE: fn(case: &str) -> Result<(), Failure> = |_| icestorm::serve();

/// A mosquitto, for the same.
pub(crate) const MOSQUITTO_SERVICE: fn(case: &str) -> Result<(), Failure> = |_| mosquitto::serve();

/// A NATS server without JetStream, for the same.
pub(crate) const NATS_SERVICE: fn(case: &str) -> Result<(), Failure> =
    |_| nats::serve("nats-server", "");

/// omniEvents with the channels of the scenario `pubsub-rtt`; what follows its address is the name of a channel.
pub(crate) const OMNIEVENTS_SERVICE: fn(case: &str) -> Result<(), Failure> =
    |_| omnievents::serve(&["ping", "ack"], "");

/// A Redis server, for the same.
pub(crate) const REDIS_SERVICE: fn(case: &str) -> Result<(), Failure> = |_| redis::serve();

/// The role of a publisher or a subscriber, which gets the service's address and its own number.
pub(crate) type Role = fn(Case, Effort, address: &str, index: usize) -> Result<(), Failure>;

/// Says that the service can be reached, and which process it is.
pub(crate) fn announce_service(address: &str, pid: u32) -> Result<(), Failure> {
    announce(&json!({"address": address, "pid": pid}).to_string())
}

/// Why a contender does not offer a case: what `why` says of it.
fn refusal(name: &str, why: fn(Case) -> Option<&'static str>) -> Option<&'static str> {
    Case::parse(name).map_or(Some("the scenario has no such case"), why)
}

/// The header that the programs in C++ share.
const EVENTS_HPP: (&str, &str) = ("events.hpp", include_str!("../../../contenders/events.hpp"));

/// The type, for the contenders of DDS.
const EVENTS_IDL: (&str, &str) = ("events.idl", include_str!("../../../contenders/events.idl"));

/// The sources of a contender in a Rust package of its own: its `Cargo.toml`, `Cargo.lock` and `peer.rs`, and what all of
/// them have in common, for which they use the lab's own publishers and subscribers. See `contenders/events.rs`.
macro_rules! rust_sources {
    ($folder:literal) => {
        &[
            (
                "Cargo.toml",
                include_str!(concat!("../../../packed/", $folder, ".manifest.toml")),
            ),
            (
                "Cargo.lock",
                include_str!(concat!("../../../packed/", $folder, ".lock.toml")),
            ),
            (
                "src/peer.rs",
                include_str!(concat!("../../../packed/", $folder, ".peer.txt")),
            ),
            ("src/main.rs", include_str!("../../../contenders/events.rs")),
            ("src/measure.rs", include_str!("../../measure.rs")),
            ("src/sample.rs", include_str!("../../sample.rs")),
            ("src/contender/events/case.rs", include_str!("case.rs")),
            ("src/contender/events/number.rs", include_str!("number.rs")),
            (
                "src/contender/events/publishing.rs",
                include_str!("publishing.rs"),
            ),
            ("src/contender/events/tally.rs", include_str!("tally.rs")),
        ]
    };
}
use rust_sources;

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// The word that follows each `crate::` of a source.
    fn crate_paths(text: &str) -> impl Iterator<Item = &str> {
        let is_part = |letter: char| letter.is_alphanumeric() || letter == '_';
        let parts = text.split("crate::").skip(1);
        parts.map(move |rest| rest.split(|letter| !is_part(letter)).next().unwrap_or(rest))
    }

    #[test]
    fn files_of_the_lab_find_all_that_they_use_in_a_package_of_its_own() {
        for contender in [&ZENOH, &ICEORYX2] {
            let sources = contender.program().unwrap().sources;
            let modules: BTreeSet<_> = sources
                .iter()
                .filter_map(|(name, _)| name.strip_prefix("src/"))
                .map(|name| name.split(['/', '.']).next().unwrap())
                .collect();
            let used = sources.iter().filter(|(name, _)| name.ends_with(".rs"));
            for (name, text) in used {
                for path in crate_paths(text) {
                    assert!(modules.contains(path), "{name} uses crate::{path}");
                }
            }
        }
    }
}
