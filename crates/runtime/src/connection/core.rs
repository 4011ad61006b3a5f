//! A connection: how it starts and ends, and what its parts share.
//!
//! Its parts are types of their own: [`SendHalf`] writes, [`Driver`] decides which task or thread reads, and
//! [`Keepalive`] ends the connection when it is silent or unused. [`Reply`](super::Reply) and `oneway.rs` send requests
//! over it.

use std::any::Any;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::time::Duration;

use floe_wire::compression::StreamLimit;
use floe_wire::connection::{
    FlushPolicy, Heartbeats, IdleCheck, Liveness, Role, SendQueue, StateMachine,
};
use floe_wire::encoding::Buffer;
use floe_wire::message::{
    Compression, HEADER_LEN, IncomingRequest, RequestId, VALIDATE_CONNECTION,
};
use floe_wire::reference::Endpoint;
use tokio::sync::{Notify, Semaphore};
use tokio::time::timeout;

use super::Connections;
use super::budget;
use super::driver::{self, Driver};
use super::keepalive::{HeartbeatListener, Keepalive};
use super::outstanding::Outstanding;
use super::pool::PoolKey;
use super::purpose::Purpose;
use super::reading::Reading;
use super::reply_recipient::ReplyRecipient;
use super::send_half::{ConnectionState, SendHalf};
use super::stream_compression::StreamCompression;
use crate::address_turn::Participation;
use crate::admission::Admission;
use crate::byte_account::ByteAccount;
use crate::condition::wait_for;
use crate::dispatch::{AdapterCore, AdapterSlot, Origin, RequestSource};
use crate::environment::{Environment, Tasks};
use crate::error::{AttemptError, LocalError};
use crate::settings::Settings;
use crate::transport::{ConnectionInfo, Stream, StreamWriter};

/// A connection, shared by all its users.
pub(crate) struct ConnectionCore {
    peer: String,
    pub(super) output: SendHalf,
    pub(super) driver: Driver,
    /// How long each wait for input busy-polls, in microseconds.
    polling_micros: AtomicU32,
    /// True while new requests may be sent. It is a hint that needs no lock.
    pub(super) is_active: AtomicBool,
    pub(super) keepalive: Keepalive,
    /// Bounds the dispatches under way in number and in bytes.
    pub(super) dispatches: Arc<Semaphore>,
    /// The connection's share of the limits on connections, until it is closed.
    admission: Mutex<Option<Admission>>,
    /// Wakes callers when requests may be sent, and when the connection is closed. A channel of tokio would take half a
    /// kilobyte of each connection.
    changed: Notify,
    pub(super) settings: Arc<Settings>,
    pub(super) tasks: Tasks,
    /// The registry that drops the connection when it ends.
    connections: Weak<Connections>,
    /// Only an outgoing connection has one. Boxed, because a server has many incoming ones.
    key: Option<Box<PoolKey>>,
    /// The adapter that serves requests of the peer.
    pub(super) adapter: Arc<AdapterSlot>,
    /// The value that a dispatcher stored with [`Connection::remember`](super::Connection::remember).
    pub(super) remembered: OnceLock<Arc<dyn Any + Send + Sync>>,
}

impl ConnectionCore {
    /// Starts a connection over a stream, and reads it until it is closed.
    pub(crate) fn start(
        stream: Stream,
        purpose: Purpose,
        connections: &Arc<Connections>,
    ) -> Arc<Self> {
        let peer = stream.peer.clone();
        let is_outgoing = purpose.role == Role::Client;
        let (writer, driver, start) =
            driver::prepare(stream, is_outgoing, connections.environment());
        let connection = Arc::new(Self::new(peer, writer, driver, purpose, connections));
        connection.flush();
        let turns = join_turns(&connection, connections.environment());
        start(Reading::new(connection.clone(), turns));
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
        let Purpose {
            role,
            settings,
            key,
            adapter,
            admission,
        } = purpose;
        let liveness = match role {
            Role::Client => settings.outgoing.clone(),
            Role::Server => settings.incoming.clone(),
        };
        let liveness = match writer.is_datagram() {
            true => of_datagrams(liveness, role == Role::Client),
            false => liveness,
        };
        let mut queue = SendQueue::default();
        let machine = StateMachine::new(role, queue.bytes());
        Self {
            peer,
            output: SendHalf::new(
                writer,
                ConnectionState::new(machine, queue),
                environment,
                &settings,
            ),
            driver,
            polling_micros: AtomicU32::new(micros(settings.polling)),
            is_active: AtomicBool::new(role == Role::Server),
            keepalive: Keepalive::new(liveness),
            dispatches: budget::budget(&settings),
            admission: Mutex::new(admission),
            changed: Notify::new(),
            settings,
            tasks: environment.tasks(),
            connections: Arc::downgrade(connections),
            key: key.map(Box::new),
            adapter: Arc::new(AdapterSlot::new(adapter)),
            remembered: OnceLock::new(),
        }
    }

