//! For clients of gateways: sessions that survive a lost connection.
//!
//! - `session.rs`: such a session, as programs use it, and how it comes back
//! - `exactly_once.rs`: its requests, each sent until it has an answer
//! - `callbacks.rs`: requests of servers, each dispatched once

mod callbacks;
mod exactly_once;
mod session;

pub use session::{ResumableSession, SessionError};
