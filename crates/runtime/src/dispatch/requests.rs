//! Requests that a dispatcher gets in one call.
//!
//! The first of them is there in any case. Those behind it are lent by the connection that read them. A
//! dispatcher has them only while it is polled where they were read; when that poll ends, with a result
//! or without, they return to the connection, which dispatches those that were not answered.

use std::fmt;
use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Instant;

use floe_wire::encoding::Buffer;
use floe_wire::message::{RequestBatch, SystemException};

use super::origin::AdapterSlot;
use super::{DispatchSlot, Dispatched, Origin, Parts, Request, Response, TakenEvents};

/// One or more requests to one object, which arrived together.
pub struct Requests {
    pub(super) front: Request,
    pub(super) rest: Rest,
}

impl Requests {
    /// The first request, and those that follow it.
    #[inline]
    pub(crate) fn new(front: Request, rest: Rest) -> Self {
        Self { front, rest }
    }

    /// The request at the front.
    pub fn front(&self) -> &Request {
        &self.front
    }

    /// Answers one request after another: the next one when the one before is answered.
    ///
    /// If `answer` fails or panics, that request alone is answered with an exception.
    pub fn each<A, F>(self, slot: &mut DispatchSlot, answer: A)
    where
        A: FnMut(Request) -> F + Send + 'static,
        F: Future<Output = Result<Response, SystemException>> + Send + 'static,
    {
        slot.run(answer_each(self, answer));
    }

    /// Takes all requests unopened, as events, and gives them to `take` in the order in which they
    /// came: mostly all of them together, and long ones by themselves. They came at about the time that
    /// `take` is given. The requests are answered by what this returns.
    ///
    /// If `take` panics, the events that it was given are lost.
    pub fn take_events(self, take: impl FnMut(crate::event::Events, Instant)) -> TakenEvents {
        TakenEvents::new(self.front, self.rest, take)
    }
}

/// A single request.
impl From<Request> for Requests {
    #[inline]
    fn from(front: Request) -> Self {
        Self {
            front,
            rest: Rest::default(),
        }
    }
}

impl fmt::Debug for Requests {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Requests")
            .field("front", &self.front)
            .finish_non_exhaustive()
    }
}

async fn answer_each<A, F>(requests: Requests, mut answer: A) -> Dispatched
where
    A: FnMut(Request) -> F,
    F: Future<Output = Dispatched>,
{
    let Requests {
        front: mut request,
        mut rest,
    } = requests;
    loop {
        let response = {
            let answer = pin!(answer(request));
            rest.lent_until_pending(answer).await?
        };
        match rest.next(response) {
            Ok(next) => request = next,
            Err(response) => return Ok(response),
        }
    }
}

/// Replies of one read that are collected before they are written, in bytes.
pub(crate) const REPLIES_MAX: usize = 64 * 1024;

/// The requests behind the front; often there are none.
#[derive(Default)]
pub(crate) struct Rest {
    state: Option<Box<RestState>>,
}

/// Where a connection finds what it has lent.
pub(crate) type ReturnSlot = Mutex<Option<Box<RestState>>>;

/// What a connection lends.
#[derive(Default)]
pub(crate) struct RestState {
    /// Where it belongs, while it is lent.
    pub(crate) return_slot: Option<Arc<ReturnSlot>>,
    pub(crate) batch: RequestBatch,
    /// There while it is lent.
    pub(crate) adapter: Option<Arc<AdapterSlot>>,
    pub(crate) replies: Buffer,
    pub(crate) reply_count: usize,
    /// Of adapter and servants when the servant was found.
    pub(crate) adapter_version: u64,
    pub(crate) servants_version: u64,
    /// A request with longer parameters must wait for the budget.
    pub(crate) parameters_len_max: usize,
    /// Length of the events that were taken.
    pub(crate) taken_len: usize,
    /// What is left of the connection's turn.
    pub(crate) turn: LentTurn,
}

/// The part of a connection's turn that a dispatcher may use. Then others have theirs.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct LentTurn {
    /// The requests that must be left.
    pub(crate) left_min: usize,
    /// When it ends; `None` if so few requests are lent that the clock need not be looked at.
    pub(crate) end: Option<Instant>,
}

impl LentTurn {
    /// Requests between two looks at the clock, so that a look costs each of them next to nothing.
    pub(crate) const LOOK_INTERVAL: usize = 32;

    /// Whether it is over when this many requests are left.
    #[inline]
    fn is_over(&self, left: usize) -> bool {
        left <= self.left_min
            || left.is_multiple_of(Self::LOOK_INTERVAL)
                && self.end.is_some_and(|end| Instant::now() >= end)
    }
}

