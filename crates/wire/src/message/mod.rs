//! The messages of the protocol: a header of 14 bytes and, in three of five, a body.
//!
//! Incoming messages keep the bytes that arrived ([`IncomingRequest`], [`RequestBatch`], [`IncomingReply`]): their
//! fields are checked once and then borrowed. Outgoing messages are written straight into a buffer ([`RequestHead`],
//! [`reply`], [`BatchWriter`]).

mod batch;
mod batch_scan;
mod compression;
mod error;
mod event_batches;
mod fields;
mod head;
mod head_cache;
mod header;
mod incoming;
mod mode;
mod refused_request;
pub mod reply;
mod request;
mod request_batch;
mod single_request;
mod system_exception;

pub use batch::BatchWriter;
#[cfg(feature = "zstd")]
pub(crate) use batch_scan::request_lens;
pub use compression::{Compression, CompressionError};
pub use error::ProtocolError;
pub use event_batches::EventBatches;
pub use head::{Context, PreparedHead, RequestHead, RequestTarget};
pub use head_cache::HeadCache;
pub use header::{
    CLOSE_CONNECTION, HEADER_LEN, Header, MESSAGE_SIZE_MAX_DEFAULT, MessageType,
    VALIDATE_CONNECTION,
};
pub use incoming::Message;
pub use mode::OperationMode;
pub use refused_request::RefusedRequest;
pub use reply::{IncomingReply, Outcome};
pub(crate) use request::RequestError;
pub use request::{IncomingRequest, RequestId};
pub use request_batch::RequestBatch;
pub use single_request::SingleRequest;
pub use system_exception::{RequestFailed, SystemException};
