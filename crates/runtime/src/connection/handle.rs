//! What users see of a connection: what is known of it, its close, and calls back over it.

use std::any::Any;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use super::{ConnectionCore, Connections};
use crate::dispatch::Current;
use crate::error::LocalError;
use crate::liveness::Liveness;
use crate::transport::ConnectionInfo;

/// A connection to a peer; a clone is the same connection.
///
/// It is symmetric: whichever side made it, both may call over it. The side that is called gives it
/// an adapter ([`Connection::set_adapter`]), the side that calls makes a proxy that is bound to it
/// ([`Connection::proxy`]). So a server calls its clients back through their firewalls.
///
/// Holding this keeps no connection open: either side may close it.
#[derive(Clone)]
#[doc(alias = "Ice.Connection")]
pub struct Connection {
    core: Arc<ConnectionCore>,
}

impl Connection {
    pub(crate) fn new(core: Arc<ConnectionCore>) -> Self {
        Self { core }
    }

    /// All connections of its communicator, unless that is gone.
    pub(crate) fn connections(&self) -> Option<Arc<Connections>> {
        self.core.connections()
    }

    pub(crate) fn core(&self) -> &Arc<ConnectionCore> {
        &self.core
    }

    /// What is known of it.
    #[doc(alias = "getInfo")]
    pub fn info(&self) -> ConnectionInfo {
        let mut info = ConnectionInfo {
            is_incoming: self.core.endpoint().is_none(),
            peer: self.core.peer().to_owned(),
            ..ConnectionInfo::default()
        };
        self.core.output.writer().describe(&mut info);
        info
    }

    /// What a dispatcher remembers of this connection: made when it is asked for first, and kept until the connection is
    /// dropped. A connection remembers one value; asked for one of another type, it makes that each time.
    pub fn remember<T: Any + Send + Sync>(&self, make: impl FnOnce(&Self) -> T) -> Arc<T> {
        if let Some(remembered) = self.core.remembered.get() {
            let of_type = remembered.clone().downcast();
            return of_type.unwrap_or_else(|_| Arc::new(make(self)));
        }
        let made = Arc::new(make(self));
        // Another request may have been faster; both values say the same.
        let _ = self.core.remembered.set(made.clone());
        made
    }

    /// Whether requests may be sent.
    pub fn is_active(&self) -> bool {
        self.core.is_active()
    }

    /// The rules of heartbeats, idle check and inactivity that hold for it.
    #[doc(alias = "getACM")]
    pub fn liveness(&self) -> Liveness {
        self.core.keepalive.rules()
    }

    /// Makes other rules hold from now on.
    #[doc(alias = "setACM")]
    pub fn set_liveness(&self, liveness: Liveness) {
        self.core.keepalive.set_rules(liveness);
        if let Some(owner) = self.core.connections() {
            owner.follow(&self.core);
        }
    }

    /// Calls `callback` whenever the peer sends a heartbeat, in the place of the callback before it.
    /// It is called where the heartbeat was read, and must not block: nothing else is read
    /// meanwhile.
    #[doc(alias("setHeartbeatCallback", "HeartbeatCallback"))]
    pub fn on_heartbeat(&self, callback: impl Fn(Connection) + Send + Sync + 'static) {
        self.core.set_heartbeat_listener(Some(Arc::new(callback)));
    }

    /// Sends a heartbeat: a message that means nothing but that this side is alive.
    pub fn heartbeat(&self) {
        self.core.send_heartbeat();
    }

    /// Closes it gracefully, and waits until it is closed: replies that are due are waited for, on
    /// both sides, at most for the close timeout.
    pub async fn close(&self) {
        self.core.close();
        self.core.closed().await;
    }

    /// Drops it. Requests in flight fail, and may have been executed.
    #[doc(alias = "close(Forcefully)")]
    pub fn abort(&self) {
        self.core.fail(LocalError::ClosedHere {
            peer: self.core.peer().to_owned(),
        });
    }

    /// Waits until it is closed, however that comes about.
    #[doc(alias = "setCloseCallback")]
    pub async fn closed(&self) {
        self.core.closed().await;
    }

    /// Runs `callback` in a task of the communicator when the connection is closed; at once if it
    /// is closed already.
    pub fn on_close(&self, callback: impl FnOnce(Connection) + Send + 'static) {
        let connection = self.clone();
        self.core.tasks().spawn(async move {
            connection.core.closed().await;
            callback(connection);
        });
    }
}

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connection")
            .field("peer", &self.core.peer())
            .field("is_active", &self.is_active())
            .finish_non_exhaustive()
    }
}

impl PartialEq for Connection {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.core, &other.core)
    }
}

impl Eq for Connection {}

impl Hash for Connection {
    fn hash<H: Hasher>(&self, state: &mut H) {
        Arc::as_ptr(&self.core).hash(state);
    }
}

impl Current {
    /// The connection over which the request came; `None` if it came from the same communicator,
    /// which skips the wire.
    pub fn connection(&self) -> Option<Connection> {
        let source: Arc<dyn Any + Send + Sync> = self.origin.source()?.clone();
        let core = source.downcast().ok()?;
        Some(Connection::new(core))
    }
}
