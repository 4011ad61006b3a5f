//! Events that wait for delivery, bounded in number and bytes.

use std::collections::VecDeque;
use std::time::Instant;

use super::limits::QueueLimits;

/// Some events in order, at least one: they came together, and are parted only where they must be.
pub(crate) trait Run: Clone {
    /// Number of events; never 0.
    fn len(&self) -> usize;

    /// Length of the first `count` events in bytes; each has at least 1.
    fn byte_len_of(&self, count: usize) -> usize;

    /// Takes the first `count` events out; some are left.
    fn split_to(&mut self, count: usize) -> Self;

    /// The same without the memory of many others with which they came.
    fn detached(self) -> Self;

    /// Length of all events in bytes.
    fn byte_len(&self) -> usize {
        self.byte_len_of(self.len())
    }
}

impl Run for floe::Events {
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
}

/// First in, first out.
#[derive(Debug)]
pub(super) struct Queue<R> {
    items: VecDeque<Item<R>>,
    len: usize,
    bytes: usize,
    /// Events that were lost since the last one that waits.
    gap: u64,
}

#[derive(Debug)]
struct Item<R> {
    /// Events that were lost just before these.
    gap: u64,
    /// When they came.
    since: Instant,
    run: R,
}

impl<R: Run> Queue<R> {
    /// A drained queue keeps room for no more than this many runs.
    const SPARE_MAX: usize = 1024;

    pub(super) fn new() -> Self {
        Self {
            items: VecDeque::new(),
            len: 0,
            bytes: 0,
            gap: 0,
        }
    }

    /// Number of events.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Bytes of all events.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// When the event came that waits longest.
    pub(super) fn oldest(&self) -> Option<Instant> {
        self.items.front().map(|item| item.since)
    }

    /// How many of these events, from the first, are not too much.
    pub(super) fn room_for(&self, run: &R, limits: &QueueLimits) -> usize {
        let events = limits.events.saturating_sub(self.len);
        leading(run, events, limits.bytes.saturating_sub(self.bytes))
    }

    /// Whether none of these events is too much.
    #[inline]
    pub(super) fn has_room_for_all(&self, run: &R, limits: &QueueLimits) -> bool {
        run.len() <= limits.events.saturating_sub(self.len)
            && run.byte_len() <= limits.bytes.saturating_sub(self.bytes)
    }

    /// Whether no more than half of the limits is used.
    pub(super) fn is_half_empty(&self, limits: &QueueLimits) -> bool {
        self.len <= limits.events / 2 && self.bytes <= limits.bytes / 2
    }

    pub(super) fn push(&mut self, run: R, now: Instant) {
        self.len += run.len();
        self.bytes += run.byte_len();
        let gap = std::mem::take(&mut self.gap);
        self.items.push_back(Item {
            gap,
            since: now,
            run,
        });
    }

    /// Notes that events were lost after all that wait.
    pub(super) fn note_lost(&mut self, count: u64) {
        self.gap += count;
    }

    /// Notes that events were lost before all that wait.
    pub(super) fn note_lost_before(&mut self, count: u64) {
        *self.first_gap() += count;
    }

    /// Drops the event that waits longest; false if there is none.
    pub(super) fn drop_oldest(&mut self) -> bool {
        let Some((gap, _)) = self.take_front(1) else {
            return false;
        };
        *self.first_gap() += gap + 1;
        true
    }

    /// Moves events to `taken`: at least one if there is any, then as many as the limits allow, up
    /// to the next that were lost if they are to be noticed. How many were lost just before them.
    pub(super) fn take(
        &mut self,
        events_max: usize,
        bytes_max: usize,
        notices_gaps: bool,
        taken: &mut Vec<R>,
    ) -> u64 {
        if self.items.len() == 1 && self.len <= events_max && self.bytes <= bytes_max {
            // As it nearly always is: what has just come.
            let front = self.items.pop_front();
            (self.len, self.bytes) = (0, 0);
            self.rest_if_empty();
            return front.map_or(0, |front| {
                taken.push(front.run);
                front.gap
            });
        }
        let (mut events, mut bytes, mut gap) = (0, 0, 0);
        while let Some(front) = self.items.front() {
            let is_first = events == 0;
            if notices_gaps && !is_first && front.gap > 0 {
                break;
            }
            let bytes_left = bytes_max.saturating_sub(bytes);
            let fitting = leading(&front.run, events_max - events, bytes_left);
            let count = if is_first { fitting.max(1) } else { fitting };
            if count == 0 {
                break;
            }
            let is_whole = count == front.run.len();
            if let Some((before, run)) = self.take_front(count) {
                gap += before;
                events += count;
                bytes += run.byte_len();
                taken.push(run);
            }
            if !is_whole {
                break;
            }
        }
        gap
    }

    /// Drops all events; how many.
    pub(super) fn clear(&mut self) -> usize {
        let count = self.len;
        let gap = self.gaps() + count as u64;
        *self = Self { gap, ..Self::new() };
        count
    }

    /// Whether events were lost just before the one that waits longest.
    pub(super) fn begins_with_gap(&self) -> bool {
        self.items.front().is_some_and(|item| item.gap > 0)
    }

    /// Events that were lost, and nobody has been told.
    pub(super) fn gaps(&self) -> u64 {
        self.gap + self.items.iter().map(|item| item.gap).sum::<u64>()
    }

    /// What was lost before the next event that is taken.
    fn first_gap(&mut self) -> &mut u64 {
        let first = self.items.front_mut().map(|item| &mut item.gap);
        first.unwrap_or(&mut self.gap)
    }

    /// Takes events out of the first run, and how many were lost before them.
    fn take_front(&mut self, count: usize) -> Option<(u64, R)> {
        let front = self.items.front_mut()?;
        let gap = std::mem::take(&mut front.gap);
        let run = if count < front.run.len() {
            front.run.split_to(count)
        } else {
            self.items.pop_front()?.run
        };
        self.len -= run.len();
        self.bytes -= run.byte_len();
        self.rest_if_empty();
        Some((gap, run))
    }

    fn rest_if_empty(&mut self) {
        if self.items.is_empty() && self.items.capacity() > Self::SPARE_MAX {
            self.items = VecDeque::new();
        }
    }
}

/// How many events of a run, from the first, are within limits.
fn leading<R: Run>(run: &R, events_max: usize, bytes_max: usize) -> usize {
    let events = run.len().min(events_max);
    if run.byte_len_of(events) <= bytes_max {
        return events;
    }
    let too_many = (1..=events).find(|count| run.byte_len_of(*count) > bytes_max);
    too_many.map_or(events, |count| count - 1)
}
