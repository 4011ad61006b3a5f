//! The registry makes every change to topics, subscriptions and links.
//!
//! Changes run one at a time: each is checked, committed to the store, and only then made visible. Look-ups go to the
//! directory and never wait for a change.
//!
//! - `registry/subscriptions.rs`: subscriptions
//! - `registry/links.rs`: links between topics
//! - `registry/durable.rs`: durable topics
//! - `registry/new_topic.rs`, `new_reader.rs`: a topic or reader that is about to begin, and is removed if it does not
//! - `registry/deliveries.rs`: the tasks that deliver, and how they end

mod deliveries;
mod durable;
mod links;
mod new_reader;
mod new_topic;
mod subscriptions;

use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, MutexGuard, OnceLock};
use std::time::{Duration, Instant};

use floe::{Adapter, Communicator, Identity};

use deliveries::Deliveries;
pub(crate) use subscriptions::{check_may_pull, look_for_former, pull_identity};

use super::directory::ObjectDirectory;
use super::durable::{KeptFile, LogFolders, TopicLog};
use super::guard::Guard;
use super::latency::Latencies;
use super::pace::Pace;
use super::recent_losses::RecentLosses;
use super::subscriber::Subscriber;
use super::topic::Topic;
use super::user_accounts::{Counted, UserAccounts, UserName};
use crate::blocking_work::{self, WorkKind};
use crate::core::{Usage, check_name, is_too_long, publisher_name, receiver_name, topic_name};
use crate::error::{ChangeError, StoreError};
use crate::lock::Mutex;
use crate::settings::{HubSettings, LiveSettings};
use crate::store::{Change, Closed, Store, StoredRecipient, StoredTopic};

/// The topics of a hub, with their subscriptions and deliveries.
pub(crate) struct Registry {
    settings: LiveSettings,
    /// Where the objects of the hub are, once it listens.
    adapters: OnceLock<Adapters>,
    /// When the registry was opened.
    started: Instant,
    directory: ObjectDirectory,
    /// Where the logs of durable topics are.
    logs: LogFolders,
    /// Makes changes wait for each other. It is held while a change is committed.
    changes: Mutex<Changes>,
    has_slow_store: bool,
    deliveries: Deliveries,
    guard: Arc<Guard>,
    recent_losses: RecentLosses,
    counts: RecipientCounts,
    /// The bytes that each queue may have at most while all of them together have too much; 0 otherwise.
    queue_cut: AtomicU64,
    /// Why the last change could not be stored, if it could not.
    store_failure: Mutex<Option<String>>,
}

/// The adapters at which clients find the objects of a hub.
pub(crate) struct Adapters {
    /// All objects, or all but publisher objects.
    pub(crate) main: Adapter,
    /// Publisher objects, if they have an adapter of their own.
    pub(crate) publish: Option<Adapter>,
    /// The administrative object, if there is one.
    pub(crate) admin: Option<Adapter>,
}

impl Adapters {
    /// All of them.
    pub(crate) fn all(&self) -> Vec<&Adapter> {
        let others = [&self.publish, &self.admin].into_iter().flatten();
        std::iter::once(&self.main).chain(others).collect()
    }

    /// The adapter of publisher objects.
    pub(crate) fn publish(&self) -> &Adapter {
        self.publish.as_ref().unwrap_or(&self.main)
    }
}

/// How many subscriptions and links there are, which only changes write, and what is queued for them.
#[derive(Default)]
struct RecipientCounts {
    subscriptions: AtomicUsize,
    links: AtomicUsize,
    /// Bytes of all queues at the last look.
    queue_bytes: AtomicUsize,
}

impl RecipientCounts {
    fn of(&self, recipient: &Subscriber) -> &AtomicUsize {
        match recipient.link() {
            Some(_) => &self.links,
            None => &self.subscriptions,
        }
    }
}

/// The store, and the subscriptions that must still be removed from it.
struct Changes {
    store: Box<dyn Store>,
    /// Subscribers whose subscriptions have ended but could not be removed. The next change tries again.
    unremoved: Vec<(Arc<Topic>, Arc<Subscriber>)>,
}

/// Subscriptions that end before other tasks run, of a destroyed topic or a long list.
pub(crate) const ENDED_AT_A_TIME: usize = 64;

