//! A subscriber or link: the pure subscription, its proxy, and the waker of its delivery task.
//!
//! - `subscriber/ready.rs`: the queue between publishers and the delivery scheduler
//! - `subscriber/settling.rs`: counts and logs delivered and lost events
//! - `subscriber/loop_guard.rs`: ends the loops of events between hubs
//! - `subscriber/loss_log.rs`: logs losses, and notifies the subscriber of them

mod loop_guard;
mod loss_log;
mod ready;
mod settling;

pub(super) use ready::{ReadyQueue, SchedulerPace};

use std::collections::BTreeMap;
use std::future::poll_fn;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use floe::{Events, Identity, PendingEvent, Proxy, TypedProxy};

use super::backpressure::{Backpressure, Waiter};
use super::topic_link::TopicLink;
use crate::core::{
    Delivery, DeliveryStep, InFlightEvents, Qos, Snapshot, Subscription, SubscriptionState,
    passing_count,
};
use crate::settings::HubSettings;
use loop_guard::LoopGuard;

/// A subscriber of a topic, or a link to another topic. The tasks that read publishers, and its delivery task,
/// share it.
pub(crate) struct Subscriber {
    /// The name of its topic.
    topic: Arc<str>,
    /// The object that receives the events; for a link, the link receiver of the other topic.
    proxy: Proxy,
    /// The other end, if this is a link.
    link: Option<Box<TopicLink>>,
    qos_text: BTreeMap<String, String>,
    qos: Qos,
    /// Ends the loops of events that come back; set if the subscriber is a publisher object.
    loop_guard: Option<LoopGuard>,
    /// Guards the queue, the state, the accounts, the unanswered events, and the waker. It is held for a few moves, and
    /// never across a wait.
    shared: Mutex<GuardedState>,
    /// Makes publishers wait while the queue is full.
    backpressure: Backpressure,
    /// Where publishers announce events while the delivery scheduler may send them.
    ready: Arc<ReadyQueue>,
}

pub(super) struct GuardedState {
    pub(super) subscription: Subscription<Events>,
    /// The unanswered events that left by the fast path. It is created when the first event may leave.
    in_flight: Option<Box<InFlightEvents<PendingEvent>>>,
    /// Wakes the delivery task when the subscription says so, or when a reply comes that the task waits for.
    delivery: Option<Waker>,
}

impl GuardedState {
    /// The unanswered events that left by the fast path.
    pub(super) fn in_flight(&mut self) -> &mut InFlightEvents<PendingEvent> {
        self.in_flight.get_or_insert_default()
    }

    /// Whether the scheduler may send.
    fn is_open(&self) -> bool {
        let in_flight = self.in_flight.as_ref();
        in_flight.is_some_and(|in_flight| in_flight.is_open())
    }

    /// Whether the scheduler may send, and the queue holds at least as many events as leave at a time, or is half full.
    fn has_full_batch(&self, sent_max: usize) -> bool {
        self.is_open() && self.subscription.has_full_batch(sent_max)
    }

    /// Notes how to wake the delivery task, which begins to wait.
    pub(super) fn note_delivery(&mut self, waker: &Waker) {
        let known = self.delivery.as_ref();
        if !known.is_some_and(|known| known.will_wake(waker)) {
            self.delivery = Some(waker.clone());
        }
    }

    /// Takes the waker of the delivery task, to wake it after the lock is released. The task notes it again when it
    /// waits again.
    #[must_use = "it is to be woken"]
    pub(super) fn take_delivery(&mut self) -> Option<Waker> {
        self.delivery.take()
    }
}

