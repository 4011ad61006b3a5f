//! The window of events in flight of one subscriber.
//!
//! Events get their numbers here, in the order in which they leave. What one reply answers is noted together, with its
//! handle: an event, or a run of them. It leaves the window with its reply. The shell decides which task waits, and for what.
//!
//! - `send_right.rs`: who may send: the delivery task or the scheduler
//! - `resend.rs`: which failed events are sent again
//! - `sendable.rs`: what a reply answers, and what it says

mod resend;
mod send_right;
mod sendable;

use std::collections::VecDeque;
use std::ops::Range;
use std::time::{Duration, Instant};

use floe::forwarding::Events;

use super::window::{Answered, Window};
pub(crate) use resend::{Resend, may_resend};
use send_right::SendRight;
use sendable::NumberedReply;
pub(crate) use sendable::{EventReply, Sendable};

/// The events in flight. `H` is the handle of a reply that is due; dropping it gives up the reply. `E` is what the window
/// keeps of the events that it answers.
#[derive(Debug)]
pub(crate) struct InFlightEvents<H, E: Sendable = Events> {
    /// How many there may be.
    window: Window,
    /// Each with the number of its first event, in their order. Replies come in nearly the same order.
    sent: VecDeque<(u64, Sent<H, E>)>,
    /// Bytes of the events in `sent`.
    sent_bytes: usize,
    /// How many events are in `sent`.
    sent_count: u32,
    /// The number of the event that is sent next.
    next: u64,
    /// Events before this number are, or were, among the first of the window, so that their time runs.
    timed_to: u64,
    /// `None` unless there is any. Boxed, because most subscribers never have any.
    exceptional: Option<Box<Exceptional<E>>>,
    send_right: SendRight,
    /// True if the next reply wakes the delivery task.
    is_awaited: bool,
    /// True if the delivery task runs a timer for late replies, or was woken to start one.
    is_timed: bool,
}

/// Replies and events that did not go the usual way.
#[derive(Debug)]
struct Exceptional<E: Sendable> {
    /// Replies to events that are being sent and are not noted yet.
    early: Vec<NumberedReply<E>>,
    /// Events that failed since the delivery task last took them.
    failed: Vec<(u64, E, E::Failure)>,
    /// Events that the scheduler took and could not send.
    returned: Vec<E>,
}

impl<E: Sendable> Default for Exceptional<E> {
    fn default() -> Self {
        Self {
            early: Vec::new(),
            failed: Vec::new(),
            returned: Vec::new(),
        }
    }
}

impl<E: Sendable> Exceptional<E> {
    fn is_empty(&self) -> bool {
        self.early.is_empty() && self.failed.is_empty() && self.returned.is_empty()
    }
}

/// How much is in flight.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Load {
    /// Events.
    pub(crate) count: usize,
    /// Bytes of the events, without those of failed events.
    pub(crate) bytes: usize,
}

/// How much may be sent now: at least one event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct WindowRoom {
    pub(crate) events: usize,
    pub(crate) bytes: usize,
}

/// Sent events that one reply answers.
#[derive(Debug)]
struct Sent<H, E> {
    events: E,
    handle: H,
    /// When they were sent.
    sent: Instant,
    /// When its time begins to run. That is so only for as many events as the window has at first. If the window has
    /// grown, a subscriber that suddenly needs long for each event still has the same time for it.
    since: Instant,
}

/// The maximum bytes of events in flight; the last of these events may exceed it. Events that have left the queue do
/// not count towards the limits of the queue.
const IN_FLIGHT_BYTES_MAX: usize = 8 * 1024 * 1024;

impl WindowRoom {
    /// The room in a window of this size that holds this load, if there is any.
    pub(crate) fn beside(load: Load, window_size: usize) -> Option<Self> {
        let events = window_size.saturating_sub(load.count);
        let bytes = IN_FLIGHT_BYTES_MAX.saturating_sub(load.bytes);
        (events > 0 && bytes > 0).then_some(Self { events, bytes })
    }
}

impl<H, E: Sendable> InFlightEvents<H, E> {
    pub(crate) fn new(window: Window) -> Self {
        Self {
            window,
            sent: VecDeque::new(),
            sent_bytes: 0,
            sent_count: 0,
            next: 0,
            timed_to: 0,
            exceptional: None,
            send_right: SendRight::default(),
            is_awaited: false,
            is_timed: false,
        }
    }

    /// How many events may be in flight now.
    pub(crate) fn window_size(&self) -> usize {
        self.window.size()
    }

    /// Returns true if the scheduler may send, or is sending.
    pub(crate) fn is_open(&self) -> bool {
        self.send_right.is_open()
    }

