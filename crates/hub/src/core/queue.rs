//! The queue of one subscriber, limited in number and bytes.

use std::collections::VecDeque;
use std::time::Instant;

use super::lifespan::Timing;
use super::limits::QueueLimits;

/// One or more events that came together. They are separated only if necessary.
pub(crate) trait EventBatch: Clone {
    /// The number of events, never 0.
    fn len(&self) -> usize;

    /// The length of the first `count` events in bytes. Each event has at least 1.
    fn byte_len_of(&self, count: usize) -> usize;

    /// Removes and returns the first `count` events. At least one event stays.
    fn split_to(&mut self, count: usize) -> Self;

    /// Returns the events without the memory of others that came with them.
    fn detached(self) -> Self;

    /// Returns true if no other queue shares their memory.
    fn is_exclusive(&self) -> bool;

    /// The length of all events in bytes.
    fn byte_len(&self) -> usize {
        self.byte_len_of(self.len())
    }

    /// The length of all events in bytes if no other queue shares their memory, and otherwise 0.
    fn exclusive_byte_len(&self) -> usize {
        match self.is_exclusive() {
            true => self.byte_len(),
            false => 0,
        }
    }
}

impl EventBatch for floe::forwarding::Events {
    fn len(&self) -> usize {
        self.len()
    }

    fn byte_len_of(&self, count: usize) -> usize {
        self.byte_len_of(count)
    }

    fn split_to(&mut self, count: usize) -> Self {
        self.split_to(count)
    }

    fn detached(self) -> Self {
        self.detached()
    }

    fn is_exclusive(&self) -> bool {
        self.is_exclusive()
    }
}

/// First in, first out.
#[derive(Debug)]
pub(super) struct Queue<R> {
    items: VecDeque<QueuedBatch<R>>,
    len: usize,
    bytes: usize,
    /// The part of the bytes that no other queue shares.
    exclusive_bytes: usize,
    /// The number of events lost since the last queued one.
    gap: u64,
    /// How many batches have a lifespan.
    expiring: usize,
}

#[derive(Debug)]
struct QueuedBatch<R> {
    /// The number of events lost just before these.
    gap: u64,
    timing: Timing,
    batch: R,
}

impl<R: EventBatch> Queue<R> {
    /// A drained queue keeps its memory only up to this many batches.
    const KEPT_CAPACITY_MAX: usize = 1024;

    pub(super) fn new() -> Self {
        Self {
            items: VecDeque::new(),
            len: 0,
            bytes: 0,
            exclusive_bytes: 0,
            gap: 0,
            expiring: 0,
        }
    }

    /// The number of queued events.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Bytes of all queued events.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// The part of the bytes that no other queue shares.
    pub(super) fn exclusive_bytes(&self) -> usize {
        self.exclusive_bytes
    }

    /// When the oldest queued event came.
    pub(super) fn oldest(&self) -> Option<Instant> {
        self.items.front().map(|item| item.timing.came)
    }

    /// When the newest queued event came.
    pub(super) fn newest(&self) -> Option<Instant> {
        self.items.back().map(|item| item.timing.came)
    }

    /// How many of these events, from the first, fit into the queue.
    pub(super) fn room_for(&self, batch: &R, limits: &QueueLimits) -> usize {
        let events = limits.events.saturating_sub(self.len);
        leading(batch, events, limits.bytes.saturating_sub(self.bytes))
    }

    /// Returns true if all of these events fit.
    #[inline]
    pub(super) fn has_room_for_all(&self, batch: &R, limits: &QueueLimits) -> bool {
        batch.len() <= limits.events.saturating_sub(self.len)
            && batch.byte_len() <= limits.bytes.saturating_sub(self.bytes)
    }

    /// Returns true if at most half of each limit is used.
    pub(super) fn is_half_empty(&self, limits: &QueueLimits) -> bool {
        self.len <= limits.events / 2 && self.bytes <= limits.bytes / 2
    }

    pub(super) fn push(&mut self, batch: R, timing: Timing) {
        self.len += batch.len();
        self.bytes += batch.byte_len();
        self.exclusive_bytes += batch.exclusive_byte_len();
        let gap = std::mem::take(&mut self.gap);
        self.expiring += usize::from(timing.expires.is_some());
        if self.items.capacity() == 0 {
            // The queues of most subscribers never hold more than one batch, and there may be thousands of them.
            self.items.reserve_exact(1);
        }
        self.items.push_back(QueuedBatch { gap, timing, batch });
    }

    /// Notes that events were lost after all queued events.
    pub(super) fn note_lost(&mut self, count: u64) {
        self.gap += count;
    }

    /// Notes that events were lost before all queued events.
    pub(super) fn note_lost_before(&mut self, count: u64) {
        *self.first_gap() += count;
    }

    /// Returns true if there may be events that have expired, or will expire.
    pub(super) fn has_expiring(&self) -> bool {
        self.expiring > 0
    }

