//! The default servant of the hub's category. It finds the object of each request, so that a topic needs no
//! registration with the adapter.

use std::future::ready;
use std::sync::Arc;

use floe::contracts::ice_storm::{TopicInternalDispatcher, TopicManagerInternalDispatcher};
use floe::{DispatchSlot, Dispatcher, RequestFailed, Requests, SystemException};

use super::topic::TopicServant;
use super::topic_manager::TopicManagerServant;
use super::{FINDER, HUB_ADMIN, link_receiver, publisher};
use crate::core::WAITING_FACET;
use crate::service::directory::Object;
use crate::service::registry::Registry;

/// All objects of the hub but the finder.
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
        let is_publisher = |object: &Object| {
            matches!(
                object,
                Object::Publisher(_) | Object::SubscriberPublisher(_) | Object::LinkReceiver(_)
            )
        };
        let found = self.registry.directory().find(name);
        found.filter(|object| self.reach == Reach::All || is_publisher(object))
    }
}

impl Dispatcher for Objects {
    fn dispatch(self: Arc<Self>, requests: Requests, slot: &mut DispatchSlot) {
        let current = requests.front().current();
        let Some(object) = self.find(current.name()) else {
            // Requests to other facets of the finder and of the administrative object come here too.
            let identity = current.identity().to_string();
            return match [FINDER, HUB_ADMIN].contains(&identity.as_str()) {
                true => refuse(slot, SystemException::FacetNotExist),
                false => refuse(slot, SystemException::ObjectNotExist),
            };
        };
        match object {
            Object::Publisher(topic) if current.facet() == WAITING_FACET => {
                publisher::publish_waiting(requests, slot, &topic);
            }
            Object::SubscriberPublisher(subscriber) if current.facet() == WAITING_FACET => {
                publisher::publish_to_one_waiting(requests, slot, &subscriber);
            }
            _ if !current.facet().is_empty() => refuse(slot, SystemException::FacetNotExist),
            Object::Publisher(topic) => publisher::publish(requests, slot, &topic),
            Object::SubscriberPublisher(subscriber) => {
                publisher::publish_to_one(requests, slot, &subscriber);
            }
            Object::LinkReceiver(topic) => {
                requests.each(slot, move |request| {
                    ready(link_receiver::answer(request, &topic))
                });
            }
            Object::TopicManager => self.topic_manager.clone().dispatch(requests, slot),
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
