//! All topics, and every change to them.
//!
//! A change runs under one lock: it is checked, committed to the store, and then shown. Look-ups
//! never wait for it.
//!
//! - `registry/directory.rs`: which object has which name
//! - `registry/links.rs`: links between topics
//! - `registry/ending.rs`: deliveries, and how they end

mod directory;
mod ending;
mod links;

use std::collections::BTreeMap;
use std::collections::hash_map::Entry;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, RwLock};
use std::time::{Duration, Instant};

use floe::{Adapter, Communicator, Identity, Proxy};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use directory::Directory;
pub(crate) use directory::Object;

use super::one_line::OneLine;
use super::past_topics::{Counts, PastTopics};
use super::subscriber::{ReadyQueue, Subscriber};
use super::topic::Topic;
use crate::core::{
    ObjectName, Qos, is_too_long, publisher_name, receiver_name, subscriber_publisher_name,
    topic_name,
};
use crate::error::{ChangeError, StoreError};
use crate::settings::HubSettings;
use crate::store::{Change, Store, StoredRecipient, StoredSubscription, StoredTopic};

/// The topics of a hub.
pub(crate) struct Registry {
    /// As at the start: what they say of names and places holds to the end.
    settings: HubSettings,
    /// As they are now: what they say of queues and waits.
    live: RwLock<Arc<HubSettings>>,
    /// Where its objects are, once it listens.
    adapters: OnceLock<Adapters>,
    /// When it was opened.
    started: Instant,
    /// Guards look-ups; held for one, or to show a change.
    directory: RwLock<Directory>,
    /// Topics that were in the directory.
    past_topics: PastTopics,
    /// Guards the order of changes, and is held while one is committed.
    changes: Mutex<Changes>,
    has_slow_store: bool,
    deliveries: TaskTracker,
    /// Those of links within the hub, which end before the others: these deliver what links bring.
    links_within: TaskTracker,
    /// Subscribers that have events for the delivery scheduler.
    ready: Arc<ReadyQueue>,
    /// Ends deliveries at once, whatever they are doing.
    abort: CancellationToken,
}

/// Where the objects of a hub are found.
pub(super) struct Adapters {
    /// All, or all but publisher objects.
    pub(super) main: Adapter,
    /// Publisher objects, if they have one of their own.
    pub(super) publish: Option<Adapter>,
}

/// What is kept, and what should not be kept any more.
struct Changes {
    store: Box<dyn Store>,
    /// Dead subscribers that could not be removed: it is tried again with the next change.
    unremoved: Vec<(Arc<Topic>, Arc<Subscriber>)>,
}

impl Registry {
    /// A registry with what its store keeps.
    pub(crate) fn open(
        settings: HubSettings,
        store: Box<dyn Store>,
        stored: Vec<StoredTopic>,
        communicator: &Communicator,
    ) -> Arc<Self> {
        let registry = Arc::new(Self {
            live: RwLock::new(Arc::new(settings.clone())),
            adapters: OnceLock::new(),
            started: Instant::now(),
            settings,
            directory: RwLock::default(),
            past_topics: PastTopics::default(),
            has_slow_store: store.is_slow(),
            changes: Mutex::new(Changes {
                store,
                unremoved: Vec::new(),
            }),
            deliveries: TaskTracker::new(),
            links_within: TaskTracker::new(),
            ready: Arc::default(),
            abort: CancellationToken::new(),
        });
        registry.start_scheduler();
        for topic in stored {
            let shown = registry.show_topic(topic.name);
            for recipient in topic.recipients {
                match recipient {
                    StoredRecipient::Subscription(subscription) => {
                        registry.restore(&shown, subscription, communicator);
                    }
                    StoredRecipient::Link(link) => registry.show_link(&shown, link, communicator),
                }
            }
        }
        registry
    }

    pub(crate) fn settings(&self) -> &HubSettings {
        &self.settings
    }

