//! Runs a future on the calling thread, which reads the replies that the future waits for.

use std::cell::{Cell, RefCell};
use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Instant;

use tokio::runtime::Handle;

use super::background;
use super::sleeper::Sleeper;
use crate::connection::Connection;

/// Waits for a future on the calling thread: `greeter.greet("Ada").wait()`.
///
/// Of a proxy of a [`blocking::Communicator`](super::Communicator) this sends the request and reads
/// the reply with two system calls of this very thread. Any other future works as well; timers and
/// sockets of tokio in it are served by a thread in the background.
///
/// It blocks, so it must not be called in a task of a tokio runtime.
pub trait Wait: Future + Sized {
    /// Blocks until the future is done.
    fn wait(self) -> Self::Output {
        // Pinned here, for it is long to move.
        let mut future = pin!(self);
        background::block(|| wait(future.as_mut()))
    }
}

impl<F: Future> Wait for F {}

fn wait<F: Future>(mut future: Pin<&mut F>) -> F::Output {
    enter_runtime();
    let seat = Seat::take();
    let Spot { sleeper, waker } = seat.spot();
    let mut context = Context::from_waker(waker);
    loop {
        sleeper.reset();
        let place = Place::of(&*future);
        let (polled, due) = with_due(waker, place, || future.as_mut().poll(&mut context));
        match polled {
            Poll::Ready(output) => return output,
            Poll::Pending => sleep(sleeper, due),
        }
    }
}

/// Lets futures of this thread use timers and sockets of the background, unless the thread belongs
/// to a runtime already. Once is enough: to enter and leave with each wait would cost as much as
/// half of what is left of it.
fn enter_runtime() {
    thread_local! {
        static HAS_ENTERED: Cell<bool> = const { Cell::new(false) };
    }
    if !HAS_ENTERED.get() && Handle::try_current().is_err() {
        HAS_ENTERED.set(true);
        std::mem::forget(background::handle().enter());
    }
}

/// Sleeps until the future may get further.
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

/// What a pending future waits for.
struct Due {
    /// How many waits of this thread this one is within, itself included.
    depth: usize,
    /// Identifies the waker that the thread was called with.
    waker: usize,
    /// The future that is waited for.
    place: Place,
    /// The connection whose replies it waits for.
    connection: Option<Arc<Connection>>,
    /// Replies of it that wake this thread directly.
    reply_count: usize,
    /// Whether there are others: several connections, or wakers in between.
    is_mixed: bool,
    deadline: Option<Instant>,
}

impl Due {
    const NONE: Self = Self {
        depth: 0,
        waker: 0,
        place: Place { start: 0, len: 0 },
        connection: None,
        reply_count: 0,
        is_mixed: false,
        deadline: None,
    };
}

impl Default for Due {
    fn default() -> Self {
        Self::NONE
    }
}

thread_local! {
    /// What the innermost wait that polls has collected; without one, its depth is 0.
    static DUE: RefCell<Due> = const { RefCell::new(Due::NONE) };
    static SPARE: RefCell<Vec<Spot>> = const { RefCell::new(Vec::new()) };
}

/// Runs a poll, and tells what it left due.
fn with_due<T>(waker: &Waker, place: Place, poll: impl FnOnce() -> T) -> (T, Due) {
    /// What an outer wait has collected; it is put back also when the poll panics.
    struct Outer(Option<Due>);
    impl Outer {
        /// Puts it back; what was collected in its place.
        fn put_back(&mut self) -> Due {
            self.0
                .take()
                .map(|due| DUE.replace(due))
                .unwrap_or_default()
        }
    }
    impl Drop for Outer {
        fn drop(&mut self) {
            self.put_back();
        }
    }
    let mut outer = Outer(Some(DUE.with_borrow_mut(|due| {
        let inner = Due {
            depth: due.depth + 1,
            waker: waker.data() as usize,
            place,
            ..Due::default()
        };
        std::mem::replace(due, inner)
    })));
    let output = poll();
    (output, outer.put_back())
}

/// How many waits of this thread, one within another, are polling right now.
pub(crate) fn wait_depth() -> usize {
    DUE.with_borrow(|due| due.depth)
}

/// Whether a future is polled directly by a thread that waits for it.
pub(crate) fn is_waiting(waker: &Waker) -> bool {
    DUE.with_borrow(|due| due.depth > 0 && due.waker == waker.data() as usize)
}

/// Whether a thread waits for the future at this place, and for nothing else: it polls it directly.
pub(super) fn is_waited_for(place: Place, waker: &Waker) -> bool {
    DUE.with_borrow(|due| due.depth > 0 && due.place == place && due.waker == waker.data() as usize)
}

/// A future waits for a reply; whether a thread waits for it that will see to the reading.
pub(crate) fn wait_for_reply(connection: &Arc<Connection>, waker: &Waker) -> bool {
    DUE.with_borrow_mut(|due| {
        if due.depth == 0 {
            return false;
        }
        let is_direct = due.waker == waker.data() as usize;
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
    DUE.with_borrow_mut(|due| {
        if due.depth > 0 {
            let earliest = due.deadline.map_or(deadline, |known| known.min(deadline));
            due.deadline = Some(earliest);
        }
    });
}

/// Where a value is, and how long it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    start: usize,
    len: usize,
}

impl Place {
    pub(super) fn of<T>(value: &T) -> Self {
        Self {
            start: std::ptr::from_ref(value) as usize,
            len: size_of::<T>(),
        }
    }
}

/// A sleeper and its waker, used by one wait at a time.
struct Spot {
    sleeper: Arc<Sleeper>,
    waker: Waker,
}

/// A spot that goes back to its thread when the wait ends.
struct Seat {
    /// Taken out only when it goes back.
    spot: Option<Spot>,
}

impl Seat {
    fn take() -> Self {
        let spot = SPARE.with_borrow_mut(Vec::pop).unwrap_or_else(|| {
            let sleeper = Arc::new(Sleeper::new());
            let waker = Waker::from(sleeper.clone());
            Spot { sleeper, waker }
        });
        Self { spot: Some(spot) }
    }

    fn spot(&self) -> &Spot {
        self.spot.as_ref().expect("it goes back at the very end")
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        if let Some(spot) = self.spot.take()
            // A waker that somebody keeps must not disturb later waits.
            && Arc::strong_count(&spot.sleeper) == OWN_COUNT
        {
            // While the thread ends there are no spares any more.
            let _ = SPARE.try_with(|spare| spare.borrow_mut().push(spot));
        }
    }
}
