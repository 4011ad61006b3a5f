//! The unanswered events of a subscriber that reads the log of its topic.
//!
//! The task that reads a reply acknowledges its event here. The delivery task settles all other answers.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use floe::forwarding::{Event, PendingEvent, ReplySink};
use floe::message::Outcome;
use floe::{InvokeError, LocalError, SystemException};

use crate::service::durable::Reader;
use crate::service::subscriber::Subscriber;

/// Unanswered events, by the numbers that they have for their connection.
pub(super) struct DurableWindow {
    subscriber: Weak<Subscriber>,
    reader: Arc<Reader>,
    outstanding_max: usize,
    /// Held for a few moves. Nothing that belongs to a connection is dropped under it.
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    next: u64,
    sent: BTreeMap<u64, Sent>,
    /// Answers that the delivery task settles, by the sequences of their events.
    answers: Vec<(u64, Answer)>,
}

/// An event that has left.
struct Sent {
    sequence: u64,
    /// `None` until the connection has it.
    pending: Option<PendingEvent>,
}

/// How the delivery of an event ended.
pub(super) enum Answer {
    /// The subscriber has it, and it is acknowledged.
    Delivered,
    /// The subscriber refused it, for this reason.
    Refused(String),
    /// The subscriber is not there. The event is delivered again.
    Absent(InvokeError),
}

impl DurableWindow {
    pub(super) fn new(subscriber: &Arc<Subscriber>, reader: &Arc<Reader>) -> Arc<Self> {
        Arc::new(Self {
            subscriber: Arc::downgrade(subscriber),
            reader: reader.clone(),
            outstanding_max: subscriber.outstanding().unwrap_or(1),
            state: Mutex::default(),
        })
    }

    /// How many events may leave.
    pub(super) fn room(&self) -> usize {
        self.outstanding_max.saturating_sub(self.lock().sent.len())
    }

    /// Whether no event is unanswered.
    pub(super) fn is_empty(&self) -> bool {
        self.lock().sent.is_empty()
    }

    /// Sends events in one write, and leaves the list empty. Returns false, and sends nothing, if they would have to wait.
    pub(super) fn send(
        self: &Arc<Self>,
        sequences: impl Iterator<Item = u64>,
        events: &mut Vec<Event>,
    ) -> bool {
        let Some(subscriber) = self.subscriber.upgrade() else {
            return false;
        };
        let mut state = self.lock();
        let first = state.next;
        let unanswered = state.sent.values().find_map(|sent| sent.pending.as_ref());
        let behind = unanswered.and_then(PendingEvent::token);
        if unanswered.is_some() && behind.is_none() {
            // Their connection has ended: they fail before these are sent.
            return false;
        }
        for (number, sequence) in (first..).zip(sequences) {
            let pending = None;
            state.sent.insert(number, Sent { sequence, pending });
        }
        let end = first + events.len() as u64;
        state.next = end;
        // A reply may come before the call returns, and takes the lock.
        drop(state);
        let sent = subscriber
            .proxy()
            .try_forward(events, self, first, behind.as_ref());
        let mut state = self.lock();
        let Some(sent) = sent else {
            state.sent.retain(|number, _| *number < first);
            return false;
        };
        for (number, pending) in (first..end).zip(sent) {
            match state.sent.get_mut(&number) {
                Some(sent) => sent.pending = Some(pending),
                None => pending.end(),
            }
        }
        events.clear();
        true
    }

    /// Notes how the delivery of an event ended that did not leave by [`DurableWindow::send`].
    pub(super) fn note(&self, sequence: u64, answer: Result<Option<Outcome>, InvokeError>) {
        self.handle_answer(sequence, answer);
    }

    /// The answers since the last call that the delivery task settles.
    pub(super) fn take_answers(&self) -> Vec<(u64, Answer)> {
        std::mem::take(&mut self.lock().answers)
    }

