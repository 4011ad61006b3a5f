//! One subscriber: the pure subscription, its proxy, and the bell of its delivery.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use floe::{Event, Identity, InvokeError, LocalError, Proxy, SystemException, TypedProxy};
use tokio::sync::Notify;

use super::one_line::OneLine;
use crate::core::{Failure, OverflowNotice, Qos, Snapshot, State, Subscription, Turn};
use crate::settings::HubSettings;

/// A subscriber of a topic, shared by publishers and its delivery task.
pub(crate) struct Subscriber {
    /// The name of its topic.
    topic: Arc<str>,
    proxy: Proxy,
    qos_text: BTreeMap<String, String>,
    qos: Qos,
    /// Guards queue, state and accounts. Held for a few moves, never across a wait.
    subscription: Mutex<Subscription<Event>>,
    /// Rung when the subscription says so; only its delivery task listens.
    bell: Notify,
}

impl Subscriber {
    pub(crate) fn new(
        topic: &Arc<str>,
        proxy: &Proxy,
        qos_text: BTreeMap<String, String>,
        qos: Qos,
        settings: &HubSettings,
    ) -> Self {
        let subscription =
            Subscription::new(&qos, settings.queue_limits, settings.discard_interval);
        Self {
            topic: topic.clone(),
            proxy: proxy.ice_timeout(settings.send_timeout),
            qos_text,
            qos,
            subscription: Mutex::new(subscription),
            bell: Notify::new(),
        }
    }

    /// Its identity, by which it is known.
    pub(crate) fn identity(&self) -> &Identity {
        &self.proxy.reference().identity
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

    /// Queues an event.
    pub(crate) fn publish(&self, event: &Event, now: Instant) {
        let (must_wake, notice) = {
            let mut subscription = self.lock();
            let must_wake = subscription.handle_event(event, now);
            (must_wake, subscription.poll_notice())
        };
        self.ring_if(must_wake);
        self.tell(notice);
    }

    /// Ends the subscription: what is queued is lost.
    pub(crate) fn remove(&self) {
        let must_wake = self.lock().remove();
        self.ring_if(must_wake);
    }

    /// Takes no more events; what is queued is still delivered.
    pub(crate) fn drain(&self) {
        let must_wake = self.lock().drain();
        self.ring_if(must_wake);
    }

    pub(crate) fn is_gone(&self) -> bool {
        self.lock().state() == State::Gone
    }

    pub(crate) fn snapshot(&self) -> Snapshot {
        self.lock().snapshot()
    }

    /// Waits until at least this many bytes are queued; false if the delivery ends instead. May be
    /// cancelled.
    pub(super) async fn wait_for_bytes(&self, bytes_min: usize) -> bool {
        loop {
            let turn = self.lock().turn(bytes_min);
            match turn {
                Turn::Deliver => return true,
                Turn::End => return false,
                Turn::Park => self.woken().await,
            }
        }
    }

    /// What the delivery does next; takes events if it delivers.
    pub(super) fn next_turn(
        &self,
        events_max: usize,
        bytes_max: usize,
        taken: &mut Vec<Event>,
    ) -> Turn {
        let (turn, notice) = {
            let mut subscription = self.lock();
            let turn = subscription.turn(1);
            if turn == Turn::Deliver {
                subscription.take(events_max, bytes_max, taken);
            }
            (turn, subscription.poll_notice())
        };
        self.tell(notice);
        turn
    }

    /// Takes what is queued, within limits.
    pub(super) fn take(&self, events_max: usize, bytes_max: usize, taken: &mut Vec<Event>) {
        let notice = {
            let mut subscription = self.lock();
            subscription.take(events_max, bytes_max, taken);
            subscription.poll_notice()
        };
        self.tell(notice);
    }

    /// Waits for the bell. May be cancelled.
    pub(super) async fn woken(&self) {
        self.bell.notified().await;
    }

    /// Says what became of events that the delivery took.
    pub(super) fn settle<T>(&self, count: usize, result: Result<T, InvokeError>) {
        let count = count as u64;
        let Err(error) = result else {
            return self.lock().handle_delivered(count);
        };
        let (before, after, notice) = {
            let mut subscription = self.lock();
            let before = subscription.state();
            subscription.handle_failed(count, failure(&error), Instant::now());
            (before, subscription.state(), subscription.poll_notice())
        };
        self.tell(notice);
        let (name, error) = (self.log_name(), OneLine(error));
        match after {
            State::Offline if before != after => {
                tracing::warn!("no events for {name} for a while: {error}");
            }
            State::Failed if before != after => {
                tracing::warn!("the next event ends the subscription of {name}: {error}");
            }
            _ => tracing::debug!("could not deliver to {name}: {error}"),
        }
    }

    /// Subscriber and topic, for the log.
    pub(super) fn log_name(&self) -> impl Display {
        let (identity, topic) = (OneLine(self.identity()), &self.topic);
        format!("\"{identity}\" of topic {topic:?}")
    }

    fn tell(&self, notice: Option<OverflowNotice>) {
        let Some(notice) = notice else {
            return;
        };
        let name = self.log_name();
        match notice {
            OverflowNotice::Began => tracing::warn!(
                "{name} loses its oldest events: its queue is full, for it takes them too slowly"
            ),
            OverflowNotice::Ended { lost } => tracing::warn!(
                "{name} loses no more events: its queue was full, and {lost} were lost"
            ),
            OverflowNotice::Failed => {
                tracing::warn!("the next event ends the subscription of {name}: its queue is full")
            }
        }
    }

    fn ring_if(&self, must_wake: bool) {
        if must_wake {
            self.bell.notify_one();
        }
    }

    fn lock(&self) -> MutexGuard<'_, Subscription<Event>> {
        // Its methods move events between counters: none is left half way by a panic.
        self.subscription
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

/// What a failed delivery says of the subscriber.
fn failure(error: &InvokeError) -> Failure {
    match error {
        InvokeError::NotDispatched(LocalError::Shutdown)
        | InvokeError::PerhapsDispatched(LocalError::Shutdown) => Failure::Ours,
        InvokeError::System(SystemException::ObjectNotExist(_))
        | InvokeError::NotDispatched(LocalError::NoEndpoint { .. }) => Failure::Hard,
        _ => Failure::Soft,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_will_not_work_later_either_is_told_from_what_may_and_from_what_we_did() {
        let not_dispatched = InvokeError::NotDispatched;
        let shutdown = LocalError::Shutdown;
        assert_eq!(failure(&not_dispatched(shutdown.clone())), Failure::Ours);
        let perhaps = InvokeError::PerhapsDispatched(shutdown);
        assert_eq!(failure(&perhaps), Failure::Ours);
        let no_object = SystemException::ObjectNotExist(Default::default());
        assert_eq!(failure(&no_object.into()), Failure::Hard);
        let no_endpoint = LocalError::NoEndpoint {
            proxy: "s".to_owned(),
            wanted: "a tcp endpoint",
        };
        assert_eq!(failure(&not_dispatched(no_endpoint)), Failure::Hard);
        let no_facet = SystemException::FacetNotExist(Default::default());
        assert_eq!(failure(&no_facet.into()), Failure::Soft);
        let peer = "h:1".to_owned();
        let closed = LocalError::ClosedByPeer { peer };
        assert_eq!(failure(&not_dispatched(closed)), Failure::Soft);
    }
}
