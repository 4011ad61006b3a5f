//! A subscriber: the events that wait for it, its state, and an account of every event.

use std::time::{Duration, Instant};

use super::availability::{Availability, DeliveryFailure};
use super::backlog::{Backlog, Disconnected};
use super::durable::MissingEvents;
use super::held::{Held, HeldPublications, TakenAmount, Ticket};
use super::lifespan::Timing;
use super::limits::{OverflowPolicy, QueueLimits};
use super::log::GapReason;
use super::outstanding::Outstanding;
use super::overflow::{OverflowNotice, OverflowSummary};
use super::qos::{DeliveryMode, Qos};
use super::queue::EventBatch;
use super::queue_memory::QueueUse;
use super::snapshot::{Snapshot, SubscriptionState};

/// A subscriber as a state machine. Events and the results of deliveries go in; events to deliver come out.
///
/// Its failures decide its [`Availability`]. While it is offline, events are discarded. After it has failed the queue is
/// empty, and the next event ends the subscription. If the subscription is removed while events are collected for a
/// batch, the batch is still sent, and the subscription ends after that.
#[derive(Debug)]
pub(crate) struct Subscription<R> {
    backlog: Backlog<R>,
    availability: Availability,
    /// True if events stay in the queue until there are enough for a batch.
    is_batched: bool,
    outstanding: Outstanding,
    is_draining: bool,
    /// True if it becomes `Gone` when the queue is empty.
    is_leaving: bool,
    /// The subscriber wants no older events than this.
    lifespan: Option<Duration>,
    /// True if the subscriber is notified of lost events before the next event.
    notices_gaps: bool,
    /// The queued bytes at which the delivery task is woken; `None` if it does not wait.
    wake_at: Option<usize>,
    /// True if the shell must wake the delivery task.
    must_wake: bool,
}

