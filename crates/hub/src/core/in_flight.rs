//! The window of deliveries to one twoway subscriber that are not answered yet.
//!
//! Events get their numbers here, in the order in which they leave. Whatever is sent is noted with its handle, and leaves
//! the window with its answer. Who waits, and for what, is up to the shell.

use std::collections::VecDeque;
use std::ops::Range;
use std::time::{Duration, Instant};

use floe::{Event, EventParts, InvokeError, SystemException};

/// Deliveries that are not answered; `H` is the handle of one that was sent, which gives it up when it is dropped.
///
/// One sender at a time adds to it:
///
/// ```text
///          open                begin_sending
/// Task ----------> Scheduler ----------------> Sending
///   ^    close       |   ^      end_sending       | abandon
///   +----------------+   +------------------------+----------> Revoked
///   ^            give_back, or end_sending of a revoked one       |
///   +-------------------------------------------------------------+
/// ```
#[derive(Debug)]
pub(crate) struct InFlightEvents<H> {
    /// In the order of their numbers. Answers come in this order, or nearly.
    sent: VecDeque<(u64, Sent<H>)>,
    /// Bytes of the events in `sent`.
    sent_bytes: usize,
    /// The number of the event that is sent next.
    next: u64,
    /// Answers to events that are being sent, and are not noted yet.
    early: Vec<(u64, Result<(), InvokeError>)>,
    /// Events that failed since the delivery task last looked.
    failed: Vec<Resend>,
    /// Events that the scheduler took and could not send.
    returned: Vec<Event>,
    sender: Sender,
    /// Whether the delivery task waits for the scheduler to finish sending.
    is_sender_awaited: bool,
    /// Whether the delivery task waits for the next answer.
    is_awaited: bool,
    /// Whether the delivery task runs a timer for late answers, or was woken to start one.
    is_timed: bool,
}

/// An event that failed: its number, and why.
pub(crate) type Resend = (u64, Event, InvokeError);

/// Which part of the hub may send.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Sender {
    /// The delivery task of the subscriber.
    #[default]
    Task,
    /// The scheduler, until the delivery task is polled.
    Scheduler,
    /// The scheduler is sending now.
    Sending,
    /// The scheduler is sending, and the window was abandoned meanwhile.
    Revoked,
}

/// How much is not answered.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Load {
    /// Events.
    pub(crate) count: usize,
    /// Bytes of the events, without those that failed.
    pub(crate) bytes: usize,
}

/// How much may be sent now: at least one event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Room {
    pub(crate) events: usize,
    pub(crate) bytes: usize,
}

/// An event that was sent.
#[derive(Debug)]
struct Sent<H> {
    event: Event,
    handle: H,
    since: Instant,
}

/// Bytes of events that are not answered, but for the last of these events. Events that have left the queue do not count
/// among those that the queue may hold.
const IN_FLIGHT_BYTES_MAX: usize = 8 * 1024 * 1024;

impl Room {
    /// The room in a window beside what is not answered, if there is any.
    pub(crate) fn beside(load: Load, outstanding_max: usize) -> Option<Self> {
        let events = outstanding_max.saturating_sub(load.count);
        let bytes = IN_FLIGHT_BYTES_MAX.saturating_sub(load.bytes);
        (events > 0 && bytes > 0).then_some(Self { events, bytes })
    }
}

impl<H> Default for InFlightEvents<H> {
    fn default() -> Self {
        Self {
            sent: VecDeque::new(),
            sent_bytes: 0,
            next: 0,
            early: Vec::new(),
            failed: Vec::new(),
            returned: Vec::new(),
            sender: Sender::Task,
            is_sender_awaited: false,
            is_awaited: false,
            is_timed: false,
        }
    }
}

impl<H> InFlightEvents<H> {
    /// Whether the scheduler may send, or is sending.
    pub(crate) fn is_open(&self) -> bool {
        matches!(self.sender, Sender::Scheduler | Sender::Sending)
    }

    /// Lets the scheduler send until the delivery task is polled again.
    pub(crate) fn open(&mut self) {
        if self.sender == Sender::Task {
            self.sender = Sender::Scheduler;
        }
    }

    /// Takes the right to send back for the delivery task; false if the scheduler is sending, and the task is to be woken
    /// when that ends.
    pub(crate) fn close(&mut self) -> bool {
        self.is_sender_awaited = matches!(self.sender, Sender::Sending | Sender::Revoked);
        if !self.is_sender_awaited {
            self.sender = Sender::Task;
        }
        !self.is_sender_awaited
    }

