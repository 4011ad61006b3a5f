//! The hub at work: servants, and the tasks that deliver.
//!
//! - `hub.rs`: a hub as its user sees it; `listeners.rs`: where it listens
//! - `registry.rs`: all topics, and every change to them
//! - `topic.rs`, `subscriber.rs`, `link.rs`: one of each, around the pure core
//! - `backpressure.rs`: where publishers wait for room in a subscriber's queue
//! - `failure.rs`: what a delivery that failed says of its subscriber
//! - `past_topics.rs`: topics that were destroyed
//! - `observe/`: what operators, monitoring programs and subscribers are told
//! - `one_line.rs`, `count.rs`: what peers say, for the log; counts, for peers
//! - `delivery/`: how events leave, a file for each mode
//! - `servants/`: the objects that peers invoke

mod backpressure;
mod count;
mod delivery;
mod destroyed_topics;
mod directory;
mod failure;
mod hub;
mod listeners;
mod observe;
mod one_line;
mod registry;
mod servants;
mod subscriber;
mod topic;
mod topic_link;

pub use hub::{Hub, HubView};
pub use servants::HUB_ADMIN;
