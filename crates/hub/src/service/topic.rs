//! One topic: its subscribers, and what became of its events.

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
use crate::core::{Accounts, Snapshot};

/// A topic, shared by the servants and the registry.
pub(crate) struct Topic {
    name: Arc<str>,
    published: AtomicU64,
    forwarded: AtomicU64,
    is_destroyed: AtomicBool,
    /// In the order of subscription. Held while an event is put into all queues, which waits for
    /// nothing; written by the registry alone.
    subscribers: RwLock<Vec<Arc<Subscriber>>>,
    past: Mutex<Past>,
}

/// Subscriptions that have ended.
#[derive(Default)]
struct Past {
    /// Those with deliveries under way.
    leaving: Vec<Arc<Subscriber>>,
    /// All others together.
    accounts: Accounts,
}

/// All subscribers of a topic together.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Totals {
    /// What became of their events.
    pub(crate) accounts: Accounts,
    /// Events that wait.
    pub(crate) queued: u64,
    /// Their bytes.
    pub(crate) queued_bytes: u64,
    /// Events that are being sent, or wait for their answer.
    pub(crate) outstanding: u64,
    /// When the event came that waits longest.
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
            past: Mutex::default(),
        })
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// The same, for whoever keeps it.
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

    /// The same, waiting where the policy of a subscription is to wait for room: then there is something
    /// left to wait for. Nobody else waits for that: the others have the events at once.
    pub(crate) fn publish_waiting(
        &self,
        events: Events,
        now: Instant,
    ) -> Option<impl Future<Output = ()> + Send + use<>> {
        self.count(&events);
        let mut slow = Vec::new();
        for (subscriber, events) in with_each(&self.read(), events) {
            if let Some(rest) = subscriber.publish_or_wait(events, now) {
                slow.push((subscriber.clone(), rest));
            }
        }
        if slow.is_empty() {
            return None;
        }
        let waits = slow.into_iter().map(|(subscriber, rest)| {
            let wait = async move { subscriber.publish_waiting(rest).await };
            Box::pin(wait)
        });
        Some(all(waits.collect()))
    }

    /// Puts events that came over a link into the queues of all subscribers, but not into those of
    /// links: events go one hop.
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

    /// Events that were published to the topic; those for a single subscriber do not count.
    pub(crate) fn published(&self) -> u64 {
        self.published.load(Ordering::Relaxed)
    }

    /// Events that came over links.
    pub(crate) fn forwarded(&self) -> u64 {
        self.forwarded.load(Ordering::Relaxed)
    }

    /// The subscribers and links, in the order of subscription; without those about to be removed.
    pub(crate) fn subscribers(&self) -> Vec<Arc<Subscriber>> {
        let subscribers = self.read();
        let present = subscribers
            .iter()
            .filter(|subscriber| !subscriber.is_gone());
        present.cloned().collect()
    }

    /// The subscriber or link with this identity, even if it is about to be removed.
    pub(crate) fn find(&self, identity: &Identity) -> Option<Arc<Subscriber>> {
        let subscribers = self.read();
        let found = subscribers
            .iter()
            .find(|known| known.identity() == identity);
        found.cloned()
    }

    /// What became of the events of all subscribers, those that have left included.
    pub(crate) fn totals(&self) -> Totals {
        // First the present, for subscribers only move from there to the past.
        let present = self.read();
        let past = self.past();
        let mut totals = Totals {
            accounts: past.accounts,
            ..Totals::default()
        };
        for subscriber in present.iter().chain(&past.leaving) {
            totals.add(&subscriber.snapshot());
        }
        totals
    }

    /// The subscribers, those about to be removed included.
    pub(super) fn all_subscribers(&self) -> Vec<Arc<Subscriber>> {
        self.read().clone()
    }

    /// All that have deliveries under way: the subscribers, and those that are leaving.
    pub(super) fn recipients(&self) -> Vec<Arc<Subscriber>> {
        let mut recipients = self.all_subscribers();
        recipients.extend(self.past().leaving.iter().cloned());
        recipients
    }

    /// Whether this very subscriber has not been removed.
    pub(super) fn has(&self, subscriber: &Arc<Subscriber>) -> bool {
        self.read()
            .iter()
            .any(|known| Arc::ptr_eq(known, subscriber))
    }

    pub(super) fn add(&self, subscriber: Arc<Subscriber>) {
        let mut subscribers = self.write();
        subscribers.push(subscriber);
    }

    /// Ends a subscription; its delivery task calls [`Topic::settle`] when it is done.
    pub(super) fn remove(&self, subscriber: &Arc<Subscriber>) {
        let mut subscribers = self.write();
        let Some(at) = subscribers
            .iter()
            .position(|known| Arc::ptr_eq(known, subscriber))
        else {
            return;
        };
        let subscriber = subscribers.remove(at);
        self.past().leaving.push(subscriber.clone());
        drop(subscribers);
        subscriber.remove();
    }

    /// Keeps the accounts of a subscriber whose delivery has ended.
    pub(super) fn settle(&self, subscriber: &Arc<Subscriber>) {
        let mut past = self.past();
        let known = past.leaving.len();
        past.leaving
            .retain(|leaving| !Arc::ptr_eq(leaving, subscriber));
        if past.leaving.len() < known {
            past.accounts += subscriber.snapshot().accounts;
        }
    }

    pub(super) fn is_destroyed(&self) -> bool {
        self.is_destroyed.load(Ordering::Acquire)
    }

    pub(super) fn set_destroyed(&self) {
        self.is_destroyed.store(true, Ordering::Release);
    }

    fn read(&self) -> std::sync::RwLockReadGuard<'_, Vec<Arc<Subscriber>>> {
        self.subscribers
            .read()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> std::sync::RwLockWriteGuard<'_, Vec<Arc<Subscriber>>> {
        self.subscribers
            .write()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn past(&self) -> MutexGuard<'_, Past> {
        self.past.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Each subscriber with the events. The last one gets them as they came: those for a single one are never shared,
/// so that nobody counts who has them.
fn with_each(
    subscribers: &[Arc<Subscriber>],
    events: Events,
) -> impl Iterator<Item = (&Arc<Subscriber>, Events)> {
    subscribers.iter().zip(repeat_n(events, subscribers.len()))
}

/// Waits for all of them together: each has its place in the order of every queue from the first poll on.
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
