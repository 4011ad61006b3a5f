//! A topic: its subscribers, and the counts of its events.
//!
//! - `topic/counting.rs`: counts its events in steps
//! - `topic/fan_out.rs`: gives events to many subscribers, some at a time
//! - `topic/published.rs`: what a publisher waits for

mod counting;
mod fan_out;
mod published;

pub(crate) use counting::{Counting, Totals};
pub(crate) use fan_out::HeldBack;
pub(crate) use published::Published;

use std::collections::{BTreeMap, VecDeque};
use std::iter::{from_fn, repeat_n};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, MutexGuard};
use std::time::{Duration, Instant};

use floe::Identity;
use floe::forwarding::Events;
use floe_metrics::Values;

use super::durable::{Appending, TopicLog};
use super::last_counts::{CountedObject, LastCounts};
use super::lifespan::DefaultLifespan;
use super::pace::STEP;
use super::subscriber::Subscriber;
use super::subscribers::{LeavingSubscribers, Subscribers};
use super::user_accounts::UserName;
use crate::core::{Accounts, ByLifespan, Losses, Timing};
use crate::lock::{Mutex, RwLock};
use fan_out::{Audience, FanOuts, Publication};

/// A topic, which the servants and the registry share.
pub(crate) struct Topic {
    name: Arc<str>,
    /// The user that created it, if the hub knows.
    user: Option<UserName>,
    published: AtomicU64,
    forwarded: AtomicU64,
    /// Where the metrics views find `published` and `forwarded` when the topic is gone.
    last_counts: LastCounts,
    is_destroyed: AtomicBool,
    /// The lock is held while an event goes into queues, but never during a wait. Only the registry writes it.
    subscribers: RwLock<Subscribers>,
    ended: Mutex<EndedSubscriptions>,
    /// The log, if the topic is durable or remembers events in memory.
    log: Option<Arc<TopicLog>>,
    fan_outs: FanOuts,
    lifespan: DefaultLifespan,
    /// True if an invalid lifespan has been logged.
    has_logged_lifespan: AtomicBool,
}

/// Subscriptions that have ended.
#[derive(Default)]
struct EndedSubscriptions {
    /// Subscribers with deliveries under way.
    leaving: LeavingSubscribers,
    /// The sum of the accounts of all other subscribers. Boxed, because most topics have had none.
    accounts: Option<Box<Accounts>>,
    /// The number of subscribers in that sum.
    settled: u64,
    /// Those of them that lost events, since [`Topic::take_ended_losers`] was called.
    losers: VecDeque<EndedLoser>,
}

/// A subscriber that lost events and has left.
pub(crate) struct EndedLoser {
    /// Its address, which no other subscriber had while it was there.
    pub(crate) address: usize,
    pub(crate) identity: String,
    /// All events that it lost.
    pub(crate) lost: Losses,
}

/// They are taken every few seconds. If more leave meanwhile, the first of them are not named.
const ENDED_LOSERS_MAX: usize = 64;

impl Topic {
    pub(crate) fn new(
        name: String,
        log: Option<Arc<TopicLog>>,
        user: Option<UserName>,
    ) -> Arc<Self> {
        Arc::new(Self {
            name: name.into(),
            user,
            published: AtomicU64::new(0),
            forwarded: AtomicU64::new(0),
            last_counts: LastCounts::default(),
            is_destroyed: AtomicBool::new(false),
            subscribers: RwLock::default(),
            ended: Mutex::default(),
            log,
            fan_outs: FanOuts::default(),
            lifespan: DefaultLifespan::default(),
            has_logged_lifespan: AtomicBool::new(false),
        })
    }

    /// Returns true if its events are kept on disk.
    pub(crate) fn is_durable(&self) -> bool {
        self.log.as_ref().is_some_and(|log| log.is_durable())
    }

