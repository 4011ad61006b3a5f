//! Counts the events of one subscriber, and measures how long they took.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use floe::{Current, InvokeError};
use hdrhistogram::Histogram;

use super::telemetry::{Monitor, Sample};

/// The counts of the publisher so far; shared by all.
#[derive(Debug)]
pub(super) struct Counts {
    /// The clock of the publisher.
    start: Instant,
    published: AtomicU64,
    /// The number of the first event of the burst.
    burst_at: AtomicU64,
    is_stopped: AtomicBool,
}

impl Counts {
    pub(super) fn new() -> Self {
        Self {
            start: Instant::now(),
            published: AtomicU64::new(0),
            burst_at: AtomicU64::new(u64::MAX),
            is_stopped: AtomicBool::new(false),
        }
    }

    /// The publisher's clock, in nanoseconds.
    pub(super) fn now(&self) -> u64 {
        u64::try_from(self.start.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    pub(super) fn published(&self) -> u64 {
        self.published.load(Ordering::Acquire)
    }

    pub(super) fn add_published(&self) {
        self.published.fetch_add(1, Ordering::AcqRel);
    }

    /// From now on every event belongs to the burst.
    pub(super) fn begin_burst(&self) {
        self.burst_at.store(self.published(), Ordering::Release);
    }

    pub(super) fn is_burst(&self) -> bool {
        self.burst_at.load(Ordering::Acquire) != u64::MAX
    }

    /// Asks the publisher to end.
    pub(super) fn stop(&self) {
        self.is_stopped.store(true, Ordering::Release);
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.is_stopped.load(Ordering::Acquire)
    }
}

/// The events that one subscriber got; the servant that the hub invokes counts it.
#[derive(Debug)]
pub(super) struct Tally {
    counts: Arc<Counts>,
    /// Written by the dispatch of each event, read for each picture; never held across a wait.
    state: Mutex<State>,
}

/// Latencies are in nanoseconds.
#[derive(Debug)]
struct State {
    seen: Seen,
    /// Since the last picture.
    recent: Histogram<u64>,
    steady: Histogram<u64>,
    burst: Histogram<u64>,
    last: Sample,
    /// When the last event came, on the publisher's clock.
    last_at: u64,
}

impl Tally {
    pub(super) fn new(counts: Arc<Counts>) -> Self {
        let state = State {
            seen: Seen::default(),
            recent: histogram(),
            steady: histogram(),
            burst: histogram(),
            last: Sample::default(),
            last_at: 0,
        };
        Self {
            counts,
            state: Mutex::new(state),
        }
    }

    /// Events that came, each counted once.
    pub(super) fn delivered(&self) -> u64 {
        self.lock().seen.count
    }

    /// The latencies since this was last asked.
    pub(super) fn take_recent(&self) -> Histogram<u64> {
        std::mem::replace(&mut self.lock().recent, histogram())
    }

    /// The latencies of the calm part, and of the burst.
    pub(super) fn latencies(&self) -> (Histogram<u64>, Histogram<u64>) {
        let state = self.lock();
        (state.steady.clone(), state.burst.clone())
    }

    /// The newest event.
    pub(super) fn last(&self) -> Sample {
        self.lock().last.clone()
    }

    /// When the last event came, in nanoseconds on the publisher's clock.
    pub(super) fn last_at(&self) -> u64 {
        self.lock().last_at
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Monitor for Tally {
    async fn sampled(&self, sample: Sample, _: &Current) -> Result<(), InvokeError> {
        let now = self.counts.now();
        let number = u64::try_from(sample.number).unwrap_or_default();
        let latency = now.saturating_sub(u64::try_from(sample.published_at).unwrap_or_default());
        let is_burst = number >= self.counts.burst_at.load(Ordering::Acquire);
        let mut state = self.lock();
        if state.seen.insert(number) {
            state.recent.saturating_record(latency);
            match is_burst {
                true => state.burst.saturating_record(latency),
                false => state.steady.saturating_record(latency),
            }
            state.last = sample;
            state.last_at = now;
        }
        Ok(())
    }
}

/// The events that have arrived, with a bit for each number.
#[derive(Debug, Default)]
struct Seen {
    bits: Vec<u64>,
    count: u64,
}

impl Seen {
    /// Returns true if it is the first of this number.
    fn insert(&mut self, number: u64) -> bool {
        let index = usize::try_from(number / 64).unwrap_or(usize::MAX);
        if index >= SEEN_MAX {
            return false;
        }
        if index >= self.bits.len() {
            self.bits.resize(index + 1, 0);
        }
        let bit = 1 << (number % 64);
        let is_new = self.bits[index] & bit == 0;
        self.bits[index] |= bit;
        self.count += u64::from(is_new);
        is_new
    }
}

/// Words of 64 events: an hour of a million events a second.
const SEEN_MAX: usize = 3_600_000_000 / 64;

/// From a tenth of a microsecond to a minute, to three digits.
fn histogram() -> Histogram<u64> {
    Histogram::new_with_bounds(100, 60_000_000_000, 3).expect("the bounds are in order")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_that_comes_twice_counts_once() {
        let mut seen = Seen::default();
        assert_eq!(
            [3, 700, 3].map(|number| seen.insert(number)),
            [true, true, false]
        );
        assert_eq!(seen.count, 2);
        assert!(!seen.insert(u64::MAX), "no number may fill the memory");
    }
}
