//! Decides when each event leaves, so that their rate is as the user asked.

use std::time::{Duration, Instant};

/// Spreads events evenly over time.
pub(super) struct Pace {
    start: Instant,
    interval: Option<Duration>,
    count: u64,
}

impl Pace {
    /// So many events a second; as many as possible without a rate.
    pub(super) fn new(rate: Option<f64>) -> Self {
        Self {
            start: Instant::now(),
            interval: rate.map(|rate| Duration::from_secs_f64(1.0 / rate)),
            count: 0,
        }
    }

    /// Waits until the next event is due.
    pub(super) async fn wait(&mut self) {
        if let Some(interval) = self.interval {
            let due = self.start + all_of(interval, self.count);
            tokio::time::sleep_until(due.into()).await;
            self.count += 1;
        }
    }

    /// Since it began.
    pub(super) fn elapsed(&self) -> Duration {
        self.start.elapsed()
    }
}

/// How long so many intervals take.
fn all_of(interval: Duration, count: u64) -> Duration {
    interval.mul_f64(count as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_holds_however_many_events_there_are() {
        let count = u64::from(u32::MAX) * 4;
        let time = all_of(Duration::from_micros(1), count);
        assert_eq!(time, Duration::from_micros(count));
    }
}
