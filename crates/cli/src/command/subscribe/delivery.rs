//! The way on which the hub delivers to this subscriber.

use floe::contracts::ice_storm::TopicProxy;
use floe::hub::CALLBACK_FACET;
use floe::{Adapter, Communicator, Connection, InvokeError, Proxy, SystemException, TypedProxy};
use floe_wire::reference::{Reference, Target};

/// Where events come in.
#[derive(Debug, Clone)]
pub(super) enum Delivery {
    /// Over a connection that this program has opened for them alone, as a Floe hub can.
    OwnConnection {
        adapter: Adapter,
        /// It gives the subscriptions a connection of their own: events that nobody prints hold up nothing else.
        id: String,
    },
    /// At endpoints of this program, to which the hub connects, or through a router.
    Endpoints,
}

impl Delivery {
    /// The topic at which to subscribe, and the connection over which its events come.
    pub(super) async fn open(
        &self,
        topic: &TopicProxy,
    ) -> Result<(TopicProxy, Option<Connection>), InvokeError> {
        let Self::OwnConnection { adapter, id } = self else {
            return Ok((topic.clone(), None));
        };
        let topic = topic.ice_connection_id(id);
        let connection = topic.ice_connection().await?;
        if let Some(connection) = &connection {
            connection.set_adapter(Some(adapter));
        }
        Ok((topic.ice_facet(CALLBACK_FACET), connection))
    }

    /// The proxy that the hub gets for a servant.
    pub(super) fn subscriber(&self, communicator: &Communicator, served: Proxy) -> Proxy {
        match self {
            Self::OwnConnection { .. } => {
                // Without endpoints: the hub has the connection.
                let identity = served.reference().identity.clone();
                communicator.proxy_from(Reference::new(identity, Target::WellKnown))
            }
            Self::Endpoints => served,
        }
    }
}

/// Returns true if the hub of a topic can deliver over the connection of a subscriber; an IceStorm cannot.
pub(super) async fn calls_back(topic: &TopicProxy) -> Result<bool, InvokeError> {
    match topic.ice_facet(CALLBACK_FACET).ice_ping().await {
        Ok(()) => Ok(true),
        Err(InvokeError::System(SystemException::FacetNotExist(_))) => Ok(false),
        Err(error) => Err(error),
    }
}
