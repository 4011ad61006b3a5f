//! One subscriber: its queue, its state, and an account of every event.

use std::time::{Duration, Instant};

use super::accounts::Accounts;
use super::limits::{OverflowPolicy, QueueLimits};
use super::overflow::{Overflow, OverflowNotice, OverflowSummary};
use super::qos::{Delivery, Qos, RetryCount};
use super::queue::{Queue, Run};
use super::snapshot::{Snapshot, State};

/// A subscriber as a state machine: events and the outcomes of deliveries go in, events to deliver
/// come out.
///
/// ```text
///           failure, tolerated            first event after the interval
/// Online ---------------------> Offline -------------------------------> Online
///   | failure, hard or not tolerated          any: remove, or a full queue that is to end it
///   +---------------> Failed ----next event----> Gone
/// ```
///
/// While it is offline, events are discarded. In `Failed` the queue is empty; the next event makes
/// it `Gone`, which is the sign to end the subscription. What is collected for a batch still leaves
/// when the subscription is removed, and it is `Gone` then.
///
/// Source: Ice manual, "IceStorm Subscriber Error Handling"; observed: IceStorm 3.7.8.
#[derive(Debug)]
pub(crate) struct Subscription<R> {
    queue: Queue<R>,
    limits: QueueLimits,
    state: State,
    /// The time after which an offline subscriber is tried again; none if that is too far away to
    /// be told.
    offline_until: Option<Instant>,
    retry_count: RetryCount,
    discard_interval: Duration,
    /// Only the answer of a twoway subscriber proves that it lives.
    is_twoway: bool,
    /// Whether events wait here until there are enough of them for a batch.
    is_batched: bool,
    failure_count: u32,
    /// Whether the last thing that was heard of its connection is that it broke; after an interval offline it has
    /// another one.
    has_broken: bool,
    accounts: Accounts,
    outstanding: u64,
    is_draining: bool,
    /// Whether it is gone once the queue is empty.
    is_leaving: bool,
    overflow: Overflow,
    /// Whether the subscriber wants to know of events that it lost before the next.
    notices_gaps: bool,
    /// Events whose publishers wait for room: they are not counted before there is some, or never will be.
    waiting: u64,
    /// Queued bytes at which the delivery wants to be woken; it is not parked if there is none.
    wake_at: Option<usize>,
}

/// How a delivery failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Failure {
    /// It will not work later either: the object does not exist.
    Hard,
    /// Perhaps it works later.
    Soft,
    /// The connection broke while events were written that get no answer. Those that follow leave over another one, as
    /// in IceStorm, so that it is a failure like others only if that one takes none either.
    Broken,
    /// The hub is shutting down, or has too few descriptors: it says nothing of the subscriber.
    Ours,
}

/// What a delivery does next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DeliveryStep {
    /// It has events to deliver, and says later what became of them.
    Deliver,
    /// It waits until it is woken.
    Wait,
    /// It ends.
    End,
}

impl<R: Run> Subscription<R> {
    /// `limits` are the hub's; the subscriber may have asked for less.
    pub(crate) fn new(qos: &Qos, limits: QueueLimits, discard_interval: Duration) -> Self {
        Self {
            queue: Queue::new(),
            limits: qos.limits_within(limits),
            state: State::Online,
            offline_until: None,
            retry_count: qos.retry_count,
            discard_interval,
            is_twoway: matches!(qos.delivery, Delivery::Twoway { .. } | Delivery::Link),
            is_batched: qos.delivery == Delivery::Batch,
            failure_count: 0,
            has_broken: false,
            accounts: Accounts::default(),
            outstanding: 0,
            is_draining: false,
            is_leaving: false,
            overflow: Overflow::default(),
            notices_gaps: qos.lost_facet.is_some(),
            waiting: 0,
            wake_at: None,
        }
    }

