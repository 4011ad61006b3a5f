//! What a thread is in the middle of: reading which connections, and waiting within that.
//!
//! A servant that is run where its request was read keeps its connection from being read until it
//! returns, or first waits as async code does. One that blocks its thread instead, for a reply over
//! the same connection, would wait for ever: nobody would read that reply.

use std::cell::{Cell, RefCell};
use std::future::{Future, poll_fn};
use std::pin::Pin;

use super::{Connection, Failure};
use crate::blocking::wait_depth;
use crate::error::LocalError;

thread_local! {
    /// Connections that this thread is handling input of, innermost last: where each is, and how
    /// many waits of the thread were nested when that began.
    static HANDLED: RefCell<Vec<(usize, usize)>> = const { RefCell::new(Vec::new()) };
    /// How many they are: a look at this needs nothing that must be dropped with the thread.
    static HANDLED_COUNT: Cell<usize> = const { Cell::new(0) };
}

/// Runs a future that handles input of the connection at this place, and lets its threads know. It is
/// pinned by the caller: taken by value, it would stand in the caller's future twice.
pub(super) async fn handling<F: Future>(place: usize, mut future: Pin<&mut F>) -> F::Output {
    poll_fn(|context| {
        let _handled = Handled::enter(place);
        future.as_mut().poll(context)
    })
    .await
}

impl Connection {
    /// Refuses a request whose sender, within so many waits, blocks the thread that alone would read its reply.
    #[inline]
    pub(super) fn check_reader(&self, wait_depth: usize) -> Result<(), Failure> {
        match HANDLED_COUNT.get() {
            0 => Ok(()),
            _ => self.check_handled(wait_depth),
        }
    }

    fn check_handled(&self, wait_depth: usize) -> Result<(), Failure> {
        let begun = HANDLED.with_borrow(|handled| {
            let own = handled.iter().find(|(place, _)| *place == self.place());
            own.map(|(_, depth)| *depth)
        });
        match begun {
            Some(depth) if wait_depth > depth => Err(Failure {
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
pub(super) struct Handled;

impl Handled {
    pub(super) fn enter(place: usize) -> Self {
        let entry = (place, wait_depth());
        HANDLED.with_borrow_mut(|handled| handled.push(entry));
        HANDLED_COUNT.set(HANDLED_COUNT.get() + 1);
        Self
    }
}

impl Drop for Handled {
    fn drop(&mut self) {
        HANDLED_COUNT.set(HANDLED_COUNT.get() - 1);
        HANDLED.with_borrow_mut(|handled| handled.pop());
    }
}
