//! Requests that begin as the one before them, in the hands of a generated dispatcher that answers one after the
//! other.
//!
//! What has been found out about the first of them holds for all: a dispatcher that has them decodes parameters
//! and calls its servant, and the rest is a look at what may have changed meanwhile. It has them only while it is
//! polled where they were read, and gives them back before that poll is over, however it ends.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use floe_wire::encoding::Buffer;
use floe_wire::message::IncomingRun;

use super::{Dispatching, REPLIES_MAX, append};
use crate::adapter::{Parts, Request, Response};
use crate::connection::Connection;

/// The requests that follow one to the same operation of the same object: what a generated dispatcher is given
/// along with a request. Often there are none.
#[derive(Default)]
pub struct Following {
    lent: Option<Box<Lent>>,
}

/// Where what was lent is given back.
pub(super) type Home = Mutex<Option<Box<Lent>>>;

/// What a connection lends.
#[derive(Default)]
pub(super) struct Lent {
    /// Where it belongs, while it is lent.
    home: Option<Arc<Home>>,
    run: IncomingRun,
    is_batch: bool,
    /// None until it is lent, and when it is back.
    connection: Option<Arc<Connection>>,
    replies: Buffer,
    reply_count: usize,
    /// Of adapter and servants when the servant was found.
    adapter_version: u64,
    servants_version: u64,
    /// A request with longer parameters must wait for the budget, of which a batch has a share.
    parameters_len_max: usize,
}

impl Following {
    /// Waits for what a servant does. If that is not done at once, the requests that follow go back: others answer
    /// them meanwhile.
    #[doc(hidden)]
    #[inline]
    pub fn answered<'a, F: Future>(&'a mut self, servant: Pin<&'a mut F>) -> Answered<'a, F> {
        Answered {
            servant,
            following: self,
        }
    }

    /// The next request, made of the one that this answers; the response, if there is none, or if that must be
    /// looked at more closely.
    ///
    /// # Errors
    /// The response, which nobody has got yet.
    #[doc(hidden)]
    #[inline]
    pub fn next(&mut self, response: Response) -> Result<Request, Response> {
        match &mut self.lent {
            Some(lent) => lent.next(response),
            None => Err(response),
        }
    }

    fn give_back(&mut self) {
        if let Some(mut lent) = self.lent.take()
            && let Some(home) = lent.home.take()
        {
            *home.lock().unwrap_or_else(PoisonError::into_inner) = Some(lent);
        }
    }
}

impl Drop for Following {
    #[inline]
    fn drop(&mut self) {
        // Also if the servant has panicked.
        if self.lent.is_some() {
            self.give_back();
        }
    }
}

impl fmt::Debug for Following {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Following").finish_non_exhaustive()
    }
}

/// What a servant does with a request that others may follow.
#[doc(hidden)]
#[derive(Debug)]
pub struct Answered<'a, F> {
    servant: Pin<&'a mut F>,
    following: &'a mut Following,
}

impl<F: Future> Future for Answered<'_, F> {
    type Output = F::Output;

    #[inline]
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let polled = self.servant.as_mut().poll(context);
        if polled.is_pending() {
            self.following.give_back();
        }
        polled
    }
}

impl Lent {
    /// As [`Following::next`].
    fn next(&mut self, response: Response) -> Result<Request, Response> {
        let mut parts = response.into_parts();
        if !self.goes_on(&mut parts) {
            return Err(Response::of(parts));
        }
        Ok(Request::of(parts))
    }

    /// Answers the request and makes it the next one, if that may be dispatched at once.
    #[inline]
    fn goes_on(&mut self, parts: &mut Parts) -> bool {
        let Some(connection) = &self.connection else {
            return false;
        };
        let adapter = parts.current.origin.adapter();
        let request = &mut parts.current.request;
        let is_found = self.adapter_version == connection.adapter_version()
            && self.servants_version == adapter.servants_version();
        // Where the adapter has no share left, each dispatch asks for one of its own. A batch has one.
        if !is_found || !(self.is_batch || adapter.budget().available_permits() > 0) {
            return false;
        }
        if !request.id().is_oneway() {
            let len = self.run.alike_len(request);
            if len.is_none_or(|len| len > self.parameters_len_max) {
                return false;
            }
            if self.replies.len() + parts.buffer.len() > REPLIES_MAX {
                return false;
            }
            connection.compress_reply(request, &mut parts.buffer);
            self.reply_count += 1;
            append(&mut self.replies, &mut parts.buffer);
            parts.buffer.clear();
        }
        self.run.repeat_over_up_to(request, self.parameters_len_max)
    }
}

impl Dispatching {
    /// Lends the requests that come behind one, which may begin as that does.
    pub(super) fn lend(&mut self, run: &mut IncomingRun, is_batch: bool) -> Following {
        let home = self.home.get_or_insert_default();
        let lent = home.lock().unwrap_or_else(PoisonError::into_inner).take();
        let mut lent = lent.unwrap_or_default();
        *lent = Lent {
            home: Some(home.clone()),
            run: std::mem::take(run),
            is_batch,
            connection: Some(self.connection.clone()),
            replies: std::mem::take(&mut self.replies),
            reply_count: 0,
            adapter_version: self.adapter_version,
            // As it was then: what has changed since is seen before the next one.
            servants_version: self.found.version(),
            parameters_len_max: match is_batch {
                true => usize::MAX,
                false => self.budget.parameters_len_max(),
            },
        };
        self.is_lending = true;
        Following { lent: Some(lent) }
    }

    /// Takes back what is lent.
    pub(super) fn take_home(&mut self, run: &mut IncomingRun) {
        if !std::mem::take(&mut self.is_lending) {
            return;
        }
        let home = self.home.get_or_insert_default();
        let mut home = home.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(lent) = home.as_deref_mut() else {
            // A dispatcher by hand has kept it: nobody knows any more what is to be answered. Should it come back
            // yet, it must not meet what is lent by others.
            drop(home);
            self.home = None;
            let reason = "expected its dispatcher to drop the requests that follow one before the poll that got them ends, \
                          but it keeps them: let it answer in `dispatch_in`";
            tracing::error!("drops the connection to {}: {reason}", self.connection.peer);
            return self.connection.abort(reason.to_owned());
        };
        *run = std::mem::take(&mut lent.run);
        self.replies = std::mem::take(&mut lent.replies);
        self.reply_count += lent.reply_count;
        lent.connection = None;
    }
}