    /// Returns true if this side made the connection.
    pub(super) fn is_outgoing(&self) -> bool {
        self.key.is_some()
    }

    /// Returns the address that the last datagram came from, for logs; `None` for a stream.
    pub(crate) fn sender(&self) -> Option<String> {
        self.output
            .writer()
            .sender()
            .map(|sender| sender.to_string())
    }

    /// Returns true if this adapter accepted the connection.
    pub(crate) fn is_of(&self, adapter: &Arc<AdapterCore>) -> bool {
        self.key.is_none() && self.adapter.is(adapter)
    }

    /// Returns the adapter that serves requests of the peer.
    pub(crate) fn adapter(&self) -> Option<Arc<AdapterCore>> {
        self.adapter.get()
    }

    pub(crate) fn set_adapter(&self, adapter: Option<&Arc<AdapterCore>>) {
        self.adapter.set(adapter);
        self.driver.wake_standby();
    }

    /// Returns the reason why no more requests can be sent.
    pub(crate) fn refusal(&self) -> LocalError {
        let error = self.lock().error.as_deref().cloned();
        error.unwrap_or_else(|| LocalError::Closing {
            peer: self.peer.clone(),
        })
    }

    /// Returns how long a wait for input busy-polls before it sleeps.
    pub(crate) fn polling(&self) -> Duration {
        let micros = self.polling_micros.load(Ordering::Relaxed);
        Duration::from_micros(micros.into())
    }

    /// Changes how long later waits busy-poll.
    pub(crate) fn set_polling(&self, polling: Duration) {
        self.polling_micros
            .store(micros(polling), Ordering::Relaxed);
    }

    /// Returns true while new requests may be sent.
    pub(crate) fn is_active(&self) -> bool {
        self.is_active.load(Ordering::Relaxed)
    }

    /// Waits until the peer has validated the connection, or the connection is closed.
    pub(crate) async fn validated(&self) -> Result<(), LocalError> {
        wait_for(&self.changed, || {
            let machine = &self.lock().machine;
            // The pool reads the flag, which is set a moment after the machine has become active.
            self.is_active() || !machine.is_validating() && !machine.is_active()
        })
        .await;
        self.lock().error.as_deref().cloned().map_or(Ok(()), Err)
    }

    /// Starts a graceful close. After the close timeout the connection is dropped in any case.
    pub(crate) fn close(self: &Arc<Self>) {
        if self.lock().machine.is_validating() {
            return self.fail(LocalError::Shutdown);
        }
        self.close_if(|_| true);
    }

    /// Starts a graceful close if nothing is outstanding in either direction. Returns true if it did.
    pub(super) fn close_unused(self: &Arc<Self>) -> bool {
        self.close_if(|machine| {
            machine.in_flight() == 0 && machine.dispatching() == 0 && !self.is_dispatching()
        })
    }

    fn close_if(
        self: &Arc<Self>,
        may_close: impl FnOnce(&StateMachine<ReplyRecipient>) -> bool,
    ) -> bool {
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
        // The connection must be read until the last replies and the end of the peer's stream have come.
        self.driver.request_reading();
        let connection = self.clone();
        self.tasks.spawn(async move {
            let limit = connection.settings.close_timeout;
            if timeout(limit, connection.closed()).await.is_err() {
                let outstanding = connection.outstanding();
                let reason = format!("it was not closed within {limit:?}: {outstanding}");
                let peer = &connection.peer;
                connection.warn_limited(|| format!("dropped the connection to {peer}: {reason}"));
                connection.abort(reason);
            }
        });
        true
    }

    /// Waits until the connection is closed for any reason.
    pub(crate) async fn closed(&self) {
        wait_for(&self.changed, || self.lock().machine.is_closed()).await;
    }

    /// Returns the count of what the unfinished messages of all connections hold; `None` if the communicator is gone.
    pub(super) fn input_memory(&self) -> Option<Arc<ByteAccount>> {
        let connections = self.connections.upgrade()?;
        Some(connections.environment().input_memory().clone())
    }

