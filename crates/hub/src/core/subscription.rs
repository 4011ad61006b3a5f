//! A subscriber: its queue, its state, and an account of every event.

use std::time::{Duration, Instant};

use super::accounts::Accounts;
use super::availability::{Availability, DeliveryFailure};
use super::held::{HeldPublications, TakenAmount, Ticket};
use super::lifespan::Timing;
use super::limits::{OverflowPolicy, QueueLimits};
use super::outstanding::Outstanding;
use super::overflow::{Overflow, OverflowNotice, OverflowSummary};
use super::qos::{DeliveryMode, Qos};
use super::queue::{EventBatch, Queue};
use super::queue_memory::QueueUse;
use super::snapshot::{Snapshot, SubscriptionState};

/// A subscriber as a state machine. Events and the results of deliveries go in; events to deliver come out.
///
/// Its failures decide its [`Availability`]. While it is offline, events are discarded. After it has failed the queue is
/// empty, and the next event ends the subscription. If the subscription is removed while events are collected for a
/// batch, the batch is still sent, and the subscription ends after that.
#[derive(Debug)]
pub(crate) struct Subscription<R> {
    queue: Queue<R>,
    limits: QueueLimits,
    availability: Availability,
    /// Whether events stay in the queue until they are enough for a batch.
    is_batched: bool,
    accounts: Accounts,
    outstanding: Outstanding,
    is_draining: bool,
    /// Whether it becomes `Gone` when the queue is empty.
    is_leaving: bool,
    overflow: Overflow,
    /// The subscriber wants no older events than this.
    lifespan: Option<Duration>,
    /// Whether the subscriber is notified of lost events before the next event.
    notices_gaps: bool,
    /// Publications that wait for room. Their events count as offered when there is room, or when they are held no
    /// longer. It is created when the first one is held.
    held: Option<Box<HeldPublications<R>>>,
    /// The queued bytes at which the delivery task is woken; `None` if it does not wait.
    wake_at: Option<usize>,
    /// Whether the shell must wake the delivery task.
    must_wake: bool,
}

/// What the delivery task does next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DeliveryStep {
    /// It delivers events, and then reports the result.
    Deliver,
    /// It waits until it is woken.
    Wait,
    /// It ends.
    End,
}

impl<R: EventBatch> Subscription<R> {
    /// `limits` are the hub's; the subscriber may have asked for lower ones.
    pub(crate) fn new(qos: &Qos, limits: QueueLimits, discard_interval: Duration) -> Self {
        Self {
            queue: Queue::new(),
            limits: qos.limits_within(limits),
            availability: Availability::new(qos, discard_interval),
            is_batched: qos.delivery == DeliveryMode::Batch,
            accounts: Accounts::default(),
            outstanding: Outstanding::default(),
            is_draining: false,
            is_leaving: false,
            overflow: Overflow::default(),
            lifespan: qos.lifespan,
            notices_gaps: qos.lost_facet.is_some(),
            held: None,
            wake_at: None,
            must_wake: false,
        }
    }

    /// Events were published. Events for which there is no room are held back if the subscriber still has patience; the
    /// publisher then waits until its ticket is released.
    ///
    /// `waits_for_room` says that the publisher asked to wait without a limit. It does so if the policy allows it.
    pub(crate) fn publish(
        &mut self,
        batch: R,
        waits_for_room: bool,
        timing: impl Into<Timing>,
    ) -> Option<Ticket> {
        let timing = timing.into().within(self.lifespan);
        if !self.has_held() && self.accepts_all(&batch) {
            self.queue.push(batch, timing);
            self.wake_at_bytes();
            return None;
        }
        let now = timing.came;
        self.availability.handle_time(now);
        self.expire(now);
        let waits_for_room = waits_for_room && self.limits.overflow == OverflowPolicy::Block;
        if !self.may_hold(waits_for_room, now) {
            self.handle_events(batch, timing);
            return None;
        }
        let rest = match self.has_held() {
            false => self.fill(batch, timing, now),
            true => Some(batch),
        };
        self.wake_at_bytes();
        let held = self.held.get_or_insert_default();
        rest.map(|rest| held.push(rest, waits_for_room, timing))
    }

