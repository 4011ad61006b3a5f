//! When the next event is due.

use std::time::{Duration, Instant};

/// Spreads events evenly over time.
pub(super) struct Pace {
    start: Instant,
    interval: Option<Duration>,
    count: u32,
}

impl Pace {
    /// So many events a second; as many as there are without a number.
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
            let due = self.start + interval.mul_f64(f64::from(self.count));
            tokio::time::sleep_until(due.into()).await;
            self.count = self.count.saturating_add(1);
        }
    }

    /// How long it has lasted.
    pub(super) fn elapsed(&self) -> Duration {
        self.start.elapsed()
    }
}
