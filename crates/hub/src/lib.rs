//! The hub: an event service, IceStorm-compatible.
//!
//! A publisher invokes operations on a topic's publisher object; the hub hands each request,
//! unopened, to every subscriber of the topic, and over links to other topics. Programs written for
//! ZeroC IceStorm 3.7 and 3.8 use it unchanged.
//!
//! ```
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let communicator = floe::Communicator::new();
//! let mut settings = floe_hub::HubSettings::default();
//! settings.listen = "tcp -h 127.0.0.1 -p 0".to_owned();
//! let hub = floe_hub::Hub::start(&communicator, settings).await?;
//! println!("ready {}", hub.topic_manager());
//! // Publishers and subscribers come and go.
//! hub.shutdown().await;
//! communicator.shutdown().await;
//! # Ok(())
//! # }
//! ```
//!
//! - `core/`: what the hub decides, pure
//! - `service/`: the running hub: servants, and the tasks that deliver
//! - `store/`: keeps topics and subscriptions when the process ends
//! - [`log`]: keeps the events of durable topics
//! - [`contracts`]: how a hub shows its status
//! - `settings.rs`, `error.rs`, `lock.rs`

mod blocking_work;
pub mod contracts;
mod core;
mod error;
mod lock;
pub mod log;
#[cfg(test)]
mod random;
mod service;
mod settings;
mod store;

pub use core::{HubLimits, LimitUse, OverflowPolicy, QOS_KEYS, QueueLimits, WAITING_FACET};
pub use error::{HubError, StoreError};
pub use service::{
    BACKUP, DURABLE_TOPICS, HUB_ADMIN, Hub, HubLatencies, HubView, LatencyCounts, METRICS_MAPS,
};
pub use settings::{AdminSettings, DurableSettings, HubSettings, StoreSettings};
pub use store::{inspect_store_record, is_reading_store};
