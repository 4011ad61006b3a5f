//! A connection: how it starts, sends, and ends.
//!
//! Its parts are things of their own: what waits to be written ([`SendHalf`]), who reads ([`Driver`]), and when silence or
//! disuse ends it ([`Keepalive`]).

use std::any::Any;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::time::{Duration, Instant};

use floe_wire::connection::{Connection as Machine, NotActive, NotAppended, RequestIds, Role};
use floe_wire::encoding::{Buffer, EncodeError};
use floe_wire::message::{HEADER_LEN, IncomingRequest, RequestId, VALIDATE_CONNECTION};
use floe_wire::reference::Endpoint;
use tokio::sync::Semaphore;
use tokio::time::timeout;

use super::Connections;
use super::driver::{self, Driver};
use super::flush_policy::FlushPolicy;
use super::keepalive::{HeartbeatListener, Keepalive};
use super::readiness::Readiness;
use super::reading::{ReadEnd, Reading};
use super::reply_sink::{Recipient, ReplySink};
use super::send_half::SendHalf;
use super::send_queue::SendQueue;
use super::state::{ConnectionState, Whole};
use super::stream_compression::StreamCompression;
use super::wait::{Sleeper, wait_depth};
use super::{budget, reentrancy_guard};
use crate::admission::Admission;
use crate::dispatch::{AdapterCore, AdapterSlot, Origin, RequestSource};
use crate::environment::{Environment, Tasks};
use crate::error::{AttemptError, LocalError};
use crate::input_memory::InputMemory;
use crate::liveness::Liveness;
use crate::settings::Settings;
use crate::transport::{Stream, StreamWriter};

/// A connection, shared by all who use it.
pub(crate) struct ConnectionCore {
    peer: String,
    pub(super) output: SendHalf,
    pub(super) driver: Driver,
    /// How long waits for what comes next poll, in microseconds.
    polling_micros: AtomicU32,
    /// Whether new requests may be sent; a hint that needs no lock.
    is_active: AtomicBool,
    pub(super) keepalive: Keepalive,
    /// Bounds the dispatches under way in number and in bytes.
    dispatches: Arc<Semaphore>,
    /// Its share of the limits on connections, until it is closed.
    admission: Mutex<Option<Admission>>,
    /// When requests may be sent, and when the connection is closed.
    readiness: Readiness,
    settings: Arc<Settings>,
    tasks: Tasks,
    /// Forgets the connection when it ends; the endpoint is that of an outgoing one.
    connections: Weak<Connections>,
    endpoint: Option<Endpoint>,
    /// Where requests of the peer go.
    pub(super) adapter: Arc<AdapterSlot>,
    /// What a dispatcher remembers of it.
    pub(super) remembered: OnceLock<Arc<dyn Any + Send + Sync>>,
}

/// What a connection is for.
pub(crate) enum Purpose {
    /// Requests to this endpoint.
    Outgoing(Endpoint),
    /// Requests from the peer to this adapter, which admitted it.
    Incoming(Weak<AdapterCore>, Liveness, Option<Admission>),
}

impl ConnectionCore {
    /// Starts a connection over a stream: it is read until it is closed.
    pub(crate) fn start(
        stream: Stream,
        purpose: Purpose,
        connections: &Arc<Connections>,
    ) -> Arc<Self> {
        let is_outgoing = matches!(purpose, Purpose::Outgoing(_));
        let (peer, halves) = driver::prepare(stream, is_outgoing, connections.environment());
        let connection = Arc::new(Self::new(
            peer,
            halves.writer,
            halves.driver,
            purpose,
            connections,
        ));
        connection.flush();
        halves.reader.start(Reading::new(connection.clone()));
        connections.track(&connection);
        connection
    }

