//! The liveness check of a connection: decides from marks and the time alone what is due.

use std::time::{Duration, Instant};

use crate::liveness::{Heartbeats, IdleCheck, Liveness};

/// The marks set since the last check.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Marks {
    pub(super) has_written: bool,
    pub(super) has_read: bool,
    pub(super) has_message: bool,
    pub(super) is_handling: bool,
    pub(super) is_reply_due: bool,
    pub(super) is_dispatching: bool,
}

/// The action that is due after a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LivenessAction {
    Nothing,
    Heartbeat,
    /// Drop the connection: the peer was silent for this limit.
    Drop(Duration),
    /// Close the connection: it was unused for this limit.
    Close(Duration),
}

/// What earlier checks found. An event is dated by the check that found it, so its time is never too early.
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

    pub(super) fn update(&mut self, marks: &Marks, now: Instant, tick: Duration) -> LivenessAction {
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
}

impl LivenessCheck {
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
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);
    const TICK: Duration = Duration::from_secs(10);

    /// Checks every ten seconds until an action other than a heartbeat is due. Returns the action and the number of
    /// checks and heartbeats before it.
    fn run(rules: Liveness, marks: &Marks, check_max: u32) -> (LivenessAction, u32, u32) {
        let mut now = Instant::now();
        let mut check = LivenessCheck::new(rules, now);
        let mut heartbeat_count = 0;
        for count in 1..=check_max {
            now += TICK;
            match check.update(marks, now, TICK) {
                LivenessAction::Nothing => {}
                LivenessAction::Heartbeat => heartbeat_count += 1,
                due => return (due, count, heartbeat_count),
            }
        }
        (LivenessAction::Nothing, check_max, heartbeat_count)
    }

    #[test]
    fn an_idle_peer_may_be_silent_for_ever_by_default_and_gets_heartbeats() {
        let (due, _, heartbeats) = run(Liveness::default(), &Marks::default(), 1000);
        assert_eq!((due, heartbeats), (LivenessAction::Nothing, 1000));
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
            let (due, count, _) = run(rules, &marks, 1000);
            assert_eq!((due, count), (LivenessAction::Drop(60 * SECOND), 6));
        }
        let heartbeats = Marks {
            has_read: true,
            ..marks
        };
        assert_eq!(
            run(Liveness::default(), &heartbeats, 1000).0,
            LivenessAction::Nothing
        );
    }

    #[test]
    fn silence_counts_only_while_a_reply_is_due() {
        let mut now = Instant::now();
        let mut check = LivenessCheck::new(Liveness::default(), now);
        for _ in 0..100 {
            now += TICK;
            check.update(&Marks::default(), now, TICK);
        }
        let due = Marks {
            is_reply_due: true,
            ..Marks::default()
        };
        now += TICK;
        assert_ne!(
            check.update(&due, now, TICK),
            LivenessAction::Drop(60 * SECOND)
        );
    }

    #[test]
    fn a_38_peer_that_sends_nothing_is_dropped_and_one_that_is_held_back_is_not() {
        let rules = Liveness {
            inactivity_timeout: None,
            ..Liveness::ice_38()
        };
        let (due, count, _) = run(rules.clone(), &Marks::default(), 1000);
        assert_eq!((due, count), (LivenessAction::Drop(60 * SECOND), 6));
        let held_back = Marks {
            has_read: true,
            is_handling: true,
            ..Marks::default()
        };
        assert_eq!(run(rules, &held_back, 1000).0, LivenessAction::Nothing);
    }

    #[test]
    fn an_unused_connection_is_closed_despite_heartbeats() {
        let heartbeats = Marks {
            has_read: true,
            ..Marks::default()
        };
        let (due, count, _) = run(Liveness::ice_38(), &heartbeats, 1000);
        assert_eq!((due, count), (LivenessAction::Close(300 * SECOND), 30));
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
            assert_eq!(due, LivenessAction::Nothing, "{outstanding:?}");
        }
    }

    #[test]
    fn a_jump_of_the_clock_drops_no_connection() {
        let start = Instant::now();
        let mut check = LivenessCheck::new(Liveness::ice_38(), start);
        let owing = Marks {
            is_reply_due: true,
            ..Marks::default()
        };
        check.update(&owing, start + TICK, TICK);
        // A day later: the machine was asleep, or the program was stopped.
        let now = start + 86_400 * SECOND;
        assert_eq!(check.update(&owing, now, TICK), LivenessAction::Heartbeat);
        let mut checks = (1..).map(|count| (count, check.update(&owing, now + count * TICK, TICK)));
        let dropped = checks.find(|(_, due)| matches!(due, LivenessAction::Drop(_)));
        assert_eq!(
            dropped,
            Some((6, LivenessAction::Drop(60 * SECOND))),
            "it has its whole time again"
        );
    }

    #[test]
    fn heartbeats_are_sent_in_time_after_any_write() {
        let rules = Liveness::default();
        let tick = rules.tick().unwrap();
        assert_eq!(tick, 10 * SECOND, "half of 20 s");
        let start = Instant::now();
        let mut check = LivenessCheck::new(rules, start);
        let written = Marks {
            has_written: true,
            ..Marks::default()
        };
        assert_eq!(
            check.update(&written, start + tick, tick),
            LivenessAction::Nothing
        );
        // The write came after the start, so fewer than 20 s of silence have passed.
        let next = check.update(&Marks::default(), start + 2 * tick, tick);
        assert_eq!(next, LivenessAction::Heartbeat);
    }

    #[test]
    fn each_heartbeat_mode_sends_at_its_own_times() {
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
    fn heartbeats_are_held_back_until_ice_sends_its_own() {
        let mut now = Instant::now();
        let mut check = LivenessCheck::new(Liveness::default(), now);
        let waiting = Marks {
            is_reply_due: true,
            ..Marks::default()
        };
        let mut outstanding = Vec::new();
        for _ in 0..5 {
            now += TICK;
            outstanding.push(check.update(&waiting, now, TICK));
        }
        let quiet = [const { LivenessAction::Nothing }; 4];
        assert_eq!(outstanding[..4], quiet, "40 s");
        assert_eq!(
            outstanding[4],
            LivenessAction::Heartbeat,
            "before 60 s, after which Ice 3.8 drops"
        );
        let heard = Marks {
            has_read: true,
            ..waiting
        };
        now += 2 * TICK;
        assert_eq!(check.update(&heard, now, TICK), LivenessAction::Heartbeat);
    }

    /// Pseudo-random numbers from a seed.
    struct Random(u64);

    impl Random {
        fn below(&mut self, end: u64) -> u64 {
            self.0 ^= self.0 << 13;
            self.0 ^= self.0 >> 7;
            self.0 ^= self.0 << 17;
            self.0 % end
        }

        fn one_in(&mut self, count: u64) -> bool {
            self.below(count) == 0
        }

        fn pick<T: Copy>(&mut self, of: &[T]) -> T {
            of[self.below(of.len() as u64) as usize]
        }

        fn rules(&mut self) -> Liveness {
            use Heartbeats::{Always, Off, WhenSilent, WhileDispatching};
            Liveness {
                heartbeats: self.pick(&[Off, WhileDispatching, WhenSilent, Always]),
                heartbeat_interval: SECOND * self.pick(&[1, 20, 60]),
                idle_check: self.pick(&[
                    IdleCheck::Off,
                    IdleCheck::WhileReplyDue,
                    IdleCheck::Always,
                ]),
                idle_timeout: SECOND * self.pick(&[2, 60, 90]),
                inactivity_timeout: self.pick(&[None, Some(3 * SECOND), Some(300 * SECOND)]),
            }
        }
    }

    /// A simulated connection, with random events between two checks, and its true state.
    struct Trial {
        now: Instant,
        read: Instant,
        used: Instant,
        written: Instant,
        /// The moment since when the silence of the peer matters.
        matters: Option<Instant>,
    }

    impl Trial {
        /// Lets time pass, and returns the result of a check at the end.
        fn pass(
            &mut self,
            random: &mut Random,
            rules: &Liveness,
            (tick, late): (Duration, Duration),
        ) -> Marks {
            let start = self.now;
            self.now += tick + late;
            let marks = Marks {
                has_written: random.one_in(6),
                has_read: random.one_in(6),
                has_message: false,
                is_handling: random.one_in(20),
                is_reply_due: random.one_in(3),
                is_dispatching: random.one_in(20),
            };
            let marks = Marks {
                has_message: marks.has_read && random.one_in(2),
                ..marks
            };
            // This side stands still until a late check, and then handles everything.
            let happened = match late.is_zero() {
                true => start + tick.mul_f64(random.below(1000) as f64 / 1000.0),
                false => self.now,
            };
            if marks.has_read {
                self.read = happened;
            }
            if marks.has_written {
                self.written = happened;
            }
            if marks.has_written || marks.has_message {
                self.used = happened;
            }
            if marks.is_handling || marks.is_reply_due || marks.is_dispatching {
                self.used = self.now;
            }
            self.matters = match rules.idle_check {
                IdleCheck::Always => self.matters.or(Some(start)),
                IdleCheck::WhileReplyDue if marks.is_reply_due => self.matters.or(Some(start)),
                _ => None,
            };
            marks
        }
    }

    #[test]
    fn every_seed_drops_only_silent_peers_and_closes_only_unused_connections() {
        for seed in 1..=2_000 {
            let mut random = Random(0x9E37_79B9_7F4A_7C15 ^ seed);
            let rules = random.rules();
            let Some(tick) = rules.tick() else { continue };
            let start = Instant::now();
            let mut check = LivenessCheck::new(rules.clone(), start);
            let mut trial = Trial {
                now: start,
                read: start,
                used: start,
                written: start,
                matters: None,
            };
            for _ in 0..200 {
                // Some checks are a little late, and a few are very late.
                let late = match random.below(40) {
                    0 => tick.mul_f64(random.below(50) as f64),
                    _ => Duration::ZERO,
                };
                let marks = trial.pass(&mut random, &rules, (tick, late));
                let since = |then: Instant| trial.now.duration_since(then);
                let silence = since(trial.read.max(trial.matters.unwrap_or(trial.now)));
                match check.update(&marks, trial.now, tick) {
                    LivenessAction::Drop(limit) => {
                        assert!(silence >= limit, "seed {seed}: {silence:?} of {rules:?}");
                        assert_ne!(rules.idle_check, IdleCheck::Off, "seed {seed}");
                        break;
                    }
                    LivenessAction::Close(limit) => {
                        let unused = since(trial.used);
                        assert!(unused >= limit, "seed {seed}: {unused:?} of {rules:?}");
                        break;
                    }
                    LivenessAction::Heartbeat => trial.written = trial.now,
                    LivenessAction::Nothing => {}
                }
                let is_silent = rules.heartbeats == Heartbeats::WhenSilent
                    && rules.idle_check != IdleCheck::WhileReplyDue;
                if is_silent && rules.has_heartbeats() && late.is_zero() {
                    let unheard = since(trial.written);
                    assert!(
                        unheard < rules.heartbeat_interval,
                        "seed {seed}: silent for {unheard:?} of {rules:?}"
                    );
                }
            }
        }
    }
}
