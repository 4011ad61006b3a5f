//! A hub as its user sees it.

use std::sync::{Arc, Weak};

use floe::{Adapter, Communicator, Identity};

use super::listeners::Listeners;
use super::observe::status;
use super::registry::{Adapters, Registry};
use super::servants;
use crate::contracts::floe::{HubStatus, TopicStatus, TopicTotals};
use crate::error::{HubError, StoreError};
use crate::settings::{AdminSettings, HubSettings, StoreSettings};
use crate::store::{Disk, Memory, Store, StoredTopic};

/// A running event service.
///
/// Dropping it ends it at once, and what is queued is lost; [`Hub::shutdown`] delivers it first.
/// Either way its objects, its port and its store are free afterwards.
pub struct Hub {
    listeners: Listeners,
    registry: Arc<Registry>,
}

impl Hub {
    /// Starts a hub: when it returns, publishers and subscribers may come, and stored
    /// subscriptions are in force.
    ///
    /// # Errors
    /// [`HubError`] if its settings make no sense, it cannot listen, cannot open its store, or cannot tell the locator where
    /// it is. It listens nowhere then.
    pub async fn start(
        communicator: &Communicator,
        settings: HubSettings,
    ) -> Result<Self, HubError> {
        if settings.instance_name.is_empty() {
            return Err(HubError::NoInstanceName);
        }
        // Before the store, which a hub that cannot listen is not to leave behind.
        let listeners = Listeners::open(communicator, &settings).await?;
        let (store, stored) = match open_store(&settings.store) {
            Ok(opened) => opened,
            Err(error) => {
                listeners.destroy().await;
                return Err(error.into());
            }
        };
        let registry = Registry::open(settings, store, stored, communicator);
        // Dropped if what follows fails.
        let hub = Self {
            listeners,
            registry,
        };
        let Listeners {
            main,
            publish,
            admin,
        } = &hub.listeners;
        hub.registry.set_adapters(Adapters {
            main: main.clone(),
            publish: publish.clone(),
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

    /// Where it really listens, as text: several endpoints are separated by colons.
    pub fn endpoints(&self) -> String {
        let endpoints = self.listeners.main.endpoints();
        let texts: Vec<_> = endpoints.iter().map(ToString::to_string).collect();
        texts.join(":")
    }

    /// Where publisher objects are, as text, if elsewhere than the rest.
    pub fn publish_endpoints(&self) -> Option<String> {
        let endpoints = self.listeners.publish.as_ref()?.endpoints();
        let texts: Vec<_> = endpoints.iter().map(ToString::to_string).collect();
        Some(texts.join(":"))
    }

    /// The proxy of its administrative object, as text, if it has one; its facet `Metrics` gives metrics.
    pub fn admin(&self) -> Option<String> {
        let (adapter, settings) = self.listeners.admin.as_ref().zip(self.admin_settings())?;
        let identity = Identity::with_category("admin", &settings.instance_name);
        Some(adapter.proxy(identity).to_string())
    }

    fn admin_settings(&self) -> Option<&AdminSettings> {
        self.registry.settings().admin.as_ref()
    }

    /// A view of what is known of it, for whoever looks now and then.
    pub fn view(&self) -> HubView {
        HubView(Arc::downgrade(&self.registry))
    }

    /// Applies other settings while it runs: limits of queues and the discard interval hold for all
    /// subscribers at once, the flush settings from the next batch on, the send timeout for those who
    /// subscribe later, the drain timeout at the end. What waits already is not thrown away.
    ///
    /// Which of the settings that differ wait for the next start, by the names of their fields in
    /// [`HubSettings`]: they are kept as they were.
    pub async fn reconfigure(&self, settings: HubSettings) -> Vec<&'static str> {
        // A change may wait for the disk.
        self.registry
            .change(move |registry| registry.reconfigure(settings))
            .await
    }

    /// The proxy of the topic manager, as text.
    pub fn topic_manager(&self) -> String {
        let instance = &self.registry.settings().instance_name;
        let identity = Identity::with_category("TopicManager", instance);
        self.listeners.main.proxy(identity).to_string()
    }

    /// Takes no more events, delivers what is queued within the drain timeout, and ends. What could
    /// not be delivered is counted in a warning. Subscriptions in a store on disk stay.
    ///
    /// It closes the connections of its peers first, and waits for that as long as for deliveries;
    /// one that is still open in the end is waited for up to the communicator's close timeout, and so is a locator that
    /// knows of the hub and does not answer.
    /// Cancelled, it ends at once.
    pub async fn shutdown(self) {
        self.listeners.unregister().await;
        // First no more events, so that none is acknowledged and then lost.
        let limit = self.registry.live_settings().drain_timeout;
        let closed = tokio::time::timeout(limit, self.listeners.destroy()).await;
        self.registry.drain().await;
        if closed.is_err() {
            self.listeners.destroy().await;
        }
    }
}

/// The store, and what it keeps.
fn open_store(settings: &StoreSettings) -> Result<(Box<dyn Store>, Vec<StoredTopic>), StoreError> {
    let mut store: Box<dyn Store> = match settings {
        StoreSettings::Memory => Box::new(Memory),
        StoreSettings::Disk(directory) => Box::new(Disk::open(directory)?),
    };
    let stored = store.load()?;
    Ok((store, stored))
}

/// A view of a hub, which keeps it from nothing: it sees no more when the hub has ended.
#[derive(Clone)]
pub struct HubView(Weak<Registry>);

impl HubView {
    /// What is known of the hub and its topics now.
    pub fn status(&self) -> Option<HubStatus> {
        Some(status::of_hub(&*self.0.upgrade()?))
    }

    /// All topics together, those that were destroyed included.
    pub fn totals(&self) -> Option<TopicTotals> {
        Some(status::of_all(&*self.0.upgrade()?))
    }

    /// What is known of a topic and its subscribers now; none also if there is none of this name.
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
