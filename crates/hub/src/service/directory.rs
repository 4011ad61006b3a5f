//! The objects of a hub by name.
//!
//! - `directory/counting.rs`: counts the events of all topics in steps

mod counting;

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};
use std::iter::from_fn;
use std::ops::Bound;
use std::sync::{Arc, RwLockReadGuard, RwLockWriteGuard};

use super::destroyed_topics::DestroyedTopics;
use super::durable::TopicLog;
use super::pace::STEP;
use super::subscriber::Subscriber;
use super::topic::Topic;
use super::user_accounts::UserName;
use crate::core::{ObjectName, subscriber_publisher_name};
use crate::lock::RwLock;
pub(crate) use counting::CountingAll;

/// Finds topics, and the objects that belong to topics and subscribers.
#[derive(Default)]
pub(crate) struct ObjectDirectory {
    /// Guards the names. It is held for one look-up or one change.
    names: RwLock<Names>,
    /// Topics that have no name any more.
    destroyed: DestroyedTopics,
}

#[derive(Default)]
struct Names {
    /// In the order of their names, for those who read them in pages.
    topics: BTreeMap<Arc<str>, Arc<Topic>>,
    /// By the name of the publisher object that sends to this subscriber alone.
    subscriber_publishers: HashMap<String, Arc<Subscriber>>,
}

/// An object of the hub.
pub(crate) enum Object {
    /// The topic manager.
    TopicManager,
    /// A topic.
    Topic(Arc<Topic>),
    /// The publisher object of a topic.
    Publisher(Arc<Topic>),
    /// The object that receives the events of links to a topic.
    LinkReceiver(Arc<Topic>),
    /// The publisher object of one subscriber.
    SubscriberPublisher(Arc<Subscriber>),
}

impl ObjectDirectory {
    /// The object with this name.
    pub(crate) fn find(&self, name: &str) -> Option<Object> {
        self.read().find(name)
    }

    /// The first of these names that an object has already.
    pub(crate) fn first_taken<'a>(&self, candidates: &'a [String]) -> Option<&'a String> {
        let names = self.read();
        candidates.iter().find(|name| names.find(name).is_some())
    }

    /// The topic with this name.
    pub(crate) fn topic(&self, name: &str) -> Option<Arc<Topic>> {
        self.read().topics.get(name).cloned()
    }

    /// How many topics there are.
    pub(crate) fn topic_count(&self) -> usize {
        self.read().topics.len()
    }

    /// All topics in the order of their names. They are taken a few at a time, so that nothing has to wait until all
    /// were looked at.
    pub(crate) fn topics(&self) -> impl Iterator<Item = Arc<Topic>> {
        let mut last = None;
        let pages = from_fn(move || {
            let page = self.topics_after(last.as_deref(), STEP);
            last = Some(page.last()?.shared_name().clone());
            Some(page)
        });
        pages.flatten()
    }

    /// Topics in the order of their names, from the first behind this name on, at most `count` of them.
    pub(crate) fn topics_after(&self, name: Option<&str>, count: usize) -> Vec<Arc<Topic>> {
        let names = self.read();
        let start = name.map_or(Bound::Unbounded, Bound::Excluded);
        let behind = names.topics.range::<str, _>((start, Bound::Unbounded));
        behind.take(count).map(|(_, topic)| topic.clone()).collect()
    }

    /// Begins to count the events of all topics, those included that were destroyed.
    pub(crate) fn counting(&self) -> CountingAll<'_> {
        CountingAll::new(self)
    }

    /// All subscribers and links with deliveries under way, those that are leaving included.
    pub(crate) fn recipients(&self) -> Vec<Arc<Subscriber>> {
        let mut recipients: Vec<_> = self.topics().flat_map(|t| t.recipients()).collect();
        recipients.extend(self.destroyed.recipients());
        recipients
    }

    /// Adds a new topic, with its log if it is durable.
    pub(crate) fn add_topic(
        &self,
        name: String,
        log: Option<Arc<TopicLog>>,
        user: Option<UserName>,
    ) -> Arc<Topic> {
        let topic = Topic::new(name, log, user);
        let mut names = self.write();
        names
            .topics
            .insert(topic.shared_name().clone(), topic.clone());
        topic
    }

    /// Removes a topic and keeps its counts. Both happen under one lock, so that [`CountingAll`] always includes it.
    pub(crate) fn remove_topic(&self, name: &str) {
        let mut names = self.write();
        if let Some(topic) = names.topics.remove(name) {
            self.destroyed.add(topic);
        }
    }

    /// Adds the publisher object of a subscriber. A subscriber of another topic can have the same name if an older hub
    /// wrote the store; the first one keeps it.
    pub(crate) fn add_publisher(&self, topic: &Topic, subscriber: &Arc<Subscriber>) {
        let name = subscriber_publisher_name(topic.name(), subscriber.identity());
        let mut names = self.write();
        let publisher = names.subscriber_publishers.entry(name);
        publisher.or_insert_with(|| subscriber.clone());
    }

    /// Removes the publisher object of a subscriber.
    pub(crate) fn remove_publisher(&self, topic: &Topic, subscriber: &Arc<Subscriber>) {
        let name = subscriber_publisher_name(topic.name(), subscriber.identity());
        if let Entry::Occupied(publisher) = self.write().subscriber_publishers.entry(name)
            && Arc::ptr_eq(publisher.get(), subscriber)
        {
            publisher.remove();
        }
    }

    fn read(&self) -> RwLockReadGuard<'_, Names> {
        self.names.read()
    }

    fn write(&self) -> RwLockWriteGuard<'_, Names> {
        self.names.write()
    }
}

impl Names {
    /// The first object that the name can mean.
    fn find(&self, name: &str) -> Option<Object> {
        ObjectName::candidates(name).find_map(|candidate| self.object(candidate))
    }

    fn object(&self, name: ObjectName<'_>) -> Option<Object> {
        let topic = |name: &str| self.topics.get(name).cloned();
        match name {
            ObjectName::TopicManager => Some(Object::TopicManager),
            ObjectName::Topic(name) => topic(name).map(Object::Topic),
            ObjectName::Publisher(name) => topic(name).map(Object::Publisher),
            ObjectName::LinkReceiver(name) => topic(name).map(Object::LinkReceiver),
            ObjectName::SubscriberPublisher(name) => {
                let subscriber = self.subscriber_publishers.get(name).cloned();
                subscriber.map(Object::SubscriberPublisher)
            }
        }
    }
}
