//! Values as people write them, in a file of settings and on a command line.
//!
//! - `endpoint.rs`: endpoints, also as `HOST:PORT`
//! - `locator.rs`: the proxy of a locator
//! - `shown.rs`: figures of durable topics, as texts
//! - `size.rs`: bytes with a unit
//! - `time.rs`: times with a unit

pub mod endpoint;
pub mod locator;
pub mod shown;
pub mod size;
mod time;

pub use time::{parse_time, parse_time_or_none};
