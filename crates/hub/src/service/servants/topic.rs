//! A topic, as publishers, subscribers and administrators see it.

use std::sync::Arc;

use floe::codegen::Nilable;
use floe::contracts::ice::IdentitySeq;
use floe::contracts::ice_storm::{
    AlreadySubscribed, AlreadySubscribedOrBadQoSOrInvalidSubscriberError as SubscribeError, BadQoS,
    InvalidSubscriber, LinkExists, LinkExistsError, LinkInfo, LinkInfoSeq, NoSuchLink,
    NoSuchLinkError, QoS, ReapWouldBlockError, Topic as TopicContract, TopicInternal,
    TopicInternalProxy, TopicLinkProxy, TopicProxy,
};
use floe::encoding::Encoder;
use floe::message::RequestFailed;
use floe::reference::Target;
use floe::{
    Current, EncodingVersion, Identity, InvocationMode, InvokeError, Proxy, Reference,
    SystemException, TypedProxy,
};
use floe_access::Action;

use super::answer::Answer;
use super::durable_topics::check_dead_letters;
use super::topic_manager::{own_identity, publisher_proxy, publishing_adapter};
use crate::core::{
    Qos, QosError, SubscriptionState, named_topic, publisher_name, receiver_name,
    subscriber_publisher_name, topic_name,
};
use crate::error::ChangeError;
use crate::service::directory::Object;
use crate::service::guard;
use crate::service::registry::{ENDED_AT_A_TIME, Registry, look_for_former};
use crate::service::topic::Topic;
use crate::store::{StoredCaller, StoredLink};

pub(super) struct TopicServant {
    registry: Arc<Registry>,
    topic: Arc<Topic>,
    /// True if subscribers are called back over the connection of their request.
    calls_back: bool,
}

impl TopicServant {
    pub(super) fn new(registry: &Arc<Registry>, topic: Arc<Topic>) -> Self {
        Self {
            registry: registry.clone(),
            topic,
            calls_back: false,
        }
    }

    /// Creates the servant of this topic for subscribers that are called back over their own connection.
    pub(super) fn calling_back(registry: &Arc<Registry>, topic: Arc<Topic>) -> Self {
        Self {
            calls_back: true,
            ..Self::new(registry, topic)
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
        let is_ours = identity.category == self.registry.settings().instance_name;
        // A proxy without endpoints or adapter id counts as an object of the hub.
        let may_be_here = is_ours && matches!(topic.reference().target, Target::WellKnown);
        let is_topic = is_ours && identity.name == topic_name(name) && facet.is_empty();
        if may_be_here && is_topic && self.registry.directory().topic(name).is_some()
            || self.is_own(topic).await?
        {
            return match is_topic && self.registry.directory().topic(name).is_some() {
                true => {
                    let guard = self.registry.guard();
                    guard.check(current, Action::Link, name)?;
                    // Events that come over the link are published there.
                    guard.check(current, Action::Publish, name)?;
                    Ok(None)
                }
                false => Err(self.no_topic(topic.reference()).into()),
            };
        }
        let topic = self.check_proxy(current, Action::Link, topic)?;
        let limit = self.registry.live_settings().send_timeout;
        let topic = TopicInternalProxy::from_proxy(topic.ice_timeout(limit).as_given());
        let receiver = topic.get_link_proxy().await?;
        let receiver = self.check_proxy(current, Action::Link, receiver.as_proxy())?;
        if self.is_own(&receiver).await? {
            // The other topic may be a false one, whose link would publish with the rights of this hub.
            let text = format!(
                "expected an object of another program to send events to, got \"{receiver}\", which is an object of this hub: \
                 link its topic instead"
            );
            return Err(SystemException::UnknownLocalException(text).into());
        }
        Ok(Some(receiver.reference().clone()))
    }

    /// The answer of an object of this hub, which is no topic, to a call that only topics take. It is not called: a call from
    /// within the hub is trusted.
    fn no_topic(&self, reference: &Reference) -> SystemException {
        let Reference {
            identity, facet, ..
        } = reference;
        let failed = RequestFailed {
            identity: identity.clone(),
            facet: facet.clone(),
            operation: "getLinkProxy".to_owned(),
        };
        let is_ours = identity.category == self.registry.settings().instance_name;
        match self.registry.directory().find(&identity.name) {
            Some(Object::Topic(_)) if is_ours => SystemException::FacetNotExist(failed),
            Some(_) if is_ours => SystemException::OperationNotExist(failed),
            _ => SystemException::ObjectNotExist(failed),
        }
    }

    /// Checks that the caller may do this with the topic.
    fn check(&self, current: &Current, action: Action) -> Result<(), InvokeError> {
        let guard = self.registry.guard();
        Ok(guard.check(current, action, self.topic.name())?)
    }

    /// The proxy with the endpoints that the hub may call for the caller.
    fn check_proxy(
        &self,
        current: &Current,
        action: Action,
        proxy: &Proxy,
    ) -> Result<Proxy, InvokeError> {
        let guard = self.registry.guard();
        Ok(guard.check_proxy(current, action, self.topic.name(), proxy)?)
    }

    /// Returns true if an object is one of the hub's own, or another one of this program which only those who are trusted may
    /// call. Events for it would come back, or do what only their publisher may do.
    ///
    /// # Errors
    /// None of its hosts has an address.
    async fn is_own(&self, proxy: &Proxy) -> Result<bool, InvokeError> {
        let adapters = self.registry.adapters();
        let reference = proxy.reference();
        if adapters.is_some_and(|adapters| guard::is_one_of(&adapters.all(), reference)) {
            return Ok(true);
        }
        // A proxy of its own: one that came over a connection may be bound to that.
        proxy.leads_back().await.map_err(InvokeError::NotDispatched)
    }

    /// The exception for an invalid subscription. If the object is subscribed already, the exception says that instead.
    fn refused(&self, subscriber: &Identity, error: impl Into<SubscribeError>) -> SubscribeError {
        let former = self.topic.find(subscriber);
        match former.is_some_and(|former| !former.is_gone()) {
            true => AlreadySubscribed {}.into(),
            false => error.into(),
        }
    }

    /// Ends subscriptions. If they are many, other tasks run in between.
    async fn remove(&self, identities: IdentitySeq) -> Result<(), ChangeError> {
        for some in identities.chunks(ENDED_AT_A_TIME) {
            let (topic, some) = (self.topic.clone(), some.to_vec());
            self.registry
                .change(move |registry| registry.unsubscribe(&topic, &some))
                .await?;
            if identities.len() > ENDED_AT_A_TIME {
                tokio::task::yield_now().await;
            }
        }
        Ok(())
    }
}

impl TopicContract for TopicServant {
    async fn get_name(&self, _current: &Current) -> Result<String, InvokeError> {
        Ok(self.topic.name().to_owned())
    }

