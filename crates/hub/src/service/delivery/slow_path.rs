//! The slow path: events that wait for a connection or for room in it, or are sent again.
//!
//! The delivery task polls them. Events that need no wait take the fast path (`fast_path.rs`).

use std::borrow::Cow;
use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};

use floe::forwarding::{Event, Events};
use floe::message::Outcome;
use floe::{InvokeError, Proxy, TypedProxy};

use super::fast_path::{Failed, SendPosition};
use crate::core::{Load, Resend, may_resend};
use crate::service::subscriber::Subscriber;

/// The events of one subscriber that take the slow path.
pub(super) struct SlowPath<'a> {
    /// It also holds what left by the fast path.
    subscriber: &'a Arc<Subscriber>,
    /// In the order of their numbers. They are polled in this order, so that they leave in it.
    pending: VecDeque<SlowDelivery<'a>>,
    /// True if events are sent again, or there was no connection. Each event then waits for the reply to the one before
    /// it, because they could take different connections.
    is_resending: bool,
    /// True if the subscriber is an object in the communicator of the hub.
    is_collocated: bool,
    /// The proxy of the subscriber, fixed to the connection that all events take; set while it is needed.
    fixed_proxy: Option<Proxy>,
}

/// An event that may have to connect, to wait for room, or to be sent again. It has a time limit of its own.
struct SlowDelivery<'a> {
    /// Its number in the order of all events that are sent.
    number: u64,
    event: Event,
    /// True if it takes the connection of the events before it, and fails if that connection is lost.
    is_bound: bool,
    /// True if it has not been sent before.
    is_first: bool,
    /// True if it has been polled, so that it may have arrived.
    has_begun: bool,
    /// True if it is in the send queue of its connection.
    has_left: Arc<AtomicBool>,
    reply: Pin<Box<dyn Future<Output = SlowReply> + Send + 'a>>,
}

type SlowReply = Result<Option<Outcome>, InvokeError>;

impl<'a> SlowPath<'a> {
    pub(super) fn new(subscriber: &'a Arc<Subscriber>) -> Self {
        Self {
            subscriber,
            pending: VecDeque::new(),
            is_resending: false,
            is_collocated: false,
            fixed_proxy: None,
        }
    }

    /// The number and bytes of the events in flight, including those on the fast path.
    pub(super) fn load(&self) -> Load {
        self.load_with(self.subscriber.fast_load())
    }

    fn load_with(&self, fast: Load) -> Load {
        let bytes: usize = self.pending.iter().map(|slow| slow.event.len()).sum();
        Load {
            count: fast.count + self.pending.len(),
            bytes: fast.bytes + bytes,
        }
    }

    /// The position of events that take the fast path now. Returns `None` if they would overtake others.
    pub(super) fn fast_position(&self) -> Option<SendPosition> {
        let mut shared = self.subscriber.lock();
        let in_flight = shared.in_flight();
        let may_send = !self.is_resending && !self.awaits_room() && in_flight.is_in_order();
        may_send.then(|| in_flight.position())
    }

    /// Returns true if no event takes the slow path.
    pub(super) fn is_empty(&self) -> bool {
        self.pending.is_empty()
    }

    /// Returns true if events are sent again, which other events could overtake.
    pub(super) fn is_resending(&self) -> bool {
        self.is_resending
    }

    /// Sets whether the subscriber is collocated, so that events need no connection.
    pub(super) fn set_collocated(&mut self, is_collocated: bool) {
        self.is_collocated = is_collocated;
    }

    /// Adds runs of events, and leaves the list empty. Each event is sent when it is polled, and has a reply of its own.
    pub(super) fn send(&mut self, runs: &mut Vec<Events>) {
        let subscriber = self.subscriber;
        let mut shared = subscriber.lock();
        let in_flight = shared.in_flight();
        let failed = in_flight.take_failed();
        let first = in_flight.take_numbers(runs.iter().map(Events::len).sum());
        drop(shared);
        self.handle_failed(failed);
        let proxy = match self.is_resending {
            true => None,
            false => self.fixed_proxy(),
        };
        // Without a connection, each event waits for the one before it: if several events connected at the same time, they
        // could be sent in another order.
        self.is_resending |= proxy.is_none() && !self.has_separate_connections();
        let mut events = Vec::new();
        runs.drain(..).for_each(|run| run.append_to(&mut events));
        let pending = (first..).zip(events).map(|(number, event)| match &proxy {
            Some(proxy) => SlowDelivery::bound(proxy, number, event),
            None => SlowDelivery::new(subscriber, number, event),
        });
        self.pending.extend(pending);
    }

    /// Returns true if events do not share one connection.
    fn has_separate_connections(&self) -> bool {
        self.is_collocated || self.subscriber.qos().is_connection_cached == Some(false)
    }

    /// The proxy of the subscriber, fixed to the connection that all events in flight took, if there is one.
    fn fixed_proxy(&mut self) -> Option<Proxy> {
        if self.has_separate_connections() {
            return None;
        }
        if !self.fixed_proxy.as_ref().is_some_and(Proxy::is_connected) {
            let proxy = self.subscriber.proxy();
            let connection = proxy.ice_cached_connection();
            self.fixed_proxy = connection.map(|connection| proxy.ice_fixed(&connection));
        }
        self.fixed_proxy.clone()
    }

    /// Returns true if an event in flight is bound to a connection.
    fn has_bound(&self) -> bool {
        self.pending.iter().any(|slow| slow.is_bound)
    }

    /// Returns true if an event waits for room in its connection.
    fn awaits_room(&self) -> bool {
        self.pending.iter().any(SlowDelivery::awaits_room)
    }

