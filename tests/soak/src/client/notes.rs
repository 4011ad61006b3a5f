//! A client's notes about its calls, and the watch over those that do not end.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard};
use std::thread;
use std::time::Duration;

use floe::InvokeError;

use crate::id::{CallId, Kind};
use crate::journal::{Journal, Note};

/// Between two looks at the calls under way.
const LOOK_INTERVAL: Duration = Duration::from_secs(1);

/// The notes of a client.
pub(super) struct Notes {
    client: u16,
    journal: Journal,
    /// Within so many looks each call ends, whatever happens to its server. Counted in looks, the time in which
    /// this process stands still, paused or on a busy machine, is none.
    looks_max: u64,
    counter: AtomicU64,
    /// Calls under way, and how many looks there had been when each began.
    under_way: Mutex<HashMap<CallId, u64>>,
    look_count: AtomicU64,
    overdue_count: AtomicU64,
    is_ended: AtomicBool,
}

impl Notes {
    pub(super) fn new(client: u16, journal: Journal, looks_max: u64) -> Self {
        Self {
            client,
            journal,
            looks_max,
            counter: AtomicU64::new(0),
            under_way: Mutex::default(),
            look_count: AtomicU64::new(0),
            overdue_count: AtomicU64::new(0),
            is_ended: AtomicBool::new(false),
        }
    }

    /// A new call.
    pub(super) fn begin(&self, kind: Kind) -> CallId {
        let id = CallId::new(
            self.client,
            kind,
            self.counter.fetch_add(1, Ordering::Relaxed),
        );
        let look = self.look_count.load(Ordering::Relaxed);
        self.under_way().insert(id, look);
        id
    }

    /// Notes what became of a call.
    pub(super) fn end_call(&self, id: CallId, note: Note) {
        self.under_way().remove(&id);
        self.note(id, note);
    }

    /// Notes that a call failed, as the error says.
    pub(super) fn fail(&self, id: CallId, error: &InvokeError) {
        self.end_call(id, note_of(id, error));
    }

    pub(super) fn note(&self, id: CallId, note: Note) {
        self.journal.note(id, note);
    }

    /// Calls begun so far.
    pub(super) fn count(&self) -> u64 {
        self.counter.load(Ordering::Relaxed)
    }

    /// No more calls.
    pub(super) fn end(&self) {
        self.is_ended.store(true, Ordering::Relaxed);
    }

    pub(super) fn is_ended(&self) -> bool {
        self.is_ended.load(Ordering::Relaxed)
    }

    /// Looks for calls that do not end, as long as the process lives; it lives no longer when it shall end,
    /// and only they are left.
    pub(super) fn watch(&self) {
        loop {
            thread::sleep(LOOK_INTERVAL);
            self.look();
            let has_overdue = self.overdue_count.load(Ordering::Relaxed) > 0;
            if self.is_ended() && has_overdue && self.under_way().is_empty() {
                std::process::exit(0);
            }
        }
    }

    fn look(&self) {
        let look = 1 + self.look_count.fetch_add(1, Ordering::Relaxed);
        self.under_way().retain(|id, begin| {
            let is_overdue = look - *begin > self.looks_max;
            if is_overdue {
                self.overdue_count.fetch_add(1, Ordering::Relaxed);
                eprintln!("overdue: a call of kind {:?}", id.kind());
                self.note(*id, Note::Overdue);
            }
            !is_overdue
        });
    }

    fn under_way(&self) -> MutexGuard<'_, HashMap<CallId, u64>> {
        self.under_way
            .lock()
            .expect("no holder of this lock panics")
    }
}

fn note_of(id: CallId, error: &InvokeError) -> Note {
    match error {
        InvokeError::NotDispatched(_) => Note::Denied,
        InvokeError::PerhapsDispatched(_) => Note::Unknown,
        // The servant says how its own call failed; the rest is known.
        InvokeError::System(_) if id.kind() == Some(Kind::CallBack) => Note::Unknown,
        other => {
            eprintln!("odd: a call of kind {:?} failed: {other}", id.kind());
            Note::Odd
        }
    }
}
