//! A topic, as publishers, subscribers and administrators see it.

use std::sync::Arc;

use floe::contracts::ice::IdentitySeq;
use floe::contracts::ice_storm::{
    AlreadySubscribed, AlreadySubscribedOrBadQoSOrInvalidSubscriberError as SubscribeError, BadQoS,
    InvalidSubscriber, LinkExists, LinkExistsError, LinkInfo, LinkInfoSeq, NoSuchLink,
    NoSuchLinkError, QoS, ReapWouldBlockError, Topic as TopicContract, TopicInternal,
    TopicInternalProxy, TopicLinkProxy, TopicProxy,
};
use floe::{
    Current, Identity, InvocationMode, InvokeError, Proxy, Reference, SystemException, Target,
    TypedProxy,
};

use super::topic_manager::{own_identity, publisher_proxy, publishing_adapter};
use crate::core::{
    Qos, QosError, SubscriptionState, named_topic, publisher_name, receiver_name,
    subscriber_publisher_name, topic_name,
};
use crate::error::ChangeError;
use crate::service::registry::Registry;
use crate::service::topic::Topic;
use crate::store::StoredLink;

pub(super) struct TopicServant {
    registry: Arc<Registry>,
    topic: Arc<Topic>,
}

impl TopicServant {
    pub(super) fn new(registry: &Arc<Registry>, topic: Arc<Topic>) -> Self {
        Self {
            registry: registry.clone(),
            topic,
        }
    }

    fn publisher(&self) -> Identity {
        own_identity(&self.registry, publisher_name(self.topic.name()))
    }

    /// The object that takes the events of a link to this topic; `None` for a topic of this hub, which needs no call.
    async fn receiver_of(
        &self,
        topic: &Proxy,
        current: &Current,
    ) -> Result<Option<Reference>, InvokeError> {
        let Reference {
            identity,
            facet,
            mode,
            ..
        } = topic.reference();
        if *mode != InvocationMode::Twoway {
            let text = format!("expected a twoway proxy of a topic to link to, got \"{topic}\"");
            return Err(SystemException::UnknownLocalException(text).into());
        }
        let name = named_topic(&identity.name);
        let is_ours = identity.category == self.registry.settings().instance_name
            && identity.name == topic_name(name)
            && facet.is_empty();
        if is_ours && is_here(topic, current) && self.registry.directory().topic(name).is_some() {
            return Ok(None);
        }
        let limit = self.registry.live_settings().send_timeout;
        let topic = TopicInternalProxy::from_proxy(topic.ice_timeout(limit));
        let receiver = topic.get_link_proxy().await?.ok_or_else(|| {
            let text = format!("expected the receiving end of \"{topic}\", got a nil proxy");
            SystemException::UnknownException(text)
        })?;
        Ok(Some(receiver.as_proxy().reference().clone()))
    }

    /// The exception for an invalid subscription. If the object is subscribed already, it says that instead.
    fn refused(&self, subscriber: &Identity, error: QosError) -> SubscribeError {
        let former = self.topic.find(subscriber);
        match error {
            _ if former.is_some_and(|former| !former.is_gone()) => AlreadySubscribed {}.into(),
            QosError::Bad(reason) => BadQoS { reason }.into(),
            QosError::IllegalArgument(reason) => {
                InvokeError::from(SystemException::UnknownException(reason)).into()
            }
        }
    }

    async fn remove(&self, identities: IdentitySeq) -> Result<(), ChangeError> {
        let topic = self.topic.clone();
        self.registry
            .change(move |registry| registry.unsubscribe(&topic, &identities))
            .await
    }
}

impl TopicContract for TopicServant {
    async fn get_name(&self, _current: &Current) -> Result<String, InvokeError> {
        Ok(self.topic.name().to_owned())
    }

    async fn get_publisher(&self, current: &Current) -> Result<Option<Proxy>, InvokeError> {
        let adapter = publishing_adapter(&self.registry, current);
        Ok(Some(adapter.proxy(self.publisher())))
    }

    async fn get_non_replicated_publisher(
        &self,
        current: &Current,
    ) -> Result<Option<Proxy>, InvokeError> {
        let adapter = publishing_adapter(&self.registry, current);
        Ok(Some(adapter.indirect_proxy(self.publisher())))
    }

    async fn subscribe_and_get_publisher(
        &self,
        qos: QoS,
        subscriber: Option<Proxy>,
        current: &Current,
    ) -> Result<Option<Proxy>, SubscribeError> {
        let subscriber = subscriber.ok_or_else(|| InvalidSubscriber {
            reason: "subscriber is a null proxy".to_owned(),
        })?;
        let Reference { mode, identity, .. } = subscriber.reference();
        let parsed = Qos::parse(&qos, *mode).map_err(|error| self.refused(identity, error))?;
        let name = subscriber_publisher_name(self.topic.name(), identity);
        let topic = self.topic.clone();
        let subscribed = self
            .registry
            .change(move |registry| registry.subscribe(&topic, &subscriber, qos, parsed))
            .await;
        match subscribed {
            Ok(()) => Ok(Some(publisher_proxy(&self.registry, name, current))),
            Err(ChangeError::AlreadySubscribed) => Err(AlreadySubscribed {}.into()),
            Err(error) => Err(InvokeError::from(error).into()),
        }
    }

