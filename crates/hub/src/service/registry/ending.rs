//! Deliveries, and how they end: one by one, or all with the hub.

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Poll, Waker};
use std::thread;
use std::time::Duration;

use floe::TypedProxy;
use tokio::runtime::Handle;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::{Changes, Registry};
use crate::service::delivery;
use crate::service::subscriber::Subscriber;
use crate::service::topic::Topic;
use crate::store::Closed;

impl Registry {
    /// Delivers what is queued, takes nothing more, and ends all deliveries.
    pub(crate) async fn drain(&self) {
        let mut recipients: Vec<_> = self.topics().iter().flat_map(|t| t.recipients()).collect();
        recipients.extend(self.past_topics.recipients());
        let lost_before: Vec<_> = recipients.iter().map(|s| s.snapshot().lost()).collect();
        let limit = self.live_settings().drain_timeout;
        let drained = tokio::time::timeout(limit, async {
            let within = recipients.iter().filter(|s| s.is_link_within());
            within.for_each(|link| link.drain());
            end(&self.links_within).await;
            recipients.iter().for_each(|subscriber| subscriber.drain());
            end(&self.deliveries).await;
        });
        if drained.await.is_err() {
            self.abort.cancel();
            end(&self.links_within).await;
            end(&self.deliveries).await;
        }
        for (subscriber, lost_before) in recipients.iter().zip(lost_before) {
            report_lost(subscriber, lost_before);
        }
    }

    /// Ends all deliveries at once, and closes the store.
    pub(crate) fn end(&self) {
        self.abort.cancel();
        *self.lock_changes() = Changes {
            store: Box::new(Closed),
            unremoved: Vec::new(),
        };
    }

    /// Runs the delivery scheduler until all deliveries end at once; another one follows one that panicked.
    pub(super) fn start_scheduler(&self) {
        let Ok(runtime) = Handle::try_current() else {
            return;
        };
        let (ready, abort) = (self.ready.clone(), self.abort.clone());
        ready.set_pace((&self.settings).into());
        runtime.spawn(async move {
            loop {
                let (ready, ends) = (ready.clone(), abort.clone());
                let serving = tokio::spawn(async move {
                    unless_cancelled(&ends, pin!(delivery::serve(&ready))).await;
                });
                let has_panicked = serving.await.is_err_and(|error| error.is_panic());
                if !has_panicked || !unless_cancelled(&abort, pin!(sleep(PANIC_PAUSE))).await {
                    return;
                }
            }
        });
    }

    /// Delivers to a subscriber until its subscription ends, or all do.
    pub(super) async fn deliver(self: Arc<Self>, topic: Arc<Topic>, subscriber: Arc<Subscriber>) {
        let mut delivery = Delivery {
            registry: self,
            topic,
            subscriber,
            is_under_way: true,
        };
        let Delivery {
            registry,
            topic,
            subscriber,
            ..
        } = &delivery;
        let mut delivering = delivery::run(subscriber, registry);
        if subscriber.proxy().is_fixed() {
            delivering = Box::pin(registry.deliver_while_connected(topic, subscriber, delivering));
        }
        let has_ended = unless_cancelled(&registry.abort, delivering).await;
        subscriber.tell_summary();
        // At a shutdown the subscription lives on in the store.
        let ended = (has_ended && subscriber.is_gone()).then(|| {
            registry
                .clone()
                .handle_end(topic.clone(), subscriber.clone())
        });
        delivery.is_under_way = false;
        drop(delivery);
        if let Some(ended) = ended {
            ended.await;
        }
    }

