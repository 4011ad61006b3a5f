//! The state under the lock of a subscriber: the subscription, the events in flight, and the wakers of those that wait.

use std::sync::Arc;
use std::task::Waker;
use std::time::Instant;

use floe::forwarding::{Events, PendingEvent};
use floe_metrics::Values;

use super::Subscriber;
use super::held_publishers::HeldPublisher;
use crate::core::{InFlightEvents, Subscription, WindowLimits};
use crate::service::last_counts::{CountedObject, LastCounts};
use crate::service::latency::{Latencies, SentBatches};

/// The state under the lock of a subscriber.
pub(crate) struct GuardedState {
    pub(crate) subscription: Subscription<Events>,
    /// How many events may be in flight at first, and at most.
    window: WindowLimits,
    /// The events in flight that left by the fast path. It is created when the first event may leave.
    pub(super) in_flight: Option<Box<InFlightEvents<PendingEvent>>>,
    /// Wakes the delivery task when the subscription says so, or when a reply comes that the task waits for.
    delivery: Option<Waker>,
    /// The publishers that are held back.
    pub(super) publishers: Vec<HeldPublisher>,
    /// Where the metrics views find the counters when the subscriber is gone.
    last_counts: LastCounts,
    /// The batches of events that left by the fast path, for the latencies.
    pub(crate) sent_batches: SentBatches,
}

impl GuardedState {
    pub(super) fn new(subscription: Subscription<Events>, window: WindowLimits) -> Self {
        Self {
            subscription,
            window,
            in_flight: None,
            delivery: None,
            publishers: Vec::new(),
            last_counts: LastCounts::default(),
            sent_batches: SentBatches::default(),
        }
    }

    /// The events in flight that left by the fast path.
    #[inline]
    pub(crate) fn in_flight(&mut self) -> &mut InFlightEvents<PendingEvent> {
        let window = self.window;
        self.in_flight.get_or_insert_with(|| empty(window))
    }

    /// Notes for the latencies that the next events leave by the fast path. The oldest of them came at this time.
    pub(crate) fn note_batch(&mut self, latencies: &Latencies, oldest: Option<Instant>) {
        let first = self.in_flight().next();
        latencies.note_batch(&mut self.sent_batches, first, oldest);
    }

    /// Returns true if the scheduler may send.
    pub(super) fn is_open(&self) -> bool {
        let in_flight = self.in_flight.as_ref();
        in_flight.is_some_and(|in_flight| in_flight.is_open())
    }

    /// Returns true if the scheduler may send, and the queue holds at least as many events as leave at a time, or is half full.
    pub(super) fn has_full_batch(&self) -> bool {
        let in_flight = self.in_flight.as_ref();
        in_flight.is_some_and(|in_flight| {
            in_flight.is_open() && self.subscription.has_full_batch(in_flight.window_size())
        })
    }

    /// Notes how to wake the delivery task, which begins to wait.
    pub(crate) fn note_delivery(&mut self, waker: &Waker) {
        let known = self.delivery.as_ref();
        if !known.is_some_and(|known| known.will_wake(waker)) {
            self.delivery = Some(waker.clone());
        }
    }

    /// Takes the waker of the delivery task if the task is to be woken. The caller wakes it after the lock is released.
    /// The task notes its waker again when it waits again.
    #[must_use = "it is to be woken"]
    pub(crate) fn take_delivery_if(&mut self, is_due: bool) -> Option<Waker> {
        self.delivery.take_if(|_| is_due)
    }
}

#[cold]
fn empty(window: WindowLimits) -> Box<InFlightEvents<PendingEvent>> {
    Box::new(InFlightEvents::new(window.into()))
}

impl Drop for GuardedState {
    fn drop(&mut self) {
        self.last_counts.leave(|| counts(&self.subscription));
    }
}

/// The counters of a subscription, as metrics views have them.
fn counts(subscription: &Subscription<Events>) -> Values {
    [subscription.snapshot().accounts.delivered, 0, 0, 0]
}

impl Subscriber {
    /// Its counters as metrics views have them.
    pub(crate) fn counts(&self) -> Values {
        counts(&self.lock().subscription)
    }

    /// The subscriber, for a metrics view.
    pub(crate) fn counted(self: &Arc<Self>) -> CountedObject<Self> {
        CountedObject::new(self.clone(), &self.lock().last_counts)
    }
}
