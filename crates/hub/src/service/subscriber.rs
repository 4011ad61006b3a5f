//! A subscriber or link: the pure subscription, its proxy, and the waker of its delivery task.
//!
//! - `subscriber/guarded_state.rs`: what its lock guards
//! - `subscriber/held_publishers.rs`: the publishers that wait for room in its queue
//! - `subscriber/pulls.rs`: the programs that pull its events
//! - `subscriber/ready.rs`: the queue between publishers and the delivery scheduler
//! - `subscriber/settling.rs`: counts and logs delivered and lost events
//! - `subscriber/passing.rs`: which events it gets: a link has a cost, and loops between hubs end
//! - `subscriber/loss_log.rs`: logs losses, and notifies the subscriber of them
//! - `subscriber/paced_wakes.rs`, `connect_permits.rs`: how many subscribers do something at a time

mod connect_permits;
mod guarded_state;
mod held_publishers;
mod loss_log;
mod paced_wakes;
mod passing;
mod pulls;
mod ready;
mod settling;

pub(super) use guarded_state::GuardedState;
pub(crate) use held_publishers::HeldPublication;
pub(crate) use pulls::{Pull, Pulls};
pub(super) use ready::{ReadyQueue, SchedulerPace};

use std::collections::BTreeMap;
use std::future::poll_fn;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, MutexGuard};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use floe::forwarding::Events;
use floe::{Identity, InvokeError, Proxy, TypedProxy};

use super::client::Client;
use super::durable::Reader;
use super::latency::Latencies;
use super::topic_link::TopicLink;
use super::user_accounts::UserName;
use crate::core::{
    DeliveryMode, DeliveryStep, OverflowNotice, Qos, QueueUse, Snapshot, Subscription,
    SubscriptionState, Ticket, Timing, Window, counts_hops,
};
use crate::lock::Mutex;
use crate::settings::HubSettings;
use connect_permits::ConnectPermit;
use held_publishers::HeldPublisher;

