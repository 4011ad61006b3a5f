//! One task that delivers for all twoway subscribers whose own delivery would have nothing to decide.
//!
//! A delivery task that waits for events, has nothing to try again, and knows a connection, is open to the courier:
//! events that come are not worth a wake-up then. The courier is called instead, once for all that come together, and
//! sends to one subscriber after the other. Whatever is in its way, it wakes the delivery task and leaves it to that.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::task::{Context, Poll, Waker, ready};
use std::time::{Duration, Instant};

use floe::{Event, Events};
use tokio::runtime::{Handle, Id};

use super::answers::{Place, Timed};
use super::pause::Pause;
use super::rounds::Rounds;
use super::twoway::Room;
use super::vigil::Vigil;
use crate::core::Turn;
use crate::service::subscriber::Subscriber;
use crate::settings::HubSettings;

/// Delivers for others. It works where there is one thread: with more, subscribers are better served by several.
#[derive(Default)]
pub(in crate::service) struct Courier {
    /// Guards who is to be served; held for a moment. That of a subscriber may be held around it, not within.
    calls: Mutex<Calls>,
    /// The runtime of one thread in which it works. Only delivery tasks of the same one leave events to it: they
    /// never run while it sends.
    home: OnceLock<Id>,
    /// Whether it rests. Who has events that shall not wait so long wakes the delivery task.
    is_resting: AtomicBool,
}

#[derive(Default)]
struct Calls {
    /// In the order in which events came for them. A subscriber is seldom there twice, for it calls again only when
    /// it was served.
    subscribers: VecDeque<Arc<Subscriber>>,
    /// The task, while it waits.
    waker: Option<Waker>,
    is_at_work: bool,
    pace: Pace,
}

/// What deliveries do while events keep coming.
#[derive(Debug, Clone, Copy, Default)]
pub(in crate::service) struct Pace {
    /// The longest rest between them.
    rest_max: Duration,
    /// How long the thread stays awake after them.
    polling: Duration,
}

impl From<&HubSettings> for Pace {
    fn from(settings: &HubSettings) -> Self {
        Self {
            rest_max: settings.rest_max,
            polling: settings.polling,
        }
    }
}

/// Subscribers that are served before others may run.
const SERVED_MAX: usize = 64;

impl Courier {
    /// It works in this runtime, which has one thread.
    pub(in crate::service) fn settle_in(&self, home: Id) {
        // It starts once.
        let _ = self.home.set(home);
    }

    /// That is what it does from now on.
    pub(in crate::service) fn set_pace(&self, pace: Pace) {
        self.lock().pace = pace;
    }

    /// Whether it takes a while until it serves who has called.
    pub(in crate::service) fn is_resting(&self) -> bool {
        self.is_resting.load(Ordering::Relaxed)
    }

    /// Whether the task that asks never runs at the same time.
    pub(super) fn is_of_this_runtime(&self) -> bool {
        let here = Handle::try_current().ok().map(|here| here.id());
        here.is_some() && here == self.home.get().copied()
    }

    /// There are events for a subscriber; false if nobody would deliver them.
    pub(in crate::service) fn call(&self, subscriber: &Arc<Subscriber>) -> bool {
        let mut calls = self.lock();
        if !calls.is_at_work {
            return false;
        }
        calls.subscribers.push_back(subscriber.clone());
        let waker = calls.waker.take();
        drop(calls);
        if let Some(waker) = waker {
            waker.wake();
        }
        true
    }

    /// Delivers until this is dropped; then each delivery task does it by itself.
    pub(in crate::service) async fn work(&self) {
        let mut work = Work {
            courier: self,
            served: VecDeque::new(),
            rounds: Rounds::default(),
            pause: Pause::new(),
            vigil: Vigil::default(),
        };
        self.lock().is_at_work = true;
        let mut bag = Bag::default();
        poll_fn(|context| work.poll_calls(context, &mut bag)).await
    }

    fn lock(&self) -> MutexGuard<'_, Calls> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The courier at work.
struct Work<'a> {
    courier: &'a Courier,
    /// Those who are served in this turn, and have not been yet; the first is the one that is being served.
    served: VecDeque<Arc<Subscriber>>,
    rounds: Rounds,
    pause: Pause,
    vigil: Vigil,
}

