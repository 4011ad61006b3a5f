//! Adapters whose objects are called through a router.

use floe_wire::reference::Endpoint;

use super::Adapter;
use crate::communicator::Communicator;
use crate::contracts::ice::RouterProxy;
use crate::error::AdapterError;
use crate::proxy::TypedProxy;

impl Communicator {
    /// Makes an adapter whose objects servers call through a router, such as a Glacier2, over the current connection to
    /// it. The router needs a session first. The adapter is not registered with the router; its proxies contain the
    /// router's server endpoints instead. Give the objects the category that the router assigns to this client
    /// ([`getCategoryForClient`](crate::contracts::glacier2::RouterProxy::get_category_for_client)); the router finds
    /// the client by it.
    ///
    /// When that connection is lost, the session is lost, too: make a new session, and another adapter.
    ///
    /// # Errors
    /// [`AdapterError::Router`] if the router does not answer, or does not forward calls to clients.
    #[doc(alias = "createObjectAdapterWithRouter")]
    pub async fn adapter_with_router(&self, router: &RouterProxy) -> Result<Adapter, AdapterError> {
        let failed = |source| AdapterError::Router {
            router: router.to_string(),
            source,
        };
        let direct = router.ice_router(None);
        let connection = direct.ice_connection().await;
        let connection = connection.map_err(|error| failed(Some(Box::new(error))))?;
        let server = direct.get_server_proxy().await;
        let server = server.map_err(|error| failed(Some(Box::new(error))))?;
        let endpoints = server.map(|server| server.reference().endpoints().to_vec());
        let endpoints = endpoints.filter(|endpoints| !endpoints.is_empty());
        let endpoints = endpoints.ok_or_else(|| failed(None))?;
        let adapter = self.adapter_without_endpoints().await?;
        let texts: Vec<_> = endpoints.iter().map(Endpoint::to_string).collect();
        adapter.publish(&texts.join(":"))?;
        if let Some(connection) = connection {
            connection.set_adapter(Some(&adapter));
        }
        Ok(adapter)
    }
}