    /// The log, if the topic is durable or remembers events in memory.
    pub(crate) fn log(&self) -> Option<&Arc<TopicLog>> {
        self.log.as_ref()
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Sets the lifespan of events whose publishers give none.
    pub(super) fn set_lifespan(&self, lifespan: Option<Duration>) {
        self.lifespan.set(lifespan);
        if let Some(log) = &self.log {
            log.lifespan().set(lifespan);
        }
    }

    /// The user that created it, if the hub knows.
    pub(super) fn user(&self) -> Option<&UserName> {
        self.user.as_ref()
    }

    /// The name, to be shared.
    pub(super) fn shared_name(&self) -> &Arc<str> {
        &self.name
    }

    /// Takes the events of a publisher. `waits_for_room` says that it asked to wait without a limit.
    ///
    /// A topic with a log appends them. Subscribers that do not read the log get them in their queues: all subscribers
    /// immediately, or a few at a time if there are many.
    pub(crate) fn publish(
        self: &Arc<Self>,
        events: Events,
        waits_for_room: bool,
        now: Instant,
    ) -> Published {
        self.publish_for(None, events, waits_for_room, now)
    }

    /// Takes the events of a publisher that is this user, if the hub knows it. Only the events of the same user are duplicates
    /// of one another.
    pub(crate) fn publish_for(
        self: &Arc<Self>,
        user: Option<&UserName>,
        events: Events,
        waits_for_room: bool,
        now: Instant,
    ) -> Published {
        let (counter, audience) = (&self.published, Audience::All);
        self.take_in(counter, user, events, audience, waits_for_room, now)
    }

    /// Takes events that came over a link.
    pub(crate) fn publish_forwarded(self: &Arc<Self>, events: Events) -> Published {
        let (audience, now) = (Audience::Subscribers, Instant::now());
        self.take_in(&self.forwarded, None, events, audience, false, now)
    }

    /// Takes events, and counts those that are new in `counter`.
    fn take_in(
        self: &Arc<Self>,
        counter: &AtomicU64,
        user: Option<&UserName>,
        events: Events,
        audience: Audience,
        waits_for_room: bool,
        now: Instant,
    ) -> Published {
        let give = |events: Events| {
            counter.fetch_add(events.len() as u64, Ordering::Relaxed);
            self.give(events, audience, waits_for_room, now)
        };
        let Some(log) = &self.log else {
            return give(events).into();
        };
        let Appending { fresh, outcome } = match audience {
            Audience::Subscribers => log.append_forwarded(events),
            Audience::All => log.append(events, user.map(|user| &**user)),
        };
        Published {
            held: fresh.into_iter().flat_map(give).collect(),
            stored: vec![outcome],
        }
    }

    /// Puts events into the queues of their audience, with their lifespans.
    fn give(
        self: &Arc<Self>,
        events: Events,
        audience: Audience,
        waits_for_room: bool,
        now: Instant,
    ) -> Vec<HeldBack> {
        let mut held = Vec::new();
        for (events, lifespan) in self.by_lifespan(events) {
            held.append(&mut self.give_alike(Publication {
                events,
                audience,
                waits_for_room,
                timing: Timing::new(now, lifespan),
            }));
        }
        held
    }

    /// Divides events into groups of equal lifespans. An event with an invalid lifespan gets that of the topic. It is
    /// not refused, because a publisher that does not wait for an answer would not learn of the refusal.
    pub(super) fn by_lifespan(&self, events: Events) -> ByLifespan {
        let (divided, result) = ByLifespan::new(events, self.lifespan.get());
        if let Err(reason) = result
            && !self.has_logged_lifespan.swap(true, Ordering::Relaxed)
        {
            tracing::warn!(
                "ignored an invalid lifespan of an event of topic {:?}: {reason}; further ones are not logged",
                self.name
            );
        }
        divided
    }

    /// Puts events into the queues of their audience: immediately, or some at a time if that takes long, or if earlier
    /// events go some at a time.
    fn give_alike(self: &Arc<Self>, mut publication: Publication) -> Vec<HeldBack> {
        let subscribers = self.read();
        if publication.is_long(subscribers.len()) || self.fan_outs.is_running() {
            let last = subscribers.last_number();
            match self.fan_outs.begin(self, publication, last) {
                Ok(pending) => return vec![HeldBack::FanOut(pending)],
                Err(refused) => publication = refused,
            }
        }
        let Publication {
            events,
            audience,
            waits_for_room,
            timing,
        } = publication;
        with_each(&subscribers, events)
            .filter(|(subscriber, _)| audience.has(subscriber))
            .filter_map(|(subscriber, events)| subscriber.publish(events, waits_for_room, timing))
            .map(HeldBack::Publication)
            .collect()
    }

    /// The publications that go to some subscribers at a time.
    pub(super) fn fan_outs(&self) -> &FanOuts {
        &self.fan_outs
    }

    /// Passes `show` the subscribers with numbers from `from` up to `last`, at most `count` of them. Returns the number of
    /// the next one.
    pub(super) fn with_some(
        &self,
        from: u64,
        last: u64,
        count: usize,
        show: impl FnOnce(&[Arc<Subscriber>]),
    ) -> Option<u64> {
        let subscribers = self.read();
        let (some, next) = subscribers.some(from, last, count);
        show(some);
        next
    }

    /// Events that were published to the topic. Events for a single subscriber do not count.
    pub(crate) fn published(&self) -> u64 {
        self.published.load(Ordering::Relaxed)
    }

    /// Events that came over links.
    pub(crate) fn forwarded(&self) -> u64 {
        self.forwarded.load(Ordering::Relaxed)
    }

    /// Its counters as metrics views have them.
    pub(crate) fn counts(&self) -> Values {
        [self.published(), self.forwarded(), 0, 0]
    }

    /// The topic, for a metrics view.
    pub(super) fn counted(self: &Arc<Self>) -> CountedObject<Self> {
        CountedObject::new(self.clone(), &self.last_counts)
    }

    /// The subscribers and links in the order of subscription, without those that are about to be removed. They are
    /// taken a few at a time, so that nothing has to wait until all were looked at.
    pub(crate) fn subscribers(self: &Arc<Self>) -> impl Iterator<Item = Arc<Subscriber>> + use<> {
        let all = self.all_subscribers();
        all.filter(|subscriber| !subscriber.is_gone())
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
    pub(crate) fn totals(self: &Arc<Self>) -> Totals {
        self.counting().finish()
    }

    /// Begins to count in steps. The result is that of [`Topic::totals`].
    pub(crate) fn counting(self: &Arc<Self>) -> Counting {
        Counting::new(self.clone())
    }

    /// The subscribers and links, with those that are about to be removed.
    pub(super) fn all_subscribers(
        self: &Arc<Self>,
    ) -> impl Iterator<Item = Arc<Subscriber>> + use<> {
        let (topic, mut from) = (self.clone(), Some(0));
        let pages = from_fn(move || {
            let (page, next) = topic.page(from?, STEP);
            from = next;
            Some(page)
        });
        pages.flatten()
    }

    /// The subscribers and links that were added last, at most `count` of them.
    pub(super) fn last_subscribers(&self, count: usize) -> Vec<Arc<Subscriber>> {
        self.read().iter().rev().take(count).cloned().collect()
    }

    /// Returns true if there are subscribers or links, even if they are about to be removed.
    pub(super) fn has_subscribers(&self) -> bool {
        !self.read().is_empty()
    }

    /// All subscribers with deliveries under way: present ones, and those that are leaving.
    pub(super) fn recipients(&self) -> Vec<Arc<Subscriber>> {
        // Locks the present subscribers first, because subscribers move only from there to the ended ones.
        let present = self.read();
        let ended = self.ended();
        let leaving = ended.leaving.page(0).map(|(_, subscriber)| subscriber);
        present.iter().chain(leaving).cloned().collect()
    }

    /// The subscribers of the durable subscription of this name.
    pub(crate) fn find_reader(&self, name: &str) -> Vec<Arc<Subscriber>> {
        let subscribers = self.read();
        let of_name = |s: &&Arc<Subscriber>| s.reader().is_some_and(|reader| reader.name() == name);
        subscribers.iter().filter(of_name).cloned().collect()
    }

    /// The number of subscribers that can be reached, of each durable subscription that has any.
    pub(crate) fn reader_counts(&self) -> BTreeMap<String, usize> {
        let mut counts = BTreeMap::new();
        let subscribers = self.read();
        let present = subscribers.iter().filter(|it| !it.is_absent());
        for reader in present.filter_map(|it| it.reader()) {
            *counts.entry(reader.name().to_owned()).or_default() += 1;
        }
        counts
    }

    /// Returns true if this subscriber has not been removed.
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
            let accounts = ended.accounts.get_or_insert_default();
            let own = subscriber.snapshot().accounts;
            **accounts += own;
            ended.settled += 1;
            if own.lost.sum() > 0 {
                if ended.losers.len() == ENDED_LOSERS_MAX {
                    ended.losers.pop_front();
                }
                ended.losers.push_back(EndedLoser {
                    address: Arc::as_ptr(subscriber).addr(),
                    identity: subscriber.identity().to_string(),
                    lost: own.lost,
                });
            }
            subscriber.set_settled(ended.settled);
        }
    }

    /// The subscribers that have left with deliveries under way.
    pub(super) fn leaving_subscribers(&self) -> Vec<Arc<Subscriber>> {
        let ended = self.ended();
        ended.leaving.page(0).map(|(_, it)| it.clone()).collect()
    }

    /// The subscribers that lost events and have left since the last call.
    pub(super) fn take_ended_losers(&self) -> VecDeque<EndedLoser> {
        std::mem::take(&mut self.ended().losers)
    }

    pub(super) fn is_destroyed(&self) -> bool {
        self.is_destroyed.load(Ordering::Acquire)
    }

    pub(super) fn set_destroyed(&self) {
        self.is_destroyed.store(true, Ordering::Release);
    }

    fn read(&self) -> std::sync::RwLockReadGuard<'_, Subscribers> {
        self.subscribers.read()
    }

    fn write(&self) -> std::sync::RwLockWriteGuard<'_, Subscribers> {
        self.subscribers.write()
    }

    fn ended(&self) -> MutexGuard<'_, EndedSubscriptions> {
        self.ended.lock()
    }
}

impl Drop for Topic {
    fn drop(&mut self) {
        self.last_counts.leave(|| self.counts());
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