impl Subscriber {
    pub(crate) fn new(
        topic: &Arc<str>,
        proxy: &Proxy,
        qos_text: BTreeMap<String, String>,
        qos: Qos,
        settings: &HubSettings,
        ready: &Arc<ReadyQueue>,
    ) -> Self {
        let limits = settings.limits_of(topic);
        let subscription = Subscription::new(&qos, limits, settings.discard_interval);
        let loop_guard = LoopGuard::of(&proxy.reference().identity.name);
        let mut proxy = proxy.ice_timeout(settings.send_timeout);
        if let Some(is_cached) = qos.is_connection_cached {
            proxy = proxy.ice_connection_cached(is_cached);
        }
        if let Some(timeout) = qos.locator_cache_timeout {
            proxy = proxy.ice_locator_cache_timeout(timeout);
        }
        Self {
            topic: topic.clone(),
            proxy,
            link: None,
            qos_text,
            qos,
            loop_guard,
            shared: Mutex::new(GuardedState {
                subscription,
                in_flight: None,
                delivery: None,
            }),
            backpressure: Backpressure::default(),
            ready: ready.clone(),
        }
    }

    /// Creates a link of a topic.
    pub(crate) fn new_link(
        topic: &Arc<str>,
        link: TopicLink,
        settings: &HubSettings,
        ready: &Arc<ReadyQueue>,
    ) -> Self {
        let receiver = link.receiver().ice_twoway();
        let qos = Qos::of_link();
        let subscriber = Self::new(topic, &receiver, BTreeMap::new(), qos, settings, ready);
        Self {
            link: Some(Box::new(link)),
            loop_guard: None,
            ..subscriber
        }
    }

    /// Puts other settings in force. The send timeout remains that of the time of subscription.
    pub(super) fn reconfigure(&self, settings: &HubSettings) {
        let limits = self.qos.limits_within(settings.limits_of(&self.topic));
        self.change(|subscription| {
            subscription.reconfigure(limits, settings.discard_interval);
            (false, ())
        });
        // A waiting publisher looks again: the queue may be larger now, or the policy may have changed.
        self.backpressure.notify();
    }

    /// Drops queued events beyond the limits, if that is its policy.
    pub(super) fn shed(&self, now: Instant) {
        self.change(|subscription| {
            subscription.shed(now);
            (false, ())
        });
    }

    /// The name of its topic.
    pub(super) fn topic(&self) -> &str {
        &self.topic
    }

    /// Identifies the subscriber in its topic. For a link, the identity of the other topic.
    pub(crate) fn identity(&self) -> &Identity {
        let proxy = self.link().map_or(&self.proxy, TopicLink::topic);
        &proxy.reference().identity
    }

    /// The other end, if this is a link.
    pub(crate) fn link(&self) -> Option<&TopicLink> {
        self.link.as_deref()
    }

    /// Whether it is a link to a topic of the same hub.
    pub(crate) fn is_link_within(&self) -> bool {
        self.link().is_some_and(|link| link.local_name().is_some())
    }

    /// The object that receives the events.
    pub(crate) fn proxy(&self) -> &Proxy {
        &self.proxy
    }

    /// The quality of service, as the subscriber asked for it.
    pub(crate) fn qos_text(&self) -> &BTreeMap<String, String> {
        &self.qos_text
    }

    /// The quality of service.
    pub(crate) fn qos(&self) -> &Qos {
        &self.qos
    }

    /// Queues events. A link queues only those that its cost lets pass.
    pub(crate) fn publish(self: &Arc<Self>, events: Events, now: Instant) {
        for events in self.passing(events) {
            self.change_queue(|subscription| (subscription.handle_events(events, now), ()));
        }
    }

    /// Queues the events that need no wait. Returns what is left to wait for, until the other events are queued too.
    pub(crate) fn publish_or_wait(
        self: &Arc<Self>,
        events: Events,
        now: Instant,
    ) -> Option<impl Future<Output = ()> + Send + use<>> {
        let rest = self.publish_without_wait(events, now)?;
        let subscriber = self.clone();
        Some(async move { subscriber.wait_and_publish(rest).await })
    }

    /// Queues the events that need no wait, and returns the others.
    fn publish_without_wait(self: &Arc<Self>, events: Events, now: Instant) -> Option<Events> {
        // A link with a cost lets only some events pass. This is rare, so it takes the general way below.
        if self.link().is_none() && self.backpressure.is_free() {
            return self.change_queue(|subscription| subscription.offer(events, now));
        }
        let count = self.passing_count(&events);
        if self.lock().subscription.wait_behind(count) {
            return Some(events);
        }
        self.publish(events, now);
        None
    }

