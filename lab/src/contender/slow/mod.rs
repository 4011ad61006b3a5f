//! Contenders of the scenario `slow`: a server and a client, with a slow line between them.
//!
//! - `case.rs`: what there is to do
//! - `floe.rs`: Floe with each of its compressions
//! - `gateway.rs`: events through a gateway of Floe, and through a Glacier2
//! - `peers.rs`: the programs in C++, whose sources are in `contenders/`
//!
//! What they agree on, in whatever language they are written:
//!
//! ```text
//! PROGRAM [..] server CASE                   listens at FLOE_LAB_HOST, prints one line: where it is reached; lives until its
//!                                            stdin ends
//! PROGRAM [..] client CASE MILLIS ADDRESS    connects, prints `ready` and waits for a line; sends what the case says, prints `sent`
//!                                            and waits for a line; makes sure that all has come, and prints
//!                                            {"calls": [[nanoseconds, count], ..]}
//! ```
//!
//! How much is sent does not depend on MILLIS.

pub(crate) mod case;
mod floe;
mod gateway;
mod peers;

use std::time::Instant;

pub(crate) use floe::{FLOE, FLOE_BROTLI, FLOE_BZIP2, FLOE_STREAM, FLOE_ZSTD};
pub(crate) use gateway::{FLOE_GATEWAY, FLOE_GATEWAY_PLAIN, GLACIER2, GLACIER2_PLAIN};
pub(crate) use peers::{GRPC_CPP, GRPC_CPP_GZIP, ICE, ICE_BZIP2, OMNIORB};

use super::{Failure, Peer, announce};
use crate::sample::Sample;
use case::Case;

/// The types and interfaces.
#[allow(missing_docs)]
pub(crate) mod contract {
    floe::include_contract!("Documents");
}

/// A contender of the scenario `slow`.
#[derive(Debug)]
pub(crate) struct SlowContender {
    /// The peer that must be installed; none if only this program is measured.
    pub(crate) peer: Option<&'static Peer>,
    pub(crate) serve: fn(case: Case) -> Result<(), Failure>,
    pub(crate) call: fn(case: Case, address: &str) -> Result<Sample, Failure>,
}

impl SlowContender {
    pub(super) fn serve(&self, case: &str) -> Result<(), Failure> {
        (self.serve)(Case::parse(case)?)
    }

    pub(super) fn call(&self, case: &str, address: &str) -> Result<Sample, Failure> {
        (self.call)(Case::parse(case)?, address)
    }
}

/// Says how far it is, and waits until it shall go on: the lab reads the counters of the line meanwhile.
fn pause(word: &str) -> Result<(), Failure> {
    announce(word)?;
    let mut line = String::new();
    match std::io::stdin().read_line(&mut line)? {
        0 => Err("expected a line that says go, got the end".into()),
        _ => Ok(()),
    }
}

/// When the connection is there.
pub(crate) const READY: &str = "ready";
/// When everything was sent.
pub(crate) const SENT: &str = "sent";

/// Adds the time since `started`.
fn note(sample: &mut Sample, started: Instant) {
    sample.record(started.elapsed().as_nanos() as f64, 1);
}