    /// Gives up events whose replies are late. They count as refused.
    pub(super) fn give_up(&self, sequences: Vec<u64>) {
        if sequences.is_empty() {
            return;
        }
        let mut state = self.lock();
        let mut late = Vec::new();
        for sequence in sequences {
            let number = state
                .sent
                .iter()
                .find(|(_, sent)| sent.sequence == sequence);
            let Some(number) = number.map(|(number, _)| *number) else {
                // Another subscriber of the subscription has it.
                continue;
            };
            late.extend(state.sent.remove(&number));
            let reason = "its acknowledgement did not come in time".to_owned();
            state.answers.push((sequence, Answer::Refused(reason)));
        }
        drop(state);
        drop(late);
    }

    /// Gives up all events. They are delivered again.
    pub(super) fn abandon(&self) {
        let mut state = self.lock();
        let sent = std::mem::take(&mut state.sent);
        // Nobody settles these any more.
        let refused = std::mem::take(&mut state.answers).into_iter();
        let refused = refused.filter(|(_, answer)| matches!(answer, Answer::Refused(_)));
        let refused: Vec<_> = refused.map(|(sequence, _)| sequence).collect();
        drop(state);
        let sequences: Vec<_> = sent.values().map(|sent| sent.sequence).collect();
        drop(sent);
        let sequences = sequences.into_iter().chain(refused);
        self.undeliver(sequences.collect());
    }

    fn undeliver(&self, sequences: Vec<u64>) {
        if sequences.is_empty() {
            return;
        }
        if let Some(subscriber) = self.subscriber.upgrade() {
            let count = sequences.len() as u64;
            subscriber.lock().subscription.handle_unread(count);
        }
        self.reader.handle_undelivered(sequences.into_iter());
    }

    fn acknowledge(&self, sequences: Vec<u64>) {
        if let Some(subscriber) = self.subscriber.upgrade() {
            let count = sequences.len() as u64;
            subscriber.lock().subscription.handle_delivered(count);
        }
        self.reader.handle_acknowledged(sequences.into_iter());
    }

    fn handle_answer(&self, sequence: u64, answer: Result<Option<Outcome>, InvokeError>) {
        let answer = match answer {
            Ok(Some(Outcome::UserException(_))) => {
                Answer::Refused("the subscriber threw a user exception".to_owned())
            }
            Ok(_) => {
                self.acknowledge(vec![sequence]);
                return self.lock().answers.push((sequence, Answer::Delivered));
            }
            Err(error) if is_of_subscriber(&error) => Answer::Refused(error.to_string()),
            Err(error) => {
                self.undeliver(vec![sequence]);
                Answer::Absent(error)
            }
        };
        self.lock().answers.push((sequence, answer));
        self.reader.notify();
    }

    fn take(&self, number: u64) -> Option<Sent> {
        self.lock().sent.remove(&number)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ReplySink for DurableWindow {
    fn returned(&self, numbers: Range<u64>) {
        let mut state = self.lock();
        let mut sequences = Vec::with_capacity(numbers.end.saturating_sub(numbers.start) as usize);
        for number in numbers {
            if let Some(sent) = state.sent.remove(&number) {
                sequences.push(sent.sequence);
                if let Some(pending) = sent.pending {
                    pending.end();
                }
            }
        }
        if let Some(last) = sequences.last() {
            state.answers.push((*last, Answer::Delivered));
        }
        drop(state);
        self.acknowledge(sequences);
    }

    fn answered(&self, number: u64, answer: Result<Option<Outcome>, InvokeError>) {
        let Some(sent) = self.take(number) else {
            return;
        };
        if let Some(pending) = sent.pending {
            pending.end();
        }
        self.handle_answer(sent.sequence, answer);
    }

    fn failed(&self, failures: Vec<(u64, InvokeError)>) {
        let mut sequences = Vec::new();
        let mut reason = None;
        for (number, error) in failures {
            if let Some(sent) = self.take(number) {
                sequences.push(sent.sequence);
                if let Some(pending) = sent.pending {
                    pending.end();
                }
                reason = Some(error);
            }
        }
        if let Some((sequence, error)) = sequences.first().copied().zip(reason) {
            self.lock().answers.push((sequence, Answer::Absent(error)));
        }
        self.undeliver(sequences);
    }
}

/// Whether the subscriber itself failed to take the event, so that the attempt counts. If it is not there, or the
/// connection broke, that is not the fault of the event.
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
