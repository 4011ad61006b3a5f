//! Delivery with answers: a few requests at a time.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context, Poll};

use floe::{Event, InvokeError, Outcome};

use super::unanswered::Unanswered;
use crate::service::subscriber::Subscriber;

/// Delivers until the subscription ends; answers that are outstanding then are waited for.
pub(super) async fn run(subscriber: &Arc<Subscriber>, outstanding_max: usize) {
    let mut delivering = Delivering {
        subscriber,
        outstanding_max,
        unanswered: Unanswered::new(subscriber),
        has_ended: false,
    };
    let (mut runs, mut events) = (Vec::new(), Vec::new());
    while poll_fn(|context| delivering.poll_events(context)).await {
        subscriber
            .take(delivering.room(), delivering.bytes_room(), &mut runs)
            .await;
        for run in runs.drain(..) {
            events.extend(run.each());
        }
        delivering.start(&mut events).await;
    }
}

/// Bytes of events that are unanswered, but for the last of them: those that have left the queue are not among what
/// it may hold.
const UNANSWERED_BYTES_MAX: usize = 8 * 1024 * 1024;

struct Delivering<'a> {
    subscriber: &'a Subscriber,
    outstanding_max: usize,
    unanswered: Unanswered<'a>,
    /// Whether there will be no more events.
    has_ended: bool,
}

impl Delivering<'_> {
    /// Events that may be sent now.
    fn room(&self) -> usize {
        self.outstanding_max.saturating_sub(self.unanswered.len())
    }

    /// Bytes of events that may be sent now.
    fn bytes_room(&self) -> usize {
        UNANSWERED_BYTES_MAX.saturating_sub(self.unanswered.bytes())
    }

    /// Waits until there are events and room for them; false if there will be no more, and all are
    /// answered.
    fn poll_events(&mut self, context: &mut Context<'_>) -> Poll<bool> {
        self.unanswered.poll(context);
        if !self.has_ended && self.may_send_or_awaits() {
            match self.subscriber.poll_bytes(context, 1) {
                Poll::Ready(true) => return Poll::Ready(true),
                Poll::Ready(false) => self.has_ended = true,
                Poll::Pending => {}
            }
        }
        if !self.has_ended {
            return Poll::Pending;
        }
        // Before the look, so that no answer is missed in between.
        self.unanswered.await_each();
        match self.unanswered.len() {
            0 => Poll::Ready(false),
            _ => Poll::Pending,
        }
    }

    /// Whether events may be sent; if not, each answer that comes from now on wakes.
    fn may_send_or_awaits(&self) -> bool {
        if self.may_send() {
            return true;
        }
        self.unanswered.await_each();
        // An answer may have come in between.
        self.may_send()
    }

    fn may_send(&self) -> bool {
        // What was under way when the connection broke is answered first: events sent meanwhile could overtake it.
        let is_broken = self.unanswered.len() > 0 && !self.subscriber.proxy().is_connected();
        let has_room = self.room() > 0 && self.bytes_room() > 0;
        has_room && !is_broken && !self.unanswered.is_resending()
    }

    /// Sends events in their order, and leaves none.
    async fn start(&mut self, events: &mut Vec<Event>) {
        if self.unanswered.send(events) {
            return;
        }
        if !self.subscriber.proxy().is_connected() {
            // It has just broken: what was under way is told so, and leaves again before these.
            poll_fn(|context| self.poll_broken(context)).await;
        }
        // Connects before the first of several is sent, so that they leave in their order.
        if let Err(error) = self.connect().await {
            for _ in events.drain(..) {
                let failed: Result<Option<Outcome>, _> = Err(error.clone());
                self.subscriber.settle(1, failed);
            }
        }
        if !self.unanswered.send(events) {
            self.unanswered.send_later(events);
        }
    }

    fn poll_broken(&mut self, context: &mut Context<'_>) -> Poll<()> {
        self.unanswered.poll(context);
        if !self.unanswered.has_answers_due() {
            return Poll::Ready(());
        }
        self.unanswered.await_each();
        // One may have come in between.
        match self.unanswered.has_answers_due() {
            true => Poll::Pending,
            false => Poll::Ready(()),
        }
    }

    async fn connect(&mut self) -> Result<(), InvokeError> {
        let proxy = self.subscriber.proxy();
        if self.unanswered.len() > 0 || proxy.is_connected() {
            return Ok(());
        }
        // Boxed: it is long, and seldom needed.
        Box::pin(proxy.connect()).await
    }
}
