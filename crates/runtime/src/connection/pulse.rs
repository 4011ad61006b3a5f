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

use super::{Connection, handle};
use crate::liveness::{Heartbeats, IdleCheck, Liveness};

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

pub(crate) type Listener = dyn Fn(handle::Connection) + Send + Sync;

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

impl Connection {
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
        *self.pulse.listener() = listener;
        if self.lock().machine.is_closed() {
            // None will come, and what it holds shall go.
            *self.pulse.listener() = None;
        }
    }

    /// A heartbeat of the peer has come.
    pub(super) fn tell_heartbeat(self: &Arc<Self>) {
        let listener = self.pulse.listener().clone();
        if let Some(listener) = listener {
            let call = || listener(handle::Connection::new(self.clone()));
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
                .pending()
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

/// What was seen since the last look.
#[derive(Debug, Clone, Copy, Default)]
struct Marks {
    has_written: bool,
    has_read: bool,
    has_message: bool,
    is_handling: bool,
    is_reply_due: bool,
    is_dispatching: bool,
}

/// What is due after a look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Due {
    Nothing,
    Heartbeat,
    /// The peer was silent for this limit.
    Drop(Duration),
    /// Nobody used the connection for this limit.
    Close(Duration),
}

/// What the looks found so far. Its times are those of looks, at or after what they tell of.
#[derive(Debug)]
struct Watch {
    rules: Liveness,
    looked: Instant,
    written: Instant,
    heartbeat: Instant,
    read: Instant,
    used: Instant,
}

impl Watch {
    fn new(rules: Liveness, now: Instant) -> Self {
        Self {
            rules,
            looked: now,
            written: now,
            heartbeat: now,
            read: now,
            used: now,
        }
    }

    fn look(&mut self, marks: &Marks, now: Instant, tick: Duration) -> Due {
        let since = now.saturating_duration_since(self.looked);
        self.looked = now;
        if marks.has_written {
            self.written = now;
        }
        if since > tick.saturating_mul(2) + LATE {
            // This side stood still: what the peer has sent meanwhile is still to be read.
            self.read = now;
            self.used = now;
        }
        let is_busy = marks.is_handling || marks.is_reply_due || marks.is_dispatching;
        if marks.has_written || marks.has_message || is_busy {
            self.used = now;
        }
        // Silence counts from when it matters.
        if marks.has_read || !self.matters(marks) {
            self.read = now;
        }
        self.decide(marks, now, tick)
    }

    /// Whether it matters that the peer is silent.
    fn matters(&self, marks: &Marks) -> bool {
        match self.rules.idle_check {
            IdleCheck::Always => true,
            IdleCheck::WhileReplyDue => marks.is_reply_due,
            IdleCheck::Off => false,
        }
    }

    fn decide(&mut self, marks: &Marks, now: Instant, tick: Duration) -> Due {
        let since = |then| now.saturating_duration_since(then);
        if self.rules.has_idle_check() && since(self.read) >= self.rules.idle_timeout {
            return Due::Drop(self.rules.idle_timeout);
        }
        if let Some(limit) = self.rules.inactivity_timeout
            && since(self.used) >= limit
        {
            return Due::Close(limit);
        }
        let last = match self.rules.heartbeats {
            Heartbeats::Off => return Due::Nothing,
            Heartbeats::WhileDispatching if !(marks.is_dispatching || marks.is_handling) => {
                return Due::Nothing;
            }
            Heartbeats::WhileDispatching | Heartbeats::WhenSilent => self.written,
            Heartbeats::Always => self.heartbeat,
        };
        if self.holds_back(marks)
            && since(last) < HELD_BACK_MAX.min(self.rules.idle_timeout / 4 * 3)
        {
            return Due::Nothing;
        }
        // What was seen at a look may be a tick old, and the next look is a tick away.
        if !self.rules.has_heartbeats() || since(last) + 2 * tick <= self.rules.heartbeat_interval {
            return Due::Nothing;
        }
        self.written = now;
        self.heartbeat = now;
        Due::Heartbeat
    }
}

impl Watch {
    /// Whether its heartbeats would keep the peer from sending any: Ice 3.7 sends none, even in a long
    /// dispatch, while it hears of the other side within a quarter of its own timeout (observed:
    /// 3.7.8). Whoever waits for a reply and hears nothing is therefore silent itself for a while,
    /// shorter than Ice 3.8 tolerates.
    fn holds_back(&self, marks: &Marks) -> bool {
        let is_checked =
            self.rules.idle_check == IdleCheck::WhileReplyDue && self.rules.has_idle_check();
        is_checked && marks.is_reply_due && !marks.has_read
    }
}

/// How long heartbeats are held back at most: three quarters of what Ice tolerates by default.
const HELD_BACK_MAX: Duration = Duration::from_secs(45);

/// A look that is later than this, beyond a tick, says that this side stood still.
const LATE: Duration = Duration::from_millis(100);

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);
    const TICK: Duration = Duration::from_secs(10);

    /// Looks every ten seconds until something other than a heartbeat is due; how many looks and
    /// heartbeats that took.
    fn run(rules: Liveness, marks: &Marks, look_max: u32) -> (Due, u32, u32) {
        let mut now = Instant::now();
        let mut watch = Watch::new(rules, now);
        let mut heartbeat_count = 0;
        for look in 1..=look_max {
            now += TICK;
            match watch.look(marks, now, TICK) {
                Due::Nothing => {}
                Due::Heartbeat => heartbeat_count += 1,
                due => return (due, look, heartbeat_count),
            }
        }
        (Due::Nothing, look_max, heartbeat_count)
    }

    #[test]
    fn an_idle_peer_may_be_silent_for_ever_by_default_and_gets_heartbeats() {
        let (due, _, heartbeats) = run(Liveness::default(), &Marks::default(), 1000);
        assert_eq!((due, heartbeats), (Due::Nothing, 1000));
    }

    #[test]
    fn a_peer_that_owes_a_reply_may_be_silent_for_the_idle_timeout() {
        let marks = Marks {
            is_reply_due: true,
            ..Marks::default()
        };
        for rules in [
            Liveness::default(),
            Liveness::ice_37_client(),
            Liveness::ice_38(),
        ] {
            let (due, look, _) = run(rules, &marks, 1000);
            assert_eq!((due, look), (Due::Drop(60 * SECOND), 6));
        }
        let heartbeats = Marks {
            has_read: true,
            ..marks
        };
        assert_eq!(run(Liveness::default(), &heartbeats, 1000).0, Due::Nothing);
    }

    #[test]
    fn silence_counts_from_when_a_reply_is_due_and_not_before() {
        let mut now = Instant::now();
        let mut watch = Watch::new(Liveness::default(), now);
        for _ in 0..100 {
            now += TICK;
            watch.look(&Marks::default(), now, TICK);
        }
        let due = Marks {
            is_reply_due: true,
            ..Marks::default()
        };
        now += TICK;
        assert_ne!(watch.look(&due, now, TICK), Due::Drop(60 * SECOND));
    }

    #[test]
    fn a_38_peer_that_sends_nothing_is_dropped_and_one_that_is_held_back_is_not() {
        let rules = Liveness {
            inactivity_timeout: None,
            ..Liveness::ice_38()
        };
        let (due, look, _) = run(rules.clone(), &Marks::default(), 1000);
        assert_eq!((due, look), (Due::Drop(60 * SECOND), 6));
        let held_back = Marks {
            has_read: true,
            is_handling: true,
            ..Marks::default()
        };
        assert_eq!(run(rules, &held_back, 1000).0, Due::Nothing);
    }

    #[test]
    fn an_unused_connection_is_closed_and_heartbeats_are_no_use() {
        let heartbeats = Marks {
            has_read: true,
            ..Marks::default()
        };
        let (due, look, _) = run(Liveness::ice_38(), &heartbeats, 1000);
        assert_eq!((due, look), (Due::Close(300 * SECOND), 30));
        for outstanding in [
            Marks {
                is_reply_due: true,
                ..heartbeats
            },
            Marks {
                is_dispatching: true,
                ..heartbeats
            },
            Marks {
                has_message: true,
                ..heartbeats
            },
        ] {
            let (due, ..) = run(Liveness::ice_38(), &outstanding, 1000);
            assert_eq!(due, Due::Nothing, "{outstanding:?}");
        }
    }

    #[test]
    fn a_jump_of_the_clock_judges_nobody() {
        let start = Instant::now();
        let mut watch = Watch::new(Liveness::ice_38(), start);
        let owing = Marks {
            is_reply_due: true,
            ..Marks::default()
        };
        watch.look(&owing, start + TICK, TICK);
        // A day later: the machine was asleep, or the program was stopped.
        let now = start + 86_400 * SECOND;
        assert_eq!(watch.look(&owing, now, TICK), Due::Heartbeat);
        let mut looks = (1..).map(|count| (count, watch.look(&owing, now + count * TICK, TICK)));
        let dropped = looks.find(|(_, due)| matches!(due, Due::Drop(_)));
        assert_eq!(
            dropped,
            Some((6, Due::Drop(60 * SECOND))),
            "it has its whole time again"
        );
    }

    #[test]
    fn heartbeats_come_in_time_whenever_the_last_write_was() {
        let rules = Liveness::default();
        let tick = rules.tick().unwrap();
        assert_eq!(tick, 10 * SECOND, "half of 20 s");
        let start = Instant::now();
        let mut watch = Watch::new(rules, start);
        let written = Marks {
            has_written: true,
            ..Marks::default()
        };
        assert_eq!(watch.look(&written, start + tick, tick), Due::Nothing);
        // Written just after the start at the earliest: 20 s of silence are not passed.
        let next = watch.look(&Marks::default(), start + 2 * tick, tick);
        assert_eq!(next, Due::Heartbeat);
    }

    #[test]
    fn each_mode_of_heartbeats_has_its_time() {
        let dispatching = Marks {
            is_dispatching: true,
            ..Marks::default()
        };
        let busy = Marks {
            has_written: true,
            ..Marks::default()
        };
        let count = |heartbeats, marks: &Marks| {
            let rules = Liveness {
                heartbeats,
                ..Liveness::default()
            };
            run(rules, marks, 10).2
        };
        use Heartbeats::{Always, Off, WhenSilent, WhileDispatching};
        for (mode, idle, dispatch, write) in [
            (Off, 0, 0, 0),
            (WhileDispatching, 0, 10, 0),
            (WhenSilent, 10, 10, 0),
            (Always, 10, 10, 10),
        ] {
            let counts = [&Marks::default(), &dispatching, &busy].map(|m| count(mode, m));
            assert_eq!(counts, [idle, dispatch, write], "{mode:?}");
        }
    }

    #[test]
    fn whoever_waits_and_hears_nothing_is_silent_long_enough_for_ice_to_speak() {
        let mut now = Instant::now();
        let mut watch = Watch::new(Liveness::default(), now);
        let waiting = Marks {
            is_reply_due: true,
            ..Marks::default()
        };
        let mut dues = Vec::new();
        for _ in 0..5 {
            now += TICK;
            dues.push(watch.look(&waiting, now, TICK));
        }
        let quiet = [const { Due::Nothing }; 4];
        assert_eq!(dues[..4], quiet, "40 s");
        assert_eq!(
            dues[4],
            Due::Heartbeat,
            "before 60 s, after which Ice 3.8 drops"
        );
        let heard = Marks {
            has_read: true,
            ..waiting
        };
        now += 2 * TICK;
        assert_eq!(watch.look(&heard, now, TICK), Due::Heartbeat);
    }
}
