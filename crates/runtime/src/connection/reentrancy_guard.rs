//! Guards against reentrancy: a thread must not wait for a reply that it alone would read.
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
    static INNERMOST: Cell<Option<Entry>> = const { Cell::new(None) };
    /// Those that it was in the middle of when it began with that, innermost last: seldom any.
    static OUTER: RefCell<Vec<Entry>> = const { RefCell::new(Vec::new()) };
}

/// A connection, and how many waits of the thread were nested when it began to handle its input.
type Entry = (Guarded, usize);

/// A connection whose input is handled, known by its address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Guarded(usize);

impl Guarded {
    #[inline]
    pub(super) fn of(connection: &ConnectionCore) -> Self {
        Self(std::ptr::from_ref(connection).addr())
    }
}

/// Runs a future that handles input of the connection, guarded on whichever thread polls it. It is
/// pinned by the caller: taken by value, it would stand in the caller's future twice.
pub(super) async fn handling<F: Future>(guarded: Guarded, mut future: Pin<&mut F>) -> F::Output {
    poll_fn(|context| {
        let _handled = ReentrancyGuard::enter(guarded);
        future.as_mut().poll(context)
    })
    .await
}

/// As long as it is there, its thread handles input of a connection.
pub(super) struct ReentrancyGuard {
    /// Whether it was in the middle of another one's.
    is_inner: bool,
}

impl ReentrancyGuard {
    #[inline]
    pub(super) fn enter(guarded: Guarded) -> Self {
        let outer = INNERMOST.replace(Some((guarded, wait_depth())));
        if let Some(outer) = outer {
            OUTER.with_borrow_mut(|all| all.push(outer));
        }
        Self {
            is_inner: outer.is_some(),
        }
    }
}

impl Drop for ReentrancyGuard {
    #[inline]
    fn drop(&mut self) {
        INNERMOST.set(match self.is_inner {
            true => OUTER.with_borrow_mut(Vec::pop),
            false => None,
        });
    }
}

/// Refuses a request whose sender, within so many waits, blocks the thread that alone would read its reply.
#[inline]
pub(super) fn check(connection: &ConnectionCore, wait_depth: usize) -> Result<(), AttemptError> {
    match INNERMOST.get() {
        None => Ok(()),
        Some(innermost) => check_entries(connection, innermost, wait_depth),
    }
}

fn check_entries(
    connection: &ConnectionCore,
    innermost: Entry,
    wait_depth: usize,
) -> Result<(), AttemptError> {
    let is_own = |entry: &Entry| entry.0 == Guarded::of(connection);
    let begun = OUTER.with_borrow(|outer| outer.iter().copied().find(is_own));
    match begun.or(Some(innermost).filter(is_own)) {
        Some((_, depth)) if wait_depth > depth => {
            Err(AttemptError::not_sent(LocalError::OwnReader {
                peer: connection.peer().to_owned(),
            }))
        }
        _ => Ok(()),
    }
}
