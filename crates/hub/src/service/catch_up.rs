//! The readers of a hub that are far behind, and the live traffic beside which they read.

use std::num::NonZero;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Instant;

use crate::core::durable::{Chase, Throttle, Turn};
use crate::lock::Mutex;

/// The state that all readers of a hub share that are far behind.
#[derive(Debug)]
pub(crate) struct CatchUp {
    /// Counts live traffic: rounds of deliveries, and appends to logs.
    live_count: AtomicU64,
    /// Only readers that are far behind take the lock.
    throttle: Mutex<Throttle>,
}

impl Default for CatchUp {
    fn default() -> Self {
        let processors = thread::available_parallelism().map_or(1, NonZero::get);
        Self {
            live_count: AtomicU64::new(0),
            throttle: Mutex::new(Throttle::new(processors)),
        }
    }
}

impl CatchUp {
    /// There is live traffic.
    pub(crate) fn note_live(&self) {
        self.live_count.fetch_add(1, Ordering::Relaxed);
    }

    /// Decides how much a reader that is far behind may read now.
    pub(crate) fn poll(&self, chase: &mut Chase, now: Instant) -> Turn {
        let live_count = self.live_count.load(Ordering::Relaxed);
        let mut throttle = self.throttle.lock();
        throttle.poll(chase, live_count, now)
    }
}
