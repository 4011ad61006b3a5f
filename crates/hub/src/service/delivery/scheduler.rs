//! The delivery scheduler: one task that sends to all twoway subscribers whose events need no wait.
//!
//! A delivery task that waits for events, has nothing to send again, and knows a connection, leaves its window to the
//! scheduler. Publishers then add the subscriber to the queue of those that are ready, and the scheduler sends to one after
//! the other what their windows allow. Whatever needs a wait it leaves to the delivery task of the subscriber, which it wakes.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use floe::{Event, Events};
use tokio::runtime::{Handle, RuntimeFlavor};

use super::busy_poll::BusyPoll;
use super::replies::SendPosition;
use super::timer::Timer;
use crate::core::{DeliveryStep, Room, Schedule};
use crate::service::subscriber::{ReadyQueue, SchedulerPace, Subscriber};

/// Serves until this is dropped; then each delivery task sends by itself.
pub(in crate::service) async fn serve(ready: &ReadyQueue) {
    let mut scheduler = Scheduler::new(ready);
    let mut buffers = Buffers::default();
    poll_fn(|context| scheduler.poll(context, &mut buffers)).await
}

/// Subscribers that are served before other tasks may run.
const SERVED_MAX: usize = 64;

struct Scheduler<'a> {
    ready: &'a ReadyQueue,
    /// Subscribers that are still to be served in this poll; the first one is being served.
    served: VecDeque<Arc<Subscriber>>,
    schedule: Schedule,
    timer: Timer,
    busy_poll: BusyPoll,
    /// Whether the runtime has one thread, which the scheduler may keep awake.
    may_poll: bool,
}

impl<'a> Scheduler<'a> {
    fn new(ready: &'a ReadyQueue) -> Self {
        ready.begin();
        let flavor = Handle::try_current().map(|runtime| runtime.runtime_flavor());
        Self {
            ready,
            served: VecDeque::new(),
            schedule: Schedule::default(),
            timer: Timer::new(),
            busy_poll: BusyPoll::default(),
            may_poll: matches!(flavor, Ok(RuntimeFlavor::CurrentThread)),
        }
    }

    /// Serves those that are ready, some at a time. It never ends.
    fn poll(&mut self, context: &mut Context<'_>, buffers: &mut Buffers) -> Poll<()> {
        let has_rested = self.ready.is_resting();
        if has_rested {
            ready!(self.timer.poll(context));
            self.ready.set_resting(false);
        }
        let Some((count, pace)) = self.ready.poll_len(context) else {
            self.busy_poll.handle_nothing(context);
            return Poll::Pending;
        };
        self.busy_poll.handle_events();
        let now = Instant::now();
        if !has_rested && self.begin_rest(now, self.rest_max(pace), context) {
            // Subscribers that become ready meanwhile find no waker.
            return Poll::Pending;
        }
        let count = self.schedule.serve(count, SERVED_MAX, now);
        self.ready.take(count, &mut self.served, context);
        let mut gained = 0;
        while let Some(subscriber) = self.served.front() {
            gained += usize::from(subscriber.send_ready(now, buffers));
            self.served.pop_front();
        }
        let ended = self.schedule.note_served(gained, Instant::now);
        if let Some(ended) = ended
            && self.may_poll
            && !pace.polling.is_zero()
            && self.schedule.are_awaited(self.rest_max(pace))
        {
            let until = ended + pace.polling.min(Schedule::PRESSING_TIME);
            self.busy_poll.begin(until, context);
        }
        Poll::Pending
    }

    fn rest_max(&self, pace: SchedulerPace) -> Duration {
        match self.timer.is_possible() {
            true => pace.rest_max,
            false => Duration::ZERO,
        }
    }

    /// Rests before a round if the schedule says so; whether it does.
    fn begin_rest(&mut self, now: Instant, rest_max: Duration, context: &mut Context<'_>) -> bool {
        let Some(rest) = self.schedule.rest(now, rest_max) else {
            return false;
        };
        let is_resting = self.timer.begin(rest) && self.timer.poll(context).is_pending();
        self.ready.set_resting(is_resting);
        if is_resting {
            self.schedule.note_rest();
            // Some have as many events already as a rest is to bring: their delivery tasks send these.
            for subscriber in self.ready.all() {
                subscriber.wake_delivery_if_pressed();
            }
        }
        is_resting
    }
}

impl Drop for Scheduler<'_> {
    fn drop(&mut self) {
        let left = self.ready.end();
        // If it panicked, the first of these was being served.
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
struct Buffers {
    runs: Vec<Events>,
    events: Vec<Event>,
}

/// What was taken from a queue.
struct Taken {
    position: SendPosition,
    /// Whether nothing is left, so that the next event makes the subscriber ready again.
    is_all: bool,
}

impl Subscriber {
    /// Sends what is queued, or wakes the delivery task for it; whether there were several events, or the delivery task has
    /// some.
    fn send_ready(self: &Arc<Self>, now: Instant, buffers: &mut Buffers) -> bool {
        let Some(taken) = self.take_ready(&mut buffers.runs) else {
            self.wake_delivery();
            return true;
        };
        for run in buffers.runs.drain(..) {
            run.append_to(&mut buffers.events);
        }
        let are_several = buffers.events.len() > 1;
        let is_sent = !buffers.events.is_empty()
            && self.forward_at_once(&taken.position, &mut buffers.events, now);
        if !is_sent {
            self.lock().in_flight().give_back(&mut buffers.events);
        }
        if !is_sent || !taken.is_all {
            self.wake_delivery();
        }
        are_several
    }

    /// Takes what the window allows; `None` if that is up to the delivery task.
    fn take_ready(&self, runs: &mut Vec<Events>) -> Option<Taken> {
        let mut shared = self.lock();
        if shared.subscription.has_gap_to_tell() {
            return None;
        }
        let in_flight = shared.in_flight();
        let room = Room::beside(in_flight.load(), self.outstanding_max()?)?;
        if !in_flight.begin_sending() {
            return None;
        }
        let position = in_flight.position();
        let subscription = &mut shared.subscription;
        // There is no gap in front of these, as was checked.
        let _ = subscription.take(room.events, room.bytes, runs);
        let is_all = subscription.next_step(1) == DeliveryStep::Wait;
        let is_roomy = subscription.is_roomy();
        let notice = subscription.poll_notice();
        drop(shared);
        if is_roomy {
            self.call_in();
        }
        self.tell(notice);
        Some(Taken { position, is_all })
    }
}

#[cfg(test)]
mod tests;
