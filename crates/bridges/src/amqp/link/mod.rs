//! Sockets and connections, and what the links of a connection do.
//!
//! - [`broker`]: what all connections share: topics, users, who is there
//! - [`listener`]: accepts connections
//! - [`driver`]: one connection: moves bytes between a socket and the state machine, and decides
//! - [`producer`]: a link on which a program publishes
//! - [`consumer`]: a link on which a program gets events: a subscription of the hub
//! - [`limits`]: how far a program may make things grow

mod broker;
mod consumer;
mod driver;
mod limits;
mod listener;
mod producer;

pub(crate) use broker::{Broker, BrokerTopic};
pub(crate) use limits::SHUTDOWN_TIMEOUT;
pub(crate) use listener::listen;
