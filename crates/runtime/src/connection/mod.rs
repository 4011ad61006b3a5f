//! Connections: drives the state machine of `floe-wire` over a transport.
//!
//! - `output.rs`: bytes that wait to be written, and whose turn it is to write them
//! - `reading.rs`: the task that reads, and dispatches in place
//! - `pool.rs`: outgoing connections, shared by proxies
//!
//! Whoever has something to send encodes it straight into the output buffer and, if nobody else is
//! writing, writes it. Only when the transport is full does a task take over.

mod output;
pub(crate) mod pool;
mod reading;

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use floe_wire::connection::{Connection as Machine, Role};
use floe_wire::encoding::EncodeError;
use floe_wire::message::{IncomingReply, RequestId, VALIDATE_CONNECTION};
use floe_wire::reference::Endpoint;
use tokio::sync::{Notify, oneshot, watch};
use tokio::time::timeout;

use crate::adapter::AdapterCore;
use crate::communicator::{Communicator, Core, Tasks};
use crate::error::LocalError;
use crate::settings::Settings;
use crate::transport::{Stream, StreamWriter};

use output::Output;

/// A connection, shared by all who use it.
pub(crate) struct Connection {
    peer: String,
    writer: Box<dyn StreamWriter>,
    /// Guards the order of everything that is sent, and what is known of it. Never held across a
    /// wait or a system call.
    shared: Mutex<Shared>,
    /// Woken when the output has shrunk below its limit.
    room: Notify,
    /// Whether anything was sent since the last heartbeat check.
    is_lively: AtomicBool,
    /// Becomes true when requests may be sent, and when the connection is closed.
    settled: watch::Sender<bool>,
    settings: Arc<Settings>,
    tasks: Tasks,
    /// Forgets the connection when it ends; the endpoint is that of an outgoing one.
    owner: Weak<Core>,
    endpoint: Option<Endpoint>,
    /// Where requests of the peer go; a client answers that the object does not exist.
    adapter: Option<Arc<AdapterCore>>,
}

/// What a connection is for.
pub(crate) enum Purpose {
    /// Requests to this endpoint.
    Outgoing(Endpoint),
    /// Requests from the peer to this adapter.
    Incoming(Arc<AdapterCore>),
}

struct Shared {
    machine: Machine<Waiter>,
    output: Output,
    /// Why the connection is closed, once it is.
    failure: Option<Failure>,
}

/// The caller that waits for a reply.
type Waiter = oneshot::Sender<Result<IncomingReply, Failure>>;

/// Why a request got no reply.
#[derive(Debug, Clone)]
pub(crate) struct Failure {
    pub(crate) error: LocalError,
    /// Whether the request may have reached the servant.
    pub(crate) perhaps_dispatched: bool,
}

/// What keeps a request from being appended to the output.
enum Refusal {
    Full,
    Failed(Failure),
}

impl Connection {
    /// Starts a connection over a stream: its reading task runs until the connection is closed.
    pub(crate) fn start(
        stream: Stream,
        purpose: Purpose,
        communicator: &Communicator,
    ) -> Arc<Self> {
        let (role, endpoint, adapter) = match purpose {
            Purpose::Outgoing(endpoint) => (Role::Client, Some(endpoint), None),
            Purpose::Incoming(adapter) => (Role::Server, None, Some(adapter)),
        };
        let mut output = Output::default();
        let machine = Machine::new(role, output.pending());
        let connection = Arc::new(Self {
            peer: stream.peer,
            writer: stream.writer,
            shared: Mutex::new(Shared {
                machine,
                output,
                failure: None,
            }),
            room: Notify::new(),
            is_lively: AtomicBool::new(true),
            settled: watch::Sender::new(role == Role::Server),
            settings: communicator.settings().clone(),
            tasks: communicator.core().tasks(),
            owner: Arc::downgrade(communicator.core()),
            endpoint,
            adapter,
        });
        connection.flush();
        communicator.core().track(&connection);
        connection
            .tasks
            .spawn(reading::run(connection.clone(), stream.reader));
        connection
    }

    /// The peer, for messages to people.
    pub(crate) fn peer(&self) -> &str {
        &self.peer
    }

    /// Whether new requests may be sent.
    pub(crate) fn is_active(&self) -> bool {
        self.lock().machine.is_active()
    }

    /// Waits until the peer has validated the connection, or it is closed.
    pub(crate) async fn validated(&self) -> Result<(), Failure> {
        let mut settled = self.settled.subscribe();
        // The sender lives as long as `self`.
        let _ = settled.wait_for(|settled| *settled).await;
        let shared = self.lock();
        match &shared.failure {
            Some(failure) => Err(failure.clone()),
            None => Ok(()),
        }
    }

