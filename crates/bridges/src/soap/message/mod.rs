//! Envelopes, requests, answers and faults. Pure.
//!
//! - [`namespaces`]: of all that is said
//! - [`time`]: dates and durations
//! - [`fault`]: answers to what cannot be done
//! - [`envelope`]: SOAP 1.1 and 1.2 around a body, with the headers of addressing
//! - [`request`]: what a peer asks for
//! - [`answer`]: the bodies of answers, and of notifications

mod answer;
mod envelope;
mod fault;
mod namespaces;
mod request;
mod time;

pub(crate) use answer::{Answer, Notification, notify};
pub(crate) use envelope::{Envelope, Headers, Version, wrap};
pub(crate) use fault::{Fault, NotificationFault};
pub(crate) use request::{Message, Request, Resource, Termination};
pub(crate) use time::{Lease, date_time};