    /// Events were published. True if the delivery must be woken. A subscription that has ended
    /// takes no notice.
    pub(crate) fn handle_events(&mut self, run: R, now: Instant) -> bool {
        if self.takes_at_once(&run) {
            self.queue.push(run, now);
            return self.wake_at_bytes();
        }
        if self.state == State::Gone {
            return false;
        }
        self.end_offline(now);
        let count = run.len() as u64;
        match self.state {
            State::Online if !self.is_draining => {
                let is_woken = self.enqueue(run, now);
                is_woken || self.wake_at_bytes()
            }
            State::Offline => {
                self.accounts.offered += count;
                self.accounts.lost.offline += count;
                self.queue.note_lost(count);
                false
            }
            State::Failed => {
                self.accounts.offered += count;
                self.accounts.lost.removed += count;
                self.end();
                self.wake()
            }
            State::Online | State::Gone => {
                self.accounts.offered += count;
                self.accounts.lost.removed += count;
                false
            }
        }
    }

    /// Whether so many events that came for this subscriber alone are lost because it has failed: unlike those of its
    /// topic they do not end the subscription. Observed: IceStorm 3.7.8.
    pub(crate) fn loses_own(&mut self, count: u64) -> bool {
        let has_failed = self.state == State::Failed;
        if has_failed {
            self.accounts.offered += count;
            self.accounts.lost.removed += count;
        }
        has_failed
    }

    /// Events were published by somebody who waits until there is room for them: those for which
    /// there is none come back, to be offered again. True if the delivery must be woken.
    pub(crate) fn offer(&mut self, mut run: R, now: Instant) -> (bool, Option<R>) {
        if self.takes_at_once(&run) {
            self.queue.push(run, now);
            return (self.wake_at_bytes(), None);
        }
        self.end_offline(now);
        let mut is_woken = false;
        loop {
            let can_wait = self.is_waited_for() && self.state == State::Online && !self.is_draining;
            let room = self.queue.room_for(&run, &self.limits);
            if can_wait && room == 0 && self.can_ever_fit(&run) {
                self.waiting += run.len() as u64;
                return (is_woken, Some(run));
            }
            // What is too long for any queue is lost alone.
            let count = if can_wait { room.max(1) } else { run.len() };
            if count == run.len() {
                return (self.handle_events(run, now) || is_woken, None);
            }
            is_woken |= self.handle_events(run.split_to(count), now);
        }
    }

    /// The same of events that have waited.
    pub(crate) fn offer_again(&mut self, run: R, now: Instant) -> (bool, Option<R>) {
        if self.is_ending() {
            // They were counted when nobody could wait any more.
            return (false, None);
        }
        self.waiting -= run.len() as u64;
        self.offer(run, now)
    }

    /// The publisher of so many events waits behind others, also behind those that began to under a policy that is no
    /// longer in force; false if nobody waits, and they are to be published.
    pub(crate) fn wait_behind(&mut self, count: usize) -> bool {
        let is_waiting = (self.is_waited_for() || self.waiting > 0) && !self.is_ending();
        self.waiting += if is_waiting { count as u64 } else { 0 };
        is_waiting
    }

    /// Holds to other limits from now on. What waits already stays, even if it is too much.
    pub(crate) fn reconfigure(&mut self, limits: QueueLimits, discard_interval: Duration) {
        self.limits = limits;
        self.discard_interval = discard_interval;
        self.end_overflow_if_roomy();
    }

    /// What the delivery does next, if a turn is worth it from `bytes_min` queued bytes on.
    pub(crate) fn next_step(&mut self, bytes_min: usize) -> DeliveryStep {
        let bytes_min = if self.is_draining { 1 } else { bytes_min };
        let is_drained = self.is_draining && self.queue.len() == 0;
        if is_drained && self.is_leaving {
            self.end();
        }
        if self.state == State::Gone || is_drained {
            return DeliveryStep::End;
        }
        if !self.is_due(bytes_min) {
            self.wake_at = Some(bytes_min);
            return DeliveryStep::Wait;
        }
        self.wake_at = None;
        DeliveryStep::Deliver
    }

    /// Gives events to the delivery, which says later what became of them: at least one if there
    /// is any, then as many as the limits allow. How many were lost just before them, for those who
    /// want to know.
    pub(crate) fn take(
        &mut self,
        events_max: usize,
        bytes_max: usize,
        taken: &mut Vec<R>,
    ) -> Option<u64> {
        let before = self.queue.len();
        let queue = &mut self.queue;
        let gap = queue.take(events_max, bytes_max, self.notices_gaps, taken);
        self.outstanding += (before - self.queue.len()) as u64;
        self.end_overflow_if_roomy();
        (self.notices_gaps && gap > 0).then_some(gap)
    }

