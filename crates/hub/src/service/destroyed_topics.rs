//! Topics that were destroyed. Their events still count in the totals of the hub.

use std::ops::AddAssign;
use std::sync::atomic::{Ordering, fence};
use std::sync::{Arc, Mutex, PoisonError};

use super::subscriber::Subscriber;
use super::topic::{Topic, Totals};

/// The topics of a hub that were destroyed.
#[derive(Default)]
pub(crate) struct DestroyedTopics(Mutex<TopicRecords>);

#[derive(Default)]
struct TopicRecords {
    /// Topics with deliveries or requests under way: their counts still change.
    leaving: Vec<Arc<Topic>>,
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
    /// What happened to the events at the subscribers.
    pub(crate) totals: Totals,
}

impl TopicCounts {
    /// The counts of one topic.
    pub(crate) fn of(topic: &Topic) -> Self {
        Self::with(topic, topic.totals())
    }

    /// The counts of one topic, of whose subscribers this is the sum.
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
        self.with(|records| records.leaving.push(topic));
    }

    /// The sum of the counts of all of them.
    pub(crate) fn counts(&self) -> TopicCounts {
        self.with(|records| {
            let mut sum = records.settled;
            for topic in &records.leaving {
                sum += TopicCounts::of(topic);
            }
            sum
        })
    }

    /// Their subscribers that have deliveries under way.
    pub(crate) fn recipients(&self) -> Vec<Arc<Subscriber>> {
        self.with(|records| {
            let leaving = records.leaving.iter();
            leaving.flat_map(|topic| topic.recipients()).collect()
        })
    }

    fn with<T>(&self, read: impl FnOnce(&mut TopicRecords) -> T) -> T {
        let mut records = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        records.settle();
        read(&mut records)
    }
}

impl TopicRecords {
    /// Adds up and releases the topics that nothing else refers to: their counts cannot change any more.
    fn settle(&mut self) {
        let Self { leaving, settled } = self;
        leaving.retain(|topic| {
            let is_shared = Arc::strong_count(topic) > 1;
            if !is_shared {
                // Pairs with the release of the last other reference, so that its counts are visible here.
                fence(Ordering::Acquire);
                *settled += TopicCounts::of(topic);
            }
            is_shared
        });
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
        let counts = destroyed.counts();
        assert_eq!((counts.published, counts.forwarded), (3, 4));
        let forgotten = Arc::downgrade(&topic);
        drop(topic);
        assert_eq!(destroyed.counts().published, 3);
        assert!(forgotten.upgrade().is_none());
        assert_eq!(destroyed.counts().published, 3);
    }
}
