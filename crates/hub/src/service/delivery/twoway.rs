//! Delivery with answers: a few requests at a time.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use floe::{Event, InvokeError, Outcome, TypedProxy};

use super::slow_path::SlowPath;
use crate::core::{Load, Room};
use crate::service::subscriber::Subscriber;

/// Delivers until the subscription ends; answers that are outstanding then are waited for.
pub(super) async fn run(subscriber: &Arc<Subscriber>, outstanding_max: usize) {
    let mut delivering = Delivering {
        subscriber,
        outstanding_max,
        slow_path: SlowPath::new(subscriber),
        has_ended: false,
    };
    let (mut runs, mut events) = (Vec::new(), Vec::new());
    while let Some(next) = poll_fn(|context| delivering.poll_next(context)).await {
        match next {
            Next::Returned(returned) => events = returned,
            Next::Queued(room) => {
                subscriber.take(room.events, room.bytes, &mut runs).await;
                for run in runs.drain(..) {
                    run.append_to(&mut events);
                }
            }
        }
        delivering.start(&mut events).await;
    }
}

struct Delivering<'a> {
    subscriber: &'a Arc<Subscriber>,
    outstanding_max: usize,
    slow_path: SlowPath<'a>,
    /// Whether there will be no more events.
    has_ended: bool,
}

/// What is to be sent next.
enum Next {
    /// What the scheduler took and could not send.
    Returned(Vec<Event>),
    /// What is queued, so much of it.
    Queued(Room),
}

impl Delivering<'_> {
    /// Waits until there are events and room for them; `None` if there will be no more, and all are
    /// answered.
    fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<Next>> {
        let unanswered = ready!(self.slow_path.poll(context));
        if !self.has_ended
            && let Some(room) = self.room_or_await(unanswered)
        {
            let returned = self.subscriber.lock().in_flight().take_returned();
            if !returned.is_empty() {
                return Poll::Ready(Some(Next::Returned(returned)));
            }
            match self.subscriber.poll_bytes(context, 1) {
                Poll::Ready(true) => return Poll::Ready(Some(Next::Queued(room))),
                Poll::Ready(false) => self.has_ended = true,
                Poll::Pending => self.open_to_scheduler(),
            }
        }
        if !self.has_ended {
            return Poll::Pending;
        }
        // Before the look, so that no answer is missed in between.
        self.subscriber.lock().in_flight().await_each();
        match self.slow_path.load().count {
            0 => Poll::Ready(None),
            _ => Poll::Pending,
        }
    }

    /// The room for events beside those that are not answered; if there is none, each answer that comes from now on
    /// wakes.
    fn room_or_await(&self, unanswered: Load) -> Option<Room> {
        self.room_beside(unanswered).or_else(|| {
            self.subscriber.lock().in_flight().await_each();
            // An answer may have come in between.
            self.room_beside(self.slow_path.load())
        })
    }

    fn room_beside(&self, unanswered: Load) -> Option<Room> {
        // What was under way when the connection broke is answered first: events sent meanwhile could overtake it.
        let is_lost = || unanswered.count > 0 && self.is_broken();
        let may_send = !self.slow_path.is_resending() && !is_lost();
        Room::beside(unanswered, self.outstanding_max).filter(|_| may_send)
    }

    /// Whether what is under way has lost its connection, also if somebody else has made another one.
    fn is_broken(&self) -> bool {
        !self.subscriber.proxy().is_connected() || self.subscriber.lock().in_flight().is_astray()
    }

    /// Leaves the sending to the scheduler while there is nothing else to do.
    fn open_to_scheduler(&self) {
        let is_simple = !self.slow_path.has_slow() && self.subscriber.proxy().is_connected();
        if is_simple {
            self.subscriber.lock().in_flight().open();
        }
    }

    /// Sends events in their order, and leaves none.
    async fn start(&mut self, events: &mut Vec<Event>) {
        if self.slow_path.send(events) {
            return;
        }
        if self.is_broken() {
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
        if !self.slow_path.send(events) {
            self.slow_path.send_later(events);
        }
    }

    fn poll_broken(&mut self, context: &mut Context<'_>) -> Poll<()> {
        ready!(self.slow_path.poll(context));
        if !self.slow_path.has_answers_due() {
            return Poll::Ready(());
        }
        self.subscriber.lock().in_flight().await_each();
        // One may have come in between.
        match self.slow_path.has_answers_due() {
            true => Poll::Pending,
            false => Poll::Ready(()),
        }
    }

    async fn connect(&mut self) -> Result<(), InvokeError> {
        let proxy = self.subscriber.proxy();
        if self.slow_path.load().count > 0 || proxy.is_connected() {
            return Ok(());
        }
        // Boxed: it is long, and seldom needed.
        let connection = Box::pin(proxy.ice_connection()).await?;
        self.slow_path.set_here(connection.is_none());
        Ok(())
    }
}
