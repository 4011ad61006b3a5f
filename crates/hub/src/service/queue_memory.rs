//! Keeps the queues of all topics together within the limit of their memory.
//!
//! Events are not counted as they come. Instead, a task looks at the queues from time to time. If they hold too much
//! together, long queues get a lower limit for a while, and each subscriber loses the events that do not fit as its
//! policy says. Events whose publishers are held back count too, and so do events that are being sent. Meanwhile only
//! publishers that asked to wait are held back.

use std::sync::Weak;
use std::time::{Duration, Instant};

use super::pace::Pace;
use super::registry::Registry;
use crate::core::MemoryUse;

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
        let used = memory_use(&own).await;
        let total = used.total();
        own.note_queue_bytes(total);
        // A lower limit stays in force until there is much room, so that queues do not grow and shrink in turn.
        let next = match used.queue_len_max(limit / 10 * 9) {
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

/// The memory that the subscribers of all topics hold.
async fn memory_use(registry: &Registry) -> MemoryUse {
    let (mut used, mut pace) = (MemoryUse::default(), Pace::default());
    for topic in registry.directory().topics() {
        let mut subscribers = Vec::new();
        for subscriber in topic.subscribers() {
            let queue = subscriber.queue_use();
            if !queue.is_empty() {
                subscribers.push(queue);
            }
            pace.yield_if_due(1).await;
        }
        used.add_topic(subscribers);
        for reader in topic.log().map(|log| log.all_named()).into_iter().flatten() {
            used.add_read(reader.buffered_bytes());
            pace.yield_if_due(1).await;
        }
        pace.yield_if_due(1).await;
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
            pace.yield_if_due(1).await;
        }
        pace.yield_if_due(1).await;
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::core::tests::events_with_contexts;
    use crate::service::pace::LOOKED_AT_MAX;
    use crate::service::pace::tests::pauses;
    use crate::service::registry::tests::World;
    use crate::service::subscriber::{ReadyQueue, Subscriber};
    use crate::service::topic::Topic;

    #[tokio::test]
    async fn other_tasks_run_while_the_queues_of_one_topic_with_many_subscribers_are_looked_at() {
        let world = World::new();
        let topic = world.create("t");
        let ready = std::sync::Arc::<ReadyQueue>::default();
        for _ in 0..3 * LOOKED_AT_MAX {
            topic.add(Subscriber::unreachable(&ready));
        }
        let used = pauses(memory_use(&world.registry)).await;
        assert!(used >= 3, "{used}");
        let reconfigured = pauses(reconfigure(&world.registry)).await;
        assert!(reconfigured >= 3, "{reconfigured}");
    }

    /// Queues of 100 subscribers that nothing is sent to.
    fn stuck(world: &World) -> (Arc<Topic>, Vec<Arc<Subscriber>>) {
        let topic = world.create("t");
        let ready = Arc::<ReadyQueue>::default();
        let stuck: Vec<_> = (0..100).map(|_| Subscriber::unreachable(&ready)).collect();
        stuck.iter().for_each(|it| topic.add(it.clone()));
        (topic, stuck)
    }

    #[tokio::test]
    async fn subscribers_of_a_topic_share_its_events_and_nothing_else() {
        let world = World::new();
        let (topic, stuck) = stuck(&world);
        let event = events_with_contexts("e", &[&[]]);
        let len = event.byte_len() as u64;
        let published = topic.publish(event.clone(), false, Instant::now());
        published.done().await.expect("a topic without a log");
        assert_eq!(memory_use(&world.registry).await.total(), len);
        // Queues whose newest events came at different times count as if they held different ones.
        let came = Instant::now();
        for subscriber in &stuck {
            // As its publisher object does.
            subscriber.publish(event.clone().exclusive(), false, came);
        }
        assert_eq!(memory_use(&world.registry).await.total(), 101 * len);
    }

    #[tokio::test]
    async fn events_that_are_being_sent_count_for_each_subscriber() {
        let world = World::new();
        let (topic, stuck) = stuck(&world);
        let event = events_with_contexts("e", &[&[]]);
        let len = event.byte_len() as u64;
        let published = topic.publish(event, false, Instant::now());
        published.done().await.expect("a topic without a log");
        for subscriber in &stuck {
            subscriber.take(1, usize::MAX, &mut Vec::new()).await;
        }
        assert_eq!(memory_use(&world.registry).await.total(), 100 * len);
        stuck.iter().for_each(|it| it.settle_delivered(1));
        assert_eq!(memory_use(&world.registry).await.total(), 0);
    }
}
