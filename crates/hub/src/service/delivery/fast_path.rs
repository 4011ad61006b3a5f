//! The fast path: events that leave without a wait, and their replies.
//!
//! The task that reads a reply settles its event, so that the delivery task is not woken for each reply.

use std::ops::Range;
use std::sync::{Arc, MutexGuard};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use floe::InvokeError;
use floe::forwarding::{ConnectionToken, Events, PendingEvent, ReplySink};
use floe::message::Outcome;

use crate::core::{EventReply, InFlightEvents, Load, Resend};
use crate::service::subscriber::{GuardedState, Subscriber};

/// The position of events in the order of all events that are sent.
pub(super) struct SendPosition {
    /// The number of the first event.
    first: u64,
    /// The connection of the events before these, while those are in flight.
    behind: Option<ConnectionToken>,
}

/// Events that failed, and how much is still in flight.
pub(super) struct Failed {
    pub(super) events: Vec<Resend>,
    /// True if more failures will follow, because the connection of the other events has ended. This is looked up only
    /// while the slow path has events.
    pub(super) has_lost_connection: bool,
    pub(super) left: Load,
}

impl InFlightEvents<PendingEvent> {
    /// The position of the events that are sent next.
    pub(super) fn position(&self) -> SendPosition {
        SendPosition {
            first: self.next(),
            behind: self.connection(),
        }
    }

    /// Returns true if the connection of the events in flight has ended, and they have not failed yet.
    pub(super) fn has_lost_connection(&self) -> bool {
        self.connection().is_some_and(|token| !token.is_open())
    }

    /// The connection of all events in flight. There is only one: events take a new connection only after the events on
    /// the old one have failed.
    fn connection(&self) -> Option<ConnectionToken> {
        self.oldest()?.token()
    }
}

impl Subscriber {
    /// How much is in flight that left by the fast path.
    pub(super) fn fast_load(&self) -> Load {
        self.lock().in_flight().load()
    }

    /// Sends runs of events in one write, and leaves the list empty. One reply answers each run. Returns false, and sends
    /// nothing, if they would have to wait. The caller has the right to send, so `position` is still current.
    pub(super) fn send_now(
        self: &Arc<Self>,
        position: &SendPosition,
        runs: &mut Vec<Events>,
        now: Instant,
    ) -> bool {
        // Send without the lock: if the connection breaks meanwhile, it reports that to this subscriber.
        let (proxy, behind) = (self.proxy(), position.behind.as_ref());
        let Some(sent) = proxy.try_forward_runs(runs, self, position.first, behind) else {
            return false;
        };
        let mut shared = self.lock();
        let in_flight = shared.in_flight();
        if !in_flight.end_sending() {
            drop(shared);
            // The window was abandoned, and these events with it.
            runs.clear();
            return true;
        }
        in_flight.note_sent(runs.drain(..), sent, now);
        // The delivery task starts the reply timer when it is polled next. If the scheduler sends, it must wake the task.
        let needs_timer =
            in_flight.is_open() && !in_flight.is_timed() && self.send_timeout().is_some();
        if needs_timer {
            in_flight.ask_for_timer();
        }
        if in_flight.poll_sender_awaited() || needs_timer {
            in_flight.await_each();
        } else if !in_flight.has_early() {
            return true;
        }
        for (numbers, reply) in in_flight.take_early() {
            shared.handle_reply(numbers, reply, now);
        }
        wake_if_awaited(shared);
        true
    }

    /// Takes the events that failed, and stops the scheduler from sending. The next failure wakes the delivery task. If the
    /// slow path has events, or some have failed, and the connection is lost, each reply wakes it. Pending while the
    /// scheduler sends.
    pub(super) fn poll_failed(
        &self,
        context: &mut Context<'_>,
        has_slow_events: bool,
    ) -> Poll<Failed> {
        let mut shared = self.lock();
        shared.note_delivery(context.waker());
        let in_flight = shared.in_flight();
        if !in_flight.close() {
            return Poll::Pending;
        }
        let events = in_flight.take_failed();
        let may_resend = has_slow_events || !events.is_empty();
        let has_lost_connection = may_resend && in_flight.has_lost_connection();
        in_flight.set_awaited(has_lost_connection);
        Poll::Ready(Failed {
            events,
            has_lost_connection,
            left: in_flight.load(),
        })
    }

    /// Gives up the events that were sent at least `limit` ago. Returns their number.
    pub(super) fn give_up_late(&self, limit: Duration) -> usize {
        let (handles, count) = self.lock().in_flight().take_late(limit, Instant::now());
        // Dropped after the lock is released, because that takes the lock of the connection.
        drop(handles);
        count
    }

    /// Gives up all events in flight when the delivery ends, and those that the scheduler is sending.
    pub(super) fn abandon(&self) {
        let mut shared = self.lock();
        shared.sent_batches.clear();
        let in_flight = shared.in_flight();
        let abandoned = match in_flight.close() {
            true => in_flight.abandon(0),
            // The scheduler has not noted the numbers of its events yet.
            false => in_flight.abandon(self.window().max() as u64),
        };
        drop(shared);
        drop(abandoned);
    }
}

impl ReplySink for Subscriber {
    fn returned(&self, numbers: Range<u64>) {
        let now = Instant::now();
        let mut shared = self.lock();
        let (latencies, end) = (self.latencies(), numbers.end);
        let in_flight = shared.in_flight();
        let delivered = in_flight.handle_returned(numbers, now, |events, reply, sent| {
            latencies.note_answers(events.len(), sent, now);
            reply.end();
        });
        if delivered > 0 {
            let is_awaited = in_flight.poll_awaited();
            latencies.note_delivered(&mut shared.sent_batches, end, now);
            shared.subscription.handle_delivered(delivered);
            wake_if(is_awaited, shared);
        }
    }

    fn answered(&self, numbers: Range<u64>, answer: Result<Option<Outcome>, InvokeError>) {
        let mut shared = self.lock();
        let reply = EventReply::of(answer.map(drop));
        shared.handle_reply(numbers, reply, Instant::now());
        wake_if_awaited(shared);
    }

    fn failed(&self, failures: Vec<(Range<u64>, InvokeError)>) {
        let now = Instant::now();
        let mut shared = self.lock();
        for (numbers, error) in failures {
            shared.handle_reply(numbers, EventReply::Lost(error), now);
        }
        wake_if_awaited(shared);
    }
}

impl GuardedState {
    fn handle_reply(&mut self, numbers: Range<u64>, reply: EventReply<InvokeError>, now: Instant) {
        let in_flight = self.in_flight();
        let delivered = in_flight.handle_reply(numbers, reply, now, |_, reply| reply.end());
        if delivered > 0 {
            self.subscription.handle_delivered(delivered);
        }
    }
}

/// Wakes the delivery task if it waits for a reply.
fn wake_if_awaited(mut shared: MutexGuard<'_, GuardedState>) {
    let is_awaited = shared.in_flight().poll_awaited();
    wake_if(is_awaited, shared);
}

/// Wakes the delivery task if `is_awaited` says that it waits for a reply.
#[inline]
fn wake_if(is_awaited: bool, mut shared: MutexGuard<'_, GuardedState>) {
    let delivery = shared.take_delivery_if(is_awaited);
    drop(shared);
    if let Some(delivery) = delivery {
        delivery.wake();
    }
}
