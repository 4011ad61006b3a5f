//! Publishes the machine's telemetry: steadily, then as fast as all subscribers take it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use floe::{InvokeError, TypedProxy};
use tokio::time::MissedTickBehavior;

use super::stage::Stage;
use super::tally::{Counts, Tally};
use super::telemetry::{self, MonitorProxy, Sample};

/// Events a second while it is calm.
pub(super) const STEADY_RATE: u32 = 100;

/// Events that may be on their way in the burst. It bounds the memory and the latency: no
/// subscriber falls behind by more, so that none overflows its queue.
const WINDOW: u64 = 2_000;

/// The burst reads the machine this often; in between it repeats the last reading.
const READING_INTERVAL: Duration = Duration::from_millis(10);

/// The work of the publisher.
pub(super) struct Publisher {
    counts: Arc<Counts>,
    topic: MonitorProxy,
    tallies: Vec<Arc<Tally>>,
}

/// The number of published events, and the time that took.
#[derive(Debug, Clone, Copy)]
pub(super) struct Published {
    /// Events while it was calm.
    pub(super) steady: u64,
    /// None if it was asked to stop before.
    pub(super) burst: Option<Burst>,
}

/// The end, as fast as all subscribers take it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Burst {
    /// Events in it.
    pub(super) count: u64,
    /// When it began, in nanoseconds on the publisher's clock.
    pub(super) began_at: u64,
}

impl Published {
    /// All events.
    pub(super) fn count(&self) -> u64 {
        self.steady + self.burst.map_or(0, |burst| burst.count)
    }
}

impl Publisher {
    pub(super) fn new(stage: &Stage) -> Self {
        let subscribers = stage.subscribers().iter();
        Self {
            counts: stage.counts().clone(),
            topic: stage.publisher().clone(),
            tallies: subscribers
                .map(|subscriber| subscriber.tally.clone())
                .collect(),
        }
    }

    /// Publishes for these times, or until it is asked to stop.
    pub(super) async fn run(
        self,
        steady: Duration,
        burst: Duration,
    ) -> Result<Published, InvokeError> {
        self.publish_steadily(steady).await?;
        let steady = self.counts.published();
        if self.counts.is_stopped() {
            return Ok(Published {
                steady,
                burst: None,
            });
        }
        let began_at = self.counts.now();
        self.counts.begin_burst();
        self.publish_in_burst(burst).await?;
        let count = self.counts.published() - steady;
        Ok(Published {
            steady,
            burst: Some(Burst { count, began_at }),
        })
    }

    /// Each event is acknowledged by the hub before the next is due.
    async fn publish_steadily(&self, time: Duration) -> Result<(), InvokeError> {
        let end = Instant::now() + time;
        let mut ticks = tokio::time::interval(Duration::from_secs(1) / STEADY_RATE);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        while Instant::now() < end && !self.counts.is_stopped() {
            ticks.tick().await;
            self.publish(&self.topic, telemetry::sample()).await?;
        }
        Ok(())
    }

    /// Nothing is acknowledged; what paces it is that all subscribers keep up.
    async fn publish_in_burst(&self, time: Duration) -> Result<(), InvokeError> {
        let topic = self.topic.ice_oneway();
        let end = Instant::now() + time;
        while Instant::now() < end && !self.counts.is_stopped() {
            let sample = telemetry::sample();
            let next_reading = Instant::now() + READING_INTERVAL;
            while Instant::now() < next_reading {
                match self.room() {
                    0 => tokio::time::sleep(Duration::from_millis(1)).await,
                    room => {
                        for _ in 0..room.min(64) {
                            self.publish(&topic, sample.clone()).await?;
                        }
                        tokio::task::yield_now().await;
                    }
                }
            }
        }
        Ok(())
    }

    async fn publish(&self, topic: &MonitorProxy, mut sample: Sample) -> Result<(), InvokeError> {
        // Both stay far below the limits of a long.
        sample.number = self.counts.published().try_into().unwrap_or(i64::MAX);
        sample.published_at = self.counts.now().try_into().unwrap_or(i64::MAX);
        topic.sampled(&sample).await?;
        self.counts.add_published();
        Ok(())
    }

    /// How many more events may be on their way.
    fn room(&self) -> u64 {
        let slowest = self.tallies.iter().map(|tally| tally.delivered()).min();
        let under_way = self.counts.published() - slowest.unwrap_or(0).min(self.counts.published());
        WINDOW.saturating_sub(under_way)
    }
}
