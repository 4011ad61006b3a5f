//! A connection to or from a server, and the requests over it that have no answer yet.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use floe::message::Outcome;
use floe::{Connection, InvokeError, Proxy, SystemException, TypedProxy};
use tokio::sync::oneshot;
use tokio::time::timeout;

use super::account::{AccountFull, Held, Share};
use super::failure;
use super::keyed_lock::{KeyedLock, KeyedLockGuard, TooManyWait};
use super::outgoing;
use super::overload::{NO_CONNECTION, overloaded};
use super::session::Session;
use crate::core::{DOUBT_AFTER, ServerWindow};

/// The address of a session's client when it logged in. Sockets without an address count together.
pub(super) struct Origin {
    pub(super) address: Option<IpAddr>,
    /// The connections to servers that its sessions have caused.
    pub(super) connections: Arc<Share>,
}

/// The key by which requests are counted together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum ClientKey {
    /// Requests to a server, by the address of their clients.
    Address(Option<IpAddr>),
    /// Requests to a client, by the number of its session. A later session could have the same address in memory.
    Session(u64),
}

/// A connection to a server, or of a server that calls clients. All clients share it.
pub(super) struct ServerLink {
    started: Instant,
    /// Held for a moment, never across a wait.
    window: Mutex<ServerWindow<ClientKey, oneshot::Sender<Room>>>,
    /// The requests to each session's client that wait for room, one of them at a time.
    client_locks: KeyedLock<u64>,
    /// The clients that have not answered in time, and until when requests to them do not wait. Held for a moment.
    stalled: Mutex<HashMap<ClientKey, Instant>>,
}

/// A request for which there is room: its client, its size, and the one that waits.
type Due = (ClientKey, usize, oneshot::Sender<Room>);

/// Room for a request without an answer, given back when this is dropped.
pub(super) struct Room {
    /// `None` if it was given back already.
    link: Option<Arc<ServerLink>>,
    client: ClientKey,
    size: usize,
    /// The size of the answer, once there is one.
    answer: Option<usize>,
}

/// The maximum of requests without an answer over one connection, as Floe counts dispatches: 16 for each request, and 1
/// for each kilobyte. Beyond it, the receiver (a server of Floe, or this gateway) stops reading.
const WINDOW_MAX: usize = 16 * 1024;
const SIZE_MIN: usize = 16;
const SIZE_UNIT: usize = 1024;
/// This many bytes of an answer count as much as one kilobyte of a request. Answers go one after another over a
/// connection that all clients wait for, so those of one client may fill two megabytes of it, which take some ten
/// milliseconds.
const ANSWER_UNIT: usize = 256;
/// The likely length of a server's answers to a client before there was one: 256 kB. So a client begins with eight
/// requests.
const FIRST_ANSWER: usize = 256 * 1024 / ANSWER_UNIT;

/// How long a connection to a server may be unused, unless the settings of the process say so.
const UNUSED_MAX: Duration = Duration::from_secs(300);
/// How long a request to a server waits for room.
const TO_SERVER_WAIT_MAX: Duration = Duration::from_secs(30);
/// How long a request to a client waits for room. Meanwhile, the connection of its server may not be read.
const TO_CLIENT_WAIT_MAX: Duration = Duration::from_secs(1);
/// After a request to a client has waited for room and got none, further requests do not wait for this long.
const STALLED_FOR: Duration = Duration::from_secs(10);
const NO_ANSWERS: &str =
    "the server has not answered as many requests of this address as may wait at a time";
const CLIENT_STALLED: &str = "the client does not answer: as many requests to it wait as may do so";

impl ServerLink {
    /// The link of an incoming connection.
    pub(super) fn of(connection: &Connection) -> Arc<Self> {
        connection.remember(|_| Self::new())
    }

    /// The link to the server of an object, which is connected if it is not yet; `None` if there is no connection.
    ///
    /// # Errors
    /// The server cannot be reached, or the address of the session has too many connections.
    pub(super) async fn connect(
        object: &Proxy,
        origin: &Origin,
    ) -> Result<Option<Arc<Self>>, SystemException> {
        if let Some(link) = Self::current(object, origin) {
            return Ok(Some(link));
        }
        let held = origin.connections.take(1);
        let held = held
            .map_err(|AccountFull| SystemException::UnknownException(overloaded(NO_CONNECTION)))?;
        let connected = object.ice_connection().await.map_err(failure::exception)?;
        Ok(connected.map(|connection| Self::adopt(&connection, || held)))
    }

    /// The link to the server of an object, if there is a connection. A connection that a retry has made, without
    /// asking for room, counts from now on.
    pub(super) fn current(object: &Proxy, origin: &Origin) -> Option<Arc<Self>> {
        let connection = object.ice_cached_connection()?;
        Some(Self::adopt(&connection, || origin.connections.note(1)))
    }

    /// The link of a connection to a server. A new one holds a part of the address's connections, and ends when it is not used.
    fn adopt(connection: &Connection, held: impl FnOnce() -> Held) -> Arc<Self> {
        let mut is_first = false;
        let link = connection.remember(|_| {
            is_first = true;
            Self::new()
        });
        if is_first {
            let held = held();
            let mut liveness = connection.liveness();
            liveness.inactivity_timeout.get_or_insert(UNUSED_MAX);
            connection.set_liveness(liveness);
            connection.on_close(move |_| drop(held));
        }
        link
    }

