//! Adapters of which a locator knows where they are.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use floe::contracts::ice::{
    AdapterAlreadyActiveOrAdapterNotFoundError,
    AdapterAlreadyActiveOrAdapterNotFoundOrInvalidReplicaGroupIdError, AdapterNotFoundError,
    AdapterNotFoundException, InvalidReplicaGroupIdException, Locator, LocatorDispatcher,
    LocatorRegistry, LocatorRegistryDispatcher, LocatorRegistryProxy, ObjectNotFoundError,
    ObjectNotFoundException, ProcessProxy, ServerNotFoundError,
};
use floe::settings::AdapterSettings;
use floe::{
    Adapter, AdapterError, Communicator, Current, Identity, InvokeError, LocalError, Proxy,
    RegistrationError, Settings, TypedProxy,
};

use crate::echo::{Echo, NOTHING, returned, soon};

/// Knows what adapters have told it, but none that is called `Unknown`, and no group but `Group`.
#[derive(Default)]
struct Book {
    places: Mutex<BTreeMap<String, Option<Proxy>>>,
    /// True if it takes nothing new.
    is_closed: AtomicBool,
}

impl Book {
    fn set(&self, id: &str, proxy: Option<Proxy>) -> Result<(), AdapterNotFoundException> {
        if id == "Unknown" || self.is_closed.load(Ordering::SeqCst) {
            return Err(AdapterNotFoundException {});
        }
        self.places.lock().unwrap().insert(id.to_owned(), proxy);
        Ok(())
    }

    /// Returns the calls that it got, with null proxies as `-`.
    fn told(&self) -> Vec<String> {
        let told = self.places.lock().unwrap();
        let text = |proxy: &Option<Proxy>| match proxy {
            Some(proxy) => proxy.to_string(),
            None => "-".to_owned(),
        };
        let line = |(id, proxy): (&String, &Option<Proxy>)| format!("{id} {}", text(proxy));
        told.iter().map(line).collect()
    }
}

impl Locator for Book {
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
        let known = self.places.lock().unwrap().get(&id).cloned().flatten();
        known
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

impl LocatorRegistry for Book {
    async fn set_adapter_direct_proxy(
        &self,
        id: String,
        proxy: Option<Proxy>,
        _: &Current,
    ) -> Result<(), AdapterAlreadyActiveOrAdapterNotFoundError> {
        Ok(self.set(&id, proxy)?)
    }

