//! Keeps the requests of a session to one receiver in order: to one server, or to its client.

use std::pin::pin;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use floe::forwarding::Event;
use floe::settings::Compression;
use floe::{InvocationMode, InvokeError, Proxy, SystemException, TypedProxy};
use tokio::sync::{Notify, oneshot};
use tokio::time::{Instant, sleep_until, timeout};

use super::account::Held;
use super::outgoing::{self, Answer, Outgoing, until_sent};
use super::overload::{going_away, overloaded};
use super::server_link::{Origin, ServerLink};
use super::status::Counters;
use super::tasks::Tasks;
use super::traffic::Traffic;
use crate::core::{Pushed, QueueLimits, RequestQueue};
use crate::settings::{Batching, ForwardingSettings};

/// Forwards the requests of a session to one server, or to its client, in their order. ADR 55 calls it a lane.
///
/// ```text
/// buffered:    order -> queue -> target, by a task that runs while the queue is not empty
/// otherwise:   order -> target
/// ```
pub(super) struct Forwarder {
    settings: ForwardingSettings,
    counters: Arc<Counters>,
    traffic: Arc<Traffic>,
    tasks: Tasks,
    /// A fair lock, held while a request is put into the queue, or sent. Requests get it in the order of arrival.
    order: tokio::sync::Mutex<()>,
    /// Held for a push or a take, never across a wait.
    queue: Mutex<Queue>,
    /// Notified when the queue should end its pause.
    flush: Notify,
    /// Notified when there is room in the queue again.
    room: Notify,
}

struct Queue {
    requests: RequestQueue<OverrideKey, WaitingRequest>,
    /// True while a task forwards the waiting requests.
    is_running: bool,
    /// Number of waiting twoway requests, whose callers wait for an answer.
    twoways: usize,
    /// True if a request has waited for room and got none. Until there is room again, further requests do not wait.
    is_stalled: bool,
    /// True if the session has ended. Then the queue no longer pauses.
    is_ending: bool,
}

/// The key by which a request overrides an earlier one: the same token and the same target. The queue keeps two of them for
/// each request; they share the target.
type OverrideKey = (String, Proxy);

struct WaitingRequest {
    outgoing: Outgoing,
    /// Sends the answer to the caller, if the request is twoway.
    answer: Option<oneshot::Sender<Answer>>,
}

impl Forwarder {
    pub(super) fn new(
        settings: &ForwardingSettings,
        counters: &Arc<Counters>,
        traffic: &Arc<Traffic>,
        tasks: &Tasks,
    ) -> Arc<Self> {
        let limits = QueueLimits {
            requests: settings.queue_requests,
            bytes: settings.queue_bytes,
        };
        Arc::new(Self {
            settings: settings.clone(),
            counters: counters.clone(),
            traffic: traffic.clone(),
            tasks: tasks.clone(),
            order: tokio::sync::Mutex::default(),
            queue: Mutex::new(Queue {
                requests: RequestQueue::new(limits),
                is_running: false,
                twoways: 0,
                is_stalled: false,
                is_ending: false,
            }),
            flush: Notify::new(),
            room: Notify::new(),
        })
    }

    /// Forwards a request after all earlier ones. If the forwarder is buffered, this returns as soon as a oneway
    /// request is queued. A oneway request with a token replaces a queued one with the same token and target.
    pub(super) async fn forward(
        self: &Arc<Self>,
        outgoing: Outgoing,
        token: Option<String>,
    ) -> Answer {
        match self.settings.buffered {
            true => self.forward_queued(outgoing, token).await,
            false => self.forward_now(&outgoing).await,
        }
    }

    /// The compression of requests to this object, if they ask for any.
    pub(super) fn compression_to(&self, object: &Proxy) -> Compression {
        let offered = object.offered_compression(&self.settings.compressions);
        offered.unwrap_or(Compression::Bzip2)
    }

    /// Ends pauses, so that queued requests are sent now.
    pub(super) fn end(&self) {
        self.lock().is_ending = true;
        self.flush.notify_one();
    }

    async fn forward_now(&self, outgoing: &Outgoing) -> Answer {
        let is_sent = AtomicBool::new(false);
        let mut forwarding = pin!(outgoing.forward(&is_sent));
        let left = {
            let _order = self.order.lock().await;
            until_sent(forwarding.as_mut(), &is_sent).await
        };
        let answer = match left {
            Some(answer) => answer,
            None => forwarding.await,
        };
        let is_twoway = outgoing.target.reference().mode == InvocationMode::Twoway;
        if let (false, Err(error)) = (is_twoway, &answer) {
            self.note_lost(1, &outgoing.target, error);
        }
        answer
    }

