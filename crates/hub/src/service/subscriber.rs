//! One subscriber or link: the pure subscription, its proxy, and the bell of its delivery.
//!
//! - `subscriber/ready.rs`: subscribers that have events for the delivery scheduler
//! - `subscriber/settling.rs`: what became of events

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
};
use crate::settings::HubSettings;

/// A subscriber of a topic, or a link to another one, shared by publishers and its delivery task.
pub(crate) struct Subscriber {
    /// The name of its topic.
    topic: Arc<str>,
    /// Where its events go; of a link the receiving end.
    proxy: Proxy,
    /// Where it leads, if it is a link.
    link: Option<Box<TopicLink>>,
    qos_text: BTreeMap<String, String>,
    qos: Qos,
    /// Guards queue, state and accounts, what is not answered, and who is to be woken. Held for a few moves, never
    /// across a wait.
    shared: Mutex<Shared>,
    /// Where publishers stand that wait for room.
    backpressure: Backpressure,
    /// Who delivers while the delivery task has nothing to decide.
    ready: Arc<ReadyQueue>,
}

pub(super) struct Shared {
    pub(super) subscription: Subscription<Events>,
    /// What left at once; there as soon as something may.
    in_flight: Option<Box<InFlightEvents<PendingEvent>>>,
    /// The delivery task while it waits: woken when the subscription says so, or an answer.
    delivery: Option<Waker>,
}

impl Shared {
    /// What left at once.
    pub(super) fn in_flight(&mut self) -> &mut InFlightEvents<PendingEvent> {
        self.in_flight.get_or_insert_default()
    }

    /// Whether the scheduler may send.
    fn is_open(&self) -> bool {
        let in_flight = self.in_flight.as_ref();
        in_flight.is_some_and(|in_flight| in_flight.is_open())
    }

    /// Whether the scheduler may send, and there are as many events as leave at a time, or as half of the queue.
    fn is_pressed(&self, sent_max: usize) -> bool {
        self.is_open() && self.subscription.is_pressed(sent_max)
    }

    /// The delivery task waits from now on.
    pub(super) fn note_delivery(&mut self, waker: &Waker) {
        let known = self.delivery.as_ref();
        if !known.is_some_and(|known| known.will_wake(waker)) {
            self.delivery = Some(waker.clone());
        }
    }

