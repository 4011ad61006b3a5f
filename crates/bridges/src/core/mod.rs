//! The decisions of bridges. No world, no hub, no clock: they can be tested without any of them.
//!
//! - [`mapping`]: how a topic and its events are said over there, and what is lost by it
//! - [`origin`]: where an event came from, so that it does not return there
//! - `networks`: who may call, and who is called
//! - [`account`]: what came in, went out, was refused or lost

pub mod account;
pub mod mapping;
#[cfg(any(feature = "corba", feature = "soap"))]
pub mod networks;
pub mod origin;