    /// Whether the delivery task must be woken, because of a change since the last call or the last step.
    pub(crate) fn poll_wake(&mut self) -> bool {
        std::mem::take(&mut self.must_wake)
    }

    fn has_held(&self) -> bool {
        self.held.as_ref().is_some_and(|held| !held.is_empty())
    }

    /// Drops the events whose time is over, as far as no other event waits before them. Held publications get their room.
    pub(crate) fn expire(&mut self, now: Instant) {
        if !self.queue.has_expiring() {
            return;
        }
        // Held publications may have expired, too.
        loop {
            let count = self.queue.drop_expired(now);
            if count == 0 {
                return;
            }
            self.accounts.lost.expired += count;
            self.end_overflow_if_roomy();
            self.admit_held(now);
        }
    }

    /// Whether a publication waits for room; `Some(None)` if it does so without a limit, and otherwise the time at which
    /// [`Subscription::handle_time`] is due.
    pub(crate) fn held_until(&self, ticket: Ticket) -> Option<Option<Instant>> {
        let held = self.held.as_ref()?;
        held.deadline(ticket, self.limits.patience)
    }

    /// Releases publications if the patience is over: the policy decides about their events.
    pub(crate) fn handle_time(&mut self, now: Instant) {
        let Some(held) = &mut self.held else {
            return;
        };
        if !held.patience.end(self.limits.patience, now) {
            return;
        }
        while let Some(held) = &mut self.held
            && let Some(first) = held.take_first_impatient()
        {
            held.note_released();
            self.handle_events(first.batch, first.timing.at(now));
        }
        self.end_hold_if_empty(now);
    }

    /// Whether publications were released since the last call.
    pub(crate) fn poll_released(&mut self) -> bool {
        self.held.as_mut().is_some_and(|held| held.poll_released())
    }

    /// Events were published, and are not held back. A subscription that has ended ignores them.
    fn handle_events(&mut self, batch: R, timing: impl Into<Timing>) {
        let timing = timing.into();
        let now = timing.came;
        if self.accepts_all(&batch) {
            self.queue.push(batch, timing);
            return self.wake_at_bytes();
        }
        if self.state() == SubscriptionState::Gone {
            return;
        }
        self.availability.handle_time(now);
        let count = batch.len() as u64;
        if self.is_accepting() {
            self.enqueue(batch, timing, now);
            return self.wake_at_bytes();
        }
        self.accounts.offered += count;
        match self.state() {
            SubscriptionState::Offline => {
                self.accounts.lost.offline += count;
                self.queue.note_lost(count);
            }
            SubscriptionState::Failed => {
                self.accounts.lost.removed += count;
                self.end(now);
                self.wake();
            }
            SubscriptionState::Online | SubscriptionState::Gone => {
                self.accounts.lost.removed += count;
            }
        }
    }

    /// Whether new events go into the queue.
    fn is_accepting(&self) -> bool {
        self.state() == SubscriptionState::Online && !self.is_draining
    }

    /// Whether this many events for this subscriber alone are lost because it has failed. Unlike events of its topic,
    /// they do not end the subscription. Observed: IceStorm 3.7.8.
    pub(crate) fn loses_own(&mut self, count: u64) -> bool {
        let has_failed = self.state() == SubscriptionState::Failed;
        if has_failed {
            self.accounts.offered += count;
            self.accounts.lost.removed += count;
        }
        has_failed
    }

    /// Events had passed too many hubs, and are not queued. A subscription that has ended ignores them.
    pub(crate) fn handle_looped(&mut self, count: u64, now: Instant) {
        if self.state() == SubscriptionState::Gone {
            return;
        }
        self.accounts.offered += count;
        self.accounts.lost.looped += count;
        self.queue.note_lost(count);
        self.overflow.note_looped(count, now);
    }