    /// The limit on the compressed streams of all connections; `None` if the communicator is gone.
    pub(super) fn compression_streams(&self) -> Option<Arc<StreamLimit>> {
        let connections = self.connections.upgrade()?;
        Some(connections.environment().compression_streams().clone())
    }

    /// Logs a line that peers can provoke, through the log limiter.
    pub(super) fn warn_limited(&self, line: impl FnOnce() -> String) {
        match self.connections.upgrade() {
            Some(all) => {
                let environment = all.environment();
                environment.warn_limited(Some(self.tasks.runtime()), line);
            }
            None => tracing::warn!("{}", line()),
        }
    }

    /// Drops the connection. Requests that were written may have been executed.
    pub(crate) fn abort(&self, reason: String) {
        let peer = self.peer.clone();
        self.fail(LocalError::ConnectionLost { peer, reason });
    }

    /// Drops the connection because its peer does not read its replies, and logs why.
    pub(super) fn refuse(&self, reason: &str) {
        self.warn_limited(|| format!("closed the connection with {}: {reason}", self.peer));
        self.abort("the peer does not read its replies".to_owned());
    }

    /// Drops the connection. Requests in flight fail with `error`.
    pub(super) fn fail(&self, error: LocalError) {
        self.is_active.store(false, Ordering::Relaxed);
        let (recipients, taken, unsent) = {
            let mut shared = self.lock();
            shared.error.get_or_insert_with(|| Box::new(error.clone()));
            let recipients = shared.machine.fail();
            (recipients, shared.queue.taken(), shared.queue.clear())
        };
        // The unsent bytes are worth a line only if they hold more than a header. A header alone is ValidateConnection,
        // a heartbeat, or a CloseConnection that crossed the peer's: losing it does no harm.
        if unsent > HEADER_LEN {
            self.warn_limited(|| {
                format!("{unsent} bytes for {} were never sent: {error}", self.peer)
            });
        }
        let failure = AttemptError::perhaps_sent(error.clone());
        ReplyRecipient::fail(recipients, &failure, taken);
        self.changed.notify_waiters();
        self.output.end();
        // Another connection may now be admitted.
        let admission = self.admission.lock();
        drop(admission.unwrap_or_else(PoisonError::into_inner).take());
        // The listener may hold this connection.
        self.keepalive.set_listener(None);
        // Wakes the reader, which then ends.
        match &error {
            LocalError::Protocol { error, .. } => self.output.writer().refuse(error),
            _ => self.output.writer().shutdown(),
        }
        self.driver.wake_standby();
        if let (Some(all), Some(key)) = (self.connections.upgrade(), &self.key) {
            all.pool().forget(key, self);
        }
    }

    /// Returns what a graceful close still waits for.
    fn outstanding(&self) -> Outstanding {
        let shared = self.lock();
        Outstanding {
            replies: shared.machine.in_flight(),
            dispatches: shared.machine.dispatching(),
            unwritten_len: shared.queue.waiting_len(),
        }
    }

    /// Returns true while a dispatch, oneway or twoway, runs in a task because its first poll did not finish it.
    pub(super) fn is_dispatching(&self) -> bool {
        self.dispatches.available_permits() < budget::budget_len(&self.settings) as usize
    }

