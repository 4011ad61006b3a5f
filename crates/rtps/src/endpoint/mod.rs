//! Writers and readers: what they keep, what they know of those at the other end, and what they send.
//!
//! An endpoint is a part of a [`Participant`](crate::participant::Participant), which finds the other ends and gives it
//! submessages. It never sends by itself: the participant asks it for datagrams until there are none.
//!
//! ```text
//! writer   history --fresh, in order, within the send window--> reader proxy
//!          reader proxy --ACKNACK, NACK_FRAG--> what is sent again, at most once in `REPAIR_INTERVAL`
//! reader   DATA, DATA_FRAG --reassembled, in order--> queue --> the caller
//!          HEARTBEAT, GAP --> what is missing --> ACKNACK, NACK_FRAG
//! ```

mod history;
mod limits;
mod outgoing;
mod reader;
mod reader_proxy;
mod reassembly;
mod sample;
#[cfg(test)]
mod tests;
mod writer;
mod writer_proxy;

pub use limits::EndpointLimits;
pub use sample::{ChangeKind, Received, Sample};
pub use writer::WriteError;

pub(crate) use outgoing::Outgoing;
pub(crate) use reader::{Reader, ReaderEvent};
pub(crate) use writer::{Writer, WriterEvent};
