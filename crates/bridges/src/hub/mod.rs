//! The hub, as a world sees it. Everything goes through proxies, as for any client of a hub.
//!
//! - `plan`: a topic before anything is started
//! - `port`: a topic of a running bridge
//! - `publisher`: events from the other world; `deliveries`: events for it
//! - `event`: an event as the hub delivers it, undecoded

mod deliveries;
mod event;
mod plan;
mod port;
mod publisher;

pub use deliveries::{Deliveries, Delivery};
pub use event::HubEvent;
pub use plan::TopicPlan;
pub use port::Port;
pub use publisher::{PublishError, Publisher};
