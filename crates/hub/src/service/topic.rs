//! A topic: its subscribers, and the counts of its events.

use std::future::poll_fn;
use std::iter::repeat_n;
use std::ops::AddAssign;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::task::Poll;
use std::time::Instant;

use floe::{Events, Identity};

use super::subscriber::Subscriber;
use super::subscribers::{LeavingSubscribers, Subscribers};
use crate::core::{Accounts, Snapshot};

/// A topic, which the servants and the registry share.
pub(crate) struct Topic {
    name: Arc<str>,
    published: AtomicU64,
    forwarded: AtomicU64,
    is_destroyed: AtomicBool,
    /// The lock is held while an event goes into all queues, which waits for nothing. Only the registry writes it.
    subscribers: RwLock<Subscribers>,
    ended: Mutex<EndedSubscriptions>,
}

/// Subscriptions that have ended.
#[derive(Default)]
struct EndedSubscriptions {
    /// Subscribers with deliveries under way.
    leaving: LeavingSubscribers,
    /// The sum of the accounts of all other subscribers.
    accounts: Accounts,
}

/// The sum over all subscribers of a topic.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Totals {
    /// What happened to their events.
    pub(crate) accounts: Accounts,
    /// Events in their queues.
    pub(crate) queued: u64,
    /// Bytes of the events in their queues.
    pub(crate) queued_bytes: u64,
    /// Events that are being sent, or are unanswered.
    pub(crate) outstanding: u64,
    /// When the oldest queued event came.
    pub(crate) oldest: Option<Instant>,
}

impl AddAssign for Totals {
    fn add_assign(&mut self, other: Self) {
        self.accounts += other.accounts;
        self.queued += other.queued;
        self.queued_bytes += other.queued_bytes;
        self.outstanding += other.outstanding;
        let both = [self.oldest, other.oldest];
        self.oldest = both.into_iter().flatten().min();
    }
}

impl Totals {
    fn add(&mut self, subscriber: &Snapshot) {
        *self += Self {
            accounts: subscriber.accounts,
            queued: subscriber.queued,
            queued_bytes: subscriber.queued_bytes,
            outstanding: subscriber.outstanding,
            oldest: subscriber.oldest,
        };
    }
}