impl Rest {
    #[inline]
    pub(crate) fn lent(state: Box<RestState>) -> Self {
        Self { state: Some(state) }
    }

    /// Waits for what a servant does. If that is not done at the first poll, the requests return to the
    /// connection, which dispatches them meanwhile.
    #[inline]
    pub(super) fn lent_until_pending<'a, F: Future>(
        &'a mut self,
        servant: Pin<&'a mut F>,
    ) -> LentUntilPending<'a, F> {
        LentUntilPending {
            servant,
            rest: self,
        }
    }

    /// Makes the request that was answered the next one, if the dispatcher may answer that, too.
    ///
    /// # Errors
    /// The response, which the connection has not got yet: there is no such request.
    #[inline]
    pub(super) fn next(&mut self, response: Response) -> Result<Request, Response> {
        match &mut self.state {
            Some(state) => state.next(response),
            None => Err(response),
        }
    }

    /// Makes the parts the next request if that is to the same object: it is about to be taken as an
    /// event, and needs no budget.
    #[inline]
    pub(super) fn next_event(&mut self, parts: &mut Parts) -> bool {
        match &mut self.state {
            Some(state) => {
                !state.turn.is_over(state.batch.len())
                    && state.batch.next_to_same_object(&mut parts.current.request)
            }
            None => false,
        }
    }

    /// Events of so many bytes were taken.
    pub(super) fn note_taken(&mut self, len: usize) {
        if let Some(state) = &mut self.state {
            state.taken_len = len;
        }
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.state
            .as_ref()
            .is_none_or(|state| state.batch.len() == 0)
    }

    fn give_back(&mut self) {
        if let Some(mut state) = self.state.take()
            && let Some(return_slot) = state.return_slot.take()
        {
            *return_slot.lock().unwrap_or_else(PoisonError::into_inner) = Some(state);
        }
    }
}

impl Drop for Rest {
    #[inline]
    fn drop(&mut self) {
        // Also if the servant has panicked.
        if self.state.is_some() {
            self.give_back();
        }
    }
}

impl RestState {
    /// As [`Rest::next`].
    fn next(&mut self, response: Response) -> Result<Request, Response> {
        let mut parts = response.into_parts();
        if !self.advance(&mut parts) {
            return Err(Response::of(parts));
        }
        Ok(Request::of(parts))
    }

    /// Keeps the reply and makes the parts the next request, if that begins as the one before and may
    /// be dispatched without a wait.
    #[inline]
    fn advance(&mut self, parts: &mut Parts) -> bool {
        if self.turn.is_over(self.batch.len()) || !self.is_current(&parts.current.origin) {
            return false;
        }
        let request = &mut parts.current.request;
        if parts.reply_count > 0 {
            let len = self.batch.alike_len(request);
            if len.is_none_or(|len| len > self.parameters_len_max)
                || self.replies.len() + parts.buffer.len() > REPLIES_MAX
            {
                return false;
            }
            if request.reply_compression().is_some()
                && let Some(source) = parts.current.origin.source()
            {
                source.compress_reply(request, &mut parts.buffer);
            }
            self.reply_count += parts.reply_count;
            append(&mut self.replies, &mut parts.buffer);
            parts.clear();
        }
        self.batch
            .next_alike(&mut parts.current.request, self.parameters_len_max)
    }

    /// Whether the same dispatcher would be found again, and has a share of the adapter's budget.
    #[inline]
    fn is_current(&self, origin: &Origin) -> bool {
        // A servant may return the response to a request of another connection.
        let Some(slot) = self.adapter.as_ref().filter(|slot| origin.is_of(slot)) else {
            return false;
        };
        let adapter = origin.adapter();
        let is_found = self.adapter_version == slot.version()
            && self.servants_version == adapter.servants_version();
        // Where the adapter has no share left, each dispatch asks for one of its own. A batch has one.
        is_found && (self.batch.is_serial() || adapter.budget().available_permits() > 0)
    }
}

/// What a servant does with a request that others may follow.
pub(super) struct LentUntilPending<'a, F> {
    servant: Pin<&'a mut F>,
    rest: &'a mut Rest,
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

/// Appends replies, which are empty afterwards.
#[inline]
pub(crate) fn append(replies: &mut Buffer, added: &mut Buffer) {
    if replies.is_empty() {
        std::mem::swap(replies, added);
    } else {
        replies.append(added);
    }
}
