//! A sleeping thread, and how others wake it.

use std::task::Wake;
use std::time::Instant;

use crate::sync::thread::{self, Thread};
use crate::sync::{Arc, AtomicBool, Ordering};

/// One wait of one thread. Each nested wait has its own sleeper.
#[derive(Debug)]
pub(crate) struct Sleeper {
    thread: Thread,
    /// True if the future may make progress.
    is_woken: AtomicBool,
    /// True if the thread was called to try to read.
    is_called: AtomicBool,
    /// True while the thread sleeps or is about to. Then it must be unparked.
    is_parked: AtomicBool,
}

impl Sleeper {
    /// Makes a sleeper for this thread.
    pub(crate) fn new() -> Self {
        Self {
            thread: thread::current(),
            is_woken: AtomicBool::new(false),
            is_called: AtomicBool::new(false),
            is_parked: AtomicBool::new(false),
        }
    }

    /// Returns true if the future may make progress since [`Sleeper::reset`].
    pub(crate) fn is_woken(&self) -> bool {
        self.is_woken.load(Ordering::Acquire)
    }

    /// Resets before the future is polled. Every wake-up from now on counts.
    pub(crate) fn reset(&self) {
        // A waker is handed out only later, under a lock.
        self.is_woken.store(false, Ordering::Relaxed);
    }

    /// Wakes the thread so that it tries to read.
    pub(crate) fn call(&self) {
        self.is_called.store(true, Ordering::SeqCst);
        self.unpark();
    }

    /// Sleeps until it is woken or called, or until the deadline.
    pub(crate) fn park(&self, deadline: Option<Instant>) {
        // This thread stores its flag before it reads the flags of others, and others store theirs before they read
        // this one. So either this thread sees the other's flag, or the other sees that it must unpark.
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
