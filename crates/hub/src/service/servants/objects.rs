//! The default servant of the hub's category. It finds the object of each request, so that a topic needs no
//! registration with the adapter.

use std::future::ready;
use std::sync::Arc;

use floe::contracts::ice_storm::{TopicInternalDispatcher, TopicManagerInternalDispatcher};
use floe::dispatch::{DispatchSlot, Requests};
use floe::hub::CALLBACK_FACET;
use floe::message::RequestFailed;
use floe::{Dispatcher, SystemException};
use floe_access::Action;

use super::publisher::Recipient;
use super::topic::TopicServant;
use super::topic_manager::TopicManagerServant;
use super::{BACKUP, DURABLE_TOPICS, FINDER, HUB_ADMIN, link_receiver};
use crate::core::WAITING_FACET;
use crate::service::directory::Object;
use crate::service::registry::Registry;
use crate::service::topic::Topic;

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

    /// Publishes the requests as events. They come from one user, or the guard asks about each.
    fn publish(&self, recipient: Recipient, requests: Requests, slot: &mut DispatchSlot) {
        let current = requests.front().current();
        let waits_for_room = current.facet() == WAITING_FACET;
        if !waits_for_room && !current.facet().is_empty() {
            return refuse(slot, SystemException::FacetNotExist);
        }
        let guard = self.registry.guard();
        if !guard.is_open() {
            if guard.asks_each() {
                return recipient.publish_each(waits_for_room, &self.registry, requests, slot);
            }
            if let Err(refused) = guard.check(current, Action::Publish, recipient.topic()) {
                return slot.run(ready(Err(refused)));
            }
        }
        recipient.publish_all(waits_for_room, &self.registry, requests, slot);
    }

    /// Passes requests to the servant of a topic. If an operation needs further permissions, the servant asks.
    fn serve_topic(&self, topic: Arc<Topic>, requests: Requests, slot: &mut DispatchSlot) {
        let current = requests.front().current();
        let calls_back = current.facet() == CALLBACK_FACET;
        if !calls_back && !current.facet().is_empty() {
            return refuse(slot, SystemException::FacetNotExist);
        }
        let guard = self.registry.guard();
        if !guard.is_open()
            && let Err(refused) = guard.check_found(current, topic.name())
        {
            return slot.run(ready(Err(refused)));
        }
        let servant = match calls_back {
            true => TopicServant::calling_back(&self.registry, topic),
            false => TopicServant::new(&self.registry, topic),
        };
        Arc::new(TopicInternalDispatcher::new(servant)).dispatch(requests, slot);
    }
}

impl Dispatcher for Objects {
    fn dispatch(self: Arc<Self>, requests: Requests, slot: &mut DispatchSlot) {
        let current = requests.front().current();
        let Some(object) = self.find(current.name()) else {
            // Requests to other facets of the finder and of the administrative object come here too.
            let identity = current.identity().to_string();
            return match [FINDER, HUB_ADMIN, DURABLE_TOPICS, BACKUP].contains(&identity.as_str()) {
                true => refuse(slot, SystemException::FacetNotExist),
                false => refuse(slot, SystemException::ObjectNotExist),
            };
        };
        match object {
            Object::Publisher(topic) => self.publish(Recipient::Topic(topic), requests, slot),
            Object::SubscriberPublisher(subscriber) => {
                self.publish(Recipient::Subscriber(subscriber), requests, slot);
            }
            Object::Topic(topic) => self.serve_topic(topic, requests, slot),
            _ if !current.facet().is_empty() => refuse(slot, SystemException::FacetNotExist),
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
        }
    }
}

/// Throws an exception. The runtime fills in the identity of the object.
fn refuse(slot: &mut DispatchSlot, exception: impl FnOnce(RequestFailed) -> SystemException) {
    slot.run(ready(Err(exception(RequestFailed::default()))));
}
