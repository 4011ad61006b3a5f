//! A pending reply: the place where a caller waits for the reply to its request. Pending replies are reused.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};

use floe_wire::message::IncomingReply;

use super::buffer_pool::{self, BufferPool};
#[cfg(unix)]
use super::reply::{ReadReply, ReceivedReply};
use crate::error::AttemptError;

/// The result of a request in flight. The failure is boxed, because a result is moved several times.
pub(crate) type ReplyResult = Result<IncomingReply, Box<AttemptError>>;

/// The reply to a request in flight, and the caller that waits for it.
#[derive(Default)]
pub(crate) struct PendingReply {
    /// Guards the result and the waker; held for a moment.
    state: Mutex<PendingState>,
}

#[derive(Default)]
enum PendingState {
    #[default]
    Empty,
    Awaited(Waker),
    Answered(ReplyResult),
}

thread_local! {
    /// Unused pending replies, kept for their allocation.
    static POOL: BufferPool<Arc<PendingReply>> = const { BufferPool::new(Vec::new()) };
}

/// Number of calls that a thread may have in flight without an allocation.
const POOL_MAX: usize = 1024;

impl PendingReply {
    /// Takes an unused pending reply.
    #[inline]
    pub(super) fn take() -> Arc<Self> {
        buffer_pool::take(&POOL).unwrap_or_default()
    }

    /// Keeps the pending reply for the next request, unless a reader may still answer it.
    #[inline]
    pub(super) fn put_back(mut pending: Arc<Self>) {
        let Some(own) = Arc::get_mut(&mut pending) else {
            return;
        };
        let state = own.state.get_mut();
        *state.unwrap_or_else(PoisonError::into_inner) = PendingState::Empty;
        Self::keep(pending);
    }

    /// Keeps a pending reply that is empty and has no other owner.
    #[inline]
    fn keep(pending: Arc<Self>) {
        buffer_pool::put_back(&POOL, POOL_MAX, pending);
    }

    /// Keeps a pending reply that was not touched after its request was sent.
    #[inline]
    pub(super) fn put_back_untouched(pending: Arc<Self>) {
        if Arc::strong_count(&pending) == 1 {
            Self::keep(pending);
        }
    }

    /// Answers the request, and wakes the caller if it waits.
    pub(super) fn answer(&self, answer: ReplyResult) {
        let before = std::mem::replace(&mut *self.lock(), PendingState::Answered(answer));
        if let PendingState::Awaited(waker) = before {
            waker.wake();
        }
    }

    /// Returns the answer, if it has come. A second reference means that the connection has not given the answer yet,
    /// or is giving it right now.
    #[cfg(unix)]
    #[inline]
    pub(super) fn answer_given(self: &Arc<Self>) -> Option<ReadReply> {
        match Arc::strong_count(self) {
            1 => self.take_answer(),
            _ => None,
        }
    }

    #[cfg(unix)]
    #[inline(never)]
    pub(super) fn take_answer(&self) -> Option<ReadReply> {
        let mut state = self.lock();
        match std::mem::take(&mut *state) {
            PendingState::Answered(answer) => Some(answer.map(ReceivedReply::Whole)),
            other => {
                *state = other;
                None
            }
        }
    }

    /// Returns the answer, or registers the waker.
    pub(super) fn poll(&self, waker: &Waker) -> Poll<ReplyResult> {
        let mut state = self.lock();
        match std::mem::take(&mut *state) {
            PendingState::Answered(answer) => Poll::Ready(answer),
            PendingState::Awaited(known) if known.will_wake(waker) => {
                *state = PendingState::Awaited(known);
                Poll::Pending
            }
            PendingState::Empty | PendingState::Awaited(_) => {
                *state = PendingState::Awaited(waker.clone());
                Poll::Pending
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, PendingState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
