//! Keeps the requests of a session to one receiver in order: to one server, or to its client.

use std::pin::pin;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use floe::forwarding::Event;
use floe::{InvocationMode, Proxy, Reference, SystemException, TypedProxy};
use tokio::sync::{Notify, oneshot};
use tokio::time::{Instant, sleep_until, timeout};
use tokio_util::task::TaskTracker;

use super::forwarding::{self, Answer, Outgoing, until_left};
use super::status::Counters;
use crate::core::{Pushed, QueueLimits, RequestQueue};
use crate::settings::{Batching, ForwardingSettings};

/// Forwards the requests of a session to one server, or to its client, in their order.
///
/// ```text
/// buffered:    turn --> queue --> target, by a task that runs while the queue is not empty
/// otherwise:   turn --> target
/// ```
pub(super) struct Lane {
    settings: ForwardingSettings,
    counters: Arc<Counters>,
    tasks: TaskTracker,
    /// Held while a request is put into the queue, or sent. Requests get it in the order of arrival.
    turn: tokio::sync::Mutex<()>,
    /// Held for a push or a take, never across a wait.
    queue: Mutex<Queue>,
    /// Notified when the queue should end its pause.
    hurry: Notify,
    /// Notified when there is room in the queue again.
    room: Notify,
}

struct Queue {
    requests: RequestQueue<OverrideKey, Waiting>,
    /// Whether a task forwards the waiting requests.
    is_running: bool,
    /// Whether a caller waits for the answer to one of the requests.
    is_urgent: bool,
    /// Whether a request has waited for room in vain. Until there is room again, further requests do not wait.
    is_stalled: bool,
    /// Whether the session has ended. Then the queue no longer pauses.
    is_ending: bool,
}

/// The key by which a request overrides an earlier one: the same token and the same target.
type OverrideKey = (String, Reference);

struct Waiting {
    outgoing: Outgoing,
    /// Sends the answer to the caller, if the request is twoway.
    answer: Option<oneshot::Sender<Answer>>,
}

impl Lane {
    pub(super) fn new(
        settings: &ForwardingSettings,
        counters: &Arc<Counters>,
        tasks: &TaskTracker,
    ) -> Arc<Self> {
        let limits = QueueLimits {
            requests: settings.queue_requests,
            bytes: settings.queue_bytes,
        };
        Arc::new(Self {
            settings: settings.clone(),
            counters: counters.clone(),
            tasks: tasks.clone(),
            turn: tokio::sync::Mutex::default(),
            queue: Mutex::new(Queue {
                requests: RequestQueue::new(limits),
                is_running: false,
                is_urgent: false,
                is_stalled: false,
                is_ending: false,
            }),
            hurry: Notify::new(),
            room: Notify::new(),
        })
    }

    /// Forwards a request after all earlier ones. If the lane is buffered, this returns as soon as a oneway request is
    /// queued. A oneway request with a token replaces a queued one with the same token and target.
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

    /// Ends pauses, so that queued requests are sent now.
    pub(super) fn end(&self) {
        self.lock().is_ending = true;
        self.hurry.notify_one();
    }

    async fn forward_now(&self, outgoing: &Outgoing) -> Answer {
        let has_left = AtomicBool::new(false);
        let mut forwarding = pin!(outgoing.forward(&has_left));
        let left = {
            let _turn = self.turn.lock().await;
            until_left(forwarding.as_mut(), &has_left).await
        };
        match left {
            Some(answer) => answer,
            None => forwarding.await,
        }
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
            .map(|token| (token, outgoing.target.reference().clone()));
        self.enqueue(Waiting { outgoing, answer }, key).await?;
        match answered {
            Some(answered) => answered.await.unwrap_or_else(|_| Err(ended())),
            None => Ok(None),
        }
    }