    /// The delivery task, to be woken without the lock; not again before it has waited again.
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
            shared: Mutex::new(Shared {
                subscription,
                in_flight: None,
                delivery: None,
            }),
            backpressure: Backpressure::default(),
            ready: ready.clone(),
        }
    }

    /// A link of a topic.
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
            ..subscriber
        }
    }

    /// Holds to other settings from now on. The send timeout is that of when it subscribed.
    pub(super) fn reconfigure(&self, settings: &HubSettings) {
        let limits = self.qos.limits_within(settings.limits_of(&self.topic));
        self.change(|subscription| {
            subscription.reconfigure(limits, settings.discard_interval);
            (false, ())
        });
        // Whoever waits for room looks again: there may be more, or it is not waited for any longer.
        self.backpressure.notify();
    }

    /// The name of its topic.
    pub(super) fn topic(&self) -> &str {
        &self.topic
    }

    /// Its identity, by which it is known; of a link that of the other topic.
    pub(crate) fn identity(&self) -> &Identity {
        let proxy = self.link().map_or(&self.proxy, TopicLink::topic);
        &proxy.reference().identity
    }

    /// Where it leads, if it is a link.
    pub(crate) fn link(&self) -> Option<&TopicLink> {
        self.link.as_deref()
    }

    /// Whether it is a link to a topic of the same hub.
    pub(crate) fn is_link_within(&self) -> bool {
        self.link().is_some_and(|link| link.local_name().is_some())
    }

    /// The object that gets the events.
    pub(crate) fn proxy(&self) -> &Proxy {
        &self.proxy
    }

    /// The quality of service as it was asked for.
    pub(crate) fn qos_text(&self) -> &BTreeMap<String, String> {
        &self.qos_text
    }

    /// The quality of service.
    pub(crate) fn qos(&self) -> &Qos {
        &self.qos
    }

    /// Queues events; over a link those that may pass.
    pub(crate) fn publish(self: &Arc<Self>, events: Events, now: Instant) {
        match self.link() {
            None => self.queue(events, now),
            Some(link) => {
                for events in link.cost().passing(&events) {
                    self.queue(events, now);
                }
            }
        }
    }

    fn queue(self: &Arc<Self>, events: Events, now: Instant) {
        self.change_queue(|subscription| (subscription.handle_events(events, now), ()));
    }

    /// Queues events as far as there is no publisher to wait; those that must wait come back, for
    /// [`Subscriber::publish_waiting`]. Some of them may be queued by then.
    pub(crate) fn publish_or_wait(
        self: &Arc<Self>,
        events: Events,
        now: Instant,
    ) -> Option<Events> {
        // Over a link with a cost only parts pass: seldom enough to go the long way.
        if self.link().is_none() && self.backpressure.is_free() {
            return self.offer(events, now);
        }
        if self.wait_behind(&events) {
            return Some(events);
        }
        self.publish(events, now);
        None
    }

    /// Whether these wait behind others, as publishers that ask for it do while there is no room.
    fn wait_behind(&self, events: &Events) -> bool {
        let count = self.passing_count(events);
        self.lock().subscription.wait_behind(count)
    }

    /// Whether these, which came for this subscriber alone, are lost because it has failed.
    pub(crate) fn loses_own(&self, events: &Events) -> bool {
        let count = self.passing_count(events);
        self.lock().subscription.loses_own(count as u64)
    }

    /// All events, or those that pass a link.
    fn passing_count(&self, events: &Events) -> usize {
        match self.link() {
            None => events.len(),
            Some(link) => link.cost().passing_count(events),
        }
    }

    /// Queues events that came back from [`Subscriber::publish_or_wait`], and waits while there is no room.
    /// Those who wait come in the order in which they began to. Cancelled, some may be queued, and the others are lost
    /// and counted as soon as nobody can wait any more.
    pub(crate) async fn publish_waiting(self: &Arc<Self>, events: Events) {
        let waiter = self.backpressure.join();
        let _first = waiter.acquire().await;
        match self.link() {
            None => self.queue_waiting(&waiter, events).await,
            Some(link) => {
                for events in link.cost().passing(&events) {
                    self.queue_waiting(&waiter, events).await;
                }
            }
        }
    }

    /// Only who is the first at the door comes here.
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

    /// Queues the events for which there is room; the others come back.
    fn offer(self: &Arc<Self>, events: Events, now: Instant) -> Option<Events> {
        self.change_queue(|subscription| subscription.offer(events, now))
    }

    /// Ends the subscription: what is queued is lost.
    pub(crate) fn remove(&self) {
        self.change(|subscription| (subscription.remove(), ()));
        self.backpressure.notify();
    }

    /// Takes no more events; what is queued is still delivered.
    pub(crate) fn drain(&self) {
        self.change(|subscription| (subscription.drain(), ()));
        self.backpressure.notify();
    }

    pub(crate) fn is_gone(&self) -> bool {
        self.lock().subscription.state() == SubscriptionState::Gone
    }

    /// Whether events are sent to it.
    pub(super) fn is_online(&self) -> bool {
        self.lock().subscription.state() == SubscriptionState::Online
    }

    pub(crate) fn snapshot(&self) -> Snapshot {
        self.lock().subscription.snapshot()
    }

    /// Waits until at least this many bytes are queued; false if the delivery ends instead. May be
    /// cancelled.
    pub(super) async fn wait_for_bytes(&self, bytes_min: usize) -> bool {
        poll_fn(|context| self.poll_bytes(context, bytes_min)).await
    }

    /// The same as a poll. There is one delivery, so that the waker of the last poll is woken.
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

    /// How many events may be unanswered, if they are answered.
    pub(super) fn outstanding_max(&self) -> Option<usize> {
        match self.qos.delivery {
            Delivery::Twoway { outstanding_max } => Some(outstanding_max),
            _ => None,
        }
    }

    /// How many events leave at a time at the most.
    fn sent_max(&self) -> usize {
        self.outstanding_max().unwrap_or(usize::MAX)
    }

    /// How long the answer to an event may take.
    pub(super) fn send_timeout(&self) -> Option<Duration> {
        self.proxy.timeout()
    }

    /// Takes what is queued, within limits; how many events. The subscriber is told of those that were
    /// lost before them, if it asked.
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
            // Boxed: it is 900 bytes long and seldom needed, and every idle delivery would hold room for it.
            Box::pin(self.notify_lost(count)).await;
        }
        taken[known..].iter().map(Events::len).sum()
    }

    /// There is room: the publisher that waits for it, if there is one, looks again.
    pub(super) fn notify_room(&self) {
        // Who stands there without having seen the room that there was before will see this one.
        if !self.backpressure.is_free() {
            self.backpressure.notify();
        }
    }

    /// Changes the subscription, wakes the delivery if the change says so, and tells people what is
    /// worth it.
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

    /// The same where events come, which the scheduler may deliver.
    fn change_queue<T>(
        self: &Arc<Self>,
        change: impl FnOnce(&mut Subscription<Events>) -> (bool, T),
    ) -> T {
        let mut shared = self.lock();
        let (must_wake, changed) = change(&mut shared.subscription);
        let notice = shared.subscription.poll_notice();
        let is_delivered = must_wake && shared.is_open() && self.ready.push(self);
        let is_pressed = self.ready.is_resting() && shared.is_pressed(self.sent_max());
        let delivery = shared
            .delivery
            .take_if(|_| must_wake && !is_delivered || is_pressed);
        drop(shared);
        if let Some(delivery) = delivery {
            delivery.wake();
        }
        self.log_notice_and_summaries(notice);
        changed
    }

    /// Wakes the delivery task if the scheduler may send, and events shall not wait for that.
    pub(super) fn wake_delivery_if_pressed(&self) {
        let mut shared = self.lock();
        let is_pressed = shared.is_pressed(self.sent_max());
        let delivery = shared.delivery.take_if(|_| is_pressed);
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

    pub(super) fn lock(&self) -> MutexGuard<'_, Shared> {
        // Its methods move events between counters: none is left half way by a panic.
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
impl Subscriber {
    /// A twoway subscriber with an address at which nobody listens.
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
