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
    /// In the order of their numbers, one behind the other; `None` where the answer came before that of an
    /// earlier one.
    sent: VecDeque<Option<Sent>>,
    /// The number of the first of these.
    first: u64,
    /// How many of these are not answered.
    count: usize,
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
        state.count + state.failed.len()
    }

    /// When the first of those was sent.
    pub(super) fn oldest(&self) -> Option<Instant> {
        self.lock()
            .sent
            .iter()
            .flatten()
            .next()
            .map(|sent| sent.since)
    }

    /// Sends events in one write, and leaves none; false, and nothing is sent, if that is not possible.
    pub(super) fn send(self: &Arc<Self>, events: &mut Vec<Event>, proxy: &Proxy) -> bool {
        let first = {
            let state = self.lock();
            if !state.failed.is_empty() {
                // It was sent before, and may be sent again.
                return false;
            }
            state.first + state.sent.len() as u64
        };
        // Not locked: the connection may break meanwhile, and tell it.
        let Some(forwardings) = proxy.forward_at_once(events, self, first) else {
            self.lock().skip(events.len());
            return false;
        };
        let since = Instant::now();
        let mut state = self.lock();
        state.count += events.len();
        let sent = forwardings.zip(events.drain(..));
        state.sent.extend(sent.map(|(forwarding, event)| {
            Some(Sent {
                event,
                forwarding,
                since,
            })
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
        let mut late = Vec::new();
        let mut state = self.lock();
        if state.count == 0 {
            return 0;
        }
        let now = Instant::now();
        for sent in &mut state.sent {
            late.extend(sent.take_if(|sent| now.saturating_duration_since(sent.since) >= limit));
        }
        state.count -= late.len();
        state.drop_answered();
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
        // What is given up may be answered all the same, this very moment.
        let Some(at) = number.checked_sub(state.first).map(|at| at as usize) else {
            return;
        };
        if at >= state.sent.len() {
            return state.early.push((number, answer));
        }
        let Some(sent) = state.sent[at].take() else {
            return;
        };
        drop(state);
        // What it says of the connection is asked for without the lock.
        let ended = sent.forwarding.end(answer);
        if ended.is_ok() {
            self.subscriber.settle_delivered(1);
        }
        let mut state = self.lock();
        state.count -= 1;
        state.drop_answered();
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

impl State {
    /// Uses these numbers for nothing: what was not sent whole may still be told to have failed.
    fn skip(&mut self, count: usize) {
        self.early.clear();
        self.sent
            .extend(std::iter::repeat_with(|| None).take(count));
        self.drop_answered();
    }

    /// Forgets those at the front that are answered.
    fn drop_answered(&mut self) {
        while let Some(None) = self.sent.front() {
            self.sent.pop_front();
            self.first += 1;
        }
    }
}
