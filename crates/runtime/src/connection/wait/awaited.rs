//! The record that a waiting thread keeps of the future that it polls, and of the replies that the future waits for.

use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::task::Waker;
use std::time::Instant;

use crate::connection::ConnectionCore;

/// The replies that a pending future waits for.
#[derive(Default)]
pub(super) struct Awaited {
    /// The connection that the replies come on.
    pub(super) connection: Option<Arc<ConnectionCore>>,
    /// The number of its replies that wake this thread directly.
    pub(super) reply_count: usize,
    /// True if the future also waits for something else: another connection, or a waker of its own.
    pub(super) is_mixed: bool,
    /// True if requests on the connection were left for the end of the poll.
    pub(super) has_deferred: bool,
    pub(super) deadline: Option<Instant>,
}

/// The future that a thread polls for the innermost of its waits.
#[derive(Debug, Clone, Copy)]
struct PollState {
    /// Nesting depth of this wait, itself included; 0 if the thread polls for no wait.
    depth: usize,
    /// Identifies the waker that the thread polls with.
    waker: usize,
    /// True if [`AWAITED`] holds something.
    has_awaited: bool,
}

impl PollState {
    const NOTHING: Self = Self {
        depth: 0,
        waker: 0,
        has_awaited: false,
    };

    /// Returns true if the thread itself polls a future with this waker.
    fn is_direct(&self, waker: &Waker) -> bool {
        self.depth > 0 && self.waker == waker.data() as usize
    }
}

thread_local! {
    /// The cell needs no drop when the thread ends, so reading it costs next to nothing.
    static POLL_STATE: Cell<PollState> = const { Cell::new(PollState::NOTHING) };
    /// The replies that the innermost wait has registered while it polls.
    static AWAITED: RefCell<Awaited> = const {
        RefCell::new(Awaited {
            connection: None,
            reply_count: 0,
            is_mixed: false,
            has_deferred: false,
            deadline: None,
        })
    };
}

/// The poll of a future that the thread waits for. Its drop restores the outer state, also when the poll panics.
pub(super) struct PollScope {
    outer: PollState,
    /// The replies that the outer wait had registered.
    outer_awaited: Option<Awaited>,
}

impl PollScope {
    /// Begins a poll that may be within another wait.
    pub(super) fn within(waker: &Waker) -> Self {
        let outer = POLL_STATE.get();
        let outer_awaited = outer.has_awaited.then(|| AWAITED.take());
        Self::begin(outer, outer_awaited, waker)
    }

    /// Begins a poll that is within no other wait.
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

    /// Ends a poll, and returns what its future waits for.
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

/// Returns how many nested waits of this thread are polling now.
pub(crate) fn wait_depth() -> usize {
    POLL_STATE.get().depth
}

/// Returns true if a waiting thread polls the future with this waker directly.
pub(crate) fn is_waiting(waker: &Waker) -> bool {
    POLL_STATE.get().is_direct(waker)
}

/// Registers that a future waits for a reply. Returns true if a waiting thread will read it.
pub(crate) fn wait_for_reply(connection: &Arc<ConnectionCore>, waker: &Waker) -> bool {
    let Some(now) = mark_awaited() else {
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

/// Returns true if a request may be left in the send queue until the current poll of a wait ends, which then writes it:
/// the future already waits for a reply on this connection, so it begins several calls, and probably more.
#[inline]
pub(crate) fn defer_to_end_of_poll(connection: &Arc<ConnectionCore>) -> bool {
    POLL_STATE.get().has_awaited
        && AWAITED.with_borrow_mut(|awaited| {
            let known = awaited.connection.as_ref();
            let is_same = known.is_some_and(|known| Arc::ptr_eq(known, connection));
            awaited.has_deferred |= is_same;
            is_same
        })
}

/// Registers that a directly polled future must be polled again at this time.
pub(crate) fn wait_until(deadline: Instant) {
    if mark_awaited().is_some() {
        AWAITED.with_borrow_mut(|awaited| {
            let earliest = awaited
                .deadline
                .map_or(deadline, |known| known.min(deadline));
            awaited.deadline = Some(earliest);
        });
    }
}

/// Marks that the innermost wait registers something in [`AWAITED`]. Returns `None` if there is no wait.
fn mark_awaited() -> Option<PollState> {
    let mut now = POLL_STATE.get();
    if now.depth == 0 {
        return None;
    }
    now.has_awaited = true;
    POLL_STATE.set(now);
    Some(now)
}
