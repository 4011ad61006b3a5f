//! The liveness check of a connection: decides from marks and the time alone what is due.

use std::time::{Duration, Instant};

use super::liveness::{Heartbeats, IdleCheck, Liveness};

/// The marks set since the last check.
#[derive(Debug, Clone, Copy, Default)]
pub struct Marks {
    /// Bytes were written.
    pub has_written: bool,
    /// Bytes were read.
    pub has_read: bool,
    /// A request or a reply was read.
    pub has_message: bool,
    /// This side handles a message and reads nothing meanwhile.
    pub is_handling: bool,
    /// The peer owes a reply.
    pub is_reply_due: bool,
    /// A request of the peer is in dispatch.
    pub is_dispatching: bool,
}

/// The action that is due after a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LivenessAction {
    /// Nothing is due.
    Nothing,
    /// Send a heartbeat.
    Heartbeat,
    /// Drop the connection: the peer was silent for this limit.
    Drop(Duration),
    /// Close the connection: it was unused for this limit.
    Close(Duration),
}

/// The findings of earlier checks. An event is dated by the check that found it, so its time is never too early.
#[derive(Debug)]
pub struct LivenessCheck {
    rules: Liveness,
    looked: Instant,
    written: Instant,
    heartbeat: Instant,
    read: Instant,
    used: Instant,
}

impl LivenessCheck {
    /// Starts the checks of a connection with these rules.
    pub fn new(rules: Liveness, now: Instant) -> Self {
        Self {
            rules,
            looked: now,
            written: now,
            heartbeat: now,
            read: now,
            used: now,
        }
    }

    /// The rules that apply.
    pub fn rules(&self) -> &Liveness {
        &self.rules
    }

    /// Checks the connection. `tick` is the time between two checks, [`Liveness::tick`].
    pub fn update(&mut self, marks: &Marks, now: Instant, tick: Duration) -> LivenessAction {
        let since = now.saturating_duration_since(self.looked);
        self.looked = now;
        if marks.has_written {
            self.written = now;
        }
        if since > tick.saturating_mul(2) + LATE {
            // This side stood still. The bytes that the peer sent meanwhile are still unread.
            self.read = now;
            self.used = now;
        }
        let is_busy = marks.is_handling || marks.is_reply_due || marks.is_dispatching;
        if marks.has_written || marks.has_message || is_busy {
            self.used = now;
        }
        // Silence counts only from the moment at which it matters.
        if marks.has_read || !self.is_silence_relevant(marks) {
            self.read = now;
        }
        self.decide(marks, now, tick)
    }

    /// Returns true if it matters that the peer is silent.
    fn is_silence_relevant(&self, marks: &Marks) -> bool {
        match self.rules.idle_check {
            IdleCheck::Always => true,
            IdleCheck::WhileReplyDue => marks.is_reply_due,
            IdleCheck::Off => false,
        }
    }

    fn decide(&mut self, marks: &Marks, now: Instant, tick: Duration) -> LivenessAction {
        let since = |then| now.saturating_duration_since(then);
        if self.rules.has_idle_check() && since(self.read) >= self.rules.idle_timeout {
            return LivenessAction::Drop(self.rules.idle_timeout);
        }
        if let Some(limit) = self.rules.inactivity_timeout
            && since(self.used) >= limit
        {
            return LivenessAction::Close(limit);
        }
        let last = match self.rules.heartbeats {
            Heartbeats::Off => return LivenessAction::Nothing,
            Heartbeats::WhileDispatching if !(marks.is_dispatching || marks.is_handling) => {
                return LivenessAction::Nothing;
            }
            Heartbeats::WhileDispatching | Heartbeats::WhenSilent => self.written,
            Heartbeats::Always => self.heartbeat,
        };
        if self.holds_heartbeats_back(marks)
            && since(last) < HELD_BACK_MAX.min(self.rules.idle_timeout / 4 * 3)
        {
            return LivenessAction::Nothing;
        }
        // A write that a check finds may be a tick old, and the next check is a tick away.
        if !self.rules.has_heartbeats() || since(last) + 2 * tick <= self.rules.heartbeat_interval {
            return LivenessAction::Nothing;
        }
        self.written = now;
        self.heartbeat = now;
        LivenessAction::Heartbeat
    }

    /// Returns true if heartbeats must be held back, because they would keep the peer from sending any. Ice 3.7 sends
    /// no heartbeat, even during a long dispatch, if it heard from the other side within a quarter of its own timeout
    /// (observed: 3.7.8). A side that waits for a reply and hears nothing therefore stays silent itself for a while,
    /// shorter than Ice 3.8 tolerates.
    fn holds_heartbeats_back(&self, marks: &Marks) -> bool {
        let is_checked =
            self.rules.idle_check == IdleCheck::WhileReplyDue && self.rules.has_idle_check();
        is_checked && marks.is_reply_due && !marks.has_read
    }
}

/// Longest time for which heartbeats are held back: three quarters of what Ice tolerates by default.
const HELD_BACK_MAX: Duration = Duration::from_secs(45);

/// If a check is later than this, beyond its tick, then this side stood still.
const LATE: Duration = Duration::from_millis(100);

#[cfg(test)]
mod tests;
