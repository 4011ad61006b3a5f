//! Replies as the threads get them that read them themselves.

use floe_wire::message::IncomingReply;

use crate::error::AttemptError;

/// A reply that was read by the thread that waits for it.
pub(crate) enum ReceivedReply {
    /// It is where the thread had a place for a short one.
    Short,
    Whole(IncomingReply),
}

/// What a request ends with whose answer was read by the thread that waits for it.
pub(super) type ReadReply = Result<ReceivedReply, Box<AttemptError>>;

/// A place for a short reply with results, which is copied from where it was read: to share its memory would cost
/// more.
pub(crate) struct ShortReply {
    bytes: [u8; Self::LEN_MAX],
    len: usize,
}

impl ShortReply {
    /// The longest one in bytes.
    pub(super) const LEN_MAX: usize = 64;

    /// An empty place.
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

    /// The message.
    #[inline]
    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}
