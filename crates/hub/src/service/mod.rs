//! The hub at work: servants, and the tasks that deliver.
//!
//! - `hub.rs`: a hub as its user sees it; `places.rs`: where it listens
//! - `registry.rs`: all topics, and every change to them
//! - `topic.rs`, `subscriber.rs`, `link.rs`: one of each, around the pure core
//! - `door.rs`: where publishers wait for room in a subscriber's queue
//! - `failure.rs`: what a delivery that failed says of its subscriber
//! - `telling.rs`: what people and subscribers are told of losses
//! - `past_topics.rs`: topics that were destroyed
//! - `status.rs`: what is known of all of it; `metrics.rs`: the same as IceStorm measures it
//! - `one_line.rs`, `count.rs`: what peers say, for the log; counts, for peers
//! - `delivery/`: how events leave, a file for each mode
//! - `servants/`: the objects that peers invoke

mod count;
mod delivery;
mod door;
mod failure;
mod hub;
mod link;
mod metrics;
mod one_line;
mod past_topics;
mod places;
mod registry;
mod servants;
mod status;
mod subscriber;
mod telling;
mod topic;

pub use hub::{Hub, HubView};
pub use servants::HUB_ADMIN;
