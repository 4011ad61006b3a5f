//! Durable topics at run time: their logs, and the positions of their subscriptions.
//!
//! - `folders.rs`: where logs and positions are on disk
//! - `topic_log.rs`: the log of a topic: takes events of publishers, and has the readers
//! - `arrivals.rs`: recognizes events that come again
//! - `reader.rs`: a durable subscription: its position, and the events that it reads next
//! - `pull.rs`: programs that pull these events
//! - `standing.rs`: what a durable subscription tells of itself
//! - `expiry_clock.rs`: which events are too old to be delivered
//! - `held.rs`: events of a sticky subscription that wait for the members that get their keys
//! - `position_saver.rs`: keeps the file of a position up to date
//! - `position_file.rs`: stores a position

mod arrivals;
mod expiry_clock;
mod folders;
mod held;
mod log_counts;
mod position_file;
mod position_saver;
mod pull;
mod reader;
mod standing;
mod topic_log;

pub(crate) use folders::LogFolders;
pub(crate) use pull::pull;
pub(crate) use reader::{Batch, Delivery, HasRead, Readable, Reader, ToRead};
pub(crate) use topic_log::{Appending, Storing, TopicLog};
