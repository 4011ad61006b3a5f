//! The inbox of a stream: everything between the requests of a hub and the consumer that reads the events.
//!
//! ```text
//! request --take--> batch --put--> items (a queue) --take--> reader --next--> consumer
//!    ^                                                                           |
//!    +------------- reply <--flush-- deferred replies <--- finished (a counter) -+
//! ```
//!
//! A dispatch takes all requests of one read in their order, and puts their events into the queue at once: nobody waits in
//! between, so events cannot overtake each other. An event for which there is room is answered at once. If the stream is full,
//! or the subscription is durable, its reply is deferred until the consumer is so far. The hub has a limited window of events
//! without a reply, so a full stream holds back its own events alone. Requests without a reply hold back the reading of their
//! connection instead.
//!
//! The reader takes all items that are there with one lock. It counts in `finished` what the consumer has finished, and all
//! replies that are due by then leave together.
//!
//! - `batch.rs`: what a dispatch takes of one read
//! - `reader.rs`: the end of the consumer

mod batch;
mod reader;

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::Waker;

use floe_wire::message::SystemException;
use tokio::sync::oneshot;

use super::arrivals::Arrivals;
use super::{Interruption, Qos};
use crate::dispatch::{DeferredReplies, ReadyReplies, RequestSource};
use crate::environment::Tasks;
use batch::Retired;
pub(super) use reader::Reader;

/// An item of a subscription's stream.
pub(super) type Item<E> = Result<E, Interruption>;

/// Makes the inbox of a stream: the end that puts items into it, and the end of the consumer.
pub(super) fn inbox<E: Send + 'static>(
    capacity: usize,
    qos: &Qos,
    arrivals: Arc<Arrivals>,
    tasks: Tasks,
) -> (Arc<InboxHandle<E>>, Reader<E>) {
    let inbox = Arc::new(Inbox::new(capacity, qos, arrivals, tasks));
    (Arc::new(InboxHandle(inbox.clone())), Reader::new(inbox))
}

/// The inbox of a stream.
pub(super) struct Inbox<E> {
    /// How many items may wait before the replies to further events are deferred.
    capacity: u64,
    /// True if an event is answered only when the consumer has finished it: the reply acknowledges it.
    is_durable: bool,
    /// True if the hub may select a connection for each event.
    has_several_sources: bool,
    arrivals: Arc<Arrivals>,
    tasks: Tasks,
    /// Guards the queue and the replies that are due. It is held for moves of memory, and never across a system call.
    state: Mutex<Content<E>>,
    /// Held while replies are sent, so that they leave in the order of their requests.
    flushing: Mutex<()>,
    /// How many items the consumer has finished. The reader alone writes it.
    finished: AtomicU64,
    /// The value of `finished` from which replies are due.
    flush_at: AtomicU64,
    /// True while a task that sends due replies is ready and has not run.
    has_flush_task: AtomicBool,
    /// Changes when items of the reader are void: see [`Inbox::retract`].
    generation: AtomicU64,
}

struct Content<E> {
    /// Items that the consumer has not taken yet.
    items: VecDeque<Item<E>>,
    /// Empty; its memory serves items that come while others wait.
    spare: VecDeque<Item<E>>,
    /// How many items have arrived.
    arrived: u64,
    /// The replies that are due, by connection. There is more than one only around a reconnect.
    deferred: VecDeque<DeferredReplies>,
    /// Those in the same communicator that wait, each with the value of `finished` that it waits for.
    waiting: Vec<(u64, Waiting)>,
    /// The exception of an event without a reply of its own, for the next reply. See [`Batch`](batch::Batch).
    refusal: Option<Box<SystemException>>,
    /// Items that were dropped behind those that the reader has taken. It counts them as finished when it takes others.
    dropped: u64,
    /// The connection of the last events.
    source: Option<Weak<dyn RequestSource>>,
    /// The connections before it.
    retired: Vec<Retired>,
    /// The consumer, while it waits.
    consumer: Option<Waker>,
    /// True once nobody takes items any more.
    is_closed: bool,
    /// True once no more items come.
    has_ended: bool,
}

/// Somebody who waits for the consumer, and gets this exception when it is so far, if there is one.
struct Waiting {
    sender: oneshot::Sender<Outcome>,
    exception: Option<SystemException>,
}

/// The end of a wait for the consumer.
pub(super) type Waited = oneshot::Receiver<Outcome>;

