//! Outgoing connections, shared by all proxies with the same endpoint, be it with `-z` or without.

use std::borrow::Cow;
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
    /// By endpoint, [`without_compression`]; in each, by connection id, of which there is nearly always one.
    slots: Mutex<Slots>,
}

/// The connection to one endpoint.
enum Slot {
    Connected(Arc<ConnectionCore>),
    /// A task is about to connect; all who come meanwhile share its result.
    Connecting(watch::Receiver<Option<Connected>>),
}

type Connected = Result<Arc<ConnectionCore>, LocalError>;

impl Connections {
    /// The connection to an endpoint: the one that is there, or a new one. Dropping the future does
    /// not stop the connecting, which others may wait for.
    pub(crate) async fn to(self: &Arc<Self>, endpoint: &Endpoint, id: &Arc<str>) -> Connected {
        let endpoint = without_compression(endpoint);
        for _ in 0..ABANDONED_MAX {
            let mut connecting = match self.begin(&endpoint, id) {
                Slot::Connected(connection) => return Ok(connection),
                Slot::Connecting(connecting) => connecting,
            };
            let connected = connecting.wait_for(Option::is_some).await;
            if let Some(connected) = connected.ok().and_then(|connected| connected.clone()) {
                return connected;
            }
            // The task was another runtime's, which has ended, and its work with it.
        }
        Err(LocalError::Shutdown)
    }

    /// The connection that is there, or what a task makes.
    fn begin(self: &Arc<Self>, endpoint: &Endpoint, id: &Arc<str>) -> Slot {
        let mut slots = self.pool().lock();
        match find(&slots, endpoint, id) {
            Some(Slot::Connected(connection)) if connection.is_active() => {
                return Slot::Connected(connection.clone());
            }
            Some(Slot::Connecting(connecting)) if !is_abandoned(connecting) => {
                return Slot::Connecting(connecting.clone());
            }
            _ => {}
        }
        let (sender, receiver) = watch::channel(None);
        let slot = Slot::Connecting(receiver.clone());
        put(&mut slots, endpoint, id, Some(slot));
        let all = Arc::downgrade(self);
        let connecting = connect_for_all(endpoint.clone(), id.clone(), all, sender);
        self.environment().tasks().spawn(connecting);
        Slot::Connecting(receiver)
    }

    /// The connection to an endpoint, if there is one.
    pub(crate) fn existing(&self, endpoint: &Endpoint, id: &str) -> Option<Arc<ConnectionCore>> {
        let endpoint = without_compression(endpoint);
        match find(&self.pool().lock(), &endpoint, id) {
            Some(Slot::Connected(connection)) if connection.is_active() => Some(connection.clone()),
            _ => None,
        }
    }
}

impl Pool {
    /// Lets go of a connection that ended.
    pub(super) fn forget(&self, endpoint: &Endpoint, ended: &ConnectionCore) {
        let mut slots = self.lock();
        let is_ended =
            |slot: &Slot| matches!(slot, Slot::Connected(held) if std::ptr::eq(&**held, ended));
        let held = slots.get(endpoint).into_iter().flatten();
        let id = held
            .filter(|(_, slot)| is_ended(slot))
            .map(|(id, _)| id.clone())
            .next();
        if let Some(id) = id {
            put(&mut slots, endpoint, &id, None);
        }
    }

    fn settle(&self, endpoint: &Endpoint, id: &Arc<str>, connected: &Connected) {
        let slot = match connected {
            // It may have ended already: then nobody would take it out again.
            Ok(connection) if connection.is_active() => Some(Slot::Connected(connection.clone())),
            _ => None,
        };
        put(&mut self.lock(), endpoint, id, slot);
    }

    fn lock(&self) -> MutexGuard<'_, Slots> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How often a caller begins anew when whoever connected for it is gone.
const ABANDONED_MAX: usize = 3;

/// Whether nobody connects any more.
fn is_abandoned(connecting: &watch::Receiver<Option<Connected>>) -> bool {
    connecting.has_changed().is_err() && connecting.borrow().is_none()
}

type Slots = HashMap<Endpoint, Vec<(Arc<str>, Slot)>>;

fn find<'a>(slots: &'a Slots, endpoint: &Endpoint, id: &str) -> Option<&'a Slot> {
    let of_endpoint = slots.get(endpoint)?;
    let found = of_endpoint.iter().find(|(known, _)| **known == *id);
    found.map(|(_, slot)| slot)
}

/// Replaces the slot of an endpoint and id, or takes it out.
fn put(slots: &mut Slots, endpoint: &Endpoint, id: &Arc<str>, slot: Option<Slot>) {
    let of_endpoint = slots.entry(endpoint.clone()).or_default();
    of_endpoint.retain(|(known, _)| known != id);
    of_endpoint.extend(slot.map(|slot| (id.clone(), slot)));
    if of_endpoint.is_empty() {
        slots.remove(endpoint);
    }
}

/// The endpoint of a connection: any message may be compressed or not, as the proxy that sends it wants.
///
/// Source: observed: Ice 3.7.8.
fn without_compression(endpoint: &Endpoint) -> Cow<'_, Endpoint> {
    if !endpoint.wants_compression() {
        return Cow::Borrowed(endpoint);
    }
    let mut plain = endpoint.clone();
    match &mut plain {
        Endpoint::Tcp(tcp) | Endpoint::Ssl(tcp) => tcp.compress = false,
        Endpoint::Ws(ws) | Endpoint::Wss(ws) => ws.tcp.compress = false,
        Endpoint::Udp(udp) => udp.compress = false,
        Endpoint::Unix(unix) => unix.compress = false,
        _ => {}
    }
    Cow::Owned(plain)
}

/// Connects, and tells all who wait.
async fn connect_for_all(
    endpoint: Endpoint,
    id: Arc<str>,
    all: Weak<Connections>,
    sender: watch::Sender<Option<Connected>>,
) {
    let Some(settings) = all
        .upgrade()
        .map(|all| all.environment().settings().clone())
    else {
        return;
    };
    let connected = connect(&endpoint, &all, &settings).await;
    if let Some(all) = all.upgrade() {
        all.pool().settle(&endpoint, &id, &connected);
    }
    sender.send_replace(Some(connected));
}

async fn connect(endpoint: &Endpoint, all: &Weak<Connections>, settings: &Settings) -> Connected {
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
    let purpose = Purpose::Outgoing(endpoint.clone());
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

/// The shorter of the endpoint's timeout and ours.
fn time_limit(endpoint: &Endpoint, ours: Duration) -> Duration {
    let theirs = endpoint.timeout().and_then(|timeout| timeout.as_ms());
    theirs.map_or(ours, |ms| ours.min(Duration::from_millis(ms.into())))
}
