//! The hub, as its user sees it.

use std::sync::{Arc, Weak};
use std::time::Duration;

use floe::{Adapter, Communicator, Current, Identity, SystemException};
use floe_access::Action;

use super::latency::HubLatencies;
use super::listeners::Listeners;
use super::observe::{durable, loss_watch, status};
use super::queue_memory;
use super::registry::{Adapters, Registry};
use super::reserve_watch;
use super::servants;
use crate::contracts::floe::{
    DurableTopicStatus, HubStatus, SubscriberStatus, TopicStatus, TopicTotals,
};
use crate::core::LimitUse;
use crate::error::{HubError, StoreError};
use crate::settings::{AdminSettings, HubSettings, StoreSettings};
use crate::store::{Disk, Memory, Store, StoredTopic};

/// A running event service.
///
/// Dropping it ends it immediately, and queued events are lost; [`Hub::shutdown`] delivers them first. In both cases
/// its objects, its ports and its store are free afterwards.
pub struct Hub {
    listeners: Listeners,
    registry: Arc<Registry>,
}

impl Hub {
    /// Starts a hub. When this returns, publishers and subscribers can connect, and stored subscriptions are in force.
    ///
    /// # Errors
    /// [`HubError`] if a setting is invalid, or if the hub cannot listen, open its store, or register with the locator.
    /// It then listens nowhere.
    pub async fn start(
        communicator: &Communicator,
        settings: HubSettings,
    ) -> Result<Self, HubError> {
        if settings.instance_name.is_empty() {
            return Err(HubError::NoInstanceName);
        }
        // The adapters come before the store: a hub that cannot listen must not create a store.
        let listeners = Listeners::open(communicator, &settings).await?;
        let (store, stored) = match open_store(&settings) {
            Ok(opened) => opened,
            Err(error) => {
                listeners.destroy().await;
                return Err(error.into());
            }
        };
        let registry = match Registry::open(settings, store, stored, communicator) {
            Ok(opened) => opened,
            Err(error) => {
                listeners.destroy().await;
                return Err(error.into());
            }
        };
        tokio::spawn(queue_memory::watch(Arc::downgrade(&registry)));
        tokio::spawn(loss_watch::watch(Arc::downgrade(&registry)));
        tokio::spawn(reserve_watch::watch(Arc::downgrade(&registry)));
        // From here on an early return drops the hub, which ends it.
        let hub = Self {
            listeners,
            registry,
        };
        let Listeners {
            main,
            publish,
            admin,
        } = &hub.listeners;
        // Subscribers and links are called with the rights of the hub itself.
        hub.listeners.all().for_each(Adapter::refuse_given);
        hub.registry.set_adapters(Adapters {
            main: main.clone(),
            publish: publish.clone(),
            admin: admin.clone(),
        });
        servants::register(main, &hub.registry)?;
        if let Some(adapter) = publish {
            servants::register_publishers(adapter, &hub.registry)?;
            adapter.activate();
        }
        if let Some((adapter, settings)) = admin.as_ref().zip(hub.admin_settings()) {
            servants::register_admin(adapter, &hub.registry, settings)?;
            adapter.activate();
        }
        main.activate();
        hub.listeners.register().await?;
        Ok(hub)
    }

    /// The endpoints at which it listens, as text, separated by colons.
    pub fn endpoints(&self) -> String {
        let endpoints = self.listeners.main.endpoints();
        let texts: Vec<_> = endpoints.iter().map(ToString::to_string).collect();
        texts.join(":")
    }

    /// The endpoints of publisher objects, as text, if they have their own.
    pub fn publish_endpoints(&self) -> Option<String> {
        let endpoints = self.listeners.publish.as_ref()?.endpoints();
        let texts: Vec<_> = endpoints.iter().map(ToString::to_string).collect();
        Some(texts.join(":"))
    }

    /// The proxy of the administrative object, as text, if the hub has one. Its facet `Metrics` gives metrics.
    pub fn admin(&self) -> Option<String> {
        let (adapter, settings) = self.listeners.admin.as_ref().zip(self.admin_settings())?;
        let identity = Identity::with_category("admin", &settings.instance_name);
        Some(adapter.proxy(identity).to_string())
    }

