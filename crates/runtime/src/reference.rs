//! Proxies as data: what a [`Reference`](crate::Reference) points to, how people read it, and the errors in a text that
//! is no proxy.

pub use floe_wire::compression::is_offer;
pub use floe_wire::reference::{ParseReferenceError, Readable, Target};
