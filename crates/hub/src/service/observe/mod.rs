//! What operators, monitoring programs and subscribers are told of a hub.
//!
//! - `status.rs`: what is known of the hub, its topics and its subscribers
//! - `metrics.rs`: the same as IceStorm measures it
//! - `loss_log.rs`: what the log and subscribers are told of losses

mod loss_log;
pub(super) mod metrics;
pub(super) mod status;