    async fn unsubscribe(
        &self,
        subscriber: Option<Proxy>,
        _current: &Current,
    ) -> Result<(), InvokeError> {
        let Some(subscriber) = subscriber else {
            // IceStorm 3.7 throws this exception here, although its contract does not declare it.
            let type_id = "::IceStorm::InvalidSubscriber".to_owned();
            return Err(SystemException::UnknownUserException(type_id).into());
        };
        let identity = subscriber.reference().identity.clone();
        Ok(self.remove(vec![identity]).await?)
    }

    async fn link(
        &self,
        link_to: Option<TopicProxy>,
        cost: i32,
        current: &Current,
    ) -> Result<(), LinkExistsError> {
        let link_to = link_to.ok_or_else(nil_topic)?;
        let link_to = link_to.as_proxy();
        let receiver = self.receiver_of(link_to, current).await?;
        let other = link_to.reference().clone();
        let name = named_topic(&other.identity.name).to_owned();
        let link = StoredLink {
            topic: other,
            receiver,
            cost,
        };
        let (topic, communicator) = (self.topic.clone(), current.adapter().communicator().clone());
        let linked = self
            .registry
            .change(move |registry| registry.link(&topic, link, &communicator))
            .await;
        match linked {
            Ok(()) => Ok(()),
            Err(ChangeError::LinkExists) => Err(LinkExists { name }.into()),
            Err(error) => Err(InvokeError::from(error).into()),
        }
    }

    async fn unlink(
        &self,
        link_to: Option<TopicProxy>,
        _current: &Current,
    ) -> Result<(), NoSuchLinkError> {
        let link_to = link_to.ok_or_else(nil_topic)?;
        let identity = link_to.as_proxy().reference().identity.clone();
        let name = named_topic(&identity.name).to_owned();
        let topic = self.topic.clone();
        let unlinked = self
            .registry
            .change(move |registry| registry.unlink(&topic, &identity))
            .await;
        match unlinked {
            Ok(()) => Ok(()),
            Err(ChangeError::NoSuchLink) => Err(NoSuchLink { name }.into()),
            Err(error) => Err(InvokeError::from(error).into()),
        }
    }

    async fn get_link_info_seq(&self, current: &Current) -> Result<LinkInfoSeq, InvokeError> {
        let subscribers = self.topic.subscribers();
        let working = subscribers.iter().filter(|s| {
            matches!(
                s.snapshot().state,
                SubscriptionState::Online | SubscriptionState::Offline
            )
        });
        let adapter = current.adapter();
        let infos = working.filter_map(|s| s.link()).map(|link| LinkInfo {
            the_topic: Some(TopicProxy::from_proxy(link.topic_from(&adapter))),
            name: link.name().to_owned(),
            cost: link.cost().0,
        });
        Ok(infos.collect())
    }

    async fn get_subscribers(&self, _current: &Current) -> Result<IdentitySeq, InvokeError> {
        let subscribers = self.topic.subscribers();
        Ok(subscribers.iter().map(|s| s.identity().clone()).collect())
    }

    async fn destroy(&self, _current: &Current) -> Result<(), InvokeError> {
        let topic = self.topic.clone();
        let destroyed = self
            .registry
            .change(move |registry| registry.destroy(&topic));
        Ok(destroyed.await?)
    }
}

impl TopicInternal for TopicServant {
    async fn get_link_proxy(
        &self,
        current: &Current,
    ) -> Result<Option<TopicLinkProxy>, InvokeError> {
        let receiver = publisher_proxy(&self.registry, receiver_name(self.topic.name()), current);
        Ok(Some(TopicLinkProxy::from_proxy(receiver)))
    }

    async fn reap(&self, id: IdentitySeq, _current: &Current) -> Result<(), ReapWouldBlockError> {
        self.remove(id)
            .await
            .map_err(|error| InvokeError::from(error).into())
    }
}

/// Whether the hub has this object. A proxy without endpoints or adapter id counts as an object of the hub.
fn is_here(proxy: &Proxy, current: &Current) -> bool {
    let adapter = current.adapter();
    match &proxy.reference().target {
        Target::WellKnown => true,
        Target::Indirect { adapter_id } => adapter.is_named(adapter_id),
        Target::Direct(endpoints) => {
            let (bound, published) = (adapter.endpoints(), adapter.published_endpoints());
            let is_own = |endpoint| bound.contains(endpoint) || published.contains(endpoint);
            endpoints.iter().any(is_own)
        }
    }
}

/// IceStorm throws this exception for a nil proxy.
fn nil_topic() -> InvokeError {
    let text = "expected the proxy of a topic to link to, got a nil proxy";
    SystemException::UnknownException(text.to_owned()).into()
}