    fn new() -> Self {
        Self {
            started: Instant::now(),
            window: Mutex::new(ServerWindow::new(WINDOW_MAX)),
            client_locks: KeyedLock::default(),
            stalled: Mutex::default(),
        }
    }

    /// Waits until a client may have one more request of this length to this server.
    ///
    /// # Errors
    /// There is no room in time. Requests may wait for each other, if servers call clients back that call them.
    pub(super) async fn to_server(
        self: &Arc<Self>,
        origin: &Origin,
        len: usize,
    ) -> Result<Room, SystemException> {
        let client = ClientKey::Address(origin.address);
        let room = self.take(client, len, TO_SERVER_WAIT_MAX).await;
        room.ok_or_else(|| SystemException::UnknownException(overloaded(NO_ANSWERS)))
    }

    /// Waits until a client may have one more request of this length from this server. If an earlier request has just
    /// waited and got no room, this one does not wait. If it waits, this returns the lock of the client, too. Until
    /// that is dropped, later requests wait, so that all keep their order.
    ///
    /// # Errors
    /// There is no room.
    pub(super) async fn to_client<'a>(
        self: &'a Arc<Self>,
        session: &Session,
        len: usize,
    ) -> Result<(Room, Option<KeyedLockGuard<'a, u64>>), SystemException> {
        let client = ClientKey::Session(session.number);
        if !self.client_locks.is_taken(&session.number)
            && let Some(room) = self.take(client, len, Duration::ZERO).await
        {
            return Ok((room, None));
        }
        let is_stalled = {
            let mut stalled = lock(&self.stalled);
            let until = stalled.get(&client).copied();
            let is_stalled = until.is_some_and(|until| Instant::now() < until);
            if until.is_some() && !is_stalled {
                stalled.remove(&client);
            }
            is_stalled
        };
        let wait_max = match is_stalled {
            true => Duration::ZERO,
            false => TO_CLIENT_WAIT_MAX,
        };
        let end = Instant::now() + wait_max;
        let acquire = self.client_locks.acquire(&session.number, usize::MAX);
        let taken = match timeout(wait_max, acquire).await {
            Ok(Ok(guard)) => {
                let left = end.saturating_duration_since(Instant::now());
                let room = self.take(client, len, left).await;
                room.map(|room| (room, Some(guard)))
            }
            Ok(Err(TooManyWait)) | Err(_) => None,
        };
        taken.ok_or_else(|| {
            if !is_stalled {
                let now = Instant::now();
                let mut stalled = lock(&self.stalled);
                if stalled.len() >= stalled.capacity() {
                    stalled.retain(|_, until| *until > now);
                }
                stalled.insert(client, now + STALLED_FOR);
            }
            SystemException::UnknownException(overloaded(CLIENT_STALLED))
        })
    }

    async fn take(
        self: &Arc<Self>,
        client: ClientKey,
        len: usize,
        wait_max: Duration,
    ) -> Option<Room> {
        let size = SIZE_MIN + len / SIZE_UNIT;
        // The answers of clients do not come over the connection that they would keep from others.
        let answer = match client {
            ClientKey::Address(_) => FIRST_ANSWER,
            ClientKey::Session(_) => 0,
        };
        let mut admitted = {
            let mut window = lock(&self.window);
            if window.take(client, size, answer, self.started.elapsed()) {
                return Some(self.room(client, size));
            }
            if wait_max.is_zero() {
                return None;
            }
            let (due, admitted) = oneshot::channel();
            window.wait(client, size, due);
            admitted
        };
        let end = Instant::now() + wait_max;
        loop {
            let left = end.saturating_duration_since(Instant::now());
            match timeout(left.min(DOUBT_AFTER), &mut admitted).await {
                Ok(room) => return room.ok(),
                Err(_) if left > DOUBT_AFTER => {
                    let due = lock(&self.window).doubt(client, self.started.elapsed());
                    self.admit(due);
                }
                Err(_) => break,
            }
        }
        drop(admitted);
        lock(&self.window).forget(client, oneshot::Sender::is_closed);
        None
    }

    fn room(self: &Arc<Self>, client: ClientKey, size: usize) -> Room {
        Room {
            link: Some(self.clone()),
            client,
            size,
            answer: None,
        }
    }

    /// Gives room back, and admits the requests that wait for it.
    fn release(self: &Arc<Self>, client: ClientKey, size: usize, answer: Option<usize>) {
        let due = lock(&self.window).release(client, size, answer, self.started.elapsed());
        self.admit(due);
    }

    /// Admits these requests, in their order.
    fn admit(self: &Arc<Self>, due: Vec<Due>) {
        let mut due = VecDeque::from(due);
        while let Some((client, size, waiter)) = due.pop_front() {
            if let Err(mut room) = waiter.send(self.room(client, size)) {
                // Its request was given up.
                room.link = None;
                let now = self.started.elapsed();
                due.extend(lock(&self.window).release(client, size, None, now));
            }
        }
    }
}

impl Room {
    /// Notes the answer if there is one. Its length tells how long the next ones are likely to be.
    pub(super) fn answered(&mut self, answer: &Result<Option<Outcome>, InvokeError>) {
        let len = match answer {
            Ok(Some(outcome)) => outgoing::outcome_len(outcome),
            Err(InvokeError::System(exception)) => outgoing::exception_len(exception),
            _ => return,
        };
        self.answer = Some(len / ANSWER_UNIT);
    }
}

impl fmt::Debug for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Origin").field(&self.address).finish()
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        if let Some(link) = self.link.take() {
            link.release(self.client, self.size, self.answer);
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
