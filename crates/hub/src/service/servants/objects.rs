//! The default servant of the hub's category. It finds the object of each request, so that a topic needs no
//! registration with the adapter.

use std::future::ready;
use std::sync::Arc;

use floe::contracts::ice_storm::{TopicInternalDispatcher, TopicManagerInternalDispatcher};
use floe::dispatch::{DispatchSlot, Requests};
use floe::hub::CALLBACK_FACET;
use floe::message::RequestFailed;
use floe::{Current, Dispatcher, SystemException};
use floe_access::Action;

use super::publisher::Recipient;
use super::topic::TopicServant;
use super::topic_manager::TopicManagerServant;
use super::{DURABLE_TOPICS, FINDER, HUB_ADMIN, link_receiver, publisher};
use crate::core::WAITING_FACET;
use crate::service::directory::Object;
use crate::service::registry::Registry;

/// The objects in the hub's category. The finder and the administrative objects are separate servants.
pub(super) struct Objects {
    registry: Arc<Registry>,
    reach: Reach,
    topic_manager: Arc<TopicManagerInternalDispatcher<TopicManagerServant>>,
}

/// Which objects an adapter has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reach {
    /// All objects.
    All,
    /// Only publisher objects and link receivers, which take events.
    Publishers,
}

impl Objects {
    pub(super) fn new(registry: &Arc<Registry>, reach: Reach) -> Self {
        let topic_manager = TopicManagerServant::new(registry);
        Self {
            registry: registry.clone(),
            reach,
            topic_manager: Arc::new(TopicManagerInternalDispatcher::new(topic_manager)),
        }
    }

    /// The object with this name, if this adapter has it.
    fn find(&self, name: &str) -> Option<Object> {
        let takes_events = |object: &Object| {
            matches!(
                object,
                Object::Publisher(_) | Object::SubscriberPublisher(_) | Object::LinkReceiver(_)
            )
        };
        let found = self.registry.directory().find(name);
        found.filter(|object| self.reach == Reach::All || takes_events(object))
    }

    /// Asks the rules about all requests of a connection to an object, which come from one user. If an operation needs
    /// further permissions, its servant asks.
    fn check(&self, object: &Object, current: &Current) -> Result<(), SystemException> {
        let guard = self.registry.guard();
        match object {
            Object::Publisher(topic) => guard.check(current, Action::Publish, topic.name()),
            Object::SubscriberPublisher(subscriber) => {
                guard.check(current, Action::Publish, subscriber.topic())
            }
            Object::Topic(topic) => guard.check_found(current, topic.name()),
            Object::LinkReceiver(_) | Object::TopicManager => Ok(()),
        }
    }
}

impl Dispatcher for Objects {
    fn dispatch(self: Arc<Self>, requests: Requests, slot: &mut DispatchSlot) {
        let current = requests.front().current();
        let Some(object) = self.find(current.name()) else {
            // Requests to other facets of the finder and of the administrative object come here too.
            let identity = current.identity().to_string();
            return match [FINDER, HUB_ADMIN, DURABLE_TOPICS].contains(&identity.as_str()) {
                true => refuse(slot, SystemException::FacetNotExist),
                false => refuse(slot, SystemException::ObjectNotExist),
            };
        };
        let recipient = Recipient::of(&object);
        let waits_for_room = recipient.is_some() && current.facet() == WAITING_FACET;
        let calls_back = matches!(object, Object::Topic(_)) && current.facet() == CALLBACK_FACET;
        if !waits_for_room && !calls_back && !current.facet().is_empty() {
            return refuse(slot, SystemException::FacetNotExist);
        }
        let guard = self.registry.guard();
        if !guard.is_open() {
            if guard.asks_each()
                && let Some(recipient) = recipient
            {
                return recipient.publish_each(waits_for_room, &self.registry, requests, slot);
            }
            if let Err(refused) = self.check(&object, current) {
                return slot.run(ready(Err(refused)));
            }
        }
        match object {
            Object::Topic(topic) if calls_back => {
                let servant = TopicServant::calling_back(&self.registry, topic);
                Arc::new(TopicInternalDispatcher::new(servant)).dispatch(requests, slot);
            }
            Object::Publisher(topic) => publisher::publish(requests, slot, &topic, waits_for_room),
            Object::SubscriberPublisher(subscriber) => {
                publisher::publish_to_one(requests, slot, &subscriber, waits_for_room);
            }
            Object::LinkReceiver(topic) => {
                let registry = self.registry.clone();
                requests.each(slot, move |request| {
                    link_receiver::answer(request, topic.clone(), registry.clone())
                });
            }
            Object::TopicManager => {
                let (dispatcher, registry) = (self.topic_manager.clone(), self.registry.clone());
                requests.each(slot, move |request| {
                    TopicManagerServant::answer(request, dispatcher.clone(), registry.clone())
                });
            }
            Object::Topic(topic) => {
                let servant = TopicServant::new(&self.registry, topic);
                Arc::new(TopicInternalDispatcher::new(servant)).dispatch(requests, slot);
            }
        }
    }
}

/// Throws an exception. The runtime fills in the identity of the object.
fn refuse(slot: &mut DispatchSlot, exception: impl FnOnce(RequestFailed) -> SystemException) {
    slot.run(ready(Err(exception(RequestFailed::default()))));
}
