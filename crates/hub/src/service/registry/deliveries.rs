//! The tasks that deliver events: how they start, end, and start again after a panic.

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Poll, Waker};
use std::thread;
use std::time::Duration;

use floe::TypedProxy;
use tokio::runtime::Handle;
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::Registry;
use crate::service::delivery;
use crate::service::subscriber::{ReadyQueue, Subscriber};
use crate::service::topic::Topic;
use crate::service::user_accounts::Counted;
use crate::settings::HubSettings;

/// The delivery tasks of a hub.
pub(super) struct Deliveries {
    /// The tasks of subscribers, and of links that leave the hub.
    tasks: TaskTracker,
    /// The tasks of links within the hub. They end before the other tasks, which deliver what these links bring.
    links_within: TaskTracker,
    /// Subscribers that have events for the delivery scheduler.
    ready: Arc<ReadyQueue>,
    /// Ends all tasks immediately.
    abort: CancellationToken,
}

/// How long to wait before a task that panicked starts again. It may panic again for the same reason, and each time
/// adds a line to the log.
const PANIC_PAUSE: Duration = Duration::from_secs(1);

impl Deliveries {
    /// Starts the delivery scheduler and the pacer. There are no other tasks yet.
    pub(super) fn start(settings: &HubSettings) -> Self {
        let deliveries = Self {
            tasks: TaskTracker::new(),
            links_within: TaskTracker::new(),
            ready: Arc::default(),
            abort: CancellationToken::new(),
        };
        deliveries.set_pace(settings);
        if let Ok(runtime) = Handle::try_current() {
            let (ready, abort) = (deliveries.ready.clone(), deliveries.abort.clone());
            runtime.spawn(run_scheduler(ready, abort));
            let (ready, abort) = (deliveries.ready.clone(), deliveries.abort.clone());
            runtime.spawn(async move {
                unless_cancelled(&abort, pin!(ready.wakes().pace())).await;
            });
        }
        deliveries
    }

    /// Sets the pace of the delivery scheduler.
    pub(super) fn set_pace(&self, settings: &HubSettings) {
        self.ready.set_pace(settings.into());
    }

    /// The queue of the delivery scheduler.
    pub(super) fn ready(&self) -> &Arc<ReadyQueue> {
        &self.ready
    }

    /// Ends all deliveries immediately.
    pub(super) fn abort(&self) {
        self.abort.cancel();
    }

    /// Returns true if [`Deliveries::abort`] was called.
    pub(super) fn are_aborted(&self) -> bool {
        self.abort.is_cancelled()
    }

    /// Starts a task that a shutdown waits for.
    pub(super) fn spawn<T: Send + 'static>(
        &self,
        task: impl Future<Output = T> + Send + 'static,
    ) -> JoinHandle<T> {
        self.tasks.spawn(task)
    }

    /// Delivers the queued events of these recipients, and ends all tasks. Aborts them after `limit`.
    async fn drain(&self, recipients: &[Arc<Subscriber>], limit: Duration) {
        let drained = timeout(limit, async {
            let within = recipients.iter().filter(|s| s.is_link_within());
            within.for_each(|link| link.drain());
            end(&self.links_within).await;
            recipients.iter().for_each(|subscriber| subscriber.drain());
            end(&self.tasks).await;
        });
        if drained.await.is_err() {
            self.abort();
            end(&self.links_within).await;
            end(&self.tasks).await;
        }
    }

    /// The tasks among which the delivery to this subscriber counts.
    fn tasks_of(&self, subscriber: &Subscriber) -> &TaskTracker {
        match subscriber.is_link_within() {
            true => &self.links_within,
            false => &self.tasks,
        }
    }
}

impl Registry {
    /// Delivers the queued events, accepts no more, and ends all deliveries.
    pub(crate) async fn drain(&self) {
        let given = async {
            for topic in self.directory.topics() {
                topic.fan_outs().ended().await;
            }
        };
        // Beyond the limit, all waiting events are lost.
        let limit = self.live_settings().drain_timeout;
        let _ = timeout(limit, given).await;
        let recipients = self.directory.recipients();
        let lost_before: Vec<_> = recipients.iter().map(|s| s.snapshot().lost()).collect();
        self.deliveries.drain(&recipients, limit).await;
        for (subscriber, lost_before) in recipients.iter().zip(lost_before) {
            report_lost(subscriber, lost_before);
        }
    }

    /// Adds a subscriber or link to its topic, and starts its delivery.
    pub(super) fn add_recipient(self: &Arc<Self>, topic: &Arc<Topic>, recipient: Arc<Subscriber>) {
        let count = self.counts.of(&recipient);
        count.fetch_add(1, Ordering::Relaxed);
        self.users().add(Counted::Subscriptions, recipient.user());
        topic.add(recipient.clone());
        let tasks = self.deliveries.tasks_of(&recipient);
        tasks.spawn(self.clone().deliver(topic.clone(), recipient));
    }

