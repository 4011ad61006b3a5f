//! Connections: drives the state machine of `floe-wire` over a transport.
//!
//! - `send.rs`: batches of messages on their way to the send queue, and the reply to a request
//! - `send_queue.rs`: bytes that wait to be written; `flush_policy.rs`: when they are; `write.rs`: the writing
//! - `shared.rs`: the state that all who send or read share
//! - `reading.rs`, `input.rs`, `read_buffers.rs`: what is read, and what becomes of it
//! - `driver.rs`, `turn.rs`, `turns.rs`: who reads: a task, a thread, or the callers in turns
//! - `received.rs`: replies as the threads get them that read them themselves
//! - `here.rs`: which connections a thread keeps from being read
//! - `pulse.rs`, `watch.rs`: heartbeats, and what ends a silent or unused connection
//! - `pending_reply.rs`, `readiness.rs`: what a caller waits for: its reply, and the connection
//! - `reply_sink.rs`: who gets a reply: such a caller, or a sink that is given replies where they are read
//! - `dispatching.rs`, `servant_cache.rs`: requests of the peer, dispatched in place
//! - `budget.rs`, `pending_dispatch.rs`: what dispatches may take, and those that wait
//! - `replying.rs`, `reply_flush.rs`: replies, and when the replies to events leave
//! - `buffer_pool.rs`: buffers that threads keep for the next connection that reads
//! - `stream_compression.rs`: what compression has to know of the order of messages
//! - `pool.rs`: outgoing connections, shared by proxies
//! - `handle.rs`: what users see of a connection
//!
//! A sender encodes its messages straight into the send queue and, if no one else is writing, writes them.

mod budget;
mod buffer_pool;
mod dispatching;
mod driver;
mod flush_policy;
mod handle;
mod here;
mod input;
mod keepalive_thread;
mod pending_dispatch;
mod pending_reply;
mod pool;
mod pulse;
mod read_buffers;
mod readiness;
mod reading;
#[cfg_attr(not(unix), allow(dead_code, reason = "only on Unix do callers read"))]
mod received;
mod registry;
mod reply_flush;
mod reply_sink;
mod replying;
mod send;
mod send_queue;
mod servant_cache;
mod shared;
mod stream_compression;
#[cfg(unix)]
mod turn;
#[cfg(unix)]
mod turns;
pub(crate) mod wait;
mod watch;
mod write;

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use floe_wire::connection::{Connection as Machine, Role};
use floe_wire::encoding::Buffer;
use floe_wire::message::{HEADER_LEN, IncomingRequest};
use floe_wire::reference::Endpoint;
use tokio::sync::{Notify, Semaphore};
use tokio::time::timeout;

use crate::admission::Admission;
use crate::dispatch::{AdapterCore, AdapterSlot, RequestSource};
use crate::environment::{Environment, Tasks};
use crate::error::{AttemptError, LocalError};
use crate::liveness::Liveness;
use crate::settings::Settings;
use crate::transport::{Stream, StreamWriter};

use driver::Driver;
pub use handle::Connection;
use pulse::Pulse;
use readiness::Readiness;
use reading::Reading;
pub(crate) use received::{Received, Short};
pub(crate) use registry::Connections;
use reply_sink::Recipient;
pub use reply_sink::ReplySink;
pub(crate) use reply_sink::outcome_of_event;
pub(crate) use send::{Reply, SendUntil};
use send_queue::SendQueue;
use shared::Shared;
use stream_compression::StreamCompression;

