//! Routes: selecting the connection of an invocation.

use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::Ordering;
use std::sync::{Arc, MutexGuard, PoisonError, Weak};

use floe_wire::encoding::ProtocolVersion;
use floe_wire::reference::Endpoint;

use super::Proxy;
use super::options::ProxyOptions;
use crate::communicator::Communicator;
use crate::connection::{Connection, ConnectionCore};
use crate::error::{InvokeError, LocalError};
use crate::settings::EndpointSelection;
use crate::transport;

/// A connection that a proxy uses, with the properties of the endpoint by which it was found: proxies with different
/// endpoint properties share connections.
#[derive(Clone)]
pub(crate) struct RoutedConnection {
    pub(crate) connection: Arc<ConnectionCore>,
    /// True if the endpoint of the proxy has `-z`.
    pub(crate) wants_compression: bool,
}

impl RoutedConnection {
    fn by(endpoint: &Endpoint, connection: Arc<ConnectionCore>) -> Self {
        Self {
            connection,
            wants_compression: endpoint.wants_compression(),
        }
    }

    /// The connection of a fixed proxy, which has no endpoint.
    fn fixed(connection: &Arc<ConnectionCore>) -> Self {
        Self {
            connection: connection.clone(),
            wants_compression: false,
        }
    }
}

/// A [`RoutedConnection`] without ownership: the pool owns the connection.
#[derive(Clone, Default)]
pub(crate) struct CachedConnection {
    connection: Weak<ConnectionCore>,
    wants_compression: bool,
}

impl CachedConnection {
    fn of(routed: &RoutedConnection) -> Self {
        Self {
            connection: Arc::downgrade(&routed.connection),
            wants_compression: routed.wants_compression,
        }
    }

    fn upgrade(&self) -> Option<RoutedConnection> {
        Some(RoutedConnection {
            connection: self.connection.upgrade()?,
            wants_compression: self.wants_compression,
        })
    }
}

impl Proxy {
    /// Returns true if the next invocation has a connection ready.
    pub fn is_connected(&self) -> bool {
        self.cached().is_some()
    }

    /// The connection that is ready for the next invocation.
    pub(crate) fn cached_connection(&self) -> Option<Arc<ConnectionCore>> {
        self.cached().map(|routed| routed.connection)
    }

    /// The connection that is ready for the next invocation, with its endpoint's properties.
    pub(crate) fn cached(&self) -> Option<RoutedConnection> {
        let cached = match &self.inner.options.fixed {
            Some(fixed) => self.may_use(fixed).then(|| RoutedConnection::fixed(fixed)),
            None => self.lock_cached().upgrade(),
        };
        cached.filter(|routed| routed.connection.is_active())
    }

    /// Returns true if the next invocation uses this connection.
    pub(crate) fn uses(&self, connection: &Arc<ConnectionCore>) -> bool {
        self.cached_connection()
            .is_some_and(|cached| Arc::ptr_eq(&cached, connection))
    }

    /// Checks whether any endpoint of the proxy can be used in its mode, without connecting. If the proxy has a router,
    /// the endpoints are not used, and an invocation checks the router's connection.
    ///
    /// # Errors
    /// [`InvokeError::NotDispatched`] with the kind of endpoint that was expected.
    pub fn check_endpoints(&self) -> Result<(), InvokeError> {
        if self.router().is_some() {
            return Ok(());
        }
        let usable = match self.is_located() {
            true => self.check_locator(),
            false => self.usable_of(self.reference().endpoints()).map(drop),
        };
        usable.map_err(InvokeError::NotDispatched)
    }

    /// Returns the last connection, or an open one to any of the endpoints, or a new one to the first that answers.
    /// Without connection caching, each call tries another endpoint first.
    pub(crate) async fn connection(&self) -> Result<RoutedConnection, LocalError> {
        if let Some(fixed) = &self.inner.options.fixed {
            if !self.may_use(fixed) {
                return Err(self.no_endpoint(ENCRYPTED_FIXED));
            }
            return self.cached().ok_or_else(|| fixed.refusal());
        }
        if let Some(router) = self.router() {
            return Box::pin(self.routed_connection(router)).await;
        }
        if self.inner.options.is_connection_cached
            && let Some(routed) = self.cached()
        {
            return Ok(routed);
        }
        // Boxed, because it is large and seldom needed, and each invocation would have to move it.
        let routed = Box::pin(self.new_connection()).await?;
        *self.lock_cached() = CachedConnection::of(&routed);
        // An object found by a locator may have moved once its connection is lost, so each call must check.
        let is_remote = !self.is_located();
        self.inner.is_remote.store(is_remote, Ordering::Relaxed);
        Ok(routed)
    }