    /// Delivers over the connection of a subscriber; when it closes, so ends the subscription.
    async fn deliver_while_connected(
        self: &Arc<Self>,
        topic: &Arc<Topic>,
        subscriber: &Arc<Subscriber>,
        mut delivering: Pin<Box<dyn Future<Output = ()> + Send + '_>>,
    ) {
        let connection = subscriber.proxy().ice_cached_connection();
        let closed = async {
            if let Some(connection) = connection {
                connection.closed().await;
            }
        };
        tokio::select! {
            () = &mut delivering => return,
            () = closed => {}
        }
        let (topic, subscriber) = (topic.clone(), subscriber.clone());
        self.change(move |registry| {
            let mut changes = registry.begin_change();
            // Nothing of it is stored, so that it cannot fail.
            let _ = registry.remove(&mut changes, &topic, &[subscriber]);
        })
        .await;
        delivering.await;
    }

    /// Goes on after a delivery has panicked.
    async fn deliver_again(self: Arc<Self>, topic: Arc<Topic>, subscriber: Arc<Subscriber>) {
        subscriber.settle_panicked();
        unless_cancelled(&self.abort, pin!(sleep(PANIC_PAUSE))).await;
        self.deliver(topic, subscriber).await;
    }

    /// Those of its kind.
    pub(super) fn deliveries_like(&self, subscriber: &Subscriber) -> &TaskTracker {
        match subscriber.is_link_within() {
            true => &self.links_within,
            false => &self.deliveries,
        }
    }

    /// The delivery of a subscriber has ended, because it failed for good or was removed.
    async fn handle_end(self: Arc<Self>, topic: Arc<Topic>, subscriber: Arc<Subscriber>) {
        self.change(move |registry| {
            let mut changes = registry.begin_change();
            changes.unremoved.push((topic, subscriber));
            registry.remove_dead(&mut changes);
        })
        .await;
    }
}

/// The delivery to a subscriber, which has another one if it panics: without, its queue would fill for ever, and nobody
/// would know. That is noticed where it is dropped, which costs nothing while it runs.
struct Delivery {
    registry: Arc<Registry>,
    topic: Arc<Topic>,
    subscriber: Arc<Subscriber>,
    is_under_way: bool,
}

/// How long it takes until there is another one: whatever made it panic may do so again, and each time there is a line in
/// the log.
const PANIC_PAUSE: Duration = Duration::from_secs(1);

impl Drop for Delivery {
    fn drop(&mut self) {
        // A runtime that ends drops it, too, which may be because of another panic; then it takes no more tasks.
        if self.is_under_way
            && thread::panicking()
            && let Ok(runtime) = Handle::try_current()
        {
            let registry = self.registry.clone();
            let again = registry.deliver_again(self.topic.clone(), self.subscriber.clone());
            let deliveries = self.registry.deliveries_like(&self.subscriber);
            // By its own task: another panic in here would end the process.
            runtime.spawn(deliveries.track_future(again));
        }
    }
}

/// Runs a future to its end; false if it was cancelled before.
async fn unless_cancelled(
    token: &CancellationToken,
    mut future: impl Future<Output = ()> + Unpin,
) -> bool {
    let mut cancelled = pin!(token.cancelled());
    let mut known: Option<Waker> = None;
    poll_fn(|context| {
        // Whom to wake is said once: to say it with each poll, as `select!` does, takes a hundred instructions of
        // each delivery.
        let is_known = known
            .as_ref()
            .is_some_and(|known| known.will_wake(context.waker()));
        if !is_known || token.is_cancelled() {
            known = Some(context.waker().clone());
            if cancelled.as_mut().poll(context).is_ready() {
                return Poll::Ready(false);
            }
        }
        Pin::new(&mut future).poll(context).map(|()| true)
    })
    .await
}

/// Waits for tasks, of which there are no more to come.
async fn end(tasks: &TaskTracker) {
    tasks.close();
    tasks.wait().await;
}

/// Says how many events a shutdown has lost: those that could not be delivered, and those that
/// came too late.
fn report_lost(subscriber: &Subscriber, lost_before: u64) {
    let end = subscriber.snapshot();
    let count = end.queued + end.outstanding + end.lost() - lost_before;
    if count > 0 {
        let name = subscriber.log_name();
        tracing::warn!("lost at shutdown: {count} events for {name}");
    }
}
