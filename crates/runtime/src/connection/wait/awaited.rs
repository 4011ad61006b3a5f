//! What a thread looks at while it waits: the future that it polls, and what that future waits for.

use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::task::Waker;
use std::time::Instant;

use crate::connection::ConnectionCore;

/// What a pending future waits for.
#[derive(Default)]
pub(super) struct Awaited {
    /// The connection whose replies it waits for.
    pub(super) connection: Option<Arc<ConnectionCore>>,
    /// Replies of it that wake this thread directly.
    pub(super) reply_count: usize,
    /// Whether there are others: several connections, or wakers in between.
    pub(super) is_mixed: bool,
    pub(super) deadline: Option<Instant>,
}

/// What a thread polls for the innermost of its waits.
#[derive(Debug, Clone, Copy)]
struct PollState {
    /// How many waits of this thread this one is within, itself included; 0 if it polls for none.
    depth: usize,
    /// Identifies the waker that the thread was called with.
    waker: usize,
    /// Whether something is collected in [`AWAITED`].
    has_awaited: bool,
}

impl PollState {
    const NOTHING: Self = Self {
        depth: 0,
        waker: 0,
        has_awaited: false,
    };

    /// Whether a future with this waker is polled by the thread itself.
    fn is_direct(&self, waker: &Waker) -> bool {
        self.depth > 0 && self.waker == waker.data() as usize
    }
}

thread_local! {
    /// Needs nothing done when the thread ends, so that reading it costs next to nothing.
    static POLL_STATE: Cell<PollState> = const { Cell::new(PollState::NOTHING) };
    /// What the innermost wait has collected while it polls.
    static AWAITED: RefCell<Awaited> = const {
        RefCell::new(Awaited {
            connection: None,
            reply_count: 0,
            is_mixed: false,
            deadline: None,
        })
    };
}

/// The poll of a future that the thread waits for. When it ends, what was so before is put back, also
/// when the poll panics.
pub(super) struct PollScope {
    outer: PollState,
    /// What the wait around had collected.
    outer_awaited: Option<Awaited>,
}

impl PollScope {
    /// One that is perhaps within another.
    pub(super) fn within(waker: &Waker) -> Self {
        let outer = POLL_STATE.get();
        let outer_awaited = outer.has_awaited.then(|| AWAITED.take());
        Self::begin(outer, outer_awaited, waker)
    }

    /// One that is within no other.
    #[inline]
    pub(super) fn outermost(waker: &Waker) -> Self {
        Self::begin(PollState::NOTHING, None, waker)
    }

    #[inline]
    fn begin(outer: PollState, outer_awaited: Option<Awaited>, waker: &Waker) -> Self {
        POLL_STATE.set(PollState {
            depth: outer.depth + 1,
            waker: waker.data() as usize,
            has_awaited: false,
        });
        Self {
            outer,
            outer_awaited,
        }
    }

    /// Ends a poll that has left something to wait for.
    pub(super) fn end(self) -> Awaited {
        let own = POLL_STATE.get();
        POLL_STATE.set(PollState {
            has_awaited: false,
            ..own
        });
        match own.has_awaited {
            true => AWAITED.take(),
            false => Awaited::default(),
        }
    }
}

impl Drop for PollScope {
    #[inline]
    fn drop(&mut self) {
        if POLL_STATE.replace(self.outer).has_awaited {
            forget_awaited();
        }
        if let Some(awaited) = self.outer_awaited.take() {
            AWAITED.set(awaited);
        }
    }
}

#[cold]
fn forget_awaited() {
    AWAITED.take();
}

/// How many waits of this thread, one within another, are polling right now.
pub(crate) fn wait_depth() -> usize {
    POLL_STATE.get().depth
}

/// Whether a future is polled directly by a thread that waits for it.
pub(crate) fn is_waiting(waker: &Waker) -> bool {
    POLL_STATE.get().is_direct(waker)
}

/// A future waits for a reply; whether a thread waits for it that will see to the reading.
pub(crate) fn wait_for_reply(connection: &Arc<ConnectionCore>, waker: &Waker) -> bool {
    let Some(now) = begin_to_collect() else {
        return false;
    };
    let is_direct = now.is_direct(waker);
    AWAITED.with_borrow_mut(|awaited| {
        let is_same = match &awaited.connection {
            Some(known) => Arc::ptr_eq(known, connection),
            None => {
                awaited.connection = Some(connection.clone());
                true
            }
        };
        awaited.reply_count += usize::from(is_direct && is_same);
        awaited.is_mixed |= !is_direct || !is_same;
        is_same
    })
}

/// A future that is polled directly wants to be polled again at this time.
pub(crate) fn wait_until(deadline: Instant) {
    if begin_to_collect().is_some() {
        AWAITED.with_borrow_mut(|awaited| {
            let earliest = awaited
                .deadline
                .map_or(deadline, |known| known.min(deadline));
            awaited.deadline = Some(earliest);
        });
    }
}

/// Notes that the innermost wait has something in [`AWAITED`]; `None` if there is no wait.
fn begin_to_collect() -> Option<PollState> {
    let mut now = POLL_STATE.get();
    if now.depth == 0 {
        return None;
    }
    now.has_awaited = true;
    POLL_STATE.set(now);
    Some(now)
}
