//! The delivery scheduler: one task that sends to all twoway subscribers whose events need no wait.
//!
//! A delivery task leaves its window to the scheduler while it waits for events, has nothing to send again, and has a
//! connection. The tasks that read publishers then add the subscriber to the ready queue. The scheduler takes one ready
//! subscriber after the other and sends as many of its events as its window allows. If an event needs a wait, the
//! scheduler wakes the delivery task of the subscriber, which sends it.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use floe::forwarding::Events;
use tokio::runtime::{Handle, RuntimeFlavor};

use super::busy_poll::BusyPoll;
use super::fast_path::SendPosition;
use super::runs::divide;
use super::timer::Timer;
use crate::core::{DeliveryStep, Schedule, WindowRoom};
use crate::service::subscriber::{ReadyQueue, SchedulerPace, Subscriber};

/// Runs until it is dropped. Each delivery task then sends its own events.
pub(crate) async fn serve(ready: &ReadyQueue) {
    let mut scheduler = Scheduler::new(ready);
    let mut buffers = Buffers::default();
    poll_fn(|context| scheduler.poll(context, &mut buffers)).await
}

/// The number of subscribers that one poll serves, so that other tasks get their turn.
const SERVED_MAX: usize = 64;

struct Scheduler<'a> {
    ready: &'a ReadyQueue,
    /// Subscribers that this poll still has to serve. The first one is being served.
    served: VecDeque<Arc<Subscriber>>,
    schedule: Schedule,
    timer: Timer,
    busy_poll: BusyPoll,
    /// True if the scheduler may keep the thread of the runtime awake, because the runtime has only that one.
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

    /// Serves some of the subscribers that are ready. It never completes.
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
            // Subscribers that become ready during the rest have no waker to wake: the timer wakes the scheduler.
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
            && self.schedule.expects_events(self.rest_max(pace))
        {
            let until = ended + pace.polling.min(Schedule::GAP_MAX);
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

    /// Rests before a round if the schedule says so. Returns true if it rests.
    fn begin_rest(&mut self, now: Instant, rest_max: Duration, context: &mut Context<'_>) -> bool {
        let Some(rest) = self.schedule.rest(now, rest_max) else {
            return false;
        };
        let is_resting = self.timer.begin(rest) && self.timer.poll(context).is_pending();
        self.ready.set_resting(is_resting);
        if is_resting {
            self.schedule.note_rest();
            // If a subscriber has as many events already as a rest could bring, they do not wait: its delivery task
            // sends them.
            for subscriber in self.ready.all() {
                subscriber.wake_delivery_if_full_batch();
            }
        }
        is_resting
    }
}

impl Drop for Scheduler<'_> {
    fn drop(&mut self) {
        let left = self.ready.end();
        // If the scheduler panicked, it was serving the first of these.
        if let Some(subscriber) = self.served.front() {
            subscriber.settle_taken();
        }
        for subscriber in self.served.drain(..).chain(left) {
            subscriber.wake_delivery();
        }
    }
}

/// Empty lists that keep their memory from poll to poll.
#[derive(Default)]
struct Buffers {
    batches: Vec<Events>,
    runs: Vec<Events>,
}

/// Events that were taken from a queue.
struct ReadyEvents {
    position: SendPosition,
    /// True if the queue is empty now, so that the next event makes the subscriber ready again.
    is_all: bool,
}

impl Subscriber {
    /// Sends queued events, or wakes the delivery task to do so. Returns true if there was more than one event, or if
    /// the delivery task has some.
    fn send_ready(self: &Arc<Self>, now: Instant, buffers: &mut Buffers) -> bool {
        let Some(taken) = self.take_ready(now, &mut buffers.batches) else {
            self.wake_delivery();
            return true;
        };
        let Buffers { batches, runs } = buffers;
        divide(batches, self.qos().group, runs);
        let are_several = runs.len() > 1 || runs.first().is_some_and(|run| run.len() > 1);
        let is_sent = !runs.is_empty() && self.send_now(&taken.position, runs, now);
        if !is_sent {
            self.lock().in_flight().give_back(runs);
        }
        if !is_sent || !taken.is_all {
            self.wake_delivery();
        }
        are_several
    }

    /// Takes as many events as the window allows. Returns `None` if the delivery task has to decide.
    fn take_ready(&self, now: Instant, batches: &mut Vec<Events>) -> Option<ReadyEvents> {
        let mut shared = self.lock();
        // Every path from here wakes the delivery task or asks for its next step again, so events that expire need not wake it.
        shared.subscription.expire(now);
        if shared.subscription.has_gap_to_notify() {
            return None;
        }
        let in_flight = shared.in_flight();
        let room = WindowRoom::beside(in_flight.load(), in_flight.window_size())?;
        if !in_flight.begin_sending() {
            return None;
        }
        let position = in_flight.position();
        let oldest = shared.subscription.oldest();
        shared.note_batch(self.latencies(), oldest);
        let subscription = &mut shared.subscription;
        // No gap precedes these events, as checked above.
        self.latencies().note_wait(oldest);
        subscription.take_unexpired(room.events, room.bytes, batches, || now);
        let is_all = subscription.next_step(1) == DeliveryStep::Wait;
        if let Some(notice) = self.unlock(shared, false, || now) {
            self.log_notice(notice);
        }
        Some(ReadyEvents { position, is_all })
    }
}

#[cfg(test)]
mod tests;