/// The next step of the delivery task.
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
            backlog: Backlog::new(qos.limits_within(limits)),
            availability: Availability::new(qos, discard_interval),
            is_batched: qos.delivery == DeliveryMode::Batch,
            outstanding: Outstanding::default(),
            is_draining: false,
            is_leaving: false,
            lifespan: qos.lifespan,
            notices_gaps: qos.lost_facet.is_some(),
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
        if self.backlog.has_held() || !self.accepts_all(&batch) {
            return self.publish_without_room(batch, waits_for_room, timing);
        }
        self.backlog.queue.push(batch, timing);
        self.wake_at_bytes();
        None
    }

    /// Events were published, and there is no room for all of them, or others are held back already.
    #[cold]
    fn publish_without_room(
        &mut self,
        batch: R,
        waits_for_room: bool,
        timing: Timing,
    ) -> Option<Ticket> {
        let now = timing.came;
        self.availability.handle_time(now);
        self.expire(now);
        let waits_for_room =
            waits_for_room && self.backlog.limits.overflow == OverflowPolicy::Block;
        if !self.is_accepting() || !self.backlog.may_hold(waits_for_room, now) {
            self.handle_events(batch, timing);
            return None;
        }
        let held = self.backlog.hold(batch, waits_for_room, timing);
        self.wake_at_bytes();
        self.unless_disconnected(held, now).flatten()
    }

    /// Returns true if the delivery task must be woken, because of a change since the last call or the last step.
    pub(crate) fn poll_wake(&mut self) -> bool {
        std::mem::take(&mut self.must_wake)
    }

    /// Drops expired events from the front of the queue, up to the first event that has not expired. Held publications
    /// get their room.
    pub(crate) fn expire(&mut self, now: Instant) {
        if self.backlog.queue.has_expiring() {
            let expired = self.backlog.expire(now);
            self.handle_admitted(expired, now);
        }
    }

    /// Until when a publication waits for room. `None` if it does not wait, and `Some(None)` if it waits without a limit. At
    /// that time, [`Subscription::handle_time`] is due.
    pub(crate) fn held_until(&self, ticket: Ticket) -> Option<Option<Instant>> {
        let held = self.backlog.held()?;
        held.deadline(ticket, self.backlog.limits.patience)
    }

    /// Releases publications if the patience is over: the policy decides about their events.
    pub(crate) fn handle_time(&mut self, now: Instant) {
        if self.backlog.ends_patience(now) {
            self.release_held(HeldPublications::take_first_impatient, now);
        }
    }

    /// Returns true if publications were released since the last call.
    pub(crate) fn poll_released(&mut self) -> bool {
        self.backlog.poll_released()
    }

    /// Events were published, and are not held back. A subscription that has ended ignores them.
    fn handle_events(&mut self, batch: R, timing: impl Into<Timing>) {
        let timing = timing.into();
        let now = timing.came;
        if self.accepts_all(&batch) {
            self.backlog.queue.push(batch, timing);
            return self.wake_at_bytes();
        }
        if self.state() == SubscriptionState::Gone {
            return;
        }
        self.availability.handle_time(now);
        let count = batch.len() as u64;
        if self.is_accepting() {
            let queued = self.backlog.enqueue(batch, timing, now);
            self.unless_disconnected(queued, now);
            return self.wake_at_bytes();
        }
        self.backlog.accounts.offered += count;
        match self.state() {
            SubscriptionState::Offline => {
                self.backlog.accounts.lost.offline += count;
                self.backlog.queue.note_lost(count);
            }
            SubscriptionState::Failed => {
                self.backlog.accounts.lost.removed += count;
                self.end(now);
                self.wake();
            }
            SubscriptionState::Online | SubscriptionState::Gone => {
                self.backlog.accounts.lost.removed += count;
            }
        }
    }

    /// Returns true if new events go into the queue.
    fn is_accepting(&self) -> bool {
        self.state() == SubscriptionState::Online && !self.is_draining
    }

    /// If the subscriber has failed, counts this many events for it alone as lost, and returns true. Unlike events of
    /// its topic, they do not end the subscription. Observed: IceStorm 3.7.8.
    pub(crate) fn loses_own(&mut self, count: u64) -> bool {
        let has_failed = self.state() == SubscriptionState::Failed;
        if has_failed {
            self.backlog.accounts.offered += count;
            self.backlog.accounts.lost.removed += count;
        }
        has_failed
    }

    /// Events had passed too many hubs, and are not queued. A subscription that has ended ignores them.
    pub(crate) fn handle_looped(&mut self, count: u64, now: Instant) {
        if self.state() == SubscriptionState::Gone {
            return;
        }
        self.backlog.accounts.offered += count;
        self.backlog.accounts.lost.looped += count;
        self.backlog.queue.note_lost(count);
        self.backlog.overflow.note_looped(count, now);
    }

    /// Puts other limits in force. Queued events stay, even if they exceed the new limits.
    pub(crate) fn reconfigure(
        &mut self,
        limits: QueueLimits,
        discard_interval: Duration,
        now: Instant,
    ) {
        self.backlog.limits = limits;
        self.availability.discard_interval = discard_interval;
        self.backlog.end_overflow_if_roomy();
        self.backlog.limit_held(now);
        let admitted = self.backlog.admit_held(now);
        self.handle_admitted(admitted, now);
        self.handle_time(now);
    }

    /// Returns the next step of the delivery task. It delivers only if at least `bytes_min` bytes are queued, or the
    /// queue is half full.
    pub(crate) fn next_step(&mut self, bytes_min: usize) -> DeliveryStep {
        self.must_wake = false;
        let bytes_min = if self.is_draining { 1 } else { bytes_min };
        let is_drained = self.is_draining && self.backlog.queue.len() == 0;
        if is_drained && self.is_leaving {
            // Since it began to leave, no publication is held.
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

    /// Returns true if the delivery ends. If not, the delivery task is busy, and is woken when the delivery ends,
    /// however full the queue is.
    pub(crate) fn poll_end(&mut self) -> bool {
        let has_ended = matches!(self.next_step(usize::MAX), DeliveryStep::End);
        if !has_ended {
            self.wake_at = Some(usize::MAX);
        }
        has_ended
    }

    /// Does as [`Subscription::next_step`] if events are pulled. `is_wanted` says that a program wants some. When the
    /// hub shuts down, the delivery ends even if there are events, because no program may ever ask for them.
    pub(crate) fn next_step_of_pull(&mut self, is_wanted: bool) -> DeliveryStep {
        self.must_wake = false;
        if self.state() == SubscriptionState::Gone || self.is_draining {
            return DeliveryStep::End;
        }
        if is_wanted && self.backlog.queue.len() > 0 {
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
        if self.backlog.queue.has_expiring() {
            self.expire(now());
        }
        self.take_unexpired(events_max, bytes_max, taken, now)
    }

    /// Takes events as [`Subscription::take`] does, without checking if they have expired, for a caller that has called
    /// [`Subscription::expire`].
    pub(crate) fn take_unexpired(
        &mut self,
        events_max: usize,
        bytes_max: usize,
        taken: &mut Vec<R>,
        now: impl Fn() -> Instant,
    ) -> Option<u64> {
        let queue = &mut self.backlog.queue;
        let (before, bytes_before) = (queue.len(), queue.bytes());
        let time = queue.has_expiring().then(&now);
        let gap = queue.take(events_max, bytes_max, self.notices_gaps, time, taken);
        let events = before - queue.len();
        let bytes = bytes_before - queue.bytes();
        self.outstanding.add(events as u64, bytes as u64);
        self.backlog.end_overflow_if_roomy();
        if self.backlog.note_taken(TakenAmount { events, bytes }) {
            let now = now();
            let admitted = self.backlog.handle_share_taken(now);
            self.handle_admitted(admitted, now);
        }
        (self.notices_gaps && gap > 0).then_some(gap)
    }

    /// When the event came that has waited longest.
    pub(crate) fn oldest(&self) -> Option<Instant> {
        self.backlog.queue.oldest()
    }

    /// Returns true if the subscriber must be notified of lost events before it gets the next one.
    pub(crate) fn has_gap_to_notify(&self) -> bool {
        self.notices_gaps && self.backlog.queue.begins_with_gap()
    }

    /// Returns true if the events should not wait for others, because there are as many as leave at a time, or half a
    /// queue.
    pub(crate) fn has_full_batch(&self, events_max: usize) -> bool {
        let is_roomy = !self.is_accepting() || self.backlog.is_half_empty();
        self.backlog.queue.len() >= events_max || !is_roomy
    }

    /// The notice since the last call.
    pub(crate) fn poll_notice(&mut self) -> Option<OverflowNotice> {
        self.backlog.overflow.poll_notice()
    }

    /// When the shell should poll the summary, if it has not been asked already. To be called after each notice.
    pub(crate) fn await_summary(&mut self) -> Option<Duration> {
        self.backlog.overflow.await_summary()
    }

    /// Returns the summary of the notices that were held back. If there is one, the shell polls again after the same
    /// time.
    pub(crate) fn poll_summary(&mut self, now: Instant) -> Option<OverflowSummary> {
        self.backlog
            .overflow
            .poll_summary(self.backlog.accounts.lost.overflow, now)
    }

    /// A notification of lost events surely did not arrive: the next one includes these.
    pub(crate) fn handle_unnotified(&mut self, count: u64) {
        self.backlog.queue.note_lost_before(count);
    }

    /// Notes that `count` events with this many bytes were taken from the log of the topic, and are being delivered.
    pub(crate) fn handle_read(&mut self, count: u64, bytes: u64) {
        self.backlog.accounts.offered += count;
        self.outstanding.add(count, bytes);
    }

    /// Events that were taken from the log are not delivered now: they count when they are taken again.
    pub(crate) fn handle_unread(&mut self, count: u64) {
        self.backlog.accounts.offered -= count;
        self.outstanding.settle(count);
    }

    /// Events could not be delivered, and are not kept as dead letters.
    pub(crate) fn handle_dead(&mut self, count: u64) {
        self.outstanding.settle(count);
        self.backlog.accounts.lost.failed += count;
    }

    /// The log no longer has events that were meant for the subscriber.
    pub(crate) fn handle_missing(&mut self, missing: MissingEvents) {
        let MissingEvents { count, reason } = missing;
        let accounts = &mut self.backlog.accounts;
        accounts.offered += count;
        match reason {
            GapReason::Expired => accounts.lost.retention += count,
            GapReason::Damaged => accounts.lost.failed += count,
        }
        self.backlog.queue.note_lost_before(count);
    }

    /// Events of the log expired before they were delivered.
    pub(crate) fn handle_expired(&mut self, count: u64) {
        self.backlog.accounts.offered += count;
        self.backlog.accounts.lost.expired += count;
        self.backlog.queue.note_lost_before(count);
    }

    /// The number of lost events of which the subscriber must be notified now, and not again later.
    pub(crate) fn take_gap(&mut self) -> Option<u64> {
        let gap = self.backlog.queue.take_first_gap();
        (self.notices_gaps && gap > 0).then_some(gap)
    }

    /// Events reached the subscriber.
    pub(crate) fn handle_delivered(&mut self, count: u64) {
        self.outstanding.settle(count);
        self.backlog.accounts.delivered += count;
        self.availability.handle_delivered();
    }

    /// The delivery of events failed. They count as one failure.
    pub(crate) fn handle_failed(&mut self, count: u64, failure: DeliveryFailure, now: Instant) {
        self.outstanding.settle(count);
        self.backlog.accounts.lost.failed += count;
        self.backlog.queue.note_lost_before(count);
        if !self.availability.handle_failure(failure, now) {
            return;
        }
        let queued = self.backlog.queue.clear() as u64;
        match self.state() {
            SubscriptionState::Offline => self.backlog.accounts.lost.offline += queued,
            _ => self.backlog.accounts.lost.removed += queued,
        }
        self.backlog.end_overflow_if_roomy();
        self.release_held(HeldPublications::take_first, now);
    }

    /// Ends the subscription. Queued events are lost, with one exception: a batch that only waits for its interval is sent
    /// now, since IceStorm would have given it to the connection already. Events behind a batch that is being sent are
    /// lost: the subscriber is slow.
    pub(crate) fn remove(&mut self, now: Instant) {
        if self.is_batched && self.outstanding.count == 0 && self.backlog.queue.len() > 0 {
            self.is_leaving = true;
            return self.drain(now);
        }
        self.backlog.accounts.lost.removed += self.backlog.queue.clear() as u64;
        self.backlog.end_overflow_if_roomy();
        self.end(now);
        self.wake();
    }

    /// Accepts no more events, and ends the delivery when the queue is empty.
    pub(crate) fn drain(&mut self, now: Instant) {
        self.is_draining = true;
        self.backlog.lose_held(now);
        self.wake();
    }

    pub(crate) fn snapshot(&self) -> Snapshot {
        let held = self.backlog.held();
        Snapshot {
            state: self.state(),
            is_leaving: self.is_leaving,
            accounts: self.backlog.accounts,
            queued: self.backlog.queue.len() as u64,
            queued_bytes: self.backlog.queue.bytes() as u64,
            outstanding: self.outstanding.count,
            oldest: self.backlog.queue.oldest(),
            held: held.map_or(0, |held| held.len() as u64),
            held_bytes: held.map_or(0, |held| held.byte_len() as u64),
            held_since: held.and_then(|held| held.since()),
        }
    }

    /// The memory that it holds.
    pub(crate) fn queue_use(&self) -> QueueUse {
        QueueUse {
            outstanding: self.outstanding.bytes,
            ..self.backlog.queue_use()
        }
    }

    pub(crate) fn state(&self) -> SubscriptionState {
        self.availability.state()
    }

    /// How long events are discarded after a failure that is tolerated.
    pub(crate) fn discard_interval(&self) -> Duration {
        self.availability.discard_interval
    }

    /// Returns true if it was removed and its last batch is still to be sent.
    pub(crate) fn is_leaving(&self) -> bool {
        self.is_leaving
    }

    /// Returns true if events need no wait and none is lost, as usual. They then count as offered, and the caller
    /// queues them.
    #[inline]
    fn accepts_all(&mut self, batch: &R) -> bool {
        self.is_accepting() && self.backlog.accepts_all(batch)
    }

    fn end(&mut self, now: Instant) {
        self.availability.end();
        self.backlog.lose_held(now);
    }

    /// Ends the subscription if its policy says so.
    fn unless_disconnected<T>(&mut self, done: Result<T, Disconnected>, now: Instant) -> Option<T> {
        if done.is_err() {
            self.end(now);
            self.wake();
        }
        done.ok()
    }

    /// Held publications were queued as far as there was room.
    fn handle_admitted(&mut self, admitted: Result<(), Disconnected>, now: Instant) {
        self.unless_disconnected(admitted, now);
        self.wake_at_bytes();
    }

    /// Publications are held no longer: the policy decides about their events.
    fn release_held(
        &mut self,
        take: impl Fn(&mut HeldPublications<R>) -> Option<Held<R>>,
        now: Instant,
    ) {
        while let Some(first) = self.backlog.release(&take) {
            self.handle_events(first.batch, first.timing.at(now));
        }
        self.backlog.end_hold_if_empty(now);
    }

    /// Drops the oldest events beyond the limits, if that is the policy of the subscriber. Held publications get the
    /// room that remains.
    pub(crate) fn shed(&mut self, now: Instant) {
        let shed = self.backlog.shed(now);
        self.handle_admitted(shed, now);
    }

    fn wake_at_bytes(&mut self) {
        if self.wake_at.is_some_and(|bytes| self.is_due(bytes)) {
            self.wake();
        }
    }

    /// Returns true if it is time to deliver: enough bytes are queued, or the queue is half full.
    fn is_due(&self, bytes_min: usize) -> bool {
        self.backlog.queue.bytes() >= bytes_min || !self.backlog.is_half_empty()
    }

    /// Makes the shell wake the delivery task, if the task waits.
    fn wake(&mut self) {
        self.must_wake |= self.wake_at.take().is_some();
    }
}

#[cfg(test)]
mod tests;
