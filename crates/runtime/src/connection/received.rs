//! Replies as the threads get them that read them themselves.

use floe_wire::message::IncomingReply;

use super::Failure;

/// What a request ends with whose answer was read by the thread that waits for it.
pub(super) type ReadHere = Result<Received, Box<Failure>>;

/// A reply that was read by the thread that waits for it.
pub(crate) enum Received {
    Short(Short),
    Whole(IncomingReply),
}

/// A short reply with results, copied from where it was read: to share its memory would cost more.
pub(crate) struct Short {
    bytes: [u8; Self::LEN_MAX],
    len: usize,
}

impl Short {
    /// The longest one in bytes.
    pub(super) const LEN_MAX: usize = 64;

    /// The one in the first `len` of these bytes.
    #[inline]
    pub(super) fn of(bytes: &[u8; Self::LEN_MAX], len: usize) -> Self {
        Self { bytes: *bytes, len }
    }

    /// The message.
    #[inline]
    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}
