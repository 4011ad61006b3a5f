//! Keeps the queues of all topics together within the limit of their memory.
//!
//! Nothing is counted as events come. A task looks at the queues from time to time; if they have too much together, long
//! queues get a lower limit for a while, and what does not fit is lost as each subscriber chose. Events whose publishers
//! are held back count too. Meanwhile only publishers that asked to wait are held back.

use std::sync::Weak;
use std::time::{Duration, Instant};

use super::registry::Registry;
use super::topic::Topic;
use crate::core::queue_len_max;

/// The interval while the queues have more than an eighth of the limit.
const BUSY_INTERVAL: Duration = Duration::from_millis(50);
/// The interval while they have less.
const IDLE_INTERVAL: Duration = Duration::from_millis(500);
/// A look takes at most this part of the time.
const LOOK_SHARE: u32 = 20;
/// Topics after which other tasks run.
const STEP: usize = 64;

/// Looks at the queues until the registry is gone.
pub(super) async fn watch(registry: Weak<Registry>) {
    let mut cut = None;
    loop {
        let Some(own) = registry.upgrade() else {
            return;
        };
        let begun = Instant::now();
        let limit = own.live_settings().limits.queue_bytes as u64;
        let used = used_by_topics(&own).await;
        let total: u64 = used.iter().sum();
        own.note_queue_bytes(total);
        // What was cut stays so until there is much room, so that queues do not grow and shrink in turn.
        let next = match queue_len_max(used, limit / 10 * 9) {
            None if total > limit / 2 => cut,
            next => next,
        };
        if next.is_some() && cut.is_none() {
            tracing::warn!(
                "the queues of all topics have {total} bytes, and limits.queue-bytes allows {limit}: the longest ones are \
                 shortened until there is room; raise it in the hub's floe.toml if the machine has more memory"
            );
        }
        if next != cut {
            own.cut_queues(next);
            reconfigure(&own).await;
            cut = next;
        }
        drop(own);
        let interval = match total > limit / 8 {
            true => BUSY_INTERVAL,
            false => IDLE_INTERVAL,
        };
        tokio::time::sleep(interval.max(begun.elapsed() * LOOK_SHARE)).await;
    }
}

/// The bytes of the longest queue of each topic that has one.
async fn used_by_topics(registry: &Registry) -> Vec<u64> {
    let mut used = Vec::new();
    for (at, topic) in registry.directory().topics().iter().enumerate() {
        used.push(used_by(topic));
        if at % STEP == STEP - 1 {
            tokio::task::yield_now().await;
        }
    }
    used.retain(|len| *len > 0);
    used
}

/// The bytes of the longest queue of a topic, with what is held back behind it: its subscribers share the events.
fn used_by(topic: &Topic) -> u64 {
    let subscribers = topic.subscribers();
    let snapshots = subscribers.iter().map(|it| it.snapshot());
    let used = snapshots.map(|it| it.queued_bytes + it.held_bytes);
    used.max().unwrap_or(0)
}

/// Puts the limits in force that all queues have now.
async fn reconfigure(registry: &Registry) {
    let settings = registry.queue_settings();
    for (at, topic) in registry.directory().topics().iter().enumerate() {
        for subscriber in topic.all_subscribers() {
            subscriber.reconfigure(&settings);
            subscriber.shed(Instant::now());
        }
        if at % STEP == STEP - 1 {
            tokio::task::yield_now().await;
        }
    }
}