    /// Whether these events, which came for this subscriber alone, are lost because it has failed.
    pub(crate) fn loses_own(&self, events: &Events) -> bool {
        let count = self.passing_count(events);
        self.lock().subscription.loses_own(count as u64)
    }

    /// The events, for a link only those that may pass.
    fn passing(&self, events: Events) -> impl Iterator<Item = Events> + Send + use<> {
        let (whole, parts) = match self.link() {
            None => match &self.loop_guard {
                None => (Some(events), None),
                Some(guard) => (guard.passing(&events, self), None),
            },
            Some(link) => (None, Some(link.cost().passing(&events))),
        };
        whole.into_iter().chain(parts.into_iter().flatten())
    }

    /// The number of events, for a link of those that may pass.
    fn passing_count(&self, events: &Events) -> usize {
        match self.link() {
            None if self.loop_guard.is_some() => passing_count(events),
            None => events.len(),
            Some(link) => link.cost().passing_count(events),
        }
    }

    /// Queues events when there is room. Publishers get room in the order in which they began to wait. If this is
    /// cancelled, some events may be queued; the others are lost, and they are counted as soon as no publisher can wait
    /// any more.
    async fn wait_and_publish(self: &Arc<Self>, events: Events) {
        let waiter = self.backpressure.join();
        let _first = waiter.acquire().await;
        for events in self.passing(events) {
            self.queue_waiting(&waiter, events).await;
        }
    }

    /// Only the first waiter calls this.
    async fn queue_waiting(self: &Arc<Self>, first: &Waiter<'_>, events: Events) {
        let mut rest = Some(events);
        while let Some(events) = rest {
            let now = Instant::now();
            rest = self.change_queue(|subscription| subscription.offer_again(events, now));
            if rest.is_some() {
                first.wait().await;
            }
        }
    }

    /// Ends the subscription: queued events are lost.
    pub(crate) fn remove(&self) {
        self.change(|subscription| (subscription.remove(), ()));
        self.backpressure.notify();
    }

    /// Accepts no more events; queued events are still delivered.
    pub(crate) fn drain(&self) {
        self.change(|subscription| (subscription.drain(), ()));
        self.backpressure.notify();
    }

    pub(crate) fn is_gone(&self) -> bool {
        self.lock().subscription.state() == SubscriptionState::Gone
    }

    /// Whether events are sent to it now.
    pub(super) fn is_online(&self) -> bool {
        self.lock().subscription.state() == SubscriptionState::Online
    }

    pub(crate) fn snapshot(&self) -> Snapshot {
        self.lock().subscription.snapshot()
    }

    /// Waits until at least this many bytes are queued. Returns false if the delivery ends instead. It may be
    /// cancelled.
    pub(super) async fn wait_for_bytes(&self, bytes_min: usize) -> bool {
        poll_fn(|context| self.poll_bytes(context, bytes_min)).await
    }

    /// The same as a poll. Only the waker of the last poll is woken, because there is only one delivery task.
    pub(super) fn poll_bytes(&self, context: &mut Context<'_>, bytes_min: usize) -> Poll<bool> {
        let mut shared = self.lock();
        match shared.subscription.next_step(bytes_min) {
            DeliveryStep::Deliver => Poll::Ready(true),
            DeliveryStep::End => Poll::Ready(false),
            DeliveryStep::Wait => {
                shared.note_delivery(context.waker());
                Poll::Pending
            }
        }
    }

    /// How many events may be unanswered, if the subscriber answers events.
    pub(super) fn outstanding_max(&self) -> Option<usize> {
        match self.qos.delivery {
            Delivery::Twoway { outstanding_max } => Some(outstanding_max),
            _ => None,
        }
    }

    /// The maximum number of events that leave at a time.
    fn sent_max(&self) -> usize {
        self.outstanding_max().unwrap_or(usize::MAX)
    }