impl Work<'_> {
    /// Serves those who have called, some at a time. It never ends.
    fn poll_calls(&mut self, context: &mut Context<'_>, bag: &mut Bag) -> Poll<()> {
        let has_rested = self.courier.is_resting();
        if has_rested {
            ready!(self.pause.poll(context));
            self.set_resting(false);
        }
        let Some((count, pace)) = self.callers(context) else {
            self.vigil.go_on(context);
            return Poll::Pending;
        };
        self.vigil.hit();
        let now = Instant::now();
        if !has_rested && self.begin_rest(now, self.rest_max(pace), context) {
            // Who calls meanwhile finds no waker.
            return Poll::Pending;
        }
        let count = self.rounds.serve(count, SERVED_MAX, now);
        self.call_up(count, context);
        let mut gained = 0;
        while let Some(subscriber) = self.served.front() {
            gained += usize::from(subscriber.deliver_at_once(now, bag));
            self.served.pop_front();
        }
        let ended = self.rounds.note_served(gained, Instant::now);
        if let Some(ended) = ended
            && !pace.polling.is_zero()
            && self.rounds.are_awaited(self.rest_max(pace))
        {
            self.vigil
                .begin(ended + pace.polling.min(Rounds::PRESSING_TIME), context);
        }
        Poll::Pending
    }

    /// How many have called, and what is done while they do; nobody has if there is none.
    fn callers(&self, context: &mut Context<'_>) -> Option<(usize, Pace)> {
        let mut calls = self.courier.lock();
        if calls.subscribers.is_empty() {
            calls.waker = Some(context.waker().clone());
            return None;
        }
        Some((calls.subscribers.len(), calls.pace))
    }

    /// How long it may rest.
    fn rest_max(&self, pace: Pace) -> Duration {
        match self.pause.is_possible() {
            true => pace.rest_max,
            false => Duration::ZERO,
        }
    }

    /// Rests before a round if it is time to; whether it does.
    fn begin_rest(&mut self, now: Instant, rest_max: Duration, context: &mut Context<'_>) -> bool {
        let Some(rest) = self.rounds.rest(now, rest_max) else {
            return false;
        };
        let is_resting = self.pause.begin(rest) && self.pause.poll(context).is_pending();
        self.set_resting(is_resting);
        if is_resting {
            self.rounds.note_rest();
            self.let_pressed_go();
        }
        is_resting
    }

    /// Leaves those to their delivery tasks that have as many events already as a rest is to bring.
    fn let_pressed_go(&self) {
        // Not under the lock, within which none of a subscriber is taken.
        let callers: Vec<_> = self.courier.lock().subscribers.iter().cloned().collect();
        for subscriber in callers {
            subscriber.wake_delivery_if_pressed();
        }
    }

    fn set_resting(&self, is_resting: bool) {
        self.courier.is_resting.store(is_resting, Ordering::Relaxed);
    }

    /// So many of those who have called are served now; comes back for the others.
    fn call_up(&mut self, count: usize, context: &mut Context<'_>) {
        let mut calls = self.courier.lock();
        self.served.extend(calls.subscribers.drain(..count));
        match calls.subscribers.is_empty() {
            true => calls.waker = Some(context.waker().clone()),
            false => context.waker().wake_by_ref(),
        }
    }
}

impl Drop for Work<'_> {
    fn drop(&mut self) {
        self.set_resting(false);
        let mut calls = self.courier.lock();
        calls.is_at_work = false;
        calls.waker = None;
        let left = std::mem::take(&mut calls.subscribers);
        drop(calls);
        // Some of this turn are left if one of them made it panic, the first of them.
        if let Some(subscriber) = self.served.front() {
            subscriber.settle_taken();
        }
        for subscriber in self.served.drain(..).chain(left) {
            subscriber.wake_delivery();
        }
    }
}

/// Empty lists, kept for their memory.
#[derive(Default)]
struct Bag {
    runs: Vec<Events>,
    events: Vec<Event>,
}

/// What was taken from a queue to be sent at once.
struct Taken {
    place: Place,
    /// Whether nothing is left, so that the next event calls again.
    is_all: bool,
}

impl Subscriber {
    /// Sends what is queued, or wakes the delivery task for it; whether there were several events, or that task has had
    /// some.
    fn deliver_at_once(self: &Arc<Self>, now: Instant, bag: &mut Bag) -> bool {
        let Some(taken) = self.take_at_once(&mut bag.runs) else {
            self.wake_delivery();
            return true;
        };
        for run in bag.runs.drain(..) {
            run.append_to(&mut bag.events);
        }
        let are_several = bag.events.len() > 1;
        let is_left = bag.events.is_empty() || self.send_or_return(&taken.place, now, bag);
        if !is_left || !taken.is_all {
            self.wake_delivery();
        }
        are_several
    }

    /// Takes what may be sent; `None` if that is not for the courier to do.
    fn take_at_once(&self, runs: &mut Vec<Events>) -> Option<Taken> {
        let mut shared = self.lock();
        let answers = shared.answers();
        if !answers.is_open() || !answers.is_in_order() {
            return None;
        }
        let place = answers.next();
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
        Some(Taken { place, is_all })
    }

    /// Sends events, or gives them to the delivery task; false if that must be woken.
    fn send_or_return(self: &Arc<Self>, place: &Place, now: Instant, bag: &mut Bag) -> bool {
        match self.send_at_once(place, &mut bag.events, now) {
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

#[cfg(test)]
mod tests;
