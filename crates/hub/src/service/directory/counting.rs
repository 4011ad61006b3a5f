//! Counts the events of all topics in steps.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::ObjectDirectory;
use crate::service::destroyed_topics::TopicCounts;
use crate::service::pace::STEP;
use crate::service::topic::{Counting, Topic};

/// The sum over all topics of a hub while it is made. It includes destroyed topics.
///
/// Topics may be destroyed between two steps. The counts of a destroyed topic join the sum of destroyed topics when
/// nothing else refers to the topic. So the steps first hold all topics, and then read that sum: it includes none of
/// the topics that they hold.
pub(crate) struct CountingAll<'a> {
    directory: &'a ObjectDirectory,
    phase: CountingAllPhase,
    held: Vec<Arc<Topic>>,
    /// Destroyed topics that are not in the sum of these, by address.
    leaving: BTreeMap<usize, Arc<Topic>>,
    current: Option<(Arc<Topic>, Counting)>,
    sum: TopicCounts,
}

enum CountingAllPhase {
    /// Settles this many destroyed topics.
    Settling(usize),
    /// Holds topics, from the first behind this name on.
    Holding(Option<Arc<str>>),
    /// Adds what it holds.
    Adding,
}

impl<'a> CountingAll<'a> {
    pub(super) fn new(directory: &'a ObjectDirectory) -> Self {
        Self {
            directory,
            phase: CountingAllPhase::Settling(directory.destroyed.leaving_count()),
            held: Vec::new(),
            leaving: BTreeMap::new(),
            current: None,
            sum: TopicCounts::default(),
        }
    }

    /// Looks at some topics or subscribers. Returns their number, or `None` if all are counted.
    pub(crate) fn step(&mut self) -> Option<usize> {
        match &self.phase {
            CountingAllPhase::Settling(rest) => {
                let count = STEP.min(*rest);
                self.directory.destroyed.settle(count);
                self.phase = match rest - count {
                    0 => CountingAllPhase::Holding(None),
                    rest => CountingAllPhase::Settling(rest),
                };
                Some(count)
            }
            CountingAllPhase::Holding(last) => {
                let some = self.directory.topics_after(last.as_deref(), STEP);
                let count = some.len();
                match some.last() {
                    Some(last) => {
                        self.phase = CountingAllPhase::Holding(Some(last.shared_name().clone()))
                    }
                    None => self.read_destroyed(),
                }
                self.held.extend(some);
                Some(count)
            }
            CountingAllPhase::Adding => self.add_some(),
        }
    }

    /// The sum, when all are counted.
    pub(crate) fn finish(mut self) -> TopicCounts {
        while self.step().is_some() {}
        self.sum
    }

    fn read_destroyed(&mut self) {
        let (sum, leaving) = self.directory.destroyed.counts();
        self.sum = sum;
        let by_address = leaving.into_iter().map(|topic| (address(&topic), topic));
        self.leaving = by_address.collect();
        self.phase = CountingAllPhase::Adding;
    }

    fn add_some(&mut self) -> Option<usize> {
        let Some((topic, mut counting)) = self.current.take() else {
            let next = self.next_topic()?;
            let counting = next.counting();
            self.current = Some((next, counting));
            return Some(1);
        };
        match counting.step() {
            Some(count) => {
                self.current = Some((topic, counting));
                Some(count)
            }
            None => {
                self.sum += TopicCounts::with(&topic, counting.finish());
                Some(0)
            }
        }
    }

    fn next_topic(&mut self) -> Option<Arc<Topic>> {
        while let Some(topic) = self.held.pop() {
            if !self.leaving.contains_key(&address(&topic)) {
                return Some(topic);
            }
        }
        self.leaving.pop_first().map(|(_, topic)| topic)
    }
}

fn address(topic: &Arc<Topic>) -> usize {
    Arc::as_ptr(topic).addr()
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;
    use crate::service::destroyed_topics::tests::events;

    const COUNT: usize = 3 * STEP;

    fn directory() -> (ObjectDirectory, Vec<Arc<Topic>>) {
        let directory = ObjectDirectory::default();
        let add = |number: usize| directory.add_topic(format!("{number:04}"), None, None);
        let topics: Vec<_> = (0..COUNT).map(add).collect();
        for topic in &topics {
            topic.publish(events(1), false, Instant::now());
        }
        (directory, topics)
    }

    #[test]
    fn topics_that_are_destroyed_while_they_are_counted_count_once() {
        for at in 0.. {
            let (directory, mut topics) = directory();
            let mut counting = directory.counting();
            let has_more = (0..at).all(|_| counting.step().is_some());
            // Some of them are released immediately, and the others only at the end.
            for number in (0..COUNT).step_by(3) {
                directory.remove_topic(topics[number].name());
            }
            topics.retain(|topic| !topic.name().ends_with('6'));
            assert_eq!(counting.finish().published, COUNT as u64, "{at}");
            assert_eq!(
                directory.counting().finish().published,
                COUNT as u64,
                "{at}"
            );
            if !has_more {
                break;
            }
        }
    }

    #[test]
    fn a_step_looks_at_a_few_topics() {
        let (directory, topics) = directory();
        for topic in &topics[..2 * STEP] {
            directory.remove_topic(topic.name());
        }
        let mut counting = directory.counting();
        let mut looked_at = 0;
        while let Some(count) = counting.step() {
            assert!(count <= STEP, "{count}");
            looked_at += count;
        }
        // A destroyed topic is looked at twice: to settle it, and to add it. Any other one is held in between.
        assert_eq!(looked_at, 2 * COUNT);
    }
}
