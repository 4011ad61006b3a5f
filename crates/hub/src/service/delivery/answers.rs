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

/// How much is not answered.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Load {
    /// Events.
    pub(super) count: usize,
    /// Their bytes, without those of what failed.
    pub(super) bytes: usize,
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

    /// What is not answered; what failed is part of it while the delivery has not looked.
    pub(super) fn load(&self) -> Load {
        self.lock().load()
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

    /// What failed, in the order in which it was sent, and how much is not answered besides; the next failure wakes
    /// this task.
    pub(super) fn poll_failed(
        &self,
        context: &mut Context<'_>,
    ) -> (Vec<(Event, InvokeError)>, Load) {
        let mut state = self.lock();
        let known = state.waker.as_ref();
        if !known.is_some_and(|known| known.will_wake(context.waker())) {
            state.waker = Some(context.waker().clone());
        }
        state.is_awaited = false;
        (state.take_failed(), state.load())
    }

    /// What failed since the last look, in the order in which it was sent.
    pub(super) fn take_failed(&self) -> Vec<(Event, InvokeError)> {
        self.lock().take_failed()
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

impl State {
    fn load(&self) -> Load {
        Load {
            count: self.sent.len() + self.settling_count + self.failed.len(),
            bytes: self.sent_bytes,
        }
    }

    fn take_failed(&mut self) -> Vec<(Event, InvokeError)> {
        if self.failed.is_empty() {
            return Vec::new();
        }
        let mut failed = std::mem::take(&mut self.failed);
        failed.sort_by_key(|(number, ..)| *number);
        let failed = failed.into_iter();
        failed.map(|(_, event, error)| (event, error)).collect()
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
        let Sent {
            event, forwarding, ..
        } = sent;
        let ended = if answer.has_come() {
            let ended = forwarding.end(answer);
            if ended.is_ok() {
                self.subscriber.settle_delivered(1);
            }
            ended
        } else {
            // What it says of the connection is asked for without the lock; it counts until that is known.
            state.settling_count += 1;
            drop(state);
            let ended = forwarding.end(answer);
            state = self.lock();
            state.settling_count -= 1;
            ended
        };
        let must_wake = std::mem::take(&mut state.is_awaited) || ended.is_err();
        if let Err(error) = ended {
            state.failed.push((number, event, error));
        }
        let waker = state.waker.as_ref().filter(|_| must_wake).cloned();
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
