//! The events that wait for a subscriber: those in its queue, and the publications that wait for room there.

use std::time::Instant;

use super::accounts::Accounts;
use super::held::{Held, HeldPublications, TakenAmount, Ticket};
use super::lifespan::Timing;
use super::limits::{OverflowPolicy, QueueLimits};
use super::overflow::Overflow;
use super::queue::{EventBatch, Queue};
use super::queue_memory::QueueUse;

/// The events that wait for a subscriber, within limits.
#[derive(Debug)]
pub(super) struct Backlog<R> {
    pub(super) queue: Queue<R>,
    pub(super) limits: QueueLimits,
    pub(super) overflow: Overflow,
    /// The counts of all events of the subscriber.
    pub(super) accounts: Accounts,
    /// Publications that wait for room. Their events count as offered when there is room, or when they are held no
    /// longer. It is created when the first one is held.
    held: Option<Box<HeldPublications<R>>>,
}

/// The overflow policy ends the subscription.
#[derive(Debug)]
pub(super) struct Disconnected;

impl<R: EventBatch> Backlog<R> {
    pub(super) fn new(limits: QueueLimits) -> Self {
        Self {
            queue: Queue::new(),
            limits,
            overflow: Overflow::default(),
            accounts: Accounts::default(),
            held: None,
        }
    }

    /// The publications that are or were held.
    pub(super) fn held(&self) -> Option<&HeldPublications<R>> {
        self.held.as_deref()
    }

    pub(super) fn has_held(&self) -> bool {
        self.held().is_some_and(|held| !held.is_empty())
    }

    /// Returns true if there is room for all of these events, as there usually is. They then count as offered, and the
    /// caller queues them.
    #[inline]
    pub(super) fn accepts_all(&mut self, batch: &R) -> bool {
        let is_taken = self.queue.has_room_for_all(batch, &self.limits);
        if is_taken {
            self.accounts.offered += batch.len() as u64;
        }
        is_taken
    }

    /// Returns true if at most half of each limit is used.
    pub(super) fn is_half_empty(&self) -> bool {
        self.queue.is_half_empty(&self.limits)
    }

    /// Drops expired events from the front of the queue, up to the first event that has not expired. Held publications
    /// get their room.
    pub(super) fn expire(&mut self, now: Instant) -> Result<(), Disconnected> {
        // Held publications may have expired, too.
        loop {
            let count = self.queue.drop_expired(now);
            if count == 0 {
                return Ok(());
            }
            self.accounts.lost.expired += count;
            self.end_overflow_if_roomy();
            self.admit_held(now)?;
        }
    }

    /// Queues events. If the policy ends the subscription at one of them, the later ones do not count.
    pub(super) fn enqueue(
        &mut self,
        mut batch: R,
        timing: Timing,
        now: Instant,
    ) -> Result<(), Disconnected> {
        if self.queue.room_for(&batch, &self.limits) == batch.len() {
            self.accounts.offered += batch.len() as u64;
            self.queue.push(batch, timing);
            return Ok(());
        }
        while batch.len() > 1 {
            self.enqueue_one(batch.split_to(1), timing.at(now))?;
        }
        self.enqueue_one(batch, timing.at(now))
    }

