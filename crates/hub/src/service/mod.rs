//! The running hub: its servants, and the tasks that deliver.
//!
//! Each module uses only modules above it in this list:
//!
//! - `one_line.rs`, `count.rs`: text from peers for the log; counts for the contracts
//! - `pace.rs`: lets other tasks run between the steps of long work
//! - `latency.rs`: how long events wait, and how long answers take
//! - `last_counts.rs`: counters that outlive their topic or subscriber, for metrics views
//! - `failure.rs`: classifies the failure of a delivery
//! - `lifespan.rs`: the lifespan of a topic's events
//! - `user_accounts.rs`, `client.rs`: the limited things that each user has; who began a subscription
//! - `topic_link.rs`: the other end of a link
//! - `catch_up.rs`: readers that are far behind, and the live traffic beside which they read
//! - `durable/`: the logs of durable topics, and the positions of their subscriptions
//! - `subscriber.rs`, `subscribers.rs`, `topic.rs`, `destroyed_topics.rs`: around the pure core
//! - `directory.rs`: the objects of the hub by name
//! - `dead_letters.rs`: events that could not be delivered
//! - `delivery/`: how events leave, a file for each mode
//! - `guard/`: asks the rules who may do what
//! - `registry.rs`: every change to topics, subscriptions and links
//! - `backup.rs`: copies what the hub keeps on disk, while it goes on
//! - `queue_memory.rs`: keeps all queues together within their memory
//! - `reserve_watch.rs`: takes the reserve of the disk again
//! - `recent_losses.rs`: where and when events were lost
//! - `observe/`: status and metrics
//! - `servants/`: the objects that peers invoke
//! - `listeners.rs`, `hub.rs`: the adapters, and the hub as its user sees it

mod backup;
mod catch_up;
mod client;
mod count;
mod dead_letters;
mod delivery;
mod destroyed_topics;
mod directory;
mod durable;
mod failure;
mod guard;
mod hub;
mod last_counts;
mod latency;
mod lifespan;
mod listeners;
mod observe;
mod one_line;
mod pace;
mod queue_memory;
mod recent_losses;
mod registry;
mod reserve_watch;
mod servants;
mod subscriber;
mod subscribers;
mod topic;
mod topic_link;
mod user_accounts;

pub use hub::{Hub, HubView};
pub use latency::{HubLatencies, LatencyCounts};
pub use observe::measured::METRICS_MAPS;
pub use servants::{BACKUP, DURABLE_TOPICS, HUB_ADMIN};
