//! The events in flight to a subscriber that reads the log of its topic, and how their deliveries ended.
//!
//! The log has the events, so the window keeps only their sequences. An event that does not arrive is delivered again.

use std::ops::Range;
use std::time::Instant;

use floe::message::Outcome;
use floe::{InvokeError, LocalError, SystemException};

use crate::core::{EventReply, InFlightEvents, Sendable, Window, WindowRoom};

/// The window of a durable subscriber. `H` is the handle of a sent event; dropping it gives up the reply.
#[derive(Debug)]
pub(crate) struct DurableInFlight<H> {
    events: InFlightEvents<H, LogEvent>,
    /// How deliveries ended, by the sequences of their events. The delivery task settles them.
    attempts: Vec<(u64, Attempt)>,
    /// The event that was sent while no other was in flight, as long as none has followed.
    alone: Option<u64>,
}

/// An event of the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LogEvent {
    /// Its number in the log.
    pub(crate) sequence: u64,
    /// Its bytes.
    pub(crate) len: usize,
}

impl Sendable for LogEvent {
    type Failure = AttemptFailure;

    fn byte_count(&self) -> usize {
        self.len
    }
}

/// How the delivery of an event ended.
pub(crate) type Attempt = Result<(), AttemptFailure>;

/// Why the delivery of an event failed.
#[derive(Debug)]
pub(crate) enum AttemptFailure {
    /// The subscriber refused the event, for this reason. The attempt counts.
    Refused(String),
    /// The subscriber is not there. The event is delivered again, and the attempt does not count.
    Absent(InvokeError),
    /// The event was sent, and the connection ended before the answer: perhaps the subscriber died of it. The attempt counts.
    Broken {
        error: InvokeError,
        /// False if others were in flight beside it, any of which may be the cause.
        is_alone: bool,
    },
}

/// Events whose deliveries have ended, by their sequences. The position follows.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Ended {
    pub(crate) acknowledged: Vec<u64>,
    pub(crate) undelivered: Vec<u64>,
    /// True if some were refused, which the delivery task settles.
    pub(crate) has_refused: bool,
}

impl<H> DurableInFlight<H> {
    pub(crate) fn new(window: Window) -> Self {
        Self {
            events: InFlightEvents::new(window),
            attempts: Vec::new(),
            alone: None,
        }
    }

    /// How many events may be sent now.
    pub(crate) fn room(&self) -> usize {
        let room = WindowRoom::beside(self.events.load(), self.events.window_size());
        room.map_or(0, |room| room.events)
    }

    /// Returns true if no event is in flight.
    pub(crate) fn is_empty(&self) -> bool {
        self.events.load().count == 0
    }

    /// The number of the event that is sent next.
    pub(crate) fn next(&self) -> u64 {
        self.events.next()
    }

    /// The handle of the oldest event in flight. All others left over the same connection.
    pub(crate) fn oldest(&self) -> Option<&H> {
        self.events.oldest()
    }

    /// Notes sent events, numbered from the next one. Returns what follows from replies that came before this note.
    pub(crate) fn note_sent(
        &mut self,
        events: impl Iterator<Item = LogEvent>,
        handles: impl Iterator<Item = H>,
        now: Instant,
        mut end: impl FnMut(H),
    ) -> Ended {
        let mut ended = Ended::default();
        let was_empty = self.is_empty();
        let mut first = None;
        let mut count = 0;
        let events = events.inspect(|event| {
            count += 1;
            first.get_or_insert(event.sequence);
        });
        self.events.note_sent(events, handles, now);
        self.alone = first.filter(|_| was_empty && count == 1);
        for (numbers, reply) in self.events.take_early() {
            self.handle_reply(numbers, reply, now, &mut end, &mut ended);
        }
        ended
    }

    /// Replies without results: the subscriber has the events.
    pub(crate) fn handle_returned(
        &mut self,
        numbers: Range<u64>,
        now: Instant,
        mut end: impl FnMut(H),
    ) -> Ended {
        let count = numbers.end.saturating_sub(numbers.start) as usize;
        let mut acknowledged = Vec::with_capacity(count);
        self.events
            .handle_returned(numbers, now, |event, handle, _| {
                acknowledged.push(event.sequence);
                end(handle);
            });
        // One is enough to tell the delivery task that the subscriber is there.
        let last = acknowledged.last();
        self.attempts.extend(last.map(|last| (*last, Ok(()))));
        Ended {
            acknowledged,
            ..Ended::default()
        }
    }

    /// Replies, or errors in their place.
    pub(crate) fn handle_answers(
        &mut self,
        answers: impl IntoIterator<Item = (u64, Result<Option<Outcome>, InvokeError>)>,
        now: Instant,
        mut end: impl FnMut(H),
    ) -> Ended {
        let mut ended = Ended::default();
        for (number, answer) in answers {
            let reply = EventReply::of(attempt_of(answer));
            self.handle_reply(number..number + 1, reply, now, &mut end, &mut ended);
        }
        ended
    }