    /// The scheduler begins to send, if it may and nothing sent before needs the delivery task.
    pub(crate) fn begin_sending(&mut self) -> bool {
        let may_send = self.sender == Sender::Scheduler && self.is_in_order();
        if may_send {
            self.sender = Sender::Sending;
        }
        may_send
    }

    /// The scheduler has sent what it took; whether the window still takes note of it.
    pub(crate) fn end_sending(&mut self) -> bool {
        match self.sender {
            Sender::Sending => self.sender = Sender::Scheduler,
            Sender::Revoked => {
                self.sender = Sender::Task;
                return false;
            }
            Sender::Task | Sender::Scheduler => {}
        }
        true
    }

    /// The scheduler gives back what it could not send, in order. The delivery task sends it.
    pub(crate) fn give_back(&mut self, events: &mut Vec<Event>) {
        match self.sender {
            Sender::Revoked => events.clear(),
            _ => self.returned.append(events),
        }
        self.sender = Sender::Task;
    }

    /// Whether the delivery task waits for the scheduler, which has finished by now; true once.
    pub(crate) fn poll_sender_awaited(&mut self) -> bool {
        std::mem::take(&mut self.is_sender_awaited)
    }

    /// Takes what the scheduler could not send.
    pub(crate) fn take_returned(&mut self) -> Vec<Event> {
        std::mem::take(&mut self.returned)
    }

    /// Whether nothing that was sent before needs the delivery task.
    pub(crate) fn is_in_order(&self) -> bool {
        self.failed.is_empty() && self.returned.is_empty()
    }

    /// What is not answered. Events that failed count until the delivery task takes them.
    pub(crate) fn load(&self) -> Load {
        Load {
            count: self.sent.len() + self.failed.len(),
            bytes: self.sent_bytes,
        }
    }

    /// The number of the event that is sent next.
    pub(crate) fn next(&self) -> u64 {
        self.next
    }

    /// The handle of the oldest event that is not answered. All others left over the same connection.
    pub(crate) fn oldest(&self) -> Option<&H> {
        self.sent.front().map(|(_, sent)| &sent.handle)
    }

    /// Takes numbers for events that do not leave immediately; gives the first number.
    pub(crate) fn take_numbers(&mut self, count: usize) -> u64 {
        let first = self.next;
        self.next += count as u64;
        first
    }

    /// Takes the events that failed since the last look.
    pub(crate) fn take_failed(&mut self) -> Vec<Resend> {
        std::mem::take(&mut self.failed)
    }

    /// From now on, until the delivery task is polled, each answer wakes it.
    pub(crate) fn await_each(&mut self) {
        self.is_awaited = true;
    }

    /// Sets whether the next answer wakes the delivery task.
    pub(crate) fn set_awaited(&mut self, is_awaited: bool) {
        self.is_awaited = is_awaited;
    }

    /// Whether the delivery task waits for an answer; true once.
    pub(crate) fn poll_awaited(&mut self) -> bool {
        std::mem::take(&mut self.is_awaited)
    }

    /// Whether the delivery task has a timer, or was woken to start one.
    pub(crate) fn is_timed(&self) -> bool {
        self.is_timed
    }

    /// The delivery task is woken to start a timer.
    pub(crate) fn ask_for_timer(&mut self) {
        self.is_timed = true;
    }

    /// From when on a timer is to run for late answers, if one is needed; `has_ended` says that one has just ended. Later
    /// events are due later, so that one timer is enough.
    pub(crate) fn begin_timer(&mut self, has_ended: bool, now: Instant) -> Option<Instant> {
        let oldest = self.sent.front().map(|(_, sent)| sent.since);
        // A timer that was asked for runs even if all is answered by now: the scheduler does not ask again for a while.
        let is_asked = self.is_timed && !has_ended;
        let since = oldest.or_else(|| is_asked.then_some(now));
        self.is_timed = since.is_some();
        since
    }

    /// Takes out the events that were sent at least `limit` ago. Drop their handles without a lock.
    pub(crate) fn take_late(&mut self, limit: Duration, now: Instant) -> Vec<H> {
        let is_late = |sent: &Sent<H>| now.saturating_duration_since(sent.since) >= limit;
        let count = self.sent.partition_point(|(_, sent)| is_late(sent));
        let late = self.sent.drain(..count).map(|(_, sent)| {
            self.sent_bytes -= sent.event.len();
            sent.handle
        });
        late.collect()
    }