    /// How long the reply to an event may take.
    pub(super) fn send_timeout(&self) -> Option<Duration> {
        self.proxy.timeout()
    }

    /// Takes queued events, within limits. Returns how many. Notifies the subscriber of events that were lost before
    /// these, if it asked for that.
    pub(super) async fn take(
        &self,
        events_max: usize,
        bytes_max: usize,
        taken: &mut Vec<Events>,
    ) -> usize {
        let known = taken.len();
        let (gap, is_roomy) = self.change(|subscription| {
            let gap = subscription.take(events_max, bytes_max, taken);
            (false, (gap, subscription.is_roomy()))
        });
        if is_roomy {
            self.notify_room();
        }
        if let Some(count) = gap {
            // Boxed, because it takes 900 bytes and is seldom needed, and every idle delivery would hold them.
            Box::pin(self.notify_lost(count)).await;
        }
        taken[known..].iter().map(Events::len).sum()
    }

    /// The queue has room: a waiting publisher looks again.
    pub(super) fn notify_room(&self) {
        // A waiter that just missed this room looks before it waits.
        if !self.backpressure.is_free() {
            self.backpressure.notify();
        }
    }

    /// Changes the subscription. Wakes the delivery task if the change says so, and logs a notice if there is one.
    fn change<T>(&self, change: impl FnOnce(&mut Subscription<Events>) -> (bool, T)) -> T {
        let mut shared = self.lock();
        let (must_wake, changed) = change(&mut shared.subscription);
        let delivery = shared.delivery.take_if(|_| must_wake);
        let notice = shared.subscription.poll_notice();
        drop(shared);
        if let Some(delivery) = delivery {
            delivery.wake();
        }
        self.log_notice(notice);
        changed
    }

    /// Changes the queue. Announces events to the scheduler if it may send them, and wakes the delivery task otherwise.
    fn change_queue<T>(
        self: &Arc<Self>,
        change: impl FnOnce(&mut Subscription<Events>) -> (bool, T),
    ) -> T {
        let mut shared = self.lock();
        let (must_wake, changed) = change(&mut shared.subscription);
        let notice = shared.subscription.poll_notice();
        let is_delivered = must_wake && shared.is_open() && self.ready.push(self);
        let has_full_batch = self.ready.is_resting() && shared.has_full_batch(self.sent_max());
        let delivery = shared
            .delivery
            .take_if(|_| must_wake && !is_delivered || has_full_batch);
        drop(shared);
        if let Some(delivery) = delivery {
            delivery.wake();
        }
        self.log_notice_and_summaries(notice);
        changed
    }

    /// Wakes the delivery task if the scheduler may send, and there are so many events that they should not wait for
    /// it.
    pub(super) fn wake_delivery_if_full_batch(&self) {
        let mut shared = self.lock();
        let has_full_batch = shared.has_full_batch(self.sent_max());
        let delivery = shared.delivery.take_if(|_| has_full_batch);
        drop(shared);
        if let Some(delivery) = delivery {
            delivery.wake();
        }
    }

    /// Wakes the delivery task, if it waits.
    pub(super) fn wake_delivery(&self) {
        let delivery = self.lock().take_delivery();
        if let Some(delivery) = delivery {
            delivery.wake();
        }
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, GuardedState> {
        // The changes under this lock only move events between counters, so a panic leaves none half done.
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
impl Subscriber {
    /// A twoway subscriber at an endpoint where nothing listens.
    pub(super) fn unreachable(ready: &Arc<ReadyQueue>) -> Arc<Self> {
        let proxy = floe::Communicator::new().proxy("s:tcp -h 127.0.0.1 -p 1");
        let qos = Qos::parse(&BTreeMap::new(), floe::InvocationMode::Twoway);
        Arc::new(Self::new(
            &"t".into(),
            &proxy.expect("it is one"),
            BTreeMap::new(),
            qos.expect("nothing is asked for"),
            &HubSettings::default(),
            ready,
        ))
    }
}
