//! Topics that were destroyed. Their events still count in the totals of the hub.

use std::collections::VecDeque;
use std::ops::AddAssign;
use std::sync::atomic::{Ordering, fence};
use std::sync::{Arc, MutexGuard};

use super::subscriber::Subscriber;
use super::topic::{Topic, Totals};
use crate::lock::Mutex;

/// The topics of a hub that were destroyed.
#[derive(Default)]
pub(crate) struct DestroyedTopics(Mutex<TopicRecords>);

#[derive(Default)]
struct TopicRecords {
    /// Topics with deliveries or requests under way: their counts still change.
    leaving: VecDeque<Arc<Topic>>,
    /// The sum of the counts of all other topics.
    settled: TopicCounts,
}

/// Event counts of one or more topics.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct TopicCounts {
    /// Events that were published.
    pub(crate) published: u64,
    /// Events that came over links.
    pub(crate) forwarded: u64,
    /// The counts of their events at the subscribers.
    pub(crate) totals: Totals,
}

impl TopicCounts {
    /// The counts of one topic.
    pub(crate) fn of(topic: &Arc<Topic>) -> Self {
        Self::with(topic, topic.totals())
    }

    /// The counts of one topic. `totals` is the sum over its subscribers.
    pub(crate) fn with(topic: &Topic, totals: Totals) -> Self {
        Self {
            published: topic.published(),
            forwarded: topic.forwarded(),
            totals,
        }
    }
}

impl AddAssign for TopicCounts {
    fn add_assign(&mut self, other: Self) {
        self.published += other.published;
        self.forwarded += other.forwarded;
        self.totals += other.totals;
    }
}

impl DestroyedTopics {
    /// Adds a topic that was just removed from the directory.
    pub(crate) fn add(&self, topic: Arc<Topic>) {
        let mut records = self.lock();
        // Settle more than come, so that they do not pile up.
        records.settle(2);
        records.leaving.push_back(topic);
    }

    /// How many have deliveries or requests under way, or have not settled yet.
    pub(crate) fn leaving_count(&self) -> usize {
        self.lock().leaving.len()
    }

    /// Settles those of the next `count` topics that are ready for it.
    pub(crate) fn settle(&self, count: usize) {
        self.lock().settle(count);
    }

    /// The sum of the counts of the topics that have settled, and all other topics.
    pub(crate) fn counts(&self) -> (TopicCounts, Vec<Arc<Topic>>) {
        let records = self.lock();
        (records.settled, records.leaving.iter().cloned().collect())
    }

    /// Their subscribers that have deliveries under way.
    pub(crate) fn recipients(&self) -> Vec<Arc<Subscriber>> {
        let records = self.lock();
        let leaving = records.leaving.iter();
        leaving.flat_map(|topic| topic.recipients()).collect()
    }

    fn lock(&self) -> MutexGuard<'_, TopicRecords> {
        self.0.lock()
    }
}

impl TopicRecords {
    /// Adds up and releases those of the first `count` topics that nothing else refers to: their counts cannot change any
    /// more. The others come last.
    fn settle(&mut self, count: usize) {
        for _ in 0..count {
            let Some(topic) = self.leaving.pop_front() else {
                return;
            };
            if Arc::strong_count(&topic) > 1 {
                self.leaving.push_back(topic);
                continue;
            }
            // Pairs with the release of the last other reference, so that its counts are visible here.
            fence(Ordering::Acquire);
            self.settled += TopicCounts::of(&topic);
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use std::time::Instant;

    use floe::encoding::Encoder;
    use floe::forwarding::EventsBuilder;
    use floe::{EncodingVersion, OperationMode};

    use super::*;

    pub(in crate::service) fn events(count: usize) -> floe::forwarding::Events {
        let mut events = EventsBuilder::default();
        for _ in 0..count {
            let write = |buffer: &mut Vec<u8>| {
                let mut encoder = Encoder::new(buffer, EncodingVersion::V1_0);
                encoder.string("tick");
                encoder.put(&OperationMode::Normal);
                encoder.size(0);
                encoder.encapsulation(EncodingVersion::V1_1, |_| ());
                encoder.finish().unwrap();
                Ok::<(), floe::DecodeError>(())
            };
            events.push_with(write).unwrap();
        }
        events.finish().unwrap()
    }

    #[test]
    fn events_published_while_a_topic_leaves_count_and_its_memory_is_released_afterwards() {
        let destroyed = DestroyedTopics::default();
        let topic = Topic::new("t".to_owned(), None, None);
        topic.publish(events(2), false, Instant::now());
        destroyed.add(topic.clone());
        topic.publish(events(1), false, Instant::now());
        let _ = topic.publish_forwarded(events(4));
        destroyed.settle(1);
        let (settled, leaving) = destroyed.counts();
        assert_eq!((settled.published, leaving.len()), (0, 1));
        let counts = TopicCounts::of(&leaving[0]);
        assert_eq!((counts.published, counts.forwarded), (3, 4));
        let forgotten = Arc::downgrade(&topic);
        drop((leaving, topic));
        destroyed.settle(1);
        assert!(forgotten.upgrade().is_none());
        let (settled, leaving) = destroyed.counts();
        assert_eq!((settled.published, leaving.len()), (3, 0));
    }

    #[test]
    fn topics_settle_although_nothing_counts_them() {
        let destroyed = DestroyedTopics::default();
        for _ in 0..100 {
            destroyed.add(Topic::new("t".to_owned(), None, None));
        }
        assert_eq!(destroyed.leaving_count(), 1);
    }
}
