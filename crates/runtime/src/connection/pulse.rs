//! Whether a connection lives: when to send a heartbeat, and when silence or disuse ends it.
//!
//! A thread looks at each connection now and then (`heartbeat.rs`). Whoever reads or writes leaves
//! marks, which cost a store each and no look at the clock. [`Watch`] decides, from the marks and the
//! time alone. A look that finds nothing written since the last one also takes the output's buffers
//! away: what ten thousand idle connections keep is kept ten thousand times.

use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use floe_wire::message::VALIDATE_CONNECTION;

use super::watch::{Due, Marks, Watch};
use super::{Connection, ConnectionCore};
use crate::liveness::Liveness;

/// Marks of those who read and write, and what becomes of them.
pub(super) struct Pulse {
    /// Whether anything was written since the last look.
    has_written: AtomicBool,
    /// [`SILENT`], [`READ`] or [`HANDLING`].
    reading: AtomicU8,
    /// Whether a request or a reply was read since the last look.
    has_message: AtomicBool,
    /// Guards what the looks found; held for a moment.
    watch: Mutex<Watch>,
    /// Guards whom heartbeats of the peer are told.
    listener: Mutex<Option<Arc<Listener>>>,
}

/// Nothing was read since the last look.
const SILENT: u8 = 0;
/// Something was.
const READ: u8 = 1;
/// What was read is being handled, and nothing else is read meanwhile: the peer may be held back by a
/// limit of this side, and has a right to be silent.
const HANDLING: u8 = 2;

pub(crate) type Listener = dyn Fn(Connection) + Send + Sync;

impl Pulse {
    pub(super) fn new(rules: Liveness) -> Self {
        Self {
            has_written: AtomicBool::new(true),
            reading: AtomicU8::new(READ),
            has_message: AtomicBool::new(false),
            watch: Mutex::new(Watch::new(rules, Instant::now())),
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

    fn watch(&self) -> MutexGuard<'_, Watch> {
        self.watch.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn listener(&self) -> MutexGuard<'_, Option<Arc<Listener>>> {
        self.listener.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ConnectionCore {
    /// The rules that hold for it.
    pub(crate) fn liveness(&self) -> Liveness {
        self.pulse.watch().rules.clone()
    }

    /// Makes other rules hold, from now on.
    pub(crate) fn set_liveness(&self, rules: Liveness) {
        *self.pulse.watch() = Watch::new(rules, Instant::now());
    }

    /// Whom heartbeats of the peer are told.
    pub(crate) fn set_heartbeat_listener(&self, listener: Option<Arc<Listener>>) {
        // Dropped when nothing is locked: the listener before may hold the last of anything.
        let mut before = std::mem::replace(&mut *self.pulse.listener(), listener);
        drop(before);
        if self.lock().machine.is_closed() {
            // None will come, and what it holds shall go.
            before = self.pulse.listener().take();
            drop(before);
        }
    }

    /// A heartbeat of the peer has come.
    pub(super) fn tell_heartbeat(self: &Arc<Self>) {
        let listener = self.pulse.listener().clone();
        if let Some(listener) = listener {
            let call = || listener(Connection::new(self.clone()));
            if std::panic::catch_unwind(std::panic::AssertUnwindSafe(call)).is_err() {
                tracing::error!("a heartbeat's callback panicked; it is called no more");
                self.set_heartbeat_listener(None);
            }
        }
    }

    /// How often it has to be looked at; `None` if never.
    pub(crate) fn tick(&self) -> Option<Duration> {
        if self.writer.is_datagram() {
            return None;
        }
        self.pulse.watch().rules.tick()
    }

    /// Looks whether it lives, and does what is due. The next look comes in about `tick`.
    pub(crate) fn look(self: &Arc<Self>, now: Instant, tick: Duration) {
        let mut marks = self.pulse.take_marks();
        marks.is_dispatching = self.is_dispatching();
        {
            let mut shared = self.lock();
            if shared.machine.is_validating() || shared.machine.is_closed() {
                return;
            }
            if !marks.has_written {
                shared.output.rest();
            }
            marks.is_reply_due = shared.machine.in_flight() > 0;
            marks.is_dispatching |= shared.machine.dispatching() > 0;
        }
        let due = self.pulse.watch().look(&marks, now, tick);
        match due {
            Due::Nothing => {}
            Due::Heartbeat => {
                self.send_heartbeat();
                // It is no use of the connection.
                self.pulse.has_written.store(false, Ordering::Relaxed);
            }
            Due::Drop(limit) => self.drop_silent(limit, marks.is_reply_due),
            Due::Close(limit) => {
                if self.close_unused() {
                    tracing::debug!(
                        "closed the connection to {}: unused for {limit:?}",
                        self.peer
                    );
                }
            }
        }
    }

    pub(super) fn send_heartbeat(self: &Arc<Self>) {
        {
            let mut shared = self.lock();
            // What waits to be written says the same, and a peer that does not read shall not make
            // it longer.
            if !shared.machine.may_send_heartbeat() || shared.output.len() > 0 {
                return;
            }
            shared
                .output
                .bytes()
                .extend_from_slice(&VALIDATE_CONNECTION);
        }
        self.flush();
    }

    fn drop_silent(&self, limit: Duration, is_reply_due: bool) {
        let why = match is_reply_due {
            true => "a reply is due, and the peer",
            false => "the peer",
        };
        let reason = format!(
            "{why} sent nothing for {limit:?}, not even a heartbeat: it hangs or is cut off, or it \
             sends none (then see `Liveness::idle_check`)"
        );
        self.complain(|| format!("dropped the connection to {}: {reason}", self.peer));
        self.abort(reason);
    }
}
