//! A batch of messages that is being written.

use bytes::Buf;

use crate::encoding::Buffer;

/// Bytes that are being written.
#[derive(Debug)]
pub struct WriteBatch {
    buffer: Box<Buffer>,
}

impl WriteBatch {
    /// Makes a batch of these bytes.
    pub fn of(buffer: Buffer) -> Self {
        Self::new(Box::new(buffer))
    }

    #[inline]
    pub(super) fn new(buffer: Box<Buffer>) -> Self {
        Self { buffer }
    }

    #[inline]
    pub(super) fn into_buffer(self) -> Box<Buffer> {
        self.buffer
    }

    /// Returns the bytes that are still to be written.
    #[inline]
    pub fn remaining(&self) -> &Buffer {
        &self.buffer
    }

    /// Counts bytes as written, and releases shared ones. Returns true if all are written.
    #[inline]
    pub fn advance(&mut self, count: usize) -> bool {
        if count == self.buffer.len() && !self.buffer.has_pieces() {
            // The usual case. The buffer is cleared when it is put back.
            return true;
        }
        self.buffer.advance(count);
        self.buffer.is_empty()
    }
}
