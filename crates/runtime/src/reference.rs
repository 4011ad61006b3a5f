//! Proxies as data: what a [`Reference`](crate::Reference) points to, how people read it, which of its endpoints only
//! offer compression, and the errors of a text that is not a proxy.

pub use floe_wire::compression::is_offer;
pub use floe_wire::reference::{ParseReferenceError, Readable, Target};
