//! The reply that a caller waits for. Pending replies are used again.

use std::cell::RefCell;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};

use floe_wire::message::IncomingReply;

#[cfg(unix)]
use super::received_reply::{ReadReply, ReceivedReply};
use crate::error::AttemptError;

/// What a request in flight ends with. A failure is in a box, for an answer is moved several times.
pub(crate) type Answer = Result<IncomingReply, Box<AttemptError>>;

/// A reply that is due, and the caller that waits for it.
#[derive(Default)]
pub(crate) struct PendingReply {
    /// Guards the meeting of the caller and of the reader of the reply; held for a moment.
    state: Mutex<State>,
}

#[derive(Default)]
enum State {
    #[default]
    Empty,
    Awaited(Waker),
    Answered(Answer),
}

thread_local! {
    /// Pending replies that are not in use, kept for their allocation.
    static SPARE: RefCell<Vec<Arc<PendingReply>>> = const { RefCell::new(Vec::new()) };
}

/// As many calls in flight as a thread may have without allocating.
const SPARE_MAX: usize = 1024;

impl PendingReply {
    /// One that is not used.
    #[inline]
    pub(super) fn take() -> Arc<Self> {
        SPARE
            .with(|spare| spare.borrow_mut().pop())
            .unwrap_or_default()
    }

    /// Keeps it for the next request, unless a reader may still answer it.
    #[inline]
    pub(super) fn put_back(mut pending: Arc<Self>) {
        let Some(own) = Arc::get_mut(&mut pending) else {
            return;
        };
        let state = own.state.get_mut();
        *state.unwrap_or_else(PoisonError::into_inner) = State::Empty;
        Self::keep(pending);
    }

    /// Keeps one that is empty and has no other owner.
    #[inline]
    fn keep(pending: Arc<Self>) {
        // While the thread ends there are no spares any more.
        let _ = SPARE.try_with(|spare| {
            let mut spare = spare.borrow_mut();
            if spare.len() < SPARE_MAX {
                spare.push(pending);
            }
        });
    }

    /// Keeps one that was not touched after its request was sent.
    #[inline]
    pub(super) fn put_back_untouched(pending: Arc<Self>) {
        if Arc::strong_count(&pending) == 1 {
            Self::keep(pending);
        }
    }

    /// Ends the wait. The caller may have stopped waiting this very moment.
    pub(super) fn answer(&self, answer: Answer) {
        let before = std::mem::replace(&mut *self.lock(), State::Answered(answer));
        if let State::Awaited(waker) = before {
            waker.wake();
        }
    }

    /// The answer, if it is there. While the connection holds a reference, the answer is still to come, or is given at this
    /// moment.
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
            State::Answered(answer) => Some(answer.map(ReceivedReply::Whole)),
            other => {
                *state = other;
                None
            }
        }
    }

    /// The answer, or the promise to wake.
    pub(super) fn poll(&self, waker: &Waker) -> Poll<Answer> {
        let mut state = self.lock();
        match std::mem::take(&mut *state) {
            State::Answered(answer) => Poll::Ready(answer),
            State::Awaited(known) if known.will_wake(waker) => {
                *state = State::Awaited(known);
                Poll::Pending
            }
            State::Empty | State::Awaited(_) => {
                *state = State::Awaited(waker.clone());
                Poll::Pending
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
