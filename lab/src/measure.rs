//! The loop that a client of ours measures with.

use std::time::{Duration, Instant};

use crate::sample::Sample;

/// How long a client warms up and measures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Effort {
    pub(crate) round_time: Duration,
}

impl Effort {
    /// As a contender's process gets it; `None` if that is no number.
    pub(crate) fn from_millis(text: &str) -> Option<Self> {
        let round_time = text.parse().map(Duration::from_millis).ok()?;
        Some(Self { round_time })
    }

    /// As a contender's process gets it.
    pub(crate) fn millis(self) -> String {
        self.round_time.as_millis().to_string()
    }

    /// Time for caches, branch predictors and buffers to reach their steady state.
    pub(crate) fn warm_up(self) -> Duration {
        self.round_time / 4
    }

    /// Repeats work that is too short for a clock: what is timed are batches of at least
    /// [`BATCH_TIME`], and each counts as that many times its mean. At least one batch is measured.
    pub(crate) fn repeat(self, mut work: impl FnMut()) -> Sample {
        let mut batch = |count: u64| {
            let started = Instant::now();
            (0..count).for_each(|_| work());
            started.elapsed().as_secs_f64()
        };
        let enough = self.warm_up().max(BATCH_TIME).as_secs_f64();
        let mut count = 1;
        let mut elapsed = batch(count);
        // The fastest, since a slow moment would make all batches too short.
        let mut fastest = elapsed;
        while elapsed < enough {
            count *= 2;
            elapsed = batch(count);
            fastest = fastest.min(elapsed / count as f64);
        }
        let count = batch_count(fastest);
        let mut sample = Sample::new();
        let started = Instant::now();
        loop {
            let nanoseconds = batch(count) * 1e9;
            sample.record(nanoseconds / count as f64, count);
            if started.elapsed() >= self.round_time {
                return sample;
            }
        }
    }

    /// A stopwatch for calls that a loop makes one after the other.
    pub(crate) fn stopwatch(self) -> Stopwatch {
        let now = Instant::now();
        Stopwatch {
            measure_from: now + self.warm_up(),
            until: Until::Time(now + self.warm_up() + self.round_time),
            pace: None,
            started: now,
            sample: Sample::new(),
        }
    }
}

/// How many times make a batch if one takes so many seconds: a tenth more than fit into
/// [`BATCH_TIME`], since a batch must not be shorter.
fn batch_count(seconds: f64) -> u64 {
    let count = 1.1 * BATCH_TIME.as_secs_f64() / seconds;
    (count.ceil() as u64).max(1)
}

/// The least time that a batch takes: a clock's reading, and an interruption, vanish in it.
pub(crate) const BATCH_TIME: Duration = Duration::from_millis(20);

/// Times calls that follow one another: the end of one is the start of the next, so that the clock
/// is read once a call, and no time falls between two.
#[derive(Debug)]
pub(crate) struct Stopwatch {
    measure_from: Instant,
    until: Until,
    pace: Option<Pace>,
    started: Instant,
    sample: Sample,
}

/// When it is enough.
#[derive(Debug, Clone, Copy)]
enum Until {
    Time(Instant),
    Calls(u64),
}

/// Calls that are made at regular times.
#[derive(Debug, Clone, Copy)]
struct Pace {
    due: Instant,
    interval: Duration,
}

impl Stopwatch {
    /// One for so many calls, whatever time they take, and without a warm-up.
    pub(crate) fn counting(calls: u64) -> Self {
        let now = Instant::now();
        Self {
            measure_from: now,
            until: Until::Calls(calls),
            pace: None,
            started: now,
            sample: Sample::new(),
        }
    }

    /// A stopwatch for calls at regular times: it sleeps between them, also now.
    pub(crate) fn paced(calls: u64, interval: Duration) -> Self {
        std::thread::sleep(interval);
        let due = Instant::now();
        Self {
            pace: Some(Pace { due, interval }),
            ..Self::counting(calls)
        }
    }

    /// Notes that a call has ended; whether to make another one: until the time is over, and one call at
    /// least counts.
    pub(crate) fn lap(&mut self) -> bool {
        self.laps(1)
    }

