//! Requests that a connection lends to a dispatcher.
//!
//! The dispatcher has them only while it is polled on the task that read them. When that poll ends, with or without a
//! result, they return to the connection, which dispatches those that have no reply yet.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Instant;

use floe_wire::encoding::Buffer;
use floe_wire::message::RequestBatch;

use super::origin::AdapterSlot;
use super::{Origin, Request, RequestParts, Response};

/// Replies to the requests of one read are collected up to this many bytes before they are written.
pub(crate) const REPLIES_MAX: usize = 64 * 1024;

/// The requests behind the first one; often there are none.
#[derive(Default)]
pub(crate) struct LentRequests {
    state: Option<Box<LentState>>,
}

/// The place to which lent requests return.
pub(crate) type ReturnSlot = Mutex<Option<Box<LentState>>>;

/// The state that a connection lends.
#[derive(Default)]
pub(crate) struct LentState {
    /// The slot to return to, while the state is lent.
    pub(crate) return_slot: Option<Arc<ReturnSlot>>,
    pub(crate) batch: RequestBatch,
    /// Set while the state is lent.
    pub(crate) adapter: Option<Arc<AdapterSlot>>,
    pub(crate) replies: Buffer,
    pub(crate) reply_count: usize,
    /// Versions of adapter and servants when the servant was found.
    pub(crate) adapter_version: u64,
    pub(crate) servants_version: u64,
    /// A request with longer parameters must wait for the budget.
    pub(crate) parameters_len_max: usize,
    /// Length of the events that were taken.
    pub(crate) taken_len: usize,
    /// The rest of the connection's quantum.
    pub(crate) quantum: LentQuantum,
}

/// The part of a connection's quantum that a dispatcher may use. After that, other connections are due.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct LentQuantum {
    /// The quantum is spent when no more requests than these are left.
    pub(crate) left_min: usize,
    /// When it ends; `None` if so few requests are lent that the clock need not be looked at.
    pub(crate) end: Option<Instant>,
}

impl LentQuantum {
    /// Requests between two looks at the clock, so that a look costs each of them next to nothing.
    pub(crate) const LOOK_INTERVAL: usize = 32;

    /// Returns true if it is over when this many requests are left.
    #[inline]
    fn is_over(&self, left: usize) -> bool {
        left <= self.left_min
            || left.is_multiple_of(Self::LOOK_INTERVAL)
                && self.end.is_some_and(|end| Instant::now() >= end)
    }
}

impl LentRequests {
    #[inline]
    pub(crate) fn lent(state: Box<LentState>) -> Self {
        Self { state: Some(state) }
    }

    /// Waits for a servant. If the servant is not done at the first poll, the requests return to the connection, which
    /// dispatches them meanwhile.
    #[inline]
    pub(crate) fn lent_until_pending<'a, F: Future>(
        &'a mut self,
        servant: Pin<&'a mut F>,
    ) -> LentUntilPending<'a, F> {
        LentUntilPending {
            servant,
            rest: self,
        }
    }

    /// Answers the current request and returns the next one, if the dispatcher may answer that, too.
    ///
    /// # Errors
    /// The response, which the connection does not have yet, if there is no such request.
    #[inline]
    pub(crate) fn next(&mut self, response: Response) -> Result<Request, Response> {
        match &mut self.state {
            Some(state) => state.next(response),
            None => Err(response),
        }
    }

    /// Replaces the parts with those of the next request, if that is to the same object. The request is about to be
    /// taken as an event, and needs no budget.
    #[inline]
    pub(super) fn next_event(&mut self, parts: &mut RequestParts) -> bool {
        match &mut self.state {
            Some(state) => {
                !state.quantum.is_over(state.batch.len())
                    && state.batch.next_to_same_object(&mut parts.current.request)
            }
            None => false,
        }
    }

    /// Records that events of this many bytes were taken.
    pub(super) fn note_taken(&mut self, len: usize) {
        if let Some(state) = &mut self.state {
            state.taken_len = len;
        }
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    #[inline]
    pub(super) fn len(&self) -> usize {
        self.state.as_ref().map_or(0, |state| state.batch.len())
    }

    fn give_back(&mut self) {
        if let Some(mut state) = self.state.take()
            && let Some(return_slot) = state.return_slot.take()
        {
            *return_slot.lock().unwrap_or_else(PoisonError::into_inner) = Some(state);
        }
    }
}

impl Drop for LentRequests {
    #[inline]
    fn drop(&mut self) {
        // This also runs after a servant has panicked.
        if self.state.is_some() {
            self.give_back();
        }
    }
}

impl LentState {
    /// See [`LentRequests::next`].
    fn next(&mut self, response: Response) -> Result<Request, Response> {
        let mut parts = response.into_parts();
        if !self.advance(&mut parts) {
            return Err(Response::of(parts));
        }
        Ok(Request::of(parts))
    }

    /// Keeps the reply, and replaces the parts with those of the next request, if that has the same target as the last
    /// one and can be dispatched without a wait.
    #[inline]
    fn advance(&mut self, parts: &mut RequestParts) -> bool {
        if self.quantum.is_over(self.batch.len()) || !self.is_current(&parts.current.origin) {
            return false;
        }
        let request = &mut parts.current.request;
        if parts.reply_count > 0 {
            let len = self.batch.alike_len(request);
            // A reply that is compressed may take milliseconds, which the connection counts for each.
            if parts.may_compress_reply()
                || len.is_none_or(|len| len > self.parameters_len_max)
                || self.replies.len() + parts.buffer.len() > REPLIES_MAX
            {
                return false;
            }
            self.reply_count += parts.reply_count;
            append(&mut self.replies, &mut parts.buffer);
            parts.clear();
        }
        self.batch
            .next_alike(&mut parts.current.request, self.parameters_len_max)
    }

    /// Returns true if a look-up would find the same dispatcher, and the adapter's budget has room for the request.
    #[inline]
    fn is_current(&self, origin: &Origin) -> bool {
        // A servant may return the response to a request of another connection.
        let Some(slot) = self.adapter.as_ref().filter(|slot| origin.is_of(slot)) else {
            return false;
        };
        let adapter = origin.adapter();
        let is_found = self.adapter_version == slot.version()
            && self.servants_version == adapter.servants_version();
        // If the adapter's budget is used up, each dispatch waits for a share of its own. A batch has a share already.
        is_found && (self.batch.is_serial() || adapter.budget.has_room())
    }
}

/// Polls the servant of one request. If it is not done at the first poll, the other requests return to the connection.
pub(crate) struct LentUntilPending<'a, F> {
    servant: Pin<&'a mut F>,
    rest: &'a mut LentRequests,
}

impl<F: Future> Future for LentUntilPending<'_, F> {
    type Output = F::Output;

    #[inline]
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let polled = self.servant.as_mut().poll(context);
        if polled.is_pending() {
            self.rest.give_back();
        }
        polled
    }
}

/// Appends replies to the buffer and empties their source.
#[inline]
pub(crate) fn append(replies: &mut Buffer, added: &mut Buffer) {
    if replies.is_empty() {
        std::mem::swap(replies, added);
    } else {
        replies.append(added);
    }
}
