//! Events that were sent to a twoway subscriber, until they are answered.
//!
//! What left at once is settled by whoever reads its answer (`replies.rs`); here is what the delivery sees to:
//! what goes the long way, and what takes too slow.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use floe::{Event, InvokeError, LocalError, Outcome, Proxy, TypedProxy};
use tokio::time::{Sleep, sleep_until};

use super::fast_path::{Failed, SendPosition};
use crate::core::{Load, Resend, may_resend};
use crate::service::subscriber::Subscriber;

/// What was sent and is not answered yet.
pub(super) struct SlowPath<'a> {
    /// It knows what left at once.
    subscriber: &'a Arc<Subscriber>,
    /// In the order of their numbers, and polled in it, so that requests leave in this order.
    slow: VecDeque<SlowDelivery<'a>>,
    /// Whether something of it was under way when its connection broke, or had none: then each waits for the answer to
    /// the one before, for they could take different connections.
    is_resending: bool,
    /// Whether the subscriber lives in the communicator of the hub.
    is_here: bool,
    /// The subscriber over the connection by which all leaves; there while something goes the long way.
    bound: Option<Proxy>,
    /// How long an answer may take.
    limit: Option<Duration>,
    /// One for all, set when there was none: what was sent later is due later.
    timer: Option<Pin<Box<Sleep>>>,
}

/// An event that may have to connect, to wait for room, or to be tried again; it keeps its own time.
struct SlowDelivery<'a> {
    /// Its place among all that is sent.
    number: u64,
    event: Event,
    /// Whether it leaves by the connection of what was sent before it, or comes back.
    is_bound: bool,
    /// Whether it has not been sent before.
    is_first: bool,
    /// Whether it has been polled, so that it may have arrived.
    has_begun: bool,
    /// Whether it is in the output of its connection.
    has_left: Arc<AtomicBool>,
    answer: Pin<Box<dyn Future<Output = SlowAnswer> + Send + 'a>>,
}

type SlowAnswer = Result<Option<Outcome>, InvokeError>;

impl<'a> SlowPath<'a> {
    pub(super) fn new(subscriber: &'a Arc<Subscriber>) -> Self {
        Self {
            subscriber,
            slow: VecDeque::new(),
            is_resending: false,
            is_here: false,
            bound: None,
            limit: subscriber.send_timeout(),
            timer: None,
        }
    }

    /// How much is not answered.
    pub(super) fn load(&self) -> Load {
        self.with_slow(self.subscriber.load())
    }

    fn with_slow(&self, load: Load) -> Load {
        Load {
            count: load.count + self.slow.len(),
            bytes: load.bytes + self.slow.iter().map(|slow| slow.event.len()).sum::<usize>(),
        }
    }

    /// Sends events in one write, and leaves none; false, and nothing is sent, if there is no connection
    /// or no room in it, or if something waits for room or is sent again that these would overtake.
    pub(super) fn send(&mut self, events: &mut Vec<Event>) -> bool {
        if events.is_empty() {
            return true;
        }
        let since = Instant::now();
        self.position()
            .is_some_and(|position| self.subscriber.forward_at_once(&position, events, since))
    }

    /// Where events that leave now have their place; `None` if they would overtake others.
    fn position(&self) -> Option<SendPosition> {
        let mut shared = self.subscriber.lock();
        let in_flight = shared.in_flight();
        // What failed was sent before, and may be sent again.
        let may_send = !self.is_resending && !self.has_line() && in_flight.is_in_order();
        may_send.then(|| in_flight.position())
    }

    /// Whether something went the long way and is not answered.
    pub(super) fn has_slow(&self) -> bool {
        !self.slow.is_empty()
    }

    /// Whether something is sent again, which other events could overtake.
    pub(super) fn is_resending(&self) -> bool {
        self.is_resending
    }

    /// Whether something is unanswered that left at once.
    pub(super) fn has_answers_due(&self) -> bool {
        self.subscriber.load().count > 0
    }

