//! Which object has which name.

use std::collections::HashMap;
use std::sync::Arc;

use crate::core::ObjectName;
use crate::service::subscriber::Subscriber;
use crate::service::topic::Topic;

/// All that has a name, by it.
#[derive(Default)]
pub(super) struct Directory {
    pub(super) topics: HashMap<String, Arc<Topic>>,
    /// By the name of the object whose events go to one subscriber alone.
    pub(super) subscriber_publishers: HashMap<String, Arc<Subscriber>>,
}

/// An object of the hub.
pub(crate) enum Object {
    /// The topic manager.
    TopicManager,
    /// A topic.
    Topic(Arc<Topic>),
    /// The publisher object of a topic.
    Publisher(Arc<Topic>),
    /// The object that takes what links bring to a topic.
    LinkReceiver(Arc<Topic>),
    /// The publisher object of one subscriber.
    SubscriberPublisher(Arc<Subscriber>),
}

impl Directory {
    /// The object of this name.
    pub(super) fn find(&self, name: ObjectName<'_>) -> Option<Object> {
        match name {
            ObjectName::TopicManager => Some(Object::TopicManager),
            ObjectName::Topic(name) => self.topic(name).cloned().map(Object::Topic),
            ObjectName::Publisher(name) => self.topic(name).cloned().map(Object::Publisher),
            ObjectName::LinkReceiver(name) => self.topic(name).cloned().map(Object::LinkReceiver),
            ObjectName::SubscriberPublisher(name) => {
                let subscriber = self.subscriber_publishers.get(name).cloned();
                subscriber.map(Object::SubscriberPublisher)
            }
        }
    }

    /// The topic of this name.
    pub(super) fn topic(&self, name: &str) -> Option<&Arc<Topic>> {
        self.topics.get(name)
    }

    /// All topics.
    pub(super) fn topics(&self) -> impl Iterator<Item = &Arc<Topic>> {
        self.topics.values()
    }

    /// Whether anything can be meant by this name.
    pub(super) fn has(&self, name: &str) -> bool {
        ObjectName::candidates(name).any(|candidate| self.find(candidate).is_some())
    }
}
