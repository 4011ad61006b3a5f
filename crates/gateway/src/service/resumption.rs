//! Sessions that survive a lost connection: the state that a session keeps until its client comes back.
//!
//! Only clients of Floe use this. They ask for it at the facet `floe.session` of the router; `resumption_object.rs`
//! answers. Requests of both directions carry numbers in their contexts, and are executed exactly once: see
//! `core/exactly_once.rs`.

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use floe::forwarding::Event;
use floe::message::Outcome;
use floe::{
    Connection, Context, Identity, InvocationMode, InvokeError, LocalError, Reference,
    SystemException, TypedProxy,
};
use tokio::sync::{Notify, oneshot, watch};

use super::account::{AccountFull, Held, Share};
use super::failure;
use super::outgoing::{self, Answer, COPIED_LEN_MAX, until_sent};
use super::overload::{NO_MEMORY, overloaded};
use super::session::Session;
use super::status::Counters;
use super::tasks::Tasks;
use super::traffic::Traffic;
use crate::core::{Admission, DedupWindow, Outstanding};
use crate::settings::ForwardingSettings;

/// The key of the context entry that holds the number of a request.
pub(crate) const NUMBER: &str = "floe.number";
/// The key of the context entry that holds the lowest number that its sender may send again.
pub(crate) const FLOOR: &str = "floe.floor";

/// The largest number of requests of a client whose answers are kept for it.
const WINDOW_MAX: usize = 10_000;

/// The state of a session that can be resumed, beyond that of every session.
pub(super) struct Resumption {
    /// How long the session waits for its client.
    pub(super) grace: Duration,
    /// The connection to the client, if there is one now.
    link: watch::Sender<ClientLink>,
    /// Requests of the client that were seen. Held for a look-up, never across a wait.
    seen: Mutex<DedupWindow<watch::Receiver<Option<Kept>>>>,
    /// Length of all answers that are kept, in bytes.
    kept_bytes: Arc<AtomicUsize>,
    /// Requests to the client that have no answer yet. Held for a look-up, never across a wait.
    outbox: Mutex<Outbox>,
    /// Notified when there is a new request in the outbox.
    added: Notify,
    counters: Arc<Counters>,
    traffic: Arc<Traffic>,
    /// The memory of the session's address.
    memory: Arc<Share>,
    tasks: Tasks,
    limits: ForwardingSettings,
}

/// An answer that is kept until its client no longer asks for it.
struct Kept {
    answer: Answer,
    len: usize,
    all_bytes: Arc<AtomicUsize>,
    /// The memory that an answer takes: a fixed part, and its length.
    _memory: [Option<Held>; 2],
}

impl Kept {
    /// Keeps an answer. If there is no memory for it, an exception replaces it. `besides` is the memory that it takes
    /// besides its length.
    fn new(
        answer: Answer,
        besides: Held,
        all_bytes: &Arc<AtomicUsize>,
        memory: &Arc<Share>,
    ) -> Self {
        let answer = answer.map(|outcome| outcome.map(detached));
        let len = outgoing::answer_len(&answer);
        let (answer, len, held) = match memory.take(len) {
            Ok(held) => (answer, len, Some(held)),
            // Not an overload, after which the client might try again.
            Err(AccountFull) => {
                let text = format!("{NOT_KEPT}{NO_MEMORY}");
                (Err(SystemException::UnknownException(text)), 0, None)
            }
        };
        all_bytes.fetch_add(len, Ordering::Relaxed);
        Self {
            answer,
            len,
            all_bytes: all_bytes.clone(),
            _memory: [Some(besides), held],
        }
    }
}

/// The text of an exception begins with this if a request was executed.
const NOT_KEPT: &str = "the request was executed, and its answer could not be kept: ";
/// Memory that an answer takes besides its length, in bytes.
const KEPT_LEN: usize = 512;

/// The answer in memory of its own.
fn detached(outcome: Outcome) -> Outcome {
    let copied = |bytes: Bytes| match bytes.len() <= COPIED_LEN_MAX {
        true => Bytes::copy_from_slice(&bytes),
        false => bytes,
    };
    match outcome {
        Outcome::Returned(bytes) => Outcome::Returned(copied(bytes)),
        Outcome::UserException(bytes) => Outcome::UserException(copied(bytes)),
        other => other,
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        self.all_bytes.fetch_sub(self.len, Ordering::Relaxed);
    }
}

/// The connection of a session.
#[derive(Clone)]
enum ClientLink {
    Up(Connection),
    Down,
    /// The session has ended.
    Ended,
}

#[derive(Default)]
struct Outbox {
    numbers: Outstanding,
    requests: BTreeMap<u64, Arc<Callback>>,
    /// Length of all requests, in bytes.
    bytes: usize,
}

/// A request to the client.
pub(super) struct Callback {
    pub(super) identity: Identity,
    pub(super) facet: String,
    pub(super) is_compressed: bool,
    pub(super) event: Event,
    pub(super) context: Context,
    /// Length of all of it, in bytes.
    pub(super) len: usize,
    /// Kept for as long as the request.
    pub(super) _memory: Held,
    /// Sends the answer to the caller, if the request is twoway.
    pub(super) answer: Mutex<Option<oneshot::Sender<Answer>>>,
}

