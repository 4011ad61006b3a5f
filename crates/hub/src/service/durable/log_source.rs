//! The log that a reader reads.

use std::sync::Arc;
use std::time::{Duration, Instant};

use floe::forwarding::Event;

use super::reader::READ_BYTES_MAX;
use crate::blocking_work;
use crate::core::log::{EventTime, Level, ReadLimits};
use crate::lock::RwLock;
use crate::log::{EventLog, LogError, ReadBatch, readable};
use crate::service::catch_up::CatchUp;
use crate::service::lifespan::DefaultLifespan;
use crate::settings::DurableSettings;

/// The log of a topic, with the rules for reading it.
#[derive(Debug, Clone)]
pub(super) struct LogSource {
    /// The name of the topic.
    pub(super) topic: Arc<str>,
    pub(super) log: Arc<dyn EventLog>,
    /// The settings of the topic, which may change.
    pub(super) settings: Arc<RwLock<DurableSettings>>,
    /// For events whose publishers give none.
    pub(super) lifespan: Arc<DefaultLifespan>,
    /// Decides when a reader that is far behind reads.
    pub(super) catch_up: Arc<CatchUp>,
}

/// The result of a read, and how long it took.
pub(super) type TimedRead = (Result<ReadBatch, LogError>, Duration);

impl LogSource {
    /// Only events that are this safe are delivered.
    fn level(&self) -> Level {
        self.settings.read().acknowledge
    }

    pub(super) fn limits(&self, events: usize, bytes: usize) -> ReadLimits {
        ReadLimits {
            events,
            bytes,
            level: self.level(),
        }
    }

    /// Reads where a thread may block. It waits for ever if the runtime is shutting down.
    pub(super) async fn read(&self, from: u64, limits: ReadLimits) -> TimedRead {
        let log = self.log.clone();
        let bytes = log.contents().bytes_of_read(&limits);
        let read = blocking_work::run_read(bytes, move || {
            let began = Instant::now();
            (log.read(from, &limits), began.elapsed())
        });
        match read.await {
            Ok(read) => read,
            Err(_) => std::future::pending().await,
        }
    }

    /// An event of the log, and when the hub got it; `None` if the log does not have it any more.
    ///
    /// # Errors
    /// Why the log cannot be read.
    pub(super) async fn event(&self, sequence: u64) -> Result<Option<(EventTime, Event)>, String> {
        let (batch, _) = self.read(sequence, self.limits(1, READ_BYTES_MAX)).await;
        let batch = batch.map_err(|error| error.to_string())?;
        let stamp = batch.stamps.first();
        let stamp = stamp.filter(|stamp| stamp.sequence == sequence);
        let event = batch.events.and_then(|events| events.each().next());
        Ok(stamp.map(|stamp| stamp.time).zip(event))
    }

    /// Waits until the log has an event from this sequence on.
    pub(super) fn readable(&self, from: u64) -> impl Future<Output = ()> + Send + use<> {
        readable(&*self.log, from, self.level())
    }

    /// Returns true if the log was closed, because its topic was destroyed or the hub ends.
    pub(super) fn is_closed(&self) -> bool {
        self.log.is_closed()
    }
}
