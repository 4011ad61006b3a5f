//! The buffers that a connection borrows from its thread while there is something to read.

use bytes::BytesMut;
use floe_wire::connection::{ConnectionEvent, Replies};
use floe_wire::message::HeadCache;

use super::buffer_pool::{self, BufferPool};
use super::dispatching::{DispatchBuffers, Dispatching};
use super::reply_recipient::ReplyRecipient;

/// Buffers that a connection needs while it reads, and not while it waits.
#[derive(Default)]
pub(super) struct ReadBuffers {
    /// Replies that were taken from the input for their callers.
    pub(super) replies: Replies<ReplyRecipient>,
    /// The event that was taken from the input and is handled next.
    pub(super) event: Option<ConnectionEvent<ReplyRecipient>>,
    pub(super) cache: HeadCache,
    /// The room of the read buffer, while that does not have it.
    pub(super) room: BytesMut,
    /// The buffers of the dispatching, while that does not have them.
    dispatch: DispatchBuffers,
    is_dispatching: bool,
}

thread_local! {
    /// Buffers that no connection uses at the moment.
    static POOL: BufferPool<Box<ReadBuffers>> = const { BufferPool::new(Vec::new()) };
}

/// Most buffers that a thread keeps. A connection that waits in the middle of its work takes its buffers along, so the
/// thread needs more than one: a hub with ten publishers that publish at the same moment needs ten.
const POOL_MAX: usize = 16;

impl ReadBuffers {
    /// Takes buffers of this thread.
    pub(super) fn take() -> Box<Self> {
        buffer_pool::take(&POOL).unwrap_or_default()
    }

    pub(super) fn put_back(buffers: Box<Self>) {
        buffer_pool::put_back(&POOL, POOL_MAX, buffers);
    }

    /// Lends the dispatching its buffers before a request is dispatched. A connection that reads only replies never
    /// needs them.
    #[inline]
    pub(super) fn lend_to(&mut self, dispatching: &mut Dispatching) {
        if !std::mem::replace(&mut self.is_dispatching, true) {
            dispatching.take_buffers(&mut self.dispatch);
        }
    }

    /// Takes the buffers back when there is nothing to read.
    #[inline]
    pub(super) fn take_back(&mut self, dispatching: &mut Dispatching) {
        if std::mem::take(&mut self.is_dispatching) {
            dispatching.return_buffers(&mut self.dispatch);
        }
    }
}