    /// Lets the scheduler send until the delivery task is polled again.
    pub(crate) fn open(&mut self) {
        self.send_right.open();
    }

    /// Takes the right to send back for the delivery task. Returns false if the scheduler is sending. When it finishes,
    /// it wakes the task.
    pub(crate) fn close(&mut self) -> bool {
        self.send_right.close()
    }

    /// The scheduler begins to send. Returns false if it may not, or if earlier events need the delivery task first.
    pub(crate) fn begin_sending(&mut self) -> bool {
        self.is_in_order() && self.send_right.begin()
    }

    /// Notes that the scheduler has sent its events. Returns true if the window still notes them.
    pub(crate) fn end_sending(&mut self) -> bool {
        self.send_right.end()
    }

    /// The scheduler gives back the events that it could not send, in order. The delivery task sends them.
    pub(crate) fn give_back(&mut self, events: &mut Vec<E>) {
        match self.send_right.give_back() {
            true if events.is_empty() => {}
            true => self.exceptional().returned.append(events),
            false => events.clear(),
        }
    }

    /// Returns true once if the delivery task waits for the scheduler, which has finished now.
    pub(crate) fn poll_sender_awaited(&mut self) -> bool {
        self.send_right.poll_awaited()
    }

    /// Takes the events that the scheduler could not send.
    pub(crate) fn take_returned(&mut self) -> Vec<E> {
        self.take_exceptional(|it| &mut it.returned)
    }

    /// Returns true if no earlier event needs the delivery task.
    pub(crate) fn is_in_order(&self) -> bool {
        let exceptional = self.exceptional.as_ref();
        exceptional.is_none_or(|it| it.failed.is_empty() && it.returned.is_empty())
    }

    /// How much is in flight. Failed events count until the delivery task takes them.
    pub(crate) fn load(&self) -> Load {
        Load {
            count: self.sent_count as usize + self.failed_count(),
            bytes: self.sent_bytes,
        }
    }

    /// The number of the event that is sent next.
    pub(crate) fn next(&self) -> u64 {
        self.next
    }

    /// The handle of the oldest event in flight. All others left over the same connection.
    pub(crate) fn oldest(&self) -> Option<&H> {
        self.sent.front().map(|(_, sent)| &sent.handle)
    }

    /// Takes numbers for events that leave later. Returns the first number.
    pub(crate) fn take_numbers(&mut self, count: usize) -> u64 {
        let first = self.next;
        self.next += count as u64;
        first
    }

    /// Takes the failed events, each or each run with the number of the first.
    pub(crate) fn take_failed(&mut self) -> Vec<(u64, E, E::Failure)> {
        self.take_exceptional(|it| &mut it.failed)
    }

    /// Makes the next reply wake the delivery task. Replies after that one do not wake it again.
    pub(crate) fn await_each(&mut self) {
        self.is_awaited = true;
    }

    /// Sets whether the next reply wakes the delivery task.
    pub(crate) fn set_awaited(&mut self, is_awaited: bool) {
        self.is_awaited = is_awaited;
    }

    /// Returns true once if the delivery task waits for a reply.
    pub(crate) fn poll_awaited(&mut self) -> bool {
        std::mem::take(&mut self.is_awaited)
    }

    /// Returns true if the delivery task has a timer, or was woken to start one.
    pub(crate) fn is_timed(&self) -> bool {
        self.is_timed
    }

    /// Notes that the delivery task is woken to start a timer.
    pub(crate) fn ask_for_timer(&mut self) {
        self.is_timed = true;
    }

    /// The time from which the limit for the next late reply runs, if a timer is needed. `has_ended` says that the
    /// timer has just ended. One timer is enough, because later events are due later.
    pub(crate) fn begin_timer(&mut self, has_ended: bool, now: Instant) -> Option<Instant> {
        let oldest = self.sent.front().map(|(_, sent)| sent.since);
        // A timer that was asked for runs even if all events were answered meanwhile, so that the scheduler does not
        // ask again soon.
        let is_asked = self.is_timed && !has_ended;
        let since = oldest.or_else(|| is_asked.then_some(now));
        self.is_timed = since.is_some();
        since
    }

