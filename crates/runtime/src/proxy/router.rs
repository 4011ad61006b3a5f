//! Proxies whose requests go through a router, such as a Glacier2.
//!
//! A routed request goes to the router's connection, with the identity of its object. The router must have been told
//! before where the object is; it says so if it has forgotten.

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

/// Boxed, because asking a router makes a connection, which is this future again.
pub(super) type Routing<'a> =
    Pin<Box<dyn Future<Output = Result<RoutedConnection, LocalError>> + Send + 'a>>;

/// The operation in the exception of a router that does not know where an object is.
const ADD_PROXY: &str = "ice_add_proxy";

/// Asks where requests go. `contracts/Ice/Router.ice` has the contract, whose generated code stands above this module.
const GET_CLIENT_PROXY: OperationInfo = OperationInfo {
    name: "getClientProxy",
    mode: OperationMode::Nonmutating,
    returns_data: true,
};
/// Tag of the second result of `getClientProxy`.
const HAS_ROUTING_TABLE: u32 = 1;
/// Tells where objects are.
const ADD_PROXIES: OperationInfo = OperationInfo {
    name: "addProxies",
    mode: OperationMode::Idempotent,
    returns_data: true,
};

/// How often a request is sent again because the router has forgotten its object meanwhile. A table that is far too
/// small may evict it each time.
pub(crate) const ADDITIONS_MAX: usize = 20;

/// Whether a router asks to be told where the object is.
pub(crate) fn wants_object(reply: &IncomingReply) -> bool {
    reply.is_of_missing_object()
        && matches!(
            reply.outcome(),
            Ok(Outcome::System(SystemException::ObjectNotExist(target)))
                if target.operation == ADD_PROXY
        )
}

impl Proxy {
    /// The same through another router, or through none.
    pub(super) fn with_router(&self, router: Option<&Self>) -> Self {
        let router = self
            .communicator()
            .zip(router)
            .map(|(communicator, router)| {
                let routers = communicator.core().routers();
                routers.of(router.reference())
            });
        self.with_options(|options| options.router = router)
    }

    /// The router through which its requests go. The router's own object is not routed, and neither is a proxy that is
    /// bound to a connection.
    pub(crate) fn router(&self) -> Option<&Arc<Router>> {
        let options = &self.inner.options;
        let router = options.router.as_ref()?;
        let is_router = self.reference().identity == router.reference.identity;
        (options.fixed.is_none() && !is_router).then_some(router)
    }

    /// The router's connection, once the router knows where the object is.
    pub(super) fn routed_connection<'a>(&'a self, router: &'a Router) -> Routing<'a> {
        Box::pin(async move {
            let communicator = self.communicator().ok_or(LocalError::Unbound)?;
            let own = Self::new(router.reference.clone(), Some(communicator.clone()));
            let found = own.connection().await?;
            let bound = own.with_connection(found.connection.clone());
            let side = match router.client_side(&found.connection) {
                Some(side) => side,
                None => self.ask_client_side(router, &bound, &found).await?,
            };
            if side.has_routing_table {
                self.add_to(router, &bound, &found).await?;
            }
            if self.reference().mode.is_datagram() {
                let datagrams = side.proxy.unwrap_or_else(|| router.reference.clone());
                return connect_to(datagrams, InvocationMode::Datagram, communicator).await;
            }
            match side.proxy {
                Some(client) => connect_to(client, InvocationMode::Twoway, communicator).await,
                None => Ok(found),
            }
        })
    }

    async fn ask_client_side(
        &self,
        router: &Router,
        bound: &Self,
        found: &RoutedConnection,
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
            // A router that does not say it has one.
            has_routing_table: has_routing_table.unwrap_or(true),
        };
        router.note_client_side(&found.connection, side.clone());
        Ok(side)
    }

    /// Tells the router where the object is, unless it knows.
    async fn add_to(
        &self,
        router: &Router,
        bound: &Self,
        found: &RoutedConnection,
    ) -> Result<(), LocalError> {
        let identity = &self.reference().identity;
        if router.has(&found.connection, identity) {
            return Ok(());
        }
        let _turn = router.adding.lock().await;
        // Another call may have told it meanwhile.
        if router.has(&found.connection, identity) {
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
        router.note_added(&found.connection, identity, evicted);
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

/// A connection to the endpoints of a reference of the router.
async fn connect_to(
    reference: Reference,
    mode: InvocationMode,
    communicator: &Communicator,
) -> Result<RoutedConnection, LocalError> {
    let reference = Reference { mode, ..reference };
    let direct = Proxy::new(reference, Some(communicator.clone())).with_router(None);
    direct.connection().await
}
