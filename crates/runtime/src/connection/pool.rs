//! The pool of outgoing connections. Proxies with the same endpoint share a connection, with `-z` or without.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use floe_wire::reference::Endpoint;
use tokio::sync::watch;
use tokio::time::timeout_at;

use super::{ConnectionCore, Connections, Purpose};
use crate::deadline;
use crate::error::LocalError;
use crate::settings::Settings;
use crate::transport;

/// The outgoing connections of a communicator.
#[derive(Default)]
pub(crate) struct Pool {
    slots: Mutex<HashMap<PoolKey, PoolSlot>>,
}

/// The identity of a pooled connection: its endpoint [`without_compression`], and its connection id.
pub(crate) type PoolKey = (Endpoint, Arc<str>);

/// A connection to one endpoint.
enum PoolSlot {
    Connected(Arc<ConnectionCore>),
    /// A task is connecting. All callers that come meanwhile share its result.
    Connecting(watch::Receiver<Option<Connected>>),
}

type Connected = Result<Arc<ConnectionCore>, LocalError>;

impl Connections {
    /// Returns the pooled connection to an endpoint, or makes a new one. If the future is dropped, the connecting goes
    /// on, because other callers may wait for it.
    pub(crate) async fn to(self: &Arc<Self>, endpoint: &Endpoint, id: &Arc<str>) -> Connected {
        let key = (without_compression(endpoint), id.clone());
        for _ in 0..ABANDONED_MAX {
            let mut connecting = match self.begin(&key) {
                PoolSlot::Connected(connection) => return Ok(connection),
                PoolSlot::Connecting(connecting) => connecting,
            };
            let connected = connecting.wait_for(Option::is_some).await;
            if let Some(connected) = connected.ok().and_then(|connected| connected.clone()) {
                return connected;
            }
            // The task belonged to another runtime, and ended with it.
        }
        Err(LocalError::Shutdown)
    }

    /// Returns the pooled connection, or starts a task that connects.
    fn begin(self: &Arc<Self>, key: &PoolKey) -> PoolSlot {
        let mut slots = self.pool().lock();
        let slot = slots.get(key);
        if let Some(connection) = slot.and_then(PoolSlot::active) {
            return PoolSlot::Connected(connection.clone());
        }
        if let Some(PoolSlot::Connecting(connecting)) = slot
            && !is_abandoned(connecting)
        {
            return PoolSlot::Connecting(connecting.clone());
        }
        let (sender, receiver) = watch::channel(None);
        slots.insert(key.clone(), PoolSlot::Connecting(receiver.clone()));
        let connecting = connect_for_all(key.clone(), Arc::downgrade(self), sender);
        self.environment().tasks().spawn(connecting);
        PoolSlot::Connecting(receiver)
    }

    /// Returns the pooled connection to an endpoint, if there is one.
    pub(crate) fn existing(
        &self,
        endpoint: &Endpoint,
        id: &Arc<str>,
    ) -> Option<Arc<ConnectionCore>> {
        let key = (without_compression(endpoint), id.clone());
        self.pool().lock().get(&key)?.active().cloned()
    }
}

impl PoolSlot {
    /// Returns the connection, if requests may be sent over it.
    fn active(&self) -> Option<&Arc<ConnectionCore>> {
        match self {
            Self::Connected(connection) if connection.is_active() => Some(connection),
            _ => None,
        }
    }
}

impl Pool {
    /// Removes a connection that has ended.
    pub(super) fn forget(&self, key: &PoolKey, ended: &ConnectionCore) {
        let mut slots = self.lock();
        let held = slots.get(key);
        if matches!(held, Some(PoolSlot::Connected(held)) if std::ptr::eq(&**held, ended)) {
            slots.remove(key);
        }
    }

    fn finish(&self, key: PoolKey, connected: &Connected) {
        let mut slots = self.lock();
        match connected {
            // A connection that has ended already would never be removed again.
            Ok(connection) if connection.is_active() => {
                slots.insert(key, PoolSlot::Connected(connection.clone()));
            }
            _ => {
                slots.remove(&key);
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<PoolKey, PoolSlot>> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How many times a caller starts again after the task that connected for it was dropped.
const ABANDONED_MAX: usize = 3;

/// Returns true if the connecting task was dropped.
fn is_abandoned(connecting: &watch::Receiver<Option<Connected>>) -> bool {
    connecting.has_changed().is_err() && connecting.borrow().is_none()
}

/// Returns the endpoint that identifies a connection. Compression is left out: over any connection, each proxy chooses
/// for itself whether its messages are compressed.
///
/// Source: observed: Ice 3.7.8.
fn without_compression(endpoint: &Endpoint) -> Endpoint {
    let mut plain = endpoint.clone();
    match &mut plain {
        Endpoint::Tcp(tcp) | Endpoint::Ssl(tcp) => tcp.compress = false,
        Endpoint::Ws(ws) | Endpoint::Wss(ws) => ws.tcp.compress = false,
        Endpoint::Udp(udp) => udp.compress = false,
        Endpoint::Unix(unix) => unix.compress = false,
        _ => {}
    }
    plain
}

/// Connects, and passes the result to all waiting callers.
async fn connect_for_all(
    key: PoolKey,
    all: Weak<Connections>,
    sender: watch::Sender<Option<Connected>>,
) {
    let Some(settings) = all
        .upgrade()
        .map(|all| all.environment().settings().clone())
    else {
        return;
    };
    let connected = connect(&key, &all, &settings).await;
    if let Some(all) = all.upgrade() {
        all.pool().finish(key, &connected);
    }
    sender.send_replace(Some(connected));
}

async fn connect(key: &PoolKey, all: &Weak<Connections>, settings: &Settings) -> Connected {
    let (endpoint, _) = key;
    let limit = time_limit(endpoint, settings.connect_timeout);
    let setup = settings.transport_setup();
    let deadline = deadline::after(limit);
    let timed_out = || LocalError::ConnectTimeout {
        endpoint: endpoint.to_string(),
        after: limit,
    };
    let stream = match timeout_at(deadline, transport::connect(endpoint, &setup, deadline)).await {
        Ok(stream) => stream.map_err(|error| LocalError::Connect {
            endpoint: endpoint.to_string(),
            source: Arc::new(error),
        })?,
        Err(_) => return Err(timed_out()),
    };
    let Some(all) = all.upgrade() else {
        return Err(LocalError::Shutdown);
    };
    let purpose = Purpose::outgoing(key.clone(), all.environment().settings().clone());
    let connection = ConnectionCore::start(stream, purpose, &all);
    match timeout_at(deadline, connection.validated()).await {
        Ok(Ok(())) => Ok(connection),
        Ok(Err(error)) => Err(error),
        Err(_) => {
            connection.abort("it was not validated in time".to_owned());
            Err(timed_out())
        }
    }
}

/// Returns the shorter of the endpoint's timeout and ours.
fn time_limit(endpoint: &Endpoint, ours: Duration) -> Duration {
    let theirs = endpoint.timeout().and_then(|timeout| timeout.as_ms());
    theirs.map_or(ours, |ms| ours.min(Duration::from_millis(ms.into())))
}
