//! The decisions of bridges. No world, no hub, no clock: they can be tested without any of them.
//!
//! - [`mapping`]: how a topic and its events are said over there, and what is lost by it
//! - [`origin`]: where an event came from, so that it does not return there
//! - [`account`]: what came in, went out, was refused or lost

pub mod account;
pub mod mapping;
pub mod origin;
