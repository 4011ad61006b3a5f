//! HTTP, and what lives behind its URLs.
//!
//! - [`stream`]: a connection that ends when its peer does not read
//! - [`http`]: the server: connections, their limits, whole requests
//! - [`target`]: URLs of consumers, and which addresses may be called
//! - [`consumer`]: posts to a consumer
//! - [`pull_point`]: events that a program takes when it wants to
//! - [`push`]: sends the events of a subscription
//! - [`topic`]: a topic, its events to and from XML; [`topics`]: all of them
//! - [`leases`]: pull points and subscriptions, until they end
//! - [`broker`]: answers requests

mod broker;
mod consumer;
mod http;
mod leases;
mod pull_point;
mod push;
mod stream;
mod target;
mod topic;
mod topics;

pub(super) use broker::{Broker, PLACE};
pub(super) use http::Server;