impl Registry {
    /// Opens a registry with the topics and subscriptions from its store.
    ///
    /// # Errors
    /// [`StoreError`] if the log of a durable topic cannot be opened.
    pub(crate) fn open(
        settings: HubSettings,
        store: Box<dyn Store>,
        stored: Vec<StoredTopic>,
        communicator: &Communicator,
    ) -> Result<Arc<Self>, StoreError> {
        let deliveries = Deliveries::start(&settings);
        let guard = Arc::new(Guard::new(&settings));
        let catch_up = deliveries.ready().catch_up();
        let registry = Arc::new(Self {
            logs: LogFolders::new(
                &settings.store,
                catch_up,
                guard.users().clone(),
                settings.limits.publisher_names,
            ),
            deliveries,
            recent_losses: RecentLosses::default(),
            guard,
            counts: RecipientCounts::default(),
            queue_cut: AtomicU64::new(0),
            store_failure: Mutex::default(),
            settings: LiveSettings::new(settings),
            adapters: OnceLock::new(),
            started: Instant::now(),
            directory: ObjectDirectory::default(),
            has_slow_store: store.is_slow(),
            changes: Mutex::new(Changes {
                store,
                unremoved: Vec::new(),
            }),
        });
        registry.logs.prepare()?;
        for stored in stored {
            let log = registry.stored_log(&stored)?;
            let topic = registry.add_topic(stored.name, log, stored.user.map(UserName::from));
            for recipient in stored.recipients {
                match recipient {
                    StoredRecipient::Subscription(subscription) => {
                        registry.restore(&topic, subscription, communicator);
                    }
                    StoredRecipient::Link(link) => registry.add_link(&topic, link, communicator),
                }
            }
        }
        registry.create_durable_topics()?;
        let directory = &registry.directory;
        registry.logs.tidy(|name| directory.topic(name).is_some());
        Ok(registry)
    }

    /// The settings that the hub started with.
    pub(crate) fn settings(&self) -> &HubSettings {
        self.settings.at_start()
    }

    /// The settings in force now.
    pub(crate) fn live_settings(&self) -> Arc<HubSettings> {
        self.settings.current()
    }

    /// Finds the objects of the hub.
    pub(crate) fn directory(&self) -> &ObjectDirectory {
        &self.directory
    }

