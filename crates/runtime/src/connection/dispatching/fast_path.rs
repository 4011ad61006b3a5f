//! The fast path of a request that came alone, as nearly all do whose callers wait for the reply.
//!
//! It is dispatched as a batch of one. Only its way there and back is shorter: it is looked at where it was
//! read, and its reply is written from where it was encoded. If it cannot be dispatched without a wait,
//! nothing of it is taken, and it goes the way of all batches. ADR 43 says what this gains.

use std::task::Poll;

use floe_wire::message::{HeaderCache, RequestBatch, SingleRequest};

use super::Dispatching;
use crate::connection::read_buffer::Input;
use crate::connection::send_queue::is_long;
use crate::dispatch::Parts;

/// What became of a request on the fast path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::connection) enum FastPath {
    /// It is where it was.
    NotTaken,
    /// It was answered, and nothing is left to do.
    Answered,
    /// It was dispatched; [`Dispatching::finish_read`] is due.
    Dispatched,
}

impl Dispatching {
    /// Dispatches a request that came alone if that may begin without a wait: its message is the `count` bytes
    /// that are alone in the input. `cache` knows how it begins.
    #[inline]
    pub(in crate::connection) fn dispatch_single(
        &mut self,
        request: SingleRequest,
        input: &mut Input,
        count: usize,
        cache: &HeaderCache,
    ) -> FastPath {
        let Some(mut parts) = self.take_single(&request) else {
            return FastPath::NotTaken;
        };
        request.move_into(&mut parts.current.request, input.take_alone(count));
        match self.begin(parts, &mut RequestBatch::default()) {
            Poll::Ready(Ok(response)) => self.reply_single(response.into_parts()),
            Poll::Pending => {
                self.leave(cache.request(&request), request.parameters_len());
                FastPath::Dispatched
            }
            failed => {
                self.end(failed, || cache.request(&request));
                FastPath::Dispatched
            }
        }
    }

    /// The parts of the request, if it may be dispatched: then it counts as taken.
    #[inline]
    fn take_single(&mut self, request: &SingleRequest) -> Option<Box<Parts>> {
        let share = self.budget.share_of(request.parameters_len());
        let parts = self.renew()?;
        let may_begin = self.has_budget(share)
            && self.budget.take_of_adapter(&parts)
            && self.connection.lock().machine.take_in(request.id());
        if !may_begin {
            self.parts = Some(parts);
            return None;
        }
        Some(parts)
    }

    #[inline]
    fn reply_single(&mut self, mut parts: Box<Parts>) -> FastPath {
        if parts.reply_count == 0 {
            return self.end_single(parts);
        }
        if let Some(came) = parts.events_came {
            self.lets_others_run = !self.reply_flush.is_pressing(came);
            if self.lets_others_run {
                return self.append_single(parts);
            }
        } else {
            let request = &parts.current.request;
            self.connection
                .compression()
                .compress_reply(request, &mut parts.buffer);
        }
        self.write_single(parts)
    }

    /// Writes the reply from where it is, if it may.
    #[inline]
    fn write_single(&mut self, mut parts: Box<Parts>) -> FastPath {
        // Long buffers go through the output, which knows when to keep them.
        let is_written = !is_long(&mut self.replies)
            && !is_long(&mut parts.buffer)
            && self
                .connection
                .output
                .send_single_reply(&self.connection, &mut parts.buffer);
        match is_written {
            true => self.end_single(parts),
            false => self.append_single(parts),
        }
    }

    /// Leaves the reply to the end of the read.
    fn append_single(&mut self, mut parts: Box<Parts>) -> FastPath {
        self.append_replies(&mut parts.buffer, 1);
        self.take_back(parts);
        FastPath::Dispatched
    }

    #[inline]
    fn end_single(&mut self, parts: Box<Parts>) -> FastPath {
        self.take_back(parts);
        self.release();
        FastPath::Answered
    }
}