    /// Whether the subscriber is to be told of lost events before it gets the next one.
    pub(crate) fn has_gap_to_tell(&self) -> bool {
        self.notices_gaps && self.queue.begins_with_gap()
    }

    /// Whether somebody who waits for room may try again: there is some, or it is not waited for.
    pub(crate) fn is_roomy(&self) -> bool {
        self.state != State::Online || self.is_draining || self.queue.is_half_empty(&self.limits)
    }

    /// Whether events are not to wait for others: as many as leave at a time are there, or the queue is half full.
    pub(crate) fn is_pressed(&self, events_max: usize) -> bool {
        self.queue.len() >= events_max || !self.is_roomy()
    }

    /// Whether publishers may wait for room.
    pub(crate) fn is_waited_for(&self) -> bool {
        self.limits.overflow == OverflowPolicy::Block
    }

    /// What is worth telling people since the last call.
    pub(crate) fn poll_notice(&mut self) -> Option<OverflowNotice> {
        self.overflow.poll_notice()
    }

    /// After how long somebody is to come for a summary, if nobody is to already: to be asked after each notice.
    pub(crate) fn await_summary(&mut self) -> Option<Duration> {
        self.overflow.await_summary()
    }

    /// What happened to its queue that was not told as it happened; if there is anything, there may be more after the
    /// same time.
    pub(crate) fn poll_summary(&mut self, now: Instant) -> Option<OverflowSummary> {
        self.overflow.poll_summary(self.accounts.lost.overflow, now)
    }

    /// The subscriber surely did not learn of these that it lost: the next notice tells of them.
    pub(crate) fn handle_untold(&mut self, count: u64) {
        self.queue.note_lost_before(count);
    }

    /// Events reached the subscriber.
    pub(crate) fn handle_delivered(&mut self, count: u64) {
        self.outstanding -= count;
        self.accounts.delivered += count;
        self.has_broken = false;
        if self.is_twoway {
            self.failure_count = 0;
        }
    }

    /// The delivery of events failed. Together they are one failure.
    pub(crate) fn handle_failed(&mut self, count: u64, failure: Failure, now: Instant) {
        self.outstanding -= count;
        self.accounts.lost.failed += count;
        self.queue.note_lost_before(count);
        if self.state != State::Online || failure == Failure::Ours {
            return;
        }
        if failure == Failure::Broken && !std::mem::replace(&mut self.has_broken, true) {
            return;
        }
        if failure != Failure::Hard && self.retry_count.tolerates(self.failure_count) {
            self.failure_count += 1;
            self.state = State::Offline;
            self.has_broken = false;
            self.offline_until = now.checked_add(self.discard_interval);
            self.accounts.lost.offline += self.queue.clear() as u64;
            self.end_overflow_if_roomy();
        } else {
            self.fail();
        }
    }

    /// Ends the subscription. True if the delivery must be woken. What is queued is lost, unless it waits for nothing
    /// but the end of an interval: that leaves now, as IceStorm gives it to the connection when it is published. What is
    /// behind a batch under way waits for a subscriber that is slow.
    pub(crate) fn remove(&mut self) -> bool {
        if self.is_batched && self.outstanding == 0 && self.queue.len() > 0 {
            self.is_leaving = true;
            return self.drain();
        }
        self.accounts.lost.removed += self.queue.clear() as u64;
        self.end_overflow_if_roomy();
        self.end();
        self.wake()
    }

    /// Takes no more events, and ends the delivery once the queue is empty. True if it must be woken.
    pub(crate) fn drain(&mut self) -> bool {
        self.is_draining = true;
        self.end_waits();
        self.wake()
    }

    pub(crate) fn snapshot(&self) -> Snapshot {
        Snapshot {
            state: self.state,
            accounts: self.accounts,
            queued: self.queue.len() as u64,
            queued_bytes: self.queue.bytes() as u64,
            outstanding: self.outstanding,
            oldest: self.queue.oldest(),
        }
    }

    pub(crate) fn state(&self) -> State {
        self.state
    }

    /// How long events are discarded after a failure that is tolerated.
    pub(crate) fn discard_interval(&self) -> Duration {
        self.discard_interval
    }

    /// Whether it was removed, and its last batch is still to arrive.
    pub(crate) fn is_leaving(&self) -> bool {
        self.is_leaving
    }

