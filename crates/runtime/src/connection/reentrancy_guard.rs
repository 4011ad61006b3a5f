//! Guards against reentrancy: a thread must not wait for a reply that only this thread could read.
//!
//! A servant that runs where its request was read stops the reading of its connection until it returns or awaits. If it
//! blocks the thread instead, to wait for a reply over the same connection, it would wait for ever, because the reply
//! would never be read.

use std::cell::{Cell, RefCell};
use std::future::{Future, poll_fn};
use std::pin::Pin;

use super::ConnectionCore;
use super::wait::wait_depth;
use crate::error::{AttemptError, LocalError};

thread_local! {
    /// The connection whose input this thread is handling. The cell needs no drop when the thread ends.
    static INNERMOST: Cell<Option<Entry>> = const { Cell::new(None) };
    /// Outer connections that the thread was already handling, innermost last. There is seldom any.
    static OUTER: RefCell<Vec<Entry>> = const { RefCell::new(Vec::new()) };
}

/// A connection, and how many nested waits the thread was in when it began to handle the input.
type Entry = (Guarded, usize);

/// Identifies a connection by its address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Guarded(usize);

impl Guarded {
    #[inline]
    pub(super) fn of(connection: &ConnectionCore) -> Self {
        Self(std::ptr::from_ref(connection).addr())
    }
}

/// Runs a future that handles input of the connection, guarded on every thread that polls it. The caller pins the
/// future: passed by value, it would be stored twice in the caller's future.
pub(super) async fn handling<F: Future>(guarded: Guarded, mut future: Pin<&mut F>) -> F::Output {
    poll_fn(|context| {
        let _handled = ReentrancyGuard::enter(guarded);
        future.as_mut().poll(context)
    })
    .await
}

/// While this exists, its thread is handling input of a connection.
pub(super) struct ReentrancyGuard {
    /// True if the thread was already handling input of another connection.
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

/// Refuses a request if its sender, within this many nested waits, blocks the only thread that could read the reply.
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
