//! A subscriber: its queue, its state, and an account of every event.

use std::time::{Duration, Instant};

use super::accounts::Accounts;
use super::limits::{OverflowPolicy, QueueLimits};
use super::overflow::{Overflow, OverflowNotice, OverflowSummary};
use super::qos::{Delivery, Qos, RetryCount};
use super::queue::{EventBatch, Queue};
use super::snapshot::{Snapshot, SubscriptionState};

/// A subscriber as a state machine. Events and the results of deliveries go in; events to deliver come out.
///
/// ```text
///           failure, tolerated            first event after the interval
/// Online ---------------------> Offline -------------------------------> Online
///   | failure, hard or not tolerated          any: remove, or a full queue that is to end it
///   +---------------> Failed ----next event----> Gone
/// ```
///
/// While it is offline, events are discarded. In `Failed` the queue is empty, and the next event makes it `Gone`, which
/// ends the subscription. If the subscription is removed while events are collected for a batch, the batch is still
/// sent, and the state becomes `Gone` after that.
///
/// Source: Ice manual, "IceStorm Subscriber Error Handling"; observed: IceStorm 3.7.8.
#[derive(Debug)]
pub(crate) struct Subscription<R> {
    queue: Queue<R>,
    limits: QueueLimits,
    state: SubscriptionState,
    /// When an offline subscriber is tried again; `None` if that is beyond the range of the clock.
    offline_until: Option<Instant>,
    retry_count: RetryCount,
    discard_interval: Duration,
    /// Only the reply of a twoway subscriber proves that it is alive.
    is_twoway: bool,
    /// Whether events stay in the queue until they are enough for a batch.
    is_batched: bool,
    failure_count: u32,
    /// Whether its connection broke and no event has been delivered since. An interval offline resets it, because
    /// another connection follows.
    has_broken: bool,
    accounts: Accounts,
    outstanding: u64,
    is_draining: bool,
    /// Whether it becomes `Gone` when the queue is empty.
    is_leaving: bool,
    overflow: Overflow,
    /// Whether the subscriber is notified of lost events before the next event.
    notices_gaps: bool,
    /// Events whose publishers wait for room. They count as offered when there is room, or when there never will be.
    waiting: u64,
    /// The queued bytes at which the delivery task is woken; `None` if it does not wait.
    wake_at: Option<usize>,
}

