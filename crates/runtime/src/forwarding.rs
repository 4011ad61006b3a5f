//! Requests on their way to another object, undecoded: events, and what becomes of them. The hub and the gateway are made
//! of these.

pub use crate::call::{ConnectionToken, PendingEvent, PendingEvents};
pub use crate::connection::ReplySink;
pub use crate::event::{Event, EventParts, Events, EventsBuilder};
pub use crate::proxy::given::ConnectionJudge;

/// The key of the context entry in which hubs count how many of them an event has passed. A program that
/// forwards events without their contexts keeps this entry, so that the hubs can end a circle.
pub const HOPS_KEY: &str = "floe.hops";
