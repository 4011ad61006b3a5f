//! The view that operators and monitoring programs have of a hub.
//!
//! - `status.rs`: the status of the hub, its topics and its subscribers
//! - `durable.rs`: the logs of durable topics, and how far their subscriptions are behind
//! - `recent_losses.rs`: where and when events were lost
//! - `measured.rs`: topics and subscribers, as metrics views measure them

pub(super) mod durable;
pub(super) mod measured;
pub(super) mod recent_losses;
pub(super) mod status;
