//! Kills and pauses at random, decided by the seed.

use std::time::{Duration, Instant};

use super::report::Report;
use super::stage::{Part, Stage};
use crate::random::Random;

/// Between two deeds, in milliseconds.
const QUIET_MIN: usize = 400;
const QUIET_MAX: usize = 1600;
/// A pause, in milliseconds; below all limits of those who wait for the paused one.
const PAUSE_MIN: usize = 50;
const PAUSE_MAX: usize = 2000;
/// How long a killed member stays away, in milliseconds.
const AWAY_MAX: usize = 1500;

/// The choice of what happens next.
pub(super) struct Chaos {
    random: Random,
    next: Instant,
}

impl Chaos {
    pub(super) fn new(seed: u64, begin: Instant) -> Self {
        Self {
            random: Random::new(seed),
            next: begin + millis(QUIET_MAX),
        }
    }

    /// Does what is due: resumes, restarts, and a deed now and then.
    pub(super) fn act(&mut self, now: Instant, stage: &mut Stage, report: &mut Report) {
        stage.bring_back(now, report);
        if now < self.next {
            return;
        }
        self.next = now + millis(QUIET_MIN + self.random.below(QUIET_MAX - QUIET_MIN));
        match self.random.below(10) {
            0..4 => self.kill(Part::Server, now, stage, report),
            4..6 => self.kill(Part::Client, now, stage, report),
            _ => {
                let pause = millis(PAUSE_MIN + self.random.below(PAUSE_MAX - PAUSE_MIN));
                let count = stage.actors().count();
                let at = self.random.below(count);
                let mut actors = stage.actors_mut();
                if let Some(actor) = actors.nth(at) {
                    report.pauses += usize::from(actor.pause(now + pause));
                }
            }
        }
    }

    /// No more of it: everybody is there, and runs.
    pub(super) fn calm(&self, stage: &mut Stage, report: &mut Report) {
        let soon = Instant::now() + millis(PAUSE_MAX + AWAY_MAX);
        stage.bring_back(soon, report);
    }

    fn kill(&mut self, part: Part, now: Instant, stage: &mut Stage, report: &mut Report) {
        let away = millis(self.random.below(AWAY_MAX));
        let mut mortals: Vec<_> = stage
            .actors_mut()
            .filter(|actor| actor.part == part && !actor.is_elder)
            .collect();
        if mortals.is_empty() {
            return;
        }
        let at = self.random.below(mortals.len());
        report.kills += usize::from(mortals[at].kill(now + away));
    }
}

fn millis(count: usize) -> Duration {
    Duration::from_millis(count as u64)
}