    fn new(
        peer: String,
        writer: Box<dyn StreamWriter>,
        driver: Driver,
        purpose: Purpose,
        connections: &Arc<Connections>,
    ) -> Self {
        let environment: &Environment = connections.environment();
        let settings = environment.settings();
        let mut adapter = None;
        let mut own_endpoint = None;
        let mut admission = None;
        let (role, liveness) = match purpose {
            Purpose::Outgoing(endpoint) => {
                own_endpoint = Some(endpoint);
                (Role::Client, settings.outgoing.clone())
            }
            Purpose::Incoming(own, liveness, admitted) => {
                adapter = Some(own);
                admission = admitted;
                (Role::Server, liveness)
            }
        };
        let mut queue = SendQueue::default();
        let machine = Machine::new(role, queue.bytes());
        Self {
            peer,
            output: SendHalf::new(
                writer,
                ConnectionState::new(machine, queue),
                environment.is_blocking(),
                settings,
            ),
            driver,
            polling_micros: AtomicU32::new(micros(settings.polling)),
            is_active: AtomicBool::new(role == Role::Server),
            keepalive: Keepalive::new(liveness),
            dispatches: budget::budget(settings),
            admission: Mutex::new(admission),
            readiness: Readiness::new(role == Role::Server),
            settings: settings.clone(),
            tasks: environment.tasks(),
            connections: Arc::downgrade(connections),
            endpoint: own_endpoint,
            adapter: Arc::new(AdapterSlot::new(adapter)),
            remembered: OnceLock::new(),
        }
    }

    /// Who sent the datagram that was read last, for people; `None` if it is a stream.
    pub(crate) fn sender(&self) -> Option<String> {
        self.output
            .writer()
            .sender()
            .map(|sender| sender.to_string())
    }

    /// Whether an adapter accepted it.
    pub(crate) fn is_of(&self, adapter: &Arc<AdapterCore>) -> bool {
        self.endpoint.is_none() && self.adapter.is(adapter)
    }

    /// Where requests of the peer go.
    pub(crate) fn adapter(&self) -> Option<Arc<AdapterCore>> {
        self.adapter.get()
    }

    pub(crate) fn set_adapter(&self, adapter: Option<&Arc<AdapterCore>>) {
        self.adapter.set(adapter);
        self.driver.wake_watcher();
    }

    /// Why no more requests can be sent.
    pub(crate) fn refusal(&self) -> LocalError {
        self.failure(false).error
    }

    /// How long the waits for what comes next poll before they sleep.
    pub(crate) fn polling(&self) -> Duration {
        let micros = self.polling_micros.load(Ordering::Relaxed);
        Duration::from_micros(micros.into())
    }

    /// Changes that for all waits from now on.
    pub(crate) fn set_polling(&self, polling: Duration) {
        self.polling_micros
            .store(micros(polling), Ordering::Relaxed);
    }

    /// Whether new requests may be sent.
    pub(crate) fn is_active(&self) -> bool {
        self.is_active.load(Ordering::Relaxed)
    }

    /// Waits until the peer has validated the connection, or it is closed.
    pub(crate) async fn validated(&self) -> Result<(), LocalError> {
        self.readiness.wait().await;
        self.lock().error.clone().map_or(Ok(()), Err)
    }

    /// Starts a graceful close; after the close timeout the connection is dropped all the same.
    pub(crate) fn close(self: &Arc<Self>) {
        if self.lock().machine.is_validating() {
            return self.fail(LocalError::Shutdown);
        }
        self.close_if(|_| true);
    }

    /// The same if nothing is outstanding in either direction; whether it is.
    pub(super) fn close_unused(self: &Arc<Self>) -> bool {
        self.close_if(|machine| {
            machine.in_flight() == 0 && machine.dispatching() == 0 && !self.is_dispatching()
        })
    }

    fn close_if(self: &Arc<Self>, may_close: impl FnOnce(&Machine<Recipient>) -> bool) -> bool {
        {
            let mut shared = self.lock();
            let ConnectionState { machine, queue, .. } = &mut *shared;
            if !machine.is_active() || !may_close(machine) {
                return false;
            }
            self.is_active.store(false, Ordering::Relaxed);
            machine.close(queue.bytes());
        }
        self.flush();
        // What the peer still owes, and its end of the stream, are waited for.
        self.driver.ask_for_reading();
        let connection = self.clone();
        self.tasks.spawn(async move {
            let limit = connection.settings.close_timeout;
            if timeout(limit, connection.closed()).await.is_err() {
                let dues = connection.dues();
                let reason = format!("it was not closed within {limit:?}: {dues}");
                let peer = &connection.peer;
                connection.warn_limited(|| format!("dropped the connection to {peer}: {reason}"));
                connection.abort(reason);
            }
        });
        true
    }

