//! Answers to events that left at once, settled by whoever reads them: the delivery is not woken for each.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::{Arc, MutexGuard};
use std::task::Context;
use std::time::{Duration, Instant};

use floe::{AnswerSink, Event, Forwarding, InvokeError, Outcome, Way};

use crate::service::subscriber::{Shared, Subscriber};

/// What left at once and is not answered, shared by who sends it and the reader of the connection.
///
/// Who sends is the delivery task, or while that waits for events and nothing is in their way, the courier: it is open
/// to that one.
#[derive(Default)]
pub(in crate::service) struct Answers {
    /// What is not answered, in the order of their numbers. Answers come in this order, or nearly.
    sent: VecDeque<(u64, Sent)>,
    /// Bytes of these events.
    sent_bytes: usize,
    /// The number of what is sent next.
    next: u64,
    /// Answers to what is being sent.
    early: Vec<(u64, Answer)>,
    /// What failed since the delivery has looked.
    failed: Vec<(u64, Event, InvokeError)>,
    /// What the courier took and could not send.
    returned: Vec<Event>,
    /// Whether the delivery waits for answers: for room, or for the last one.
    is_awaited: bool,
    /// Whether the courier may send.
    is_open: bool,
    /// Whether the delivery has a timer for those that take too long, or was woken to have one.
    is_timed: bool,
}

/// How much is not answered.
#[derive(Debug, Clone, Copy, Default)]
pub(in crate::service) struct Load {
    /// Events.
    pub(super) count: usize,
    /// Their bytes, without those of what failed.
    pub(super) bytes: usize,
}

/// What failed of what left at once.
pub(super) struct Failed {
    /// With their numbers.
    pub(super) events: Vec<(u64, Event, InvokeError)>,
    /// Whether there may be more: the connection of the others has ended, and they have not been told. It is not looked
    /// for where nothing goes the long way.
    pub(super) is_astray: bool,
    /// How much is not answered besides.
    pub(super) left: Load,
}

/// The place of events among all that are sent.
pub(super) struct Place {
    /// The number of the first of them.
    first: u64,
    /// How those before them left, while they are not answered.
    behind: Option<Way>,
}

/// Events were sent; whether the delivery has a timer for them, or has been woken to have one.
pub(super) struct Timed(pub(super) bool);

type Answer = Result<Option<Outcome>, InvokeError>;

/// An event on its way.
struct Sent {
    event: Event,
    forwarding: Forwarding,
    since: Instant,
}

impl Answers {
    /// Whether the courier may send.
    pub(in crate::service) fn is_open(&self) -> bool {
        self.is_open
    }

    /// The courier may send from now on, until the delivery is polled again.
    pub(super) fn open(&mut self) {
        self.is_open = true;
    }

    pub(super) fn close(&mut self) {
        self.is_open = false;
    }

    /// Whether nothing that was sent before must be seen to by the delivery.
    pub(super) fn is_in_order(&self) -> bool {
        self.failed.is_empty() && self.returned.is_empty()
    }

    /// What is not answered; what failed is part of it while the delivery has not looked.
    pub(super) fn load(&self) -> Load {
        Load {
            count: self.sent.len() + self.failed.len(),
            bytes: self.sent_bytes,
        }
    }

    /// Where what is sent next stands.
    pub(super) fn next(&self) -> Place {
        Place {
            first: self.next,
            behind: self.way(),
        }
    }

    /// Whether what is under way has lost its connection, and has not been told.
    pub(super) fn is_astray(&self) -> bool {
        self.way().is_some_and(|way| !way.is_open())
    }

    /// How all that is not answered left: another way is taken only when that is told.
    fn way(&self) -> Option<Way> {
        self.sent.front()?.1.forwarding.way()
    }

    /// What failed since the last look, with its numbers.
    pub(super) fn take_failed(&mut self) -> Vec<(u64, Event, InvokeError)> {
        std::mem::take(&mut self.failed)
    }

