//! The decisions of a gateway, pure: no async, no socket, no clock.
//!
//! - `routing_table.rs`: which objects a client has registered
//! - `filter/`: which objects a client may register, and which requests pass
//! - `forward_mode.rs`: how a request asks to be forwarded
//! - `request_queue.rs`: requests that wait to be forwarded, overrides among them

mod filter;
mod forward_mode;
mod request_queue;
mod routing_table;

pub use filter::{AddressRule, AddressRuleError, UserCategory};

pub(crate) use filter::{AddressFilter, RequestFilter, SortedSet};
pub(crate) use forward_mode::ForwardMode;
pub(crate) use request_queue::{Pushed, QueueLimits, RequestQueue};
pub(crate) use routing_table::RoutingTable;
