//! Connections: drives the state machine of `floe-wire` over a transport.
//!
//! - `writing.rs`, `output.rs`: bytes that wait to be written, and whose turn it is to write them
//! - `sending.rs`: requests and other messages on their way there
//! - `burst.rs`: many messages at once leave together
//! - `reading.rs`, `input.rs`: what is read, and what becomes of it
//! - `driver.rs`, `turn.rs`, `turns.rs`: who reads: a task, a thread, or the callers in turns
//! - `here.rs`: which connections a thread keeps from being read
//! - `slot.rs`: where a caller waits for its reply
//! - `dispatching.rs`, `found.rs`, `collecting.rs`: requests of the peer, dispatched in place
//! - `compressing.rs`: what compression has to know of the order of messages
//! - `pool.rs`: outgoing connections, shared by proxies
//! - `handle.rs`: what users see of a connection
//!
//! Whoever has something to send encodes it straight into the output buffer and, if nobody else is
//! writing, writes it.

pub(crate) mod burst;
mod collecting;
mod compressing;
pub(crate) mod dispatching;
mod driver;
mod found;
pub(crate) mod handle;
mod here;
mod input;
mod output;
pub(crate) mod pool;
mod reading;
mod sending;
mod slot;
#[cfg(unix)]
mod turn;
#[cfg(unix)]
mod turns;
mod writing;

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, Weak};
use std::time::Duration;

use floe_wire::connection::{Connection as Machine, Role};
use floe_wire::message::VALIDATE_CONNECTION;
use floe_wire::reference::Endpoint;
use tokio::sync::{Notify, watch};
use tokio::time::timeout;

use crate::adapter::AdapterCore;
use crate::communicator::{Communicator, Core, Tasks};
use crate::error::LocalError;
use crate::settings::Settings;
use crate::transport::{Stream, StreamWriter};

use burst::Burst;
use compressing::Compressing;
use driver::Driver;
use output::Output;
use reading::Reading;
pub(crate) use sending::Reply;
use slot::Slot;

/// A connection, shared by all who use it.
pub(crate) struct Connection {
    peer: String,
    writer: Box<dyn StreamWriter>,
    driver: Driver,
    /// Whether senders are threads that block, and not tasks.
    is_blocking: bool,
    /// Guards the order of everything that is sent, and what is known of it. Never held across a
    /// wait or a system call.
    shared: Mutex<Shared>,
    /// Woken when output has been written.
    room: Notify,
    /// How long waits for what comes next poll, in microseconds.
    polling_micros: AtomicU32,
    /// Whether new requests may be sent; a hint that needs no lock.
    is_active: AtomicBool,
    /// Whether anything was sent, or read, since the last look of the heartbeat.
    is_lively: AtomicBool,
    has_read: AtomicBool,
    /// Looks of the heartbeat since anything was read.
    silent_count: AtomicU32,
    /// Becomes true when requests may be sent, and when the connection is closed.
    settled: watch::Sender<bool>,
    settings: Arc<Settings>,
    tasks: Tasks,
    /// Forgets the connection when it ends; the endpoint is that of an outgoing one.
    owner: Weak<Core>,
    endpoint: Option<Endpoint>,
    /// Where requests of the peer go; a client answers that the object does not exist.
    adapter: RwLock<Option<Weak<AdapterCore>>>,
    /// Changes with the adapter.
    adapter_version: AtomicU64,
    compressing: Compressing,
}

/// What a connection is for.
pub(crate) enum Purpose {
    /// Requests to this endpoint.
    Outgoing(Endpoint),
    /// Requests from the peer to this adapter.
    Incoming(Weak<AdapterCore>),
}

struct Shared {
    machine: Machine<Arc<Slot>>,
    output: Output,
    burst: Burst,
    /// Whether anybody waits for output to be written.
    has_room_waiters: bool,
    /// Why the connection is closed, once it is.
    error: Option<LocalError>,
}

/// Why a request got no reply.
#[derive(Debug, Clone)]
pub(crate) struct Failure {
    pub(crate) error: LocalError,
    /// Whether the request may have reached the servant.
    pub(crate) perhaps_dispatched: bool,
}