    /// The adapter of the hub's main endpoints, for further objects beside the hub's own. [`HubView::check`] asks the rules
    /// about their callers. It ends with the hub.
    pub fn adapter(&self) -> &Adapter {
        &self.listeners.main
    }

    fn admin_settings(&self) -> Option<&AdminSettings> {
        self.registry.settings().admin.as_ref()
    }

    /// A view of the hub for programs that observe it.
    pub fn view(&self) -> HubView {
        HubView(Arc::downgrade(&self.registry))
    }

    /// Applies other settings while the hub runs. Queue limits and the discard interval take effect immediately for all
    /// subscribers, the flush settings with the next batch, the send timeout for later subscriptions, and the drain
    /// timeout at the end. Queued events are kept.
    ///
    /// Returns the names of the fields of [`HubSettings`] that differ and take effect only at the next start. Those
    /// settings stay as they were.
    pub async fn reconfigure(&self, settings: HubSettings) -> Vec<&'static str> {
        // A change may wait for the disk.
        let changed = self
            .registry
            .change(move |registry| registry.reconfigure(settings));
        let pending = changed.await;
        self.registry.reconfigure_topics().await;
        pending
    }

    /// The proxy of the topic manager, as text.
    pub fn topic_manager(&self) -> String {
        let instance = &self.registry.settings().instance_name;
        let identity = Identity::with_category("TopicManager", instance);
        self.listeners.main.proxy(identity).to_string()
    }

    /// Accepts no more events, delivers the queued ones within the drain timeout, and ends. Logs a warning with the
    /// number of events that could not be delivered. Subscriptions in a store on disk stay.
    ///
    /// The hub first closes the connections of its peers, and waits for that as long as for deliveries. If a connection
    /// is still open in the end, the hub waits for it up to the communicator's close timeout. It waits as long for a
    /// locator that does not answer.
    ///
    /// If this is cancelled, the hub ends immediately.
    pub async fn shutdown(self) {
        self.listeners.unregister().await;
        // The adapters close first, so that no event is acknowledged and then lost.
        let limit = self.registry.live_settings().drain_timeout;
        let closed = tokio::time::timeout(limit, self.listeners.destroy()).await;
        self.registry.drain().await;
        if closed.is_err() {
            self.listeners.destroy().await;
        }
    }
}

/// Opens the store, and loads its contents.
fn open_store(settings: &HubSettings) -> Result<(Box<dyn Store>, Vec<StoredTopic>), StoreError> {
    let mut store: Box<dyn Store> = match &settings.store {
        StoreSettings::Memory => Box::new(Memory),
        StoreSettings::Disk(directory) => Box::new(Disk::open(directory, settings.accept_damage)?),
    };
    let stored = store.load()?;
    Ok((store, stored))
}

/// A view of a hub. It does not keep the hub alive, and shows nothing when the hub has ended.
#[derive(Clone)]
pub struct HubView(Weak<Registry>);

impl HubView {
    /// Returns true if the hub has not ended.
    pub fn is_running(&self) -> bool {
        self.0.strong_count() > 0
    }

    /// Checks that the caller may do this with a topic; with an empty name, with the hub as a whole. It is for objects beside
    /// the hub's own, on [`Hub::adapter`].
    ///
    /// # Errors
    /// It may not; the audit log knows why. Or the hub has ended.
    pub fn check(
        &self,
        current: &Current,
        action: Action,
        topic: &str,
    ) -> Result<(), SystemException> {
        match self.0.upgrade() {
            Some(registry) => registry.guard().check(current, action, topic),
            None => Err(SystemException::UnknownException(
                "the hub has ended".to_owned(),
            )),
        }
    }

    /// The status of the hub and its topics now.
    pub fn status(&self) -> Option<HubStatus> {
        Some(status::of_hub(&*self.0.upgrade()?))
    }

    /// The sum over all topics, destroyed ones included.
    pub fn totals(&self) -> Option<TopicTotals> {
        Some(status::of_all(&*self.0.upgrade()?))
    }

    /// Begins to measure how long events take, for [`HubView::latencies`].
    pub fn measure_latencies(&self) {
        if let Some(registry) = self.0.upgrade() {
            registry.latencies().measure();
        }
    }