    async fn get_publisher(&self, current: &Current) -> Result<Proxy, InvokeError> {
        let adapter = publishing_adapter(&self.registry, current);
        Ok(adapter.proxy(self.publisher()))
    }

    async fn get_non_replicated_publisher(&self, current: &Current) -> Result<Proxy, InvokeError> {
        let adapter = publishing_adapter(&self.registry, current);
        Ok(adapter.indirect_proxy(self.publisher()))
    }

    async fn subscribe_and_get_publisher(
        &self,
        qos: QoS,
        subscriber: Option<Proxy>,
        current: &Current,
    ) -> Result<Proxy, SubscribeError> {
        let subscriber = subscriber.ok_or_else(|| InvalidSubscriber {
            reason: "subscriber is a null proxy".to_owned(),
        })?;
        // A caller in the same communicator has no connection, and needs none.
        let subscriber = match current.connection().filter(|_| self.calls_back) {
            // The hub connects to no address for it, so there is no address to check.
            Some(connection) => {
                self.check(current, Action::Subscribe)?;
                subscriber.ice_fixed(&connection)
            }
            None => self.check_proxy(current, Action::Subscribe, &subscriber)?,
        };
        let Reference { mode, identity, .. } = subscriber.reference();
        let limits = self.registry.live_settings().limits;
        limits
            .check_qos(&qos)
            .map_err(|reason| self.refused(identity, BadQoS { reason }))?;
        let endpoints = match &subscriber.reference().target {
            Target::Direct(endpoints) => endpoints.len(),
            Target::Indirect { .. } | Target::WellKnown => 0,
        };
        limits
            .check_proxy(encoded_len(&subscriber), endpoints)
            .map_err(|reason| self.refused(identity, InvalidSubscriber { reason }))?;
        let is_own = match subscriber.is_fixed() {
            true => Ok(false),
            false => self.is_own(&subscriber).await,
        };
        let reason = match is_own {
            Ok(false) => None,
            Ok(true) => Some(format!(
                "\"{subscriber}\" is an object of this hub: link the topics instead"
            )),
            Err(error) => Some(format!(
                "\"{subscriber}\" leads nowhere: expected a host that has an address: {error}"
            )),
        };
        if let Some(reason) = reason {
            return Err(self.refused(identity, InvalidSubscriber { reason }));
        }
        let parsed =
            Qos::parse(&qos, *mode).map_err(|error| self.refused(identity, bad_qos(error)))?;
        check_dead_letters(&self.registry, &self.topic, &parsed, current)
            .map_err(InvokeError::from)?;
        let name = subscriber_publisher_name(self.topic.name(), identity);
        look_for_former(&self.topic, Some(identity), &parsed).await;
        let (topic, client) = (self.topic.clone(), self.registry.guard().client(current));
        let chooser = self.registry.guard().caller(current);
        let subscribed = self
            .registry
            .change(move |registry| {
                registry.subscribe(&topic, &subscriber, qos, parsed, client, chooser)
            })
            .await;
        match subscribed {
            Ok(()) => Ok(publisher_proxy(&self.registry, name, current)),
            Err(ChangeError::AlreadySubscribed) => Err(AlreadySubscribed {}.into()),
            Err(
                error @ (ChangeError::NotDurable(_)
                | ChangeError::DurableInUse(_)
                | ChangeError::KeyDiffers(_)),
            ) => {
                let reason = error.to_string();
                Err(BadQoS { reason }.into())
            }
            Err(error) => Err(InvokeError::from(error).into()),
        }
    }

