//! Contenders of the scenarios `scale` and `qos`: a service, and a process with all publishers and all subscribers.
//!
//! - `case.rs`: what there is to do
//! - `waves.rs`: what a process of ours does, whatever is between publishers and subscribers
//! - the rest: the contenders, a file each; those that are built have their sources in `contenders/`
//!
//! What they agree on, in whatever language they are written:
//!
//! ```text
//! PROGRAM [..] service CASE                       prints {"address": text, "pid": number} when it can be reached
//! PROGRAM [..] fanout CASE MILLIS ADDRESS INDEX   connects all publishers and subscribers, prints `ready` when each subscriber has
//!                                                 heard each publisher, and waits for a line on stdin; plays waves for a quarter
//!                                                 of MILLIS, and measures them for MILLIS; prints one line
//! ```
//!
//! All of them live until their stdin ends. In a wave each publisher publishes the events of its burst; it ends when every
//! subscriber has got all of them. The line is `{"calls": [[nanoseconds, count], ..], "warm_up": count}`, from the first publication
//! of a wave to the last receipt, divided by the events of a burst. `warm_up` counts the events that each publisher published before,
//! because the service worked for them as well.

pub(crate) mod case;
mod floe;
mod icestorm;
mod mosquitto;
mod nats;
mod redis;
mod waves;
mod zeromq;

use std::sync::Arc;

pub(crate) use floe::{FLOE, FLOE_SERVANT};
pub(crate) use icestorm::ICESTORM;
pub(crate) use mosquitto::MOSQUITTO;
pub(crate) use nats::NATS;
pub(crate) use redis::REDIS;
pub(crate) use zeromq::ZEROMQ;

use super::Failure;
use super::events::Service;
use super::program::Program;
use crate::measure::Effort;
use case::{Case, Quality};
use waves::Waves;

/// The parts of a contender.
#[derive(Debug)]
pub(crate) struct FanoutContender {
    pub(crate) service: Service,
    pub(crate) clients: Clients,
}

/// The process with all publishers and subscribers.
#[derive(Debug)]
pub(crate) enum Clients {
    /// This very program, started again.
    Own(Role),
    /// A program that is built when it is first needed.
    Built(&'static Program),
}

/// The role of that process, which gets the service's address.
pub(crate) type Role = fn(Case, Effort, address: &str) -> Result<(), Failure>;

/// Why a contender does not offer a case: what `why` says of its quality.
fn refusal(name: &str, why: fn(Quality) -> Option<&'static str>) -> Option<&'static str> {
    let case = Case::parse(name);
    case.map_or(Some("the scenario has no such case"), |case| {
        why(case.quality)
    })
}

/// A line on stdin asks for the waves, and its end says that all is over.
fn listen_to_lab(waves: &Arc<Waves>) {
    let waves = waves.clone();
    std::thread::spawn(move || {
        for line in std::io::stdin().lines() {
            match line {
                Ok(_) => waves.asked(),
                Err(_) => break,
            }
        }
        std::process::exit(0);
    });
}

/// The header that the programs in C++ share.
const FANOUT_HPP: (&str, &str) = ("fanout.hpp", include_str!("../../../contenders/fanout.hpp"));
