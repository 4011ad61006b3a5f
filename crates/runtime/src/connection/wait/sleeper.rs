//! A thread that waits, and how others wake it.

use std::task::Wake;
use std::time::Instant;

use crate::sync::thread::{self, Thread};
use crate::sync::{Arc, AtomicBool, Ordering};

/// One wait of one thread. Nested waits have one each.
#[derive(Debug)]
pub(crate) struct Sleeper {
    thread: Thread,
    /// Whether the future may have got further.
    is_woken: AtomicBool,
    /// Whether the thread shall see whether it can read.
    is_called: AtomicBool,
    /// Whether the thread sleeps, or is about to: then it must be unparked.
    is_parked: AtomicBool,
}

impl Sleeper {
    /// A wait of this thread.
    pub(crate) fn new() -> Self {
        Self {
            thread: thread::current(),
            is_woken: AtomicBool::new(false),
            is_called: AtomicBool::new(false),
            is_parked: AtomicBool::new(false),
        }
    }

    /// Whether the future may have got further since [`Sleeper::reset`].
    pub(crate) fn is_woken(&self) -> bool {
        self.is_woken.load(Ordering::Acquire)
    }

    /// Before the future is polled: what wakes from now on counts.
    pub(crate) fn reset(&self) {
        // Whoever wakes has got the waker later, through a lock.
        self.is_woken.store(false, Ordering::Relaxed);
    }

    /// Wakes the thread so that it looks for something to read.
    pub(crate) fn call(&self) {
        self.is_called.store(true, Ordering::SeqCst);
        self.unpark();
    }

    /// Sleeps until it is woken or called, or until the deadline.
    pub(crate) fn park(&self, deadline: Option<Instant>) {
        // Stored before the look at the flags, which are stored before the look at this one: either
        // this thread sees its flag, or the other sees that it must unpark.
        self.is_parked.store(true, Ordering::SeqCst);
        while !self.is_woken.load(Ordering::SeqCst) && !self.is_called.swap(false, Ordering::SeqCst)
        {
            let Some(deadline) = deadline else {
                thread::park();
                continue;
            };
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            thread::park_timeout(left);
        }
        self.is_parked.store(false, Ordering::SeqCst);
    }

    fn unpark(&self) {
        if self.is_parked.load(Ordering::SeqCst) {
            self.thread.unpark();
        }
    }
}

impl Wake for Sleeper {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.is_woken.store(true, Ordering::SeqCst);
        self.unpark();
    }
}
