//! Requests that a dispatcher takes one by one, without a future for each: it decodes a request, and says when and how
//! its caller is answered.

use std::future::ready;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use floe_wire::message::{SystemException, reply};

use super::deferred_replies::{DeferredReply, encode_exception_to};
use super::request::{Builtin, RequestParts};
use super::{DispatchSlot, Request, RequestSource, Requests, Response, panicked};

/// How the caller of a taken request is answered. A oneway request gets no reply.
pub(crate) enum Taken<'a> {
    /// With an empty result, at the end of this read.
    Answered,
    /// With the result of an operation that every object has.
    Builtin(Builtin<'a>),
    /// With this exception. Boxed, because it is long and rare, and the value passes through registers without it.
    Refused(Box<SystemException>),
    /// Later, by the dispatcher. It holds a [`DeferredReply`].
    Deferred,
}

/// Takes requests.
pub(crate) trait RequestTaker<'a> {
    /// Takes the next request.
    fn take(&mut self, request: &Request) -> Taken<'a>;

    /// All requests of the read are taken. Returns true if that has woken somebody who should run before the replies are
    /// written.
    fn end(self) -> bool;
}

impl Requests {
    /// The connection of the requests, if a dispatcher may answer them later: then no interceptor waits for the replies.
    pub(crate) fn deferring_source(&self) -> Option<&Arc<dyn RequestSource>> {
        let source = self.front.current().origin.source();
        source.filter(|_| self.is_direct)
    }

    /// Most requests that [`Requests::take_each`] passes on.
    pub(crate) fn len_max(&self) -> usize {
        1 + self.rest.len()
    }

    /// Passes the requests to the taker in their order, and answers them as it says. If it panics for a request, only that
    /// request fails.
    pub(crate) fn take_each<'a>(self, slot: &mut DispatchSlot, mut taker: impl RequestTaker<'a>) {
        let Self {
            mut front,
            mut rest,
            ..
        } = self;
        let mut take = |request: &Request| {
            let taken = catch_unwind(AssertUnwindSafe(|| taker.take(request)));
            taken.unwrap_or_else(|panic| Taken::Refused(panicked(&*panic).into()))
        };
        loop {
            let taken = take(&front);
            front.parts_mut().answer(taken);
            if !rest.next_event(front.parts_mut()) {
                break;
            }
        }
        front.parts_mut().yields_first = taker.end();
        slot.run(ready(Ok(Response::of(front.into_parts()))));
    }
}

impl RequestParts {
    /// Appends the reply to the current request, if its caller gets one now.
    #[inline]
    fn answer(&mut self, taken: Taken<'_>) {
        if !self.current.request_id().is_oneway() && !matches!(taken, Taken::Deferred) {
            self.append_answer(taken);
        }
    }

    fn append_answer(&mut self, taken: Taken<'_>) {
        let (id, encoding) = (self.current.request_id(), self.current.encoding());
        let bytes = self.buffer.bytes_mut();
        // Encoding an empty result or a short text cannot fail.
        let _ = match taken {
            Taken::Answered => reply::write_returned(bytes, id, encoding, |_| ()),
            Taken::Builtin(result) => {
                reply::write_returned(bytes, id, encoding, |encoder| result.encode(encoder))
            }
            Taken::Refused(exception) => {
                let exception = exception.with_target(&self.current.target());
                encode_exception_to(&mut self.buffer, id, exception);
                Ok(())
            }
            Taken::Deferred => Ok(()),
        };
        self.reply_count += 1;
    }
}

impl Request {
    /// The reply that is due to this request, if its dispatcher answers it later: with this exception, if there is one.
    pub(crate) fn defer(&self, exception: Option<Box<SystemException>>) -> DeferredReply {
        let current = self.current();
        let exception = exception.map(|exception| exception.with_target(&current.target()));
        DeferredReply {
            id: current.request_id(),
            encoding: current.encoding(),
            held: DeferredReply::wanted(current.request.parameters_len()),
            exception: exception.map(Box::new),
        }
    }
}
