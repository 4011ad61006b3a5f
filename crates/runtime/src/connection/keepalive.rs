//! Keepalive of a connection: heartbeats, and the end of a silent or unused connection.
//!
//! A thread checks each connection periodically (`keepalive_thread.rs`). Readers and writers only set marks, which cost
//! one store each and no clock reading. [`LivenessCheck`] decides from the marks and the time alone. If nothing was
//! written since the last check, the send queue also drops its buffers, because ten thousand idle connections would
//! keep ten thousand of them.

use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use floe_wire::connection::{Liveness, LivenessAction, LivenessCheck, Marks};

use super::{Connection, ConnectionCore};

/// The marks that readers and writers set, and the check that evaluates them.
pub(super) struct Keepalive {
    /// True if anything was written since the last check.
    has_written: AtomicBool,
    /// [`SILENT`], [`READ`] or [`HANDLING`].
    reading: AtomicU8,
    /// True if a request or a reply was read since the last check.
    has_message: AtomicBool,
    /// Guards the state of the liveness check; held for a moment.
    check: Mutex<LivenessCheck>,
    /// Guards the listener that is called for each heartbeat of the peer.
    listener: Mutex<Option<Arc<HeartbeatListener>>>,
}

/// Nothing was read since the last check.
const SILENT: u8 = 0;
/// Bytes were read since the last check.
const READ: u8 = 1;
/// The reader is handling a message and reads nothing meanwhile. A limit of this side may hold the peer back, so its
/// silence is no fault.
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

    /// Marks that bytes were read and will now be handled.
    pub(super) fn mark_handling(&self) {
        self.reading.store(HANDLING, Ordering::Relaxed);
    }

    /// Marks that they are handled. `has_message` is true if there was a request or a reply among them.
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

    /// Returns the rules that apply.
    pub(super) fn rules(&self) -> Liveness {
        self.check().rules().clone()
    }

    /// Changes the rules from now on.
    pub(super) fn set_rules(&self, rules: Liveness) {
        *self.check() = LivenessCheck::new(rules, Instant::now());
    }

    /// Sets the listener that is called for each heartbeat of the peer.
    pub(super) fn set_listener(&self, listener: Option<Arc<HeartbeatListener>>) {
        let before = std::mem::replace(&mut *self.listener(), listener);
        // The old listener is dropped after the lock is released, because its drop may run any code.
        drop(before);
    }

    /// Calls the listener: a heartbeat of the peer has come.
    pub(super) fn call_heartbeat_listener(connection: &Arc<ConnectionCore>) {
        let listener = connection.keepalive.listener().clone();
        if let Some(listener) = listener {
            let call = || listener(Connection::new(connection.clone()));
            if std::panic::catch_unwind(std::panic::AssertUnwindSafe(call)).is_err() {
                tracing::error!("a heartbeat callback panicked; it will not be called again");
                connection.keepalive.set_listener(None);
            }
        }
    }

    /// Returns how often the liveness check must run; `None` if never.
    pub(super) fn tick(&self) -> Option<Duration> {
        self.check().rules().tick()
    }

    /// Runs the liveness check and does what is due. The next check comes in about `tick`.
    pub(super) fn run_check(connection: &Arc<ConnectionCore>, now: Instant, tick: Duration) {
        let keepalive = &connection.keepalive;
        let mut marks = keepalive.take_marks();
        marks.is_dispatching = connection.is_dispatching();
        {
            let mut shared = connection.lock();
            if shared.machine.is_validating() || shared.machine.is_closed() {
                return;
            }
            if !marks.has_written {
                shared.queue.drop_free_buffers();
            }
            marks.is_reply_due = shared.machine.in_flight() > 0;
            marks.is_dispatching |= shared.machine.dispatching() > 0;
        }
        let due = keepalive.check().update(&marks, now, tick);
        match due {
            LivenessAction::Nothing => {}
            LivenessAction::Heartbeat => {
                connection.send_heartbeat();
                // A heartbeat does not count as use of the connection.
                keepalive.has_written.store(false, Ordering::Relaxed);
            }
            LivenessAction::Drop(limit) => connection.drop_silent(limit, marks.is_reply_due),
            LivenessAction::Close(limit) => {
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
