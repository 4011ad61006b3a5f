//! The delivery task of a twoway subscriber: it sends a few events at a time, and each is answered.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Instant;

use floe::InvokeError;
use floe::forwarding::Events;

use super::reply_timeout::ReplyTimeout;
use super::runs::divide;
use super::slow_path::SlowPath;
use crate::core::{Load, WindowRoom};
use crate::service::subscriber::Subscriber;

/// Delivers until the subscription ends, and then waits for the last replies.
pub(super) async fn run(subscriber: &Arc<Subscriber>) {
    let mut delivery = TwowayDelivery {
        subscriber,
        slow_path: SlowPath::new(subscriber),
        reply_timeout: ReplyTimeout::new(subscriber),
        has_ended: false,
    };
    let (mut taken, mut runs) = (Vec::new(), Vec::new());
    while let Some(next) = poll_fn(|context| delivery.poll_next(context)).await {
        match next {
            NextEvents::Returned(returned) => runs = returned,
            NextEvents::Queued(room) => {
                let oldest = subscriber.lock().subscription.oldest();
                let count = subscriber.take(room.events, room.bytes, &mut taken);
                // The lifespan of all of them may have been over.
                if count.await > 0 {
                    subscriber.lock().note_batch(subscriber.latencies(), oldest);
                }
                divide(&mut taken, subscriber.qos().group, &mut runs);
            }
        }
        delivery.send(&mut runs).await;
    }
}

struct TwowayDelivery<'a> {
    subscriber: &'a Arc<Subscriber>,
    slow_path: SlowPath<'a>,
    reply_timeout: ReplyTimeout,
    /// True if the subscription has ended: no more events come.
    has_ended: bool,
}

/// The events to send next.
enum NextEvents {
    /// Runs of events that the scheduler took and could not send.
    Returned(Vec<Events>),
    /// Events from the queue, as many as there is room for.
    Queued(WindowRoom),
}

impl TwowayDelivery<'_> {
    /// Waits until there are events and room for them. Returns `None` when no more events come and all are answered.
    fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<NextEvents>> {
        let in_flight = ready!(self.poll_in_flight(context));
        if !self.has_ended
            && let Some(room) = self.room_or_await(in_flight)
        {
            let returned = self.subscriber.lock().in_flight().take_returned();
            if !returned.is_empty() {
                return Poll::Ready(Some(NextEvents::Returned(returned)));
            }
            match self.subscriber.poll_bytes(context, 1) {
                Poll::Ready(true) => return Poll::Ready(Some(NextEvents::Queued(room))),
                Poll::Ready(false) => self.has_ended = true,
                Poll::Pending => self.open_to_scheduler(),
            }
        }
        if !self.has_ended {
            return Poll::Pending;
        }
        // Asks for a wake-up before it looks, so that it misses no reply in between.
        self.subscriber.lock().in_flight().await_each();
        match self.slow_path.load().count {
            0 => Poll::Ready(None),
            _ => Poll::Pending,
        }
    }

    /// Handles late replies and failures. Returns how much is in flight. Pending while the scheduler sends.
    fn poll_in_flight(&mut self, context: &mut Context<'_>) -> Poll<Load> {
        // The timeout comes first, because it may end what the slow path waits for.
        self.reply_timeout.poll(self.subscriber, context);
        self.slow_path.poll(context)
    }

    /// The room in the window. If there is none, the next reply wakes this task.
    fn room_or_await(&self, in_flight: Load) -> Option<WindowRoom> {
        self.room_beside(in_flight).or_else(|| {
            self.subscriber.lock().in_flight().await_each();
            // A reply may have come in between.
            self.room_beside(self.slow_path.load())
        })
    }

    fn room_beside(&self, in_flight: Load) -> Option<WindowRoom> {
        // When a connection breaks, the events that were sent over it come first: new events could overtake them.
        let has_lost_events = || in_flight.count > 0 && self.is_broken();
        let may_send = !self.slow_path.is_resending() && !has_lost_events();
        let window_size = self.subscriber.lock().in_flight().window_size();
        WindowRoom::beside(in_flight, window_size).filter(|_| may_send)
    }

    /// Returns true if the connection of the events in flight has ended, even if there is a new connection already.
    fn is_broken(&self) -> bool {
        !self.subscriber.proxy().is_connected()
            || self.subscriber.lock().in_flight().has_lost_connection()
    }

    /// Lets the scheduler send while this task has nothing else to do.
    fn open_to_scheduler(&self) {
        let is_simple = self.slow_path.is_empty() && self.subscriber.proxy().is_connected();
        if is_simple {
            self.subscriber.lock().in_flight().open();
        }
    }

    /// Sends runs of events in their order, and leaves the list empty.
    async fn send(&mut self, runs: &mut Vec<Events>) {
        if self.send_now(runs) {
            return;
        }
        if self.is_broken() {
            // The connection has just broken. The events that were sent over it fail, and are sent again before these.
            poll_fn(|context| self.poll_broken(context)).await;
        }
        // Connects before it sends the first of several events, so that they keep their order.
        if let Err(error) = self.connect().await {
            for run in runs.drain(..) {
                for _ in 0..run.len() {
                    self.subscriber.settle::<()>(1, Err(error.clone()));
                }
            }
        }
        if !self.send_now(runs) {
            self.subscriber.lock().sent_batches.clear();
            self.slow_path.send(runs);
        }
    }

    /// Sends runs by the fast path. Returns false, and sends nothing, if they need the slow path.
    fn send_now(&mut self, runs: &mut Vec<Events>) -> bool {
        if runs.is_empty() {
            return true;
        }
        let now = Instant::now();
        let position = self.slow_path.fast_position();
        position.is_some_and(|position| self.subscriber.send_now(&position, runs, now))
    }

    /// Waits until the events that were sent over a broken connection have failed.
    fn poll_broken(&mut self, context: &mut Context<'_>) -> Poll<()> {
        ready!(self.poll_in_flight(context));
        if !self.has_fast_in_flight() {
            return Poll::Ready(());
        }
        self.subscriber.lock().in_flight().await_each();
        // The last one may have failed in between.
        match self.has_fast_in_flight() {
            true => Poll::Pending,
            false => Poll::Ready(()),
        }
    }

    /// Returns true if an event is in flight that left by the fast path.
    fn has_fast_in_flight(&self) -> bool {
        self.subscriber.fast_load().count > 0
    }

    async fn connect(&mut self) -> Result<(), InvokeError> {
        if self.slow_path.load().count > 0 || self.subscriber.proxy().is_connected() {
            return Ok(());
        }
        // Boxed, because it is large and seldom needed.
        let needs_connection = Box::pin(self.subscriber.connect()).await?;
        self.slow_path.set_collocated(!needs_connection);
        Ok(())
    }
}

impl Drop for TwowayDelivery<'_> {
    fn drop(&mut self) {
        self.subscriber.abandon();
    }
}
