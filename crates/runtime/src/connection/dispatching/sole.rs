//! A request that came alone, as nearly all do whose callers wait for the reply.
//!
//! It is dispatched as any other, and what is there for many is left out: nothing is collected, repeated or
//! lent, and the reply is written from where it was encoded. One that is an event is handed over at once. It
//! goes this way only if nothing stands in its own: else nothing of it is taken, and it goes the way of all
//! others. What its dispatcher does, such as to fail or to wait, is seen to as for them.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::task::Poll;
use std::time::Instant;

use floe_wire::message::{KnownHead, SoleRequest, reply};

use super::{Begun, Dispatching};
use crate::adapter::{EventSink, Parts};
use crate::connection::collecting::{Asked, hand_over_sole, is_long as is_long_event};
use crate::connection::input::Input;
use crate::connection::output::is_long;
use crate::event::Event;

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
    /// Dispatches a request that came alone if that may begin at once: its message is the `count` bytes that are
    /// `sole` in the input. `known` knows how it begins.
    #[inline]
    pub(in crate::connection) fn sole(
        &mut self,
        sole: SoleRequest,
        input: &mut Input,
        count: usize,
        known: &KnownHead,
    ) -> Sole {
        let Some(mut parts) = self.begin_sole(&sole) else {
            return Sole::Left;
        };
        let asked = (sole.id(), sole.encoding());
        if let Some((sink, event)) = self.known_event(&parts, &sole, input.sole(count)) {
            input.learn(count);
            return self.take_sole(sink, event, asked, parts);
        }
        sole.move_into(&mut parts.current.request, input.take_sole(count));
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
            Begun::Event(sink, parts) => {
                let request = &parts.current.request;
                let event = match is_long_event(request.event_bytes()) {
                    true => Event::new(request),
                    false => Event::copied(request.event_bytes()),
                };
                self.take_sole(sink, event, asked, parts)
            }
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

    /// The request as an event, if it is known who takes it, and nobody needs more of its message than a copy.
    #[inline]
    fn known_event(
        &self,
        parts: &Parts,
        sole: &SoleRequest,
        message: Option<&[u8]>,
    ) -> Option<(Arc<dyn EventSink>, Event)> {
        let message = message?;
        let (target, event) = (sole.target_bytes(message), sole.event_bytes(message));
        if is_long_event(event) {
            return None;
        }
        // One that panics is asked again where that is seen to.
        let sink = catch_unwind(AssertUnwindSafe(|| self.found.sink(parts, target)));
        Some((sink.ok()??, Event::copied(event)))
    }

    /// Hands an event over, and answers it unless it waits for room. A publisher that sends one after the other hears
    /// of it at once; else those come first who get it.
    #[inline]
    fn take_sole(
        &mut self,
        sink: Arc<dyn EventSink>,
        event: Event,
        asked: Asked,
        mut parts: Box<Parts>,
    ) -> Sole {
        let now = Instant::now();
        if let Some(waiting) = hand_over_sole(sink, event, asked, now) {
            self.wait_for_sink(waiting);
            self.take_back(parts);
            return Sole::Dispatched;
        }
        let (id, encoding) = asked;
        if id.is_oneway() {
            return self.end_sole(parts);
        }
        // Nothing has always an encoding.
        let _ = reply::write_returned(parts.buffer.bytes_mut(), id, encoding, |_| ());
        self.lets_others_run = !self.pace.is_pressing(now);
        match self.lets_others_run {
            true => self.append_sole(parts),
            false => self.write_sole(parts),
        }
    }

    #[inline]
    fn reply_sole(&mut self, mut parts: Box<Parts>) -> Sole {
        // Who has the reply may see it go.
        parts.servant = None;
        let request = &parts.current.request;
        if request.id().is_oneway() {
            return self.end_sole(parts);
        }
        self.connection.compress_reply(request, &mut parts.buffer);
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
        self.append_reply(&mut parts.buffer);
        self.take_back(parts);
        Sole::Dispatched
    }

    #[inline]
    fn end_sole(&mut self, parts: Box<Parts>) -> Sole {
        self.take_back(parts);
        self.let_go();
        Sole::Answered
    }
}
