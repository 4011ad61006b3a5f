//! Buffers that the reading of a connection borrows from its thread while there is something to read.

use bytes::BytesMut;
use floe_wire::connection::{Event, Replies};
use floe_wire::message::HeaderCache;

use super::buffer_pool::{self, BufferPool};
use super::dispatching::{DispatchBuffers, Dispatching};
use super::reply_sink::Recipient;

/// Buffers that a connection needs while there is something to read, and not while it waits for that.
#[derive(Default)]
pub(super) struct ReadBuffers {
    /// Replies that were taken from the input, and are to be given to their callers.
    pub(super) replies: Replies<Recipient>,
    /// The event that was taken from it, and is to be handled.
    pub(super) event: Option<Event<Recipient>>,
    pub(super) cache: HeaderCache,
    /// Of the input, while the input does not have it.
    pub(super) room: BytesMut,
    /// Of the dispatching, while the dispatching does not have them.
    dispatch: DispatchBuffers,
    is_dispatching: bool,
}

thread_local! {
    /// Those of connections that wait.
    static POOL: BufferPool<Box<ReadBuffers>> = const { BufferPool::new(Vec::new()) };
}

impl ReadBuffers {
    /// Some of this thread's.
    pub(super) fn take() -> Box<Self> {
        buffer_pool::take(&POOL).unwrap_or_default()
    }

    pub(super) fn put_back(buffers: Box<Self>) {
        buffer_pool::put_back(&POOL, buffers);
    }

    /// Gives the dispatching its buffers, before a request is dispatched: a connection that reads nothing but
    /// replies need not touch them.
    #[inline]
    pub(super) fn lend_to(&mut self, dispatching: &mut Dispatching) {
        if !std::mem::replace(&mut self.is_dispatching, true) {
            dispatching.take_buffers(&mut self.dispatch);
        }
    }

    /// Takes them back: there is nothing to read.
    #[inline]
    pub(super) fn take_back(&mut self, dispatching: &mut Dispatching) {
        if std::mem::take(&mut self.is_dispatching) {
            dispatching.return_buffers(&mut self.dispatch);
        }
    }
}