    /// The settings as they are now.
    pub(crate) fn live_settings(&self) -> Arc<HubSettings> {
        let live = self.live.read();
        live.unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Applies what may change while the hub runs, to every subscriber; which of the settings that
    /// differ wait for the next start.
    pub(crate) fn reconfigure(&self, settings: HubSettings) -> Vec<&'static str> {
        // No subscription begins meanwhile, so that none misses it.
        let _changes = self.begin_change();
        let waiting = self.settings.fixed_differences(&settings);
        let settings = Arc::new(settings);
        let mut live = self.live.write().unwrap_or_else(PoisonError::into_inner);
        *live = settings.clone();
        drop(live);
        self.ready.set_pace((&*settings).into());
        for topic in self.topics() {
            for subscriber in topic.all_subscribers() {
                subscriber.reconfigure(&settings);
            }
        }
        waiting
    }

    /// Its objects are found there.
    pub(super) fn set_adapters(&self, adapters: Adapters) {
        // They are set once, at the start.
        let _ = self.adapters.set(adapters);
    }

    /// Where its objects are found, once it listens.
    pub(super) fn adapters(&self) -> Option<&Adapters> {
        self.adapters.get()
    }

    /// How long it has been open.
    pub(super) fn uptime(&self) -> Duration {
        self.started.elapsed()
    }

    /// The object of this name.
    pub(crate) fn find(&self, name: &str) -> Option<Object> {
        let directory = self.read();
        ObjectName::candidates(name).find_map(|candidate| directory.find(candidate))
    }

    /// The topic of this name.
    pub(crate) fn topic(&self, name: &str) -> Option<Arc<Topic>> {
        self.read().topic(name).cloned()
    }

    /// All topics.
    pub(crate) fn topics(&self) -> Vec<Arc<Topic>> {
        self.read().topics().cloned().collect()
    }

    /// All topics, and what happened in those that were destroyed.
    pub(super) fn topics_and_past(&self) -> (Vec<Arc<Topic>>, Counts) {
        let directory = self.read();
        let topics = directory.topics().cloned().collect();
        (topics, self.past_topics.counts())
    }

    /// Creates a topic.
    pub(crate) fn create(self: &Arc<Self>, name: String) -> Result<Arc<Topic>, ChangeError> {
        let mut changes = self.begin_change();
        if self.topic(&name).is_some() {
            return Err(ChangeError::TopicExists);
        }
        self.check_topic_name(&name)?;
        self.apply(&mut changes, &Change::CreateTopic { topic: &name })?;
        tracing::info!("created topic {name:?}");
        Ok(self.show_topic(name))
    }

    /// Removes a topic and ends its subscriptions.
    pub(crate) fn destroy(&self, topic: &Topic) -> Result<(), ChangeError> {
        let mut changes = self.begin_change();
        let name = topic.name();
        if topic.is_destroyed() {
            return Err(ChangeError::TopicGone);
        }
        self.apply(&mut changes, &Change::DestroyTopic { topic: name })?;
        topic.set_destroyed();
        let mut directory = self.write();
        if let Some(topic) = directory.topics.remove(name) {
            // In the same moment, so that it is always either here or there.
            self.past_topics.add(topic);
        }
        drop(directory);
        for subscriber in topic.all_subscribers() {
            self.hide_subscriber(topic, &subscriber);
        }
        tracing::info!("destroyed topic {name:?}");
        Ok(())
    }

    /// Subscribes an object.
    pub(crate) fn subscribe(
        self: &Arc<Self>,
        topic: &Arc<Topic>,
        proxy: &Proxy,
        qos_text: BTreeMap<String, String>,
        qos: Qos,
    ) -> Result<(), ChangeError> {
        let mut changes = self.begin_change();
        if topic.is_destroyed() {
            return Err(ChangeError::TopicGone);
        }
        let identity = &proxy.reference().identity;
        let former = topic.find(identity);
        if former.as_ref().is_some_and(|former| !former.is_gone()) {
            return Err(ChangeError::AlreadySubscribed);
        }
        self.check_subscriber_name(topic.name(), identity, former.as_ref())?;
        let subscription = StoredSubscription {
            subscriber: proxy.reference().clone(),
            qos: qos_text,
        };
        let change = Change::Subscribe {
            topic: topic.name(),
            subscription: &subscription,
        };
        let shown = OneLine(proxy);
        if proxy.is_fixed() {
            // It ends with its connection, and so with the hub.
            self.remove(&mut changes, topic, former.as_slice())?;
            tracing::info!(
                "subscribed \"{shown}\" to topic {:?}, over its own connection",
                topic.name()
            );
            self.show_subscriber(topic, proxy, subscription.qos, qos);
            return Ok(());
        }
        self.replace(&mut changes, topic, former, &change)?;
        tracing::info!("subscribed \"{shown}\" to topic {:?}", topic.name());
        if let Err(error) = proxy.check_endpoints() {
            tracing::warn!("the first event will fail: {}", OneLine(error));
        }
        self.show_subscriber(topic, proxy, subscription.qos, qos);
        Ok(())
    }

