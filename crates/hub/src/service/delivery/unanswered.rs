//! Events that were sent to a twoway subscriber, until they are answered.

use std::collections::VecDeque;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use floe::{Event, EventParts, Forwarding, InvokeError, LocalError, Outcome};
use tokio::time::{Sleep, sleep_until};

use crate::service::subscriber::Subscriber;

/// What was sent and is not answered yet, polled in the order in which it was sent, so that requests
/// that go the long way leave in this order.
pub(super) struct Unanswered<'a> {
    subscriber: &'a Subscriber,
    sent: VecDeque<Sent<'a>>,
    /// How long an answer may take.
    limit: Option<Duration>,
    /// One for all, set when there was none: what was sent later is due later.
    timer: Option<Pin<Box<Sleep>>>,
}

/// An event on its way.
struct Sent<'a> {
    event: Event,
    way: Way<'a>,
}

enum Way<'a> {
    /// It left at once, at this time.
    AtOnce(Forwarding, Instant),
    /// It may have to connect, to wait for room, or to be tried again; and keeps its own time.
    Long(Pin<Box<dyn Future<Output = Answer> + Send + 'a>>),
}

type Answer = Result<Option<Outcome>, InvokeError>;

impl<'a> Unanswered<'a> {
    pub(super) fn new(subscriber: &'a Subscriber) -> Self {
        Self {
            subscriber,
            sent: VecDeque::new(),
            limit: subscriber.send_timeout(),
            timer: None,
        }
    }

    /// Number of events that are not answered.
    pub(super) fn len(&self) -> usize {
        self.sent.len()
    }

    /// Sends events in one write, and leaves none; false, and nothing is sent, if there is no connection
    /// or no room in it.
    pub(super) fn send(&mut self, events: &mut Vec<Event>) -> bool {
        if events.is_empty() {
            return true;
        }
        let Some(forwardings) = self.subscriber.proxy().forward_at_once(events) else {
            return false;
        };
        let now = Instant::now();
        let sent = forwardings.zip(events.drain(..));
        self.sent.extend(sent.map(|(forwarding, event)| Sent {
            event,
            way: Way::AtOnce(forwarding, now),
        }));
        true
    }

    /// Sends events as they are polled, and leaves none.
    pub(super) fn send_later(&mut self, events: &mut Vec<Event>) {
        let subscriber = self.subscriber;
        self.sent.extend(events.drain(..).map(|event| Sent {
            way: long(subscriber, event.clone()),
            event,
        }));
    }

    /// Settles what is answered, or will not be.
    pub(super) fn poll(&mut self, context: &mut Context<'_>) {
        let mut delivered = 0;
        let mut at = 0;
        while let Some(sent) = self.sent.get_mut(at) {
            let Poll::Ready(answer) = sent.poll(self.subscriber, context) else {
                at += 1;
                continue;
            };
            self.sent.remove(at);
            match answer {
                Ok(_) => delivered += 1,
                failed => self.subscriber.settle(1, failed),
            }
        }
        if delivered > 0 {
            self.subscriber.settle_delivered(delivered);
        }
        self.poll_timer(context);
    }

    /// Gives up what was sent too long ago, and sees to it that it is polled when that is the case.
    fn poll_timer(&mut self, context: &mut Context<'_>) {
        let Some(limit) = self.limit else {
            return;
        };
        if self.timer.as_ref().is_some_and(|timer| !timer.is_elapsed()) {
            return;
        }
        self.timer = None;
        let now = Instant::now();
        let is_late = |sent: &Sent<'_>| sent.since().is_some_and(|since| now - since >= limit);
        let known = self.sent.len();
        self.sent.retain(|sent| !is_late(sent));
        for _ in self.sent.len()..known {
            let timeout = LocalError::Timeout {
                operation: "(event)".to_owned(),
                after: limit,
            };
            let failed: Answer = Err(InvokeError::PerhapsDispatched(timeout));
            self.subscriber.settle(1, failed);
        }
        let oldest = self.sent.iter().find_map(Sent::since);
        let Some(deadline) = oldest.and_then(|since| since.checked_add(limit)) else {
            return;
        };
        let mut timer = Box::pin(sleep_until(deadline.into()));
        // It is not over yet: nothing left is late.
        let _ = timer.as_mut().poll(context);
        self.timer = Some(timer);
    }
}

impl<'a> Sent<'a> {
    fn poll(&mut self, subscriber: &'a Subscriber, context: &mut Context<'_>) -> Poll<Answer> {
        if let Way::AtOnce(forwarding, _) = &mut self.way {
            match Pin::new(forwarding).poll(context) {
                Poll::Ready(Err(error)) if may_come_again(&error, &self.event) => {
                    self.way = long(subscriber, self.event.clone());
                }
                polled => return polled,
            }
        }
        match &mut self.way {
            Way::Long(answer) => answer.as_mut().poll(context),
            Way::AtOnce(..) => Poll::Pending,
        }
    }

    /// When it left, if its time is kept here.
    fn since(&self) -> Option<Instant> {
        match self.way {
            Way::AtOnce(_, since) => Some(since),
            Way::Long(_) => None,
        }
    }
}

/// Whether an event may be sent again: it surely did not arrive, or it does no harm to arrive twice.
fn may_come_again(error: &InvokeError, event: &Event) -> bool {
    match error {
        InvokeError::NotDispatched(_) => true,
        InvokeError::PerhapsDispatched(_) => is_idempotent(event),
        _ => false,
    }
}

fn is_idempotent(event: &Event) -> bool {
    EventParts::parse(event.as_bytes()).is_ok_and(|parts| parts.mode.is_idempotent())
}

fn long<'a>(subscriber: &'a Subscriber, event: Event) -> Way<'a> {
    Way::Long(Box::pin(
        async move { subscriber.proxy().forward(&event).await },
    ))
}
