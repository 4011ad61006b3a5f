//! The participant on its sockets, and the tasks between it and the hub.
//!
//! ```text
//! sockets --> driver (the participant) --> incoming: a task for each topic, publishes to the hub
//!                     ^    <-- Published --/
//!                     \----- Write ------- outgoing: a task for each topic, takes from the hub
//! ```
//!
//! - [`driver`]: the one task that has the participant; it waits for sockets, time and the other tasks, and never for the hub
//! - [`incoming`], [`outgoing`]: the tasks of a topic
//! - [`account`]: who has taken what was written
//! - [`sockets`], [`reach`]: where datagrams come from and go to
//! - [`state`]: what others see of it

mod account;
mod driver;
mod incoming;
mod outgoing;
mod reach;
mod sockets;
mod state;

pub(crate) use driver::{Command, Driver, Inlet, Outlet, SAMPLE_LEN_MAX, Topic, WAITING_MAX};
pub(crate) use incoming::{Incoming, publish_all};
pub(crate) use outgoing::deliver_all;
pub(crate) use reach::{Network, Reach};
pub(crate) use sockets::Sockets;
pub(crate) use state::LinkState;
