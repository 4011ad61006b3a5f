//! The object that a hub delivers to. The hub calls back over the subscriber's own connection, or connects to an
//! endpoint at which the subscriber listens.

use std::net::IpAddr;
use std::sync::Arc;

use floe_wire::reference::{Identity, Reference, Target};

use super::HubError;
use super::servants::LOST_FACET;
use crate::adapter::Adapter;
use crate::communicator::Communicator;
use crate::connection::Connection;
use crate::dispatch::Dispatcher;
use crate::error::AdapterError;
use crate::proxy::Proxy;

/// The servants of a subscription.
#[derive(Clone)]
pub(super) struct SubscriptionServants {
    pub(super) identity: Identity,
    /// Receives the events.
    pub(super) events: Arc<dyn Dispatcher>,
    /// Receives notices of lost events.
    pub(super) losses: Arc<dyn Dispatcher>,
}

/// An adapter with the servants of a subscription, which a hub delivers to.
pub(super) struct Receiver {
    adapter: Adapter,
    /// The endpoints of the adapter; empty if the hub calls back.
    endpoints: String,
    identity: Identity,
}

impl Receiver {
    /// Makes a receiver that listens on these endpoints. Without endpoints, a Floe hub reaches it over the connection
    /// that is passed to [`Receiver::open`].
    pub(super) async fn new(
        communicator: &Communicator,
        servants: &SubscriptionServants,
        endpoints: &str,
    ) -> Result<Self, HubError> {
        let receiver = Self {
            adapter: communicator.adapter(endpoints).await?,
            endpoints: endpoints.to_owned(),
            identity: servants.identity.clone(),
        };
        receiver.serve(servants)?;
        Ok(receiver)
    }

    fn serve(&self, servants: &SubscriptionServants) -> Result<(), AdapterError> {
        self.adapter.add(&self.identity, servants.events.clone())?;
        let losses = servants.losses.clone();
        self.adapter.add_facet(&self.identity, LOST_FACET, losses)?;
        // Activate it even without endpoints: the hub may be in the same communicator.
        self.adapter.activate();
        Ok(())
    }

    /// Returns true if it listens on these endpoints.
    pub(super) fn is_at(&self, endpoints: &str) -> bool {
        self.endpoints == endpoints
    }

    /// Attaches the receiver to a connection, so that the hub delivers over it.
    pub(super) fn open(&self, connection: &Connection) {
        connection.set_adapter(Some(&self.adapter));
    }

    /// The proxy that the hub gets.
    pub(super) fn subscriber(&self) -> Proxy {
        let identity = self.identity.clone();
        if !self.endpoints.is_empty() {
            return self.adapter.proxy(identity);
        }
        let reference = Reference::new(identity, Target::WellKnown);
        self.adapter.communicator().proxy_from(reference)
    }

    /// Stops receiving.
    pub(super) async fn close(self) {
        self.adapter.remove_all_facets(&self.identity);
        self.adapter.destroy().await;
    }
}

/// Endpoints on the local address of a connection: if the peer can reach this side, it is there.
pub(super) fn local_endpoints(connection: Option<&Connection>) -> Result<String, HubError> {
    let info = connection.map(Connection::info).unwrap_or_default();
    match info
        .local_address
        .map(|address| address.ip().to_canonical())
    {
        Some(address) if STREAMS.contains(&info.transport) => {
            Ok(format!("{} -h {} -p 0", info.transport, host(address)))
        }
        _ => Err(HubError::NoAddress {
            transport: info.transport.to_owned(),
        }),
    }
}

fn host(address: IpAddr) -> String {
    match address {
        IpAddr::V4(address) => address.to_string(),
        IpAddr::V6(address) => format!("\"{address}\""),
    }
}

/// The transports over which a hub can connect back.
const STREAMS: [&str; 4] = ["tcp", "ssl", "ws", "wss"];
