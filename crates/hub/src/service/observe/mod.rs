//! What operators and monitoring programs see of a hub.
//!
//! - `status.rs`: the status of the hub, its topics and its subscribers
//! - `metrics.rs`: metrics, as IceStorm has them

pub(super) mod metrics;
pub(super) mod status;