/// How a delivery failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DeliveryFailure {
    /// It will fail again later: the object does not exist.
    Hard,
    /// It may succeed later.
    Soft,
    /// The connection broke while oneway events were written. As in IceStorm, the next events take another connection.
    /// This counts as a failure only if that connection breaks too.
    Broken,
    /// The failure is not the subscriber's: the hub is shutting down, or has too few file descriptors.
    Ours,
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
            state: SubscriptionState::Online,
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

    /// Events were published. Returns true if the delivery task must be woken. A subscription that has ended ignores
    /// them.
    pub(crate) fn handle_events(&mut self, batch: R, now: Instant) -> bool {
        if self.accepts_all(&batch) {
            self.queue.push(batch, now);
            return self.wake_at_bytes();
        }
        if self.state == SubscriptionState::Gone {
            return false;
        }
        self.end_offline(now);
        let count = batch.len() as u64;
        match self.state {
            SubscriptionState::Online if !self.is_draining => {
                let is_woken = self.enqueue(batch, now);
                is_woken || self.wake_at_bytes()
            }
            SubscriptionState::Offline => {
                self.accounts.offered += count;
                self.accounts.lost.offline += count;
                self.queue.note_lost(count);
                false
            }
            SubscriptionState::Failed => {
                self.accounts.offered += count;
                self.accounts.lost.removed += count;
                self.end();
                self.wake()
            }
            SubscriptionState::Online | SubscriptionState::Gone => {
                self.accounts.offered += count;
                self.accounts.lost.removed += count;
                false
            }
        }
    }

    /// Whether this many events for this subscriber alone are lost because it has failed. Unlike events of its topic,
    /// they do not end the subscription. Observed: IceStorm 3.7.8.
    pub(crate) fn loses_own(&mut self, count: u64) -> bool {
        let has_failed = self.state == SubscriptionState::Failed;
        if has_failed {
            self.accounts.offered += count;
            self.accounts.lost.removed += count;
        }
        has_failed
    }

    /// Events were published by a publisher that waits for room. Returns the events for which there is no room, to be
    /// offered again. The flag is true if the delivery task must be woken.
    pub(crate) fn offer(&mut self, mut batch: R, now: Instant) -> (bool, Option<R>) {
        if self.accepts_all(&batch) {
            self.queue.push(batch, now);
            return (self.wake_at_bytes(), None);
        }
        self.end_offline(now);
        let mut is_woken = false;
        loop {
            let can_wait = self.is_waited_for()
                && self.state == SubscriptionState::Online
                && !self.is_draining;
            let room = self.queue.room_for(&batch, &self.limits);
            if can_wait && room == 0 && self.can_ever_fit(&batch) {
                self.waiting += batch.len() as u64;
                return (is_woken, Some(batch));
            }
            // An event that is too long for any queue is lost alone.
            let count = if can_wait { room.max(1) } else { batch.len() };
            if count == batch.len() {
                return (self.handle_events(batch, now) || is_woken, None);
            }
            is_woken |= self.handle_events(batch.split_to(count), now);
        }
    }

    /// Events that have waited are offered again.
    pub(crate) fn offer_again(&mut self, batch: R, now: Instant) -> (bool, Option<R>) {
        if self.is_ending() {
            // They were counted as lost when the wait ended.
            return (false, None);
        }
        self.waiting -= batch.len() as u64;
        self.offer(batch, now)
    }

    /// Whether the publisher of these events waits behind others. It also waits behind publishers that began to wait
    /// under an earlier policy. If it does not wait, its events are to be published.
    pub(crate) fn wait_behind(&mut self, count: usize) -> bool {
        let is_waiting = (self.is_waited_for() || self.waiting > 0) && !self.is_ending();
        self.waiting += if is_waiting { count as u64 } else { 0 };
        is_waiting
    }

    /// Puts other limits in force. Queued events stay, even if they exceed the new limits.
    pub(crate) fn reconfigure(&mut self, limits: QueueLimits, discard_interval: Duration) {
        self.limits = limits;
        self.discard_interval = discard_interval;
        self.end_overflow_if_roomy();
    }

    /// What the delivery task does next, if it is worth delivering from `bytes_min` queued bytes on.
    pub(crate) fn next_step(&mut self, bytes_min: usize) -> DeliveryStep {
        let bytes_min = if self.is_draining { 1 } else { bytes_min };
        let is_drained = self.is_draining && self.queue.len() == 0;
        if is_drained && self.is_leaving {
            self.end();
        }
        if self.state == SubscriptionState::Gone || is_drained {
            return DeliveryStep::End;
        }
        if !self.is_due(bytes_min) {
            self.wake_at = Some(bytes_min);
            return DeliveryStep::Wait;
        }
        self.wake_at = None;
        DeliveryStep::Deliver
    }

    /// Gives events to the delivery task, which later reports the result: at least one if there is any, then as many as
    /// the limits allow. Returns the number of events that were lost just before them, if the subscriber is to be
    /// notified.
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

    /// Whether the subscriber must be notified of lost events before it gets the next one.
    pub(crate) fn has_gap_to_notify(&self) -> bool {
        self.notices_gaps && self.queue.begins_with_gap()
    }

    /// Whether a waiting publisher may try again: there is room, or publishers need not wait any more.
    pub(crate) fn is_roomy(&self) -> bool {
        self.state != SubscriptionState::Online
            || self.is_draining
            || self.queue.is_half_empty(&self.limits)
    }

    /// Whether there are so many events that they should not wait for others: as many as leave at a time, or half a
    /// queue.
    pub(crate) fn has_full_batch(&self, events_max: usize) -> bool {
        self.queue.len() >= events_max || !self.is_roomy()
    }

    /// Whether publishers may wait for room.
    pub(crate) fn is_waited_for(&self) -> bool {
        self.limits.overflow == OverflowPolicy::Block
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

    /// Events reached the subscriber.
    pub(crate) fn handle_delivered(&mut self, count: u64) {
        self.outstanding -= count;
        self.accounts.delivered += count;
        self.has_broken = false;
        if self.is_twoway {
            self.failure_count = 0;
        }
    }

    /// The delivery of events failed. They count as one failure.
    pub(crate) fn handle_failed(&mut self, count: u64, failure: DeliveryFailure, now: Instant) {
        self.outstanding -= count;
        self.accounts.lost.failed += count;
        self.queue.note_lost_before(count);
        if self.state != SubscriptionState::Online || failure == DeliveryFailure::Ours {
            return;
        }
        if failure == DeliveryFailure::Broken && !std::mem::replace(&mut self.has_broken, true) {
            return;
        }
        if failure != DeliveryFailure::Hard && self.retry_count.tolerates(self.failure_count) {
            self.failure_count += 1;
            self.state = SubscriptionState::Offline;
            self.has_broken = false;
            self.offline_until = now.checked_add(self.discard_interval);
            self.accounts.lost.offline += self.queue.clear() as u64;
            self.end_overflow_if_roomy();
        } else {
            self.fail();
        }
    }

    /// Ends the subscription. Returns true if the delivery task must be woken. Queued events are lost, with one
    /// exception: a batch that only waits for its interval is sent now, since IceStorm would have given it to the
    /// connection already. Events behind a batch that is being sent are lost: the subscriber is slow.
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

    /// Accepts no more events, and ends the delivery when the queue is empty. Returns true if the delivery task must be
    /// woken.
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

    pub(crate) fn state(&self) -> SubscriptionState {
        self.state
    }

    /// How long events are discarded after a failure that is tolerated.
    pub(crate) fn discard_interval(&self) -> Duration {
        self.discard_interval
    }

    /// Whether it was removed and its last batch is still to be sent.
    pub(crate) fn is_leaving(&self) -> bool {
        self.is_leaving
    }

    /// Whether events need no wait and nothing is lost, as usual. They then count as offered, and are to be queued.
    #[inline]
    fn accepts_all(&mut self, batch: &R) -> bool {
        let is_taken = self.state == SubscriptionState::Online
            && !self.is_draining
            && self.queue.has_room_for_all(batch, &self.limits);
        if is_taken {
            self.accounts.offered += batch.len() as u64;
        }
        is_taken
    }

    fn end(&mut self) {
        self.state = SubscriptionState::Gone;
        self.end_waits();
    }

    /// Publishers wait no longer, and their events are lost.
    fn end_waits(&mut self) {
        let count = std::mem::take(&mut self.waiting);
        self.accounts.offered += count;
        self.accounts.lost.removed += count;
    }

    /// Whether there will never be room again.
    fn is_ending(&self) -> bool {
        self.state == SubscriptionState::Gone || self.is_draining
    }

    fn end_offline(&mut self, now: Instant) {
        if self.state == SubscriptionState::Offline
            && self.offline_until.is_some_and(|until| now >= until)
        {
            self.state = SubscriptionState::Online;
        }
    }

    /// Queues events. Returns true if the subscription ended with one of them and the delivery task must be woken.
    fn enqueue(&mut self, mut batch: R, now: Instant) -> bool {
        if self.queue.room_for(&batch, &self.limits) == batch.len() {
            self.accounts.offered += batch.len() as u64;
            self.queue.push(batch, now);
            return false;
        }
        while batch.len() > 1 && self.state == SubscriptionState::Online {
            self.enqueue_one(batch.split_to(1), now);
        }
        if self.state == SubscriptionState::Online {
            self.enqueue_one(batch, now);
        }
        self.state == SubscriptionState::Gone && self.wake()
    }

    fn enqueue_one(&mut self, event: R, now: Instant) {
        self.accounts.offered += 1;
        if self.queue.room_for(&event, &self.limits) > 0 {
            // Detached: if most of the events that came with it are lost, it should not keep their memory. A queue of
            // such events could hold many times its limit.
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

    /// Whether the first of these events fits into an empty queue.
    fn can_ever_fit(&self, batch: &R) -> bool {
        batch.byte_len_of(1) <= self.limits.bytes && self.limits.events > 0
    }

    fn begin_overflow(&mut self, now: Instant) {
        let lost = self.accounts.lost.overflow;
        self.overflow.begin(self.limits.overflow, lost, now);
    }

    /// Drops the oldest events beyond the limits, if that is the policy of the subscriber.
    pub(crate) fn shed(&mut self, now: Instant) {
        let QueueLimits { events, bytes, .. } = self.limits;
        if self.limits.overflow != OverflowPolicy::DropOldest {
            return;
        }
        while self.queue.len() > events || self.queue.bytes() > bytes {
            self.begin_overflow(now);
            if !self.queue.drop_oldest() {
                return;
            }
            self.accounts.lost.overflow += 1;
        }
    }

    fn end_overflow_if_roomy(&mut self) {
        if self.overflow.lasts() && self.queue.is_half_empty(&self.limits) {
            self.overflow.end(self.accounts.lost.overflow);
        }
    }

    fn fail(&mut self) {
        self.state = SubscriptionState::Failed;
        self.accounts.lost.removed += self.queue.clear() as u64;
        self.end_overflow_if_roomy();
    }

    fn wake_at_bytes(&mut self) -> bool {
        self.wake_at.is_some_and(|bytes| self.is_due(bytes)) && self.wake()
    }

    /// Whether it is time to deliver: enough bytes are queued, or the queue is half full.
    fn is_due(&self, bytes_min: usize) -> bool {
        self.queue.bytes() >= bytes_min || !self.queue.is_half_empty(&self.limits)
    }

    /// Whether the delivery task waits. It is woken once.
    fn wake(&mut self) -> bool {
        self.wake_at.take().is_some()
    }
}

#[cfg(test)]
mod tests;