    /// Notes that so many calls have ended together; each took its share of the time.
    pub(crate) fn laps(&mut self, count: usize) -> bool {
        let now = Instant::now();
        if self.started >= self.measure_from {
            let elapsed = now.duration_since(self.started);
            let nanoseconds = elapsed.as_secs_f64() * 1e9;
            self.sample.record(nanoseconds / count as f64, count as u64);
        } else {
            self.sample.warm_up += count as u64;
        }
        self.started = now;
        let goes_on = match self.until {
            Until::Time(time) => now < time || self.sample.count() == 0,
            Until::Calls(calls) => self.sample.count() < calls,
        };
        if let Some(pace) = self.pace.as_mut().filter(|_| goes_on) {
            pace.due += pace.interval;
            std::thread::sleep(pace.due.saturating_duration_since(now));
            self.started = Instant::now();
        }
        goes_on
    }

    /// Returns the measured times.
    pub(crate) fn into_sample(self) -> Sample {
        self.sample
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_of_the_warm_up_do_not_count() {
        let effort = Effort {
            round_time: Duration::from_millis(20),
        };
        let mut stopwatch = effort.stopwatch();
        let mut lap_count = 0;
        loop {
            std::thread::sleep(Duration::from_millis(1));
            lap_count += 1;
            if !stopwatch.lap() {
                break;
            }
        }
        let sample = stopwatch.into_sample();
        assert!(sample.count() >= 1 && sample.warm_up >= 1);
        assert_eq!(sample.count() + sample.warm_up, lap_count);
        assert!(sample.quantile(0.0) >= 990_000.0);
    }
    #[test]
    fn one_call_counts_even_if_the_first_one_took_all_the_time() {
        let effort = Effort {
            round_time: Duration::from_millis(1),
        };
        let mut stopwatch = effort.stopwatch();
        std::thread::sleep(Duration::from_millis(5));
        assert!(stopwatch.lap());
        assert!(!stopwatch.lap());
        assert_eq!(stopwatch.into_sample().count(), 1);
    }

    #[test]
    fn counted_calls_all_count_whatever_time_they_take() {
        let mut stopwatch = Stopwatch::counting(30);
        assert!(stopwatch.laps(10) && stopwatch.laps(10));
        assert!(!stopwatch.laps(10));
        assert_eq!(stopwatch.into_sample().count(), 30);
    }

    #[test]
    fn the_time_between_paced_calls_is_not_measured() {
        let interval = Duration::from_millis(20);
        let shortest = || {
            let before = Instant::now();
            let mut stopwatch = Stopwatch::paced(3, interval);
            let started = Instant::now();
            assert!(stopwatch.lap() && stopwatch.lap() && !stopwatch.lap());
            assert!(started - before >= interval && started.elapsed() >= 2 * interval);
            let sample = stopwatch.into_sample();
            assert_eq!(sample.count(), 3);
            Duration::from_nanos(sample.quantile(0.0) as u64)
        };
        // Nothing is done between two looks at the clock; only on a busy machine all of them may be interrupted for long.
        let deadline = Instant::now() + Duration::from_secs(60);
        while shortest() >= interval {
            assert!(Instant::now() < deadline);
        }
    }

    #[test]
    fn batches_are_long_however_short_the_work_is() {
        let effort = Effort {
            round_time: Duration::from_millis(50),
        };
        let started = Instant::now();
        let mut done = 0_u64;
        let sample = effort.repeat(|| done = std::hint::black_box(done + 1));
        assert!(started.elapsed() >= effort.warm_up() + effort.round_time);
        assert!(sample.count() < done && sample.quantile(0.0) > 0.0);
    }

    #[test]
    fn work_that_takes_longer_than_a_round_is_still_measured() {
        let effort = Effort {
            round_time: Duration::from_millis(1),
        };
        let sample = effort.repeat(|| std::thread::sleep(Duration::from_millis(25)));
        assert_eq!(sample.count(), 1);
        assert!(sample.quantile(0.0) >= 24_900_000.0);
    }

    #[test]
    fn a_batch_is_long_enough_and_never_empty() {
        assert_eq!(batch_count(0.000_4), 55);
        assert_eq!(batch_count(5.0), 1);
    }
}