impl Resumption {
    /// Begins to deliver requests to the client of a session.
    pub(super) fn start(
        grace: Duration,
        session: &Session,
        limits: &ForwardingSettings,
        counters: &Arc<Counters>,
        tasks: &Tasks,
    ) -> Arc<Self> {
        let connection = session.client().connection.clone();
        let resumption = Arc::new(Self {
            grace,
            link: watch::Sender::new(ClientLink::Up(connection)),
            seen: Mutex::new(DedupWindow::new(WINDOW_MAX)),
            kept_bytes: Arc::default(),
            outbox: Mutex::default(),
            added: Notify::new(),
            counters: counters.clone(),
            traffic: session.to_client_traffic.clone(),
            memory: session.memory.clone(),
            tasks: tasks.clone(),
            limits: limits.clone(),
        });
        tasks.spawn(resumption.clone().run());
        resumption
    }

    /// The client has come back over this connection.
    pub(super) fn attach(&self, connection: Connection) {
        self.link.send_replace(ClientLink::Up(connection));
    }

    /// This connection was lost. The client may have come back over another one already.
    pub(super) fn detach(&self, lost: &Connection) {
        self.link.send_if_modified(|link| {
            let is_up = matches!(link, ClientLink::Up(connection) if connection == lost);
            if is_up {
                *link = ClientLink::Down;
            }
            is_up
        });
    }

    /// Waits until the client has come back, or the session has ended.
    pub(super) async fn attached_or_ended(&self) {
        let mut link = self.link.subscribe();
        // It lives as long as this.
        let _ = link
            .wait_for(|link| !matches!(link, ClientLink::Down))
            .await;
    }

    pub(super) fn end(&self) {
        self.link.send_replace(ClientLink::Ended);
    }

    /// Runs a request of the client, unless it was seen before; returns the answer of its only execution.
    pub(super) async fn once<F>(&self, number: u64, floor: u64, execute: F) -> Answer
    where
        F: Future<Output = Answer> + Send + 'static,
    {
        let (done, answer) = watch::channel(None);
        // Take the memory before the request is executed. After that, the client could not tell this refusal from the
        // refusal of a request that was not executed.
        let besides = self.memory.take(KEPT_LEN);
        let admission = {
            let mut seen = lock(&self.seen);
            // This may make the room that the request needs.
            seen.raise_floor(floor);
            let is_full = self.kept_bytes.load(Ordering::Relaxed) > self.limits.queue_bytes;
            match (is_full || besides.is_err()) && !seen.has(number) {
                true => Admission::Full,
                false => seen.admit(number, floor, || answer),
            }
        };
        let mut answer = match (admission, besides) {
            (Admission::New(answer), Ok(besides)) => {
                let (bytes, memory) = (self.kept_bytes.clone(), self.memory.clone());
                let keep = move |answer| {
                    let kept = Kept::new(answer, besides, &bytes, &memory);
                    done.send_replace(Some(kept));
                };
                match outgoing::begin(execute).await {
                    Ok(answer) => keep(answer),
                    // In a task: the answer is kept even if the connection that asked for it breaks.
                    Err(execute) => self.tasks.spawn(async move {
                        keep(execute.await);
                    }),
                }
                answer
            }
            (Admission::Seen(answer), _) => answer,
            (Admission::Stale, _) => {
                return Err(SystemException::UnknownException(
                    "the request was answered before".to_owned(),
                ));
            }
            (_, Err(AccountFull)) => {
                self.counters.memory_full.add(1);
                let text = overloaded(NO_MEMORY);
                return Err(SystemException::UnknownException(text));
            }
            (Admission::Full, Ok(_)) => {
                let text = overloaded("too many requests of this session have no answer yet");
                return Err(SystemException::UnknownException(text));
            }
        };
        let answered = answer.wait_for(Option::is_some).await;
        let answered = answered.ok();
        let answered = answered.and_then(|kept| Some(kept.as_ref()?.answer.clone()));
        answered.unwrap_or_else(|| {
            let text = "the gateway has lost the answer".to_owned();
            Err(SystemException::UnknownException(text))
        })
    }

    /// Accepts a request to the client, which is delivered exactly once if the session lives.
    ///
    /// # Errors
    /// Too many wait already.
    pub(super) fn accept(&self, callback: Callback) -> Result<(), SystemException> {
        let (len, event_len) = (callback.len, callback.event.len());
        let mut outbox = lock(&self.outbox);
        let is_full = outbox.requests.len() >= self.limits.queue_requests
            || outbox.bytes.saturating_add(len) > self.limits.queue_bytes;
        if (is_full && !outbox.requests.is_empty())
            || matches!(*self.link.borrow(), ClientLink::Ended)
        {
            self.counters.queue_full.add(1);
            let text = overloaded("the client of this session does not take its requests");
            return Err(SystemException::UnknownException(text));
        }
        let number = outbox.numbers.begin();
        outbox.bytes += len;
        outbox.requests.insert(number, Arc::new(callback));
        self.counters.queued.add(1);
        self.traffic.queued.add(1);
        self.counters.queued_bytes.add(event_len);
        drop(outbox);
        self.added.notify_one();
        Ok(())
    }