    /// Takes the handles of the events whose time has run for at least `limit`. Returns how many events they are. Drop the
    /// handles after the lock is released.
    pub(crate) fn take_late(&mut self, limit: Duration, now: Instant) -> (Vec<H>, usize) {
        let timed_to = self.timed_to();
        let is_late = |sent: &Sent<H, E>| now.saturating_duration_since(sent.since) >= limit;
        let timed = self.sent.iter().take_while(|(first, _)| *first < timed_to);
        let late = timed.take_while(|(_, sent)| is_late(sent)).count();
        let before = self.sent_count;
        let handles: Vec<_> = (0..late).filter_map(|_| self.take_first()).collect();
        if !handles.is_empty() {
            self.window.handle_trouble(self.next);
            self.begin_times(now);
        }
        (handles, (before - self.sent_count) as usize)
    }

    /// Gives up the first event in flight for which this holds. Drop the handle after the lock is released.
    pub(crate) fn take_given_up(&mut self, holds: impl Fn(&E) -> bool, now: Instant) -> Option<H> {
        let number = self.sent.iter().find(|(_, sent)| holds(&sent.events))?.0;
        let sent = self.take_sent(number)?;
        self.window.handle_trouble(self.next);
        self.begin_times(now);
        Some(sent.handle)
    }

    /// The events in flight, in the order in which they were sent.
    pub(crate) fn in_send_order(&self) -> impl Iterator<Item = &E> {
        self.sent.iter().map(|(_, sent)| &sent.events)
    }

    /// The time runs for events before this number, at least for the oldest one. Without its events, a window that may grow
    /// begins with that many.
    fn timed_to(&self) -> u64 {
        let first = match self.window.may_grow() {
            true => self.window.first(),
            false => usize::MAX,
        };
        let mut left = first;
        for (number, sent) in &self.sent {
            if left == 0 {
                return *number;
            }
            left = left.saturating_sub(sent.events.count());
        }
        self.next
    }

    /// Lets the time run for the events that are among the first now.
    fn begin_times(&mut self, now: Instant) {
        if !self.window.may_grow() || self.timed_to == self.next {
            return;
        }
        let mut left = self.window.first();
        for (number, sent) in &mut self.sent {
            if left == 0 {
                return;
            }
            let count = sent.events.count();
            left = left.saturating_sub(count);
            if *number >= self.timed_to {
                sent.since = now;
                self.timed_to = *number + count as u64;
            }
        }
    }

    /// Notes sent events, numbered from the next one. Replies may have come before: see [`InFlightEvents::take_early`].
    pub(crate) fn note_sent(
        &mut self,
        events: impl Iterator<Item = E>,
        handles: impl Iterator<Item = H>,
        since: Instant,
    ) {
        for (events, handle) in events.zip(handles) {
            let (first, count) = (self.next, events.count());
            let is_timed = (self.sent_count as usize) < self.window.first();
            self.sent_bytes += events.byte_count();
            self.sent_count += count as u32;
            if self.sent.capacity() == 0 {
                // Most subscribers have one event in flight at a time.
                self.sent.reserve_exact(1);
            }
            let sent = Sent {
                events,
                handle,
                sent: since,
                since,
            };
            self.sent.push_back((first, sent));
            self.next += count as u64;
            if is_timed {
                // Its time runs from now on.
                self.timed_to = self.next;
            }
        }
    }

    /// Returns true if replies came before their events were noted.
    pub(crate) fn has_early(&self) -> bool {
        let exceptional = self.exceptional.as_ref();
        exceptional.is_some_and(|it| !it.early.is_empty())
    }

    /// Takes the replies that came before their events were noted, for [`InFlightEvents::handle_answer`].
    pub(crate) fn take_early(&mut self) -> Vec<NumberedReply<E>> {
        self.take_exceptional(|it| &mut it.early)
    }

    /// Replies without results: the events arrived. `end` ends the handles, and gets the events and the times when they
    /// were sent. Returns how many of the events were in the window.
    pub(crate) fn handle_returned(
        &mut self,
        numbers: Range<u64>,
        now: Instant,
        mut end: impl FnMut(&E, H, Instant),
    ) -> u64 {
        let known = numbers.start..numbers.end.min(self.next);
        let early = numbers.start.max(self.next)..numbers.end;
        if !early.is_empty() {
            self.exceptional().early.push((early, EventReply::Returned));
        }
        let before = self.load().count;
        let is_in_order = self.is_oldest(known.start);
        let (mut count, mut last) = (0, None);
        let mut number = known.start;
        while number < known.end {
            match self.take_sent(number) {
                Some(sent) => {
                    let answered = sent.events.count();
                    count += answered;
                    number += answered as u64;
                    last = Some((number - 1, sent.sent));
                    end(&sent.events, sent.handle, sent.sent);
                }
                // It was given up.
                None => number += 1,
            }
        }
        if let Some((last, sent)) = last {
            self.note_answered(count, last, sent, is_in_order, before, now);
        }
        count as u64
    }

