//! SOAP programs: this end is their WS-Notification broker.
//!
//! - [`settings`]: the table `[bridge.soap]`
//! - [`mapping`]: the names of events in XML, and whether a topic can be said
//! - [`codec`]: events as elements of XML, read and written
//! - `message/`: envelopes, requests, answers and faults, pure
//! - `link/`: HTTP, pull points and subscriptions
//! - [`world`]: joins them
//!
//! Sources: OASIS Web Services Base Notification 1.3; W3C Web Services Addressing 1.0; SOAP 1.1 and 1.2; XML 1.0;
//! Namespaces in XML 1.0; XML Schema 1.0, part 2.

pub mod codec;
mod link;
pub mod mapping;
mod message;
pub mod settings;
pub mod world;

pub use settings::SoapSettings as Settings;
pub use world::SoapWorld;
