//! What is due on a connection: decided from marks and the time alone.

use std::time::{Duration, Instant};

use crate::liveness::{Heartbeats, IdleCheck, Liveness};

/// What was seen since the last look.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Marks {
    pub(super) has_written: bool,
    pub(super) has_read: bool,
    pub(super) has_message: bool,
    pub(super) is_handling: bool,
    pub(super) is_reply_due: bool,
    pub(super) is_dispatching: bool,
}

/// What is due after a look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Due {
    Nothing,
    Heartbeat,
    /// The peer was silent for this limit.
    Drop(Duration),
    /// Nobody used the connection for this limit.
    Close(Duration),
}

/// What the looks found so far. Its times are those of looks, at or after what they tell of.
#[derive(Debug)]
pub(super) struct LivenessCheck {
    pub(super) rules: Liveness,
    looked: Instant,
    written: Instant,
    heartbeat: Instant,
    read: Instant,
    used: Instant,
}

impl LivenessCheck {
    pub(super) fn new(rules: Liveness, now: Instant) -> Self {
        Self {
            rules,
            looked: now,
            written: now,
            heartbeat: now,
            read: now,
            used: now,
        }
    }

    pub(super) fn look(&mut self, marks: &Marks, now: Instant, tick: Duration) -> Due {
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

impl LivenessCheck {
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
        let mut check = LivenessCheck::new(rules, now);
        let mut heartbeat_count = 0;
        for look in 1..=look_max {
            now += TICK;
            match check.look(marks, now, TICK) {
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
        let mut check = LivenessCheck::new(Liveness::default(), now);
        for _ in 0..100 {
            now += TICK;
            check.look(&Marks::default(), now, TICK);
        }
        let due = Marks {
            is_reply_due: true,
            ..Marks::default()
        };
        now += TICK;
        assert_ne!(check.look(&due, now, TICK), Due::Drop(60 * SECOND));
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
        let mut check = LivenessCheck::new(Liveness::ice_38(), start);
        let owing = Marks {
            is_reply_due: true,
            ..Marks::default()
        };
        check.look(&owing, start + TICK, TICK);
        // A day later: the machine was asleep, or the program was stopped.
        let now = start + 86_400 * SECOND;
        assert_eq!(check.look(&owing, now, TICK), Due::Heartbeat);
        let mut looks = (1..).map(|count| (count, check.look(&owing, now + count * TICK, TICK)));
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
        let mut check = LivenessCheck::new(rules, start);
        let written = Marks {
            has_written: true,
            ..Marks::default()
        };
        assert_eq!(check.look(&written, start + tick, tick), Due::Nothing);
        // Written just after the start at the earliest: 20 s of silence are not passed.
        let next = check.look(&Marks::default(), start + 2 * tick, tick);
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
        let mut check = LivenessCheck::new(Liveness::default(), now);
        let waiting = Marks {
            is_reply_due: true,
            ..Marks::default()
        };
        let mut dues = Vec::new();
        for _ in 0..5 {
            now += TICK;
            dues.push(check.look(&waiting, now, TICK));
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
        assert_eq!(check.look(&heard, now, TICK), Due::Heartbeat);
    }
}
