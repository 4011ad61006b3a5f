//! A long message that is read into a buffer of its own.

use bytes::BytesMut;
use floe_wire::message::Header;

/// Messages from this length on get a buffer of their own.
pub(super) const LONG_MIN: usize = 32 * 1024;

/// A long message, partly read.
#[derive(Debug)]
pub(super) struct Long {
    pub(super) header: Header,
    /// Grows with the bytes that arrive, unless it is a kept buffer.
    pub(super) buffer: BytesMut,
    pub(super) filled: usize,
}

impl Long {
    /// Returns the room for the rest of the message.
    pub(super) fn room(&mut self) -> &mut [u8] {
        if self.filled == self.buffer.len() {
            let len = (self.filled * 2).max(LONG_MIN);
            self.buffer.resize(len.min(self.header.size), 0);
        }
        let end = self.buffer.len().min(self.header.size);
        &mut self.buffer[self.filled..end]
    }
}