    async fn set_replicated_adapter_direct_proxy(
        &self,
        adapter_id: String,
        replica_group_id: String,
        proxy: Option<Proxy>,
        _: &Current,
    ) -> Result<(), AdapterAlreadyActiveOrAdapterNotFoundOrInvalidReplicaGroupIdError> {
        if replica_group_id != "Group" {
            return Err(InvalidReplicaGroupIdException {}.into());
        }
        self.set(&adapter_id, proxy.clone())?;
        Ok(self.set(&replica_group_id, proxy)?)
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

/// A running locator with its registry, and the settings of those who know it.
struct World {
    book: Arc<Book>,
    adapter: Adapter,
    settings: Settings,
}

impl World {
    async fn start() -> Self {
        let communicator = Communicator::new();
        let adapter = communicator.adapter("tcp -h 127.0.0.1 -p 0").await.unwrap();
        let book = Arc::<Book>::default();
        let locator = LocatorDispatcher::new(book.clone());
        let locator = adapter.add("Floe/Locator", locator).unwrap();
        let registry = LocatorRegistryDispatcher::new(book.clone());
        adapter.add("Registry", registry).unwrap();
        adapter.activate();
        let mut settings = Settings::default();
        settings.locator = Some(locator.reference().clone());
        settings.close_timeout = Duration::from_millis(200);
        Self {
            book,
            adapter,
            settings,
        }
    }

    fn communicator(&self) -> Communicator {
        Communicator::with_settings(self.settings.clone())
    }

    /// An adapter of these names, active, with an object `echo`.
    async fn serve(&self, server: &Communicator, id: &str, group: &str) -> (Adapter, Proxy) {
        let mut settings = AdapterSettings::default();
        settings.adapter_id = Some(id.to_owned());
        settings.replica_group_id = Some(group.to_owned());
        let adapter = server.adapter_with("tcp -h 127.0.0.1 -p 0", settings).await;
        let adapter = adapter.unwrap();
        let echo = adapter.add("echo", Arc::<Echo>::default()).unwrap();
        adapter.activate();
        (adapter, echo)
    }
}

async fn echo(proxy: &Proxy) -> Result<(), InvokeError> {
    soon(returned(proxy, "echo", &NOTHING)).await.map(drop)
}

#[tokio::test]
async fn an_adapter_with_an_id_is_found_wherever_it_is_until_it_ends() {
    let world = World::start().await;
    let (server, client) = (world.communicator(), world.communicator());
    let (adapter, own) = world.serve(&server, "Here", "").await;
    assert_eq!(own.to_string(), "echo -t -e 1.1 @ Here");
    assert!(adapter.is_named("Here") && !adapter.is_named(""));
    // Objects of this program are found without a call to the locator.
    echo(&own).await.unwrap();
    let proxy = client.proxy::<Proxy>(&own.to_string()).unwrap();
    let error = echo(&proxy).await.unwrap_err();
    let is_not_registered = |error: &InvokeError| {
        matches!(
            error,
            InvokeError::NotDispatched(LocalError::NotRegistered { .. })
        )
    };
    assert!(is_not_registered(&error), "{error}");

    adapter.register().await.unwrap();
    let direct = adapter.direct_proxy(Identity::new("dummy"));
    assert_eq!(world.book.told(), [format!("Here {direct}")]);
    echo(&proxy).await.unwrap();
    adapter.destroy().await;
    assert_eq!(world.book.told(), ["Here -"]);
    assert!(is_not_registered(&echo(&proxy).await.unwrap_err()));

    // The next one is somewhere else.
    let (adapter, _) = world.serve(&server, "Here", "").await;
    adapter.register().await.unwrap();
    echo(&proxy).await.unwrap();
    server.shutdown().await;
    assert_eq!(world.book.told(), ["Here -"]);
}

#[tokio::test]
async fn proxies_of_a_replica_name_its_group() {
    let world = World::start().await;
    let (server, client) = (world.communicator(), world.communicator());
    let (adapter, own) = world.serve(&server, "First", "Group").await;
    assert_eq!(own.to_string(), "echo -t -e 1.1 @ Group");
    let replica = adapter.indirect_proxy(Identity::new("echo"));
    assert_eq!(replica.to_string(), "echo -t -e 1.1 @ First");
    assert!(adapter.is_named("First") && adapter.is_named("Group"));
    adapter.register().await.unwrap();
    let direct = adapter.direct_proxy(Identity::new("dummy"));
    let told = [format!("First {direct}"), format!("Group {direct}")];
    assert_eq!(world.book.told(), told);
    for proxy in [own, replica] {
        echo(&proxy).await.unwrap();
        let proxy = client.proxy::<Proxy>(&proxy.to_string()).unwrap();
        echo(&proxy).await.unwrap();
    }
    adapter.destroy().await;
    assert_eq!(world.book.told(), ["First -", "Group -"]);
}

#[tokio::test]
async fn what_a_locator_refuses_is_said_and_not_taken_back() {
    let world = World::start().await;
    let server = world.communicator();
    let (unknown, _) = world.serve(&server, "Unknown", "").await;
    let refused = unknown.register().await.unwrap_err();
    let text = refused.to_string();
    assert!(
        text.starts_with(
            "cannot register the adapter \"Unknown\" with the locator Floe/Locator -t"
        ),
        "{text}"
    );
    let AdapterError::Registration { source, .. } = refused else {
        panic!("{refused:?}")
    };
    assert!(matches!(*source, RegistrationError::UnknownAdapter));

    let (stranger, _) = world.serve(&server, "First", "Others").await;
    let text = stranger.register().await.unwrap_err().to_string();
    assert!(
        text.contains("not a member of the replica group \"Others\""),
        "{text}"
    );
    server.shutdown().await;
    assert_eq!(world.book.told(), [""; 0]);
}

#[tokio::test]
async fn a_locator_that_is_gone_keeps_nobody_from_ending() {
    let world = World::start().await;
    let server = world.communicator();
    let (adapter, _) = world.serve(&server, "Here", "").await;
    adapter.register().await.unwrap();
    world.adapter.destroy().await;
    soon(server.shutdown()).await;

    let (adapter, _) = world.serve(&world.communicator(), "Here", "").await;
    let text = soon(adapter.register()).await.unwrap_err().to_string();
    assert!(text.contains("refused"), "{text}");
}

#[tokio::test]
async fn an_adapter_without_an_id_or_a_locator_has_nothing_to_tell() {
    let world = World::start().await;
    let (nameless, own) = world.serve(&world.communicator(), "", "Group").await;
    assert_eq!(
        own.reference().endpoints().len(),
        nameless.published_endpoints().len()
    );
    assert_eq!(nameless.indirect_proxy(Identity::new("echo")), own);
    nameless.register().await.unwrap();
    let (alone, own) = world.serve(&Communicator::new(), "Here", "").await;
    assert_eq!(own.to_string(), "echo -t -e 1.1 @ Here");
    alone.register().await.unwrap();
    assert_eq!(world.book.told(), [""; 0]);
}

#[tokio::test]
async fn an_adapter_that_has_ended_is_registered_no_more() {
    let world = World::start().await;
    let (adapter, _) = world.serve(&world.communicator(), "Here", "").await;
    adapter.deactivate();
    let error = adapter.register().await.unwrap_err();
    assert!(matches!(error, AdapterError::Deactivated), "{error}");
    adapter.destroy().await;
    assert_eq!(world.book.told(), [""; 0]);
}

#[tokio::test]
async fn who_was_told_once_is_told_of_the_end_though_a_later_call_was_refused() {
    let world = World::start().await;
    let (adapter, _) = world.serve(&world.communicator(), "Here", "").await;
    adapter.register().await.unwrap();
    world.book.is_closed.store(true, Ordering::SeqCst);
    adapter.publish("tcp -h 127.0.0.1 -p 1").unwrap();
    adapter.register().await.unwrap_err();
    world.book.is_closed.store(false, Ordering::SeqCst);
    adapter.destroy().await;
    assert_eq!(world.book.told(), ["Here -"]);
}
