//! Keeps the queues of all topics together within the limit of their memory.
//!
//! Nothing is counted as events come. A task looks at the queues from time to time; if they have too much together, long
//! queues get a lower limit for a while, and what does not fit is lost as each subscriber chose. Events whose publishers
//! are held back count too. Meanwhile only publishers that asked to wait are held back.

use std::sync::Weak;
use std::time::{Duration, Instant};

use super::pace::Pace;
use super::registry::Registry;
use crate::core::queue_len_max;

/// The interval while the queues have more than an eighth of the limit.
const BUSY_INTERVAL: Duration = Duration::from_millis(50);
/// The interval while they have less.
const IDLE_INTERVAL: Duration = Duration::from_millis(500);
/// A look takes at most this part of the time.
const LOOK_SHARE: u32 = 20;

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
                "the queues of all topics hold {total} bytes, and limits.queue-bytes allows {limit}: shortening the longest \
                 queues; raise the limit in the hub's floe.toml if the machine has more memory"
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

/// The bytes of the longest queue of each topic that has one, with what is held back behind it: the subscribers of a topic
/// share the events.
async fn used_by_topics(registry: &Registry) -> Vec<u64> {
    let (mut used, mut pace) = (Vec::new(), Pace::default());
    for topic in registry.directory().topics() {
        let mut longest = 0;
        for subscriber in topic.subscribers() {
            let snapshot = subscriber.snapshot();
            longest = longest.max(snapshot.queued_bytes + snapshot.held_bytes);
            pace.pause(1).await;
        }
        if longest > 0 {
            used.push(longest);
        }
        pace.pause(1).await;
    }
    used
}

/// Puts the limits in force that all queues have now.
async fn reconfigure(registry: &Registry) {
    let (settings, mut pace) = (registry.queue_settings(), Pace::default());
    for topic in registry.directory().topics() {
        for subscriber in topic.all_subscribers() {
            subscriber.reconfigure(&settings);
            subscriber.shed(Instant::now());
            pace.pause(1).await;
        }
        pace.pause(1).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::service::pace::LOOKED_AT_MAX;
    use crate::service::pace::tests::pauses;
    use crate::service::registry::tests::World;
    use crate::service::subscriber::{ReadyQueue, Subscriber};

    #[tokio::test]
    async fn other_tasks_run_while_the_queues_of_one_topic_with_many_subscribers_are_looked_at() {
        let world = World::new();
        let topic = world.create("t");
        let ready = std::sync::Arc::<ReadyQueue>::default();
        for _ in 0..3 * LOOKED_AT_MAX {
            topic.add(Subscriber::unreachable(&ready));
        }
        let used = pauses(used_by_topics(&world.registry)).await;
        assert!(used >= 3, "{used}");
        let reconfigured = pauses(reconfigure(&world.registry)).await;
        assert!(reconfigured >= 3, "{reconfigured}");
    }
}