    /// Delivers to a subscriber until its subscription ends, or all deliveries are aborted.
    async fn deliver(self: Arc<Self>, topic: Arc<Topic>, subscriber: Arc<Subscriber>) {
        let mut guard = RestartOnPanic {
            registry: self,
            topic,
            subscriber,
            is_armed: true,
        };
        let RestartOnPanic {
            registry,
            topic,
            subscriber,
            ..
        } = &guard;
        let mut delivery = delivery::run(subscriber, &registry.settings, &registry.directory);
        if subscriber.proxy().is_fixed() {
            delivery = Box::pin(registry.deliver_while_connected(topic, subscriber, delivery));
        }
        let has_ended = unless_cancelled(&registry.deliveries.abort, delivery).await;
        subscriber.log_summary();
        // At a shutdown the subscription stays in the store.
        let gone = (has_ended && subscriber.is_gone())
            .then(|| (registry.clone(), topic.clone(), subscriber.clone()));
        guard.is_armed = false;
        drop(guard);
        if let Some((registry, topic, subscriber)) = gone {
            let change = |registry: &Arc<Self>| registry.remove_gone(topic, subscriber);
            // Boxed, because it takes 2 kB, which the task of a living subscription should not hold.
            Box::pin(registry.change(change)).await;
        }
    }

    /// Delivers over the connection of a subscriber. The subscription ends when the connection closes.
    async fn deliver_while_connected(
        self: &Arc<Self>,
        topic: &Arc<Topic>,
        subscriber: &Arc<Subscriber>,
        mut delivery: Pin<Box<dyn Future<Output = ()> + Send + '_>>,
    ) {
        let connection = subscriber.proxy().ice_cached_connection();
        let closed = async {
            if let Some(connection) = connection {
                connection.closed().await;
            }
        };
        tokio::select! {
            () = &mut delivery => return,
            () = closed => {}
        }
        let (topic, subscriber) = (topic.clone(), subscriber.clone());
        self.change(move |registry| {
            let mut changes = registry.begin_change();
            // The store does not know the subscription, so removing it cannot fail.
            let _ = registry.remove(&mut changes, &topic, &[subscriber]);
        })
        .await;
        delivery.await;
    }

    /// Starts the delivery again after a panic.
    async fn deliver_again(self: Arc<Self>, topic: Arc<Topic>, subscriber: Arc<Subscriber>) {
        subscriber.settle_panicked();
        unless_cancelled(&self.deliveries.abort, pin!(sleep(PANIC_PAUSE))).await;
        self.deliver(topic, subscriber).await;
    }
}

/// Starts the delivery to a subscriber again if it is dropped by a panic. Without it, the queue of the subscriber would
/// stay full, and nothing would be logged.
struct RestartOnPanic {
    registry: Arc<Registry>,
    topic: Arc<Topic>,
    subscriber: Arc<Subscriber>,
    is_armed: bool,
}

impl Drop for RestartOnPanic {
    fn drop(&mut self) {
        // A runtime that shuts down drops its tasks too, perhaps because of another panic. It takes no new tasks then.
        if self.is_armed
            && thread::panicking()
            && let Ok(runtime) = Handle::try_current()
        {
            let registry = self.registry.clone();
            let again = registry.deliver_again(self.topic.clone(), self.subscriber.clone());
            let tasks = self.registry.deliveries.tasks_of(&self.subscriber);
            // In a task of its own, because a second panic in this function would end the process.
            runtime.spawn(tasks.track_future(again));
        }
    }
}

/// Runs the delivery scheduler until deliveries are aborted. If it panics, another one starts after a pause.
async fn run_scheduler(ready: Arc<ReadyQueue>, abort: CancellationToken) {
    loop {
        let (ready, abort_inner) = (ready.clone(), abort.clone());
        let scheduler = tokio::spawn(async move {
            unless_cancelled(&abort_inner, pin!(delivery::serve(&ready))).await;
        });
        let has_panicked = scheduler.await.is_err_and(|error| error.is_panic());
        if !has_panicked || !unless_cancelled(&abort, pin!(sleep(PANIC_PAUSE))).await {
            return;
        }
    }
}

/// Runs a future to its end. Returns false if it was cancelled before that.
async fn unless_cancelled(
    token: &CancellationToken,
    mut future: impl Future<Output = ()> + Unpin,
) -> bool {
    let mut cancelled = pin!(token.cancelled());
    let mut registered: Option<Waker> = None;
    poll_fn(|context| {
        // Registers a waker only when it changes. `select!` registers it with each poll, which costs a hundred
        // instructions for each delivery.
        let is_registered = registered
            .as_ref()
            .is_some_and(|waker| waker.will_wake(context.waker()));
        if !is_registered || token.is_cancelled() {
            registered = Some(context.waker().clone());
            if cancelled.as_mut().poll(context).is_ready() {
                return Poll::Ready(false);
            }
        }
        Pin::new(&mut future).poll(context).map(|()| true)
    })
    .await
}

/// Waits until all tasks have ended. No task may start after this.
async fn end(tasks: &TaskTracker) {
    tasks.close();
    tasks.wait().await;
}

/// Logs how many events a shutdown has lost: events that could not be delivered, and events that came too late.
fn report_lost(subscriber: &Subscriber, lost_before: u64) {
    if subscriber.reader().is_some() {
        // Its events wait in the log.
        return;
    }
    let end = subscriber.snapshot();
    let count = end.queued + end.outstanding + end.lost() - lost_before;
    if count > 0 {
        let name = subscriber.log_name();
        tracing::warn!("lost at shutdown: {count} events for {name}");
    }
}