    /// Waits until the connection is closed, however that came about.
    pub(crate) async fn closed(&self) {
        let is_closed = || self.lock().machine.is_closed();
        self.readiness.wait_for(is_closed).await;
    }

    /// Logs what peers can provoke as often as they like.
    /// What the unfinished messages of all connections hold; `None` when the communicator is gone.
    pub(super) fn input_memory(&self) -> Option<Arc<InputMemory>> {
        let connections = self.connections.upgrade()?;
        Some(connections.environment().input_memory().clone())
    }

    fn warn_limited(&self, line: impl FnOnce() -> String) {
        match self.connections.upgrade() {
            Some(all) => {
                let environment = all.environment();
                environment.warn_limited(Some(self.tasks.runtime()), line);
            }
            None => tracing::warn!("{}", line()),
        }
    }

    /// Drops the connection.
    pub(crate) fn abort(&self, reason: String) {
        let peer = self.peer.clone();
        self.fail(LocalError::ConnectionLost { peer, reason });
    }

    /// Drops the connection. Requests in flight fail with `error`.
    pub(super) fn fail(&self, error: LocalError) {
        self.is_active.store(false, Ordering::Relaxed);
        let (recipients, taken, unsent) = {
            let mut shared = self.lock();
            shared.error.get_or_insert_with(|| error.clone());
            let recipients = shared.machine.fail();
            (recipients, shared.queue.taken(), shared.queue.clear())
        };
        // A header alone validates, is a heartbeat, or is our own CloseConnection, which crossed the peer's: nobody
        // misses it.
        if unsent > HEADER_LEN {
            self.warn_limited(|| {
                format!("{unsent} bytes for {} were never sent: {error}", self.peer)
            });
        }
        let failure = AttemptError {
            error: error.clone(),
            perhaps_dispatched: true,
        };
        Recipient::fail(recipients, &failure, taken);
        self.readiness.mark();
        self.output.end();
        // Others may connect in its place.
        let admission = self.admission.lock();
        drop(admission.unwrap_or_else(PoisonError::into_inner).take());
        // It may hold this connection.
        self.keepalive.set_listener(None);
        // Wakes whoever reads; the reading then ends.
        match &error {
            LocalError::Protocol { error, .. } => self.output.writer().refuse(error),
            _ => self.output.writer().shutdown(),
        }
        self.driver.wake_watcher();
        if let (Some(all), Some(endpoint)) = (self.connections.upgrade(), &self.endpoint) {
            all.pool().forget(endpoint, self);
        }
    }

    /// Why the connection takes no requests.
    fn failure(&self, perhaps_dispatched: bool) -> AttemptError {
        let error = self.lock().error.clone();
        let error = error.unwrap_or_else(|| LocalError::Closing {
            peer: self.peer.clone(),
        });
        AttemptError {
            error,
            perhaps_dispatched,
        }
    }

    /// What a graceful close still waits for, and who is to blame.
    fn dues(&self) -> String {
        let shared = self.lock();
        let (in_flight, dispatching) = (shared.machine.in_flight(), shared.machine.dispatching());
        let unwritten = shared.queue.len();
        let ours = format!(
            "{} still in dispatch here (let them end sooner, or set \
             `Settings::close_timeout` higher)",
            counted(
                dispatching,
                "request of the peer is",
                "requests of the peer are"
            )
        );
        let theirs = format!(
            "the peer still owes {}",
            counted(in_flight, "reply", "replies")
        );
        match (in_flight, dispatching) {
            (0, 0) if unwritten > 0 => {
                format!("the peer does not read, and {unwritten} bytes wait for it")
            }
            (0, 0) => "the peer was told to close its end, and did not".to_owned(),
            (0, _) => ours,
            (_, 0) => theirs,
            (_, _) => format!("{ours}, and {theirs}"),
        }
    }

    /// Whether a dispatch is under way that was not done where it was read, oneway or twoway.
    pub(super) fn is_dispatching(&self) -> bool {
        self.dispatches.available_permits() < budget::budget_len(&self.settings) as usize
    }