    /// Puts other limits in force. Queued events stay, even if they exceed the new limits.
    pub(crate) fn reconfigure(
        &mut self,
        limits: QueueLimits,
        discard_interval: Duration,
        now: Instant,
    ) {
        self.limits = limits;
        self.availability.discard_interval = discard_interval;
        self.end_overflow_if_roomy();
        if self.limits.overflow != OverflowPolicy::Block
            && let Some(held) = &mut self.held
        {
            held.limit_all(now);
        }
        self.admit_held(now);
        self.handle_time(now);
    }

    /// What the delivery task does next, if it is worth delivering from `bytes_min` queued bytes on.
    pub(crate) fn next_step(&mut self, bytes_min: usize) -> DeliveryStep {
        self.must_wake = false;
        let bytes_min = if self.is_draining { 1 } else { bytes_min };
        let is_drained = self.is_draining && self.queue.len() == 0;
        if is_drained && self.is_leaving {
            // Nothing is held any more since it began to leave.
            self.availability.end();
        }
        if self.state() == SubscriptionState::Gone || is_drained {
            return DeliveryStep::End;
        }
        if !self.is_due(bytes_min) {
            self.wake_at = Some(bytes_min);
            return DeliveryStep::Wait;
        }
        self.wake_at = None;
        DeliveryStep::Deliver
    }

    /// The same if events are pulled, and a program wants some or none does. When the hub shuts down, the delivery ends
    /// although there are events: no program may ever ask for them.
    pub(crate) fn next_step_of_pull(&mut self, is_wanted: bool) -> DeliveryStep {
        self.must_wake = false;
        if self.state() == SubscriptionState::Gone || self.is_draining {
            return DeliveryStep::End;
        }
        if is_wanted && self.queue.len() > 0 {
            self.wake_at = None;
            return DeliveryStep::Deliver;
        }
        self.wake_at = Some(if is_wanted { 1 } else { usize::MAX });
        DeliveryStep::Wait
    }

    /// Gives events to the delivery task, which later reports the result: at least one if there is any, and then as many as
    /// the limits allow. Held publications get the room. Returns the number of events that were lost just before the taken
    /// ones, if the subscriber is to be notified. Events whose time is over are dropped before. `now` is called only if
    /// some have a lifespan, or publishers are or were held back.
    pub(crate) fn take(
        &mut self,
        events_max: usize,
        bytes_max: usize,
        taken: &mut Vec<R>,
        now: impl Fn() -> Instant,
    ) -> Option<u64> {
        if self.queue.has_expiring() {
            self.expire(now());
        }
        self.take_unexpired(events_max, bytes_max, taken, now)
    }

    /// The same without a look at the time of the events, for a caller that has called [`Subscription::expire`].
    pub(crate) fn take_unexpired(
        &mut self,
        events_max: usize,
        bytes_max: usize,
        taken: &mut Vec<R>,
        now: impl Fn() -> Instant,
    ) -> Option<u64> {
        let (before, bytes_before) = (self.queue.len(), self.queue.bytes());
        let queue = &mut self.queue;
        let time = queue.has_expiring().then(&now);
        let gap = queue.take(events_max, bytes_max, self.notices_gaps, time, taken);
        let events = before - self.queue.len();
        let bytes = bytes_before - self.queue.bytes();
        self.outstanding.add(events as u64, bytes as u64);
        self.end_overflow_if_roomy();
        self.handle_taken(TakenAmount { events, bytes }, now);
        (self.notices_gaps && gap > 0).then_some(gap)
    }

    /// When the event came that waits longest.
    pub(crate) fn oldest(&self) -> Option<Instant> {
        self.queue.oldest()
    }

    /// Whether the subscriber must be notified of lost events before it gets the next one.
    pub(crate) fn has_gap_to_notify(&self) -> bool {
        self.notices_gaps && self.queue.begins_with_gap()
    }

    /// Whether there are so many events that they should not wait for others: as many as leave at a time, or half a
    /// queue.
    pub(crate) fn has_full_batch(&self, events_max: usize) -> bool {
        let is_roomy = !self.is_accepting() || self.queue.is_half_empty(&self.limits);
        self.queue.len() >= events_max || !is_roomy
    }

    /// The notice since the last call.
    pub(crate) fn poll_notice(&mut self) -> Option<OverflowNotice> {
        self.overflow.poll_notice()
    }

