//! The public handle of a connection: its description, its close, and calls back over it.

use std::any::Any;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use floe_wire::compression::Compression;
use floe_wire::connection::Liveness;

use super::ConnectionCore;
use crate::dispatch::Current;
use crate::error::LocalError;
use crate::transport::ConnectionInfo;

/// A connection to a peer. Clones refer to the same connection.
///
/// A connection is symmetric: both sides may call over it, whichever side made it. The called side gives the connection
/// an adapter ([`Connection::set_adapter`]); the calling side makes a proxy that is bound to it
/// ([`Connection::proxy`]). A server can thus call its clients back through their firewalls.
///
/// A handle does not keep the connection open: either side may close it.
#[derive(Debug, Clone)]
#[doc(alias = "Ice.Connection")]
pub struct Connection {
    core: Arc<ConnectionCore>,
}

impl Connection {
    pub(crate) fn new(core: Arc<ConnectionCore>) -> Self {
        Self { core }
    }

    pub(crate) fn core(&self) -> &Arc<ConnectionCore> {
        &self.core
    }

    /// Returns the addresses and properties of the connection. They stay the same after its end.
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

    /// Returns true if the connection is encrypted.
    pub(crate) fn is_encrypted(&self) -> bool {
        self.core.output.writer().is_encrypted()
    }

    /// Returns the value that a dispatcher stored with this connection. The first call makes it, and it lives until the
    /// connection is dropped. A connection stores one value. If `T` is not the type of that value, each call makes a
    /// new one and stores nothing.
    pub fn remember<T: Any + Send + Sync>(&self, make: impl FnOnce(&Self) -> T) -> Arc<T> {
        if let Some(remembered) = self.core.remembered.get() {
            let of_type = remembered.clone().downcast();
            return of_type.unwrap_or_else(|_| Arc::new(make(self)));
        }
        let made = Arc::new(make(self));
        // Another request may have stored its value first. Both values are equivalent.
        let _ = self.core.remembered.set(made.clone());
        made
    }

    /// The compression that the peer last asked for in the replies to its requests; `None` if it has asked for none. The
    /// peer takes it in requests, too: see [`TypedProxy::ice_compression`](crate::TypedProxy::ice_compression).
    pub fn asked_compression(&self) -> Option<Compression> {
        self.core.compression().asked()
    }

    /// Returns true while requests may be sent.
    pub fn is_active(&self) -> bool {
        self.core.is_active()
    }

    /// Returns the rules for heartbeats, idle check and inactivity that apply to the connection.
    #[doc(alias = "getACM")]
    pub fn liveness(&self) -> Liveness {
        self.core.keepalive.rules()
    }

    /// Changes these rules from now on.
    #[doc(alias = "setACM")]
    pub fn set_liveness(&self, liveness: Liveness) {
        self.core.set_liveness(liveness);
        if let Some(owner) = self.core.connections() {
            owner.follow(&self.core);
        }
    }

    /// Sets the callback for heartbeats of the peer, which replaces the one before. The task or thread that reads the
    /// connection calls it. The callback must not block, because nothing else is read meanwhile.
    #[doc(alias("setHeartbeatCallback", "HeartbeatCallback"))]
    pub fn on_heartbeat(&self, callback: impl Fn(Connection) + Send + Sync + 'static) {
        self.core.set_heartbeat_listener(Some(Arc::new(callback)));
    }

    /// Sends a heartbeat, which tells the peer only that this side is alive.
    pub fn heartbeat(&self) {
        self.core.send_heartbeat();
    }

    /// Closes the connection gracefully, and waits until it is closed. Both sides first wait for the replies that are
    /// due, at most for the close timeout.
    pub async fn close(&self) {
        self.core.close();
        self.core.closed().await;
    }

    /// Drops the connection. Requests in flight fail, and may have been executed.
    #[doc(alias = "close(Forcefully)")]
    pub fn abort(&self) {
        self.core.fail(LocalError::ClosedHere {
            peer: self.core.peer().to_owned(),
        });
    }

    /// Waits until the connection is closed for any reason.
    #[doc(alias = "setCloseCallback")]
    pub async fn closed(&self) {
        self.core.closed().await;
    }

    /// Runs `callback` in a task of the communicator when the connection is closed; immediately if it is closed
    /// already.
    pub fn on_close(&self, callback: impl FnOnce(Connection) + Send + 'static) {
        let connection = self.clone();
        self.core.tasks.spawn(async move {
            connection.core.closed().await;
            callback(connection);
        });
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
    /// Returns the connection over which the request came. `None` if it came from the same communicator, where calls
    /// skip the wire.
    pub fn connection(&self) -> Option<Connection> {
        let source: Arc<dyn Any + Send + Sync> = self.origin.source()?.clone();
        let core = source.downcast().ok()?;
        Some(Connection::new(core))
    }
}
