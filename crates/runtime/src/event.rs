//! Events: requests on their way to another object, unopened.

use bytes::Bytes;
use floe_wire::encoding::{Decoder, EncodingVersion};
use floe_wire::message::IncomingRequest;

/// Operation, mode, context and parameters of a request, as they stood on the wire.
///
/// A clone shares the bytes: an event for a thousand subscribers is held once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    bytes: Bytes,
}

impl Event {
    pub(crate) fn new(request: &IncomingRequest) -> Self {
        Self {
            bytes: request.event(),
        }
    }

    /// The same in memory of its own. An event otherwise keeps the whole buffer alive that it was
    /// read into, which is up to 256 KiB long: too much where small events wait.
    #[must_use]
    pub fn detached(&self) -> Self {
        Self {
            bytes: Bytes::copy_from_slice(&self.bytes),
        }
    }

    /// The operation.
    pub fn operation(&self) -> &str {
        let mut decoder = Decoder::new(&self.bytes, EncodingVersion::V1_0);
        decoder
            .str("operation")
            .expect("the request was checked when it was parsed")
    }

    /// The bytes: operation, mode, context and parameters, in the protocol's order.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Length in bytes.
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Never: an event has at least an operation's size, a mode, a context and an encapsulation.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }
}