    /// When the shell should poll the summary, if it has not been asked already. To be called after each notice.
    pub(crate) fn await_summary(&mut self) -> Option<Duration> {
        self.overflow.await_summary()
    }

    /// What happened to the queue and was not logged then. If there is something, the shell polls again after the same
    /// time.
    pub(crate) fn poll_summary(&mut self, now: Instant) -> Option<OverflowSummary> {
        self.overflow.poll_summary(self.accounts.lost.overflow, now)
    }

    /// A notification of lost events surely did not arrive: the next one includes these.
    pub(crate) fn handle_unnotified(&mut self, count: u64) {
        self.queue.note_lost_before(count);
    }

    /// Events with so many bytes were taken from the log of the topic, and are being delivered.
    pub(crate) fn handle_read(&mut self, count: u64, bytes: u64) {
        self.accounts.offered += count;
        self.outstanding.add(count, bytes);
    }

    /// Events that were taken from the log are not delivered now: they count when they are taken again.
    pub(crate) fn handle_unread(&mut self, count: u64) {
        self.accounts.offered -= count;
        self.outstanding.settle(count);
    }

    /// Events that were taken from the log became dead letters.
    pub(crate) fn handle_dead(&mut self, count: u64) {
        self.outstanding.settle(count);
        self.accounts.lost.failed += count;
    }

    /// The log does not have events any more that were meant for the subscriber.
    pub(crate) fn handle_trimmed(&mut self, count: u64) {
        self.accounts.offered += count;
        self.accounts.lost.overflow += count;
        self.queue.note_lost_before(count);
    }

    /// The lifespan of events of the log was over before they were delivered.
    pub(crate) fn handle_expired(&mut self, count: u64) {
        self.accounts.offered += count;
        self.accounts.lost.expired += count;
        self.queue.note_lost_before(count);
    }

    /// The number of lost events of which the subscriber is to be notified now, and is not later.
    pub(crate) fn take_gap(&mut self) -> Option<u64> {
        let gap = self.queue.take_first_gap();
        (self.notices_gaps && gap > 0).then_some(gap)
    }

    /// Events reached the subscriber.
    pub(crate) fn handle_delivered(&mut self, count: u64) {
        self.outstanding.settle(count);
        self.accounts.delivered += count;
        self.availability.handle_delivered();
    }

    /// The delivery of events failed. They count as one failure.
    pub(crate) fn handle_failed(&mut self, count: u64, failure: DeliveryFailure, now: Instant) {
        self.outstanding.settle(count);
        self.accounts.lost.failed += count;
        self.queue.note_lost_before(count);
        if !self.availability.handle_failure(failure, now) {
            return;
        }
        let queued = self.queue.clear() as u64;
        match self.state() {
            SubscriptionState::Offline => self.accounts.lost.offline += queued,
            _ => self.accounts.lost.removed += queued,
        }
        self.end_overflow_if_roomy();
        self.release_held(now);
    }

    /// Ends the subscription. Queued events are lost, with one exception: a batch that only waits for its interval is sent
    /// now, since IceStorm would have given it to the connection already. Events behind a batch that is being sent are
    /// lost: the subscriber is slow.
    pub(crate) fn remove(&mut self, now: Instant) {
        if self.is_batched && self.outstanding.count == 0 && self.queue.len() > 0 {
            self.is_leaving = true;
            return self.drain(now);
        }
        self.accounts.lost.removed += self.queue.clear() as u64;
        self.end_overflow_if_roomy();
        self.end(now);
        self.wake();
    }

    /// Accepts no more events, and ends the delivery when the queue is empty.
    pub(crate) fn drain(&mut self, now: Instant) {
        self.is_draining = true;
        self.lose_held(now);
        self.wake();
    }

