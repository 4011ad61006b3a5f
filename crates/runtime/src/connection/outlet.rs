//! Where messages are appended that leave a connection.
//!
//! It stands apart from the connection, so that who sends much may keep it: it holds no socket, and a connection
//! that has ended has taken its messages out of it.

use std::sync::{Mutex, MutexGuard, PoisonError};

use floe_wire::connection::Connection as Machine;
use floe_wire::encoding::{Buffer, EncodeError};

use super::burst::{Burst, ENOUGH};
use super::output::Output;
use super::sending::Appended;
use super::told::Recipient;
use crate::error::LocalError;

/// The output of a connection and its state, shared by all who append to it.
pub(crate) struct Outlet {
    /// Guards the order of everything that is sent, and what is known of it. Never held across a
    /// wait or a system call.
    shared: Mutex<Shared>,
    /// Bytes in the output above which nothing more is appended.
    output_limit: usize,
}

pub(super) struct Shared {
    pub(super) machine: Machine<Recipient>,
    pub(super) output: Output,
    pub(super) burst: Burst,
    /// Whether anybody waits for output to be written.
    pub(super) has_room_waiters: bool,
    /// Why the connection is closed, once it is.
    pub(super) error: Option<LocalError>,
}

/// What became of a message that was to join others.
pub(crate) enum Extended {
    /// Nothing: it must leave in another way.
    No,
    /// It leaves with the others.
    Joined,
    /// The same, and they are so many that they shall leave now.
    Enough(Appended<()>),
}

impl Outlet {
    pub(super) fn new(machine: Machine<Recipient>, output: Output, output_limit: usize) -> Self {
        let shared = Shared {
            machine,
            output,
            burst: Burst::default(),
            has_room_waiters: false,
            error: None,
        };
        Self {
            shared: Mutex::new(shared),
            output_limit,
        }
    }

    /// Appends a message that gets no reply to others that somebody is about to write, if there is room.
    #[inline]
    pub(crate) fn extend_burst(
        &self,
        write: impl FnOnce(&mut Buffer) -> Result<(), EncodeError>,
    ) -> Extended {
        let mut shared = self.lock();
        let Shared {
            machine,
            output,
            burst,
            ..
        } = &mut *shared;
        if !burst.is_flush_due() || output.len() > self.output_limit || !machine.is_active() {
            return Extended::No;
        }
        let start = output.end();
        let mut whole = Whole::of(output.pending());
        if write(whole.buffer()).is_err() {
            return Extended::No;
        }
        whole.keep();
        if output.pending_len() < ENOUGH {
            return Extended::Joined;
        }
        let end = output.end();
        Extended::Enough(Appended {
            value: (),
            start,
            end,
            is_tried: false,
        })
    }

    #[inline(always)]
    pub(super) fn lock(&self) -> MutexGuard<'_, Shared> {
        // A panic while the lock is held leaves whole messages behind, see `Whole`.
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The whole messages of a buffer, to which more is being appended. One that is not written whole would break all
/// that follow.
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

    /// What was appended is whole, too.
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