    /// Ends the subscriptions of objects, if there are any.
    pub(crate) fn unsubscribe(
        &self,
        topic: &Topic,
        identities: &[Identity],
    ) -> Result<(), ChangeError> {
        let mut changes = self.begin_change();
        if topic.is_destroyed() {
            return Err(ChangeError::TopicGone);
        }
        let found = |identity| topic.find(identity);
        let subscribers: Vec<_> = identities.iter().filter_map(found).collect();
        self.remove(&mut changes, topic, &subscribers)
    }

    /// Makes a change where it may take its time.
    pub(crate) async fn change<T: Send + 'static>(
        self: &Arc<Self>,
        change: impl FnOnce(&Arc<Self>) -> T + Send + 'static,
    ) -> T {
        if !self.has_slow_store {
            return change(self);
        }
        let registry = self.clone();
        let changed = tokio::task::spawn_blocking(move || change(&registry)).await;
        match changed.map_err(tokio::task::JoinError::try_into_panic) {
            Ok(changed) => changed,
            Err(Ok(panic)) => std::panic::resume_unwind(panic),
            // The runtime is ending, and this task with it.
            Err(Err(_)) => std::future::pending().await,
        }
    }

    /// Begins a change: there is no other while the result lives. What could not be removed
    /// earlier is removed first.
    fn begin_change(&self) -> MutexGuard<'_, Changes> {
        let mut changes = self.lock_changes();
        self.remove_dead(&mut changes);
        changes
    }

    /// Removes dead subscribers, until the store fails.
    fn remove_dead(&self, changes: &mut Changes) {
        while let Some((topic, subscriber)) = changes.unremoved.pop() {
            let removed = self.remove(changes, &topic, std::slice::from_ref(&subscriber));
            if removed.is_err() {
                return changes.unremoved.push((topic, subscriber));
            }
            topic.settle(&subscriber);
        }
    }

    /// Commits a change. Whoever asked for it is told of an error, and so is the log.
    fn apply(&self, changes: &mut Changes, change: &Change<'_>) -> Result<(), StoreError> {
        let applied = changes.store.apply(change);
        if let Err(error) = &applied
            && !self.abort.is_cancelled()
        {
            tracing::error!("nothing has changed: {error}");
        }
        applied
    }

    /// Commits what puts another subscriber in the place of a dead one, if there is one.
    fn replace(
        &self,
        changes: &mut Changes,
        topic: &Topic,
        former: Option<Arc<Subscriber>>,
        change: &Change<'_>,
    ) -> Result<(), ChangeError> {
        if let Some(former) = former {
            // Its record may be one of another kind, which would stay beside the new one.
            self.remove(changes, topic, &[former])?;
        }
        Ok(self.apply(changes, change)?)
    }

    /// Removes those of the subscribers that have not been removed yet.
    fn remove(
        &self,
        changes: &mut Changes,
        topic: &Topic,
        subscribers: &[Arc<Subscriber>],
    ) -> Result<(), ChangeError> {
        let is_present = |subscriber: &&Arc<Subscriber>| topic.has(subscriber);
        let present: Vec<_> = subscribers.iter().filter(is_present).collect();
        if present.is_empty() {
            return Ok(());
        }
        let stored = present.iter().filter(|s| !s.proxy().is_fixed());
        let identities: Vec<_> = stored.map(|s| s.identity().clone()).collect();
        if !identities.is_empty() {
            let change = Change::Unsubscribe {
                topic: topic.name(),
                subscribers: &identities,
            };
            self.apply(changes, &change)?;
        }
        for subscriber in present {
            tracing::info!("removed {}", subscriber.log_name());
            self.hide_subscriber(topic, subscriber);
        }
        Ok(())
    }

    fn check_topic_name(&self, name: &str) -> Result<(), ChangeError> {
        if is_too_long(&self.settings.instance_name, name, &Identity::default()) {
            return Err(too_long("topic name", name.len()));
        }
        let directory = self.read();
        let names = [topic_name(name), publisher_name(name), receiver_name(name)];
        let taken = names.iter().find(|name| directory.has(name));
        taken.map_or(Ok(()), |taken| Err(name_taken(taken)))
    }

    /// `former` is the one that is replaced.
    fn check_subscriber_name(
        &self,
        topic: &str,
        identity: &Identity,
        former: Option<&Arc<Subscriber>>,
    ) -> Result<(), ChangeError> {
        if is_too_long(&self.settings.instance_name, topic, identity) {
            let len = topic.len() + identity.name.len() + identity.category.len();
            return Err(too_long("topic name and subscriber identity", len));
        }
        let name = subscriber_publisher_name(topic, identity);
        match self.find(&name) {
            None => Ok(()),
            Some(Object::SubscriberPublisher(found))
                if former.is_some_and(|former| Arc::ptr_eq(former, &found)) =>
            {
                Ok(())
            }
            Some(_) => Err(name_taken(&name)),
        }
    }

    fn show_topic(&self, name: String) -> Arc<Topic> {
        let topic = Topic::new(name.clone());
        self.write().topics.insert(name, topic.clone());
        topic
    }

    fn show_subscriber(
        self: &Arc<Self>,
        topic: &Arc<Topic>,
        proxy: &Proxy,
        qos_text: BTreeMap<String, String>,
        qos: Qos,
    ) {
        let name = topic.shared_name();
        let subscriber = Arc::new(Subscriber::new(
            name,
            proxy,
            qos_text,
            qos,
            &self.live_settings(),
            &self.ready,
        ));
        let name = subscriber_publisher_name(name, subscriber.identity());
        // It is taken only if the store was written by a hub that did not check this.
        self.write()
            .subscriber_publishers
            .entry(name)
            .or_insert_with(|| subscriber.clone());
        self.show_recipient(topic, subscriber);
    }

    fn show_recipient(self: &Arc<Self>, topic: &Arc<Topic>, recipient: Arc<Subscriber>) {
        topic.add(recipient.clone());
        let deliveries = self.deliveries_like(&recipient);
        deliveries.spawn(self.clone().deliver(topic.clone(), recipient));
    }

    /// Takes a subscriber out of sight; its delivery task then ends.
    fn hide_subscriber(&self, topic: &Topic, subscriber: &Arc<Subscriber>) {
        let name = subscriber_publisher_name(topic.name(), subscriber.identity());
        if let Entry::Occupied(shown) = self.write().subscriber_publishers.entry(name)
            && Arc::ptr_eq(shown.get(), subscriber)
        {
            shown.remove();
        }
        topic.remove(subscriber);
    }

    fn restore(
        self: &Arc<Self>,
        topic: &Arc<Topic>,
        subscription: StoredSubscription,
        communicator: &Communicator,
    ) {
        let StoredSubscription { subscriber, qos } = subscription;
        match Qos::parse(&qos, subscriber.mode) {
            Ok(parsed) => {
                let proxy = communicator.proxy_from(subscriber);
                self.show_subscriber(topic, &proxy, qos, parsed);
            }
            Err(reason) => tracing::error!(
                "ignored the stored subscription of \"{}\" to topic {:?}: {}",
                OneLine(&subscriber.identity),
                topic.name(),
                OneLine(reason)
            ),
        }
    }

    fn read(&self) -> std::sync::RwLockReadGuard<'_, Directory> {
        self.directory
            .read()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> std::sync::RwLockWriteGuard<'_, Directory> {
        self.directory
            .write()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn lock_changes(&self) -> MutexGuard<'_, Changes> {
        // A change that panicked was not committed, or is committed and not shown: the next start
        // shows it.
        self.changes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn too_long(what: &str, len: usize) -> ChangeError {
    ChangeError::Unnameable(format!(
        "{what} of {len} bytes: expected a key of at most 511 bytes, as IceStorm stores; use shorter names"
    ))
}

fn name_taken(name: &str) -> ChangeError {
    ChangeError::Unnameable(format!(
        "another object has the identity name {name:?} already: use another topic name or subscriber identity"
    ))
}

#[cfg(test)]
mod tests;
