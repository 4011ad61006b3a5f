//! A hub under load: what its events came to, whatever its subscribers do.
//!
//! - `load.rs`: full load for a while, with subscribers, topics and links that come and go
//! - `isolation.rs`: some subscribers misbehave, and the others notice nothing
//! - `stalled.rs`: one is stopped at a steady rate, and what the others get in each second
//! - `flood.rs`: batched publishers at full speed, beside subscribers that stop, crawl and return
//! - `station.rs`: the hub, as a process, and what it tells
//! - `books.rs`: whether its counts add up
//! - `publishing.rs`, `hearing.rs`: both ends of events
//! - `listen.rs`, `trickle.rs`: subscribers that are stopped, killed, or hardly read
//! - `findings.rs`: what must not be

mod books;
mod findings;
pub(crate) mod flood;
pub(crate) mod hearing;
pub(crate) mod isolation;
pub(crate) mod listen;
pub(crate) mod load;
mod publishing;
pub(crate) mod stalled;
pub(crate) mod station;
mod trickle;
