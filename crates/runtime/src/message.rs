//! The content of messages: outcomes of requests, and how a request failed.

pub use floe_wire::message::{Outcome, ProtocolError, RequestFailed, RequestId};
