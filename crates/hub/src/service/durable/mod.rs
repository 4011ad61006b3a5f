//! Durable topics at run time: their logs, and the positions of their subscriptions.
//!
//! - `folders.rs`: where logs and positions are on disk
//! - `topic_log.rs`: the log of a topic: takes events of publishers, and has the readers
//! - `arrivals.rs`: recognizes events that come again
//! - `reader.rs`: a durable subscription, as its delivery tasks share it; `reader_state.rs`: what it knows
//! - `delivery.rs`: what it and the delivery tasks pass to one another
//! - `feed.rs`, `log_source.rs`: what it has read, and from where
//! - `pull.rs`: programs that pull these events
//! - `progress.rs`: the progress of a durable subscription, for observers
//! - `expiry_clock.rs`: which events are too old to be delivered
//! - `sticky_events.rs`: events of a sticky subscription that wait for the members that get their keys
//! - `dead_letter_topic.rs`: where the events go that cannot be delivered, and who has chosen that
//! - `position_saver.rs`: keeps the file of a position up to date
//! - `position_file.rs`: stores a position

mod arrivals;
mod dead_letter_topic;
mod delivery;
mod expiry_clock;
mod feed;
mod folders;
mod log_counts;
mod log_source;
mod position_file;
mod position_saver;
mod progress;
mod pull;
mod reader;
mod reader_state;
mod sticky_events;
mod topic_log;

pub(crate) use dead_letter_topic::DeadLetterTopic;
pub(crate) use delivery::{Batch, Delivery, HasRead, Readable, ToRead};
pub(crate) use folders::{KeptFile, LogFolders};
pub(crate) use progress::SubscriptionLag;
pub(crate) use pull::pull;
pub(crate) use reader::Reader;
pub(crate) use topic_log::{Appending, Storing, TopicLog};
