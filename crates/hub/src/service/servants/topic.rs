//! A topic, as publishers, subscribers and administrators see it.

use std::sync::Arc;

use floe::contracts::ice::IdentitySeq;
use floe::contracts::ice_storm::{
    AlreadySubscribed, BadQoS, InvalidSubscriber, LinkInfoSeq, QoS, Topic as TopicContract,
    TopicInternal, TopicInternalReapError, TopicLinkError, TopicLinkProxy, TopicProxy,
    TopicSubscribeAndGetPublisherError as SubscribeError, TopicUnlinkError,
};
use floe::{Current, InvokeError, Proxy, SystemException};

use super::topic_manager::proxy;
use crate::core::{Qos, QosError, publisher_name, subscriber_publisher_name};
use crate::error::ChangeError;
use crate::service::registry::Registry;
use crate::service::topic::Topic;

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

    fn publisher(&self, current: &Current) -> Proxy {
        proxy(&self.registry, publisher_name(self.topic.name()), current)
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
        Ok(Some(self.publisher(current)))
    }

    async fn get_non_replicated_publisher(
        &self,
        current: &Current,
    ) -> Result<Option<Proxy>, InvokeError> {
        Ok(Some(self.publisher(current)))
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
        let parsed = Qos::parse(&qos, subscriber.reference().mode)
            .and_then(|parsed| check_reachable(&subscriber).map(|()| parsed))
            .map_err(refused)?;
        let name = subscriber_publisher_name(self.topic.name(), &subscriber.reference().identity);
        let topic = self.topic.clone();
        let subscribed = self
            .registry
            .change(move |registry| registry.subscribe(&topic, &subscriber, qos, parsed))
            .await;
        match subscribed {
            Ok(()) => Ok(Some(proxy(&self.registry, name, current))),
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
            // IceStorm 3.7 throws it here, too, where its contract does not declare it.
            let type_id = "::IceStorm::InvalidSubscriber".to_owned();
            return Err(SystemException::UnknownUserException(type_id).into());
        };
        let identity = subscriber.reference().identity.clone();
        Ok(self.remove(vec![identity]).await?)
    }

    async fn link(
        &self,
        _link_to: Option<TopicProxy>,
        _cost: i32,
        _current: &Current,
    ) -> Result<(), TopicLinkError> {
        Err(no_links().into())
    }

    async fn unlink(
        &self,
        _link_to: Option<TopicProxy>,
        _current: &Current,
    ) -> Result<(), TopicUnlinkError> {
        Err(no_links().into())
    }

    async fn get_link_info_seq(&self, _current: &Current) -> Result<LinkInfoSeq, InvokeError> {
        Ok(LinkInfoSeq::new())
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
        _current: &Current,
    ) -> Result<Option<TopicLinkProxy>, InvokeError> {
        Err(no_links())
    }

    async fn reap(
        &self,
        id: IdentitySeq,
        _current: &Current,
    ) -> Result<(), TopicInternalReapError> {
        self.remove(id)
            .await
            .map_err(|error| InvokeError::from(error).into())
    }
}

/// Refuses at once what no event would ever reach.
fn check_reachable(subscriber: &Proxy) -> Result<(), QosError> {
    subscriber
        .check_endpoints()
        .map_err(|error| QosError::Bad(format!("this hub cannot reach the subscriber: {error}")))
}

fn refused(error: QosError) -> SubscribeError {
    match error {
        QosError::Bad(reason) => BadQoS { reason }.into(),
        QosError::IllegalArgument(reason) => {
            InvokeError::from(SystemException::UnknownException(reason)).into()
        }
    }
}

fn no_links() -> InvokeError {
    let text = "links between topics are not yet supported by this hub: subscribe to both topics";
    SystemException::UnknownException(text.to_owned()).into()
}
