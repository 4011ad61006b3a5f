//! The default servant of the hub's category: finds the object of a request among all topics, so
//! that a topic costs no registration.

use std::future::ready;
use std::sync::Arc;

use floe::contracts::ice_storm::{TopicInternalDispatcher, TopicManagerInternalDispatcher};
use floe::{
    Current, DispatchFuture, Dispatcher, EventSink, Request, RequestFailed, SystemException,
};

use super::topic::TopicServant;
use super::topic_manager::TopicManagerServant;
use super::{FINDER, HUB_ADMIN, link_receiver, publisher};
use crate::core::WAITING_FACET;
use crate::service::registry::{Object, Registry};

/// All objects of the hub but the finder.
pub(super) struct Objects {
    registry: Arc<Registry>,
    reach: Reach,
    topic_manager: Arc<TopicManagerInternalDispatcher<TopicManagerServant>>,
}

/// Which objects there are on an adapter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reach {
    /// All.
    All,
    /// What takes events, alone: publisher objects and receiving ends of links.
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

    /// The object of this name, if it is to be found here.
    fn find(&self, name: &str) -> Option<Object> {
        let is_publisher = |object: &Object| {
            matches!(
                object,
                Object::Publisher(_) | Object::SubscriberPublisher(_) | Object::LinkReceiver(_)
            )
        };
        let found = self.registry.find(name);
        found.filter(|object| self.reach == Reach::All || is_publisher(object))
    }
}

impl Dispatcher for Objects {
    fn event_sink(&self, current: &Current) -> Option<Arc<dyn EventSink>> {
        let Some(Object::Publisher(topic)) = self.find(current.name()) else {
            return None;
        };
        match current.facet() {
            "" => Some(topic.topic().clone()),
            WAITING_FACET => Some(topic),
            _ => None,
        }
    }

    fn dispatch(self: Arc<Self>, request: Request) -> DispatchFuture {
        let current = request.current();
        let Some(object) = self.find(current.name()) else {
            // Other facets than the default of what has a servant of its own come here, too.
            let identity = current.identity().to_string();
            return match [FINDER, HUB_ADMIN].contains(&identity.as_str()) {
                true => refuse(SystemException::FacetNotExist),
                false => refuse(SystemException::ObjectNotExist),
            };
        };
        match object {
            Object::Publisher(topic) if current.facet() == WAITING_FACET => {
                Box::pin(publisher::publish_waiting(request, topic.topic().clone()))
            }
            Object::SubscriberPublisher(subscriber) if current.facet() == WAITING_FACET => {
                Box::pin(publisher::publish_to_one_waiting(request, subscriber))
            }
            _ if !current.facet().is_empty() => refuse(SystemException::FacetNotExist),
            Object::Publisher(topic) => Box::pin(ready(publisher::publish(request, topic.topic()))),
            Object::SubscriberPublisher(subscriber) => {
                Box::pin(ready(publisher::publish_to_one(request, &subscriber)))
            }
            Object::LinkReceiver(topic) => Box::pin(ready(link_receiver::answer(request, &topic))),
            Object::TopicManager => self.topic_manager.clone().dispatch(request),
            Object::Topic(topic) => {
                let servant = TopicServant::new(&self.registry, topic);
                Arc::new(TopicInternalDispatcher::new(servant)).dispatch(request)
            }
        }
    }
}

/// The runtime says which object it was.
fn refuse(exception: impl FnOnce(RequestFailed) -> SystemException) -> DispatchFuture {
    Box::pin(ready(Err(exception(RequestFailed::default()))))
}