    async fn forward_queued(self: &Arc<Self>, outgoing: Outgoing, token: Option<String>) -> Answer {
        let is_twoway = outgoing.target.reference().mode == InvocationMode::Twoway;
        let (answer, answered) = match is_twoway {
            true => {
                let (answer, answered) = oneshot::channel();
                (Some(answer), Some(answered))
            }
            false => (None, None),
        };
        let key = token
            .filter(|_| !is_twoway)
            .map(|token| (token, outgoing.target.clone()));
        self.enqueue(WaitingRequest { outgoing, answer }, key)
            .await?;
        match answered {
            Some(answered) => answered.await.unwrap_or_else(|_| Err(ended())),
            None => Ok(None),
        }
    }

    /// Puts a request into the queue. If there is no room, waits for it, unless the queue is stalled. A request that
    /// finds no room is dropped if it is oneway, and fails if it is twoway.
    async fn enqueue(
        self: &Arc<Self>,
        mut waiting: WaitingRequest,
        key: Option<OverrideKey>,
    ) -> Result<(), SystemException> {
        let _order = self.order.lock().await;
        let deadline = Instant::now() + ROOM_WAIT_MAX;
        loop {
            let room = self.room.notified();
            waiting = match self.push(waiting, key.clone()) {
                Ok(()) => return Ok(()),
                Err(waiting) => waiting,
            };
            let is_stalled = self.lock().is_stalled;
            let left = deadline.saturating_duration_since(Instant::now());
            if is_stalled || timeout(left, room).await.is_err() {
                self.lock().is_stalled = true;
                self.counters.queue_full.add(1);
                return match waiting.answer {
                    Some(_) => Err(SystemException::UnknownException(overloaded(QUEUE_FULL))),
                    None => Ok(()),
                };
            }
        }
    }

    /// Puts a request into the queue, or gives it back if there is no room.
    fn push(
        self: &Arc<Self>,
        waiting: WaitingRequest,
        key: Option<OverrideKey>,
    ) -> Result<(), WaitingRequest> {
        let event_len = waiting.outgoing.event.len();
        // The token is in the queue twice.
        let token_len = key.as_ref().map_or(0, |(token, _)| 2 * token.len());
        let len = event_len + waiting.outgoing.target.reference().facet.len() + token_len;
        let is_twoway = waiting.answer.is_some();
        let mut queue = self.lock();
        match queue.requests.push(waiting, len, key) {
            Pushed::Queued => {
                self.counters.queued.add(1);
                self.traffic.queued.add(1);
            }
            Pushed::Replaced(replaced) => {
                self.counters.overridden.add(1);
                self.traffic.overridden.add(1);
                let replaced = replaced.outgoing.event.len();
                self.counters.queued_bytes.sub(replaced);
            }
            Pushed::Full(waiting) => return Err(waiting),
        }
        self.counters.queued_bytes.add(event_len);
        queue.twoways += usize::from(is_twoway);
        if is_twoway || queue.requests.bytes() >= self.settings.batch_len_max {
            self.flush.notify_one();
        }
        if !std::mem::replace(&mut queue.is_running, true) {
            self.tasks.spawn(self.clone().run());
        }
        Ok(())
    }

    /// Forwards queued requests until the queue is empty.
    async fn run(self: Arc<Self>) {
        while let Some(requests) = self.take() {
            self.room.notify_one();
            self.forward_all(requests).await;
            self.linger().await;
        }
    }

    /// Takes the requests to send next. `None` ends the task.
    fn take(&self) -> Option<Vec<WaitingRequest>> {
        let mut queue = self.lock();
        let taken = queue.requests.take(self.settings.batch_len_max);
        let bytes = taken.iter().map(|taken| taken.outgoing.event.len()).sum();
        self.counters.queued.sub(taken.len());
        self.traffic.queued.sub(taken.len());
        self.counters.queued_bytes.sub(bytes);
        queue.is_stalled = false;
        queue.twoways -= taken.iter().filter(|taken| taken.answer.is_some()).count();
        queue.is_running = !taken.is_empty();
        queue.is_running.then_some(taken)
    }

    /// Pauses, so that requests that arrive meanwhile are sent together.
    async fn linger(&self) {
        let end = Instant::now() + self.settings.sleep_time;
        while Instant::now() < end {
            let flush = self.flush.notified();
            if self.must_flush() {
                return;
            }
            tokio::select! {
                () = flush => {}
                () = sleep_until(end) => return,
            }
        }
    }

    fn must_flush(&self) -> bool {
        let queue = self.lock();
        let is_long = queue.requests.bytes() >= self.settings.batch_len_max;
        queue.twoways > 0 || queue.is_ending || is_long
    }

    async fn forward_all(&self, requests: Vec<WaitingRequest>) {
        let mut batch: Option<Batch> = None;
        for WaitingRequest { outgoing, answer } in requests {
            if let Some(answer) = answer {
                self.send(batch.take()).await;
                self.invoke(outgoing, answer).await;
                continue;
            }
            match &mut batch {
                Some(batch) if batch.has(&outgoing) => {
                    batch.events.push(outgoing.event);
                    batch.memory.extend(outgoing.memory);
                }
                _ => {
                    self.send(batch.take()).await;
                    batch = Some(Batch::of(outgoing));
                }
            }
        }
        self.send(batch).await;
    }

