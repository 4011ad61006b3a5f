//! Where a hub delivers to: over the subscriber's own connection, or to an endpoint where the subscriber listens.

use std::net::IpAddr;
use std::sync::Arc;

use floe_wire::reference::{Identity, Reference, Target};

use super::HubError;
use super::inbox::LOST_FACET;
use crate::adapter::Adapter;
use crate::communicator::Communicator;
use crate::connection::Connection;
use crate::dispatch::Dispatcher;
use crate::error::AdapterError;
use crate::proxy::Proxy;

/// The servants of a subscription.
#[derive(Clone)]
pub(super) struct Servants {
    pub(super) identity: Identity,
    /// Takes the events.
    pub(super) events: Arc<dyn Dispatcher>,
    /// Is told of lost events.
    pub(super) losses: Arc<dyn Dispatcher>,
}

/// Where a hub delivers to.
pub(super) struct Place {
    adapter: Adapter,
    /// What the adapter listens on; empty if the hub calls back.
    endpoints: String,
    identity: Identity,
}

impl Place {
    /// One that listens on these endpoints, or, without any, one that a Floe hub reaches over the connection that it is
    /// given.
    pub(super) async fn new(
        communicator: &Communicator,
        servants: &Servants,
        endpoints: &str,
    ) -> Result<Self, HubError> {
        let place = Self {
            adapter: communicator.adapter(endpoints).await?,
            endpoints: endpoints.to_owned(),
            identity: servants.identity.clone(),
        };
        place.serve(servants)?;
        Ok(place)
    }

    fn serve(&self, servants: &Servants) -> Result<(), AdapterError> {
        self.adapter.add(&self.identity, servants.events.clone())?;
        let losses = servants.losses.clone();
        self.adapter.add_facet(&self.identity, LOST_FACET, losses)?;
        // Without endpoints, for a hub in the same communicator.
        self.adapter.activate();
        Ok(())
    }

    /// Whether it listens on these endpoints.
    pub(super) fn is_at(&self, endpoints: &str) -> bool {
        self.endpoints == endpoints
    }

    /// Lets the hub deliver over this connection.
    pub(super) fn open(&self, connection: &Connection) {
        connection.set_adapter(Some(&self.adapter));
    }

    /// What the hub is given.
    pub(super) fn subscriber(&self) -> Proxy {
        let identity = self.identity.clone();
        if !self.endpoints.is_empty() {
            return self.adapter.proxy(identity);
        }
        let reference = Reference::new(identity, Target::WellKnown);
        self.adapter.communicator().proxy_from(reference)
    }

    /// Takes nothing any more.
    pub(super) async fn close(self) {
        self.adapter.remove_all_facets(&self.identity);
        self.adapter.destroy().await;
    }
}

/// Endpoints on the local address of a connection, where its peer can reach this side if anywhere.
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

/// The transports that a hub can connect back over.
const STREAMS: [&str; 4] = ["tcp", "ssl", "ws", "wss"];
