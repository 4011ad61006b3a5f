//! A hub as its user sees it.

use std::sync::Arc;

use floe::{Adapter, Communicator, Identity};

use super::registry::Registry;
use super::servants;
use crate::error::HubError;
use crate::settings::{HubSettings, StoreSettings};
use crate::store::{Disk, Memory, Store};

/// A running event service.
///
/// Dropping it ends it at once, and what is queued is lost; [`Hub::shutdown`] delivers it first.
pub struct Hub {
    adapter: Adapter,
    registry: Arc<Registry>,
}

impl Hub {
    /// Starts a hub: when it returns, publishers and subscribers may come, and stored
    /// subscriptions are in force.
    ///
    /// # Errors
    /// [`HubError`] if it cannot listen, or cannot open its store.
    pub async fn start(
        communicator: &Communicator,
        settings: HubSettings,
    ) -> Result<Self, HubError> {
        let adapter = communicator.adapter(&settings.listen).await?;
        let store: Box<dyn Store> = match &settings.store {
            StoreSettings::Memory => Box::new(Memory),
            StoreSettings::Disk(directory) => Box::new(Disk::open(directory)?),
        };
        let registry = Registry::open(settings, store, communicator)?;
        servants::register(&adapter, &registry)?;
        adapter.activate();
        Ok(Self { adapter, registry })
    }

    /// Where it really listens, as text: several endpoints are separated by colons.
    pub fn endpoints(&self) -> String {
        let endpoints = self.adapter.endpoints();
        let texts: Vec<_> = endpoints.iter().map(ToString::to_string).collect();
        texts.join(":")
    }

    /// The proxy of the topic manager, as text.
    pub fn topic_manager(&self) -> String {
        let instance = &self.registry.settings().instance_name;
        let identity = Identity::with_category("TopicManager", instance);
        self.adapter.proxy(identity).to_string()
    }

    /// Accepts no more connections, delivers what is queued within the drain timeout, and ends all
    /// deliveries. Subscriptions in a store on disk stay.
    pub async fn shutdown(self) {
        self.adapter.deactivate();
        self.registry.drain().await;
    }
}

impl Drop for Hub {
    fn drop(&mut self) {
        self.adapter.deactivate();
        self.registry.abort();
    }
}

impl std::fmt::Debug for Hub {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Hub")
            .field("endpoints", &self.endpoints())
            .finish_non_exhaustive()
    }
}
