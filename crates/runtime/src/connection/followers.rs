//! Leader and followers: the part of `leader.rs` in which threads meet.
//!
//! ```text
//! start --give_back--> free --take--> held --give_back--> free, a follower is called
//!                                     held --dropped----> gone
//!                      any  --end---> over: a reading state that is given back is dropped
//! ```
//!
//! It does not use a socket, so `tests/schedules/` can run it in every order of events.

use super::wait::Sleeper;
use crate::sync::{Arc, AtomicBool, Mutex, MutexGuard, Ordering, PoisonError};

/// The callers of one connection: the leader reads, the followers wait. `R` is the reading state that the leader holds.
pub(super) struct Followers<R> {
    /// Guards the reading state and the list of followers; held for a moment.
    state: Mutex<LeadState<R>>,
    /// True if a caller has waited since the standby task last checked.
    is_used: AtomicBool,
}

struct LeadState<R> {
    /// The reading state while no leader holds it. After the connection has ended it never comes back.
    free: Option<R>,
    /// Callers that wait while the leader reads.
    waiting: Vec<Arc<Sleeper>>,
    /// True if a caller that cannot read has requested that the standby task reads soon.
    is_reading_requested: bool,
    /// True if the standby task has ended. A reading state that is given back is then dropped.
    is_over: bool,
}

/// True if the caller must wake the standby task.
#[must_use = "without a wake-up no task or thread reads"]
pub(super) struct WakeStandby(pub(super) bool);

impl<R> Followers<R> {
    /// Starts without a leader.
    pub(super) fn new() -> Self {
        let state = LeadState {
            free: None,
            waiting: Vec::new(),
            is_reading_requested: false,
            is_over: false,
        };
        Self {
            state: Mutex::new(state),
            is_used: AtomicBool::new(false),
        }
    }

    /// Records that a caller is about to wait.
    pub(super) fn mark_used(&self) {
        self.is_used.store(true, Ordering::Relaxed);
    }

    /// Requests that the standby task reads, for a caller that cannot. The standby task must be woken afterwards.
    pub(super) fn request_reading(&self) {
        self.lock().is_reading_requested = true;
    }

    /// Withdraws the request. Returns true if there was one.
    pub(super) fn take_request(&self) -> bool {
        std::mem::take(&mut self.lock().is_reading_requested)
    }

    /// Becomes the leader, if there is none.
    #[inline]
    pub(super) fn take(&self) -> Option<R> {
        self.lock().free.take()
    }

    /// Becomes the leader or, if there is one already, adds the sleeper to the followers.
    pub(super) fn take_or_wait(&self, sleeper: &Arc<Sleeper>) -> Option<R> {
        let mut state = self.lock();
        let free = state.free.take();
        if free.is_none() {
            state.waiting.push(sleeper.clone());
        }
        free
    }

    /// Removes a sleeper from the followers. If it was called to lead, another follower is called.
    pub(super) fn stop_waiting(&self, sleeper: &Arc<Sleeper>) -> WakeStandby {
        let mut state = self.lock();
        state.waiting.retain(|other| !Arc::ptr_eq(other, sleeper));
        state.call_follower()
    }

    /// Returns true if the standby task should read: a caller requested it, or no caller has led for a while.
    pub(super) fn is_standby_due(&self) -> bool {
        let is_used = self.is_used.swap(false, Ordering::Relaxed);
        let state = self.lock();
        state.free.is_some() && (state.is_reading_requested || !is_used)
    }

    /// Makes the standby task the leader, unless callers read by themselves again.
    pub(super) fn take_for_standby(&self) -> Option<R> {
        let mut state = self.lock();
        let is_needed = state.is_reading_requested || !self.is_used.load(Ordering::Relaxed);
        is_needed.then(|| state.free.take())?
    }

    /// Gives the leadership back, or offers it for the first time.
    #[inline]
    pub(super) fn give_back(&self, reading: R) -> WakeStandby {
        let mut state = self.lock();
        if state.is_over {
            // The drop of the reading state may lock this again.
            drop(state);
            drop(reading);
            return WakeStandby(false);
        }
        state.free = Some(reading);
        state.call_follower()
    }

    /// Ends the leadership for good: drops the reading state now, or when its leader gives it back.
    pub(super) fn end(&self) {
        let mut state = self.lock();
        state.is_over = true;
        let free = state.free.take();
        drop(state);
        drop(free);
    }

    fn lock(&self) -> MutexGuard<'_, LeadState<R>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<R> LeadState<R> {
    /// Calls a follower to lead, if there is one.
    #[inline]
    fn call_follower(&self) -> WakeStandby {
        if self.free.is_none() {
            return WakeStandby(false);
        }
        let Some(next) = self.waiting.first() else {
            return WakeStandby(self.is_reading_requested);
        };
        next.call();
        WakeStandby(false)
    }
}
