//! The messages of GIOP 1.0, 1.1 and 1.2: one after another in a stream of bytes.
//!
//! ```text
//! client sends  Request  CancelRequest  LocateRequest  (Fragment)  MessageError
//! server sends  Reply    LocateReply    CloseConnection (Fragment) MessageError
//! ```
//!
//! [`Message::split`] takes whole messages off a stream, and [`Reassembly`] joins fragments. Messages are sent whole;
//! [`fragments`] divides one for a peer that wants it so.
//!
//! Source: CORBA 3.0.3, 15.4 "GIOP Message Formats".

mod body;
mod context;
mod control;
mod error;
mod fragments;
mod header;
mod locate;
mod reply;
mod request;
mod target;

pub use body::Body;
pub use context::{SERVICE_CONTEXTS_MAX, ServiceContext, context_id};
pub use control::{CancelRequest, encode_close_connection, encode_message_error};
pub use error::ProtocolError;
pub use fragments::{FRAGMENTED_MESSAGES_MAX, Reassembly, fragments};
pub use header::{HEADER_LEN, Header, MESSAGE_LEN_MAX_DEFAULT, Message, MessageType};
pub use locate::{LocateReply, LocateRequest, LocateStatus, encode_locate_reply};
pub use reply::{Outcome, Reply, ReplyHead, ReplyStatus};
pub use request::{Request, RequestHead, ResponseExpected};
pub use target::{AddressingMode, Target};

/// The number of a request. The client chooses it; it is unique among those of a connection that are in flight.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RequestId(pub u32);

#[cfg(test)]
mod tests;
