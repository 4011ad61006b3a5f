//! The lifespan of a topic's events, for those whose publishers give none.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// The lifespan that the settings give to the events of a topic. It changes while the hub runs.
#[derive(Debug, Default)]
pub(crate) struct DefaultLifespan {
    /// In microseconds; 0 if events have none.
    micros: AtomicU64,
}

impl DefaultLifespan {
    /// The lifespan; `None` if events have none.
    pub(crate) fn get(&self) -> Option<Duration> {
        match self.micros.load(Ordering::Relaxed) {
            0 => None,
            micros => Some(Duration::from_micros(micros)),
        }
    }

    /// Sets it for the events that come from now on, and for those of a log that are not delivered yet.
    pub(crate) fn set(&self, lifespan: Option<Duration>) {
        let micros = lifespan.map_or(0, |it| u64::try_from(it.as_micros()).unwrap_or(u64::MAX));
        self.micros.store(micros, Ordering::Relaxed);
    }
}
