//! Whether a connection lives: when to send a heartbeat, and when silence or disuse ends it.
//!
//! A thread looks at each connection now and then (`keepalive_thread.rs`). Whoever reads or writes leaves
//! marks, which cost a store each and no look at the clock. [`LivenessCheck`] decides, from the marks and the
//! time alone. A look that finds nothing written since the last one also takes the output's buffers
//! away: what ten thousand idle connections keep is kept ten thousand times.

use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::liveness_check::{Due, LivenessCheck, Marks};
use super::{Connection, ConnectionCore};
use crate::liveness::Liveness;

/// Marks of those who read and write, and what becomes of them.
pub(super) struct Keepalive {
    /// Whether anything was written since the last look.
    has_written: AtomicBool,
    /// [`SILENT`], [`READ`] or [`HANDLING`].
    reading: AtomicU8,
    /// Whether a request or a reply was read since the last look.
    has_message: AtomicBool,
    /// Guards what the looks found; held for a moment.
    check: Mutex<LivenessCheck>,
    /// Guards whom heartbeats of the peer are told.
    listener: Mutex<Option<Arc<HeartbeatListener>>>,
}

/// Nothing was read since the last look.
const SILENT: u8 = 0;
/// Something was.
const READ: u8 = 1;
/// What was read is being handled, and nothing else is read meanwhile: the peer may be held back by a
/// limit of this side, and has a right to be silent.
const HANDLING: u8 = 2;

pub(crate) type HeartbeatListener = dyn Fn(Connection) + Send + Sync;

impl Keepalive {
    pub(super) fn new(rules: Liveness) -> Self {
        Self {
            has_written: AtomicBool::new(true),
            reading: AtomicU8::new(READ),
            has_message: AtomicBool::new(false),
            check: Mutex::new(LivenessCheck::new(rules, Instant::now())),
            listener: Mutex::default(),
        }
    }

    pub(super) fn mark_written(&self) {
        self.has_written.store(true, Ordering::Relaxed);
    }

    /// Bytes were read, and are about to be handled.
    pub(super) fn mark_handling(&self) {
        self.reading.store(HANDLING, Ordering::Relaxed);
    }

    /// They are handled; there was a request or a reply among them, or not.
    pub(super) fn mark_handled(&self, has_message: bool) {
        if has_message {
            self.has_message.store(true, Ordering::Relaxed);
        }
        self.reading.store(READ, Ordering::Relaxed);
    }

    fn take_marks(&self) -> Marks {
        let was = self
            .reading
            .compare_exchange(READ, SILENT, Ordering::Relaxed, Ordering::Relaxed);
        Marks {
            has_written: self.has_written.swap(false, Ordering::Relaxed),
            has_read: was != Err(SILENT),
            has_message: self.has_message.swap(false, Ordering::Relaxed),
            is_handling: was == Err(HANDLING),
            is_reply_due: false,
            is_dispatching: false,
        }
    }

    fn check(&self) -> MutexGuard<'_, LivenessCheck> {
        self.check.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn listener(&self) -> MutexGuard<'_, Option<Arc<HeartbeatListener>>> {
        self.listener.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The rules that hold for it.
    pub(super) fn rules(&self) -> Liveness {
        self.check().rules.clone()
    }

    /// Makes other rules hold, from now on.
    pub(super) fn set_rules(&self, rules: Liveness) {
        *self.check() = LivenessCheck::new(rules, Instant::now());
    }

    /// Whom heartbeats of the peer are told.
    pub(super) fn set_listener(&self, listener: Option<Arc<HeartbeatListener>>) {
        let before = std::mem::replace(&mut *self.listener(), listener);
        // Dropped when nothing is locked: the listener before may hold the last of anything.
        drop(before);
    }

    /// A heartbeat of the peer has come.
    pub(super) fn tell_heartbeat(connection: &Arc<ConnectionCore>) {
        let listener = connection.keepalive.listener().clone();
        if let Some(listener) = listener {
            let call = || listener(Connection::new(connection.clone()));
            if std::panic::catch_unwind(std::panic::AssertUnwindSafe(call)).is_err() {
                tracing::error!("a heartbeat's callback panicked; it is called no more");
                connection.keepalive.set_listener(None);
            }
        }
    }

    /// How often it has to be looked at; `None` if never.
    pub(super) fn tick(&self) -> Option<Duration> {
        self.check().rules.tick()
    }

    /// Looks whether it lives, and does what is due. The next look comes in about `tick`.
    pub(super) fn look(connection: &Arc<ConnectionCore>, now: Instant, tick: Duration) {
        let keepalive = &connection.keepalive;
        let mut marks = keepalive.take_marks();
        marks.is_dispatching = connection.is_dispatching();
        {
            let mut shared = connection.lock();
            if shared.machine.is_validating() || shared.machine.is_closed() {
                return;
            }
            if !marks.has_written {
                shared.output.rest();
            }
            marks.is_reply_due = shared.machine.in_flight() > 0;
            marks.is_dispatching |= shared.machine.dispatching() > 0;
        }
        let due = keepalive.check().look(&marks, now, tick);
        match due {
            Due::Nothing => {}
            Due::Heartbeat => {
                connection.send_heartbeat();
                // It is no use of the connection.
                keepalive.has_written.store(false, Ordering::Relaxed);
            }
            Due::Drop(limit) => connection.drop_silent(limit, marks.is_reply_due),
            Due::Close(limit) => {
                if connection.close_unused() {
                    tracing::debug!(
                        "closed the connection to {}: unused for {limit:?}",
                        connection.peer()
                    );
                }
            }
        }
    }
}
