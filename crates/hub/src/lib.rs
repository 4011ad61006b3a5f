//! The hub: an event service, IceStorm-compatible.
//!
//! A publisher invokes operations on a topic's publisher object; the hub hands each request,
//! unopened, to every subscriber of the topic. Programs written for ZeroC IceStorm 3.7 and 3.8 use
//! it unchanged.
//!
//! - `core/`: what the hub decides, pure
//! - `service/`: servants, and the tasks that deliver
//! - `store/`: what outlives the process
//! - [`contracts`]: how a hub tells of itself, over the wire
//! - `settings.rs`, `error.rs`

pub mod contracts;
mod core;
mod error;
mod service;
mod settings;
mod store;

pub use core::{OverflowPolicy, QueueLimits};
pub use error::{HubError, StoreError};
pub use service::{HUB_ADMIN, Hub};
pub use settings::{HubSettings, StoreSettings};