    /// Delivers requests in their order, over one connection after another, until the session ends.
    async fn run(self: Arc<Self>) {
        let mut link = self.link.subscribe();
        loop {
            let current = link.borrow_and_update().clone();
            match current {
                ClientLink::Up(connection) => self.deliver(&connection, &mut link).await,
                ClientLink::Down => {
                    if link.changed().await.is_err() {
                        break;
                    }
                }
                ClientLink::Ended => break,
            }
        }
        let rest = std::mem::take(&mut lock(&self.outbox).requests);
        for callback in rest.into_values() {
            self.counters.lost.add(1);
            self.finish(&callback, Err(ended()));
        }
    }

    /// Sends all requests without an answer, and those that come, until the connection changes.
    async fn deliver(
        self: &Arc<Self>,
        connection: &Connection,
        link: &mut watch::Receiver<ClientLink>,
    ) {
        let mut next = 0;
        while !link.has_changed().unwrap_or(true) {
            let found = {
                let outbox = lock(&self.outbox);
                let mut from = outbox.requests.range(next..);
                let floor = outbox.numbers.floor();
                from.next().map(|(number, it)| (*number, floor, it.clone()))
            };
            match found {
                Some((number, floor, callback)) => {
                    next = number + 1;
                    self.send(connection, number, floor, callback).await;
                }
                None => tokio::select! {
                    () = self.added.notified() => {}
                    _ = link.changed() => {
                        link.mark_changed();
                        return;
                    }
                },
            }
        }
    }

    /// Sends a request. Another task waits for the answer.
    async fn send(
        self: &Arc<Self>,
        connection: &Connection,
        number: u64,
        floor: u64,
        callback: Arc<Callback>,
    ) {
        let mut context = callback.context.clone();
        context.insert(NUMBER.to_owned(), number.to_string());
        context.insert(FLOOR.to_owned(), floor.to_string());
        let event = outgoing::with_context(&callback.event, &context);
        let object = connection.proxy(callback.identity.clone());
        let object = object.with_reference(Reference {
            facet: callback.facet.clone(),
            mode: InvocationMode::Twoway,
            ..object.reference().clone()
        });
        let object = match callback.is_compressed {
            true => object.ice_compression(self.limits.compression_to(connection)),
            false => object,
        };
        let is_sent = Arc::new(AtomicBool::new(false));
        let noted = is_sent.clone();
        let mut sending = Box::pin(async move { object.forward_noting(&event, &noted).await });
        match until_sent(sending.as_mut(), &is_sent).await {
            Some(result) => self.settle(number, result),
            None => {
                let resumption = self.clone();
                self.tasks.spawn(async move {
                    let result = sending.await;
                    resumption.settle(number, result);
                });
            }
        }
    }

    /// Ends a request that has its answer. One whose connection was lost stays, and is sent again over the next one.
    fn settle(&self, number: u64, result: Result<Option<Outcome>, InvokeError>) {
        if result.as_ref().is_err_and(is_lost) {
            return;
        }
        let callback = {
            let mut outbox = lock(&self.outbox);
            outbox.numbers.end(number);
            outbox.requests.remove(&number)
        };
        if let Some(callback) = callback {
            lock(&self.outbox).bytes -= callback.len;
            self.finish(&callback, result.map_err(failure::exception));
        }
    }

    fn finish(&self, callback: &Callback, answer: Answer) {
        self.counters.queued.sub(1);
        self.traffic.queued.sub(1);
        self.counters.queued_bytes.sub(callback.event.len());
        if let Some(waiting) = lock(&callback.answer).take() {
            // A caller that has given up needs no answer.
            let _ = waiting.send(answer);
        }
    }
}

/// The number and the floor of a request.
pub(crate) fn numbers(context: &Context) -> Option<(u64, u64)> {
    let number = |key| context.get(key)?.parse::<u64>().ok();
    number(NUMBER).zip(number(FLOOR))
}

/// Returns true if the connection was lost, so that the request can be sent again over the next one.
pub(crate) fn is_lost(error: &InvokeError) -> bool {
    match error {
        InvokeError::NotDispatched(error) | InvokeError::PerhapsDispatched(error) => matches!(
            error,
            LocalError::ConnectionLost { .. }
                | LocalError::ClosedByPeer { .. }
                | LocalError::ClosedHere { .. }
                | LocalError::Closing { .. }
        ),
        _ => false,
    }
}

/// The exception for a caller whose request the client has not taken.
pub(super) fn ended() -> SystemException {
    SystemException::UnknownLocalException(
        "::Ice::ConnectionLostException: the session has ended, and its client has not come back"
            .to_owned(),
    )
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
