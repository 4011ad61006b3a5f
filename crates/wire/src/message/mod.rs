//! The messages of the protocol: a header of 14 bytes and, in three of five, a body.
//!
//! What arrives is kept as the bytes that arrived ([`IncomingRequest`], [`IncomingReply`]): its
//! fields are checked once and then borrowed. What leaves is written straight into a buffer
//! ([`RequestHeader`], [`reply`], [`BatchWriter`]).

mod batch;
mod context;
mod error;
mod event_batches;
mod fields;
mod head;
mod header;
mod incoming;
mod known;
mod mode;
pub mod reply;
mod request;
mod row;
mod run;
mod sole;
mod system_exception;

pub use batch::{BatchWriter, IncomingBatch};
pub use context::Context;
pub use error::ProtocolError;
pub use event_batches::EventBatches;
pub use head::{PreparedHead, RequestHead, Target};
pub use header::{
    CLOSE_CONNECTION, HEADER_LEN, Header, MESSAGE_SIZE_MAX_DEFAULT, MessageType,
    VALIDATE_CONNECTION,
};
pub use incoming::Message;
pub use known::KnownHead;
pub use mode::OperationMode;
pub use reply::{IncomingReply, Outcome};
pub use request::{IncomingRequest, RequestHeader, RequestId};
pub use row::{AlikeEvent, Next};
pub use run::IncomingRun;
pub use sole::SoleRequest;
pub use system_exception::{RequestFailed, SystemException};