    /// Sends events as they are polled, and leaves none.
    pub(super) fn send_later(&mut self, events: &mut Vec<Event>) {
        let subscriber = self.subscriber;
        let (failed, first) = {
            let mut shared = subscriber.lock();
            let in_flight = shared.in_flight();
            (
                in_flight.take_failed(),
                in_flight.take_numbers(events.len()),
            )
        };
        self.see_to(failed);
        let proxy = match self.is_resending {
            true => None,
            false => self.bound(),
        };
        // Where there is no connection, each waits for the one before: several that connect at a time do not learn at a
        // time that they have.
        self.is_resending |= proxy.is_none() && !self.is_scattered();
        let events = (first..).zip(events.drain(..));
        self.slow.extend(events.map(|(number, event)| match &proxy {
            Some(bound) => SlowDelivery::bound(bound, number, event),
            None => SlowDelivery::new(subscriber, number, event),
        }));
    }

    /// Events need no connection, since the subscriber lives here.
    pub(super) fn set_here(&mut self, is_here: bool) {
        self.is_here = is_here;
    }

    /// Whether there is no one connection by which all leave.
    fn is_scattered(&self) -> bool {
        self.is_here || self.subscriber.qos().is_connection_cached == Some(false)
    }

    /// The subscriber over the connection by which all that is under way left, if there is one.
    fn bound(&mut self) -> Option<Proxy> {
        if self.is_scattered() {
            return None;
        }
        if !self.bound.as_ref().is_some_and(Proxy::is_connected) {
            let proxy = self.subscriber.proxy();
            let connection = proxy.ice_cached_connection();
            self.bound = connection.map(|connection| proxy.ice_fixed(&connection));
        }
        self.bound.clone()
    }

    /// Whether something is bound to a connection, and has not come back.
    fn has_bound(&self) -> bool {
        self.slow.iter().any(|slow| slow.is_bound)
    }

    /// Whether something waits for room in its connection.
    fn has_line(&self) -> bool {
        self.slow.iter().any(SlowDelivery::is_in_line)
    }

    /// Settles what has failed, or was answered after going the long way; how much is not answered then, or a little
    /// more.
    pub(super) fn poll(&mut self, context: &mut Context<'_>) -> Poll<Load> {
        // First, for it may end what others wait for.
        self.poll_timer(context);
        loop {
            let Failed {
                events,
                is_astray,
                left,
            } = ready!(self.subscriber.poll_failed(context, self.has_slow()));
            self.see_to(events);
            if !self.slow.is_empty() {
                if self.poll_slow(context) {
                    // What left before it may have failed by now, or will.
                    continue;
                }
                // By another connection only when all is known that is lost with the one before.
                if self.is_resending && !is_astray && !self.has_bound() {
                    self.resend(context);
                }
            }
            if self.slow.is_empty() {
                // It would keep a connection that has ended.
                self.bound = None;
            }
            return Poll::Ready(self.with_slow(left));
        }
    }

    /// Polls all but what waits for its turn to leave or to come again, and of what waits for room the first; whether
    /// something has lost the connection that it was bound to, or comes again.
    fn poll_slow(&mut self, context: &mut Context<'_>) -> bool {
        let (subscriber, is_resending) = (self.subscriber, self.is_resending);
        let first = self.slow.front().map(|slow| slow.number);
        let mut failed = Vec::new();
        // Room is found by whoever looks first.
        let mut has_line = false;
        self.slow.retain_mut(|slow| {
            // The first is seen to by `resend`; others may be under way where each takes a connection of its own.
            let has_turn = slow.has_begun && Some(slow.number) != first;
            let must_wait = is_resending && !slow.is_bound && !has_turn;
            if must_wait || has_line && slow.is_in_line() {
                return true;
            }
            match slow.poll(context) {
                Poll::Pending => {
                    has_line |= slow.is_in_line();
                    return true;
                }
                Poll::Ready(Err(error)) if slow.is_bound || slow.comes_again_after(&error) => {
                    failed.push((slow.number, slow.event.clone(), error));
                }
                Poll::Ready(answer) => subscriber.settle(1, answer),
            }
            false
        });
        let has_lost = !failed.is_empty();
        self.see_to(failed);
        has_lost
    }

