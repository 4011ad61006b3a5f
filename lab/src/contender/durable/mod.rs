//! Contenders of the scenario `durable`: a service that stores events, and a publisher, both of them processes.
//!
//! - `case.rs`: what there is to do
//! - `publishing.rs`: what a publisher of ours does, whatever it publishes to
//! - `page_cache.rs`: takes files out of memory before they are read
//! - `floor_replay.rs`: what the floor does for a replay
//! - the rest: the contenders, a file each; those that are built have their sources in `contenders/`
//!
//! What they agree on, in whatever language they are written:
//!
//! ```text
//! PROGRAM [..] service CASE                          prints {"address": text, "pid": number} when it can be reached
//! PROGRAM [..] publisher CASE MILLIS ADDRESS INDEX   publishes events for a quarter of MILLIS and awaits their answers,
//!                                                    does so again for MILLIS, and prints one line
//! ```
//!
//! In a case `replay-N`, the service has stored N events when it says where it is, and the publisher is a subscriber that reads
//! them once.
//!
//! Both live until their stdin ends. A service stores in the folder `TMPDIR`, which the lab makes for each process and removes.
//! The line is `{"calls": [[value, 1]]}`, where the value is the events that were acknowledged, or read, in a second.

mod artemis;
pub(crate) mod case;
mod floe;
mod floor;
mod floor_replay;
mod guide;
mod nats_jetstream;
mod page_cache;
mod publishing;
mod redis;

pub(crate) use artemis::ARTEMIS;
pub(crate) use floe::{FLOE, FLOE_SERVANT};
pub(crate) use floor::FLOOR;
pub(crate) use nats_jetstream::NATS_JETSTREAM;
pub(crate) use redis::REDIS;

use super::events::Service;
use super::program::Program;
use super::{Failure, announce, end_with_stdin};
use crate::measure::Effort;
use case::Case;

/// The parts of a contender.
#[derive(Debug)]
pub(crate) struct DurableContender {
    pub(crate) service: Service,
    pub(crate) publisher: Publisher,
}

/// The program that publishes.
#[derive(Debug)]
pub(crate) enum Publisher {
    /// This very program, started again, with the service's address.
    Own(fn(Case, Effort, address: &str) -> Result<f64, Failure>),
    /// A program that is built when it is first needed.
    Built(&'static Program),
}

impl DurableContender {
    /// Publishes, and says how many events were acknowledged in a second.
    pub(super) fn publish(&self, case: &str, effort: Effort, address: &str) -> Result<(), Failure> {
        let Publisher::Own(publish) = self.publisher else {
            return Err("this program does not run the publisher".into());
        };
        let case = Case::parse(case)?;
        end_with_stdin();
        let mut sample = crate::sample::Sample::new();
        sample.record(publish(case, effort, address)?, 1);
        announce(&sample.to_line())
    }
}

/// The header that the programs in C++ share.
const DURABLE_HPP: (&str, &str) = (
    "durable.hpp",
    include_str!("../../../contenders/durable.hpp"),
);