/// A subscriber of a topic, or a link to another topic. The tasks that read publishers, and its delivery task,
/// share it.
pub(crate) struct Subscriber {
    /// The name of its topic.
    topic: Arc<str>,
    /// The object that receives the events; for a link, the link receiver of the other topic.
    proxy: Proxy,
    /// The other end, if this is a link.
    link: Option<Box<TopicLink>>,
    /// The reader of the topic's log, if it does not get events as they are published.
    reader: Option<Arc<Reader>>,
    /// The programs that pull its events, if it gets them in this way.
    pulls: Option<Arc<Pulls>>,
    /// The quality of service as the subscriber asked for it, in the order of the keys. A map would take half a kilobyte for
    /// the first entry.
    qos_text: Box<[(String, String)]>,
    qos: Qos,
    /// The client that subscribed it.
    client: Client,
    /// True if events for it count their hops, because it is a publisher object.
    counts_hops: bool,
    /// Guards the queue, the state, the accounts, the events in flight, and the waker. It is held for a few moves, and
    /// never across a wait.
    shared: Mutex<GuardedState>,
    /// Where publishers announce events while the delivery scheduler may send them.
    ready: Arc<ReadyQueue>,
    /// True if it could not be reached when it was tried last, and its events wait in the log of its topic.
    is_absent: AtomicBool,
    /// The number of subscribers of its topic that had settled when it did, itself included; 0 before that.
    settled: AtomicU64,
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
        let counts_hops = counts_hops(&proxy.reference().identity.name);
        let guarded = GuardedState::new(subscription, qos.window_limits());
        let pulls = match qos.delivery {
            DeliveryMode::Pull { idle_max } => Some(Arc::new(Pulls::new(idle_max))),
            _ => None,
        };
        let mut proxy = proxy.ice_timeout(settings.send_timeout).as_given();
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
            reader: None,
            pulls,
            qos_text: qos_text.into_iter().collect(),
            qos,
            client: Client::Unknown,
            counts_hops,
            shared: Mutex::new(guarded),
            ready: ready.clone(),
            is_absent: AtomicBool::new(false),
            settled: AtomicU64::new(0),
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
            counts_hops: false,
            ..subscriber
        }
    }

    /// Lets it read the log of its topic.
    #[must_use]
    pub(crate) fn with_reader(self, reader: Option<Arc<Reader>>) -> Self {
        Self { reader, ..self }
    }

    /// Notes the client that subscribed it.
    #[must_use]
    pub(crate) fn with_client(self, client: Client) -> Self {
        Self { client, ..self }
    }

    /// The user that subscribed it, if the hub knows.
    pub(crate) fn user(&self) -> Option<&UserName> {
        self.client.user()
    }

    /// The reader of the topic's log, if it reads the log.
    pub(crate) fn reader(&self) -> Option<&Arc<Reader>> {
        self.reader.as_ref()
    }

    /// The programs that pull its events, if it gets them in this way.
    pub(crate) fn pulls(&self) -> Option<&Arc<Pulls>> {
        self.pulls.as_ref()
    }

    /// Returns true if the store keeps its subscription. Otherwise it ends with the hub.
    pub(crate) fn is_stored(&self) -> bool {
        !self.proxy.is_fixed() && self.pulls.is_none()
    }

    /// Puts other settings in force. The send timeout remains that of the time of subscription.
    pub(super) fn reconfigure(&self, settings: &HubSettings) {
        let limits = self.qos.limits_within(settings.limits_of(&self.topic));
        let now = Instant::now();
        self.change(|subscription| {
            subscription.reconfigure(limits, settings.discard_interval, now);
        });
        self.wake_held_publishers();
    }

    /// Drops queued events beyond the limits, if that is its policy.
    pub(super) fn shed(&self, now: Instant) {
        self.change(|subscription| subscription.shed(now));
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

    /// Returns true if it is a link to a topic of the same hub.
    pub(crate) fn is_link_within(&self) -> bool {
        self.link().is_some_and(|link| link.local_name().is_some())
    }

    /// The object that receives the events.
    pub(crate) fn proxy(&self) -> &Proxy {
        &self.proxy
    }

    /// The quality of service, as the subscriber asked for it.
    pub(crate) fn qos_text(&self) -> BTreeMap<String, String> {
        self.qos_text.iter().cloned().collect()
    }

    /// The value that the subscriber asked for under this key of the quality of service.
    pub(crate) fn wish(&self, key: &str) -> Option<&str> {
        let mut entries = self.qos_text.iter();
        let entry = entries.find(|(known, _)| known == key);
        entry.map(|(_, wish)| wish.as_str())
    }

    /// The quality of service.
    pub(crate) fn qos(&self) -> &Qos {
        &self.qos
    }

    /// Queues events, or holds them back while the queue is full. A link queues only those that its cost lets pass.
    /// `waits_for_room` says that the publisher asked to wait without a limit.
    pub(crate) fn publish(
        self: &Arc<Self>,
        events: Events,
        waits_for_room: bool,
        timing: impl Into<Timing>,
    ) -> Option<HeldPublication> {
        let timing = timing.into();
        let now = timing.came;
        let mut held = None;
        self.for_each_passing(events, now, |events| {
            let publish = |subscription: &mut Subscription<Events>| {
                subscription.publish(events, waits_for_room, timing)
            };
            // If several are held, the last one is released last.
            if let Some(ticket) = self.change_queue(publish, now) {
                held = Some(ticket);
            }
        });
        held.map(|ticket| HeldPublication::new(self.clone(), ticket))
    }

    /// Ends the patience with which publishers are held back, if it is used up.
    pub(super) fn end_patience(self: &Arc<Self>, now: Instant) {
        let end_patience = |subscription: &mut Subscription<Events>| {
            subscription.handle_time(now);
            None
        };
        self.change_queue(end_patience, now);
    }

    /// Ends the subscription: queued events are lost.
    pub(crate) fn remove(&self) {
        self.change(|subscription| subscription.remove(Instant::now()));
    }

    /// Accepts no more events; queued events are still delivered.
    pub(crate) fn drain(&self) {
        self.change(|subscription| subscription.drain(Instant::now()));
    }

    /// Notes that it has settled, and how many had settled then.
    pub(super) fn set_settled(&self, count: u64) {
        self.settled.store(count, Ordering::Relaxed);
    }

    /// Returns true if it was one of the first `count` subscribers of its topic that settled.
    pub(super) fn has_settled(&self, count: u64) -> bool {
        (1..=count).contains(&self.settled.load(Ordering::Relaxed))
    }

    pub(crate) fn is_gone(&self) -> bool {
        self.lock().subscription.state() == SubscriptionState::Gone
    }

    /// Notes if it can be reached.
    pub(super) fn set_absent(&self, is_absent: bool) {
        self.is_absent.store(is_absent, Ordering::Relaxed);
    }

    /// Returns true if it could not be reached when it was tried last, and its events wait in the log of its topic.
    pub(crate) fn is_absent(&self) -> bool {
        self.is_absent.load(Ordering::Relaxed)
    }

    /// Returns true if events are sent to it now.
    pub(super) fn is_online(&self) -> bool {
        self.lock().subscription.state() == SubscriptionState::Online
    }

    pub(crate) fn snapshot(&self) -> Snapshot {
        let mut own = self.change(|subscription| {
            subscription.expire(Instant::now());
            subscription.snapshot()
        });
        if own.state == SubscriptionState::Online && self.is_absent() {
            own.state = SubscriptionState::Offline;
        }
        match &self.reader {
            Some(reader) => own.with_waiting(reader.progress().waiting),
            None => own,
        }
    }

    /// The memory that it holds.
    pub(super) fn queue_use(&self) -> QueueUse {
        let mut used = self.change(|subscription| {
            subscription.expire(Instant::now());
            subscription.queue_use()
        });
        // Durable subscriptions count for their topic, because several subscribers may share one.
        if let Some(reader) = self
            .reader
            .as_ref()
            .filter(|reader| reader.name().is_empty())
        {
            used.outstanding += reader.buffered_bytes();
        }
        used
    }

    /// Waits until at least this many bytes are queued. Returns false if the delivery ends instead. It may be
    /// cancelled.
    pub(super) async fn wait_for_bytes(&self, bytes_min: usize) -> bool {
        poll_fn(|context| self.poll_bytes(context, bytes_min)).await
    }

    /// Polls for [`Subscriber::wait_for_bytes`]. Only the waker of the last poll is woken, because there is only one delivery task.
    pub(super) fn poll_bytes(&self, context: &mut Context<'_>, bytes_min: usize) -> Poll<bool> {
        let mut shared = self.lock();
        let step = shared.subscription.next_step(bytes_min);
        Self::poll_step(&mut shared, step, context)
    }

    /// Polls for the end of the delivery, for a delivery task that is busy with something else.
    pub(super) fn poll_ended(&self, context: &mut Context<'_>) -> Poll<()> {
        let mut shared = self.lock();
        if shared.subscription.poll_end() {
            return Poll::Ready(());
        }
        shared.note_delivery(context.waker());
        Poll::Pending
    }

    /// Does as [`Subscriber::poll_bytes`] for events that are pulled: waits until there are some and a program wants
    /// them, or the delivery ends.
    pub(super) fn poll_pull(&self, context: &mut Context<'_>, is_wanted: bool) -> Poll<bool> {
        let mut shared = self.lock();
        let step = shared.subscription.next_step_of_pull(is_wanted);
        Self::poll_step(&mut shared, step, context)
    }

    fn poll_step(
        shared: &mut GuardedState,
        step: DeliveryStep,
        context: &mut Context<'_>,
    ) -> Poll<bool> {
        match step {
            DeliveryStep::Deliver => Poll::Ready(true),
            DeliveryStep::End => Poll::Ready(false),
            DeliveryStep::Wait => {
                shared.note_delivery(context.waker());
                Poll::Pending
            }
        }
    }

    /// The window of a delivery that begins.
    pub(super) fn window(&self) -> Window {
        self.qos.window()
    }

    /// How long the reply to an event may take.
    pub(super) fn send_timeout(&self) -> Option<Duration> {
        self.proxy.timeout()
    }

    /// The latencies of the events of all subscribers of the hub.
    pub(super) fn latencies(&self) -> &Latencies {
        self.ready.latencies()
    }

    /// Takes queued events, within limits. Returns their number. Notifies the subscriber of events that were lost
    /// before these, if it asked for that.
    pub(super) async fn take(
        &self,
        events_max: usize,
        bytes_max: usize,
        taken: &mut Vec<Events>,
    ) -> usize {
        let known = taken.len();
        let gap = self.change(|subscription| {
            self.latencies().note_wait(subscription.oldest());
            subscription.take(events_max, bytes_max, taken, Instant::now)
        });
        if let Some(count) = gap {
            // Boxed, because it takes 900 bytes and is seldom needed, and every idle delivery would hold them.
            Box::pin(self.notify_lost(count)).await;
        }
        taken[known..].iter().map(Events::len).sum()
    }

    /// Connects, unless there is a connection already or the subscriber needs none. Returns true if it needs one.
    pub(crate) async fn connect(&self) -> Result<bool, InvokeError> {
        let _permit = self.connect_permit().await;
        Ok(self.proxy.ice_connection().await?.is_some())
    }

    /// Waits until it may connect. A connected subscriber does not wait. The permit ends when it is dropped.
    pub(super) async fn connect_permit(&self) -> Option<ConnectPermit> {
        match self.proxy.is_connected() {
            true => None,
            false => {
                let permits = self.ready.connect_permits();
                permits.acquire(&self.proxy, &self.client).await
            }
        }
    }

    /// Changes the subscription. If necessary, wakes the delivery task and logs a notice.
    fn change<T>(&self, change: impl FnOnce(&mut Subscription<Events>) -> T) -> T {
        let mut shared = self.lock();
        let changed = change(&mut shared.subscription);
        let must_wake = shared.subscription.poll_wake();
        if let Some(notice) = self.unlock(shared, must_wake, Instant::now) {
            self.log_notice(notice);
        }
        changed
    }

    /// Publishes events. Announces them to the scheduler if it may send them, and wakes the delivery task otherwise. If
    /// the publication is held, its publisher counts as held back.
    fn change_queue(
        self: &Arc<Self>,
        change: impl FnOnce(&mut Subscription<Events>) -> Option<Ticket>,
        now: Instant,
    ) -> Option<Ticket> {
        let mut shared = self.lock();
        let held = change(&mut shared.subscription);
        let must_wake = shared.subscription.poll_wake();
        if let Some(ticket) = held {
            shared.publishers.push(HeldPublisher::new(ticket, now));
        }
        let is_delivered = must_wake && shared.is_open() && self.ready.push(self);
        let has_full_batch = self.ready.is_resting() && shared.has_full_batch();
        let wakes_delivery = must_wake && !is_delivered || has_full_batch;
        if let Some(notice) = self.unlock(shared, wakes_delivery, || now) {
            self.log_notice_and_summaries(notice);
        }
        held
    }

    /// Releases the lock after a change, and then wakes the delivery task, if it must, and the publishers that are held
    /// back no longer. Returns the notice for the log.
    pub(super) fn unlock(
        &self,
        mut shared: MutexGuard<'_, GuardedState>,
        wakes_delivery: bool,
        now: impl FnOnce() -> Instant,
    ) -> Option<OverflowNotice> {
        let delivery = shared.take_delivery_if(wakes_delivery);
        let released = shared.take_released();
        let notice = shared.subscription.poll_notice();
        drop(shared);
        if let Some(delivery) = delivery {
            self.ready.wakes().wake(delivery, now());
        }
        if let Some(released) = released {
            released.into_iter().for_each(Waker::wake);
        }
        notice
    }

    /// Wakes the delivery task if the scheduler may send, and there are too many events to wait for it.
    pub(super) fn wake_delivery_if_full_batch(&self) {
        self.wake_delivery_if(GuardedState::has_full_batch);
    }

    /// Wakes the delivery task, if it waits.
    pub(super) fn wake_delivery(&self) {
        self.wake_delivery_if(|_| true);
    }

    fn wake_delivery_if(&self, is_due: impl FnOnce(&GuardedState) -> bool) {
        let mut shared = self.lock();
        let is_due = is_due(&shared);
        let delivery = shared.take_delivery_if(is_due);
        drop(shared);
        if let Some(delivery) = delivery {
            delivery.wake();
        }
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, GuardedState> {
        // The changes under this lock only move events between counters, so a panic leaves no change half done.
        self.shared.lock()
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

#[cfg(test)]
mod tests {
    use floe::forwarding::PendingEvent;

    use super::*;
    use crate::core::InFlightEvents;

    /// A hub has thousands of these, and a delivery looks at most lines of the cache that they take. What few subscribers need
    /// is in boxes.
    #[test]
    fn a_subscriber_and_its_window_take_few_lines_of_the_cache() {
        assert!(size_of::<Subscriber>() <= 12 * 64);
        assert!(size_of::<InFlightEvents<PendingEvent>>() <= 2 * 64);
    }
}