    /// Sends a twoway request and waits for its reply. Dropping the future gives the request up.
    ///
    /// `write` appends the message to the output.
    pub(crate) async fn request(
        self: &Arc<Self>,
        write: impl Fn(&mut Vec<u8>, RequestId) -> Result<(), EncodeError>,
    ) -> Result<IncomingReply, Failure> {
        let (waiter, reply) = oneshot::channel();
        let mut waiter = Some(waiter);
        let id = self
            .append_with_room(|machine, output| {
                let Some(token) = waiter.take() else {
                    return Err(None);
                };
                let id = match machine.start_twoway(token) {
                    Ok(id) => id,
                    Err((_, token)) => {
                        waiter = Some(token);
                        return Err(None);
                    }
                };
                if let Err(error) = write(output, id) {
                    machine.cancel(id, output);
                    return Err(Some(error));
                }
                Ok(id)
            })
            .await?;
        let mut given_up = GiveUpOnDrop {
            connection: self,
            id: Some(id),
        };
        let result = reply.await;
        given_up.id = None;
        // The waiter is only ever dropped unanswered together with the whole connection.
        result.unwrap_or_else(|_| Err(self.failure(true)))
    }

    /// Sends messages that get no reply.
    pub(crate) async fn send(
        self: &Arc<Self>,
        write: impl Fn(&mut Vec<u8>) -> Result<(), EncodeError>,
    ) -> Result<(), Failure> {
        self.append_with_room(|machine, output| {
            if !machine.is_active() {
                return Err(None);
            }
            write(output).map_err(Some)
        })
        .await
    }

    /// Appends replies, of which `twoway_count` end a dispatch, and writes them. `replies` is empty
    /// afterwards, and may have another allocation.
    fn send_replies(self: &Arc<Self>, replies: &mut Vec<u8>, twoway_count: usize) {
        let mut shared = self.lock();
        let Shared {
            machine, output, ..
        } = &mut *shared;
        if machine.is_closed() {
            replies.clear();
            return;
        }
        output.append(replies);
        for _ in 0..twoway_count {
            machine.handle_dispatched(output.pending());
        }
        drop(shared);
        self.flush();
    }

    /// Starts a graceful close; after the close timeout the connection is dropped all the same.
    pub(crate) fn close(self: &Arc<Self>) {
        {
            let mut shared = self.lock();
            let Shared {
                machine, output, ..
            } = &mut *shared;
            if !machine.is_active() {
                return;
            }
            machine.close(output.pending());
        }
        self.flush();
        let connection = self.clone();
        self.tasks.spawn(async move {
            let limit = connection.settings.close_timeout;
            if timeout(limit, connection.closed()).await.is_err() {
                let reason = format!("the peer did not close its end within {limit:?}");
                tracing::warn!("dropped the connection to {}: {reason}", connection.peer);
                connection.abort(reason);
            }
        });
    }

