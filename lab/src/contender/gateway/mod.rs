//! Contenders of the scenario `gateway`: a router with a back end behind it, and a client that calls through the router.
//!
//! - `case.rs`: what there is to do
//! - `floor.rs`: two hops of bare sockets
//! - `routers.rs`: a gateway of Floe, and a Glacier2
//!
//! What they agree on:
//!
//! ```text
//! PROGRAM [..] service CASE                       prints {"address": text, "pid": number} when router and back end can be reached;
//!                                                 the pid is the router's
//! PROGRAM [..] client CASE MILLIS ADDRESS INDEX   does what the case says, and prints one line
//! ```
//!
//! Both live until their stdin ends: the lab looks at the router's memory while the client has its sessions.

mod case;
mod floor;
mod routers;

pub(crate) use case::Case;
pub(crate) use floor::FLOOR;
pub(crate) use routers::{FLOE_GATEWAY, GLACIER2};

use super::events::Service;
use super::{Failure, Peer};
use crate::measure::Effort;

/// The parts of a contender.
#[derive(Debug)]
pub(crate) struct GatewayContender {
    /// The peer that must be installed; none if only this program is measured.
    pub(crate) peer: Option<&'static Peer>,
    /// The router and the back end.
    pub(crate) service: Service,
    /// The role of the client. It prints its line, and lives until its stdin ends.
    pub(crate) call: fn(Case, Effort, address: &str) -> Result<(), Failure>,
}

impl GatewayContender {
    pub(super) fn call(&self, case: &str, effort: Effort, address: &str) -> Result<(), Failure> {
        (self.call)(Case::parse(case)?, effort, address)
    }
}

/// Why a router does not offer a case.
fn refusal(name: &str) -> Option<&'static str> {
    match Case::parse(name) {
        Ok(_) => None,
        Err(_) => Some("the scenario has no such case"),
    }
}

/// Waits until the lab is done.
fn wait_for_end() {
    // A broken stdin is as good as an ended one.
    let _ = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
}
