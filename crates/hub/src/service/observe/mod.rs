//! The view that operators and monitoring programs have of a hub.
//!
//! - `status.rs`: the status of the hub, its topics and its subscribers
//! - `durable.rs`: the logs of durable topics, and how far their subscriptions are behind
//! - `loss_watch.rs`: looks for losses every few seconds
//! - `measured.rs`: topics and subscribers, as metrics views measure them

pub(super) mod durable;
pub(super) mod loss_watch;
pub(super) mod measured;
pub(super) mod status;
