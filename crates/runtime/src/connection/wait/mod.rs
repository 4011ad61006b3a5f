//! Blocking waits: runs a future on the calling thread, which reads the replies that the future waits for.

mod awaited;
mod sleeper;

use std::cell::{Cell, OnceCell, RefCell};
use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use tokio::runtime::Handle;

use crate::background;
#[cfg(unix)]
pub(crate) use awaited::wait_for_reply;
use awaited::{Awaited, PollScope};
pub(crate) use awaited::{defer_to_end_of_poll, is_waiting, wait_depth, wait_until};
pub(crate) use sleeper::Sleeper;

/// Waits for a future on the calling thread: `greeter.greet("Ada").wait()`.
///
/// For a proxy of a [`blocking::Communicator`](crate::blocking::Communicator), this thread sends the request and reads
/// the reply itself, with two system calls. Any other future works as well: a thread in the background drives the
/// timers and sockets of tokio in it.
///
/// It blocks, so it must not be called in a task of a tokio runtime.
pub trait Wait: Future + Sized {
    /// Blocks until the future is done.
    #[inline(always)]
    fn wait(self) -> Self::Output {
        // Pinned in place, because it is expensive to move.
        wait(pin!(self))
    }
}

impl<F: Future> Wait for F {}

#[inline(never)]
fn wait<F: Future>(future: Pin<&mut F>) -> F::Output {
    OWN.with(|own| match own.get() {
        Some(waiter) if waiter.is_free() => waiter.wait(future),
        _ => wait_anywhere(future),
    })
}

/// Returns true if a call may wait on this thread without preparation: the thread is in no other wait, and is known to
/// run no tasks.
#[inline]
pub(crate) fn may_wait_directly() -> bool {
    IS_PREPARED.get() && wait_depth() == 0
}

/// Marks that this thread can already use the timers and sockets of a runtime, and runs none of its tasks.
#[cfg(unix)]
pub(crate) fn mark_prepared() {
    IS_PREPARED.set(true);
}

/// Waits on a thread that may be in another wait, or in its first one.
#[inline(never)]
fn wait_anywhere<T>(future: Pin<&mut dyn Future<Output = T>>) -> T {
    background::block(|| {
        enter_runtime();
        let waiter = WAITERS.with_borrow_mut(Vec::pop);
        let waiter = waiter.unwrap_or_else(Waiter::new);
        let output = waiter.wait_on(future);
        if waiter.has_no_other_waker() {
            // The pool is gone while its thread ends.
            let _ = WAITERS.try_with(|pool| pool.borrow_mut().push(waiter));
        }
        output
    })
}

thread_local! {
    /// True if a call may wait on this thread without preparation.
    static IS_PREPARED: Cell<bool> = const { Cell::new(false) };
}

/// Lets futures on this thread use the timers and sockets of the background runtime, unless the thread belongs to a
/// runtime already. It happens once for each thread: entering and leaving in each wait would add half to its cost.
fn enter_runtime() {
    if OWN.with(|own| own.get().is_none()) && Handle::try_current().is_err() {
        IS_PREPARED.set(true);
        std::mem::forget(background::handle().enter());
        OWN.with(|own| {
            own.get_or_init(Waiter::new);
        });
    }
}

/// Sleeps until the future may make progress.
#[inline(never)]
fn sleep(sleeper: &Arc<Sleeper>, awaited: Awaited) {
    if let Some(connection) = &awaited.connection
        && awaited.has_deferred
    {
        connection.flush();
    }
    // Any other holder of a waker cannot wake a thread that is blocked in a read. If there is one, another thread or
    // task reads.
    let is_alone = Arc::strong_count(sleeper) == OWN_REFERENCES + awaited.reply_count;
    match awaited.connection {
        Some(connection) if is_alone && !awaited.is_mixed => {
            connection
                .driver
                .drive(&connection, sleeper, awaited.deadline)
        }
        connection => {
            if let Some(connection) = connection {
                connection.driver.request_reading();
            }
            sleeper.park(awaited.deadline);
        }
    }
}

/// References that the wait itself holds: the sleeper, and its waker.
const OWN_REFERENCES: usize = 2;

/// A sleeper and its waker, used by one wait at a time.
struct Waiter {
    sleeper: Arc<Sleeper>,
    waker: Waker,
    /// True while a wait sleeps here. Its thread may meanwhile run a servant that waits, too. That wait must use
    /// another waiter: resetting this one would lose a wake-up.
    is_sleeping: Cell<bool>,
}

thread_local! {
    /// The waiter for the outermost waits of a thread that has entered the runtime.
    static OWN: OnceCell<Waiter> = const { OnceCell::new() };
    /// The waiters for all other waits.
    static WAITERS: RefCell<Vec<Waiter>> = const { RefCell::new(Vec::new()) };
}

impl Waiter {
    fn new() -> Self {
        let sleeper = Arc::new(Sleeper::new());
        let waker = Waker::from(sleeper.clone());
        Self {
            sleeper,
            waker,
            is_sleeping: Cell::new(false),
        }
    }

    /// Returns true if no wait sleeps here and no waker of an earlier wait is left, which could disturb the next one.
    #[inline]
    fn is_free(&self) -> bool {
        wait_depth() == 0 && !self.is_sleeping.get() && self.has_no_other_waker()
    }

    #[inline]
    fn has_no_other_waker(&self) -> bool {
        Arc::strong_count(&self.sleeper) == OWN_REFERENCES
    }

    /// Waits, within no other wait. The first poll has almost no overhead, because many futures need no second one.
    #[inline]
    fn wait<F: Future>(&self, mut future: Pin<&mut F>) -> F::Output {
        self.sleeper.reset();
        let scope = PollScope::outermost(&self.waker);
        let polled = future.as_mut().poll(&mut Context::from_waker(&self.waker));
        match polled {
            Poll::Ready(output) => output,
            Poll::Pending => self.sleep_and_wait(scope, future),
        }
    }

    /// Continues such a wait after its first poll.
    #[inline(never)]
    fn sleep_and_wait<T>(&self, scope: PollScope, future: Pin<&mut dyn Future<Output = T>>) -> T {
        let _sleep = SleepGuard::of(self);
        sleep(&self.sleeper, scope.end());
        self.wait_on(future)
    }

    /// Waits for the future.
    fn wait_on<T>(&self, mut future: Pin<&mut dyn Future<Output = T>>) -> T {
        let mut context = Context::from_waker(&self.waker);
        loop {
            self.sleeper.reset();
            let scope = PollScope::within(&self.waker);
            match future.as_mut().poll(&mut context) {
                Poll::Ready(output) => return output,
                Poll::Pending => sleep(&self.sleeper, scope.end()),
            }
        }
    }
}

/// Marks that a wait sleeps in the waiter of its thread.
struct SleepGuard<'a>(&'a Waiter);

impl<'a> SleepGuard<'a> {
    fn of(waiter: &'a Waiter) -> Self {
        waiter.is_sleeping.set(true);
        Self(waiter)
    }
}

impl Drop for SleepGuard<'_> {
    fn drop(&mut self) {
        self.0.is_sleeping.set(false);
    }
}