    /// Returns false if the proxy demands encryption and the connection has none. A connection that was selected by its
    /// endpoint needs no such check.
    pub(super) fn may_use(&self, connection: &Arc<ConnectionCore>) -> bool {
        !self.reference().secure || Connection::new(connection.clone()).is_encrypted()
    }

    /// Makes the next invocation select a connection anew, and ask the locator again.
    pub(crate) fn forget_route(&self) {
        self.forget_location();
        *self.lock_cached() = CachedConnection::default();
    }

    /// Why the proxy is unusable.
    pub(crate) fn no_endpoint(&self, wanted: &'static str) -> LocalError {
        LocalError::NoEndpoint {
            proxy: self.to_string(),
            wanted,
        }
    }

    async fn new_connection(&self) -> Result<RoutedConnection, LocalError> {
        let communicator = self.communicator().ok_or(LocalError::Unbound)?;
        if communicator.core().is_shut_down() {
            return Err(LocalError::Shutdown);
        }
        if !self.is_located() {
            let endpoints = self.reference().endpoints();
            return self.connect_to_any(endpoints, communicator).await;
        }
        let located = self.locate(communicator).await?;
        let connected = self.connect_to_any(&located.endpoints, communicator).await;
        if connected.is_ok() || !located.is_cached {
            return connected;
        }
        // The object may have moved since.
        self.forget_location();
        let located = self.locate(communicator).await?;
        self.connect_to_any(&located.endpoints, communicator).await
    }

    async fn connect_to_any(
        &self,
        endpoints: &[Endpoint],
        communicator: &Communicator,
    ) -> Result<RoutedConnection, LocalError> {
        let endpoints = self.usable_of(endpoints)?;
        let connections = communicator.core().connections();
        let id = &self.inner.options.connection_id;
        if self.inner.options.is_connection_cached
            && let Some(routed) = endpoints.iter().find_map(|endpoint| {
                let connection = connections.existing(endpoint, id)?;
                self.check_given(endpoint, &connection).ok()?;
                Some(RoutedConnection::by(endpoint, connection))
            })
        {
            return Ok(routed);
        }
        let mut last = self.no_endpoint("an endpoint");
        for endpoint in endpoints {
            let connected = connections.to(endpoint, id).await;
            let judged = connected.and_then(|connection| {
                self.check_given(endpoint, &connection)?;
                Ok(connection)
            });
            match judged {
                Ok(connection) => return Ok(RoutedConnection::by(endpoint, connection)),
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    /// The endpoints that fit the invocation mode, in the order in which to try them.
    fn usable_of<'a>(&self, endpoints: &'a [Endpoint]) -> Result<Vec<&'a Endpoint>, LocalError> {
        let reference = self.reference();
        if reference.protocol.major != ProtocolVersion::V1_0.major
            || reference.encoding.for_sending().is_none()
        {
            return Err(self.no_endpoint("protocol 1.0 and encoding 1.0 or 1.1"));
        }
        let wants_datagrams = reference.mode.is_datagram();
        let is_usable = |endpoint: &&Endpoint| {
            endpoint.is_datagram() == wants_datagrams
                && (endpoint.is_secure() || !reference.secure)
                && transport::can_connect(endpoint)
        };
        let mut endpoints: Vec<_> = endpoints.iter().filter(is_usable).collect();
        if endpoints.is_empty() {
            return Err(self.no_endpoint(match wants_datagrams {
                true if reference.secure => "no `-s`, because datagrams are not encrypted",
                true => "a udp endpoint, for datagrams",
                false if reference.secure => transport::SECURE_ENDPOINTS,
                false => transport::ENDPOINTS,
            }));
        }
        let ProxyOptions {
            selection,
            prefer_secure,
            ..
        } = self.inner.options;
        if selection == EndpointSelection::Random {
            shuffle(&mut endpoints);
            endpoints.sort_by_key(|endpoint| !matches!(endpoint, Endpoint::Unix(_)));
        }
        endpoints.sort_by_key(|endpoint| endpoint.is_secure() != prefer_secure);
        Ok(endpoints)
    }

    pub(super) fn lock_cached(&self) -> MutexGuard<'_, CachedConnection> {
        self.inner
            .cached
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

/// The connection that a fixed proxy with `-s` needs.
const ENCRYPTED_FIXED: &str = "an encrypted connection to be bound to, because it says `-s`: make the connection over ssl or wss";

/// Shuffles the endpoints.
fn shuffle(endpoints: &mut [&Endpoint]) {
    for last in (1..endpoints.len()).rev() {
        // Each `RandomState` has new keys, so the hash of nothing is random enough to spread load.
        let random = RandomState::new().hash_one(());
        endpoints.swap(last, (random % (last as u64 + 1)) as usize);
    }
}