    /// Sends one event after the other. Where one fails so that the subscription is offline or at its end, those fail
    /// with it that would have followed: each of them could take as long to find out that nobody answers. What is under
    /// way may arrive, and is waited for.
    fn resend(&mut self, context: &mut Context<'_>) {
        while let Some(first) = self.slow.front_mut()
            && let Poll::Ready(answer) = first.poll(context)
        {
            if let Err(error) = &answer
                && first.comes_again_after(error)
            {
                *first = SlowDelivery::again(self.subscriber, first.number, first.event.clone());
                continue;
            }
            self.slow.pop_front();
            let error = answer.as_ref().err().cloned();
            self.subscriber.settle(1, answer);
            if let Some(error) = error
                && !self.subscriber.is_online()
            {
                let count = self.slow.len();
                self.slow.retain(|slow| slow.has_begun);
                let count = count - self.slow.len();
                self.subscriber.settle::<()>(count, Err(error));
            }
        }
        self.is_resending = !self.slow.is_empty();
    }

    /// Sends again what has failed, before what came after it, or settles it.
    fn see_to(&mut self, failed: Vec<Resend>) {
        for (number, event, error) in failed {
            if may_resend(&error, &event) {
                self.is_resending = true;
                let place = self.slow.partition_point(|slow| slow.number < number);
                self.slow
                    .insert(place, SlowDelivery::again(self.subscriber, number, event));
            } else {
                self.subscriber.settle::<()>(1, Err(error));
            }
        }
    }

    /// Gives up what was sent too long ago, and sees to it that it is polled when that is the case.
    fn poll_timer(&mut self, context: &mut Context<'_>) {
        let Some(limit) = self.limit else {
            return;
        };
        if self.timer.as_ref().is_some_and(|timer| !timer.is_elapsed()) {
            return;
        }
        let has_ended = self.timer.take().is_some();
        for _ in 0..self.subscriber.give_up(limit) {
            let timeout = LocalError::Timeout {
                operation: "(event)".to_owned(),
                after: limit,
            };
            let failed: SlowAnswer = Err(InvokeError::PerhapsDispatched(timeout));
            self.subscriber.settle(1, failed);
        }
        let since = self
            .subscriber
            .lock()
            .in_flight()
            .begin_timer(has_ended, Instant::now());
        let Some(deadline) = since.and_then(|since| since.checked_add(limit)) else {
            return;
        };
        let mut timer = Box::pin(sleep_until(deadline.into()));
        // It is not over yet: nothing left is late.
        let _ = timer.as_mut().poll(context);
        self.timer = Some(timer);
    }
}

impl Drop for SlowPath<'_> {
    fn drop(&mut self) {
        self.subscriber.abandon();
    }
}

impl<'a> SlowDelivery<'a> {
    /// By whatever connection there is then.
    fn new(subscriber: &'a Subscriber, number: u64, event: Event) -> Self {
        Self::over(Cow::Borrowed(subscriber.proxy()), number, event)
    }

    /// The same once more: the last time, with as long to be answered as the first.
    fn again(subscriber: &'a Subscriber, number: u64, event: Event) -> Self {
        Self {
            is_first: false,
            ..Self::new(subscriber, number, event)
        }
    }

    /// By the connection of this proxy, and no other.
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
            answer: Box::pin(async move { proxy.forward_noting(&sent, &noted).await }),
        }
    }

    fn poll(&mut self, context: &mut Context<'_>) -> Poll<SlowAnswer> {
        self.has_begun = true;
        self.answer.as_mut().poll(context)
    }

    /// Whether it was answered with a failure, and may do better.
    fn comes_again_after(&self, error: &InvokeError) -> bool {
        let is_answer = matches!(error, InvokeError::System(_));
        self.is_first && is_answer && may_resend(error, &self.event)
    }

    /// Whether it waits for room in its connection, where what was sent later could find it first.
    fn is_in_line(&self) -> bool {
        self.is_bound && !self.has_left.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests;
