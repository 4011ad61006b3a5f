//! The decisions of a gateway, pure: no async, no socket, no clock.
//!
//! - `routing_table.rs`: which objects a client has registered
//! - `filter/`: which objects a client may register, and which requests pass
//! - `forward_mode.rs`: how a request asks to be forwarded
//! - `exactly_once.rs`: requests that cross a connection which may break
//! - `login_throttle.rs`: slows login attempts; `token_bucket.rs`: limits the rate of requests
//! - `request_queue.rs`: requests that wait to be forwarded, overrides among them
//! - `server_window.rs`: requests that wait for the answers of a server

mod exactly_once;
mod filter;
mod forward_mode;
mod login_throttle;
mod request_queue;
mod routing_table;
mod server_window;
mod token_bucket;

pub use filter::{AddressRule, AddressRuleError, UserCategory};

pub(crate) use exactly_once::{Admission, DedupWindow, Outstanding};
pub(crate) use filter::{AddressFilter, RequestFilter, SortedSet, text_len};
pub(crate) use forward_mode::ForwardMode;
pub(crate) use login_throttle::{LoginThrottle, TooManyAttempts};
pub(crate) use request_queue::{Pushed, QueueLimits, RequestQueue};
pub(crate) use routing_table::RoutingTable;
pub(crate) use server_window::{DOUBT_AFTER, ServerWindow};
pub(crate) use token_bucket::TokenBucket;