    /// Notes events that were sent, with the numbers from the next one on. Gives the answers that came before the note, for
    /// [`InFlightEvents::handle_answer`].
    pub(crate) fn note_sent(
        &mut self,
        events: &mut Vec<Event>,
        handles: impl Iterator<Item = H>,
        since: Instant,
    ) -> Vec<(u64, Result<(), InvokeError>)> {
        for (event, handle) in events.drain(..).zip(handles) {
            self.sent_bytes += event.len();
            let sent = Sent {
                event,
                handle,
                since,
            };
            self.sent.push_back((self.next, sent));
            self.next += 1;
        }
        match self.early.is_empty() {
            true => Vec::new(),
            false => std::mem::take(&mut self.early),
        }
    }

    /// Answers that say nothing but that the events arrived. `end` ends the handles; gives how many of the events were in
    /// the window.
    pub(crate) fn handle_returned(&mut self, numbers: Range<u64>, end: impl Fn(H)) -> u64 {
        let known = numbers.start..numbers.end.min(self.next);
        let early = numbers.start.max(self.next)..numbers.end;
        self.early.extend(early.map(|number| (number, Ok(()))));
        let taken = known.filter_map(|number| self.take_sent(number));
        taken.map(|sent| end(sent.handle)).count() as u64
    }

    /// An answer, or that none will come. It is kept if the event is not noted yet, and kept as a failure for the delivery
    /// task if it is one. `end` ends the handle; gives how many events were delivered.
    pub(crate) fn handle_answer(
        &mut self,
        number: u64,
        answer: Result<(), InvokeError>,
        end: impl Fn(H),
    ) -> u64 {
        if number >= self.next {
            self.early.push((number, answer));
            return 0;
        }
        // An event that was given up may be answered at this very moment.
        let Some(sent) = self.take_sent(number) else {
            return 0;
        };
        end(sent.handle);
        match answer {
            Ok(()) => 1,
            Err(error) => {
                self.failed.push((number, sent.event, error));
                self.is_awaited = true;
                0
            }
        }
    }

    /// Forgets all that is not answered, `outstanding` events together with those that are being sent: later answers to them
    /// mean nothing. Drop the result without a lock.
    pub(crate) fn abandon(&mut self, outstanding: u64) -> Self {
        let sender = match self.sender {
            Sender::Sending | Sender::Revoked => Sender::Revoked,
            Sender::Task | Sender::Scheduler => Sender::Task,
        };
        let next = self.next + outstanding;
        let new = Self {
            next,
            sender,
            ..Self::default()
        };
        std::mem::replace(self, new)
    }

    /// The scheduler has panicked while it was sending: forgets what it took, of `outstanding` events. Gives how many events
    /// that are.
    pub(crate) fn forget_taken(&mut self, outstanding: u64) -> u64 {
        let sender = std::mem::take(&mut self.sender);
        if sender != Sender::Sending {
            // All of it was noted, given back, or abandoned.
            return 0;
        }
        let count = outstanding.saturating_sub(self.load().count as u64);
        self.early.clear();
        self.next += count;
        count
    }

    /// Takes an event out of the window.
    fn take_sent(&mut self, number: u64) -> Option<Sent<H>> {
        let sent = match self.sent.front() {
            Some((first, _)) if *first == number => self.sent.pop_front(),
            _ => {
                let found = self.sent.binary_search_by_key(&number, |(sent, _)| *sent);
                self.sent.remove(found.ok()?)
            }
        };
        let (_, sent) = sent?;
        self.sent_bytes -= sent.event.len();
        Some(sent)
    }
}

/// Whether an event may be sent again: it surely did not arrive, or may arrive twice; and it did not fail for lack of time,
/// of which it would need as much again. A servant that failed may do better the second time.
///
/// Source: observed, IceStorm 3.7.8, to which the subscriber's object, facet and operation are there or not.
pub(crate) fn may_resend(error: &InvokeError, event: &Event) -> bool {
    match error {
        error if error.is_timeout() => false,
        InvokeError::NotDispatched(_) => true,
        InvokeError::PerhapsDispatched(_) => is_idempotent(event),
        InvokeError::System(
            SystemException::ObjectNotExist(_)
            | SystemException::FacetNotExist(_)
            | SystemException::OperationNotExist(_),
        ) => false,
        InvokeError::System(_) => is_idempotent(event),
        _ => false,
    }
}

fn is_idempotent(event: &Event) -> bool {
    EventParts::parse(event.as_bytes()).is_ok_and(|parts| parts.mode.is_idempotent())
}

#[cfg(test)]
mod tests;
