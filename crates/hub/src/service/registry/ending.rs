//! Deliveries, and how they end: one by one, or all with the hub.

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Poll, Waker};

use tokio::runtime::{Handle, RuntimeFlavor};
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

    /// Delivers where that needs no thought, until all deliveries end at once; only if there is no other thread that
    /// would do a part of it.
    pub(super) fn start_courier(&self) {
        let Ok(runtime) = Handle::try_current() else {
            return;
        };
        if runtime.runtime_flavor() == RuntimeFlavor::CurrentThread {
            let (courier, abort) = (self.courier.clone(), self.abort.clone());
            courier.settle_in(runtime.id());
            courier.set_pace((&self.settings).into());
            runtime.spawn(async move {
                unless_cancelled(&abort, pin!(courier.work())).await;
            });
        }
    }

    /// Delivers to a subscriber until its subscription ends, or all do.
    pub(super) async fn deliver(self: Arc<Self>, topic: Arc<Topic>, subscriber: Arc<Subscriber>) {
        let has_ended = unless_cancelled(&self.abort, delivery::run(&subscriber, &self)).await;
        subscriber.tell_summary();
        // At a shutdown the subscription lives on in the store.
        if has_ended && subscriber.is_gone() {
            self.handle_end(topic, subscriber).await;
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