    #[inline(always)]
    pub(super) fn lock(&self) -> MutexGuard<'_, ConnectionState> {
        self.output.lock()
    }

    /// The peer, for messages to people.
    pub(super) fn peer(&self) -> &str {
        &self.peer
    }

    pub(super) fn settings(&self) -> &Arc<Settings> {
        &self.settings
    }

    pub(super) fn tasks(&self) -> &Tasks {
        &self.tasks
    }

    /// Bounds the dispatches under way in number and in bytes.
    pub(super) fn dispatches(&self) -> &Arc<Semaphore> {
        &self.dispatches
    }

    /// The endpoint of an outgoing connection.
    pub(crate) fn endpoint(&self) -> Option<&Endpoint> {
        self.endpoint.as_ref()
    }

    /// All connections of its communicator, unless that is gone.
    pub(super) fn connections(&self) -> Option<Arc<Connections>> {
        self.connections.upgrade()
    }

    pub(crate) fn compression(&self) -> &StreamCompression {
        self.output.compression()
    }

    /// The origin of its requests; `None` if no adapter answers them. A datagram has a sender of its own.
    pub(super) fn origin(self: &Arc<Self>, sender: Option<String>) -> Option<Arc<Origin>> {
        Origin::new(self.clone(), &self.adapter, sender)
    }

    /// Waits on this thread until the sleeper is woken, or until the deadline, and reads meanwhile if that is for callers to
    /// do. It may return early.
    pub(super) fn drive(&self, sleeper: &Arc<Sleeper>, deadline: Option<Instant>) {
        self.driver.drive(self, sleeper, deadline);
    }

    /// A caller waits for a reply and cannot read it.
    pub(super) fn ask_for_reading(&self) {
        self.driver.ask_for_reading();
    }

    /// Writes what is pending, unless somebody is writing already: then it goes along with theirs.
    pub(super) fn flush(self: &Arc<Self>) {
        self.output.flush(self);
    }

    /// The peer has validated the connection: requests may be sent.
    pub(super) fn mark_validated(&self) {
        self.set_active(true);
        self.readiness.mark();
    }

    pub(super) fn set_active(&self, is_active: bool) {
        self.is_active.store(is_active, Ordering::Relaxed);
    }

    /// How often it has to be looked at; `None` if never.
    pub(super) fn tick(&self) -> Option<Duration> {
        match self.output.writer().is_datagram() {
            true => None,
            false => self.keepalive.tick(),
        }
    }

    /// Gives heartbeats of the peer to a listener.
    pub(super) fn set_heartbeat_listener(&self, listener: Option<Arc<HeartbeatListener>>) {
        self.keepalive.set_listener(listener);
        if self.lock().machine.is_closed() {
            // No heartbeat will come, and what the listener holds shall go.
            self.keepalive.set_listener(None);
        }
    }

    /// The id for a request that is written before it gets into the send queue.
    pub(crate) fn reserve_id(&self) -> Result<RequestId, AttemptError> {
        let id = self.lock().machine.reserve_id();
        id.map_err(|NotActive| self.failure(false))
    }

    pub(super) fn send_heartbeat(self: &Arc<Self>) {
        {
            let mut shared = self.lock();
            // What waits to be written says the same, and a peer that does not read shall not make
            // it longer.
            if !shared.machine.may_send_heartbeat() || shared.queue.len() > 0 {
                return;
            }
            shared.queue.bytes().extend_from_slice(&VALIDATE_CONNECTION);
        }
        self.flush();
    }

    pub(super) fn drop_silent(&self, limit: Duration, is_reply_due: bool) {
        let why = match is_reply_due {
            true => "a reply is due, and the peer",
            false => "the peer",
        };
        let reason = format!(
            "{why} sent nothing for {limit:?}, not even a heartbeat: it hangs or is cut off, or it \
             sends none (then see `Liveness::idle_check`)"
        );
        self.warn_limited(|| format!("dropped the connection to {}: {reason}", self.peer));
        self.abort(reason);
    }

    /// Ends it, for its reading has ended.
    pub(super) fn end(&self, end: ReadEnd) {
        let peer = self.peer.clone();
        match end {
            ReadEnd::Graceful => {
                tracing::debug!("closed the connection to {peer}");
                self.fail(LocalError::ClosedByPeer { peer });
            }
            ReadEnd::Lost(reason) => {
                tracing::debug!("lost the connection to {peer}: {reason}");
                self.fail(LocalError::ConnectionLost { peer, reason });
            }
            ReadEnd::Broken(reason) => {
                self.warn_limited(|| format!("closed the connection to {peer}: {reason}"));
                self.fail(LocalError::ConnectionLost { peer, reason });
            }
            ReadEnd::Refused(error) => {
                self.warn_limited(|| format!("closed the connection to {peer}: {error}"));
                self.fail(LocalError::Protocol { peer, error });
            }
        }
    }

    /// The transport failed. Requests that left may have been executed.
    pub(super) fn lose(&self, error: &io::Error) {
        let peer = self.peer.clone();
        let reason = error.to_string();
        self.fail(LocalError::ConnectionLost { peer, reason });
    }

    /// Appends a batch to the send queue if there is room for it, and writes the queue as `flush` says; `None`, and
    /// nothing is sent, if there is no room. Everything that leaves but replies goes this way.
    ///
    /// `append` writes whole messages, and is given the position at which they start. If it fails, the queue is as it was.
    #[inline]
    fn try_append<T>(
        self: &Arc<Self>,
        flush: FlushPolicy,
        append: impl FnOnce(
            &mut Machine<Recipient>,
            &mut Buffer,
            u64,
        ) -> Result<T, NotAppended<EncodeError>>,
    ) -> Result<Option<Appended<T>>, AttemptError> {
        let mut shared = self.lock();
        let ConnectionState { machine, queue, .. } = &mut *shared;
        if queue.len() > self.settings.output_limit && machine.is_active() {
            return Ok(None);
        }
        let start = queue.end();
        let mut whole = Whole::of(queue.pending());
        match append(machine, whole.buffer(), start) {
            Ok(value) => {
                whole.keep();
                let end = queue.end();
                let is_tried = self.output.flush_by(self, shared, flush);
                Ok(Some(Appended {
                    value,
                    start,
                    end,
                    is_tried,
                }))
            }
            Err(NotAppended::TooMany) => Ok(None),
            Err(error) => {
                drop(whole);
                drop(shared);
                Err(self.refused(error))
            }
        }
    }

    #[cold]
    fn refused(&self, error: NotAppended<EncodeError>) -> AttemptError {
        match error {
            NotAppended::Unwritten(error) => AttemptError {
                error: error.into(),
                perhaps_dispatched: false,
            },
            NotAppended::NotActive | NotAppended::TooMany => self.failure(false),
        }
    }

    /// Waits until the send queue is below its limit.
    pub(super) async fn wait_for_room(&self) {
        let limit = self.settings.output_limit;
        self.output
            .wait_until(|shared| shared.queue.len() <= limit)
            .await;
    }

    /// Appends twoway requests if there is room for them. `write` appends the request with this id and this place in the
    /// batch, and `recipient` gets its reply, if that is given the place and the position at which the batch starts.
    #[inline]
    pub(super) fn try_append_requests(
        self: &Arc<Self>,
        ids: RequestIds,
        flush: FlushPolicy,
        write: impl Fn(&mut Buffer, RequestId, usize) -> Result<(), EncodeError>,
        recipient: impl Fn(usize, u64) -> Recipient,
    ) -> Result<Option<Appended<RequestId>>, AttemptError> {
        self.try_append(flush, |machine, buffer, start| {
            let write = |id, at| write(buffer, id, at);
            machine.append_requests(ids, write, |at| recipient(at, start))
        })
    }

    /// Sends twoway requests in one write if there is room for them; `None`, and nothing is sent, if there is none.
    ///
    /// The sink gets the replies, that to the first request with the number `first`; it may get some before this
    /// returns. The ids of the requests follow each other, from the one which is returned.
    pub(crate) fn try_send_to_sink<S: ReplySink>(
        self: &Arc<Self>,
        count: usize,
        (sink, first): (&Arc<S>, u64),
        write: impl Fn(&mut Buffer, RequestId, usize) -> Result<(), EncodeError>,
    ) -> Result<Option<RequestId>, AttemptError> {
        reentrancy_guard::check(self, wait_depth())?;
        // All start where the batch starts, for the transport is given all of it.
        let recipient = |at, start| Recipient::Sink {
            sink: sink.clone(),
            number: first + at as u64,
            start,
        };
        let ids = RequestIds::Next(count);
        let sent = self.try_append_requests(ids, FlushPolicy::Now, write, recipient)?;
        Ok(sent.map(|sent| sent.value))
    }

    /// Sends messages that get no reply if there is room for them; false, and nothing is sent, if there is none.
    #[inline]
    pub(crate) fn try_send(
        self: &Arc<Self>,
        write: impl Fn(&mut Buffer) -> Result<(), EncodeError>,
    ) -> Result<bool, AttemptError> {
        match self.try_append(FlushPolicy::Oneway, append_messages(&write))? {
            Some(sent) => self.check_tried(&sent).map(|()| true),
            None => Ok(false),
        }
    }

    /// Sends messages that get no reply, as soon as there is room for them.
    pub(crate) async fn send(
        self: &Arc<Self>,
        until: SendUntil,
        write: impl Fn(&mut Buffer) -> Result<(), EncodeError>,
    ) -> Result<(), AttemptError> {
        let flush = match until {
            SendUntil::Queued => FlushPolicy::Oneway,
            SendUntil::Written => FlushPolicy::Now,
        };
        let sent = loop {
            match self.try_append(flush, append_messages(&write))? {
                Some(sent) => break sent,
                None => self.wait_for_room().await,
            }
        };
        if until == SendUntil::Queued {
            return self.check_tried(&sent);
        }
        self.output
            .wait_until(|shared| shared.queue.written() >= sent.end)
            .await;
        let error = self.lock().error.clone();
        self.check_written(&sent, error.unwrap_or(LocalError::Shutdown))
    }

    /// Whether the transport took messages that it was just given: it may have refused them.
    fn check_tried(&self, sent: &Appended<()>) -> Result<(), AttemptError> {
        if !sent.is_tried {
            return Ok(());
        }
        // Not in the head of the `match`: the lock would be held to its end, and is taken again there.
        let error = self.lock().error.clone();
        match error {
            Some(error) => self.check_written(sent, error),
            None => Ok(()),
        }
    }

    /// Whether messages reached the transport, or may have, after the connection failed.
    fn check_written(&self, sent: &Appended<()>, error: LocalError) -> Result<(), AttemptError> {
        if self.lock().queue.written() >= sent.end {
            return Ok(());
        }
        let failure = AttemptError {
            error,
            perhaps_dispatched: true,
        };
        Err(self.narrow(failure, sent.start))
    }

    /// [`AttemptError::narrow`] by the part of the send queue that was taken.
    pub(super) fn narrow(&self, mut failure: AttemptError, start: u64) -> AttemptError {
        failure.narrow(start, self.lock().queue.taken());
        failure
    }

    /// Gives up a request whose reply is due.
    #[cold]
    pub(crate) fn give_up(self: &Arc<Self>, id: RequestId) {
        let mut shared = self.lock();
        let ConnectionState { machine, queue, .. } = &mut *shared;
        let given_up = machine.cancel(id, queue.bytes());
        drop(shared);
        // It may hold the last reference to a sink, which must not be dropped under the lock.
        drop(given_up);
        self.flush();
    }
}