    fn handle_reply(
        &mut self,
        numbers: Range<u64>,
        reply: EventReply<AttemptFailure>,
        now: Instant,
        end: &mut impl FnMut(H),
        ended: &mut Ended,
    ) {
        let mut known = Vec::new();
        let delivered = self
            .events
            .handle_reply(numbers, reply, now, |event, handle| {
                known.push(event.sequence);
                end(handle);
            });
        if delivered > 0 {
            for sequence in known {
                self.end_attempt(sequence, Ok(()), ended);
            }
        }
        for (_, event, mut failure) in self.events.take_failed() {
            if let AttemptFailure::Broken { is_alone, .. } = &mut failure {
                *is_alone = self.alone == Some(event.sequence);
            }
            self.end_attempt(event.sequence, Err(failure), ended);
        }
    }

    /// Notes how the delivery of an event ended that did not pass this window.
    pub(crate) fn note(
        &mut self,
        sequence: u64,
        answer: Result<Option<Outcome>, InvokeError>,
    ) -> Ended {
        let mut ended = Ended::default();
        self.end_attempt(sequence, attempt_of(answer), &mut ended);
        ended
    }

    fn end_attempt(&mut self, sequence: u64, attempt: Attempt, ended: &mut Ended) {
        match &attempt {
            Ok(()) => ended.acknowledged.push(sequence),
            Err(AttemptFailure::Refused(_) | AttemptFailure::Broken { .. }) => {
                ended.has_refused = true;
            }
            Err(AttemptFailure::Absent(_)) => {
                ended.undelivered.push(sequence);
                let last = self.attempts.last();
                if let Some((_, Err(AttemptFailure::Absent(_)))) = last {
                    // They share one attempt to reach the subscriber, and one wait before the next.
                    return;
                }
            }
        }
        self.attempts.push((sequence, attempt));
    }

    /// How deliveries ended since the last call.
    pub(crate) fn take_attempts(&mut self) -> Vec<(u64, Attempt)> {
        std::mem::take(&mut self.attempts)
    }

    /// Gives up events whose replies are late. They count as refused. Drop the handles after the lock is released.
    pub(crate) fn give_up(&mut self, sequences: &[u64], now: Instant) -> Vec<H> {
        let mut late = Vec::new();
        for sequence in sequences {
            // Another subscriber of the subscription may have it.
            let is_late = |event: &LogEvent| event.sequence == *sequence;
            if let Some(handle) = self.events.take_given_up(is_late, now) {
                late.push(handle);
                let reason = "its acknowledgement did not come in time".to_owned();
                let failure = AttemptFailure::Refused(reason);
                self.attempts.push((*sequence, Err(failure)));
            }
        }
        late
    }

    /// Gives up all events. Returns the sequences of those that are delivered again, which include refused ones that the
    /// delivery task has not settled. Drop the window that this returns after the lock is released.
    pub(crate) fn abandon(&mut self) -> (Vec<u64>, InFlightEvents<H, LogEvent>) {
        let refused = self.take_attempts().into_iter().filter_map(|it| match it {
            (sequence, Err(AttemptFailure::Refused(_) | AttemptFailure::Broken { .. })) => {
                Some(sequence)
            }
            _ => None,
        });
        let in_flight = self.events.in_send_order().map(|event| event.sequence);
        let again = in_flight.chain(refused).collect();
        (again, self.events.abandon(0))
    }
}

fn attempt_of(answer: Result<Option<Outcome>, InvokeError>) -> Attempt {
    match answer {
        Ok(Some(Outcome::UserException(_))) => {
            let reason = "the subscriber threw a user exception".to_owned();
            Err(AttemptFailure::Refused(reason))
        }
        Ok(_) => Ok(()),
        Err(error) if is_of_subscriber(&error) => Err(AttemptFailure::Refused(error.to_string())),
        Err(error) if is_broken(&error) => Err(AttemptFailure::Broken {
            error,
            is_alone: true,
        }),
        Err(error) => Err(AttemptFailure::Absent(error)),
    }
}

/// Returns true if the event was sent, and its connection ended before the answer. If this program ends, that is not the fault
/// of the event.
fn is_broken(error: &InvokeError) -> bool {
    match error {
        InvokeError::PerhapsDispatched(error) => !matches!(error, LocalError::Shutdown),
        _ => false,
    }
}

/// Returns true if the subscriber itself failed to take the event, so that the attempt counts.
fn is_of_subscriber(error: &InvokeError) -> bool {
    match error {
        InvokeError::System(
            SystemException::ObjectNotExist(_) | SystemException::FacetNotExist(_),
        ) => false,
        InvokeError::System(_) => true,
        InvokeError::PerhapsDispatched(LocalError::Timeout { .. }) => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests;
