//! What users see of a connection: what is known of it, its close, and calls back over it.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::net::SocketAddr;
use std::sync::Arc;

use bytes::Bytes;
use floe_wire::reference::{Identity, Reference, Target};

use super::Connection as Core;
use crate::adapter::Adapter;
use crate::communicator::Communicator;
use crate::error::InvokeError;
use crate::liveness::Liveness;
use crate::proxy::Proxy;

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
    core: Arc<Core>,
}

/// What is known of a connection. Fields that its transport has no word for are empty.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
#[doc(alias = "Ice.ConnectionInfo")]
pub struct ConnectionInfo {
    /// Its transport, as endpoints name it: `tcp`.
    pub transport: &'static str,
    /// Whether the peer made it.
    pub is_incoming: bool,
    /// The peer, for people: `127.0.0.1:4061`.
    pub peer: String,
    /// The address of this side.
    pub local_address: Option<SocketAddr>,
    /// The address of the peer.
    pub remote_address: Option<SocketAddr>,
    /// The cipher suite, if the connection is encrypted.
    pub cipher: Option<String>,
    /// The certificates of the peer in DER, its own first.
    pub peer_certificates: Vec<Bytes>,
}

impl Connection {
    pub(crate) fn new(core: Arc<Core>) -> Self {
        Self { core }
    }

    pub(crate) fn core(&self) -> &Arc<Core> {
        &self.core
    }

    /// What is known of it.
    #[doc(alias = "getInfo")]
    pub fn info(&self) -> ConnectionInfo {
        let mut info = ConnectionInfo {
            is_incoming: self.core.endpoint.is_none(),
            peer: self.core.peer.clone(),
            ..ConnectionInfo::default()
        };
        self.core.writer.describe(&mut info);
        info
    }

    /// Whether requests may be sent.
    pub fn is_active(&self) -> bool {
        self.core.is_active()
    }

    /// The adapter whose servants answer the peer's requests.
    #[doc(alias = "getAdapter")]
    pub fn adapter(&self) -> Option<Adapter> {
        let core = self.core.adapter()?;
        let communicator = core.communicator()?;
        Some(Adapter::from_core(core, communicator))
    }

    /// Lets an adapter answer the requests that the peer sends from now on; with `None`, each
    /// object does not exist. An adapter without endpoints
    /// ([`Communicator::adapter_without_endpoints`]) will do, and need not be activated.
    #[doc(alias = "setAdapter")]
    pub fn set_adapter(&self, adapter: Option<&Adapter>) {
        self.core.set_adapter(adapter.map(Adapter::core));
    }

    /// A proxy to an object of the peer, bound to this connection: it calls over this one and no
    /// other, its invocations are never retried, and it cannot be sent to anybody.
    #[doc(alias = "createProxy", alias = "ice_fixed")]
    pub fn proxy(&self, identity: Identity) -> Proxy {
        let communicator = self.core.owner.upgrade().map(Communicator::from_core);
        let reference = Reference::new(identity, Target::Direct(Vec::new()));
        Proxy::new(reference, communicator).with_connection(self.core.clone())
    }

    /// Sends the requests that batch proxies have collected and that would use this connection.
    ///
    /// # Errors
    /// The first failure; the other batches are sent nevertheless.
    #[doc(alias = "flushBatchRequests")]
    pub async fn flush_batches(&self) -> Result<(), InvokeError> {
        let Some(core) = self.core.owner.upgrade() else {
            return Ok(());
        };
        core.batches().flush(Some(&self.core)).await
    }

    /// The rules of heartbeats, idle check and inactivity that hold for it.
    #[doc(alias = "getACM")]
    pub fn liveness(&self) -> Liveness {
        self.core.liveness()
    }

    /// Makes other rules hold from now on.
    #[doc(alias = "setACM")]
    pub fn set_liveness(&self, liveness: Liveness) {
        self.core.set_liveness(liveness);
        if let Some(owner) = self.core.owner.upgrade() {
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
        self.core.fail(crate::error::LocalError::ClosedHere {
            peer: self.core.peer.clone(),
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
        self.core.tasks.spawn(async move {
            connection.core.closed().await;
            callback(connection);
        });
    }
}

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connection")
            .field("peer", &self.core.peer)
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
