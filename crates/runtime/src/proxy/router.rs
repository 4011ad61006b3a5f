//! Proxies whose requests go through a router, such as a Glacier2.
//!
//! A routed request goes over the router's connection, with the identity of its object. The object must be registered
//! with the router before. A router that has forgotten an object says so.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use floe_wire::encoding::Encoder;
use floe_wire::message::{IncomingReply, OperationMode, Outcome, SystemException};
use floe_wire::reference::{InvocationMode, Reference};

use super::route::RoutedConnection;
use super::{OperationInfo, Proxy};
use crate::communicator::Communicator;
use crate::error::{InvokeError, LocalError};
use crate::router::{ClientSide, Router};

/// Boxed, because asking a router makes a connection, which recurses into this future.
pub(super) type Routing<'a> =
    Pin<Box<dyn Future<Output = Result<RoutedConnection, LocalError>> + Send + 'a>>;

/// The operation in the exception of a router that does not know an object.
const ADD_PROXY: &str = "ice_add_proxy";

/// Asks for the endpoints of routed requests. The contract is `contracts/Ice/Router.ice`; its generated code is in a
/// layer above this module.
const GET_CLIENT_PROXY: OperationInfo =
    OperationInfo::new("getClientProxy", OperationMode::Nonmutating, true);
/// Tag of the second result of `getClientProxy`.
const HAS_ROUTING_TABLE: u32 = 1;
/// Registers objects with the router.
const ADD_PROXIES: OperationInfo =
    OperationInfo::new("addProxies", OperationMode::Idempotent, true);

/// The connection that a routed proxy with `-s` needs.
const ENCRYPTED_ROUTER: &str = "an encrypted connection to its router, because it says `-s`: give the router's proxy an ssl or wss endpoint";

/// How often a request is repeated because the router has forgotten its object. A far too small table may evict the
/// object each time.
pub(crate) const ADDITIONS_MAX: usize = 20;

/// Returns true if the error says that the router does not know the object.
pub(crate) fn wants_object(reply: &IncomingReply) -> bool {
    reply.is_of_missing_object()
        && matches!(
            reply.outcome(),
            Ok(Outcome::System(SystemException::ObjectNotExist(target)))
                if target.operation == ADD_PROXY
        )
}

impl Proxy {
    /// Returns a copy of the proxy with another router; `None` for no router.
    pub(super) fn with_router(&self, router: Option<&Self>) -> Self {
        let router = self
            .communicator()
            .zip(router)
            .map(|(communicator, router)| {
                let routers = communicator.core().routers();
                routers.of(router.reference(), &router.inner.options.connection_id)
            });
        self.with_options(|options| options.router = router)
    }

    /// The router of the proxy's requests. The router's own object is not routed, and neither is a proxy that is bound
    /// to a connection.
    pub(crate) fn router(&self) -> Option<&Arc<Router>> {
        let options = &self.inner.options;
        let router = options.router.as_ref()?;
        let is_router = self.reference().identity == router.reference.identity;
        (options.fixed.is_none() && !is_router).then_some(router)
    }

    /// Returns the router's connection, after the object is registered with the router.
    pub(super) fn routed_connection<'a>(&'a self, router: &'a Router) -> Routing<'a> {
        Box::pin(async move {
            let communicator = self.communicator().ok_or(LocalError::Unbound)?;
            let own = router.direct(router.reference.clone(), communicator);
            let routed = own.connection().await?;
            let bound = own.with_connection(routed.connection.clone());
            let side = match router.client_side(&routed.connection) {
                Some(side) => side,
                None => self.ask_client_side(router, &bound, &routed).await?,
            };
            let client = match (side.proxy, self.reference().mode.is_datagram()) {
                (client, true) => {
                    let datagrams = client.unwrap_or_else(|| router.reference.clone());
                    router
                        .connect_to(datagrams, InvocationMode::Datagram, communicator)
                        .await?
                }
                (Some(client), false) => {
                    router
                        .connect_to(client, InvocationMode::Twoway, communicator)
                        .await?
                }
                (None, false) => routed.clone(),
            };
            // Check before the router learns of the object.
            if !self.may_use(&client.connection) {
                return Err(self.no_endpoint(ENCRYPTED_ROUTER));
            }
            if side.has_routing_table {
                self.add_to(router, &bound, &routed).await?;
            }
            Ok(client)
        })
    }

    async fn ask_client_side(
        &self,
        router: &Router,
        bound: &Self,
        routed: &RoutedConnection,
    ) -> Result<ClientSide, LocalError> {
        let asked = bound.call(
            &GET_CLIENT_PROXY,
            |_| (),
            |decoder| {
                let proxy: Option<Self> = decoder.get()?;
                let has_routing_table: Option<bool> = decoder.tagged(HAS_ROUTING_TABLE)?;
                Ok((proxy, has_routing_table))
            },
        );
        let (proxy, has_routing_table) = asked
            .await
            .map_err(|error| self.not_routed(router, error))?;
        let side = ClientSide {
            proxy: proxy.map(|proxy| proxy.reference().clone()),
            // A router that does not say whether it has a routing table has one.
            has_routing_table: has_routing_table.unwrap_or(true),
        };
        router.note_client_side(&routed.connection, side.clone());
        Ok(side)
    }

    /// Registers the object with the router, unless it is registered.
    async fn add_to(
        &self,
        router: &Router,
        bound: &Self,
        routed: &RoutedConnection,
    ) -> Result<(), LocalError> {
        let identity = &self.reference().identity;
        if router.has(&routed.connection, identity) {
            return Ok(());
        }
        let _adding = router.adding.lock().await;
        // Another call may have registered it meanwhile.
        if router.has(&routed.connection, identity) {
            return Ok(());
        }
        let plain = Reference {
            facet: String::new(),
            mode: InvocationMode::Twoway,
            secure: false,
            ..self.reference().clone()
        };
        let plain = Self::new(plain, self.communicator().cloned());
        let proxies = vec![Some(plain)];
        let encode = |encoder: &mut Encoder<'_>| encoder.put(&proxies);
        let added = bound
            .call::<Vec<Option<Self>>, InvokeError>(&ADD_PROXIES, encode, |decoder| decoder.get());
        let evicted = added
            .await
            .map_err(|error| self.not_routed(router, error))?;
        let evicted = evicted.iter().flatten();
        let evicted = evicted.map(|proxy| &proxy.reference().identity);
        router.note_added(&routed.connection, identity, evicted);
        Ok(())
    }

    fn not_routed(&self, router: &Router, error: InvokeError) -> LocalError {
        LocalError::Router {
            proxy: self.to_string(),
            router: router.reference.to_string(),
            source: Box::new(error),
        }
    }
}

impl Router {
    /// A proxy that is not routed, and uses the connection of the router's session if it leads to the same endpoint.
    fn direct(&self, reference: Reference, communicator: &Communicator) -> Proxy {
        let proxy = Proxy::new(reference, Some(communicator.clone()));
        proxy.with_options(|options| {
            options.router = None;
            options.connection_id = self.connection_id.clone();
        })
    }

    /// A connection to the endpoints of a reference that the router returned.
    async fn connect_to(
        &self,
        reference: Reference,
        mode: InvocationMode,
        communicator: &Communicator,
    ) -> Result<RoutedConnection, LocalError> {
        let reference = Reference { mode, ..reference };
        self.direct(reference, communicator).connection().await
    }
}
