//! Runs a future on the calling thread, which reads the replies that the future waits for.

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
use awaited::{Due, Look};
pub(crate) use awaited::{is_waiting, wait_depth, wait_until};
pub(crate) use sleeper::Sleeper;

/// Waits for a future on the calling thread: `greeter.greet("Ada").wait()`.
///
/// Of a proxy of a [`blocking::Communicator`](super::Communicator) this sends the request and reads
/// the reply with two system calls of this very thread. Any other future works as well; timers and
/// sockets of tokio in it are served by a thread in the background.
///
/// It blocks, so it must not be called in a task of a tokio runtime.
pub trait Wait: Future + Sized {
    /// Blocks until the future is done.
    #[inline(always)]
    fn wait(self) -> Self::Output {
        // Pinned here, for it is long to move.
        wait(pin!(self))
    }
}

impl<F: Future> Wait for F {}

#[inline(never)]
fn wait<F: Future>(future: Pin<&mut F>) -> F::Output {
    OWN.with(|own| match own.get() {
        Some(spot) if spot.is_free() => spot.wait(future),
        _ => wait_anywhere(future),
    })
}

/// Whether a call may wait on this thread without any preparation: it is within no other wait, and the thread is
/// known to run no tasks.
#[inline]
pub(crate) fn may_wait_here() -> bool {
    IS_PREPARED.get() && wait_depth() == 0
}

/// Notes that this thread uses the timers and sockets of a runtime already, and runs none of its tasks.
#[cfg(unix)]
pub(crate) fn mark_prepared() {
    IS_PREPARED.set(true);
}

/// Waits where it may be within another wait, or the first one of its thread.
#[inline(never)]
fn wait_anywhere<T>(future: Pin<&mut dyn Future<Output = T>>) -> T {
    background::block(|| {
        enter_runtime();
        Seat::take().spot().wait_on(future)
    })
}

thread_local! {
    /// Whether this thread uses the timers and sockets of the background; that one itself does not.
    static HAS_ENTERED: Cell<bool> = const { Cell::new(false) };
    /// Whether a call may wait on this thread without any preparation.
    static IS_PREPARED: Cell<bool> = const { Cell::new(false) };
}

/// Lets futures of this thread use timers and sockets of the background, unless the thread belongs
/// to a runtime already. Once is enough: to enter and leave with each wait would cost as much as
/// half of what is left of it.
fn enter_runtime() {
    if !HAS_ENTERED.get() && Handle::try_current().is_err() {
        HAS_ENTERED.set(true);
        IS_PREPARED.set(true);
        std::mem::forget(background::handle().enter());
        OWN.with(|own| {
            own.get_or_init(Spot::new);
        });
    }
}

/// Sleeps until the future may get further.
#[inline(never)]
fn sleep(sleeper: &Arc<Sleeper>, due: Due) {
    // Who else holds a waker cannot wake a thread that is blocked in a read: then others read.
    let is_alone = Arc::strong_count(sleeper) == OWN_COUNT + due.reply_count;
    match due.connection {
        Some(connection) if is_alone && !due.is_mixed => connection.drive(sleeper, due.deadline),
        connection => {
            if let Some(connection) = connection {
                connection.ask_for_reading();
            }
            sleeper.park(due.deadline);
        }
    }
}

/// What the wait itself holds of a sleeper: the sleeper, and its waker.
const OWN_COUNT: usize = 2;

/// A sleeper and its waker, used by one wait at a time.
struct Spot {
    sleeper: Arc<Sleeper>,
    waker: Waker,
    /// Whether a wait sleeps here that is not looking. While it does, its thread may run a servant, which waits
    /// elsewhere: to make this ready for another wait would forget that this one was woken.
    is_slept_in: Cell<bool>,
}

thread_local! {
    /// Where the outermost waits of a thread are that has entered the runtime.
    static OWN: OnceCell<Spot> = const { OnceCell::new() };
    /// For all other waits.
    static SPARE: RefCell<Vec<Spot>> = const { RefCell::new(Vec::new()) };
}

impl Spot {
    fn new() -> Self {
        let sleeper = Arc::new(Sleeper::new());
        let waker = Waker::from(sleeper.clone());
        Self {
            sleeper,
            waker,
            is_slept_in: Cell::new(false),
        }
    }

    /// Whether the thread waits for nothing, and nobody has kept a waker of an earlier wait, which
    /// would disturb the next one.
    #[inline]
    fn is_free(&self) -> bool {
        wait_depth() == 0 && !self.is_slept_in.get() && self.is_unknown()
    }

    #[inline]
    fn is_unknown(&self) -> bool {
        Arc::strong_count(&self.sleeper) == OWN_COUNT
    }

    /// Waits, within no other wait. Next to nothing is done around the first poll, for many futures
    /// need no second one.
    #[inline]
    fn wait<F: Future>(&self, mut future: Pin<&mut F>) -> F::Output {
        self.sleeper.reset();
        let look = Look::outermost(&self.waker);
        let polled = future.as_mut().poll(&mut Context::from_waker(&self.waker));
        match polled {
            Poll::Ready(output) => output,
            Poll::Pending => self.sleep_and_wait(look, future),
        }
    }

    /// The same after a poll.
    #[inline(never)]
    fn sleep_and_wait<T>(&self, look: Look, future: Pin<&mut dyn Future<Output = T>>) -> T {
        let _sleep = Sleep::in_spot(self);
        sleep(&self.sleeper, look.end());
        self.wait_on(future)
    }

    /// Waits for the future.
    fn wait_on<T>(&self, mut future: Pin<&mut dyn Future<Output = T>>) -> T {
        let mut context = Context::from_waker(&self.waker);
        loop {
            self.sleeper.reset();
            let look = Look::within(&self.waker);
            match future.as_mut().poll(&mut context) {
                Poll::Ready(output) => return output,
                Poll::Pending => sleep(&self.sleeper, look.end()),
            }
        }
    }
}

/// A wait that sleeps in the spot of its thread.
struct Sleep<'a>(&'a Spot);

impl<'a> Sleep<'a> {
    fn in_spot(spot: &'a Spot) -> Self {
        spot.is_slept_in.set(true);
        Self(spot)
    }
}

impl Drop for Sleep<'_> {
    fn drop(&mut self) {
        self.0.is_slept_in.set(false);
    }
}

/// A spot that goes back to its thread when the wait ends.
struct Seat {
    /// Taken out only when it goes back.
    spot: Option<Spot>,
}

impl Seat {
    fn take() -> Self {
        let spot = SPARE.with_borrow_mut(Vec::pop);
        Self {
            spot: Some(spot.unwrap_or_else(Spot::new)),
        }
    }

    fn spot(&self) -> &Spot {
        self.spot.as_ref().expect("it goes back at the very end")
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        if let Some(spot) = self.spot.take()
            && spot.is_unknown()
        {
            // While the thread ends there are no spares any more.
            let _ = SPARE.try_with(|spare| spare.borrow_mut().push(spot));
        }
    }
}
