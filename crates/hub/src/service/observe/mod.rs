//! The view that operators and monitoring programs have of a hub.
//!
//! - `status.rs`: the status of the hub, its topics and its subscribers
//! - `measured.rs`: topics and subscribers, as metrics views measure them

pub(super) mod measured;
pub(super) mod status;
