//! The window of events in flight of one subscriber.
//!
//! Events get their numbers here, in the order in which they leave. A sent event is noted with its handle, and leaves
//! the window with its reply. The shell decides which task waits, and for what.
//!
//! - `send_right.rs`: who may send: the delivery task or the scheduler
//! - `resend.rs`: which failed events are sent again

mod resend;
mod send_right;

use std::collections::VecDeque;
use std::fmt;
use std::ops::Range;
use std::time::{Duration, Instant};

use floe::InvokeError;
use floe::forwarding::Event;

use super::window::{Answered, Window};
pub(crate) use resend::{Resend, may_resend};
use send_right::SendRight;

/// The events in flight. `H` is the handle of a sent event; dropping it gives up the reply. `E` is what the window keeps
/// of an event.
#[derive(Debug)]
pub(crate) struct InFlightEvents<H, E: Sendable = Event> {
    /// How many there may be.
    window: Window,
    /// In the order of their numbers. Replies come in nearly the same order.
    sent: VecDeque<(u64, Sent<H, E>)>,
    /// Bytes of the events in `sent`.
    sent_bytes: usize,
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
    early: Vec<EarlyReply<E>>,
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

/// A reply that came before its event was noted.
type EarlyReply<E> = (u64, Result<(), <E as Sendable>::Failure>);

/// The part of an event that a window keeps until its reply comes.
pub(crate) trait Sendable {
    /// Why the event did not arrive.
    type Failure: fmt::Debug;

    /// The bytes of the event.
    fn byte_count(&self) -> usize;
}

impl Sendable for Event {
    type Failure = InvokeError;

    fn byte_count(&self) -> usize {
        self.len()
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

/// A sent event.
#[derive(Debug)]
struct Sent<H, E> {
    event: E,
    handle: H,
    /// When it was sent.
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
            count: self.sent.len() + self.failed_count(),
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

    /// Takes the failed events.
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

    /// Takes the events whose time has run for at least `limit`. Drop the handles after the lock is released.
    pub(crate) fn take_late(&mut self, limit: Duration, now: Instant) -> Vec<H> {
        let is_late = |sent: &Sent<H, E>| now.saturating_duration_since(sent.since) >= limit;
        let timed = self.sent.iter().take(self.timed_count());
        let count = timed.take_while(|(_, sent)| is_late(sent)).count();
        let late = self.sent.drain(..count).map(|(_, sent)| {
            self.sent_bytes -= sent.event.byte_count();
            sent.handle
        });
        let late: Vec<_> = late.collect();
        if !late.is_empty() {
            self.window.handle_trouble(self.next);
            self.begin_times(now);
        }
        late
    }

    /// Gives up the first event in flight for which this holds. Drop the handle after the lock is released.
    pub(crate) fn take_given_up(&mut self, holds: impl Fn(&E) -> bool, now: Instant) -> Option<H> {
        let number = self.sent.iter().find(|(_, sent)| holds(&sent.event))?.0;
        let sent = self.take_sent(number)?;
        self.window.handle_trouble(self.next);
        self.begin_times(now);
        Some(sent.handle)
    }

    /// The events in flight, in the order in which they were sent.
    pub(crate) fn in_send_order(&self) -> impl Iterator<Item = &E> {
        self.sent.iter().map(|(_, sent)| &sent.event)
    }

    /// The number of events, from the oldest, whose time runs.
    fn timed_count(&self) -> usize {
        match self.window.may_grow() {
            true => self.window.first(),
            false => usize::MAX,
        }
    }

    /// Lets the time run for the events that are among the first now.
    fn begin_times(&mut self, now: Instant) {
        if !self.window.may_grow() || self.timed_to == self.next {
            return;
        }
        for (number, sent) in self.sent.iter_mut().take(self.window.first()) {
            if *number >= self.timed_to {
                sent.since = now;
                self.timed_to = *number + 1;
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
        for (event, handle) in events.zip(handles) {
            self.sent_bytes += event.byte_count();
            if self.sent.capacity() == 0 {
                // Most subscribers have one event in flight at a time.
                self.sent.reserve_exact(1);
            }
            let sent = Sent {
                event,
                handle,
                sent: since,
                since,
            };
            self.sent.push_back((self.next, sent));
            self.next += 1;
            if self.sent.len() <= self.window.first() {
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
    pub(crate) fn take_early(&mut self) -> Vec<EarlyReply<E>> {
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
            let early = early.map(|number| (number, Ok(())));
            self.exceptional().early.extend(early);
        }
        let before = self.load().count;
        let is_in_order = self.is_oldest(known.start);
        let (mut count, mut last) = (0, None);
        for number in known {
            if let Some(sent) = self.take_sent(number) {
                count += 1;
                last = Some((number, sent.sent));
                end(&sent.event, sent.handle, sent.sent);
            }
        }
        if let Some((last, sent)) = last {
            self.note_answered(count, last, sent, is_in_order, before, now);
        }
        count as u64
    }

    /// A reply, or an error in its place. It is kept if the event is not noted yet; a failure is kept for the delivery
    /// task. `end` ends the handle. Returns how many events were delivered.
    pub(crate) fn handle_answer(
        &mut self,
        number: u64,
        answer: Result<(), E::Failure>,
        now: Instant,
        mut end: impl FnMut(&E, H),
    ) -> u64 {
        let error = match answer {
            Ok(()) => {
                let numbers = number..number + 1;
                return self.handle_returned(numbers, now, |event, handle, _| end(event, handle));
            }
            Err(error) => error,
        };
        if number >= self.next {
            self.exceptional().early.push((number, Err(error)));
        } else if let Some(sent) = self.take_sent(number) {
            end(&sent.event, sent.handle);
            let failed = (number, sent.event, error);
            self.exceptional().failed.push(failed);
            self.is_awaited = true;
            self.window.handle_trouble(self.next);
            self.begin_times(now);
        }
        // Otherwise the event was given up at the same moment.
        0
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
        self.exceptional.as_ref().map_or(0, |it| it.failed.len())
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

    /// Takes an event out of the window.
    fn take_sent(&mut self, number: u64) -> Option<Sent<H, E>> {
        let sent = match self.sent.front() {
            Some((first, _)) if *first == number => self.sent.pop_front(),
            _ => {
                let found = self.sent.binary_search_by_key(&number, |(sent, _)| *sent);
                self.sent.remove(found.ok()?)
            }
        };
        let (_, sent) = sent?;
        self.sent_bytes -= sent.event.byte_count();
        Some(sent)
    }
}

#[cfg(test)]
mod tests;
