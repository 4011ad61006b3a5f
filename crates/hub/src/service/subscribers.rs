//! The subscribers of a topic, in the order of subscription. Adding, removing and finding one does not scan the others.
//!
//! Maps are trees: an empty one takes half the memory of an empty hash map, and most topics have few subscribers.

use std::collections::BTreeMap;
use std::ops::Deref;
use std::sync::Arc;

use floe::Identity;

use super::subscriber::Subscriber;

/// Subscribers and links of a topic. It dereferences to a slice, so that publishing goes over nothing else.
#[derive(Default)]
pub(super) struct Subscribers {
    in_order: Vec<Arc<Subscriber>>,
    /// The number of each subscriber in `in_order`, which rises from one to the next.
    numbers: Vec<u64>,
    /// The number of each, by the identity of the subscriber, or of the other topic of a link.
    by_identity: BTreeMap<Identity, u64>,
    last: u64,
}

impl Subscribers {
    pub(super) fn add(&mut self, subscriber: Arc<Subscriber>) {
        self.last += 1;
        self.by_identity
            .insert(subscriber.identity().clone(), self.last);
        self.numbers.push(self.last);
        self.in_order.push(subscriber);
    }

    pub(super) fn find(&self, identity: &Identity) -> Option<&Arc<Subscriber>> {
        self.in_order.get(self.index_of(identity)?)
    }

    pub(super) fn has(&self, subscriber: &Arc<Subscriber>) -> bool {
        self.find_index(subscriber).is_some()
    }

    /// Removes a subscriber. Returns false if it is not among these.
    pub(super) fn remove(&mut self, subscriber: &Arc<Subscriber>) -> bool {
        let Some(index) = self.find_index(subscriber) else {
            return false;
        };
        let identity = subscriber.identity();
        if self.index_of(identity) == Some(index) {
            self.by_identity.remove(identity);
        }
        self.in_order.remove(index);
        self.numbers.remove(index);
        true
    }

    /// Subscribers from this number on, at most `count` of them, and the number of the next one.
    pub(super) fn page(&self, from: u64, count: usize) -> (Vec<Arc<Subscriber>>, Option<u64>) {
        let start = self.numbers.partition_point(|number| *number < from);
        let page: Vec<_> = self.in_order[start..].iter().take(count).cloned().collect();
        let next = self.numbers.get(start + page.len()).copied();
        (page, next)
    }

    /// The number of the subscriber that was added last.
    pub(super) fn last_number(&self) -> u64 {
        self.last
    }

    /// Subscribers with numbers from `from` up to `last`, at most `count` of them, and the number of the next one.
    pub(super) fn some(
        &self,
        from: u64,
        last: u64,
        count: usize,
    ) -> (&[Arc<Subscriber>], Option<u64>) {
        let start = self.numbers.partition_point(|number| *number < from);
        let end = self.numbers.partition_point(|number| *number <= last);
        let stop = end.min(start.saturating_add(count)).max(start);
        let next = self.numbers[stop..end.max(stop)].first().copied();
        (&self.in_order[start..stop], next)
    }

    fn find_index(&self, subscriber: &Arc<Subscriber>) -> Option<usize> {
        let is_it = |known: &Arc<Subscriber>| Arc::ptr_eq(known, subscriber);
        let index = self.index_of(subscriber.identity());
        // A store may have a subscription and a link of the same identity.
        index
            .filter(|index| is_it(&self.in_order[*index]))
            .or_else(|| self.in_order.iter().position(is_it))
    }

    fn index_of(&self, identity: &Identity) -> Option<usize> {
        let number = self.by_identity.get(identity)?;
        self.numbers.binary_search(number).ok()
    }
}

impl Deref for Subscribers {
    type Target = [Arc<Subscriber>];

    fn deref(&self) -> &Self::Target {
        &self.in_order
    }
}

/// Subscribers that were removed and have deliveries under way.
#[derive(Default)]
pub(super) struct LeavingSubscribers(BTreeMap<usize, Arc<Subscriber>>);

impl LeavingSubscribers {
    pub(super) fn add(&mut self, subscriber: Arc<Subscriber>) {
        self.0.insert(key(&subscriber), subscriber);
    }

    /// Removes a subscriber. Returns false if it is not among these.
    pub(super) fn remove(&mut self, subscriber: &Arc<Subscriber>) -> bool {
        self.0.remove(&key(subscriber)).is_some()
    }

    /// Subscribers with their keys, from this key on.
    pub(super) fn page(&self, from: usize) -> impl Iterator<Item = (usize, &Arc<Subscriber>)> {
        self.0
            .range(from..)
            .map(|(key, subscriber)| (*key, subscriber))
    }
}

/// Tells subscribers apart, two of the same identity too.
pub(super) fn key(subscriber: &Arc<Subscriber>) -> usize {
    Arc::as_ptr(subscriber).addr()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::service::subscriber::ReadyQueue;

    fn subscriber() -> Arc<Subscriber> {
        Subscriber::unreachable(&Arc::<ReadyQueue>::default())
    }

    #[tokio::test]
    async fn subscribers_of_the_same_identity_are_told_apart() {
        let (first, second) = (subscriber(), subscriber());
        let mut subscribers = Subscribers::default();
        subscribers.add(first.clone());
        subscribers.add(second.clone());
        let found = |subscribers: &Subscribers| subscribers.find(first.identity()).cloned();
        assert!(Arc::ptr_eq(&found(&subscribers).unwrap(), &second));
        assert!(subscribers.remove(&first) && !subscribers.has(&first));
        assert!(!subscribers.remove(&first));
        assert!(Arc::ptr_eq(&found(&subscribers).unwrap(), &second));
        assert!(subscribers.remove(&second));
        assert!(found(&subscribers).is_none() && subscribers.is_empty());
    }

    #[tokio::test]
    async fn pages_go_on_where_the_last_one_ended_although_subscribers_leave() {
        let mut subscribers = Subscribers::default();
        let all: Vec<_> = (0..5).map(|_| subscriber()).collect();
        all.iter().for_each(|it| subscribers.add(it.clone()));
        let (page, next) = subscribers.page(0, 2);
        assert!(Arc::ptr_eq(&page[1], &all[1]));
        // The next one leaves before it is asked for.
        assert!(subscribers.remove(&all[2]) && subscribers.remove(&all[0]));
        let (page, end) = subscribers.page(next.unwrap(), 2);
        assert!(Arc::ptr_eq(&page[0], &all[3]) && Arc::ptr_eq(&page[1], &all[4]));
        assert_eq!(end, None);
    }
}