    pub(crate) fn snapshot(&self) -> Snapshot {
        Snapshot {
            state: self.state(),
            is_leaving: self.is_leaving,
            accounts: self.accounts,
            queued: self.queue.len() as u64,
            queued_bytes: self.queue.bytes() as u64,
            outstanding: self.outstanding.count,
            oldest: self.queue.oldest(),
            held: self.held.as_ref().map_or(0, |held| held.len() as u64),
            held_bytes: self.held.as_ref().map_or(0, |held| held.byte_len() as u64),
            held_since: self.held.as_ref().and_then(|held| held.since()),
        }
    }

    /// The memory that it holds.
    pub(crate) fn queue_use(&self) -> QueueUse {
        let held = self.held.as_ref();
        let held_len = held.map_or(0, |held| held.byte_len());
        let held_exclusive = held.map_or(0, |held| held.exclusive_byte_len());
        let exclusive = self.queue.exclusive_bytes() + held_exclusive;
        let newest = held.and_then(|held| held.newest()).or(self.queue.newest());
        let oldest = self.queue.oldest().or(newest);
        QueueUse {
            shared: (self.queue.bytes() + held_len - exclusive) as u64,
            exclusive: exclusive as u64,
            outstanding: self.outstanding.bytes,
            span: oldest.zip(newest),
        }
    }

    pub(crate) fn state(&self) -> SubscriptionState {
        self.availability.state()
    }

    /// How long events are discarded after a failure that is tolerated.
    pub(crate) fn discard_interval(&self) -> Duration {
        self.availability.discard_interval
    }

    /// Whether it was removed and its last batch is still to be sent.
    pub(crate) fn is_leaving(&self) -> bool {
        self.is_leaving
    }

    /// Whether events need no wait and nothing is lost, as usual. They then count as offered, and are to be queued.
    #[inline]
    fn accepts_all(&mut self, batch: &R) -> bool {
        let is_taken = self.is_accepting() && self.queue.has_room_for_all(batch, &self.limits);
        if is_taken {
            self.accounts.offered += batch.len() as u64;
        }
        is_taken
    }

    fn end(&mut self, now: Instant) {
        self.availability.end();
        self.lose_held(now);
    }

    /// Publishers are held back no longer, and their events are lost.
    fn lose_held(&mut self, now: Instant) {
        let Some(held) = &mut self.held else {
            return;
        };
        let count = held.len() as u64;
        self.accounts.held += held.clear(now);
        self.accounts.offered += count;
        self.accounts.lost.removed += count;
    }

    /// Whether publications without room may be held.
    fn may_hold(&mut self, waits_for_room: bool, now: Instant) -> bool {
        let max = self.limits.patience;
        let is_patient = |held: &mut Box<HeldPublications<R>>| held.patience.may_hold(max, now);
        self.is_accepting()
            && (waits_for_room || !max.is_zero() && self.held.as_mut().is_none_or(is_patient))
    }

    /// The subscriber has taken events.
    fn handle_taken(&mut self, taken: TakenAmount, now: impl FnOnce() -> Instant) {
        let is_empty = self.queue.len() == 0;
        let Some(held) = &mut self.held else {
            return;
        };
        if held.note_taken(taken, &self.limits) || is_empty {
            let now = now();
            held.note_progress(now);
            self.admit_held(now);
        }
    }

    /// Queues held publications as far as there is room.
    fn admit_held(&mut self, now: Instant) {
        while let Some(mut first) = self.held.as_mut().and_then(|held| held.take_first()) {
            let rest = self.fill(first.batch, first.timing, now);
            let Some(held) = &mut self.held else {
                break;
            };
            let Some(rest) = rest else {
                held.note_released();
                continue;
            };
            first.batch = rest;
            held.give_back(first);
            break;
        }
        self.end_hold_if_empty(now);
        self.wake_at_bytes();
    }

    /// Queues the first events, as many as there is room for. Returns the others. An event that is too long for any queue
    /// is lost alone.
    fn fill(&mut self, mut batch: R, timing: Timing, now: Instant) -> Option<R> {
        while self.state() == SubscriptionState::Online {
            let room = self.queue.room_for(&batch, &self.limits);
            if room == 0 && self.can_ever_fit(&batch) {
                return Some(batch);
            }
            if room.max(1) == batch.len() {
                self.enqueue(batch, timing, now);
                return None;
            }
            self.enqueue(batch.split_to(room.max(1)), timing, now);
        }
        None
    }