    /// How long events took since [`HubView::measure_latencies`].
    pub fn latencies(&self) -> Option<HubLatencies> {
        Some(self.0.upgrade()?.latencies().counts())
    }

    /// How many requests the rules refused.
    pub fn refused(&self) -> Option<u64> {
        Some(self.0.upgrade()?.guard().refused())
    }

    /// How much of each limit is used.
    pub fn limits(&self) -> Option<Vec<LimitUse>> {
        let registry = self.0.upgrade()?;
        let limits = registry.live_settings().limits;
        let mut uses = registry.usage().of_limits(&limits).to_vec();
        uses.extend(registry.users().of_limits());
        Some(uses)
    }

    /// For how long subscribers of a topic have held publishers back, those that have left included; `None` also if there
    /// is no topic of this name.
    pub fn held_time(&self, name: &str) -> Option<Duration> {
        let topic = self.0.upgrade()?.directory().topic(name)?;
        Some(topic.totals().held)
    }

    /// The durable topics with their subscriptions, in the order of their names; at most this many subscriptions in all, and
    /// [`DurableTopicStatus::has_more`] says where some are missing. A topic whose log cannot be read is left out. It may wait for
    /// the disk.
    pub fn durable_topics(&self, subscriptions_max: usize) -> Option<Vec<DurableTopicStatus>> {
        let registry = self.0.upgrade()?;
        let mut left = subscriptions_max;
        let of = |topic: Arc<super::topic::Topic>| {
            let log = topic.log().filter(|log| log.is_durable())?;
            let (mut status, readers) =
                durable::of_topic(&topic, log, registry.directory(), "").ok()?;
            let counts = topic.reader_counts();
            status.has_more = readers.len() > left;
            for reader in readers.iter().take(left) {
                let subscribers = counts.get(reader.name()).copied().unwrap_or(0);
                let subscription = durable::of_subscription(reader, subscribers).ok()?;
                status.subscriptions.push(subscription);
            }
            left -= status.subscriptions.len();
            Some(status)
        };
        Some(registry.directory().topics().filter_map(of).collect())
    }

    /// The problems that keep the hub from storing changes and events now, as far as it has noticed; a sentence each. It may wait for the disk.
    pub fn storage_problems(&self) -> Option<Vec<String>> {
        Some(self.0.upgrade()?.storage_problems())
    }

    /// The links of all topics, each with the name of its topic, in the order of these names; at most this many.
    pub fn links(&self, max: usize) -> Option<Vec<(String, SubscriberStatus)>> {
        let registry = self.0.upgrade()?;
        let topics = registry.directory().topics();
        let all = topics.flat_map(|topic| topic.subscribers().map(move |it| (topic.clone(), it)));
        let links = all.filter(|(_, subscriber)| subscriber.link().is_some());
        let status = links.take(max).map(|(topic, link)| {
            let status = status::of_subscriber(&registry, &link);
            (topic.name().to_owned(), status)
        });
        Some(status.collect())
    }

    /// The status of a topic and its subscribers now; `None` also if there is no topic of this name.
    pub fn topic_status(&self, name: &str) -> Option<TopicStatus> {
        let registry = self.0.upgrade()?;
        let topic = registry.directory().topic(name)?;
        Some(status::of_topic(&registry, &topic))
    }
}

impl std::fmt::Debug for HubView {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HubView").finish_non_exhaustive()
    }
}

impl Drop for Hub {
    fn drop(&mut self) {
        let Listeners {
            main,
            publish,
            admin,
        } = &self.listeners;
        servants::unregister(main, &self.registry);
        if let Some(adapter) = publish {
            servants::unregister_publishers(adapter, &self.registry);
        }
        if let (Some(adapter), Some(settings)) = (admin, self.admin_settings()) {
            adapter.remove_all_facets(&Identity::with_category("admin", &settings.instance_name));
        }
        self.listeners.all().for_each(Adapter::deactivate);
        self.registry.end();
    }
}

impl std::fmt::Debug for Hub {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Hub")
            .field("endpoints", &self.endpoints())
            .finish_non_exhaustive()
    }
}
