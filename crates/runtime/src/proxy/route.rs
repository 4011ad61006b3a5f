//! Which connection an invocation takes.

use std::sync::{Arc, MutexGuard, PoisonError, Weak};

use floe_wire::encoding::ProtocolVersion;
use floe_wire::reference::Endpoint;

use super::Proxy;
use crate::connection::Connection;
use crate::error::LocalError;
use crate::transport;

impl Proxy {
    /// Whether the next invocation will find a connection.
    pub fn is_connected(&self) -> bool {
        let cached = self.lock_connection().upgrade();
        cached.is_some_and(|connection| connection.is_active())
    }

    /// The connection used last, or one that is open to any of the endpoints, or a new one to the
    /// first that answers.
    pub(super) async fn connection(&self) -> Result<Arc<Connection>, LocalError> {
        let cached = self.lock_connection().upgrade();
        if let Some(connection) = cached
            && connection.is_active()
        {
            return Ok(connection);
        }
        let connection = self.new_connection().await?;
        *self.lock_connection() = Arc::downgrade(&connection);
        Ok(connection)
    }

    /// Lets another proxy to the same place begin with this one's connection.
    pub(super) fn share_connection(&self, other: &Self) {
        let connection = self.lock_connection().clone();
        *other.lock_connection() = connection;
    }

    /// Why the proxy cannot be used.
    pub(super) fn no_endpoint(&self, wanted: &'static str) -> LocalError {
        LocalError::NoEndpoint {
            proxy: self.to_string(),
            wanted,
        }
    }

    async fn new_connection(&self) -> Result<Arc<Connection>, LocalError> {
        let communicator = self.communicator().ok_or(LocalError::Unbound)?;
        if communicator.core().is_shut_down() {
            return Err(LocalError::Shutdown);
        }
        let endpoints = self.usable_endpoints()?;
        let pool = communicator.core().pool();
        if let Some(connection) = endpoints
            .iter()
            .find_map(|endpoint| pool.existing(endpoint))
        {
            return Ok(connection);
        }
        let mut last = self.no_endpoint("a tcp endpoint");
        for endpoint in endpoints {
            match pool.connection(endpoint, communicator).await {
                Ok(connection) => return Ok(connection),
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    fn usable_endpoints(&self) -> Result<Vec<&Endpoint>, LocalError> {
        let reference = self.reference();
        if reference.protocol.major != ProtocolVersion::V1_0.major
            || reference.encoding.for_sending().is_none()
        {
            return Err(self.no_endpoint("protocol 1.0 and encoding 1.0 or 1.1"));
        }
        if reference.secure {
            return Err(self.no_endpoint("no `-s` (ssl is not yet supported)"));
        }
        let can_connect = |endpoint: &&Endpoint| transport::can_connect(endpoint);
        let endpoints: Vec<_> = reference.endpoints().iter().filter(can_connect).collect();
        match (endpoints.is_empty(), reference.endpoints().is_empty()) {
            (false, _) => Ok(endpoints),
            (true, false) => {
                Err(self.no_endpoint("a tcp endpoint, or a unix endpoint of this host"))
            }
            (true, true) => {
                Err(self.no_endpoint("a tcp endpoint (locators are not yet supported)"))
            }
        }
    }

    fn lock_connection(&self) -> MutexGuard<'_, Weak<Connection>> {
        self.inner
            .connection
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}