    /// Publications are held no longer, because the subscriber has failed.
    fn release_held(&mut self, now: Instant) {
        while let Some(held) = &mut self.held
            && let Some(first) = held.take_first()
        {
            held.note_released();
            self.handle_events(first.batch, first.timing.at(now));
        }
        self.end_hold_if_empty(now);
    }

    fn end_hold_if_empty(&mut self, now: Instant) {
        if let Some(held) = &mut self.held {
            self.accounts.held += held.end_if_empty(now);
        }
    }

    /// Queues events. If the policy ends the subscription with one of them, the others do not count.
    fn enqueue(&mut self, mut batch: R, timing: Timing, now: Instant) {
        if self.queue.room_for(&batch, &self.limits) == batch.len() {
            self.accounts.offered += batch.len() as u64;
            return self.queue.push(batch, timing);
        }
        while batch.len() > 1 && self.state() == SubscriptionState::Online {
            self.enqueue_one(batch.split_to(1), timing.at(now));
        }
        if self.state() == SubscriptionState::Online {
            self.enqueue_one(batch, timing.at(now));
        }
        if self.state() == SubscriptionState::Gone {
            self.wake();
        }
    }

    fn enqueue_one(&mut self, event: R, timing: Timing) {
        let now = timing.came;
        self.accounts.offered += 1;
        if self.queue.room_for(&event, &self.limits) > 0 {
            // Detached: if most of the events that came with it are lost, it should not keep their memory. A queue of
            // such events could hold many times its limit.
            return self.queue.push(event.detached(), timing);
        }
        match self.limits.overflow {
            OverflowPolicy::DropOldest if self.can_ever_fit(&event) => {
                self.make_room_for(event, timing);
            }
            OverflowPolicy::Disconnect => {
                self.accounts.lost.overflow += 1;
                self.accounts.lost.removed += self.queue.clear() as u64;
                self.end(now);
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

    fn make_room_for(&mut self, event: R, timing: Timing) {
        self.begin_overflow(timing.came);
        while self.queue.room_for(&event, &self.limits) == 0 && self.queue.drop_oldest() {
            self.accounts.lost.overflow += 1;
        }
        self.queue.push(event, timing);
    }

    /// Whether the first of these events fits into an empty queue.
    fn can_ever_fit(&self, batch: &R) -> bool {
        batch.byte_len_of(1) <= self.limits.bytes && self.limits.events > 0
    }

    fn begin_overflow(&mut self, now: Instant) {
        let lost = self.accounts.lost.overflow;
        self.overflow.begin(self.limits.overflow, lost, now);
    }

    /// Drops the oldest events beyond the limits, if that is the policy of the subscriber. Held publications get room that
    /// is left then.
    pub(crate) fn shed(&mut self, now: Instant) {
        let QueueLimits { events, bytes, .. } = self.limits;
        if self.limits.overflow != OverflowPolicy::DropOldest {
            return;
        }
        self.expire(now);
        while self.queue.len() > events || self.queue.bytes() > bytes {
            self.begin_overflow(now);
            if !self.queue.drop_oldest() {
                break;
            }
            self.accounts.lost.overflow += 1;
        }
        self.admit_held(now);
    }

    fn end_overflow_if_roomy(&mut self) {
        if self.overflow.lasts() && self.queue.is_half_empty(&self.limits) {
            self.overflow.end(self.accounts.lost.overflow);
        }
    }

    fn wake_at_bytes(&mut self) {
        if self.wake_at.is_some_and(|bytes| self.is_due(bytes)) {
            self.wake();
        }
    }

    /// Whether it is time to deliver: enough bytes are queued, or the queue is half full.
    fn is_due(&self, bytes_min: usize) -> bool {
        self.queue.bytes() >= bytes_min || !self.queue.is_half_empty(&self.limits)
    }

    /// Lets the shell wake the delivery task, if that waits.
    fn wake(&mut self) {
        self.must_wake |= self.wake_at.take().is_some();
    }
}

#[cfg(test)]
mod tests;