    #[inline(always)]
    pub(super) fn lock(&self) -> MutexGuard<'_, ConnectionState> {
        self.output.lock()
    }

    /// The peer, for logs and errors.
    pub(super) fn peer(&self) -> &str {
        &self.peer
    }

    /// The endpoint of an outgoing connection.
    pub(crate) fn endpoint(&self) -> Option<&Endpoint> {
        self.key.as_ref().map(|key| &key.0)
    }

    /// All connections of its communicator; `None` if the communicator is gone.
    pub(crate) fn connections(&self) -> Option<Arc<Connections>> {
        self.connections.upgrade()
    }

    pub(crate) fn compression(&self) -> &StreamCompression {
        self.output.compression()
    }

    /// Returns the origin of the peer's requests; `None` if no adapter serves them. Each datagram has its own sender.
    pub(super) fn origin(self: &Arc<Self>, sender: Option<String>) -> Option<Arc<Origin>> {
        Origin::new(self.clone(), &self.adapter, sender)
    }

    /// Writes the send queue. If another thread or task is writing, that one takes these bytes along.
    pub(super) fn flush(self: &Arc<Self>) {
        self.output.flush(self);
    }

    /// Marks the connection as validated by the peer, so that requests may be sent.
    pub(super) fn mark_validated(&self) {
        self.is_active.store(true, Ordering::Relaxed);
        self.changed.notify_waiters();
    }

    /// Returns how often the liveness check must run; `None` if never.
    pub(super) fn tick(&self) -> Option<Duration> {
        self.keepalive.tick()
    }

    /// Changes the rules of liveness from now on.
    pub(super) fn set_liveness(&self, liveness: Liveness) {
        self.keepalive
            .set_rules(match self.output.writer().is_datagram() {
                true => of_datagrams(liveness, self.is_outgoing()),
                false => liveness,
            });
    }

    /// Sets the listener that is called for each heartbeat of the peer.
    pub(super) fn set_heartbeat_listener(&self, listener: Option<Arc<HeartbeatListener>>) {
        self.keepalive.set_listener(listener);
        if self.lock().machine.is_closed() {
            // No heartbeat will come, so the listener and all that it holds are dropped.
            self.keepalive.set_listener(None);
        }
    }

    /// Reserves the id of a request that is encoded before it is appended to the send queue.
    pub(crate) fn reserve_id(&self) -> Result<RequestId, AttemptError> {
        let id = self.lock().machine.reserve_id();
        id.ok_or_else(|| AttemptError::not_sent(self.refusal()))
    }

    pub(super) fn send_heartbeat(self: &Arc<Self>) {
        {
            let mut shared = self.lock();
            // Any message that waits in the send queue also shows the peer that this side is alive. Heartbeats must not
            // fill the queue of a peer that does not read.
            if !shared.machine.may_send_heartbeat() || shared.queue.waiting_len() > 0 {
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

    /// Returns true if a caller waits for a reply, or for a connection that this side began.
    pub(super) fn has_callers(&self) -> bool {
        let machine = &self.lock().machine;
        self.is_outgoing() && (machine.is_validating() || machine.in_flight() > 0)
    }

    /// Gives up a request in flight.
    #[cold]
    pub(crate) fn give_up(self: &Arc<Self>, id: RequestId) {
        let mut shared = self.lock();
        let ConnectionState { machine, queue, .. } = &mut *shared;
        let given_up = machine.cancel(id, queue.bytes());
        drop(shared);
        // This may be the last reference to a sink, which must not be dropped under the lock.
        drop(given_up);
        self.flush();
    }
}

impl fmt::Debug for ConnectionCore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ConnectionCore")
            .field("peer", &self.peer)
            .field("is_active", &self.is_active())
            .finish_non_exhaustive()
    }
}

impl RequestSource for ConnectionCore {
    fn peer(&self) -> &str {
        &self.peer
    }

    fn compress_reply(&self, request: &IncomingRequest, reply: &mut Buffer) {
        // A server compresses as Ice does, and otherwise as it offers: some methods take much memory or time, and any peer
        // can ask for them.
        let may_use = |compression| {
            compression == Compression::Bzip2
                || self.is_outgoing()
                || self.settings.compressions.contains(&compression)
        };
        self.compression().compress_reply(may_use, request, reply);
    }

    fn hold(&self, wanted: usize) -> usize {
        budget::hold(&self.dispatches, wanted)
    }

    fn release(&self, held: usize) {
        self.dispatches.add_permits(held);
    }

    fn answer(self: Arc<Self>, replies: &mut Buffer, count: usize) {
        self.output
            .send_replies(&self, replies, count, FlushPolicy::Now);
    }

    fn is_closed(&self) -> bool {
        self.lock().machine.is_closed()
    }
}

/// Returns what these rules are for datagrams: there are no heartbeats in either direction, and a socket that receives them stays
/// open.
fn of_datagrams(mut rules: Liveness, is_outgoing: bool) -> Liveness {
    rules.heartbeats = Heartbeats::Off;
    rules.idle_check = IdleCheck::Off;
    rules.inactivity_timeout = rules.inactivity_timeout.filter(|_| is_outgoing);
    rules
}

/// Returns the connection's part in the turns of its peer's address. A socket of a `udp` endpoint has turns of its own.
fn join_turns(connection: &ConnectionCore, environment: &Environment) -> Participation {
    let writer = connection.output.writer();
    if writer.is_datagram() {
        return environment.address_turns().alone();
    }
    let mut info = ConnectionInfo::default();
    writer.describe(&mut info);
    environment.address_turns().join(info.remote_network())
}

fn micros(time: Duration) -> u32 {
    u32::try_from(time.as_micros()).unwrap_or(u32::MAX)
}
