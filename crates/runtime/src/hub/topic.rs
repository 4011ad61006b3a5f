//! Topics of a hub, for publishers and subscribers.

use std::sync::Arc;

use super::client::failed;
use super::{HubClient, HubError, Subscribe, SubscribeServant, TypedEvent};
use crate::codegen::Answer;
use crate::contracts::ice_storm::TopicProxy;
use crate::proxy::TypedProxy;

/// A topic of a hub; a clone is the same topic.
#[derive(Debug, Clone)]
pub struct Topic {
    hub: HubClient,
    name: Arc<str>,
    proxy: TopicProxy,
}

impl Topic {
    pub(super) fn new(hub: HubClient, name: &str, proxy: TopicProxy) -> Self {
        Self {
            hub,
            name: name.into(),
            proxy,
        }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The hub.
    pub fn hub(&self) -> &HubClient {
        &self.hub
    }

    /// The topic object, for operations that this type has no method for.
    pub fn proxy(&self) -> &TopicProxy {
        &self.proxy
    }

    /// A publisher: calling an operation publishes an event. The call returns when the hub has the event.
    ///
    /// [`ice_oneway`](TypedProxy::ice_oneway) returns a publisher that does not wait for a reply, and
    /// [`ice_batch_oneway`](TypedProxy::ice_batch_oneway) one that collects events until
    /// [`ice_flush_batch`](TypedProxy::ice_flush_batch).
    ///
    /// # Errors
    /// [`HubError::Hub`].
    pub async fn publisher<P: TypedProxy>(&self) -> Result<P, HubError> {
        let publisher = self.proxy.get_publisher().await;
        let publisher = publisher.map_err(|error| failed(&self.proxy, error))?;
        Ok(P::from_proxy(publisher))
    }

    /// Subscribes to the events, as a stream. Await the builder, or set options first:
    /// `topic.subscribe::<TickerEvent>().qos(qos).await`.
    pub fn subscribe<E: TypedEvent>(&self) -> Subscribe<E> {
        Subscribe::new(self)
    }

    /// Subscribes a servant: `topic.subscribe_servant(TickerDispatcher::new(servant)).await`.
    pub fn subscribe_servant<A: Answer>(&self, dispatcher: A) -> SubscribeServant<A> {
        SubscribeServant::new(self, dispatcher)
    }
}
