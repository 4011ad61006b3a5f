//! The loop that a client of ours measures with.

use std::time::{Duration, Instant};

use crate::sample::Sample;

/// How long a client warms up and measures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Effort {
    pub(crate) round_time: Duration,
}

impl Effort {
    /// Time for caches, branch predictors and buffers to reach their steady state.
    pub(crate) fn warm_up(self) -> Duration {
        self.round_time / 4
    }

    /// A stopwatch for calls that a loop makes one after the other.
    pub(crate) fn stopwatch(self) -> Stopwatch {
        let now = Instant::now();
        Stopwatch {
            measure_from: now + self.warm_up(),
            measure_until: now + self.warm_up() + self.round_time,
            started: now,
            sample: Sample::new(),
        }
    }
}

/// Times calls that follow one another: the end of one is the start of the next, so that the clock
/// is read once a call, and no time falls between two.
#[derive(Debug)]
pub(crate) struct Stopwatch {
    measure_from: Instant,
    measure_until: Instant,
    started: Instant,
    sample: Sample,
}

impl Stopwatch {
    /// Notes that a call has ended; whether to make another one.
    pub(crate) fn lap(&mut self) -> bool {
        let now = Instant::now();
        if self.started >= self.measure_from {
            let elapsed = now.duration_since(self.started);
            let nanoseconds = u64::try_from(elapsed.as_nanos()).unwrap_or(u64::MAX);
            self.sample.record(nanoseconds, 1);
        }
        self.started = now;
        now < self.measure_until
    }

    /// What was measured.
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
        assert!(sample.count() >= 1 && sample.count() < lap_count);
        assert!(sample.quantile(0.0) >= 990_000.0);
    }
}