    /// Handles failures, and settles answered events. Returns how much is then in flight. Pending while the scheduler
    /// sends.
    pub(super) fn poll(&mut self, context: &mut Context<'_>) -> Poll<Load> {
        loop {
            let Failed {
                events,
                has_lost_connection,
                left,
            } = ready!(self.subscriber.poll_failed(context, !self.is_empty()));
            self.handle_failed(events);
            if !self.is_empty() {
                if self.poll_pending(context) {
                    // Events that left before this one may have failed too.
                    continue;
                }
                // Another connection may be used only when every event that was lost with the old one is known.
                if self.is_resending && !has_lost_connection && !self.has_bound() {
                    self.resend(context);
                }
            }
            if self.is_empty() {
                // It would keep the state of a closed connection alive.
                self.fixed_proxy = None;
            }
            return Poll::Ready(self.load_with(left));
        }
    }

    /// Polls the events that may proceed. Skips those that wait until earlier ones are answered, and polls only the first of
    /// those that wait for room. Returns whether an event failed and is sent again.
    fn poll_pending(&mut self, context: &mut Context<'_>) -> bool {
        let (subscriber, is_resending) = (self.subscriber, self.is_resending);
        let first = self.pending.front().map(|slow| slow.number);
        let mut failed = Vec::new();
        // Only the first event that waits for room is polled: a later one could find the room first.
        let mut awaits_room = false;
        self.pending.retain_mut(|slow| {
            // `resend` polls the first event. Later events may be under way if each takes a connection of its own.
            let is_under_way = slow.has_begun && Some(slow.number) != first;
            let must_wait = is_resending && !slow.is_bound && !is_under_way;
            if must_wait || awaits_room && slow.awaits_room() {
                return true;
            }
            match slow.poll(context) {
                Poll::Pending => {
                    awaits_room |= slow.awaits_room();
                    return true;
                }
                Poll::Ready(Err(error)) if slow.is_bound || slow.is_retried_after(&error) => {
                    failed.push((slow.number, slow.event.clone().into(), error));
                }
                Poll::Ready(reply) => subscriber.settle(1, reply),
            }
            false
        });
        let has_failed = !failed.is_empty();
        self.handle_failed(failed);
        has_failed
    }

    /// Sends one event after the other. If one fails so that the subscriber goes offline or its subscription ends, the
    /// events that have not been sent yet fail with it: each of them could take as long to find out that the subscriber
    /// does not answer. Events that are under way may arrive, so it waits for their replies.
    fn resend(&mut self, context: &mut Context<'_>) {
        while let Some(first) = self.pending.front_mut()
            && let Poll::Ready(reply) = first.poll(context)
        {
            if let Err(error) = &reply
                && first.is_retried_after(error)
            {
                *first = SlowDelivery::retry(self.subscriber, first.number, first.event.clone());
                continue;
            }
            self.pending.pop_front();
            let error = reply.as_ref().err().cloned();
            self.subscriber.settle(1, reply);
            if let Some(error) = error
                && !self.subscriber.is_online()
            {
                let count = self.pending.len();
                self.pending.retain(|slow| slow.has_begun);
                let count = count - self.pending.len();
                self.subscriber.settle::<()>(count, Err(error));
            }
        }
        self.is_resending = !self.is_empty();
    }

    /// Sends failed events again, before the events after them, or settles them.
    fn handle_failed(&mut self, failed: Vec<Resend>) {
        let each = failed.into_iter().flat_map(|(first, run, error)| {
            let mut events = Vec::new();
            run.append_to(&mut events);
            let numbered = (first..).zip(events);
            numbered.map(move |(number, event)| (number, event, error.clone()))
        });
        for (number, event, error) in each {
            if may_resend(&error, &event) {
                self.is_resending = true;
                let index = self.pending.partition_point(|slow| slow.number < number);
                let retry = SlowDelivery::retry(self.subscriber, number, event);
                self.pending.insert(index, retry);
            } else {
                self.subscriber.settle::<()>(1, Err(error));
            }
        }
    }
}

impl<'a> SlowDelivery<'a> {
    /// Takes any connection that exists when it is polled.
    fn new(subscriber: &'a Subscriber, number: u64, event: Event) -> Self {
        Self::over(Cow::Borrowed(subscriber.proxy()), number, event)
    }

    /// Sends the event once more. This is the last time, with the same time limit as the first.
    fn retry(subscriber: &'a Subscriber, number: u64, event: Event) -> Self {
        Self {
            is_first: false,
            ..Self::new(subscriber, number, event)
        }
    }

    /// Takes the connection of this fixed proxy, and no other.
    fn bound(proxy: &Proxy, number: u64, event: Event) -> Self {
        Self {
            is_bound: true,
            ..Self::over(Cow::Owned(proxy.clone()), number, event)
        }
    }

    fn over(proxy: Cow<'a, Proxy>, number: u64, event: Event) -> Self {
        let has_left = Arc::<AtomicBool>::default();
        let (sent, noted) = (event.clone(), has_left.clone());
        Self {
            number,
            event,
            is_bound: false,
            is_first: true,
            has_begun: false,
            has_left,
            reply: Box::pin(async move { proxy.forward_noting(&sent, &noted).await }),
        }
    }

    fn poll(&mut self, context: &mut Context<'_>) -> Poll<SlowReply> {
        self.has_begun = true;
        self.reply.as_mut().poll(context)
    }

    /// Returns true if the subscriber answered with this failure, and the event is sent once more.
    fn is_retried_after(&self, error: &InvokeError) -> bool {
        let is_reply = matches!(error, InvokeError::System(_));
        self.is_first && is_reply && may_resend(error, &self.event)
    }

    /// Returns true if it waits for room in its connection. An event that is polled later could find the room first.
    fn awaits_room(&self) -> bool {
        self.is_bound && !self.has_left.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests;