    /// The number of the first of so many events that go the long way, behind what was sent.
    pub(super) fn take_numbers(&mut self, count: usize) -> u64 {
        let first = self.next;
        self.next += count as u64;
        first
    }

    /// Gives back what the courier could not send, in order.
    pub(super) fn give_back(&mut self, events: &mut Vec<Event>) {
        self.returned.append(events);
        self.is_open = false;
    }

    /// What the courier could not send.
    pub(super) fn take_returned(&mut self) -> Vec<Event> {
        std::mem::take(&mut self.returned)
    }

    /// From now on, until the delivery is polled, each answer wakes it.
    pub(super) fn await_each(&mut self) {
        self.is_awaited = true;
    }

    /// From when on a timer is to run for what takes too long, if one is needed; `has_ended` says that one has just
    /// been over. What is sent later is due later, so that one is enough.
    pub(super) fn begin_timer(&mut self, has_ended: bool) -> Option<Instant> {
        let oldest = self.sent.front().map(|(_, sent)| sent.since);
        let is_asked = self.is_timed && !has_ended;
        // Who asked for one is asked no more for a while, even if all is answered by now.
        let since = oldest.or_else(|| is_asked.then(Instant::now));
        self.is_timed = since.is_some();
        since
    }

    /// The delivery is woken to have a timer.
    pub(super) fn ask_for_timer(&mut self) {
        self.is_timed = true;
    }

    /// Forgets all that is not answered, of which so many events at the most were being sent: answers that come to these
    /// mean nothing that is sent later. What it gives is to be dropped without the lock.
    pub(in crate::service) fn abandon(&mut self, count: u64) -> impl Sized + use<> {
        let next = self.next + count;
        std::mem::replace(
            self,
            Self {
                next,
                ..Self::default()
            },
        )
    }

    /// Forgets what was taken to be sent and is not noted as such, of so many that are outstanding while it is open; how
    /// many that is. Answers to it mean nothing that is sent later.
    pub(in crate::service) fn forget_taken(&mut self, outstanding: u64) -> u64 {
        let count = outstanding.saturating_sub(self.load().count as u64);
        self.early.clear();
        self.next += count;
        count
    }

    /// Notes events that were sent, from the number that is next.
    fn note_sent(
        &mut self,
        events: &mut Vec<Event>,
        forwardings: impl Iterator<Item = Forwarding>,
        since: Instant,
    ) {
        for (event, forwarding) in events.drain(..).zip(forwardings) {
            self.sent_bytes += event.len();
            let sent = Sent {
                event,
                forwarding,
                since,
            };
            self.sent.push_back((self.next, sent));
            self.next += 1;
        }
    }

    /// Takes out what was sent with this number, which is answered. What is given up may be answered all the same, this
    /// very moment.
    fn take_sent(&mut self, number: u64) -> Option<Event> {
        let sent = match self.sent.front() {
            Some((first, _)) if *first == number => self.sent.pop_front(),
            _ => {
                let found = self.sent.binary_search_by_key(&number, |(sent, _)| *sent);
                self.sent.remove(found.ok()?)
            }
        };
        let (_, sent) = sent?;
        self.sent_bytes -= sent.event.len();
        sent.forwarding.end();
        Some(sent.event)
    }
}

impl Subscriber {
    /// What is not answered of what left at once.
    pub(super) fn load(&self) -> Load {
        self.lock().answers().load()
    }