impl Connection {
    /// Starts a connection over a stream: it is read until it is closed.
    pub(crate) fn start(
        stream: Stream,
        purpose: Purpose,
        communicator: &Communicator,
    ) -> Arc<Self> {
        let is_outgoing = matches!(purpose, Purpose::Outgoing(_));
        let (peer, halves) = driver::prepare(stream, is_outgoing, communicator.core());
        let connection = Arc::new(Self::new(
            peer,
            halves.writer,
            halves.driver,
            purpose,
            communicator,
        ));
        connection.flush();
        halves.reader.start(Reading::new(connection.clone()));
        communicator.core().track(&connection);
        connection
    }

    fn new(
        peer: String,
        writer: Box<dyn StreamWriter>,
        driver: Driver,
        purpose: Purpose,
        communicator: &Communicator,
    ) -> Self {
        let (role, endpoint, adapter) = match purpose {
            Purpose::Outgoing(endpoint) => (Role::Client, Some(endpoint), None),
            Purpose::Incoming(adapter) => (Role::Server, None, Some(adapter)),
        };
        let mut output = Output::default();
        let machine = Machine::new(role, output.pending());
        let shared = Shared {
            machine,
            output,
            burst: Burst::default(),
            has_room_waiters: false,
            error: None,
        };
        Self {
            peer,
            writer,
            driver,
            is_blocking: communicator.core().is_blocking(),
            shared: Mutex::new(shared),
            room: Notify::new(),
            polling_micros: AtomicU32::new(micros(communicator.settings().polling)),
            is_active: AtomicBool::new(role == Role::Server),
            is_lively: AtomicBool::new(true),
            has_read: AtomicBool::new(true),
            silent_count: AtomicU32::new(0),
            settled: watch::Sender::new(role == Role::Server),
            settings: communicator.settings().clone(),
            tasks: communicator.core().tasks(),
            owner: Arc::downgrade(communicator.core()),
            endpoint,
            adapter: RwLock::new(adapter),
            adapter_version: AtomicU64::new(0),
            compressing: Compressing::default(),
        }
    }

    /// The peer, for messages to people.
    pub(crate) fn peer(&self) -> &str {
        &self.peer
    }

    /// Whether an adapter accepted it.
    pub(crate) fn is_of(&self, adapter: &Arc<AdapterCore>) -> bool {
        let own = self.adapter.read().unwrap_or_else(PoisonError::into_inner);
        let is_own = |own: &Weak<_>| std::ptr::eq(own.as_ptr(), Arc::as_ptr(adapter));
        self.endpoint.is_none() && own.as_ref().is_some_and(is_own)
    }

    /// Where requests of the peer go.
    pub(crate) fn adapter(&self) -> Option<Arc<AdapterCore>> {
        let adapter = self.adapter.read().unwrap_or_else(PoisonError::into_inner);
        adapter.as_ref()?.upgrade()
    }

    pub(crate) fn set_adapter(&self, adapter: Option<&Arc<AdapterCore>>) {
        let adapter = adapter.map(Arc::downgrade);
        *self.adapter.write().unwrap_or_else(PoisonError::into_inner) = adapter;
        self.adapter_version.fetch_add(1, Ordering::Release);
        self.driver.look_again();
    }

    /// A number that is another one after each change of the adapter.
    fn adapter_version(&self) -> u64 {
        self.adapter_version.load(Ordering::Acquire)
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
        let mut settled = self.settled.subscribe();
        // The sender lives as long as `self`.
        let _ = settled.wait_for(|settled| *settled).await;
        self.lock().error.clone().map_or(Ok(()), Err)
    }

    /// Starts a graceful close; after the close timeout the connection is dropped all the same.
    pub(crate) fn close(self: &Arc<Self>) {
        {
            let mut shared = self.lock();
            let Shared {
                machine, output, ..
            } = &mut *shared;
            if machine.is_active() {
                self.is_active.store(false, Ordering::Relaxed);
                machine.close(output.pending());
            } else if !machine.is_validating() {
                return;
            }
        }
        if self.lock().machine.is_validating() {
            return self.fail(LocalError::Shutdown);
        }
        self.flush();
        // What the peer still owes, and its end of the stream, are waited for.
        self.ask_for_reading();
        let connection = self.clone();
        self.tasks.spawn(async move {
            let limit = connection.settings.close_timeout;
            if timeout(limit, connection.closed()).await.is_err() {
                let reason = format!("it did not close within {limit:?}: {}", connection.dues());
                tracing::warn!("dropped the connection to {}: {reason}", connection.peer);
                connection.abort(reason);
            }
        });
    }

