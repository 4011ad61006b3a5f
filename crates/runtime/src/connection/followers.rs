//! Whose turn it is, and who waits for it: the part of `leader.rs` in which threads meet.
//!
//! ```text
//! start --begin--> free --take--> held --give_back--> free, one that waits is called
//!                                 held --dropped----> gone
//!                  any  --end---> over: what is given back is dropped
//! ```
//!
//! It knows of no socket: `tests/schedules/` runs it in one order of events after another.

use super::wait::Sleeper;
use crate::sync::{Arc, AtomicBool, Mutex, MutexGuard, Ordering, PoisonError};

/// The turns of those who read in turns; `R` is what the one has whose turn it is.
pub(super) struct Followers<R> {
    /// Guards who reads and who waits; held for a moment.
    state: Mutex<State<R>>,
    /// Whether a caller has waited since the last look of the watch.
    is_used: AtomicBool,
}

struct State<R> {
    /// The reading, while nobody holds it. Gone for good when the connection has ended.
    free: Option<R>,
    /// Callers that wait while another one reads.
    waiting: Vec<Arc<Sleeper>>,
    /// Whether the watch shall read as soon as it can, for somebody who cannot.
    is_asked: bool,
    /// Whether the watch has ended: nobody will take what is given back.
    is_over: bool,
}

/// Whether the watch must be woken.
#[must_use = "nobody else reads"]
pub(super) struct WakeWatcher(pub(super) bool);

impl<R> Followers<R> {
    /// Nobody's turn yet.
    pub(super) fn new() -> Self {
        let state = State {
            free: None,
            waiting: Vec::new(),
            is_asked: false,
            is_over: false,
        };
        Self {
            state: Mutex::new(state),
            is_used: AtomicBool::new(false),
        }
    }

    /// A caller is about to wait.
    pub(super) fn mark_used(&self) {
        self.is_used.store(true, Ordering::Relaxed);
    }

    /// Somebody waits who cannot read: the watch shall. It must be woken.
    pub(super) fn ask(&self) {
        self.lock().is_asked = true;
    }

    /// Nobody waits any longer who cannot read.
    pub(super) fn stop_asking(&self) {
        self.lock().is_asked = false;
    }

    /// The turn, if nobody has it.
    #[inline]
    pub(super) fn take(&self) -> Option<R> {
        self.lock().free.take()
    }

    /// The turn; if another one has it, the sleeper is noted as waiting.
    pub(super) fn take_or_wait(&self, sleeper: &Arc<Sleeper>) -> Option<R> {
        let mut state = self.lock();
        let free = state.free.take();
        if free.is_none() {
            state.waiting.push(sleeper.clone());
        }
        free
    }

    /// The sleeper waits no longer. If the turn was meant for it, another one gets it.
    pub(super) fn stop_waiting(&self, sleeper: &Arc<Sleeper>) -> WakeWatcher {
        let mut state = self.lock();
        state.waiting.retain(|other| !Arc::ptr_eq(other, sleeper));
        state.call_next()
    }

    /// Whether the watch is needed: somebody asked for it, or nobody has used the turn for a while.
    pub(super) fn is_watch_due(&self) -> bool {
        let is_used = self.is_used.swap(false, Ordering::Relaxed);
        let state = self.lock();
        state.free.is_some() && (state.is_asked || !is_used)
    }

    /// The turn for the watch, unless callers read by themselves again.
    pub(super) fn take_unless_used(&self) -> Option<R> {
        let mut state = self.lock();
        let is_needed = state.is_asked || !self.is_used.load(Ordering::Relaxed);
        is_needed.then(|| state.free.take())?
    }

    /// The turn is over, or begins for the first time.
    #[inline]
    pub(super) fn give_back(&self, reading: R) -> WakeWatcher {
        let mut state = self.lock();
        if state.is_over {
            // What is dropped may look at this again.
            drop(state);
            drop(reading);
            return WakeWatcher(false);
        }
        state.free = Some(reading);
        state.call_next()
    }

    /// There are no more turns: drops what is free now or given back later.
    pub(super) fn end(&self) {
        let mut state = self.lock();
        state.is_over = true;
        let free = state.free.take();
        drop(state);
        drop(free);
    }

    fn lock(&self) -> MutexGuard<'_, State<R>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<R> State<R> {
    /// Sees to it that a free turn is taken, if anybody needs it.
    #[inline]
    fn call_next(&self) -> WakeWatcher {
        if self.free.is_none() {
            return WakeWatcher(false);
        }
        let Some(next) = self.waiting.first() else {
            return WakeWatcher(self.is_asked);
        };
        next.call();
        WakeWatcher(false)
    }
}
