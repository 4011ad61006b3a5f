//! Contenders of the scenario `pubsub-rtt`: a service, a pinger and a replier, all of them processes.
//!
//! - `case.rs`: what there is to do
//! - `pinger.rs`: what a pinger of ours does, whatever is between it and the replier
//! - the rest: the contenders, a file each; those that are built have their sources in `contenders/`
//!
//! What they agree on, in whatever language they are written:
//!
//! ```text
//! PROGRAM [..] service CASE                        prints {"address": text, "pid": number} when it can be reached
//! PROGRAM [..] replier CASE MILLIS ADDRESS INDEX   answers each message of the topic `ping` by its number on the topic `ack`
//! PROGRAM [..] pinger CASE MILLIS ADDRESS INDEX    publishes the message -1 until it is answered, then PRIMERS and MEASURED
//!                                                  messages, each when the one before was answered; prints one line
//! ```
//!
//! Where there is no service, ADDRESS is a name that no other run has. All of them live until their stdin ends. The line is
//! `{"calls": [[nanoseconds, count], ..]}`. A replier ends if a message is not what its case says.

mod artemis;
pub(crate) mod case;
mod cyclonedds;
mod fastdds;
mod floe;
mod floor;
mod guide;
mod icestorm;
mod jacorb;
mod mosquitto;
mod nats;
mod omnievents;
mod pinger;
mod qpid;
mod redis;
mod wsn;
mod zeromq;

pub(crate) mod contract {
    //! The contract, for contenders of other scenarios, too.
    floe::include_contract!("Topics");
}

pub(crate) use artemis::ARTEMIS;
pub(crate) use cyclonedds::CYCLONEDDS;
pub(crate) use fastdds::FASTDDS;
pub(crate) use floe::{FLOE, FLOE_SERVANT};
pub(crate) use floor::FLOOR;
pub(crate) use icestorm::ICESTORM;
pub(crate) use jacorb::JACORB;
pub(crate) use mosquitto::MOSQUITTO;
pub(crate) use nats::NATS;
pub(crate) use omnievents::OMNIEVENTS;
pub(crate) use qpid::QPID;
pub(crate) use redis::REDIS;
pub(crate) use wsn::WSN;
pub(crate) use zeromq::ZEROMQ;

use super::Failure;
use super::events::Service;
use super::program::Program;
use case::Case;

/// The parts of a contender.
#[derive(Debug)]
pub(crate) struct TopicsContender {
    pub(crate) service: Service,
    pub(crate) clients: Clients,
}

/// Pinger and replier.
#[derive(Debug)]
pub(crate) enum Clients {
    /// This very program, started again.
    Own { ping: Role, reply: Role },
    /// A program that is built when it is first needed.
    Built(&'static Program),
}

impl TopicsContender {
    /// The role of a pinger or a replier, if this program plays it.
    pub(super) fn role(&self, name: &str) -> Option<Role> {
        match (&self.clients, name) {
            (Clients::Own { ping, .. }, "pinger") => Some(*ping),
            (Clients::Own { reply, .. }, "replier") => Some(*reply),
            _ => None,
        }
    }
}

/// The role of a pinger or a replier, which gets the service's address.
pub(crate) type Role = fn(Case, address: &str) -> Result<(), Failure>;

/// Why a contender that carries bytes does not offer records.
fn bytes_only(name: &str) -> Option<&'static str> {
    match Case::parse(name).map(|case| case.payload) {
        Ok(case::Payload::Bytes(_)) => None,
        Ok(case::Payload::Records(_)) => {
            Some("it carries bytes; how records become bytes is the program's: see codec")
        }
        Err(_) => Some("the scenario has no such case"),
    }
}

/// The header that the programs in C++ share.
const TOPICS_HPP: (&str, &str) = ("topics.hpp", include_str!("../../../contenders/topics.hpp"));

/// The types, for the contenders that speak CDR.
const TOPICS_IDL: (&str, &str) = ("topics.idl", include_str!("../../../contenders/topics.idl"));
