//! Proxies as data: what a [`Reference`](crate::Reference) points to, how people read it, and why a text is none.

pub use floe_wire::compression::is_offer;
pub use floe_wire::reference::{ParseReferenceError, Readable, Target};
