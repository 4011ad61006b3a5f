//! What a thread is in the middle of: reading which connections, and waiting within that.
//!
//! A servant that is run where its request was read keeps its connection from being read until it
//! returns, or first waits as async code does. One that blocks its thread instead, for a reply over
//! the same connection, would wait for ever: nobody would read that reply.

use std::cell::{Cell, RefCell};
use std::future::{Future, poll_fn};
use std::pin::Pin;

use super::ConnectionCore;
use super::wait::wait_depth;
use crate::error::{AttemptError, LocalError};

thread_local! {
    /// The connection that this thread is handling input of. A look at this needs nothing that must be dropped
    /// with the thread.
    static HANDLED: Cell<Option<Entry>> = const { Cell::new(None) };
    /// Those that it was in the middle of when it began with that, innermost last: seldom any.
    static OUTER: RefCell<Vec<Entry>> = const { RefCell::new(Vec::new()) };
}

/// Where a connection is, and how many waits of the thread were nested when it began to handle its input.
type Entry = (usize, usize);

/// Runs a future that handles input of the connection at this place, and lets its threads know. It is
/// pinned by the caller: taken by value, it would stand in the caller's future twice.
pub(super) async fn handling<F: Future>(place: usize, mut future: Pin<&mut F>) -> F::Output {
    poll_fn(|context| {
        let _handled = Handled::enter(place);
        future.as_mut().poll(context)
    })
    .await
}

impl ConnectionCore {
    /// Refuses a request whose sender, within so many waits, blocks the thread that alone would read its reply.
    #[inline]
    pub(super) fn check_reader(&self, wait_depth: usize) -> Result<(), AttemptError> {
        match HANDLED.get() {
            None => Ok(()),
            Some(innermost) => self.check_handled(innermost, wait_depth),
        }
    }

    fn check_handled(&self, innermost: Entry, wait_depth: usize) -> Result<(), AttemptError> {
        let is_own = |entry: &Entry| entry.0 == self.place();
        let begun = OUTER.with_borrow(|outer| outer.iter().copied().find(is_own));
        match begun.or(Some(innermost).filter(is_own)) {
            Some((_, depth)) if wait_depth > depth => Err(AttemptError {
                error: LocalError::OwnReader {
                    peer: self.peer.clone(),
                },
                perhaps_dispatched: false,
            }),
            _ => Ok(()),
        }
    }

    /// Where it is.
    pub(super) fn place(&self) -> usize {
        std::ptr::from_ref(self) as usize
    }
}

/// As long as it is there, its thread handles input of a connection.
pub(super) struct Handled {
    /// Whether it was in the middle of another one's.
    is_inner: bool,
}

impl Handled {
    #[inline]
    pub(super) fn enter(place: usize) -> Self {
        let outer = HANDLED.replace(Some((place, wait_depth())));
        if let Some(outer) = outer {
            OUTER.with_borrow_mut(|all| all.push(outer));
        }
        Self {
            is_inner: outer.is_some(),
        }
    }
}

impl Drop for Handled {
    #[inline]
    fn drop(&mut self) {
        HANDLED.set(match self.is_inner {
            true => OUTER.with_borrow_mut(Vec::pop),
            false => None,
        });
    }
}