    /// Whether events have nothing to wait for and lose nothing, as nearly all; they are counted then, and to be
    /// queued.
    #[inline]
    fn takes_at_once(&mut self, run: &R) -> bool {
        let is_taken = self.state == State::Online
            && !self.is_draining
            && self.queue.has_room_for_all(run, &self.limits);
        if is_taken {
            self.accounts.offered += run.len() as u64;
        }
        is_taken
    }

    fn end(&mut self) {
        self.state = State::Gone;
        self.end_waits();
    }

    /// Whoever waits for room waits in vain: the events are lost.
    fn end_waits(&mut self) {
        let count = std::mem::take(&mut self.waiting);
        self.accounts.offered += count;
        self.accounts.lost.removed += count;
    }

    /// Whether there will never be room again.
    fn is_ending(&self) -> bool {
        self.state == State::Gone || self.is_draining
    }

    fn end_offline(&mut self, now: Instant) {
        if self.state == State::Offline && self.offline_until.is_some_and(|until| now >= until) {
            self.state = State::Online;
        }
    }

    /// Queues events. True if the subscription ended with one of them and the delivery must be woken.
    fn enqueue(&mut self, mut run: R, now: Instant) -> bool {
        if self.queue.room_for(&run, &self.limits) == run.len() {
            self.accounts.offered += run.len() as u64;
            self.queue.push(run, now);
            return false;
        }
        while run.len() > 1 && self.state == State::Online {
            self.enqueue_one(run.split_to(1), now);
        }
        if self.state == State::Online {
            self.enqueue_one(run, now);
        }
        self.state == State::Gone && self.wake()
    }

    fn enqueue_one(&mut self, event: R, now: Instant) {
        self.accounts.offered += 1;
        if self.queue.room_for(&event, &self.limits) > 0 {
            // Most of what it came with may be lost, and a queue of such events would hold many times its limit.
            return self.queue.push(event.detached(), now);
        }
        match self.limits.overflow {
            OverflowPolicy::DropOldest if self.can_ever_fit(&event) => {
                self.make_room_for(event, now);
            }
            OverflowPolicy::Disconnect => {
                self.accounts.lost.overflow += 1;
                self.accounts.lost.removed += self.queue.clear() as u64;
                self.end();
                self.overflow.disconnect();
            }
            _ => {
                match event.byte_len() > self.limits.bytes {
                    true => self
                        .overflow
                        .note_too_long(event.byte_len(), &self.limits, now),
                    false => self.begin_overflow(now),
                }
                self.accounts.lost.overflow += 1;
                self.queue.note_lost(1);
            }
        }
    }

    fn make_room_for(&mut self, event: R, now: Instant) {
        self.begin_overflow(now);
        while self.queue.room_for(&event, &self.limits) == 0 && self.queue.drop_oldest() {
            self.accounts.lost.overflow += 1;
        }
        self.queue.push(event, now);
    }

    /// Whether an empty queue has room for the first of these.
    fn can_ever_fit(&self, run: &R) -> bool {
        run.byte_len_of(1) <= self.limits.bytes && self.limits.events > 0
    }

    fn begin_overflow(&mut self, now: Instant) {
        let lost = self.accounts.lost.overflow;
        self.overflow.begin(self.limits.overflow, lost, now);
    }

    fn end_overflow_if_roomy(&mut self) {
        if self.overflow.lasts() && self.queue.is_half_empty(&self.limits) {
            self.overflow.end(self.accounts.lost.overflow);
        }
    }

    fn fail(&mut self) {
        self.state = State::Failed;
        self.accounts.lost.removed += self.queue.clear() as u64;
        self.end_overflow_if_roomy();
    }

    fn wake_at_bytes(&mut self) -> bool {
        self.wake_at.is_some_and(|bytes| self.is_due(bytes)) && self.wake()
    }

    /// Whether it is time to deliver: there are so many bytes, or the queue is half full.
    fn is_due(&self, bytes_min: usize) -> bool {
        self.queue.bytes() >= bytes_min || !self.queue.is_half_empty(&self.limits)
    }

    /// Whether the delivery is parked; it is woken once.
    fn wake(&mut self) -> bool {
        self.wake_at.take().is_some()
    }
}

#[cfg(test)]
mod tests;
