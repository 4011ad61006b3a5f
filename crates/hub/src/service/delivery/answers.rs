//! Answers to events that left at once, settled by whoever reads them: the delivery is not woken for each.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Waker};
use std::time::{Duration, Instant};

use floe::{AnswerSink, Event, ForwardAnswer, Forwarding, InvokeError, Proxy};

use crate::service::subscriber::Subscriber;

/// What left at once and is not answered, shared by the delivery and the reader of the connection.
pub(super) struct Answers {
    subscriber: Arc<Subscriber>,
    /// Held for a few moves; the subscriber's own lock may be taken meanwhile, no other one.
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// What is not answered, in the order of their numbers. Answers come in this order, or nearly.
    sent: VecDeque<(u64, Sent)>,
    /// Bytes of these events.
    sent_bytes: usize,
    /// How many are answered this moment, and not settled yet.
    settling_count: usize,
    /// The number of what is sent next.
    next: u64,
    /// Answers to what is being sent.
    early: Vec<(u64, ForwardAnswer)>,
    /// What failed since the delivery has looked.
    failed: Vec<(u64, Event, InvokeError)>,
    /// The delivery.
    waker: Option<Waker>,
    /// Whether it waits for answers: for room, or for the last one.
    is_awaited: bool,
}

/// An event on its way.
struct Sent {
    event: Event,
    forwarding: Forwarding,
    since: Instant,
}

impl Answers {
    pub(super) fn new(subscriber: &Arc<Subscriber>) -> Self {
        Self {
            subscriber: subscriber.clone(),
            state: Mutex::default(),
        }
    }

    /// Number of events that are not answered, those that failed included while the delivery has not
    /// looked.
    pub(super) fn len(&self) -> usize {
        let state = self.lock();
        state.sent.len() + state.settling_count + state.failed.len()
    }

    /// Bytes of the events that are not answered.
    pub(super) fn bytes(&self) -> usize {
        self.lock().sent_bytes
    }

    /// When the first of those was sent.
    pub(super) fn oldest(&self) -> Option<Instant> {
        self.lock().sent.front().map(|(_, sent)| sent.since)
    }

    /// Sends events in one write, and leaves none; false, and nothing is sent, if that is not possible.
    pub(super) fn send(self: &Arc<Self>, events: &mut Vec<Event>, proxy: &Proxy) -> bool {
        let first = {
            let state = self.lock();
            if !state.failed.is_empty() {
                // It was sent before, and may be sent again.
                return false;
            }
            state.next
        };
        // Not locked: the connection may break meanwhile, and tell it.
        let Some(forwardings) = proxy.forward_at_once(events, self, first) else {
            // What was not sent whole may still be told to have failed: these numbers are for nothing.
            let mut state = self.lock();
            state.next += events.len() as u64;
            state.early.clear();
            return false;
        };
        let since = Instant::now();
        let mut state = self.lock();
        state.next += events.len() as u64;
        state.sent_bytes += events.iter().map(|it| it.as_bytes().len()).sum::<usize>();
        let sent = forwardings.zip(events.drain(..)).zip(first..);
        state.sent.extend(sent.map(|((forwarding, event), number)| {
            let sent = Sent {
                event,
                forwarding,
                since,
            };
            (number, sent)
        }));
        let early = std::mem::take(&mut state.early);
        drop(state);
        for (number, answer) in early {
            self.take(number, answer);
        }
        true
    }

    /// What failed, in the order in which it was sent; the next failure wakes this task.
    pub(super) fn poll_failed(
        &self,
        context: &mut Context<'_>,
    ) -> impl Iterator<Item = (Event, InvokeError)> + use<> {
        let mut state = self.lock();
        let known = state.waker.as_ref();
        if !known.is_some_and(|known| known.will_wake(context.waker())) {
            state.waker = Some(context.waker().clone());
        }
        state.is_awaited = false;
        drop(state);
        self.take_failed()
    }

    /// What failed since the last look, in the order in which it was sent.
    pub(super) fn take_failed(&self) -> impl Iterator<Item = (Event, InvokeError)> + use<> {
        let mut failed = std::mem::take(&mut self.lock().failed);
        failed.sort_by_key(|(number, ..)| *number);
        failed.into_iter().map(|(_, event, error)| (event, error))
    }

    /// From now on, until the next poll, each answer wakes.
    pub(super) fn await_each(&self) {
        self.lock().is_awaited = true;
    }

    /// Waits no longer for what was sent this long ago; how many events that are.
    pub(super) fn give_up(&self, limit: Duration) -> usize {
        let mut state = self.lock();
        if state.sent.is_empty() {
            return 0;
        }
        let now = Instant::now();
        let is_late = |sent: &Sent| now.saturating_duration_since(sent.since) >= limit;
        let count = state.sent.partition_point(|(_, sent)| is_late(sent));
        let late: Vec<_> = state.sent.drain(..count).collect();
        state.sent_bytes -= late.iter().map(|(_, sent)| sent.len()).sum::<usize>();
        drop(state);
        // Dropped without the lock, for that of the connection is taken.
        late.len()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl AnswerSink for Answers {
    fn take(&self, number: u64, answer: ForwardAnswer) {
        let mut state = self.lock();
        if number >= state.next {
            return state.early.push((number, answer));
        }
        let found = state
            .sent
            .binary_search_by_key(&number, |(number, _)| *number);
        // What is given up may be answered all the same, this very moment.
        let Some((_, sent)) = found.ok().and_then(|at| state.sent.remove(at)) else {
            return;
        };
        state.sent_bytes -= sent.len();
        // It counts until it is settled.
        state.settling_count += 1;
        drop(state);
        // What it says of the connection is asked for without the lock.
        let ended = sent.forwarding.end(answer);
        if ended.is_ok() {
            self.subscriber.settle_delivered(1);
        }
        let mut state = self.lock();
        state.settling_count -= 1;
        let must_wake = std::mem::take(&mut state.is_awaited) || ended.is_err();
        if let Err(error) = ended {
            state.failed.push((number, sent.event, error));
        }
        let waker = state.waker.clone().filter(|_| must_wake);
        drop(state);
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

impl Sent {
    /// Bytes of the event.
    fn len(&self) -> usize {
        self.event.as_bytes().len()
    }
}
