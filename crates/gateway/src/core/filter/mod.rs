//! Filters: which objects a client may register, and which of its requests pass.
//!
//! - `address.rs`: rules about hosts and ports
//! - `host.rs`: hosts in one spelling, and patterns of them; `pattern.rs`: patterns of texts and numbers
//! - `request.rs`: sets of categories, identities and adapter ids

mod address;
mod host;
mod pattern;
mod request;

pub use address::{AddressRule, AddressRuleError};
pub use request::UserCategory;

pub(crate) use address::{AddressFilter, text_len};
pub(crate) use request::{RequestFilter, SortedSet};