    /// Waits until the connection is closed, however that came about.
    pub(crate) async fn closed(&self) {
        let mut settled = self.settled.subscribe();
        while !self.lock().machine.is_closed() {
            if settled.changed().await.is_err() {
                return;
            }
        }
    }

    /// Drops the connection.
    pub(crate) fn abort(&self, reason: String) {
        let peer = self.peer.clone();
        self.fail(LocalError::ConnectionLost { peer, reason });
    }

    /// Sends a heartbeat if nothing else was sent since the last call, and drops the connection if
    /// a reply is due and the peer has been silent for too long. Called once in an `interval`.
    pub(crate) fn keep_alive(self: &Arc<Self>, interval: Duration) {
        self.check_silence(interval);
        if !self.is_lively.swap(false, Ordering::Relaxed) {
            self.send_heartbeat();
            self.is_lively.store(false, Ordering::Relaxed);
        }
    }

    fn send_heartbeat(self: &Arc<Self>) {
        {
            let mut shared = self.lock();
            if !shared.machine.is_active() {
                return;
            }
            shared
                .output
                .pending()
                .extend_from_slice(&VALIDATE_CONNECTION);
        }
        self.flush();
    }

    fn check_silence(&self, interval: Duration) {
        if self.has_read.swap(false, Ordering::Relaxed) {
            return self.silent_count.store(0, Ordering::Relaxed);
        }
        let silent_count = self.silent_count.fetch_add(1, Ordering::Relaxed) + 1;
        let Some(limit) = self.settings.idle_timeout else {
            return;
        };
        let is_due = self.lock().machine.in_flight() > 0;
        if is_due && interval.saturating_mul(silent_count) >= limit {
            let reason = format!("a reply is due, and the peer sent nothing for {limit:?}");
            tracing::warn!("dropped the connection to {}: {reason}", self.peer);
            self.abort(reason);
        }
    }

    /// Drops the connection. Requests in flight fail with `error`.
    fn fail(&self, error: LocalError) {
        self.is_active.store(false, Ordering::Relaxed);
        let (slots, unsent) = {
            let mut shared = self.lock();
            shared.error.get_or_insert_with(|| error.clone());
            (shared.machine.fail(), shared.output.clear())
        };
        if unsent > 0 {
            tracing::warn!("{unsent} bytes for {} were never sent: {error}", self.peer);
        }
        for slot in slots {
            let error = error.clone();
            slot.answer(Err(Failure {
                error,
                perhaps_dispatched: true,
            }));
        }
        self.settled.send_replace(true);
        self.room.notify_waiters();
        // Wakes whoever reads; the reading then ends.
        self.writer.shutdown();
        self.driver.look_again();
        if let (Some(core), Some(endpoint)) = (self.owner.upgrade(), &self.endpoint) {
            core.pool().forget(endpoint, self);
        }
    }

    /// Why the connection takes no requests.
    fn failure(&self, perhaps_dispatched: bool) -> Failure {
        let error = self.lock().error.clone();
        let error = error.unwrap_or_else(|| LocalError::Closing {
            peer: self.peer.clone(),
        });
        Failure {
            error,
            perhaps_dispatched,
        }
    }

    /// What a graceful close still waits for.
    fn dues(&self) -> String {
        let shared = self.lock();
        let (in_flight, dispatching) = (shared.machine.in_flight(), shared.machine.dispatching());
        match (in_flight, dispatching) {
            (0, 0) => "the peer did not close its end".to_owned(),
            _ => format!("{in_flight} replies of the peer and {dispatching} of ours were due"),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Shared> {
        // A panic while the lock is held leaves whole messages behind, see `try_append`.
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn micros(time: Duration) -> u32 {
    u32::try_from(time.as_micros()).unwrap_or(u32::MAX)
}
