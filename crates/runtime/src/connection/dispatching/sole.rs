//! A request that came alone, as nearly all do whose callers wait for the reply.
//!
//! It is dispatched as any other, and what is there for many is left out: nothing is collected, repeated or
//! lent, and the reply is written from where it was encoded. One that is an event is handed over at once. It
//! goes this way only if nothing stands in its own: else nothing of it is taken, and it goes the way of all
//! others. What its dispatcher does, such as to fail or to wait, is seen to as for them.

use std::sync::Arc;
use std::task::Poll;
use std::time::Instant;

use bytes::Bytes;
use floe_wire::message::{KnownHead, SoleRequest, reply};

use super::{Begun, Dispatching};
use crate::adapter::{EventSink, Parts};
use crate::connection::collecting::hand_over_sole;
use crate::connection::output::is_long;

/// What became of a request that came alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::connection) enum Sole {
    /// Nothing: it is where it was.
    Left,
    /// It was answered, and nothing is to be done any more.
    Answered,
    /// It was dispatched; [`Dispatching::finish_read`] is due.
    Dispatched,
}

impl Dispatching {
    /// Dispatches a request that came alone if that may begin at once. `take` takes its message off the input;
    /// `known` knows how it begins.
    #[inline]
    pub(in crate::connection) fn sole(
        &mut self,
        sole: SoleRequest,
        take: impl FnOnce() -> Bytes,
        known: &KnownHead,
    ) -> Sole {
        let Some(mut parts) = self.begin_sole(&sole) else {
            return Sole::Left;
        };
        sole.move_into(&mut parts.current.request, take());
        // Nothing was collected since the last read was handled.
        match self.begin_other(parts) {
            Begun::Polled(Poll::Ready(Ok(response))) => self.reply_sole(response.into_parts()),
            Begun::Polled(Poll::Pending) => {
                self.leave(known.request(&sole), sole.parameters_len());
                Sole::Dispatched
            }
            Begun::Polled(failed) => {
                self.end(failed, || known.request(&sole));
                Sole::Dispatched
            }
            Begun::Event(sink, parts) => self.take_sole(sink, parts),
        }
    }

    /// What the request is made of, if everything is there that it needs: then it counts as taken.
    #[inline]
    fn begin_sole(&mut self, sole: &SoleRequest) -> Option<Box<Parts>> {
        let share = self.budget.share_of(sole.parameters_len());
        let mut parts = self.renew()?;
        let may_begin = self.has_budget(share)
            && self.budget.take_of_adapter(&parts)
            && self.connection.lock().machine.take_in(sole.id());
        if !may_begin {
            self.spare = Some(parts);
            return None;
        }
        parts.servant = None;
        Some(parts)
    }

    /// Hands an event over, and answers it unless it waits for room. A publisher that sends one after the other hears
    /// of it at once; else those come first who get it.
    #[inline]
    fn take_sole(&mut self, sink: Arc<dyn EventSink>, mut parts: Box<Parts>) -> Sole {
        let request = &parts.current.request;
        if let Some(waiting) = hand_over_sole(sink, request) {
            self.wait_for_sink(waiting);
            self.take_back(parts);
            return Sole::Dispatched;
        }
        if !request.id().is_oneway() {
            let (id, encoding) = (request.id(), request.encoding());
            // Nothing has always an encoding.
            let _ = reply::write_returned(parts.buffer.bytes_mut(), id, encoding, |_| ());
            self.lets_others_run = !self.pace.is_pressing(Instant::now());
            if self.lets_others_run {
                self.append_reply(&mut parts.buffer);
                self.take_back(parts);
                return Sole::Dispatched;
            }
        }
        self.reply_sole(parts)
    }

    #[inline]
    fn reply_sole(&mut self, mut parts: Box<Parts>) -> Sole {
        // Who has the reply may see it go.
        parts.servant = None;
        let request = &parts.current.request;
        let is_written = request.id().is_oneway() || {
            self.connection.compress_reply(request, &mut parts.buffer);
            // Long buffers go through the output, which knows when to keep them.
            let is_written = !is_long(&mut self.replies)
                && !is_long(&mut parts.buffer)
                && self.connection.send_sole_reply(&mut parts.buffer);
            if !is_written {
                self.append_reply(&mut parts.buffer);
            }
            is_written
        };
        self.take_back(parts);
        if !is_written {
            return Sole::Dispatched;
        }
        self.let_go();
        Sole::Answered
    }
}
