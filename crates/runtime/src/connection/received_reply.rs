//! A reply that was read by the thread that waits for it.

use floe_wire::message::IncomingReply;

use crate::error::AttemptError;

/// A reply that was read by the thread that waits for it.
pub(crate) enum ReceivedReply {
    /// The short reply is in the [`ShortReply`] of the thread.
    Short,
    Whole(IncomingReply),
}

/// The result of a request whose reply was read by the waiting thread itself.
pub(super) type ReadReply = Result<ReceivedReply, Box<AttemptError>>;

/// A copy of a short reply with results. A copy costs less than sharing the memory of the read buffer.
pub(crate) struct ShortReply {
    bytes: [u8; Self::LEN_MAX],
    len: usize,
}

impl ShortReply {
    /// Longest message in bytes.
    pub(super) const LEN_MAX: usize = 64;

    /// Makes an empty one.
    #[inline]
    pub(crate) fn new() -> Self {
        Self {
            bytes: [0; Self::LEN_MAX],
            len: 0,
        }
    }

    /// Copies the message in the first `len` of these bytes.
    #[inline]
    pub(super) fn fill(&mut self, bytes: &[u8; Self::LEN_MAX], len: usize) {
        (self.bytes, self.len) = (*bytes, len);
    }

    /// Returns the message.
    #[inline]
    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}