    /// Sends events in one write, and leaves none; `None`, and nothing is sent, if that is not possible. The place is
    /// that which is next: nobody else sends meanwhile.
    pub(super) fn send_at_once(
        self: &Arc<Self>,
        place: &Place,
        events: &mut Vec<Event>,
        since: Instant,
    ) -> Option<Timed> {
        // Not locked: the connection may break meanwhile, and tell it.
        let (proxy, behind) = (self.proxy(), place.behind.as_ref());
        let forwardings = proxy.forward_at_once(events, self, place.first, behind)?;
        let mut shared = self.lock();
        let answers = shared.answers();
        answers.note_sent(events, forwardings, since);
        let timed = Timed(answers.is_timed);
        if !answers.early.is_empty() {
            for (number, answer) in std::mem::take(&mut answers.early) {
                shared.settle_sent(number, answer);
            }
            wake_if_awaited(shared);
        }
        Some(timed)
    }

    /// What failed; the next failure wakes this task. The courier sends nothing until it is open to it again. Whoever
    /// has something that goes the long way is woken by the next answer, too, if what is under way is astray.
    pub(super) fn poll_failed(&self, context: &mut Context<'_>, has_long: bool) -> Failed {
        let mut shared = self.lock();
        shared.note_delivery(context.waker());
        let answers = shared.answers();
        answers.close();
        let events = answers.take_failed();
        let may_resend = has_long || !events.is_empty();
        answers.is_awaited = may_resend && answers.is_astray();
        Failed {
            events,
            is_astray: answers.is_awaited,
            left: answers.load(),
        }
    }

    /// Waits no longer for what was sent this long ago; how many events that are.
    pub(super) fn give_up(&self, limit: Duration) -> usize {
        let mut shared = self.lock();
        let answers = shared.answers();
        if answers.sent.is_empty() {
            return 0;
        }
        let now = Instant::now();
        let is_late = |sent: &Sent| now.saturating_duration_since(sent.since) >= limit;
        let count = answers.sent.partition_point(|(_, sent)| is_late(sent));
        let late: Vec<_> = answers.sent.drain(..count).collect();
        answers.sent_bytes -= late.iter().map(|(_, sent)| sent.event.len()).sum::<usize>();
        drop(shared);
        // Dropped without the lock, for that of the connection is taken.
        late.len()
    }
}

impl AnswerSink for Subscriber {
    fn returned(&self, numbers: Range<u64>) {
        let mut shared = self.lock();
        let answers = shared.answers();
        let known = numbers.start..numbers.end.min(answers.next);
        let early = numbers.start.max(answers.next)..numbers.end;
        answers.early.extend(early.map(|number| (number, Ok(None))));
        let delivered = known.filter(|number| answers.take_sent(*number).is_some());
        let count = delivered.count();
        if count > 0 {
            shared.subscription.handle_delivered(count as u64);
            wake_if_awaited(shared);
        }
    }

    fn answered(&self, number: u64, answer: Answer) {
        let mut shared = self.lock();
        shared.settle_sent(number, answer);
        wake_if_awaited(shared);
    }

    fn failed(&self, failures: Vec<(u64, InvokeError)>) {
        let mut shared = self.lock();
        for (number, error) in failures {
            shared.settle_sent(number, Err(error));
        }
        wake_if_awaited(shared);
    }
}

impl Shared {
    /// Settles what was sent with this number, or keeps the answer until that is noted.
    fn settle_sent(&mut self, number: u64, answer: Answer) {
        let answers = self.answers();
        if number >= answers.next {
            return answers.early.push((number, answer));
        }
        let Some(event) = answers.take_sent(number) else {
            return;
        };
        match answer {
            Ok(_) => self.subscription.handle_delivered(1),
            Err(error) => {
                answers.failed.push((number, event, error));
                answers.await_each();
            }
        }
    }
}

/// Wakes the delivery, which answers have come for, if it waits for them.
#[inline]
fn wake_if_awaited(mut shared: MutexGuard<'_, Shared>) {
    if std::mem::take(&mut shared.answers().is_awaited) {
        wake(shared);
    }
}

fn wake(mut shared: MutexGuard<'_, Shared>) {
    let delivery = shared.take_delivery();
    drop(shared);
    if let Some(delivery) = delivery {
        delivery.wake();
    }
}