    /// Sends oneway requests together.
    async fn send(&self, batch: Option<Batch>) {
        let Some(batch) = batch else { return };
        let Batch {
            target,
            events,
            memory: _held,
            origin,
            ..
        } = batch;
        let count = events.len();
        let is_oneway = target.reference().mode == InvocationMode::Oneway;
        let is_batch = is_oneway && count > 1 && self.settings.batching == Batching::Adaptive;
        let sending = async {
            if let Some(origin) = &origin {
                let linked = ServerLink::connect(&target, origin).await;
                linked.map_err(InvokeError::System)?;
            }
            let batch = is_batch.then(|| target.ice_batch_oneway());
            let used = batch.as_ref().unwrap_or(&target);
            let sent = outgoing::forward_all(used, events).await;
            if let Some(origin) = &origin {
                // A retry may have made another one.
                ServerLink::current(used, origin);
            }
            sent
        };
        if let Err(error) = sending.await {
            self.note_lost(count, &target, &error);
        }
    }

    fn note_lost(&self, count: usize, target: &Proxy, error: &dyn std::error::Error) {
        self.counters.lost.add(count);
        tracing::debug!("lost {count} oneway requests to {target}: {error}");
    }

    /// Sends a twoway request. Another task waits for its answer.
    async fn invoke(&self, outgoing: Outgoing, answer: oneshot::Sender<Answer>) {
        let is_sent = Arc::new(AtomicBool::new(false));
        let left = is_sent.clone();
        let mut forwarding = Box::pin(async move { outgoing.forward(&left).await });
        match until_sent(forwarding.as_mut(), &is_sent).await {
            Some(result) => {
                // A caller that has given up needs no answer.
                let _ = answer.send(result);
            }
            None => {
                self.tasks.spawn(async move {
                    let _ = answer.send(forwarding.await);
                });
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Consecutive oneway requests to the same target.
struct Batch {
    target: Proxy,
    is_compressed: bool,
    events: Vec<Event>,
    memory: Vec<Held>,
    origin: Option<Arc<Origin>>,
}

impl Batch {
    fn of(first: Outgoing) -> Self {
        Self {
            target: first.target,
            is_compressed: first.is_compressed,
            events: vec![first.event],
            memory: Vec::from_iter(first.memory),
            origin: first.origin,
        }
    }

    /// Returns true if this request can be sent together with them.
    fn has(&self, next: &Outgoing) -> bool {
        self.target == next.target && self.is_compressed == next.is_compressed
    }
}

fn ended() -> SystemException {
    SystemException::UnknownException(going_away("it has not forwarded the request"))
}

/// How long a request waits for room in a queue. A receiver that does not read delays its senders for this long.
const ROOM_WAIT_MAX: Duration = Duration::from_secs(1);

const QUEUE_FULL: &str =
    "the queue for this session is full: the receiver takes requests more slowly than they come";

#[cfg(test)]
mod tests {
    use floe::Communicator;
    use floe::forwarding::EventsBuilder;

    use super::*;

    /// An event with parameters of this many bytes, header included.
    fn event(len: u32) -> Event {
        let mut builder = EventsBuilder::default();
        let pushed = builder.push_with(|buffer| {
            // The operation, the mode, and an empty context.
            buffer.extend(b"\x02op\x00\x00");
            buffer.extend(len.to_le_bytes());
            buffer.extend([1, 1]);
            buffer.extend(std::iter::repeat_n(0, len as usize - 6));
            Ok(())
        });
        pushed.expect("it fits");
        let events = builder.finish().expect("there is one");
        events.each().next().expect("there is one")
    }

    #[tokio::test]
    async fn only_a_waiting_twoway_request_ends_a_pause() {
        let settings = ForwardingSettings {
            batch_len_max: 500,
            ..ForwardingSettings::default()
        };
        let tasks = Tasks::on_current_runtime();
        let forwarder = Forwarder::new(&settings, &Arc::default(), &Arc::default(), &tasks);
        let communicator = Communicator::new();
        let twoway: Proxy = communicator.proxy("o:tcp -h 127.0.0.1 -p 1").unwrap();
        let push = |target: Proxy, len, answer| {
            let outgoing = Outgoing {
                target,
                is_compressed: false,
                event: event(len),
                memory: None,
                origin: None,
            };
            let pushed = forwarder.push(WaitingRequest { outgoing, answer }, None);
            assert!(pushed.is_ok(), "there is room");
        };
        let (answer, _answered) = oneshot::channel();
        push(twoway.clone(), 400, Some(answer));
        push(twoway.ice_oneway(), 200, None);
        assert!(forwarder.must_flush());
        assert_eq!(forwarder.take().expect("one fits").len(), 1);
        assert!(!forwarder.must_flush(), "the twoway request has left");
        communicator.shutdown().await;
    }
}
