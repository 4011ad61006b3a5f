//! DDS: this bridge is a participant of a domain.
//!
//! - [`settings`]: the table `[bridge.dds]`
//! - [`mapping`]: topics, their names and types
//! - [`codec`]: events as samples
//! - `link`: sockets, and the participant on them
//! - `world`: joins them

pub mod codec;
mod link;
pub mod mapping;
pub mod settings;
mod world;

pub use settings::Settings;
pub use world::Dds;
