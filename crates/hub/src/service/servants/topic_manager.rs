//! The topic manager: creates and finds topics.

use std::sync::Arc;

use floe::contracts::ice::SliceChecksumDict;
use floe::contracts::ice_storm::{
    NoSuchTopic, NoSuchTopicError, TopicDict, TopicExists, TopicExistsError, TopicManager,
    TopicManagerInternal, TopicManagerProxy, TopicProxy,
};
use floe::{Adapter, Current, Identity, InvokeError, Proxy, TypedProxy};

use crate::core::topic_name;
use crate::error::ChangeError;
use crate::service::registry::Registry;

pub(super) struct TopicManagerServant {
    registry: Arc<Registry>,
}

impl TopicManagerServant {
    pub(super) fn new(registry: &Arc<Registry>) -> Self {
        Self {
            registry: registry.clone(),
        }
    }

    fn topic_proxy(&self, name: &str, current: &Current) -> TopicProxy {
        TopicProxy::from_proxy(proxy(&self.registry, topic_name(name), current))
    }
}

impl TopicManager for TopicManagerServant {
    async fn create(
        &self,
        name: String,
        current: &Current,
    ) -> Result<Option<TopicProxy>, TopicExistsError> {
        let wanted = name.clone();
        match self
            .registry
            .change(|registry| registry.create(wanted))
            .await
        {
            Ok(_) => Ok(Some(self.topic_proxy(&name, current))),
            Err(ChangeError::TopicExists) => Err(TopicExists { name }.into()),
            Err(error) => Err(InvokeError::from(error).into()),
        }
    }

    async fn retrieve(
        &self,
        name: String,
        current: &Current,
    ) -> Result<Option<TopicProxy>, NoSuchTopicError> {
        match self.registry.directory().topic(&name) {
            Some(_) => Ok(Some(self.topic_proxy(&name, current))),
            None => Err(NoSuchTopic { name }.into()),
        }
    }

    async fn create_or_retrieve(
        &self,
        name: String,
        current: &Current,
    ) -> Result<Option<TopicProxy>, InvokeError> {
        if self.registry.directory().topic(&name).is_none() {
            let wanted = name.clone();
            match self
                .registry
                .change(|registry| registry.create(wanted))
                .await
            {
                // Another client has created it meanwhile.
                Ok(_) | Err(ChangeError::TopicExists) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(Some(self.topic_proxy(&name, current)))
    }

    async fn retrieve_all(&self, current: &Current) -> Result<TopicDict, InvokeError> {
        let topics = self.registry.directory().topics();
        let entries = topics.iter().map(|topic| {
            let name = topic.name();
            (name.to_owned(), Some(self.topic_proxy(name, current)))
        });
        Ok(entries.collect())
    }

    async fn get_slice_checksums(
        &self,
        _current: &Current,
    ) -> Result<SliceChecksumDict, InvokeError> {
        Ok(SliceChecksumDict::new())
    }
}

/// A hub has no replicas.
impl TopicManagerInternal for TopicManagerServant {
    async fn get_replica_node(&self, _current: &Current) -> Result<Option<Proxy>, InvokeError> {
        Ok(None)
    }
}

/// A proxy to the topic manager.
pub(super) fn topic_manager_proxy(registry: &Registry, current: &Current) -> TopicManagerProxy {
    TopicManagerProxy::from_proxy(proxy(registry, "TopicManager".to_owned(), current))
}

/// A proxy to a publisher object of the hub.
pub(super) fn publisher_proxy(registry: &Registry, name: String, current: &Current) -> Proxy {
    publishing_adapter(registry, current).proxy(own_identity(registry, name))
}

/// The adapter of publisher objects.
pub(super) fn publishing_adapter(registry: &Registry, current: &Current) -> Adapter {
    let adapters = registry.adapters();
    let own = adapters.and_then(|adapters| adapters.publish.clone());
    own.unwrap_or_else(|| current.adapter())
}

/// A proxy to an object of the hub.
pub(super) fn proxy(registry: &Registry, name: String, current: &Current) -> Proxy {
    current.adapter().proxy(own_identity(registry, name))
}

/// The identity of an object of the hub.
pub(super) fn own_identity(registry: &Registry, name: String) -> Identity {
    Identity::with_category(name, &registry.settings().instance_name)
}