    fn enqueue_one(&mut self, event: R, timing: Timing) -> Result<(), Disconnected> {
        let now = timing.came;
        self.accounts.offered += 1;
        if self.queue.room_for(&event, &self.limits) > 0 {
            // Detached: if most of the events that came with it are lost, it should not keep their memory. Otherwise, a
            // queue of such events could hold many times its limit.
            self.queue.push(event.detached(), timing);
            return Ok(());
        }
        match self.limits.overflow {
            OverflowPolicy::DropOldest if self.can_ever_fit(&event) => {
                self.drop_oldest_while(now, |own| own.queue.room_for(&event, &own.limits) == 0);
                self.queue.push(event, timing);
            }
            OverflowPolicy::Disconnect => {
                self.accounts.lost.overflow += 1;
                self.accounts.lost.removed += self.queue.clear() as u64;
                self.overflow.disconnect();
                return Err(Disconnected);
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
        Ok(())
    }

    /// Drops the oldest events beyond the limits, if that is the policy. Held publications get the room that remains.
    pub(super) fn shed(&mut self, now: Instant) -> Result<(), Disconnected> {
        if self.limits.overflow != OverflowPolicy::DropOldest {
            return Ok(());
        }
        self.expire(now)?;
        let exceeds = |own: &Self| {
            own.queue.len() > own.limits.events || own.queue.bytes() > own.limits.bytes
        };
        if exceeds(self) {
            self.drop_oldest_while(now, exceeds);
        }
        self.admit_held(now)
    }

    /// The queue is full: loses the oldest events.
    fn drop_oldest_while(&mut self, now: Instant, is_full: impl Fn(&Self) -> bool) {
        self.begin_overflow(now);
        while is_full(self) && self.queue.drop_oldest() {
            self.accounts.lost.overflow += 1;
        }
    }

    fn begin_overflow(&mut self, now: Instant) {
        let lost = self.accounts.lost.overflow;
        self.overflow.begin(self.limits.overflow, lost, now);
    }

    pub(super) fn end_overflow_if_roomy(&mut self) {
        if self.overflow.lasts() && self.is_half_empty() {
            self.overflow.end(self.accounts.lost.overflow);
        }
    }

    /// Returns true if the first of these events fits into an empty queue.
    fn can_ever_fit(&self, batch: &R) -> bool {
        batch.byte_len_of(1) <= self.limits.bytes && self.limits.events > 0
    }

    /// Returns true if publications without room may be held.
    pub(super) fn may_hold(&mut self, waits_for_room: bool, now: Instant) -> bool {
        let max = self.limits.patience;
        let is_patient = |held: &mut Box<HeldPublications<R>>| held.patience.may_hold(max, now);
        waits_for_room || !max.is_zero() && self.held.as_mut().is_none_or(is_patient)
    }

    /// Queues the first events of a publication, and holds those for which there is no room.
    pub(super) fn hold(
        &mut self,
        batch: R,
        waits_for_room: bool,
        timing: Timing,
    ) -> Result<Option<Ticket>, Disconnected> {
        let rest = match self.has_held() {
            false => self.fill(batch, timing, timing.came)?,
            true => Some(batch),
        };
        let held = self.held.get_or_insert_default();
        Ok(rest.map(|rest| held.push(rest, waits_for_room, timing)))
    }

    /// Queues the first events, as many as there is room for. Returns the others. If an event is too long for any
    /// queue, only that event is lost.
    fn fill(
        &mut self,
        mut batch: R,
        timing: Timing,
        now: Instant,
    ) -> Result<Option<R>, Disconnected> {
        loop {
            let room = self.queue.room_for(&batch, &self.limits);
            if room == 0 && self.can_ever_fit(&batch) {
                return Ok(Some(batch));
            }
            if room.max(1) == batch.len() {
                self.enqueue(batch, timing, now)?;
                return Ok(None);
            }
            self.enqueue(batch.split_to(room.max(1)), timing, now)?;
        }
    }

    /// Queues held publications as far as there is room.
    pub(super) fn admit_held(&mut self, now: Instant) -> Result<(), Disconnected> {
        while let Some(mut first) = self.held.as_mut().and_then(|held| held.take_first()) {
            let rest = self.fill(first.batch, first.timing, now);
            let Some(held) = &mut self.held else {
                break;
            };
            if let Ok(Some(rest)) = rest {
                first.batch = rest;
                held.give_back(first);
                break;
            }
            held.note_released();
            rest?;
        }
        self.end_hold_if_empty(now);
        Ok(())
    }

    /// Notes that the subscriber has taken events. Returns true if it has now taken its share of a queue that holds
    /// publishers back.
    pub(super) fn note_taken(&mut self, taken: TakenAmount) -> bool {
        let is_empty = self.queue.len() == 0;
        let held = self.held.as_mut();
        held.is_some_and(|held| held.note_taken(taken, &self.limits) || is_empty)
    }

    /// The subscriber has taken its share: held publications get the room.
    pub(super) fn handle_share_taken(&mut self, now: Instant) -> Result<(), Disconnected> {
        if let Some(held) = &mut self.held {
            held.note_progress(now);
        }
        self.admit_held(now)
    }

    /// Notes that other limits are in force. Publications that no longer may wait without a limit wait for the rest of
    /// the patience.
    pub(super) fn limit_held(&mut self, now: Instant) {
        if self.limits.overflow != OverflowPolicy::Block
            && let Some(held) = &mut self.held
        {
            held.limit_all(now);
        }
    }

    /// Ends the patience if it is used up. Returns true if this call has ended it.
    pub(super) fn ends_patience(&mut self, now: Instant) -> bool {
        let max = self.limits.patience;
        let held = self.held.as_mut();
        held.is_some_and(|held| held.patience.end(max, now))
    }

    /// Takes a publication that is held no longer.
    pub(super) fn release(
        &mut self,
        take: impl FnOnce(&mut HeldPublications<R>) -> Option<Held<R>>,
    ) -> Option<Held<R>> {
        let held = self.held.as_mut()?;
        let first = take(held)?;
        held.note_released();
        Some(first)
    }

    /// Returns true if publications were released since the last call.
    pub(super) fn poll_released(&mut self) -> bool {
        self.held.as_mut().is_some_and(|held| held.poll_released())
    }

    /// Publishers are held back no longer, and their events are lost.
    pub(super) fn lose_held(&mut self, now: Instant) {
        let Some(held) = &mut self.held else {
            return;
        };
        let count = held.len() as u64;
        self.accounts.held += held.clear(now);
        self.accounts.offered += count;
        self.accounts.lost.removed += count;
    }

    pub(super) fn end_hold_if_empty(&mut self, now: Instant) {
        if let Some(held) = &mut self.held {
            self.accounts.held += held.end_if_empty(now);
        }
    }

    /// The memory of the waiting events.
    pub(super) fn queue_use(&self) -> QueueUse {
        let held = self.held();
        let held_len = held.map_or(0, |held| held.byte_len());
        let held_exclusive = held.map_or(0, |held| held.exclusive_byte_len());
        let exclusive = self.queue.exclusive_bytes() + held_exclusive;
        let newest = held.and_then(|held| held.newest()).or(self.queue.newest());
        let oldest = self.queue.oldest().or(newest);
        QueueUse {
            shared: (self.queue.bytes() + held_len - exclusive) as u64,
            exclusive: exclusive as u64,
            outstanding: 0,
            span: oldest.zip(newest),
        }
    }
}
