//! What operators, monitoring programs and subscribers are told of a hub.
//!
//! - `status.rs`: what is known of the hub, its topics and its subscribers
//! - `metrics.rs`: the same as IceStorm measures it

pub(super) mod metrics;
pub(super) mod status;