    /// A reply to the events with these numbers, or an error in its place. It is kept if the events are not noted yet; those
    /// that failed are kept for the delivery task. `end` ends the handle. Returns how many events were delivered.
    pub(crate) fn handle_reply(
        &mut self,
        numbers: Range<u64>,
        reply: EventReply<E::Failure>,
        now: Instant,
        mut end: impl FnMut(&E, H),
    ) -> u64 {
        if numbers.start >= self.next {
            self.exceptional().early.push((numbers, reply));
            return 0;
        }
        let (is_lost, failure) = match reply {
            EventReply::Returned => {
                return self.handle_returned(numbers, now, |events, handle, _| end(events, handle));
            }
            EventReply::Threw(failure) => (false, failure),
            EventReply::Lost(failure) => (true, failure),
        };
        let Some(sent) = self.take_sent(numbers.start) else {
            // The events were given up at the same moment.
            return 0;
        };
        end(&sent.events, sent.handle);
        let mut delivered = sent.events;
        let mut number = numbers.start;
        let last = match is_lost {
            true => None,
            false => delivered.split_last(),
        };
        let failed = match last {
            Some(last) => {
                number += delivered.count() as u64;
                last
            }
            None => delivered,
        };
        self.exceptional().failed.push((number, failed, failure));
        self.is_awaited = true;
        self.window.handle_trouble(self.next);
        self.begin_times(now);
        number - numbers.start
    }

    /// Returns true if no earlier event is in flight.
    fn is_oldest(&self, number: u64) -> bool {
        let oldest = self.sent.front();
        oldest.is_none_or(|(oldest, _)| number <= *oldest)
    }

    /// Notes answers in the window. `before` is the number of events in flight before them.
    fn note_answered(
        &mut self,
        count: usize,
        last: u64,
        sent: Instant,
        is_in_order: bool,
        before: usize,
        now: Instant,
    ) {
        self.window.handle_answered(Answered {
            count,
            last,
            time: now.saturating_duration_since(sent),
            is_in_order,
            was_full: before >= self.window.size(),
            next: self.next,
        });
        self.begin_times(now);
    }

    /// Forgets all events in flight. `outstanding` is their number, including those that are being sent. Later replies
    /// to them are ignored. Drop the result after the lock is released.
    pub(crate) fn abandon(&mut self, outstanding: u64) -> Self {
        let next = self.next + outstanding;
        self.window.handle_trouble(next);
        let new = Self {
            next,
            send_right: self.send_right.revoked(),
            ..Self::new(self.window)
        };
        std::mem::replace(self, new)
    }

    /// Forgets the events that the scheduler took before it panicked, out of `outstanding` events. Returns their
    /// number.
    pub(crate) fn forget_taken(&mut self, outstanding: u64) -> u64 {
        if !self.send_right.reset() {
            // All of its events were noted, given back, or abandoned.
            return 0;
        }
        let count = outstanding.saturating_sub(self.load().count as u64);
        self.take_early();
        self.next += count;
        count
    }

    fn failed_count(&self) -> usize {
        let failed = self.exceptional.iter().flat_map(|it| &it.failed);
        failed.map(|(_, events, _)| events.count()).sum()
    }

    #[cold]
    fn exceptional(&mut self) -> &mut Exceptional<E> {
        self.exceptional.get_or_insert_default()
    }

    /// Takes one of the lists. The memory of all of them is released with the last one.
    fn take_exceptional<T>(
        &mut self,
        list: impl FnOnce(&mut Exceptional<E>) -> &mut Vec<T>,
    ) -> Vec<T> {
        let Some(exceptional) = &mut self.exceptional else {
            return Vec::new();
        };
        let taken = std::mem::take(list(exceptional));
        self.exceptional.take_if(|it| it.is_empty());
        taken
    }

    /// Takes events out of the window, the first of which has this number.
    fn take_sent(&mut self, number: u64) -> Option<Sent<H, E>> {
        let sent = match self.sent.front() {
            Some((first, _)) if *first == number => self.sent.pop_front(),
            _ => {
                let found = self.sent.binary_search_by_key(&number, |(sent, _)| *sent);
                self.sent.remove(found.ok()?)
            }
        };
        let (_, sent) = sent?;
        self.sent_bytes -= sent.events.byte_count();
        self.sent_count -= sent.events.count() as u32;
        Some(sent)
    }

    fn take_first(&mut self) -> Option<H> {
        let first = self.sent.front()?.0;
        Some(self.take_sent(first)?.handle)
    }
}

#[cfg(test)]
mod tests;
