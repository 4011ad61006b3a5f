//! Requests on their way to another object, undecoded: events, and what becomes of them. The hub and the gateway are made
//! of these.

pub use crate::call::{ConnectionToken, PendingEvent, PendingEvents};
pub use crate::connection::ReplySink;
pub use crate::event::{Event, EventParts, Events, EventsBuilder};
