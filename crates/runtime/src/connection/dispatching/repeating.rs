//! Requests that begin as the one before them, to the servant that has just answered it: nearly all of a
//! batch.
//!
//! Nothing has to be looked for, and panics are caught once for all of them. Whatever is not simply the
//! same again takes the way of a single request, which is that of `dispatching.rs`.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use floe_wire::message::{
    AlikeEvent, IncomingBatch, IncomingRequest, IncomingRun, Next, SystemException,
};

use super::Dispatching;
use crate::adapter::{Dispatcher, Parts, Request, Response};
use crate::connection::lasting::panicked;

/// Requests that arrived together, to be dispatched one after another.
pub(super) trait Requests: ExactSizeIterator<Item = IncomingRequest> {
    /// Whether they have a share of the budget together, and get no replies.
    const IS_BATCH: bool;

    /// Makes `request` the next one.
    fn next_over(&mut self, request: &mut IncomingRequest) -> Next;

    /// Makes `request`, which was taken last, the next one if that begins alike.
    fn repeat_over(&mut self, request: &mut IncomingRequest) -> bool;

    /// Takes the next one as an event, if it begins as the one that was taken last.
    fn next_alike(&mut self) -> Option<AlikeEvent<'_>>;
}

/// Why no more requests are repeated.
pub(super) enum Repeated {
    /// What comes next, if there is anything, must be looked at.
    Over,
    /// This one waits for the budgets.
    Waiting(Box<Parts>),
    /// The last one was polled, and not simply answered.
    Polled(Poll<Result<Response, SystemException>>),
}

impl Requests for IncomingRun {
    const IS_BATCH: bool = false;

    fn next_over(&mut self, request: &mut IncomingRequest) -> Next {
        self.next_over(request)
    }

    #[inline]
    fn repeat_over(&mut self, request: &mut IncomingRequest) -> bool {
        self.repeat_over(request)
    }

    #[inline]
    fn next_alike(&mut self) -> Option<AlikeEvent<'_>> {
        self.next_alike()
    }
}

impl Requests for IncomingBatch {
    const IS_BATCH: bool = true;

    fn next_over(&mut self, request: &mut IncomingRequest) -> Next {
        self.next_over(request)
    }

    #[inline]
    fn repeat_over(&mut self, request: &mut IncomingRequest) -> bool {
        self.repeat_over(request)
    }

    #[inline]
    fn next_alike(&mut self) -> Option<AlikeEvent<'_>> {
        self.next_alike()
    }
}

impl Dispatching {
    /// Dispatches the requests that follow the one that was answered last as long as they begin alike, its
    /// servant handed itself back, and each is done at once.
    #[inline]
    pub(super) fn repeat<R: Requests>(&mut self, requests: &mut R) -> Repeated {
        if requests.len() == 0 {
            return Repeated::Over;
        }
        let repeated = catch_unwind(AssertUnwindSafe(|| self.repeat_all(requests)));
        repeated.unwrap_or_else(|panic| Repeated::Polled(Poll::Ready(Err(panicked(&*panic)))))
    }

    fn repeat_all<R: Requests>(&mut self, requests: &mut R) -> Repeated {
        let mut context = Context::from_waker(Waker::noop());
        loop {
            let Some(mut parts) = self.spare.take() else {
                return Repeated::Over;
            };
            let Some(servant) = self.next_alike_for(&mut parts, requests) else {
                self.spare = Some(parts);
                return Repeated::Over;
            };
            let may_begin = match R::IS_BATCH {
                true => self.budget.take_of_adapter(&parts),
                false => self.may_run(&parts),
            };
            if !may_begin {
                parts.servant = Some(servant);
                return Repeated::Waiting(parts);
            }
            servant.dispatch_in(Request::of(parts), &mut self.place);
            match self.place.poll(&mut context) {
                Poll::Ready(Ok(response)) if R::IS_BATCH => self.take_back(response.into_parts()),
                Poll::Ready(Ok(response)) => {
                    self.reply(response);
                    self.budget.give_way();
                }
                polled => return Repeated::Polled(polled),
            }
        }
    }

    /// Makes the parts the next request, if that begins as the one that they were before; who answered
    /// that, and will answer this, if it still would be found.
    #[inline]
    fn next_alike_for(
        &self,
        parts: &mut Parts,
        requests: &mut impl Requests,
    ) -> Option<Arc<dyn Dispatcher>> {
        let servant = parts.servant.take()?;
        let is_found = self.adapter_version == self.connection.adapter_version()
            && self.found.is_still(&servant, parts);
        if is_found && requests.repeat_over(&mut parts.current.request) {
            return Some(servant);
        }
        parts.servant = Some(servant);
        None
    }
}
