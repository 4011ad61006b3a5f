//! Requests that begin as the one before them, to the servant that has just answered it: nearly all of a
//! batch.
//!
//! Nothing has to be looked for, and panics are caught once for all of them. Generated dispatchers get them to
//! answer one after the other (`following.rs`). Whatever is not simply the
//! same again takes the way of a single request, which is that of `dispatching.rs`.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use floe_wire::message::{IncomingRun, SystemException};

use super::Dispatching;
use super::following::Following;
use crate::adapter::{Dispatcher, Parts, Request, Response};
use crate::connection::lasting::panicked;

/// Why no more requests are repeated.
pub(super) enum Repeated {
    /// What comes next, if there is anything, must be looked at.
    Over,
    /// This one waits for the budgets.
    Waiting(Box<Parts>),
    /// The last one was polled, and not simply answered.
    Polled(Poll<Result<Response, SystemException>>),
}

impl Dispatching {
    /// Dispatches the requests that follow the one that was answered last as long as they begin alike, its
    /// servant handed itself back, and each is done at once. Those of a batch have a share of the budget
    /// together, and get no replies.
    #[inline]
    pub(super) fn repeat(&mut self, run: &mut IncomingRun, is_batch: bool) -> Repeated {
        match run.len() {
            0 => Repeated::Over,
            _ => self.repeat_caught(run, is_batch),
        }
    }

    /// The same; a panic of the servant is a failure of one request alone.
    fn repeat_caught(&mut self, run: &mut IncomingRun, is_batch: bool) -> Repeated {
        let repeated = catch_unwind(AssertUnwindSafe(|| self.repeat_all(run, is_batch)));
        self.take_home(run);
        repeated.unwrap_or_else(|panic| Repeated::Polled(Poll::Ready(Err(panicked(&*panic)))))
    }

    fn repeat_all(&mut self, run: &mut IncomingRun, is_batch: bool) -> Repeated {
        let mut context = Context::from_waker(Waker::noop());
        loop {
            let Some(mut parts) = self.spare.take() else {
                return Repeated::Over;
            };
            let Some(servant) = self.next_alike_for(&mut parts, run) else {
                self.spare = Some(parts);
                return Repeated::Over;
            };
            let may_begin = match is_batch {
                true => self.budget.take_of_adapter(&parts),
                false => self.may_run(&parts),
            };
            if !may_begin {
                parts.servant = Some(servant);
                return Repeated::Waiting(parts);
            }
            let following = match run.len() {
                0 => Following::default(),
                _ => self.lend(run, is_batch),
            };
            servant.dispatch_following(Request::of(parts), following, &mut self.place);
            let polled = self.place.poll(&mut context);
            self.take_home(run);
            match polled {
                Poll::Ready(Ok(response)) if is_batch => self.take_back(response.into_parts()),
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
        run: &mut IncomingRun,
    ) -> Option<Arc<dyn Dispatcher>> {
        let servant = parts.servant.take()?;
        let is_found = self.adapter_version == self.connection.adapter_version()
            && self.found.is_still(&servant, parts);
        if is_found && run.repeat_over(&mut parts.current.request) {
            return Some(servant);
        }
        parts.servant = Some(servant);
        None
    }
}
