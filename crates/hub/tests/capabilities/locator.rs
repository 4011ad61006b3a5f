//! A locator with its registry, in place of IceGrid's. It records what it is told.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use floe::contracts::ice::{
    AdapterAlreadyActiveOrAdapterNotFoundError,
    AdapterAlreadyActiveOrAdapterNotFoundOrInvalidReplicaGroupIdError, AdapterNotFoundError,
    AdapterNotFoundException, Locator, LocatorDispatcher, LocatorRegistry,
    LocatorRegistryDispatcher, LocatorRegistryProxy, ObjectNotFoundError, ObjectNotFoundException,
    ProcessProxy, ServerNotFoundError,
};
use floe::{Communicator, Current, Identity, InvokeError, Proxy, Settings, TypedProxy};

use crate::world::Subscribers;

/// Knows where adapters are, and records registrations and removals with a delay. It refuses an adapter named
/// `Refused`.
#[derive(Default)]
pub(crate) struct Registry {
    delay: Duration,
    places: Mutex<BTreeMap<String, Proxy>>,
    notes: Mutex<Vec<String>>,
}

impl Registry {
    async fn note(&self, id: &str, proxy: Option<Proxy>) -> Result<(), AdapterNotFoundException> {
        if id == "Refused" {
            return Err(AdapterNotFoundException {});
        }
        tokio::time::sleep(self.delay).await;
        let word = if proxy.is_some() { "is" } else { "was" };
        self.notes.lock().unwrap().push(format!("{id} {word}"));
        Ok(())
    }

    /// The endpoints of this object itself, which are not recorded.
    pub(crate) fn place(&self, id: &str, proxy: Proxy) {
        self.places.lock().unwrap().insert(id.to_owned(), proxy);
    }

    /// Returns the notes that the registry took of the adapters' calls.
    pub(crate) fn notes(&self) -> Vec<String> {
        self.notes.lock().unwrap().clone()
    }
}

impl Locator for Registry {
    async fn find_object_by_id(
        &self,
        _: Identity,
        _: &Current,
    ) -> Result<Option<Proxy>, ObjectNotFoundError> {
        Err(ObjectNotFoundException {}.into())
    }

    async fn find_adapter_by_id(
        &self,
        id: String,
        _: &Current,
    ) -> Result<Option<Proxy>, AdapterNotFoundError> {
        let place = self.places.lock().unwrap().get(&id).cloned();
        place
            .map(Some)
            .ok_or_else(|| AdapterNotFoundException {}.into())
    }

    async fn get_registry(
        &self,
        current: &Current,
    ) -> Result<Option<LocatorRegistryProxy>, InvokeError> {
        let registry = current.adapter().proxy(Identity::new("Registry"));
        Ok(Some(LocatorRegistryProxy::from_proxy(registry)))
    }
}

impl LocatorRegistry for Registry {
    async fn set_adapter_direct_proxy(
        &self,
        id: String,
        proxy: Option<Proxy>,
        _: &Current,
    ) -> Result<(), AdapterAlreadyActiveOrAdapterNotFoundError> {
        Ok(self.note(&id, proxy).await?)
    }

    async fn set_replicated_adapter_direct_proxy(
        &self,
        id: String,
        _: String,
        proxy: Option<Proxy>,
        _: &Current,
    ) -> Result<(), AdapterAlreadyActiveOrAdapterNotFoundOrInvalidReplicaGroupIdError> {
        Ok(self.note(&id, proxy).await?)
    }

    async fn set_server_process_proxy(
        &self,
        _: String,
        _: Option<ProcessProxy>,
        _: &Current,
    ) -> Result<(), ServerNotFoundError> {
        Ok(())
    }
}

/// A registry, its communicator, and a communicator that uses it as its locator.
pub(crate) async fn start(delay: Duration) -> (Arc<Registry>, Subscribers, Communicator) {
    let registry = Arc::new(Registry {
        delay,
        ..Registry::default()
    });
    let locators = Subscribers::start().await;
    let locator = LocatorDispatcher::new(registry.clone());
    let locator = locators.adapter.add("Floe/Locator", locator).unwrap();
    let servant = LocatorRegistryDispatcher::new(registry.clone());
    locators.adapter.add("Registry", servant).unwrap();
    let mut settings = Settings::default();
    settings.locator = Some(locator.reference().clone());
    (registry, locators, Communicator::with_settings(settings))
}