impl RequestSource for ConnectionCore {
    fn peer(&self) -> &str {
        &self.peer
    }

    fn compress_reply(&self, request: &IncomingRequest, reply: &mut Buffer) {
        self.compression().compress_reply(request, reply);
    }
}

fn counted(count: usize, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

fn micros(time: Duration) -> u32 {
    u32::try_from(time.as_micros()).unwrap_or(u32::MAX)
}

/// When messages without a reply count as sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SendUntil {
    /// They are in the send queue of a connection.
    Queued,
    /// The transport has them.
    Written,
}

/// A batch that was appended to the send queue, and where.
pub(super) struct Appended<T> {
    pub(super) value: T,
    pub(super) start: u64,
    end: u64,
    /// Whether the transport was given as much as it takes.
    is_tried: bool,
}

/// Appends messages to the send queue of a connection that takes them.
fn append_messages(
    write: &impl Fn(&mut Buffer) -> Result<(), EncodeError>,
) -> impl FnOnce(&mut Machine<Recipient>, &mut Buffer, u64) -> Result<(), NotAppended<EncodeError>>
{
    move |machine, buffer, _| {
        if !machine.is_active() {
            return Err(NotAppended::NotActive);
        }
        write(buffer).map_err(NotAppended::Unwritten)
    }
}
