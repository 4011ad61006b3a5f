//! The state of a connection that everyone shares who sends or reads on it.

use floe_wire::connection::Connection as Machine;
use floe_wire::encoding::Buffer;

use super::flush_policy::FlushState;
use super::reply_sink::Recipient;
use super::send_queue::SendQueue;
use crate::error::LocalError;

/// What the lock of a connection guards: the order of everything that is sent, and what is known of it. The lock is
/// never held across a wait or a system call.
pub(super) struct ConnectionState {
    pub(super) machine: Machine<Recipient>,
    pub(super) queue: SendQueue,
    pub(super) flush: FlushState,
    /// Whether anybody waits for output to be written.
    pub(super) has_room_waiters: bool,
    /// Why the connection is closed, once it is.
    pub(super) error: Option<LocalError>,
}

impl ConnectionState {
    pub(super) fn new(machine: Machine<Recipient>, queue: SendQueue) -> Self {
        Self {
            machine,
            queue,
            flush: FlushState::default(),
            has_room_waiters: false,
            error: None,
        }
    }
}

/// The whole messages of a buffer, to which more is being appended. When this is dropped, it takes back what was
/// appended: a message that is not written whole would break all messages behind it.
pub(super) struct Whole<'a> {
    buffer: &'a mut Buffer,
    len: usize,
}

impl<'a> Whole<'a> {
    #[inline]
    pub(super) fn of(buffer: &'a mut Buffer) -> Self {
        let len = buffer.bytes().len();
        Self { buffer, len }
    }

    /// Where to append.
    #[inline]
    pub(super) fn buffer(&mut self) -> &mut Buffer {
        self.buffer
    }

    /// Keeps what was appended: it is whole, too.
    #[inline]
    pub(super) fn keep(self) {
        std::mem::forget(self);
    }
}

impl Drop for Whole<'_> {
    #[inline]
    fn drop(&mut self) {
        self.buffer.truncate(self.len);
    }
}
