//! Topics that were destroyed: what became of their events is not forgotten.

use std::ops::AddAssign;
use std::sync::atomic::{Ordering, fence};
use std::sync::{Arc, Mutex, PoisonError};

use super::subscriber::Subscriber;
use super::topic::{Topic, Totals};

/// The topics of a hub that were destroyed.
#[derive(Default)]
pub(super) struct PastTopics(Mutex<Past>);

#[derive(Default)]
struct Past {
    /// Those with deliveries or requests under way.
    leaving: Vec<Arc<Topic>>,
    /// All others together.
    counts: Counts,
}

/// What happened in topics.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Counts {
    /// Events that were published.
    pub(super) published: u64,
    /// Events that came over links.
    pub(super) forwarded: u64,
    /// What became of them.
    pub(super) totals: Totals,
}

impl Counts {
    /// Those of a topic.
    pub(super) fn of(topic: &Topic) -> Self {
        Self {
            published: topic.published(),
            forwarded: topic.forwarded(),
            totals: topic.totals(),
        }
    }
}

impl AddAssign for Counts {
    fn add_assign(&mut self, other: Self) {
        self.published += other.published;
        self.forwarded += other.forwarded;
        self.totals += other.totals;
    }
}

impl PastTopics {
    /// Keeps the counts of a topic that nobody finds any more.
    pub(super) fn add(&self, topic: Arc<Topic>) {
        self.with(|past| past.leaving.push(topic));
    }

    /// All of them together.
    pub(super) fn counts(&self) -> Counts {
        self.with(|past| {
            let leaving = past.leaving.iter().map(|topic| Counts::of(topic));
            leaving.fold(past.counts, |mut sum, own| {
                sum += own;
                sum
            })
        })
    }

    /// Subscribers of theirs with deliveries under way.
    pub(super) fn recipients(&self) -> Vec<Arc<Subscriber>> {
        self.with(|past| {
            let leaving = past.leaving.iter();
            leaving.flat_map(|topic| topic.recipients()).collect()
        })
    }

    fn with<T>(&self, look: impl FnOnce(&mut Past) -> T) -> T {
        let mut past = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        past.settle();
        look(&mut past)
    }
}

impl Past {
    /// Adds up the counts that do not change any more: nobody else has the topic.
    fn settle(&mut self) {
        let Self { leaving, counts } = self;
        leaving.retain(|topic| {
            let is_shared = Arc::strong_count(topic) > 1;
            if !is_shared {
                // Whoever gave it up had counted before.
                fence(Ordering::Acquire);
                *counts += Counts::of(topic);
            }
            is_shared
        });
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use floe::{Encoder, EncodingVersion, EventsBuilder, OperationMode};

    use super::*;

    fn events(count: usize) -> floe::Events {
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
    fn what_is_published_while_a_topic_leaves_counts_and_its_memory_is_given_up_afterwards() {
        let past = PastTopics::default();
        let topic = Topic::new("t".to_owned());
        topic.publish(events(2), Instant::now());
        past.add(topic.clone());
        topic.publish(events(1), Instant::now());
        topic.publish_forwarded(&events(4));
        let counts = past.counts();
        assert_eq!((counts.published, counts.forwarded), (3, 4));
        let forgotten = Arc::downgrade(&topic);
        drop(topic);
        assert_eq!(past.counts().published, 3);
        assert!(forgotten.upgrade().is_none());
        assert_eq!(past.counts().published, 3);
    }
}
