//! Waves of events: each is published when every subscriber has got the whole wave before.

use std::sync::atomic::{AtomicI32, AtomicI64, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::case::{BATCH_LEN, Case, PUBLISHERS_MAX};
use crate::contender::{Failure, announce};
use crate::measure::Effort;
use crate::sample::Sample;

/// The state that all publishers and subscribers of a process share.
#[derive(Debug)]
pub(super) struct Waves {
    case: Case,
    /// The wave whose events are under way.
    wave: AtomicI32,
    /// Events of it that subscribers have still to get.
    expected: AtomicI64,
    /// Guards what the thread that publishes waits for.
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug)]
struct State {
    /// Which subscriber has heard which publisher.
    heard: Vec<bool>,
    heard_count: usize,
    /// When the last event of the wave came.
    ended: Option<Instant>,
    /// True if the lab has asked for the waves.
    is_asked: bool,
}

impl Waves {
    pub(super) fn new(case: Case) -> Self {
        Self {
            case,
            wave: AtomicI32::new(0),
            expected: AtomicI64::new(0),
            state: Mutex::new(State {
                heard: vec![false; case.publishers * case.subscribers],
                heard_count: 0,
                ended: None,
                is_asked: false,
            }),
            changed: Condvar::new(),
        }
    }

    /// A subscriber has got an event. Several threads may say so at the same time.
    ///
    /// # Errors
    /// The event is of no wave that is under way.
    pub(super) fn took(&self, subscriber: usize, number: i32) -> Result<(), Failure> {
        if number < 0 {
            self.heard(subscriber, number);
            return Ok(());
        }
        let (wave, expected) = (number / PUBLISHERS_MAX, self.wave.load(Ordering::Acquire));
        if wave != expected {
            return Err(format!("expected an event of wave {expected}, got one of {wave}").into());
        }
        if self.expected.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.state().ended = Some(Instant::now());
            self.changed.notify_one();
        }
        Ok(())
    }

    fn heard(&self, subscriber: usize, probe: i32) {
        let publisher = (-1 - probe) as usize;
        let mut state = self.state();
        let place = state
            .heard
            .get_mut(subscriber * self.case.publishers + publisher);
        if let Some(heard) = place.filter(|heard| !**heard) {
            *heard = true;
            state.heard_count += 1;
            self.changed.notify_one();
        }
    }

    /// The lab asks for the waves.
    pub(super) fn asked(&self) {
        self.state().is_asked = true;
        self.changed.notify_one();
    }

    /// All of it, in the thread that calls: says `ready` when all subscribers have heard all publishers, plays waves when the lab
    /// asks for them, and prints the line. `publish` publishes an event with this number by this publisher, and `flush` what
    /// publishers have collected.
    pub(super) fn run(
        &self,
        effort: Effort,
        mut publish: impl FnMut(usize, i32) -> Result<(), Failure>,
        mut flush: impl FnMut() -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        while self.state().heard_count < self.case.publishers * self.case.subscribers {
            for publisher in 0..self.case.publishers {
                publish(publisher, -1 - publisher as i32)?;
            }
            flush()?;
            let all = self.case.publishers * self.case.subscribers;
            drop(self.wait(PROBE_INTERVAL, |state| state.heard_count == all));
        }
        announce("ready")?;
        while !self.state().is_asked {
            drop(self.wait(PROBE_INTERVAL, |state| state.is_asked));
        }
        let measure_from = Instant::now() + effort.warm_up();
        let until = measure_from + effort.round_time;
        let mut sample = Sample::new();
        while Instant::now() < until || sample.count() == 0 {
            let began = Instant::now();
            let ended = self.play(&mut publish, &mut flush)?;
            if began >= measure_from {
                let elapsed = ended.duration_since(began).as_secs_f64() * 1e9;
                sample.record(elapsed / self.case.burst as f64, self.case.burst as u64);
            } else {
                sample.warm_up += self.case.burst as u64;
            }
        }
        announce(&sample.to_line())
    }

    /// Plays a wave; when its last event came.
    fn play(
        &self,
        publish: &mut impl FnMut(usize, i32) -> Result<(), Failure>,
        flush: &mut impl FnMut() -> Result<(), Failure>,
    ) -> Result<Instant, Failure> {
        let Case {
            publishers,
            subscribers,
            burst,
            ..
        } = self.case;
        let wave = self.wave.load(Ordering::Acquire) + 1;
        self.expected
            .store((publishers * subscribers * burst) as i64, Ordering::Release);
        self.wave.store(wave, Ordering::Release);
        for index in 1..=burst {
            for publisher in 0..publishers {
                publish(publisher, wave * PUBLISHERS_MAX + publisher as i32)?;
            }
            if index % BATCH_LEN == 0 {
                flush()?;
            }
        }
        flush()?;
        loop {
            let mut state = self.wait(PROBE_INTERVAL, |state| state.ended.is_some());
            if let Some(ended) = state.ended.take() {
                return Ok(ended);
            }
        }
    }

    /// Waits until this is so, or for so long.
    fn wait(&self, limit: Duration, is_so: impl Fn(&State) -> bool) -> MutexGuard<'_, State> {
        let state = self.state();
        let waited = self
            .changed
            .wait_timeout_while(state, limit, |state| !is_so(state));
        waited.unwrap_or_else(PoisonError::into_inner).0
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Between two probes: each costs as much as a wave.
const PROBE_INTERVAL: Duration = Duration::from_millis(100);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wave_ends_with_its_last_event_and_another_wave_is_an_error() {
        let waves = Waves::new(Case::parse("fan-2-3").unwrap());
        waves.asked();
        let mut published = Vec::new();
        let effort = Effort {
            round_time: Duration::from_millis(1),
        };
        let publish = |publisher: usize, number: i32| {
            published.push((publisher, number));
            (0..3).try_for_each(|subscriber| waves.took(subscriber, number))
        };
        waves.run(effort, publish, || Ok(())).unwrap();
        // A probe of each publisher, then waves of both.
        let first: Vec<_> = published.iter().take(4).copied().collect();
        assert_eq!(first, [(0, -1), (1, -2), (0, 128), (1, 129)]);
        let error = waves.took(0, 0).unwrap_err().to_string();
        assert!(error.starts_with("expected an event of wave "), "{error}");
    }

    #[test]
    fn a_probe_that_is_heard_twice_counts_once() {
        let waves = Waves::new(Case::parse("fan-1-2").unwrap());
        for subscriber in [0, 0, 1] {
            waves.took(subscriber, -1).unwrap();
        }
        assert_eq!(waves.state().heard_count, 2);
    }
}
