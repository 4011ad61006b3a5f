//! The state of a connection that its senders and its reader share.

use floe_wire::connection::{SendQueue, StateMachine};
use floe_wire::encoding::Buffer;

use super::reply_sink::ReplyRecipient;
use crate::byte_account::HeldBytes;
use crate::error::LocalError;

/// The state that the lock of a connection guards: the order of all messages sent, and the protocol's state machine.
/// The lock is never held across an await or a system call.
pub(super) struct ConnectionState {
    pub(super) machine: StateMachine<ReplyRecipient>,
    pub(super) queue: SendQueue,
    /// True if a task waits for the send queue to be written.
    pub(super) has_room_waiters: bool,
    /// The replies that the peer does not read, in the account of all connections; set while the transport is full.
    pub(super) unread_replies: Option<Box<HeldBytes>>,
    /// The reason why the connection is closed, once it is.
    pub(super) error: Option<LocalError>,
}

impl ConnectionState {
    pub(super) fn new(machine: StateMachine<ReplyRecipient>, queue: SendQueue) -> Self {
        Self {
            machine,
            queue,
            has_room_waiters: false,
            unread_replies: None,
            error: None,
        }
    }
}

/// A buffer of whole messages to which more is being appended. Unless [`AppendGuard::keep`] is called, its drop removes
/// the appended bytes again: an incomplete message would corrupt all messages behind it.
pub(super) struct AppendGuard<'a> {
    buffer: &'a mut Buffer,
    len: usize,
}

impl<'a> AppendGuard<'a> {
    #[inline]
    pub(super) fn of(buffer: &'a mut Buffer) -> Self {
        let len = buffer.bytes().len();
        Self { buffer, len }
    }

    /// The buffer to append to.
    #[inline]
    pub(super) fn buffer(&mut self) -> &mut Buffer {
        self.buffer
    }

    /// Keeps the appended bytes, which are whole messages.
    #[inline]
    pub(super) fn keep(self) {
        std::mem::forget(self);
    }
}

impl Drop for AppendGuard<'_> {
    #[inline]
    fn drop(&mut self) {
        self.buffer.truncate(self.len);
    }
}