    /// Drops the connection.
    pub(crate) fn abort(&self, reason: String) {
        self.fail(
            LocalError::ConnectionLost {
                peer: self.peer.clone(),
                reason,
            },
            true,
        );
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

    /// Drops the connection. Requests in flight fail with `error`.
    fn fail(&self, error: LocalError, perhaps_dispatched: bool) {
        let failure = Failure {
            error,
            perhaps_dispatched,
        };
        let waiters = {
            let mut shared = self.lock();
            shared.failure.get_or_insert_with(|| failure.clone());
            shared.output.clear();
            shared.machine.fail()
        };
        for waiter in waiters {
            let _ = waiter.send(Err(failure.clone()));
        }
        self.settled.send_replace(true);
        self.room.notify_waiters();
        // Wakes the reading task, which then ends.
        self.writer.shutdown();
        if let (Some(core), Some(endpoint)) = (self.owner.upgrade(), &self.endpoint) {
            core.pool().forget(endpoint, self);
        }
    }

    /// Sends a heartbeat if nothing else was sent since the last call.
    pub(crate) fn keep_alive(self: &Arc<Self>) {
        if self.is_lively.swap(false, Ordering::Relaxed) {
            return;
        }
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
        self.is_lively.store(false, Ordering::Relaxed);
    }

    /// Appends to the output as soon as it is below its limit, and writes it. `append` may be called
    /// several times; `Err(None)` from it means that the connection takes no new requests.
    async fn append_with_room<T>(
        self: &Arc<Self>,
        mut append: impl FnMut(&mut Machine<Waiter>, &mut Vec<u8>) -> Result<T, Option<EncodeError>>,
    ) -> Result<T, Failure> {
        loop {
            match self.try_append(&mut append) {
                Ok(value) => return Ok(value),
                Err(Refusal::Failed(failure)) => return Err(failure),
                Err(Refusal::Full) => self.wait_for_room().await,
            }
        }
    }

    fn try_append<T>(
        self: &Arc<Self>,
        append: &mut impl FnMut(&mut Machine<Waiter>, &mut Vec<u8>) -> Result<T, Option<EncodeError>>,
    ) -> Result<T, Refusal> {
        let mut shared = self.lock();
        let Shared {
            machine, output, ..
        } = &mut *shared;
        if output.len() > self.settings.output_limit {
            return Err(Refusal::Full);
        }
        match append(machine, output.pending()) {
            Ok(value) => {
                drop(shared);
                self.flush();
                Ok(value)
            }
            Err(Some(error)) => Err(Refusal::Failed(Failure {
                error: error.into(),
                perhaps_dispatched: false,
            })),
            Err(None) => {
                drop(shared);
                Err(Refusal::Failed(self.failure(false)))
            }
        }
    }

    /// Waits until the output is below its limit.
    async fn wait_for_room(&self) {
        loop {
            let room = self.room.notified();
            tokio::pin!(room);
            // Enabled before the look, so that no shrinking in between is missed.
            room.as_mut().enable();
            if self.lock().output.len() <= self.settings.output_limit {
                return;
            }
            room.await;
        }
    }

    /// Writes what is pending, unless somebody is writing already: then it goes along with theirs.
    fn flush(self: &Arc<Self>) {
        let Some(mut batch) = self.lock().output.take() else {
            return;
        };
        self.is_lively.store(true, Ordering::Relaxed);
        loop {
            match self.writer.try_write(batch.rest()) {
                Ok(0) => return self.lose(&io::ErrorKind::WriteZero.into()),
                Ok(count) => {
                    if !batch.advance(count) {
                        continue;
                    }
                    let was_over_limit = batch.len() > self.settings.output_limit;
                    let next = self.lock().output.put_back(batch);
                    if was_over_limit {
                        self.room.notify_waiters();
                    }
                    match next {
                        Some(next) => batch = next,
                        None => return,
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    let connection = self.clone();
                    self.lock().output.set_stalled(&batch);
                    self.tasks
                        .spawn(async move { connection.write_rest(batch).await });
                    return;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return self.lose(&error),
            }
        }
    }

    /// Writes what a full transport did not take, and all that comes meanwhile.
    async fn write_rest(self: Arc<Self>, mut batch: output::Batch) {
        loop {
            let ready = std::future::poll_fn(|context| self.writer.poll_write_ready(context));
            let written = match ready.await {
                Ok(()) => self.writer.try_write(batch.rest()),
                Err(error) => Err(error),
            };
            match written {
                Ok(0) => return self.lose(&io::ErrorKind::WriteZero.into()),
                Ok(count) => {
                    let is_done = batch.advance(count);
                    let mut shared = self.lock();
                    shared.output.set_stalled(&batch);
                    let has_room = shared.output.len() <= self.settings.output_limit;
                    let next = if is_done {
                        shared.output.put_back(batch)
                    } else {
                        Some(batch)
                    };
                    drop(shared);
                    if has_room {
                        self.room.notify_waiters();
                    }
                    match next {
                        Some(next) => batch = next,
                        None => return,
                    }
                }
                Err(error) if is_transient(&error) => {}
                Err(error) => return self.lose(&error),
            }
            if self.lock().machine.is_closed() {
                return;
            }
        }
    }

    /// The transport failed. Requests that left may have been executed.
    fn lose(&self, error: &io::Error) {
        self.fail(
            LocalError::ConnectionLost {
                peer: self.peer.clone(),
                reason: error.to_string(),
            },
            true,
        );
    }

    /// Why the connection takes no requests.
    fn failure(&self, perhaps_dispatched: bool) -> Failure {
        let closing = || Failure {
            error: LocalError::ClosedByPeer {
                peer: self.peer.clone(),
            },
            perhaps_dispatched: false,
        };
        let mut failure = self.lock().failure.clone().unwrap_or_else(closing);
        failure.perhaps_dispatched &= perhaps_dispatched;
        failure
    }

    fn lock(&self) -> MutexGuard<'_, Shared> {
        // A panic while the lock is held leaves whole messages: they are appended or taken off.
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn is_transient(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted
    )
}

/// Gives a request up when its caller stops waiting.
struct GiveUpOnDrop<'a> {
    connection: &'a Arc<Connection>,
    id: Option<RequestId>,
}

impl Drop for GiveUpOnDrop<'_> {
    fn drop(&mut self) {
        if let Some(id) = self.id {
            let mut shared = self.connection.lock();
            let Shared {
                machine, output, ..
            } = &mut *shared;
            machine.cancel(id, output.pending());
            drop(shared);
            self.connection.flush();
        }
    }
}