    /// Puts a request into the queue. If there is no room, waits for it, unless the queue is stalled. A request that
    /// finds no room is dropped if it is oneway, and fails if it is twoway.
    async fn enqueue(
        self: &Arc<Self>,
        mut waiting: Waiting,
        key: Option<OverrideKey>,
    ) -> Result<(), SystemException> {
        let _turn = self.turn.lock().await;
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
                    Some(_) => Err(SystemException::UnknownException(QUEUE_FULL.to_owned())),
                    None => Ok(()),
                };
            }
        }
    }

    /// Puts a request into the queue, or gives it back if there is no room.
    fn push(self: &Arc<Self>, waiting: Waiting, key: Option<OverrideKey>) -> Result<(), Waiting> {
        let len = waiting.outgoing.event.len();
        let is_urgent = waiting.answer.is_some();
        let mut queue = self.lock();
        match queue.requests.push(waiting, len, key) {
            Pushed::Queued => {}
            Pushed::Replaced(_) => self.counters.overridden.add(1),
            Pushed::Full(waiting) => return Err(waiting),
        }
        queue.is_urgent |= is_urgent;
        if is_urgent || queue.requests.bytes() >= self.settings.batch_len_max {
            self.hurry.notify_one();
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
            self.rest().await;
        }
    }

    /// Takes the requests to send next. `None` ends the task.
    fn take(&self) -> Option<Vec<Waiting>> {
        let mut queue = self.lock();
        let taken = queue.requests.take(self.settings.batch_len_max);
        queue.is_stalled = false;
        if queue.requests.len() == 0 {
            queue.is_urgent = false;
        }
        queue.is_running = !taken.is_empty();
        queue.is_running.then_some(taken)
    }

    /// Pauses, so that requests that arrive meanwhile are sent together.
    async fn rest(&self) {
        let end = Instant::now() + self.settings.sleep_time;
        while Instant::now() < end {
            let hurry = self.hurry.notified();
            if self.has_to_leave() {
                return;
            }
            tokio::select! {
                () = hurry => {}
                () = sleep_until(end) => return,
            }
        }
    }

    fn has_to_leave(&self) -> bool {
        let queue = self.lock();
        let is_long = queue.requests.bytes() >= self.settings.batch_len_max;
        queue.is_urgent || queue.is_ending || is_long
    }

    async fn forward_all(&self, requests: Vec<Waiting>) {
        let mut run: Option<Run> = None;
        for Waiting { outgoing, answer } in requests {
            if let Some(answer) = answer {
                self.send(run.take()).await;
                self.invoke(outgoing, answer).await;
                continue;
            }
            match &mut run {
                Some(run) if run.has(&outgoing) => run.events.push(outgoing.event),
                _ => {
                    self.send(run.take()).await;
                    run = Some(Run::of(outgoing));
                }
            }
        }
        self.send(run).await;
    }

    /// Sends oneway requests together.
    async fn send(&self, run: Option<Run>) {
        let Some(Run { target, events, .. }) = run else {
            return;
        };
        let count = events.len();
        let is_oneway = target.reference().mode == InvocationMode::Oneway;
        let is_batch = is_oneway && count > 1 && self.settings.batching == Batching::Adaptive;
        let target = match is_batch {
            true => target.ice_batch_oneway(),
            false => target,
        };
        if let Err(error) = forwarding::forward_all(&target, events).await {
            self.counters.lost.add(count);
            tracing::debug!("lost {count} oneway requests to {target}: {error}");
        }
    }

    /// Sends a twoway request. Another task waits for its answer.
    async fn invoke(&self, outgoing: Outgoing, answer: oneshot::Sender<Answer>) {
        let has_left = Arc::new(AtomicBool::new(false));
        let left = has_left.clone();
        let mut forwarding = Box::pin(async move { outgoing.forward(&left).await });
        match until_left(forwarding.as_mut(), &has_left).await {
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
struct Run {
    target: Proxy,
    is_compressed: bool,
    events: Vec<Event>,
}

impl Run {
    fn of(first: Outgoing) -> Self {
        Self {
            target: first.target,
            is_compressed: first.is_compressed,
            events: vec![first.event],
        }
    }

    /// Whether this request can be sent together with them.
    fn has(&self, next: &Outgoing) -> bool {
        self.target == next.target && self.is_compressed == next.is_compressed
    }
}

fn ended() -> SystemException {
    SystemException::UnknownException(
        "the gateway has shut down before it forwarded the request".to_owned(),
    )
}

/// How long a request waits for room in a queue. A receiver that does not read delays its senders for this long.
const ROOM_WAIT_MAX: Duration = Duration::from_secs(1);

const QUEUE_FULL: &str = "the gateway's queue for this session is full: the receiver takes requests more slowly than \
                          they come; try again later";
