//! The fast path of a request that came alone, as nearly all requests do whose callers wait for the reply.
//!
//! The request is dispatched as a batch of one, with fewer copies: it is parsed where it was read, and its reply is
//! written from the buffer that it was encoded into. If the dispatch cannot begin without a wait, the fast path leaves
//! the input untouched, and the request is handled like any batch. ADR 43 has the measurements.

use std::task::Poll;

use floe_wire::connection::SendQueue;
use floe_wire::message::{HeadCache, RequestBatch, SingleRequest};

use super::Dispatching;
use crate::connection::read_buffer::ReadBuffer;
use crate::dispatch::RequestParts;

/// How far the fast path has handled a read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::connection) enum Handled {
    /// Not at all: it is still in the input.
    NotTaken,
    /// Nothing is left to do.
    Done,
    /// A request was dispatched, and [`Dispatching::finish_read`] must follow.
    NeedsFinish,
}

impl Dispatching {
    /// Dispatches a request that came alone, if that can begin without a wait. Its message is the only content of the
    /// input and has `count` bytes. `cache` has its head.
    #[inline]
    pub(in crate::connection) fn dispatch_single(
        &mut self,
        request: SingleRequest,
        input: &mut ReadBuffer,
        count: usize,
        cache: &HeadCache,
    ) -> Handled {
        let Some(mut parts) = self.take_single(&request) else {
            return Handled::NotTaken;
        };
        request.move_into(&mut parts.current.request, input.take_single(count));
        match self.begin(parts, &mut RequestBatch::default()) {
            Poll::Ready(Ok(response)) => self.reply_single(response.into_parts()),
            Poll::Pending => {
                self.defer(cache.request(&request), request.parameters_len());
                Handled::NeedsFinish
            }
            failed => {
                self.end(failed, || cache.request(&request));
                Handled::NeedsFinish
            }
        }
    }

    /// Returns parts for the request if it may be dispatched, and then counts it as taken.
    #[inline]
    fn take_single(&mut self, request: &SingleRequest) -> Option<Box<RequestParts>> {
        let share = self.budget.share_of(request.parameters_len());
        let parts = self.renew()?;
        let may_begin = self.has_budget(share)
            && self.budget.take_adapter_share(&parts)
            && self.connection.lock().machine.accept_request(request.id());
        if !may_begin {
            self.parts = Some(parts);
            return None;
        }
        Some(parts)
    }

    #[inline]
    fn reply_single(&mut self, mut parts: Box<RequestParts>) -> Handled {
        if parts.reply_count == 0 {
            return self.end_single(parts);
        }
        if let Some(came) = parts.events_came {
            self.runs_tasks_first = !self.reply_flush.answers_first(came);
            if self.runs_tasks_first {
                return self.append_single(parts);
            }
        }
        if parts.yields_first {
            self.yields_first = true;
            return self.append_single(parts);
        }
        self.compress_reply(&mut parts);
        self.write_single(parts)
    }

    /// Writes the reply from its own buffer, if it may.
    #[inline]
    fn write_single(&mut self, mut parts: Box<RequestParts>) -> Handled {
        // Long buffers go through the send queue, which decides how long to keep them.
        let is_written = !SendQueue::is_long(&mut self.replies)
            && !SendQueue::is_long(&mut parts.buffer)
            && self
                .connection
                .output
                .send_single_reply(&self.connection, &mut parts.buffer);
        match is_written {
            true => self.end_single(parts),
            false => self.append_single(parts),
        }
    }

    /// Appends the reply to those that leave at the end of the read.
    fn append_single(&mut self, mut parts: Box<RequestParts>) -> Handled {
        self.append_replies(&mut parts.buffer, 1);
        self.take_back(parts);
        Handled::NeedsFinish
    }

    #[inline]
    fn end_single(&mut self, parts: Box<RequestParts>) -> Handled {
        self.take_back(parts);
        self.release();
        Handled::Done
    }
}