/// A connection, shared by all who use it.
pub(crate) struct ConnectionCore {
    peer: String,
    writer: Box<dyn StreamWriter>,
    driver: Driver,
    /// Whether senders are threads that block, and not tasks.
    is_blocking: bool,
    /// A panic while it is held leaves whole messages behind: see [`shared::Whole`].
    shared: Mutex<Shared>,
    /// Woken when output has been written.
    room: Notify,
    /// How long waits for what comes next poll, in microseconds.
    polling_micros: AtomicU32,
    /// Whether new requests may be sent; a hint that needs no lock.
    is_active: AtomicBool,
    pulse: Pulse,
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
    adapter: Arc<AdapterSlot>,
    compressing: StreamCompression,
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
        let mut output = SendQueue::default();
        let machine = Machine::new(role, output.bytes());
        Self {
            peer,
            writer,
            driver,
            is_blocking: environment.is_blocking(),
            shared: Mutex::new(Shared::new(machine, output)),
            room: Notify::new(),
            polling_micros: AtomicU32::new(micros(settings.polling)),
            is_active: AtomicBool::new(role == Role::Server),
            pulse: Pulse::new(liveness),
            dispatches: budget::budget(settings),
            admission: Mutex::new(admission),
            readiness: Readiness::new(role == Role::Server),
            settings: settings.clone(),
            tasks: environment.tasks(),
            connections: Arc::downgrade(connections),
            endpoint: own_endpoint,
            adapter: Arc::new(AdapterSlot::new(adapter)),
            compressing: StreamCompression::default(),
        }
    }

    /// Who sent the datagram that was read last, for people; `None` if it is a stream.
    pub(crate) fn sender(&self) -> Option<String> {
        self.writer.sender().map(|sender| sender.to_string())
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
        self.driver.look_again();
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
        self.readiness.settled().await;
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
    fn close_unused(self: &Arc<Self>) -> bool {
        self.close_if(|machine| {
            machine.in_flight() == 0 && machine.dispatching() == 0 && !self.is_dispatching()
        })
    }

    fn close_if(self: &Arc<Self>, may_close: impl FnOnce(&Machine<Recipient>) -> bool) -> bool {
        {
            let mut shared = self.lock();
            let Shared {
                machine, output, ..
            } = &mut *shared;
            if !machine.is_active() || !may_close(machine) {
                return false;
            }
            self.is_active.store(false, Ordering::Relaxed);
            machine.close(output.bytes());
        }
        self.flush();
        // What the peer still owes, and its end of the stream, are waited for.
        self.ask_for_reading();
        let connection = self.clone();
        self.tasks.spawn(async move {
            let limit = connection.settings.close_timeout;
            if timeout(limit, connection.closed()).await.is_err() {
                let dues = connection.dues();
                let reason = format!("it was not closed within {limit:?}: {dues}");
                let peer = &connection.peer;
                connection.complain(|| format!("dropped the connection to {peer}: {reason}"));
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
    fn complain(&self, line: impl FnOnce() -> String) {
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
    fn fail(&self, error: LocalError) {
        self.is_active.store(false, Ordering::Relaxed);
        let (recipients, taken, unsent) = {
            let mut shared = self.lock();
            shared.error.get_or_insert_with(|| error.clone());
            let recipients = shared.machine.fail();
            (recipients, shared.output.taken(), shared.output.clear())
        };
        // A header alone validates, is a heartbeat, or is our own CloseConnection, which crossed the peer's: nobody
        // misses it.
        if unsent > HEADER_LEN {
            self.complain(|| format!("{unsent} bytes for {} were never sent: {error}", self.peer));
        }
        let failure = AttemptError {
            error: error.clone(),
            perhaps_dispatched: true,
        };
        Recipient::fail(recipients, &failure, taken);
        self.readiness.mark_settled();
        self.room.notify_waiters();
        // Others may connect in its place.
        let admission = self.admission.lock();
        drop(admission.unwrap_or_else(PoisonError::into_inner).take());
        // It may hold this connection.
        self.set_heartbeat_listener(None);
        // Wakes whoever reads; the reading then ends.
        match &error {
            LocalError::Protocol { error, .. } => self.writer.refuse(error),
            _ => self.writer.shutdown(),
        }
        self.driver.look_again();
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
        let unwritten = shared.output.len();
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
    fn is_dispatching(&self) -> bool {
        self.dispatches.available_permits() < budget::budget_len(&self.settings) as usize
    }

    #[inline(always)]
    fn lock(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl RequestSource for ConnectionCore {
    fn peer(&self) -> &str {
        &self.peer
    }

    fn compress_reply(&self, request: &IncomingRequest, reply: &mut Buffer) {
        Self::compress_reply(self, request, reply);
    }
}

fn counted(count: usize, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

fn micros(time: Duration) -> u32 {
    u32::try_from(time.as_micros()).unwrap_or(u32::MAX)
}
