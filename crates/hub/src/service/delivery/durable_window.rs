//! Sends the events of a subscriber that reads the log of its topic, and takes their replies.
//!
//! `core/durable/in_flight.rs` decides what follows from a reply. The task that reads the reply moves the position, and the
//! delivery task settles the rest.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, MutexGuard, Weak};
use std::time::Instant;

use floe::InvokeError;
use floe::forwarding::{Event, PendingEvent, ReplySink};
use floe::message::Outcome;

use crate::core::durable::{Attempt, DurableInFlight, Ended, LogEvent, Member};
use crate::lock::Mutex;
use crate::service::durable::Reader;
use crate::service::subscriber::Subscriber;

/// The events in flight of one delivery task.
pub(super) struct DurableWindow {
    subscriber: Weak<Subscriber>,
    reader: Arc<Reader>,
    member: Member,
    /// The number of the position for which its events were read.
    position_number: AtomicU64,
    /// Held for a few moves. No object that belongs to a connection is dropped while it is held.
    in_flight: Mutex<DurableInFlight<PendingEvent>>,
}

impl DurableWindow {
    pub(super) fn new(
        subscriber: &Arc<Subscriber>,
        reader: &Arc<Reader>,
        member: Member,
    ) -> Arc<Self> {
        Arc::new(Self {
            subscriber: Arc::downgrade(subscriber),
            reader: reader.clone(),
            member,
            position_number: AtomicU64::new(reader.position_number()),
            in_flight: Mutex::new(DurableInFlight::new(subscriber.window())),
        })
    }

    /// How many events may be sent now.
    pub(super) fn room(&self) -> usize {
        self.lock().room()
    }

    /// Returns true if no event is in flight.
    pub(super) fn is_empty(&self) -> bool {
        self.lock().is_empty()
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
        let in_flight = self.lock();
        let first = in_flight.next();
        let behind = match in_flight.oldest().map(PendingEvent::token) {
            // Their connection has ended: they fail before these are sent.
            Some(None) => return false,
            behind => behind.flatten(),
        };
        // A reply may come before the call returns, and takes the lock.
        drop(in_flight);
        let now = Instant::now();
        let proxy = subscriber.proxy();
        let Some(sent) = proxy.try_forward(events, self, first, behind.as_ref()) else {
            return false;
        };
        let events = sequences.zip(events.drain(..));
        let events = events.map(|(sequence, event)| LogEvent {
            sequence,
            len: event.len(),
        });
        let mut in_flight = self.lock();
        let ended = in_flight.note_sent(events, sent, now, PendingEvent::end);
        drop(in_flight);
        self.follow(ended);
        self.reader.note_busy(now);
        true
    }

    /// Notes how the delivery of an event ended that did not leave by [`DurableWindow::send`].
    pub(super) fn note(&self, sequence: u64, answer: Result<Option<Outcome>, InvokeError>) {
        let ended = self.lock().note(sequence, answer);
        self.follow(ended);
    }

    /// How deliveries ended since the last call, which the delivery task settles.
    pub(super) fn take_attempts(&self) -> Vec<(u64, Attempt)> {
        self.lock().take_attempts()
    }

    /// Gives up the events whose replies are late. They count as refused. If the position was set, all events are given
    /// up: they are not pending any more, and a reply says nothing about the next delivery. Returns true if events that
    /// programs have pulled may be late.
    pub(super) fn give_up_late(&self) -> bool {
        let number = self.reader.position_number();
        if self.position_number.swap(number, Ordering::Relaxed) != number {
            self.abandon();
        }
        let now = Instant::now();
        let late = self.reader.late(self.member, now);
        if late.is_empty() {
            return false;
        }
        // Dropped after the lock is released, because that takes the lock of the connection.
        let handles = self.lock().give_up(&late, now);
        handles.len() < late.len()
    }

    /// Gives up all events. They are delivered again.
    pub(super) fn abandon(&self) {
        let (undelivered, abandoned) = self.lock().abandon();
        drop(abandoned);
        self.follow(Ended {
            undelivered,
            ..Ended::default()
        });
    }

    fn handle_answers(
        &self,
        answers: impl IntoIterator<Item = (u64, Result<Option<Outcome>, InvokeError>)>,
    ) {
        let now = Instant::now();
        let mut in_flight = self.lock();
        let ended = in_flight.handle_answers(answers, now, PendingEvent::end);
        drop(in_flight);
        self.follow(ended);
    }

    /// Moves the position, and counts the events.
    fn follow(&self, ended: Ended) {
        let Ended {
            acknowledged,
            undelivered,
            has_refused,
        } = ended;
        let subscriber = self.subscriber.upgrade();
        if !acknowledged.is_empty() {
            if let Some(subscriber) = &subscriber {
                let count = acknowledged.len() as u64;
                subscriber.lock().subscription.handle_delivered(count);
            }
            self.reader.handle_acknowledged(acknowledged.into_iter());
        }
        if !undelivered.is_empty() {
            if let Some(subscriber) = &subscriber {
                let count = undelivered.len() as u64;
                subscriber.lock().subscription.handle_unread(count);
            }
            self.reader.handle_undelivered(undelivered.into_iter());
        }
        if has_refused {
            self.reader.notify();
        }
    }

    fn lock(&self) -> MutexGuard<'_, DurableInFlight<PendingEvent>> {
        self.in_flight.lock()
    }
}

impl ReplySink for DurableWindow {
    fn returned(&self, numbers: Range<u64>) {
        let now = Instant::now();
        let mut in_flight = self.lock();
        let ended = in_flight.handle_returned(numbers, now, PendingEvent::end);
        drop(in_flight);
        self.follow(ended);
        self.reader.note_busy(now);
    }

    fn answered(&self, numbers: Range<u64>, answer: Result<Option<Outcome>, InvokeError>) {
        self.handle_answers([(numbers.start, answer)]);
    }

    fn failed(&self, failures: Vec<(Range<u64>, InvokeError)>) {
        // Each event has a reply of its own.
        let failures = failures.into_iter();
        self.handle_answers(failures.map(|(numbers, error)| (numbers.start, Err(error))));
    }
}
