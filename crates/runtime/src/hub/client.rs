//! Clients of a hub: they return topics by name.

use std::fmt;
use std::time::Duration;

use floe_wire::message::SystemException;

use super::near::nearest_name;
use super::{HubAddress, HubError, Topic};
use crate::communicator::Communicator;
use crate::contracts::ice_storm::{
    FinderProxy, NoSuchTopicError, TopicExistsError, TopicManagerProxy, TopicProxy,
};
use crate::error::InvokeError;
use crate::proxy::TypedProxy;

/// Limit of a call to the hub, unless the communicator has an invocation timeout.
pub(super) const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);

/// A client of a Floe hub or an IceStorm; a clone is the same client.
#[derive(Clone)]
#[doc(alias("IceStorm", "TopicManager"))]
pub struct HubClient {
    communicator: Communicator,
    manager: TopicManagerProxy,
}

impl HubClient {
    /// Connects to the hub at an address, such as `localhost:10000`: see [`HubAddress`]. The client makes a
    /// communicator of its own.
    ///
    /// # Errors
    /// [`HubError::Address`] or [`HubError::Hub`].
    pub async fn connect(address: &str) -> Result<Self, HubError> {
        Self::connect_with(&Communicator::new(), address).await
    }

    /// Connects with a communicator of yours, which brings its settings: certificates, locator, timeouts.
    ///
    /// # Errors
    /// See [`HubClient::connect`].
    pub async fn connect_with(
        communicator: &Communicator,
        address: &str,
    ) -> Result<Self, HubError> {
        let address: HubAddress = address.parse()?;
        let given = TopicManagerProxy::from_proxy(with_answer_timeout(
            &communicator.proxy_from(address.manager().clone()),
        ));
        let manager = match address.finder() {
            Some(finder) => {
                let finder = FinderProxy::from_proxy(communicator.proxy_from(finder.clone()));
                match with_answer_timeout(&finder).get_topic_manager().await {
                    Ok(manager) => manager,
                    // A transient IceStorm has no finder.
                    Err(InvokeError::System(SystemException::ObjectNotExist(_))) => given,
                    Err(error) => return Err(failed(&given, error)),
                }
            }
            None => given,
        };
        let manager = with_answer_timeout(&manager);
        let answered = manager.ice_ping().await;
        answered.map_err(|error| failed(&manager, error))?;
        Ok(Self {
            communicator: communicator.clone(),
            manager,
        })
    }

    /// The topic with this name. Creates it if there is none, even if the name is misspelt:
    /// [`HubClient::existing_topic`] does not.
    ///
    /// # Errors
    /// [`HubError::Hub`].
    pub async fn topic(&self, name: &str) -> Result<Topic, HubError> {
        let proxy = self.create_or_retrieve(name).await?;
        Ok(Topic::new(self.clone(), name, proxy))
    }

    /// The topic with this name. Creates none.
    ///
    /// # Errors
    /// [`HubError::NoSuchTopic`] with the most similar name that the hub has, or [`HubError::Hub`].
    pub async fn existing_topic(&self, name: &str) -> Result<Topic, HubError> {
        match self.retrieve(name).await? {
            Some(proxy) => Ok(Topic::new(self.clone(), name, proxy)),
            None => Err(HubError::NoSuchTopic {
                topic: name.to_owned(),
                near: self.similar_topic(name).await,
            }),
        }
    }

    /// The topic whose name is most like this one, if the hub lists its topics and one is like it.
    async fn similar_topic(&self, name: &str) -> Option<String> {
        let topics = self.manager.retrieve_all().await.ok()?;
        let names: Vec<&str> = topics.keys().map(String::as_str).collect();
        nearest_name(name, &names).map(str::to_owned)
    }

    /// The communicator.
    pub fn communicator(&self) -> &Communicator {
        &self.communicator
    }

    /// The topic manager, for operations that this client has no method for.
    pub fn manager(&self) -> &TopicManagerProxy {
        &self.manager
    }

    /// Does the same as [`HubClient::topic`], and returns a proxy.
    pub(super) async fn create_or_retrieve(&self, name: &str) -> Result<TopicProxy, HubError> {
        match self.manager.create_or_retrieve(name).await {
            Ok(topic) => Ok(with_answer_timeout(&topic)),
            // IceStorm has the operation from 3.8 on.
            Err(InvokeError::System(SystemException::OperationNotExist(_))) => {
                self.retrieve_or_create(name).await
            }
            Err(error) => Err(failed(&self.manager, error)),
        }
    }

    async fn retrieve_or_create(&self, name: &str) -> Result<TopicProxy, HubError> {
        if let Some(topic) = self.retrieve(name).await? {
            return Ok(topic);
        }
        match self.manager.create(name).await {
            Ok(topic) => Ok(with_answer_timeout(&topic)),
            // Another client created the topic first.
            Err(TopicExistsError::TopicExists(_)) => {
                self.retrieve(name).await?.ok_or_else(|| HubError::Refused {
                    reason: format!("topic \"{name}\" was destroyed while it was looked up"),
                })
            }
            Err(TopicExistsError::Invoke(error)) => Err(failed(&self.manager, error)),
        }
    }

    async fn retrieve(&self, name: &str) -> Result<Option<TopicProxy>, HubError> {
        match self.manager.retrieve(name).await {
            Ok(topic) => Ok(Some(with_answer_timeout(&topic))),
            Err(NoSuchTopicError::NoSuchTopic(_)) => Ok(None),
            Err(NoSuchTopicError::Invoke(error)) => Err(failed(&self.manager, error)),
        }
    }
}

impl fmt::Debug for HubClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("HubClient")
            .field(&self.manager.to_string())
            .finish()
    }
}

/// Returns a proxy for the object that limits the time of each call.
pub(super) fn with_answer_timeout<P: TypedProxy>(proxy: &P) -> P {
    match proxy.as_proxy().timeout() {
        Some(_) => proxy.clone(),
        None => proxy.ice_timeout(Some(ANSWER_TIMEOUT)),
    }
}

pub(super) fn failed(hub: &impl TypedProxy, source: InvokeError) -> HubError {
    HubError::Hub {
        hub: hub.as_proxy().to_string(),
        source: Box::new(source),
    }
}