    /// Drops the events before the first one that has not expired. Returns their number.
    pub(super) fn drop_expired(&mut self, now: Instant) -> u64 {
        let mut dropped = 0;
        while let Some(front) = self.items.front().filter(|item| item.timing.is_over(now)) {
            let count = front.batch.len();
            let Some((gap, _)) = self.take_front(count) else {
                break;
            };
            *self.first_gap() += gap + count as u64;
            dropped += count as u64;
        }
        dropped
    }

    /// Takes the number of events that were lost before the one that is taken next.
    pub(super) fn take_first_gap(&mut self) -> u64 {
        std::mem::take(self.first_gap())
    }

    /// Drops the oldest event. Returns false if there is none.
    pub(super) fn drop_oldest(&mut self) -> bool {
        let Some((gap, _)) = self.take_front(1) else {
            return false;
        };
        *self.first_gap() += gap + 1;
        true
    }

    /// Moves events to `taken`: at least one, then as many as the limits allow. If `notices_gaps`, it stops before the
    /// next gap. It also stops before expired events, unless they are the first; without a `now` it does not check.
    /// Returns the number of events that were lost just before them.
    pub(super) fn take(
        &mut self,
        events_max: usize,
        bytes_max: usize,
        notices_gaps: bool,
        now: Option<Instant>,
        taken: &mut Vec<R>,
    ) -> u64 {
        if self.items.len() == 1 && self.len <= events_max && self.bytes <= bytes_max {
            // The usual case: the queue holds only events that have just come.
            let front = self.items.pop_front();
            (self.len, self.bytes, self.expiring) = (0, 0, 0);
            self.exclusive_bytes = 0;
            self.rest_if_empty();
            return front.map_or(0, |front| {
                if taken.capacity() == 0 {
                    taken.reserve_exact(1);
                }
                taken.push(front.batch);
                front.gap
            });
        }
        let (mut events, mut bytes, mut gap) = (0, 0, 0);
        while let Some(front) = self.items.front() {
            let is_first = events == 0;
            let is_over = now.is_some_and(|now| front.timing.is_over(now));
            if !is_first && (notices_gaps && front.gap > 0 || is_over) {
                break;
            }
            let bytes_left = bytes_max.saturating_sub(bytes);
            let fitting = leading(&front.batch, events_max - events, bytes_left);
            let count = if is_first { fitting.max(1) } else { fitting };
            if count == 0 {
                break;
            }
            let is_whole = count == front.batch.len();
            if let Some((before, batch)) = self.take_front(count) {
                gap += before;
                events += count;
                bytes += batch.byte_len();
                taken.push(batch);
            }
            if !is_whole {
                break;
            }
        }
        gap
    }

    /// Drops all events. Returns how many.
    pub(super) fn clear(&mut self) -> usize {
        let count = self.len;
        let gap = self.gaps() + count as u64;
        *self = Self { gap, ..Self::new() };
        count
    }

    /// Returns true if events were lost just before the one that waits longest.
    pub(super) fn begins_with_gap(&self) -> bool {
        self.items.front().is_some_and(|item| item.gap > 0)
    }

    /// Lost events of which the subscriber has not been notified.
    pub(super) fn gaps(&self) -> u64 {
        self.gap + self.items.iter().map(|item| item.gap).sum::<u64>()
    }

    /// The gap before the event that is taken next.
    fn first_gap(&mut self) -> &mut u64 {
        let first = self.items.front_mut().map(|item| &mut item.gap);
        first.unwrap_or(&mut self.gap)
    }

    /// Takes events out of the first batch, with the number of events that were lost before them.
    fn take_front(&mut self, count: usize) -> Option<(u64, R)> {
        let front = self.items.front_mut()?;
        let gap = std::mem::take(&mut front.gap);
        let batch = if count < front.batch.len() {
            front.batch.split_to(count)
        } else {
            let front = self.items.pop_front()?;
            self.expiring -= usize::from(front.timing.expires.is_some());
            front.batch
        };
        self.len -= batch.len();
        self.bytes -= batch.byte_len();
        self.exclusive_bytes -= batch.exclusive_byte_len();
        self.rest_if_empty();
        Some((gap, batch))
    }

    fn rest_if_empty(&mut self) {
        if self.items.is_empty() && self.items.capacity() > Self::KEPT_CAPACITY_MAX {
            self.items = VecDeque::new();
        }
    }
}

/// How many events of a batch, from the first, are within limits.
fn leading<R: EventBatch>(batch: &R, events_max: usize, bytes_max: usize) -> usize {
    let events = batch.len().min(events_max);
    if batch.byte_len_of(events) <= bytes_max {
        return events;
    }
    let too_many = (1..=events).find(|count| batch.byte_len_of(*count) > bytes_max);
    too_many.map_or(events, |count| count - 1)
}