/// How a request ends that has no results.
type Outcome = Result<(), SystemException>;

impl<E: Send + 'static> Inbox<E> {
    fn new(capacity: usize, qos: &Qos, arrivals: Arc<Arrivals>, tasks: Tasks) -> Self {
        Self {
            capacity: capacity as u64,
            is_durable: qos.is_durable(),
            has_several_sources: !qos.is_connection_cached(),
            arrivals,
            tasks,
            state: Mutex::new(Content {
                items: VecDeque::new(),
                spare: VecDeque::new(),
                arrived: 0,
                deferred: VecDeque::new(),
                waiting: Vec::new(),
                refusal: None,
                dropped: 0,
                source: None,
                retired: Vec::new(),
                consumer: None,
                is_closed: false,
                has_ended: false,
            }),
            flushing: Mutex::new(()),
            finished: AtomicU64::new(0),
            flush_at: AtomicU64::new(u64::MAX),
            has_flush_task: AtomicBool::new(false),
            generation: AtomicU64::new(0),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Content<E>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The value of `finished` at which the event with this number is answered.
    fn answered_at(&self, number: u64) -> u64 {
        match self.is_durable {
            true => number + 1,
            false => self.has_room_at(number),
        }
    }

    /// The value of `finished` at which there is room for the item with this number.
    fn has_room_at(&self, number: u64) -> u64 {
        (number + 1).saturating_sub(self.capacity)
    }

    /// Adds an interruption. Waits while the consumer is behind.
    pub(super) async fn report(self: &Arc<Self>, interruption: Interruption) {
        if let Some(has_room) = self.put_interruption(interruption) {
            // Its sender is dropped with the inbox.
            let _ = has_room.await;
        }
    }

    fn put_interruption(self: &Arc<Self>, interruption: Interruption) -> Option<Waited> {
        let mut state = self.lock();
        if state.is_closed {
            return None;
        }
        if matches!(interruption, Interruption::Interrupted { .. }) {
            self.retract(&mut state);
        }
        let room_at = self.has_room_at(state.arrived);
        state.items.push_back(Err(interruption));
        state.arrived += 1;
        let has_room = state.wait_until(room_at, None);
        self.arrivals.note_deferred(1);
        self.note_flush_at(&state);
        let consumer = state.consumer.take();
        drop(state);
        wake(consumer);
        self.flush_if_due();
        Some(has_room)
    }

    /// Drops the events of a durable subscription that the consumer has not begun, if their connection is lost: the replies
    /// that would have acknowledged them are lost with it, and they come again.
    fn retract(&self, state: &mut Content<E>) {
        let before: usize = state.deferred.iter().map(DeferredReplies::len).sum();
        state.deferred.retain(|deferred| !deferred.is_lost());
        let left: usize = state.deferred.iter().map(DeferredReplies::len).sum();
        self.arrivals.note_answered(before - left);
        if !self.is_durable || left > 0 || before == 0 {
            return;
        }
        // The reader drops what it has taken and the consumer has not begun.
        self.generation.fetch_add(1, Ordering::Release);
        let count = state.items.len();
        state.items.retain(Result::is_err);
        state.dropped += (count - state.items.len()) as u64;
    }

    /// The consumer has finished this many items. If replies are due and the reader goes on without a wait, a task sends them.
    #[inline]
    fn note_finished(self: &Arc<Self>, finished: u64) {
        self.finished.store(finished, Ordering::SeqCst);
        if finished >= self.flush_at.load(Ordering::SeqCst) {
            self.flush_soon();
        }
    }

    #[cold]
    fn flush_soon(self: &Arc<Self>) {
        if !self.has_flush_task.swap(true, Ordering::AcqRel) {
            let own = self.clone();
            self.tasks.spawn(async move {
                own.has_flush_task.store(false, Ordering::Release);
                own.flush();
            });
        }
    }

    /// Sends due replies, if the consumer has got there meanwhile.
    fn flush_if_due(self: &Arc<Self>) {
        if self.finished.load(Ordering::SeqCst) >= self.flush_at.load(Ordering::SeqCst) {
            self.flush_soon();
        }
    }

    /// Sends the replies that are due.
    fn flush(&self) {
        let flushing = self.flushing.lock().unwrap_or_else(PoisonError::into_inner);
        let mut state = self.lock();
        let due = state.take_due(self.finished.load(Ordering::SeqCst), None);
        self.note_flush_at(&state);
        drop(state);
        due.send(&self.arrivals);
        drop(flushing);
    }

    /// Notes when the next reply is due.
    fn note_flush_at(&self, state: &Content<E>) {
        let first = state.deferred.iter().filter_map(DeferredReplies::first);
        let waiting = state.waiting.iter().map(|(at, _)| *at);
        let at = first.chain(waiting).min().unwrap_or(u64::MAX);
        self.flush_at.store(at, Ordering::SeqCst);
    }

    /// Nobody takes items any more. The hub keeps the events of a durable subscription for the next subscriber.
    fn close(&self) {
        let flushing = self.flushing.lock().unwrap_or_else(PoisonError::into_inner);
        let mut state = self.lock();
        state.is_closed = true;
        state.consumer = None;
        let items = std::mem::take(&mut state.items);
        state.spare = VecDeque::new();
        let finished = state.take_due(self.finished.load(Ordering::SeqCst), None);
        let not_taken = self.is_durable.then(not_taken);
        let unfinished = state.take_due(u64::MAX, not_taken.as_ref());
        self.note_flush_at(&state);
        drop(state);
        finished.send(&self.arrivals);
        unfinished.send(&self.arrivals);
        drop(flushing);
        drop(items);
    }

    /// No more items come.
    fn end(&self) {
        let consumer = {
            let mut state = self.lock();
            state.has_ended = true;
            state.consumer.take()
        };
        wake(consumer);
    }
}

impl<E> Content<E> {
    /// Lets somebody wait until the consumer has finished this many items.
    fn wait_until(&mut self, finished: u64, exception: Option<SystemException>) -> Waited {
        let (sender, waited) = oneshot::channel();
        self.waiting.push((finished, Waiting { sender, exception }));
        waited
    }

    /// Takes the replies that are due when the consumer has finished this many items. Those without an exception of their own
    /// throw `exception`, if there is one.
    fn take_due(&mut self, finished: u64, exception: Option<&SystemException>) -> DueReplies {
        let mut due = DueReplies::default();
        for deferred in &mut self.deferred {
            let before = deferred.len();
            due.replies.extend(deferred.take_until(finished, exception));
            due.count += before - deferred.len();
        }
        self.deferred.retain(|deferred| deferred.len() > 0);
        let waiting = self.waiting.extract_if(.., |(at, _)| *at <= finished);
        due.waiting.extend(waiting.map(|(_, waiting)| {
            let exception = waiting.exception.or_else(|| exception.cloned());
            (waiting.sender, exception.map_or(Ok(()), Err))
        }));
        due.count += due.waiting.len();
        due
    }

    /// The replies that are due to a connection.
    fn deferred_to(&mut self, source: &Arc<dyn RequestSource>) -> &mut DeferredReplies {
        let has_it = |last: &DeferredReplies| last.is_to(source);
        if !self.deferred.back().is_some_and(has_it) {
            self.deferred.push_back(DeferredReplies::to(source.clone()));
        }
        self.deferred.back_mut().expect("it was just pushed")
    }
}

/// The end of an inbox that puts items into it. When the last one is dropped, the stream ends.
pub(super) struct InboxHandle<E: Send + 'static>(Arc<Inbox<E>>);

impl<E: Send + 'static> InboxHandle<E> {
    pub(super) fn inbox(&self) -> &Arc<Inbox<E>> {
        &self.0
    }
}

impl<E: Send + 'static> Drop for InboxHandle<E> {
    fn drop(&mut self) {
        self.0.end();
    }
}

/// Replies that are taken out of an inbox to be sent.
#[derive(Default)]
struct DueReplies {
    replies: Vec<ReadyReplies>,
    /// How many requests they end, including oneway requests, which get no reply.
    count: usize,
    waiting: Vec<(oneshot::Sender<Outcome>, Outcome)>,
}

impl DueReplies {
    fn send(self, arrivals: &Arrivals) {
        for replies in self.replies {
            replies.send();
        }
        for (waiting, outcome) in self.waiting {
            // The caller may have given up.
            let _ = waiting.send(outcome);
        }
        arrivals.note_answered(self.count);
    }
}

fn wake(consumer: Option<Waker>) {
    if let Some(consumer) = consumer {
        consumer.wake();
    }
}

/// The answer to an event that nobody has taken. The runtime fills in the identity of the object.
pub(super) fn not_taken() -> SystemException {
    SystemException::ObjectNotExist(Default::default())
}
