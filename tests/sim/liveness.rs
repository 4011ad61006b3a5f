//! The liveness check alone, over random rules, events and delays.

use std::time::{Duration, Instant};

use floe_wire::connection::{
    Heartbeats, IdleCheck, Liveness, LivenessAction, LivenessCheck, Marks,
};

use crate::random::Random;

const SECOND: Duration = Duration::from_secs(1);

fn one_in(random: &mut Random, count: usize) -> bool {
    random.up_to(count - 1) == 0
}

fn rules(random: &mut Random) -> Liveness {
    use Heartbeats::{Always, Off, WhenSilent, WhileDispatching};
    use IdleCheck::WhileReplyDue;
    let mut rules = Liveness::default();
    rules.heartbeats = random.one_of(&[Off, WhileDispatching, WhenSilent, Always]);
    rules.heartbeat_interval = SECOND * random.one_of(&[1, 20, 60]);
    rules.idle_check = random.one_of(&[IdleCheck::Off, WhileReplyDue, IdleCheck::Always]);
    rules.idle_timeout = SECOND * random.one_of(&[2, 60, 90]);
    rules.inactivity_timeout = random.one_of(&[None, Some(3 * SECOND), Some(300 * SECOND)]);
    rules
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
            has_written: one_in(random, 6),
            has_read: one_in(random, 6),
            has_message: false,
            is_handling: one_in(random, 20),
            is_reply_due: one_in(random, 3),
            is_dispatching: one_in(random, 20),
        };
        let marks = Marks {
            has_message: marks.has_read && one_in(random, 2),
            ..marks
        };
        // This side stands still until a late check, and then handles everything.
        let happened = match late.is_zero() {
            true => start + tick.mul_f64(random.up_to(999) as f64 / 1000.0),
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
        let mut random = Random::new(seed);
        let rules = rules(&mut random);
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
            let late = match random.up_to(39) {
                0 => tick.mul_f64(random.up_to(49) as f64),
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