    async fn unsubscribe(
        &self,
        subscriber: Option<Proxy>,
        current: &Current,
    ) -> Result<(), InvokeError> {
        self.check(current, Action::Subscribe)?;
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
        self.check(current, Action::Link)?;
        let link_to = link_to.as_proxy();
        let receiver = self.receiver_of(link_to, current).await?;
        let other = link_to.reference().clone();
        let name = named_topic(&other.identity.name).to_owned();
        let link = StoredLink {
            topic: other,
            receiver,
            cost,
            maker: self.registry.guard().caller(current).map(StoredCaller),
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
        current: &Current,
    ) -> Result<(), NoSuchLinkError> {
        self.check(current, Action::Link)?;
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
        self.check(current, Action::Observe)?;
        let mut answer = Answer::whole(current, "links", "topicPage of Floe/HubAdmin");
        let (adapter, mut infos) = (current.adapter(), LinkInfoSeq::new());
        for subscriber in self.topic.subscribers() {
            answer.pause().await;
            let Some(link) = subscriber.link() else {
                continue;
            };
            if let SubscriptionState::Online | SubscriptionState::Offline =
                subscriber.snapshot().state
            {
                let info = LinkInfo {
                    the_topic: TopicProxy::from_proxy(link.topic_from(&adapter)),
                    name: link.name().to_owned(),
                    cost: link.cost().0,
                };
                answer.add(&info)?;
                infos.push(info);
            }
        }
        Ok(infos)
    }

    async fn get_subscribers(&self, current: &Current) -> Result<IdentitySeq, InvokeError> {
        self.check(current, Action::Observe)?;
        let mut answer = Answer::whole(current, "subscribers", "topicPage of Floe/HubAdmin");
        let mut identities = IdentitySeq::new();
        for subscriber in self.topic.subscribers() {
            answer.add(subscriber.identity())?;
            identities.push(subscriber.identity().clone());
            answer.pause().await;
        }
        Ok(identities)
    }

    async fn destroy(&self, current: &Current) -> Result<(), InvokeError> {
        self.check(current, Action::Destroy)?;
        Ok(self.registry.destroy(self.topic.clone()).await?)
    }
}

impl TopicInternal for TopicServant {
    async fn get_link_proxy(&self, current: &Current) -> Result<TopicLinkProxy, InvokeError> {
        let receiver = publisher_proxy(&self.registry, receiver_name(self.topic.name()), current);
        Ok(TopicLinkProxy::from_proxy(receiver))
    }

    async fn reap(&self, id: IdentitySeq, current: &Current) -> Result<(), ReapWouldBlockError> {
        self.check(current, Action::Admin)?;
        self.remove(id)
            .await
            .map_err(|error| InvokeError::from(error).into())
    }
}

/// The length of a proxy on the wire.
fn encoded_len(proxy: &Proxy) -> usize {
    let mut bytes = Vec::new();
    let mut encoder = Encoder::new(&mut bytes, EncodingVersion::V1_1);
    Reference::encode_nilable(Some(proxy.reference()), &mut encoder);
    // A proxy that came over the wire can be encoded.
    let _ = encoder.finish();
    bytes.len()
}

fn bad_qos(error: QosError) -> SubscribeError {
    match error {
        QosError::Bad(reason) => BadQoS { reason }.into(),
        QosError::IllegalArgument(reason) => {
            InvokeError::from(SystemException::UnknownException(reason)).into()
        }
    }
}

/// IceStorm throws this exception for a nil proxy.
fn nil_topic() -> InvokeError {
    let text = "expected the proxy of a topic to link to, got a nil proxy";
    SystemException::UnknownException(text.to_owned()).into()
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;
    use std::pin::pin;

    use super::*;
    use crate::service::registry::tests::World;

    #[tokio::test]
    async fn other_tasks_run_while_many_subscriptions_are_reaped() {
        let world = World::new();
        let topic = world.create("t");
        let count = 3 * ENDED_AT_A_TIME + 1;
        let names = (0..count).map(|number| number.to_string());
        let subscribers: Vec<_> = names.map(|name| world.subscribe(&topic, &name)).collect();
        let identities = subscribers.iter().map(|it| it.identity().clone()).collect();
        let servant = TopicServant::new(&world.registry, topic.clone());
        let (mut reaping, mut left) = (pin!(servant.remove(identities)), count);
        poll_fn(|context| {
            let polled = reaping.as_mut().poll(context);
            let now = topic.subscribers().count();
            assert!(left - now <= ENDED_AT_A_TIME, "{left} {now}");
            left = now;
            polled
        })
        .await
        .unwrap();
        assert_eq!(left, 0);
    }
}
