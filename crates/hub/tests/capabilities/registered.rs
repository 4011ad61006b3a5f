//! Hubs that a locator is told of.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use floe::contracts::ice::{
    AdapterNotFoundException, Locator, LocatorDispatcher, LocatorFindAdapterByIdError,
    LocatorFindObjectByIdError, LocatorRegistry, LocatorRegistryDispatcher, LocatorRegistryProxy,
    LocatorRegistrySetAdapterDirectProxyError, LocatorRegistrySetReplicatedAdapterDirectProxyError,
    LocatorRegistrySetServerProcessProxyError, ObjectNotFoundException, ProcessProxy,
};
use floe::{Communicator, Current, Identity, InvokeError, Proxy, Settings, TypedProxy};
use floe_hub::{Hub, HubError, HubSettings};

use crate::world::{Subscribers, soon};

/// Notes which adapters are there, after a while, and which are no more. It refuses one that is called `Refused`.
#[derive(Default)]
struct Registry {
    delay: Duration,
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

    fn notes(&self) -> Vec<String> {
        self.notes.lock().unwrap().clone()
    }
}

impl Locator for Registry {
    async fn find_object_by_id(
        &self,
        _: Identity,
        _: &Current,
    ) -> Result<Option<Proxy>, LocatorFindObjectByIdError> {
        Err(ObjectNotFoundException {}.into())
    }

    async fn find_adapter_by_id(
        &self,
        _: String,
        _: &Current,
    ) -> Result<Option<Proxy>, LocatorFindAdapterByIdError> {
        Err(AdapterNotFoundException {}.into())
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
    ) -> Result<(), LocatorRegistrySetAdapterDirectProxyError> {
        Ok(self.note(&id, proxy).await?)
    }

    async fn set_replicated_adapter_direct_proxy(
        &self,
        id: String,
        _: String,
        proxy: Option<Proxy>,
        _: &Current,
    ) -> Result<(), LocatorRegistrySetReplicatedAdapterDirectProxyError> {
        Ok(self.note(&id, proxy).await?)
    }

    async fn set_server_process_proxy(
        &self,
        _: String,
        _: Option<ProcessProxy>,
        _: &Current,
    ) -> Result<(), LocatorRegistrySetServerProcessProxyError> {
        Ok(())
    }
}

/// A registry, what it runs in, and a communicator whose locator has it.
async fn start(delay: Duration) -> (Arc<Registry>, Subscribers, Communicator) {
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

fn settings(publishers: &str) -> HubSettings {
    let mut settings = HubSettings::default();
    settings.listen = "tcp -h 127.0.0.1 -p 0".to_owned();
    settings.adapter_id = Some("Topics".to_owned());
    settings.publish_listen = Some("tcp -h 127.0.0.1 -p 0".to_owned());
    settings.publish_adapter_id = Some(publishers.to_owned());
    settings
}

#[tokio::test]
async fn a_hub_that_is_refused_is_registered_nowhere() {
    let (registry, _locators, communicator) = start(Duration::ZERO).await;
    let error = Hub::start(&communicator, settings("Refused")).await;
    let error = error.unwrap_err();
    assert!(matches!(error, HubError::Adapter(_)), "{error:?}");
    assert_eq!(registry.notes(), ["Topics is", "Topics was"]);
}

#[tokio::test]
async fn a_locator_is_told_of_the_end_however_short_the_drain_is() {
    let (registry, _locators, communicator) = start(Duration::from_millis(100)).await;
    let mut settings = settings("Doors");
    settings.drain_timeout = Duration::ZERO;
    let hub = Hub::start(&communicator, settings).await.unwrap();
    soon(hub.shutdown()).await;
    let mut notes = registry.notes();
    notes.sort();
    assert_eq!(notes, ["Doors is", "Doors was", "Topics is", "Topics was"]);
}

#[tokio::test]
async fn a_start_that_is_given_up_is_registered_nowhere() {
    let (registry, _locators, communicator) = start(Duration::from_millis(100)).await;
    {
        let started = Hub::start(&communicator, settings("Doors"));
        let in_time = tokio::time::timeout(Duration::from_millis(150), started).await;
        assert!(in_time.is_err());
    }
    soon(communicator.shutdown()).await;
    let notes = registry.notes();
    let ends = |id: &str| notes.iter().rfind(|note| note.starts_with(id)).cloned();
    assert_eq!(ends("Topics").as_deref(), Some("Topics was"), "{notes:?}");
    assert_ne!(ends("Doors").as_deref(), Some("Doors is"), "{notes:?}");
}
