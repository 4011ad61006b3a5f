//! What a thread looks at while it waits: the future that it polls, and what that leaves due.

use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::task::Waker;
use std::time::Instant;

use crate::connection::ConnectionCore;

/// What a pending future waits for.
#[derive(Default)]
pub(super) struct Due {
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
struct Now {
    /// How many waits of this thread this one is within, itself included; 0 if it polls for none.
    depth: usize,
    /// Identifies the waker that the thread was called with.
    waker: usize,
    /// Whether something is collected in [`DUE`].
    has_due: bool,
}

impl Now {
    const NOTHING: Self = Self {
        depth: 0,
        waker: 0,
        has_due: false,
    };

    /// Whether a future with this waker is polled by the thread itself.
    fn is_direct(&self, waker: &Waker) -> bool {
        self.depth > 0 && self.waker == waker.data() as usize
    }
}

thread_local! {
    /// Needs nothing done when the thread ends, so that a look at it costs next to nothing.
    static NOW: Cell<Now> = const { Cell::new(Now::NOTHING) };
    /// What the innermost wait has collected while it polls.
    static DUE: RefCell<Due> = const {
        RefCell::new(Due {
            connection: None,
            reply_count: 0,
            is_mixed: false,
            deadline: None,
        })
    };
}

/// The poll of a future that the thread waits for. When it ends, what was so before is put back, also
/// when the poll panics.
pub(super) struct Look {
    outer: Now,
    /// What the wait around had collected.
    outer_due: Option<Due>,
}

impl Look {
    /// One that is perhaps within another.
    pub(super) fn within(waker: &Waker) -> Self {
        let outer = NOW.get();
        let outer_due = outer.has_due.then(|| DUE.take());
        Self::begin(outer, outer_due, waker)
    }

    /// One that is within no other.
    #[inline]
    pub(super) fn outermost(waker: &Waker) -> Self {
        Self::begin(Now::NOTHING, None, waker)
    }

    #[inline]
    fn begin(outer: Now, outer_due: Option<Due>, waker: &Waker) -> Self {
        NOW.set(Now {
            depth: outer.depth + 1,
            waker: waker.data() as usize,
            has_due: false,
        });
        Self { outer, outer_due }
    }

    /// Ends a poll that has left something to wait for.
    pub(super) fn end(self) -> Due {
        let own = NOW.get();
        NOW.set(Now {
            has_due: false,
            ..own
        });
        match own.has_due {
            true => DUE.take(),
            false => Due::default(),
        }
    }
}

impl Drop for Look {
    #[inline]
    fn drop(&mut self) {
        if NOW.replace(self.outer).has_due {
            forget_due();
        }
        if let Some(due) = self.outer_due.take() {
            DUE.set(due);
        }
    }
}

#[cold]
fn forget_due() {
    DUE.take();
}

/// How many waits of this thread, one within another, are polling right now.
pub(crate) fn wait_depth() -> usize {
    NOW.get().depth
}

/// Whether a future is polled directly by a thread that waits for it.
pub(crate) fn is_waiting(waker: &Waker) -> bool {
    NOW.get().is_direct(waker)
}

/// A future waits for a reply; whether a thread waits for it that will see to the reading.
pub(crate) fn wait_for_reply(connection: &Arc<ConnectionCore>, waker: &Waker) -> bool {
    let Some(now) = begin_to_collect() else {
        return false;
    };
    let is_direct = now.is_direct(waker);
    DUE.with_borrow_mut(|due| {
        let is_same = match &due.connection {
            Some(known) => Arc::ptr_eq(known, connection),
            None => {
                due.connection = Some(connection.clone());
                true
            }
        };
        due.reply_count += usize::from(is_direct && is_same);
        due.is_mixed |= !is_direct || !is_same;
        is_same
    })
}

/// A future that is polled directly wants to be polled again at this time.
pub(crate) fn wait_until(deadline: Instant) {
    if begin_to_collect().is_some() {
        DUE.with_borrow_mut(|due| {
            let earliest = due.deadline.map_or(deadline, |known| known.min(deadline));
            due.deadline = Some(earliest);
        });
    }
}

/// Notes that the innermost wait has something in [`DUE`]; `None` if there is no wait.
fn begin_to_collect() -> Option<Now> {
    let mut now = NOW.get();
    if now.depth == 0 {
        return None;
    }
    now.has_due = true;
    NOW.set(now);
    Some(now)
}