impl Topic {
    pub(crate) fn new(name: String) -> Arc<Self> {
        Arc::new(Self {
            name: name.into(),
            published: AtomicU64::new(0),
            forwarded: AtomicU64::new(0),
            is_destroyed: AtomicBool::new(false),
            subscribers: RwLock::default(),
            ended: Mutex::default(),
        })
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// The name, to be shared.
    pub(super) fn shared_name(&self) -> &Arc<str> {
        &self.name
    }

    /// Puts events into the queues of all subscribers.
    pub(crate) fn publish(&self, events: Events, now: Instant) {
        self.count(&events);
        for (subscriber, events) in with_each(&self.read(), events) {
            subscriber.publish(events, now);
        }
    }

    /// Puts events into the queues of all subscribers. Returns what is left to wait for if a subscriber makes
    /// publishers wait for room. The other subscribers have the events immediately.
    pub(crate) fn publish_or_wait(
        &self,
        events: Events,
        now: Instant,
    ) -> Option<impl Future<Output = ()> + Send + use<>> {
        self.count(&events);
        let mut waiting = Vec::new();
        for (subscriber, events) in with_each(&self.read(), events) {
            waiting.extend(subscriber.publish_or_wait(events, now).map(Box::pin));
        }
        (!waiting.is_empty()).then(|| all(waiting))
    }

    /// Puts events that came over a link into the queues of all subscribers, but not of links: an event crosses one
    /// link only.
    pub(crate) fn publish_forwarded(&self, events: &Events) {
        let count = events.len() as u64;
        self.forwarded.fetch_add(count, Ordering::Relaxed);
        let now = Instant::now();
        let subscribers = self.read();
        for subscriber in subscribers.iter().filter(|s| s.link().is_none()) {
            subscriber.publish(events.clone(), now);
        }
    }

    fn count(&self, events: &Events) {
        let count = events.len() as u64;
        self.published.fetch_add(count, Ordering::Relaxed);
    }

    /// Events that were published to the topic. Events for a single subscriber do not count.
    pub(crate) fn published(&self) -> u64 {
        self.published.load(Ordering::Relaxed)
    }

    /// Events that came over links.
    pub(crate) fn forwarded(&self) -> u64 {
        self.forwarded.load(Ordering::Relaxed)
    }

    /// The subscribers and links in the order of subscription, without those that are about to be removed.
    pub(crate) fn subscribers(&self) -> Vec<Arc<Subscriber>> {
        let subscribers = self.read();
        let present = subscribers
            .iter()
            .filter(|subscriber| !subscriber.is_gone());
        present.cloned().collect()
    }

    /// The subscriber or link with this identity, even if it is about to be removed.
    pub(crate) fn find(&self, identity: &Identity) -> Option<Arc<Subscriber>> {
        self.read().find(identity).cloned()
    }

    /// Subscribers and links from this number on, in the order of subscription, at most `count` of them, and the number
    /// from which to continue, if there are more.
    pub(crate) fn page(&self, from: u64, count: usize) -> (Vec<Arc<Subscriber>>, Option<u64>) {
        self.read().page(from, count)
    }

    /// The sum over all subscribers, those that have left included.
    pub(crate) fn totals(&self) -> Totals {
        // Locks the present subscribers first, because subscribers move only from there to the ended ones.
        let present = self.read();
        let ended = self.ended();
        let mut totals = Totals {
            accounts: ended.accounts,
            ..Totals::default()
        };
        for subscriber in present.iter().chain(ended.leaving.iter()) {
            totals.add(&subscriber.snapshot());
        }
        totals
    }

    /// The subscribers and links, with those that are about to be removed.
    pub(super) fn all_subscribers(&self) -> Vec<Arc<Subscriber>> {
        self.read().to_vec()
    }

    /// All subscribers with deliveries under way: present ones, and those that are leaving.
    pub(super) fn recipients(&self) -> Vec<Arc<Subscriber>> {
        let mut recipients = self.all_subscribers();
        recipients.extend(self.ended().leaving.iter().cloned());
        recipients
    }

    /// Whether this subscriber has not been removed.
    pub(super) fn has(&self, subscriber: &Arc<Subscriber>) -> bool {
        self.read().has(subscriber)
    }

    pub(super) fn add(&self, subscriber: Arc<Subscriber>) {
        self.write().add(subscriber);
    }

    /// Ends a subscription. When its delivery has ended, the registry calls [`Topic::settle`]. Returns false if it was
    /// removed already.
    pub(super) fn remove(&self, subscriber: &Arc<Subscriber>) -> bool {
        let mut subscribers = self.write();
        if !subscribers.remove(subscriber) {
            return false;
        }
        self.ended().leaving.add(subscriber.clone());
        drop(subscribers);
        subscriber.remove();
        true
    }

    /// Keeps the accounts of a subscriber whose delivery has ended.
    pub(super) fn settle(&self, subscriber: &Arc<Subscriber>) {
        let mut ended = self.ended();
        if ended.leaving.remove(subscriber) {
            ended.accounts += subscriber.snapshot().accounts;
        }
    }

    pub(super) fn is_destroyed(&self) -> bool {
        self.is_destroyed.load(Ordering::Acquire)
    }

    pub(super) fn set_destroyed(&self) {
        self.is_destroyed.store(true, Ordering::Release);
    }

    fn read(&self) -> std::sync::RwLockReadGuard<'_, Subscribers> {
        self.subscribers
            .read()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> std::sync::RwLockWriteGuard<'_, Subscribers> {
        self.subscribers
            .write()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn ended(&self) -> MutexGuard<'_, EndedSubscriptions> {
        self.ended.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Pairs each subscriber with the events. The last one gets the original and no clone, so that a single subscriber
/// shares nothing and costs no reference counting.
fn with_each(
    subscribers: &[Arc<Subscriber>],
    events: Events,
) -> impl Iterator<Item = (&Arc<Subscriber>, Events)> {
    subscribers.iter().zip(repeat_n(events, subscribers.len()))
}

/// Waits for all of these. Each takes its place in its queue with the first poll.
pub(crate) fn all<F: Future<Output = ()>>(
    mut waits: Vec<Pin<Box<F>>>,
) -> impl Future<Output = ()> + use<F> {
    poll_fn(move |context| {
        waits.retain_mut(|wait| wait.as_mut().poll(context).is_pending());
        match waits.is_empty() {
            true => Poll::Ready(()),
            false => Poll::Pending,
        }
    })
}