    /// Puts other settings in force. Returns the names of the changed fields that take effect only at the next start.
    /// Existing subscribers get the settings with [`Registry::reconfigure_topics`].
    pub(crate) fn reconfigure(&self, settings: HubSettings) -> Vec<&'static str> {
        // A subscription that begins afterwards has the new settings.
        let _changes = self.begin_change();
        let settings = Arc::new(settings);
        let pending = self.settings.replace(settings.clone());
        self.deliveries.set_pace(&settings);
        self.guard.replace(&settings);
        let names = settings.limits.publisher_names;
        self.logs.counts().publishers().set_max(names);
        pending
    }

    /// Gives the settings of this moment to all topics and subscribers. If they are many, other tasks run in between.
    pub(crate) async fn reconfigure_topics(&self) {
        let mut pace = Pace::default();
        let mut settings = self.queue_settings();
        for topic in self.directory.topics() {
            for subscriber in topic.all_subscribers() {
                subscriber.reconfigure(&settings);
                if pace.yield_if_due(1).await {
                    // They may have changed once more.
                    settings = self.queue_settings();
                }
            }
            if pace.yield_if_due(1).await {
                settings = self.queue_settings();
            }
            let (name, settings) = (topic.name(), self.live_settings());
            topic.set_lifespan(settings.lifespan_of(name));
            if let Some(log) = topic.log() {
                let history = settings.history_of(name).filter(|_| !log.is_durable());
                log.reconfigure(history.unwrap_or_else(|| settings.durable_of(name)));
            }
        }
    }

    /// The settings for queues, which are shorter while all queues together have too much.
    pub(crate) fn queue_settings(&self) -> Arc<HubSettings> {
        let settings = self.live_settings();
        match usize::try_from(self.queue_cut.load(Ordering::Relaxed)) {
            Ok(0) | Err(_) => settings,
            Ok(len_max) => Arc::new(settings.with_shorter_queues(len_max)),
        }
    }

    /// Sets the bytes that each queue may have at most, for [`Registry::queue_settings`].
    pub(crate) fn cut_queues(&self, len_max: Option<u64>) {
        let cut = len_max.map_or(0, |len_max| len_max.max(1));
        self.queue_cut.store(cut, Ordering::Relaxed);
    }

    /// The latencies of events.
    pub(crate) fn latencies(&self) -> &Latencies {
        self.deliveries.ready().latencies()
    }

    /// The guard, which asks the rules who may do what.
    pub(crate) fn guard(&self) -> &Guard {
        &self.guard
    }

    /// Counts what each user has of the things that are limited by user.
    pub(crate) fn users(&self) -> &Arc<UserAccounts> {
        self.guard.users()
    }

    /// Copies the store to a file beside it while no change is made. Returns its path, and the durable topics that the
    /// store has. It waits for the disk.
    ///
    /// # Errors
    /// [`StoreError`] if the hub keeps nothing on disk, or the system refuses.
    pub(crate) fn copy_store(&self) -> Result<(PathBuf, Vec<Arc<Topic>>), StoreError> {
        let mut changes = self.begin_change();
        let copy = changes.store.copy()?;
        let topics = self.directory.topics();
        Ok((copy, topics.filter(|topic| topic.is_durable()).collect()))
    }

    /// The problems that keep the hub from storing changes and events now, as far as it has noticed; a sentence each. It waits for the disk.
    pub(crate) fn storage_problems(&self) -> Vec<String> {
        let of_store = self.lock_changes().store.problem();
        let of_change = self.store_failure.lock().clone();
        let of_change =
            of_change.map(|error| format!("the last change could not be stored: {error}"));
        let of_logs = self.directory.topics().filter_map(|topic| {
            let failure = topic.log()?.failure()?;
            Some(format!(
                "the last events of topic {:?} could not be stored: {failure}",
                topic.name()
            ))
        });
        of_store
            .into_iter()
            .chain(of_change)
            .chain(of_logs)
            .collect()
    }

    /// The files of a durable topic as they are now. It waits for the disk.
    ///
    /// # Errors
    /// If there are none, or the system refuses.
    pub(crate) fn files_of(&self, topic: &str) -> io::Result<Vec<KeptFile>> {
        self.logs.files_of(topic)
    }

    /// Notes where the hub listens. The hub calls this once, when it starts.
    pub(crate) fn set_adapters(&self, adapters: Adapters) {
        let _ = self.adapters.set(adapters);
    }

    /// Where the objects of the hub are, once it listens.
    pub(crate) fn adapters(&self) -> Option<&Adapters> {
        self.adapters.get()
    }

    /// Where and when events were lost.
    pub(crate) fn recent_losses(&self) -> &RecentLosses {
        &self.recent_losses
    }

    /// How long the registry has been open.
    pub(crate) fn uptime(&self) -> Duration {
        self.started.elapsed()
    }

    /// Returns how many of the limited things the hub has.
    pub(crate) fn usage(&self) -> Usage {
        Usage {
            topics: self.directory.topic_count(),
            subscriptions: self.counts.subscriptions.load(Ordering::Relaxed),
            links: self.counts.links.load(Ordering::Relaxed),
            durable_topics: self.logs.counts().topics(),
            durable_subscriptions: self.logs.counts().subscriptions(),
            queue_bytes: self.counts.queue_bytes.load(Ordering::Relaxed),
            publisher_names: self.logs.counts().publishers().used(),
        }
    }

    /// Notes how many bytes are queued.
    pub(crate) fn note_queue_bytes(&self, len: u64) {
        let len = usize::try_from(len).unwrap_or(usize::MAX);
        self.counts.queue_bytes.store(len, Ordering::Relaxed);
    }

    /// Creates a topic, durable if that is asked for or the settings say so.
    pub(crate) fn create(
        &self,
        name: String,
        is_durable: bool,
        user: Option<UserName>,
    ) -> Result<Arc<Topic>, ChangeError> {
        let mut changes = self.begin_change();
        let new = self.new_topic(name, is_durable, user)?;
        self.apply(&mut changes, &[new.change()])?;
        Ok(new.add())
    }

    /// Adds a topic that the store has.
    fn add_topic(
        &self,
        name: String,
        log: Option<Arc<TopicLog>>,
        user: Option<UserName>,
    ) -> Arc<Topic> {
        self.users().add(Counted::Topics, user.as_ref());
        if log.as_ref().is_some_and(|log| log.is_durable()) {
            self.users().add(Counted::DurableTopics, user.as_ref());
        }
        let lifespan = self.live_settings().lifespan_of(&name);
        let topic = self.directory.add_topic(name, log, user);
        topic.set_lifespan(lifespan);
        topic
    }

    /// Destroys a topic and ends its subscriptions. If it has many, other tasks run in between, and it goes on to the end
    /// even if the caller does not wait for it. It keeps its name until then.
    pub(crate) async fn destroy(self: &Arc<Self>, topic: Arc<Topic>) -> Result<(), ChangeError> {
        let destroyed = topic.clone();
        let begun = self.change(move |registry| registry.begin_destroying(&destroyed));
        if begun.await? {
            return Ok(());
        }
        let registry = self.clone();
        let ending = self.deliveries.spawn(async move {
            loop {
                tokio::task::yield_now().await;
                let topic = topic.clone();
                let go_on = move |registry: &Arc<Self>| registry.go_on_destroying(&topic);
                if registry.change(go_on).await {
                    return;
                }
            }
        });
        // It fails only if the runtime is shutting down.
        let _ = ending.await;
        Ok(())
    }

    /// Commits the end of a topic, so that nothing can be subscribed to it any more. Returns true if nothing is left to
    /// do.
    fn begin_destroying(&self, topic: &Topic) -> Result<bool, ChangeError> {
        let mut changes = self.begin_change_of(topic)?;
        let name = topic.name();
        if topic.is_durable() {
            self.logs.mark_destroyed(name)?;
        }
        self.apply(&mut changes, &[Change::DestroyTopic { topic: name }])?;
        topic.set_destroyed();
        Ok(self.end_some_of(topic))
    }

    fn go_on_destroying(&self, topic: &Topic) -> bool {
        let _changes = self.begin_change();
        self.end_some_of(topic)
    }

    /// Ends some subscriptions of a topic that is destroyed, and removes it if there are no more. Returns true if it
    /// was removed.
    fn end_some_of(&self, topic: &Topic) -> bool {
        for subscriber in topic.last_subscribers(ENDED_AT_A_TIME) {
            self.take_out(topic, &subscriber);
        }
        if topic.has_subscribers() {
            return false;
        }
        let name = topic.name();
        if let Some(log) = topic.log() {
            log.close();
        }
        if topic.is_durable() {
            self.logs.remove(name);
            self.users().remove(Counted::DurableTopics, topic.user());
        }
        self.directory.remove_topic(name);
        self.users().remove(Counted::Topics, topic.user());
        tracing::info!("destroyed topic {name:?}");
        true
    }

    /// Makes a change on a thread that may block, if the store is slow.
    pub(crate) async fn change<T: Send + 'static>(
        self: &Arc<Self>,
        change: impl FnOnce(&Arc<Self>) -> T + Send + 'static,
    ) -> T {
        if !self.has_slow_store {
            return change(self);
        }
        let registry = self.clone();
        let changed = blocking_work::run(WorkKind::Change, move || change(&registry)).await;
        match changed.map_err(tokio::task::JoinError::try_into_panic) {
            Ok(changed) => changed,
            Err(Ok(panic)) => std::panic::resume_unwind(panic),
            // The runtime is shutting down, and this task with it.
            Err(Err(_)) => std::future::pending().await,
        }
    }

    /// Ends all deliveries immediately, and closes the store.
    pub(crate) fn end(&self) {
        self.deliveries.abort();
        self.close_logs();
        *self.lock_changes() = Changes {
            store: Box::new(Closed),
            unremoved: Vec::new(),
        };
    }

    /// Begins a change; no other change begins while the result lives. Removals that failed earlier are tried first.
    fn begin_change(&self) -> MutexGuard<'_, Changes> {
        let mut changes = self.lock_changes();
        self.remove_ended(&mut changes);
        changes
    }

    /// Begins a change of a topic, unless the topic was destroyed.
    fn begin_change_of(&self, topic: &Topic) -> Result<MutexGuard<'_, Changes>, ChangeError> {
        let changes = self.begin_change();
        match topic.is_destroyed() {
            true => Err(ChangeError::TopicGone),
            false => Ok(changes),
        }
    }

    /// Checks that a key of `what`, a topic's name and the identity of a subscriber or link, is not too long.
    fn check_len(&self, what: &str, topic: &str, identity: &Identity) -> Result<(), ChangeError> {
        if !is_too_long(&self.settings().instance_name, topic, identity) {
            return Ok(());
        }
        let len = topic.len() + identity.name.len() + identity.category.len();
        Err(ChangeError::Unnameable(format!(
            "{what} of {len} bytes: expected a key of at most 511 bytes, as IceStorm stores; use shorter names"
        )))
    }

    /// Commits changes, all of them or none. The log and the caller both get an error.
    fn apply(&self, changes: &mut Changes, all: &[Change<'_>]) -> Result<(), StoreError> {
        let applied = changes.store.apply(all);
        *self.store_failure.lock() = applied.as_ref().err().map(StoreError::to_string);
        if let Err(error) = &applied
            && !self.deliveries.are_aborted()
        {
            tracing::error!("cannot store the change: {error}");
        }
        applied
    }

    fn check_topic_name(&self, name: &str) -> Result<(), ChangeError> {
        self.check_len("topic name", name, &Identity::default())?;
        check_name(name).map_err(ChangeError::Unnameable)?;
        if let Some(control) = name.chars().find(|character| character.is_control()) {
            // Stores of IceStorm may have such topics, and keep them.
            return Err(ChangeError::Unnameable(format!(
                "topic name {name:?}: expected no control characters, got {control:?}; use another name"
            )));
        }
        let names = [topic_name(name), publisher_name(name), receiver_name(name)];
        let taken = self.directory.first_taken(&names);
        taken.map_or(Ok(()), |taken| Err(name_taken(taken)))
    }

    fn lock_changes(&self) -> MutexGuard<'_, Changes> {
        // If a change panics, either it is not committed, or it is committed and becomes visible at the next start.
        self.changes.lock()
    }
}

fn name_taken(name: &str) -> ChangeError {
    ChangeError::Unnameable(format!(
        "another object has the identity name {name:?} already: use another topic name or subscriber identity"
    ))
}

#[cfg(test)]
pub(super) mod tests;
