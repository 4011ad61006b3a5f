//! One task that delivers for all twoway subscribers whose own delivery would have nothing to decide.
//!
//! A delivery task that waits for events, has nothing to try again, and knows a connection, is open to the courier:
//! events that come are not worth a wake-up then. The courier is called instead, once for all that come together, and
//! sends to one subscriber after the other. Whatever is in its way, it wakes the delivery task and leaves it to that.

use std::future::poll_fn;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Instant;

use floe::{Event, Events};

use super::answers::Timed;
use super::twoway::Room;
use crate::core::Turn;
use crate::service::subscriber::Subscriber;

/// Delivers for others. It works where there is one thread: with more, subscribers are better served by several.
#[derive(Default)]
pub(in crate::service) struct Courier {
    /// Guards who is to be served; held for a moment. That of a subscriber may be held around it, not within.
    calls: Mutex<Calls>,
}

#[derive(Default)]
struct Calls {
    /// In the order in which events came for them. A subscriber is seldom there twice, for it calls again only when
    /// it was served.
    subscribers: Vec<Arc<Subscriber>>,
    /// The task, while it waits.
    waker: Option<Waker>,
    is_at_work: bool,
}

/// Subscribers that are served before others may run.
const SERVED_MAX: usize = 64;

impl Courier {
    /// There are events for a subscriber; false if nobody would deliver them.
    pub(in crate::service) fn call(&self, subscriber: &Arc<Subscriber>) -> bool {
        let mut calls = self.lock();
        if !calls.is_at_work {
            return false;
        }
        calls.subscribers.push(subscriber.clone());
        let waker = calls.waker.take();
        drop(calls);
        if let Some(waker) = waker {
            waker.wake();
        }
        true
    }

    /// Delivers until this is dropped; then each delivery task does it by itself.
    pub(in crate::service) async fn work(&self) {
        self.lock().is_at_work = true;
        let _work = Work(self);
        let mut bag = Bag::default();
        poll_fn(|context| self.poll_calls(context, &mut bag)).await
    }

    /// Serves those who have called, some at a time. It never ends.
    fn poll_calls(&self, context: &mut Context<'_>, bag: &mut Bag) -> Poll<()> {
        let mut calls = self.lock();
        let count = calls.subscribers.len().min(SERVED_MAX);
        let mut served = std::mem::take(&mut bag.served);
        served.extend(calls.subscribers.drain(..count));
        match calls.subscribers.is_empty() {
            true => calls.waker = Some(context.waker().clone()),
            false => context.waker().wake_by_ref(),
        }
        drop(calls);
        if !served.is_empty() {
            let now = Instant::now();
            for subscriber in served.drain(..) {
                subscriber.deliver_at_once(now, bag);
            }
        }
        bag.served = served;
        Poll::Pending
    }

    fn lock(&self) -> MutexGuard<'_, Calls> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The courier at work.
struct Work<'a>(&'a Courier);

impl Drop for Work<'_> {
    fn drop(&mut self) {
        let mut calls = self.0.lock();
        calls.is_at_work = false;
        calls.waker = None;
        let left = std::mem::take(&mut calls.subscribers);
        drop(calls);
        for subscriber in left {
            subscriber.wake_delivery();
        }
    }
}

/// Empty lists, kept for their memory.
#[derive(Default)]
struct Bag {
    served: Vec<Arc<Subscriber>>,
    runs: Vec<Events>,
    events: Vec<Event>,
}

/// What was taken from a queue to be sent at once.
struct Taken {
    /// The number of the first event.
    first: u64,
    /// Whether nothing is left, so that the next event calls again.
    is_all: bool,
}

impl Subscriber {
    /// Sends what is queued, or wakes the delivery task for it.
    fn deliver_at_once(self: &Arc<Self>, now: Instant, bag: &mut Bag) {
        let Some(taken) = self.take_at_once(&mut bag.runs) else {
            return self.wake_delivery();
        };
        for run in bag.runs.drain(..) {
            run.append_to(&mut bag.events);
        }
        let is_left = bag.events.is_empty() || self.send_or_return(taken.first, now, bag);
        if !is_left || !taken.is_all {
            self.wake_delivery();
        }
    }

    /// Takes what may be sent; `None` if that is not for the courier to do.
    fn take_at_once(&self, runs: &mut Vec<Events>) -> Option<Taken> {
        let mut shared = self.lock();
        let answers = shared.answers();
        if !answers.is_open() || !answers.is_in_order() {
            return None;
        }
        let first = answers.next();
        let room = Room::beside(answers.load(), self.outstanding_max()?)?;
        let subscription = &mut shared.subscription;
        // Who notices gaps is not open to the courier.
        let _ = subscription.take(room.events, room.bytes, runs);
        let is_all = subscription.turn(1) == Turn::Park;
        let is_roomy = subscription.is_roomy();
        let notice = subscription.poll_notice();
        drop(shared);
        if is_roomy {
            self.call_in();
        }
        self.tell(notice);
        Some(Taken { first, is_all })
    }

    /// Sends events, or gives them to the delivery task; false if that must be woken.
    fn send_or_return(self: &Arc<Self>, first: u64, now: Instant, bag: &mut Bag) -> bool {
        match self.send_at_once(first, &mut bag.events, now) {
            Some(Timed(true)) => true,
            Some(Timed(false)) => {
                let needs_timer = self.send_timeout().is_some();
                if needs_timer {
                    self.lock().answers().ask_for_timer();
                }
                !needs_timer
            }
            None => {
                self.lock().answers().give_back(&mut bag.events);
                false
            }
        }
    }
}
