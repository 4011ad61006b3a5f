//! A request that came alone, as nearly all do whose callers wait for the reply.
//!
//! It is dispatched as any other. What is there for many requests is left out: nothing is lent, and the reply is
//! written from where it was encoded. If the request cannot be dispatched without a wait, nothing of it is
//! taken, and it goes the way of all others.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::task::{Context, Poll, Waker};

use floe_wire::message::{HeaderCache, SoleRequest};

use super::Dispatching;
use crate::connection::input::Input;
use crate::connection::output::is_long;
use crate::connection::pending_dispatch::panicked;
use crate::dispatch::{Dispatched, Parts, Request};

/// What became of a request that came alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::connection) enum Sole {
    /// Nothing: it is where it was.
    Left,
    /// It was answered, and nothing is left to do.
    Answered,
    /// It was dispatched; [`Dispatching::finish_read`] is due.
    Dispatched,
}

impl Dispatching {
    /// Dispatches a request that came alone if that may begin without a wait: its message is the `count` bytes
    /// that are `sole` in the input. `cache` knows how it begins.
    #[inline]
    pub(in crate::connection) fn sole(
        &mut self,
        sole: SoleRequest,
        input: &mut Input,
        count: usize,
        cache: &HeaderCache,
    ) -> Sole {
        let Some(mut parts) = self.begin_sole(&sole) else {
            return Sole::Left;
        };
        sole.move_into(&mut parts.current.request, input.take_sole(count));
        match self.dispatch_sole(parts) {
            Poll::Ready(Ok(response)) => self.reply_sole(response.into_parts()),
            Poll::Pending => {
                self.leave(cache.request(&sole), sole.parameters_len());
                Sole::Dispatched
            }
            failed => {
                self.end(failed, || cache.request(&sole));
                Sole::Dispatched
            }
        }
    }

    /// The parts of the request, if it may be dispatched: then it counts as taken.
    #[inline]
    fn begin_sole(&mut self, sole: &SoleRequest) -> Option<Box<Parts>> {
        let share = self.budget.share_of(sole.parameters_len());
        let parts = self.renew()?;
        let may_begin = self.has_budget(share)
            && self.budget.take_of_adapter(&parts)
            && self.connection.lock().machine.take_in(sole.id());
        if !may_begin {
            self.parts = Some(parts);
            return None;
        }
        Some(parts)
    }

    #[inline]
    fn dispatch_sole(&mut self, parts: Box<Parts>) -> Poll<Dispatched> {
        let begun = catch_unwind(AssertUnwindSafe(|| {
            let dispatcher = match self.servant_cache.find(&parts) {
                Ok(dispatcher) => dispatcher,
                Err(exception) => {
                    self.parts = Some(parts);
                    return Poll::Ready(Err(exception));
                }
            };
            self.slot.begin();
            dispatcher.dispatch(Request::of(parts).into(), &mut self.slot);
            self.slot
                .poll_dispatch(&mut Context::from_waker(Waker::noop()))
        }));
        begun.unwrap_or_else(|panic| Poll::Ready(Err(panicked(&*panic))))
    }

    #[inline]
    fn reply_sole(&mut self, mut parts: Box<Parts>) -> Sole {
        if parts.reply_count == 0 {
            return self.end_sole(parts);
        }
        if let Some(came) = parts.events_came {
            self.lets_others_run = !self.reply_flush.is_pressing(came);
            if self.lets_others_run {
                return self.append_sole(parts);
            }
        } else {
            let request = &parts.current.request;
            self.connection.compress_reply(request, &mut parts.buffer);
        }
        self.write_sole(parts)
    }

    /// Writes the reply from where it is, if it may.
    #[inline]
    fn write_sole(&mut self, mut parts: Box<Parts>) -> Sole {
        // Long buffers go through the output, which knows when to keep them.
        let is_written = !is_long(&mut self.replies)
            && !is_long(&mut parts.buffer)
            && self.connection.send_sole_reply(&mut parts.buffer);
        match is_written {
            true => self.end_sole(parts),
            false => self.append_sole(parts),
        }
    }

    /// Leaves the reply to those who write many.
    fn append_sole(&mut self, mut parts: Box<Parts>) -> Sole {
        self.append_replies(&mut parts.buffer, 1);
        self.take_back(parts);
        Sole::Dispatched
    }

    #[inline]
    fn end_sole(&mut self, parts: Box<Parts>) -> Sole {
        self.take_back(parts);
        self.release();
        Sole::Answered
    }
}
