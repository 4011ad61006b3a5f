//! The time limit for replies to events that left by the fast path.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use floe::{InvokeError, LocalError};
use tokio::time::{Sleep, sleep_until};

use crate::service::subscriber::Subscriber;

/// Gives up events whose replies are late.
///
/// One timer is enough for all events: an event that was sent later is due later.
pub(super) struct ReplyTimeout {
    /// How long a reply may take; `None` for no limit.
    limit: Option<Duration>,
    timer: Option<Pin<Box<Sleep>>>,
}

impl ReplyTimeout {
    pub(super) fn new(subscriber: &Subscriber) -> Self {
        Self {
            limit: subscriber.send_timeout(),
            timer: None,
        }
    }

    /// Gives up late events, and arranges to be polled when the next event is late.
    pub(super) fn poll(&mut self, subscriber: &Subscriber, context: &mut Context<'_>) {
        let Some(limit) = self.limit else {
            return;
        };
        if self.timer.as_ref().is_some_and(|timer| !timer.is_elapsed()) {
            return;
        }
        let has_elapsed = self.timer.take().is_some();
        for _ in 0..subscriber.give_up_late(limit) {
            let timeout = LocalError::Timeout {
                operation: "(event)".to_owned(),
                after: limit,
            };
            subscriber.settle::<()>(1, Err(InvokeError::PerhapsDispatched(timeout)));
        }
        let mut shared = subscriber.lock();
        let oldest = shared.in_flight().begin_timer(has_elapsed, Instant::now());
        drop(shared);
        if let Some(deadline) = oldest.and_then(|oldest| oldest.checked_add(limit)) {
            let mut timer = Box::pin(sleep_until(deadline.into()));
            // Registers the waker. The timer has not elapsed yet, because no event that is left is late.
            let _: Poll<()> = timer.as_mut().poll(context);
            self.timer = Some(timer);
        }
    }
}
