//! Counts the events of a topic in steps.

use std::collections::BTreeMap;
use std::iter::from_fn;
use std::ops::AddAssign;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::Topic;
use crate::core::{Accounts, SubscriptionState};
use crate::service::pace::STEP;
use crate::service::subscriber::Subscriber;
use crate::service::subscribers::key;

/// The sum over all subscribers of a topic.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Totals {
    /// Subscribers and links, without those that are about to be removed.
    pub(crate) subscribers: usize,
    /// The counts of their events.
    pub(crate) accounts: Accounts,
    /// Events in their queues.
    pub(crate) queued: u64,
    /// Bytes of the events in their queues.
    pub(crate) queued_bytes: u64,
    /// Events that are being sent, or are in flight.
    pub(crate) outstanding: u64,
    /// When the oldest queued event came.
    pub(crate) oldest: Option<Instant>,
    /// For how long they have held publishers back.
    pub(crate) held: Duration,
}

/// The sum over all subscribers of a topic while it is made. It includes those that have left.
///
/// Subscribers may leave between two steps. A subscriber that leaves moves from the present ones to the leaving ones,
/// and from there to the sum of all that have settled. So the steps first hold the present ones and then the leaving
/// ones, and read the sum together with the last leaving ones. They add only the held subscribers that are not in that
/// sum.
pub(crate) struct Counting {
    topic: Arc<Topic>,
    phase: CountingPhase,
    present: Vec<Arc<Subscriber>>,
    leaving: BTreeMap<usize, Arc<Subscriber>>,
    totals: Totals,
    /// How many had settled when their sum was read.
    settled: u64,
}

#[derive(Clone, Copy)]
enum CountingPhase {
    /// Holds present subscribers, from this number on.
    Present(u64),
    /// Holds leaving subscribers, from this key on.
    Leaving(usize),
    /// Adds what it holds.
    Adding,
}

impl Counting {
    pub(super) fn new(topic: Arc<Topic>) -> Self {
        Self {
            topic,
            phase: CountingPhase::Present(0),
            present: Vec::new(),
            leaving: BTreeMap::new(),
            totals: Totals::default(),
            settled: 0,
        }
    }

    /// Looks at some subscribers. Returns how many, or nothing if all are counted.
    pub(crate) fn step(&mut self) -> Option<usize> {
        match self.phase {
            CountingPhase::Present(from) => {
                let (some, next) = self.topic.page(from, STEP);
                self.phase = next.map_or(CountingPhase::Leaving(0), CountingPhase::Present);
                let count = some.len();
                self.present.extend(some);
                Some(count)
            }
            CountingPhase::Leaving(from) => {
                let count = self.leaving.len();
                self.hold_leaving(from);
                Some(self.leaving.len() - count)
            }
            CountingPhase::Adding => self.add_some(),
        }
    }

    /// The sum, when all are counted.
    pub(crate) fn finish(mut self) -> Totals {
        while self.step().is_some() {}
        self.totals
    }

    fn hold_leaving(&mut self, from: usize) {
        let ended = self.topic.ended();
        let mut some = ended.leaving.page(from);
        let held = some.by_ref().take(STEP);
        self.leaving.extend(held.map(|(key, it)| (key, it.clone())));
        if let Some((next, _)) = some.next() {
            self.phase = CountingPhase::Leaving(next);
            return;
        }
        let accounts = ended.accounts.as_deref().copied().unwrap_or_default();
        self.totals.accounts = accounts;
        self.totals.held = accounts.held;
        self.settled = ended.settled;
        self.phase = CountingPhase::Adding;
    }

    fn add_some(&mut self) -> Option<usize> {
        let rest = self.present.len().saturating_sub(STEP);
        let mut some = self.present.split_off(rest);
        if some.is_empty() {
            let left = from_fn(|| self.leaving.pop_first()).take(STEP);
            some.extend(left.map(|(_, it)| it));
        }
        for it in &some {
            let is_counted = self.leaving.contains_key(&key(it)) || it.has_settled(self.settled);
            if !is_counted {
                self.totals.add(it);
            }
        }
        (!some.is_empty()).then_some(some.len())
    }
}

impl AddAssign for Totals {
    fn add_assign(&mut self, other: Self) {
        self.subscribers += other.subscribers;
        self.accounts += other.accounts;
        self.queued += other.queued;
        self.queued_bytes += other.queued_bytes;
        self.outstanding += other.outstanding;
        self.held += other.held;
        let both = [self.oldest, other.oldest];
        self.oldest = both.into_iter().flatten().min();
    }
}

impl Totals {
    /// Adds a subscriber as it is now.
    fn add(&mut self, subscriber: &Subscriber) {
        let subscriber = subscriber.snapshot();
        let is_present = subscriber.state != SubscriptionState::Gone && !subscriber.is_leaving;
        *self += Self {
            subscribers: usize::from(is_present),
            accounts: subscriber.accounts,
            queued: subscriber.queued,
            queued_bytes: subscriber.queued_bytes,
            outstanding: subscriber.outstanding,
            oldest: subscriber.oldest,
            held: subscriber.held_time(Instant::now()),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::service::destroyed_topics::tests::events;
    use crate::service::subscriber::ReadyQueue;

    /// Ends the subscription of a subscriber, and its delivery too if it is to settle.
    fn leave(topic: &Topic, subscriber: &Arc<Subscriber>, settles: bool) {
        topic.remove(subscriber);
        if settles {
            topic.settle(subscriber);
        }
    }

    #[tokio::test]
    async fn subscribers_that_leave_while_they_are_counted_count_once() {
        let count = 4 * STEP;
        // Between any two steps, some leave whether they were looked at or not, and some of them settle later.
        for settles in [[true, true], [false, false], [true, false]] {
            for at in 0.. {
                let topic = Topic::new("t".to_owned(), None, None);
                let ready = Arc::<ReadyQueue>::default();
                let subscribers: Vec<_> = (0..count)
                    .map(|_| Subscriber::unreachable(&ready))
                    .collect();
                subscribers.iter().for_each(|it| topic.add(it.clone()));
                let published = topic.publish(events(1), false, Instant::now());
                published.done().await.expect("a topic without a log");
                let mut counting = topic.counting();
                let has_more = (0..at).all(|_| counting.step().is_some());
                for (number, it) in subscribers.iter().step_by(3).enumerate() {
                    leave(&topic, it, settles[number % 2]);
                }
                counting.step();
                for (number, it) in subscribers.iter().step_by(3).enumerate() {
                    leave(&topic, it, settles[1 - number % 2]);
                }
                assert_eq!(counting.finish().accounts.offered, count as u64, "{at}");
                if !has_more {
                    break;
                }
            }
        }
    }

    #[tokio::test]
    async fn a_step_looks_at_a_few_subscribers() {
        let topic = Topic::new("t".to_owned(), None, None);
        let ready = Arc::<ReadyQueue>::default();
        let subscribers: Vec<_> = (0..10 * STEP)
            .map(|_| Subscriber::unreachable(&ready))
            .collect();
        subscribers.iter().for_each(|it| topic.add(it.clone()));
        for it in &subscribers[..5 * STEP] {
            leave(&topic, it, false);
        }
        let mut counting = topic.counting();
        let mut looked_at = 0;
        while let Some(count) = counting.step() {
            assert!(count <= STEP, "{count}");
            looked_at += count;
        }
        // Each is held in one step and added in another.
        assert_eq!(looked_at, 2 * subscribers.len());
        assert_eq!(counting.finish().subscribers, 5 * STEP);
    }
}
