//! Events that leave without a wait, and their replies, which settle them where they are read: the delivery task is not
//! woken for each.

use std::ops::Range;
use std::sync::{Arc, MutexGuard};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use floe::{ConnectionToken, Event, InvokeError, Outcome, PendingEvent, ReplySink};

use crate::core::{InFlightEvents, Load, Resend};
use crate::service::subscriber::{Shared, Subscriber};

/// The place of events among all that are sent.
pub(super) struct SendPosition {
    /// The number of the first of them.
    first: u64,
    /// The connection over which earlier events left, while these are not answered.
    behind: Option<ConnectionToken>,
}

/// Events that failed, and how much is in flight besides.
pub(super) struct Failed {
    pub(super) events: Vec<Resend>,
    /// Whether there may be more: the connection of the others has ended, and they were not told yet. It is looked up only
    /// where something takes the slow path.
    pub(super) is_astray: bool,
    pub(super) left: Load,
}

impl InFlightEvents<PendingEvent> {
    /// Where the next events stand.
    pub(super) fn position(&self) -> SendPosition {
        SendPosition {
            first: self.next(),
            behind: self.token(),
        }
    }

    /// Whether what is in flight has lost its connection, and was not told yet.
    pub(super) fn is_astray(&self) -> bool {
        self.token().is_some_and(|token| !token.is_open())
    }

    /// The connection over which all that is not answered left: another one is taken only after its end was told.
    fn token(&self) -> Option<ConnectionToken> {
        self.oldest()?.token()
    }
}

impl Subscriber {
    /// How much is in flight of what left without a wait.
    pub(super) fn load(&self) -> Load {
        self.lock().in_flight().load()
    }

    /// Sends events in one write, and leaves none; false, and nothing is sent, if that needs a wait. The caller has the
    /// right to send, so that the position is still the next one.
    pub(super) fn forward_at_once(
        self: &Arc<Self>,
        position: &SendPosition,
        events: &mut Vec<Event>,
        since: Instant,
    ) -> bool {
        // Not locked: the connection may break meanwhile, and report it.
        let (proxy, behind) = (self.proxy(), position.behind.as_ref());
        let Some(sent) = proxy.forward_at_once(events, self, position.first, behind) else {
            return false;
        };
        let mut shared = self.lock();
        if !shared.in_flight().end_sending() {
            drop(shared);
            // The window was abandoned, and the events with it.
            events.clear();
            return true;
        }
        let in_flight = shared.in_flight();
        let early = in_flight.note_sent(events, sent, since);
        // The delivery task starts a timer after what it sends itself; the scheduler must ask it for one.
        let needs_timer =
            in_flight.is_open() && !in_flight.is_timed() && self.send_timeout().is_some();
        if needs_timer {
            in_flight.ask_for_timer();
        }
        if in_flight.poll_sender_awaited() || needs_timer {
            in_flight.await_each();
        } else if early.is_empty() {
            return true;
        }
        for (number, answer) in early {
            shared.handle_answer(number, answer);
        }
        wake_if_awaited(shared);
        true
    }

    /// Takes what failed. From now on the next failure wakes this task, and the scheduler does not send. Where events take
    /// the slow path, and what is in flight has lost its connection, each answer wakes the task. Pending while the scheduler
    /// sends.
    pub(super) fn poll_failed(&self, context: &mut Context<'_>, is_slow: bool) -> Poll<Failed> {
        let mut shared = self.lock();
        shared.note_delivery(context.waker());
        let in_flight = shared.in_flight();
        if !in_flight.close() {
            return Poll::Pending;
        }
        let events = in_flight.take_failed();
        let may_resend = is_slow || !events.is_empty();
        let is_astray = may_resend && in_flight.is_astray();
        in_flight.set_awaited(is_astray);
        Poll::Ready(Failed {
            events,
            is_astray,
            left: in_flight.load(),
        })
    }

    /// Waits no longer for events that were sent this long ago; how many these are.
    pub(super) fn give_up(&self, limit: Duration) -> usize {
        let late = self.lock().in_flight().take_late(limit, Instant::now());
        // Dropped without the lock, for dropping them takes that of the connection.
        late.len()
    }

    /// Gives up what is in flight, and what the scheduler may be sending: the delivery ends.
    pub(super) fn abandon(&self) {
        let mut shared = self.lock();
        let in_flight = shared.in_flight();
        let abandoned = match in_flight.close() {
            true => in_flight.abandon(0),
            // Its numbers are not known yet.
            false => in_flight.abandon(self.outstanding_max().unwrap_or(0) as u64),
        };
        drop(shared);
        drop(abandoned);
    }
}

impl ReplySink for Subscriber {
    fn returned(&self, numbers: Range<u64>) {
        let mut shared = self.lock();
        let delivered = shared
            .in_flight()
            .handle_returned(numbers, PendingEvent::end);
        if delivered > 0 {
            shared.subscription.handle_delivered(delivered);
            wake_if_awaited(shared);
        }
    }

    fn answered(&self, number: u64, answer: Result<Option<Outcome>, InvokeError>) {
        let mut shared = self.lock();
        shared.handle_answer(number, answer.map(drop));
        wake_if_awaited(shared);
    }

    fn failed(&self, failures: Vec<(u64, InvokeError)>) {
        let mut shared = self.lock();
        for (number, error) in failures {
            shared.handle_answer(number, Err(error));
        }
        wake_if_awaited(shared);
    }
}

impl Shared {
    fn handle_answer(&mut self, number: u64, answer: Result<(), InvokeError>) {
        let in_flight = self.in_flight();
        let delivered = in_flight.handle_answer(number, answer, PendingEvent::end);
        if delivered > 0 {
            self.subscription.handle_delivered(delivered);
        }
    }
}

/// Wakes the delivery task if it waits for answers.
#[inline]
fn wake_if_awaited(mut shared: MutexGuard<'_, Shared>) {
    if shared.in_flight().poll_awaited() {
        let delivery = shared.take_delivery();
        drop(shared);
        if let Some(delivery) = delivery {
            delivery.wake();
        }
    }
}
