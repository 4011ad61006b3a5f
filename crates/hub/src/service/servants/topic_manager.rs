//! The topic manager: creates and finds topics.

use std::sync::Arc;

use floe::codegen::Answer as _;
use floe::contracts::ice::SliceChecksumDict;
use floe::contracts::ice_storm::{
    NoSuchTopic, NoSuchTopicError, TopicDict, TopicExists, TopicExistsError, TopicManager,
    TopicManagerInternal, TopicManagerInternalDispatcher, TopicManagerProxy, TopicProxy,
};
use floe::dispatch::{Request, Response};
use floe::message::RequestFailed;
use floe::{
    Adapter, Current, Identity, InvokeError, OperationMode, Proxy, SystemException, TypedProxy,
};
use floe_access::Action;

use super::answer::{Answer, EncodedItems};
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

    /// Dispatches a request to the topic manager.
    ///
    /// `retrieveAll` is written by hand. A typed servant would return a map with a proxy for each topic. If there are
    /// many topics, encoding and dropping the map would keep other connections waiting.
    pub(super) async fn answer(
        request: Request,
        dispatcher: Arc<TopicManagerInternalDispatcher<Self>>,
        registry: Arc<Registry>,
    ) -> Result<Response, SystemException> {
        if request.operation() != "retrieveAll" {
            return dispatcher.answer(request).await.map_err(|error| *error);
        }
        request.decode_nothing(OperationMode::Nonmutating)?;
        let servant = Self { registry };
        let topics = servant.encode_all(request.current()).await;
        let topics = topics.map_err(SystemException::from)?;
        request.returned(|encoder| topics.encode(encoder))
    }

    /// All topics that the caller may find, as a `TopicDict`.
    async fn encode_all(&self, current: &Current) -> Result<EncodedItems, InvokeError> {
        let mut answer = Answer::whole(current, "topics", "topicsAfter of Floe/HubAdmin");
        let mut found = EncodedItems::new(current.encoding());
        let finder = self.registry.guard().finder(current)?;
        for topic in self.registry.directory().topics() {
            if finder.may_find(topic.name()) {
                let proxy = self.topic_proxy(topic.name(), current);
                answer.append(&mut found, |encoder| {
                    encoder.string(topic.name());
                    encoder.put(&proxy);
                })?;
            }
            answer.pause().await;
        }
        Ok(found)
    }

    fn check(&self, current: &Current, action: Action, topic: &str) -> Result<(), InvokeError> {
        let checked = self.registry.guard().check(current, action, topic);
        Ok(checked?)
    }

    fn check_found(&self, current: &Current, topic: &str) -> Result<(), InvokeError> {
        Ok(self.registry.guard().check_found(current, topic)?)
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
    ) -> Result<TopicProxy, TopicExistsError> {
        self.check(current, Action::Create, &name)?;
        let (wanted, user) = (name.clone(), self.registry.guard().user(current));
        match self
            .registry
            .change(|registry| registry.create(wanted, false, user))
            .await
        {
            Ok(_) => Ok(self.topic_proxy(&name, current)),
            Err(ChangeError::TopicExists) => Err(TopicExists { name }.into()),
            Err(error) => Err(InvokeError::from(error).into()),
        }
    }

    async fn retrieve(
        &self,
        name: String,
        current: &Current,
    ) -> Result<TopicProxy, NoSuchTopicError> {
        self.check_found(current, &name)?;
        match self.registry.directory().topic(&name) {
            Some(_) => Ok(self.topic_proxy(&name, current)),
            None => Err(NoSuchTopic { name }.into()),
        }
    }

    async fn create_or_retrieve(
        &self,
        name: String,
        current: &Current,
    ) -> Result<TopicProxy, InvokeError> {
        if self.registry.directory().topic(&name).is_some() {
            self.check_found(current, &name)?;
        } else {
            self.check(current, Action::Create, &name)?;
            let (wanted, user) = (name.clone(), self.registry.guard().user(current));
            match self
                .registry
                .change(|registry| registry.create(wanted, false, user))
                .await
            {
                // Another client has created it meanwhile.
                Ok(_) | Err(ChangeError::TopicExists) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(self.topic_proxy(&name, current))
    }

    /// [`TopicManagerServant::answer`] answers this operation before the generated dispatcher sees it.
    async fn retrieve_all(&self, _current: &Current) -> Result<TopicDict, InvokeError> {
        Err(SystemException::OperationNotExist(RequestFailed::default()).into())
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
