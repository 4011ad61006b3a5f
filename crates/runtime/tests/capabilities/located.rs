//! Proxies without endpoints, of whose objects a locator knows where they are.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use floe::contracts::ice::{
    AdapterNotFoundError, AdapterNotFoundException, Locator, LocatorDispatcher,
    LocatorRegistryProxy, ObjectNotFoundError, ObjectNotFoundException,
};
use floe::{
    Adapter, Communicator, Current, Identity, InvokeError, LocalError, Proxy, Settings, TypedProxy,
};

use crate::echo::{NOTHING, Server, returned, soon};

/// A locator that knows what it was told, and counts how often it is asked.
#[derive(Default)]
struct Registry {
    adapters: Mutex<HashMap<String, Option<Proxy>>>,
    objects: Mutex<HashMap<String, Option<Proxy>>>,
    asked: AtomicUsize,
}

impl Locator for Registry {
    async fn find_object_by_id(
        &self,
        id: Identity,
        _: &Current,
    ) -> Result<Option<Proxy>, ObjectNotFoundError> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        let known = self.objects.lock().unwrap().get(&id.name).cloned();
        known.ok_or_else(|| ObjectNotFoundException {}.into())
    }

    async fn find_adapter_by_id(
        &self,
        id: String,
        _: &Current,
    ) -> Result<Option<Proxy>, AdapterNotFoundError> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        let known = self.adapters.lock().unwrap().get(&id).cloned();
        known.ok_or_else(|| AdapterNotFoundException {}.into())
    }

    async fn get_registry(&self, _: &Current) -> Result<Option<LocatorRegistryProxy>, InvokeError> {
        Ok(None)
    }
}

/// A running locator, and a client that asks it.
struct World {
    registry: Arc<Registry>,
    adapter: Adapter,
    client: Communicator,
    _communicator: Communicator,
}

impl World {
    async fn start() -> Self {
        let communicator = Communicator::new();
        let adapter = communicator.adapter("tcp -h 127.0.0.1 -p 0").await;
        let adapter = adapter.expect("loopback");
        let registry = Arc::<Registry>::default();
        let locator = LocatorDispatcher::new(registry.clone());
        let locator = adapter.add("Floe/Locator", locator).expect("it is new");
        adapter.activate();
        let mut settings = Settings::default();
        settings.locator = Some(locator.reference().clone());
        Self {
            registry,
            adapter,
            client: Communicator::with_settings(settings),
            _communicator: communicator,
        }
    }

    fn proxy(&self, text: &str) -> Proxy {
        self.client.proxy(text).expect("a proxy")
    }

    /// The adapter is where this server is, whatever object it is asked for.
    fn register_adapter(&self, id: &str, server: &Server) {
        let place = server.proxy("dummy");
        let adapters = &self.registry.adapters;
        adapters.lock().unwrap().insert(id.to_owned(), Some(place));
    }

    fn register_object(&self, name: &str, proxy: Option<Proxy>) {
        let objects = &self.registry.objects;
        objects.lock().unwrap().insert(name.to_owned(), proxy);
    }

    /// How often the locator was asked since the last look.
    fn asked(&self) -> usize {
        self.registry.asked.swap(0, Ordering::SeqCst)
    }
}

async fn echo(proxy: &Proxy) -> Result<(), InvokeError> {
    soon(returned(proxy, "echo", &NOTHING)).await.map(drop)
}

#[tokio::test]
async fn objects_are_found_by_adapter_and_by_identity_and_the_locator_is_asked_once() {
    let (world, server) = (World::start().await, Server::start().await);
    world.register_adapter("Here", &server);
    for _ in 0..3 {
        echo(&world.proxy("echo @ Here")).await.unwrap();
    }
    assert_eq!(world.asked(), 1);
    // The object is in an adapter that is known already.
    world.register_object("echo", Some(world.proxy("echo @ Here")));
    for _ in 0..3 {
        echo(&world.proxy("echo")).await.unwrap();
    }
    assert_eq!(world.asked(), 1);
    let found = soon(world.proxy("echo").find_endpoints()).await.unwrap();
    assert_eq!(found, server.adapter.endpoints());
    let direct = server.proxy("echo");
    world.register_object("named", Some(direct));
    // It is asked where it is, and not what it is called there.
    let error = echo(&world.proxy("named")).await.unwrap_err();
    assert!(matches!(error, InvokeError::System(_)), "{error}");
}

#[tokio::test]
async fn every_mode_and_a_blocking_caller_find_the_object() {
    let (world, server) = (World::start().await, Server::start().await);
    world.register_adapter("Here", &server);
    let proxy = world.proxy("echo @ Here");
    for mode in [proxy.ice_oneway(), proxy.ice_batch_oneway()] {
        let sent = mode.invoke("echo", floe::OperationMode::Normal, &NOTHING);
        assert!(soon(sent).await.expect("it leaves").is_none());
        soon(mode.ice_flush_batch()).await.expect("it leaves");
    }
    echo(&proxy).await.unwrap();
    let count = server.echo.echo_count.load(Ordering::SeqCst);
    assert_eq!(count, 3);
    let mut settings = Settings::default();
    settings
        .locator
        .clone_from(&world.client.settings().locator);
    let called = tokio::task::spawn_blocking(move || {
        use floe::blocking::Wait;
        let client = floe::blocking::Communicator::with_settings(settings);
        let proxy: Proxy = client.as_async().proxy("echo @ Here").expect("a proxy");
        returned(&proxy, "echo", &NOTHING).wait()
    });
    soon(called).await.expect("no panic").expect("an answer");
}

#[tokio::test]
async fn what_was_said_is_good_for_as_long_as_the_proxy_says() {
    let (world, server) = (World::start().await, Server::start().await);
    world.register_adapter("Here", &server);
    let proxy = world.proxy("echo @ Here").ice_connection_cached(false);
    for (timeout, expected) in [
        (Some(Duration::ZERO), 3),
        (None, 0),
        (Some(Duration::from_secs(3600)), 0),
    ] {
        let proxy = proxy.ice_locator_cache_timeout(timeout);
        for _ in 0..3 {
            echo(&proxy).await.unwrap();
        }
        assert_eq!(world.asked(), expected, "{timeout:?}");
    }
}

#[tokio::test]
async fn a_server_that_has_moved_is_found_again() {
    let (world, first) = (World::start().await, Server::start().await);
    world.register_adapter("Here", &first);
    world.register_object("echo", Some(world.proxy("echo @ Here")));
    let (known, new) = (world.proxy("echo"), world.proxy("echo @ Here"));
    echo(&known).await.unwrap();
    let second = Server::start().await;
    world.register_adapter("Here", &second);
    soon(first.communicator.shutdown()).await;
    echo(&known).await.unwrap();
    echo(&new).await.unwrap();
    assert_eq!(second.echo.echo_count.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn an_object_that_has_moved_to_another_adapter_is_found_at_once() {
    let (world, first) = (World::start().await, Server::start().await);
    world.register_adapter("Before", &first);
    world.register_object("echo", Some(world.proxy("echo @ Before")));
    echo(&world.proxy("echo")).await.unwrap();
    let second = Server::start().await;
    world.register_adapter("After", &second);
    world.register_object("echo", Some(world.proxy("echo @ After")));
    soon(first.communicator.shutdown()).await;
    // The cached adapter is forgotten, and the cached object is not.
    world.registry.adapters.lock().unwrap().remove("Before");
    echo(&world.proxy("echo @ Before")).await.unwrap_err();
    echo(&world.proxy("echo")).await.unwrap();

    let third = Server::start().await;
    world.register_adapter("After", &third);
    soon(second.communicator.shutdown()).await;
    let new = world
        .proxy("echo @ After")
        .ice_locator_cache_timeout(Some(Duration::ZERO));
    echo(&new).await.unwrap();
    echo(&world.proxy("echo")).await.unwrap();
    assert_eq!(third.echo.echo_count.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn an_object_that_has_moved_to_another_server_is_found_again() {
    let (world, first) = (World::start().await, Server::start().await);
    world.register_object("echo", Some(first.proxy("echo")));
    let proxy = world.proxy("echo");
    echo(&proxy).await.unwrap();
    let second = Server::start().await;
    world.register_object("echo", Some(second.proxy("echo")));
    assert!(first.adapter.remove(&Identity::new("echo"), ""));
    echo(&proxy).await.unwrap();
    echo(&proxy).await.unwrap();
    assert_eq!(second.echo.echo_count.load(Ordering::SeqCst), 2);
    assert!(second.adapter.remove(&Identity::new("echo"), ""));
    let error = echo(&proxy).await.unwrap_err();
    assert!(matches!(error, InvokeError::System(_)), "{error}");
}

#[tokio::test]
async fn an_object_of_another_name_is_looked_for_where_it_is() {
    let world = World::start().await;
    let (first, second) = (Server::start().await, Server::start().await);
    second.adapter.add("other", second.echo.clone()).unwrap();
    world.register_object("echo", Some(first.proxy("echo")));
    world.register_object("other", Some(second.proxy("other")));
    let proxy = world.proxy("echo");
    echo(&proxy).await.unwrap();
    assert!(proxy.ice_oneway().is_connected(), "it is the same object");
    let other = proxy.ice_identity(Identity::new("other")).ice_oneway();
    let sent = other.invoke("echo", floe::OperationMode::Normal, &NOTHING);
    soon(sent).await.expect("it leaves");
    soon(async {
        while second.echo.echo_count.load(Ordering::SeqCst) == 0 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    })
    .await;
    // In a known adapter, any object is at the same place.
    world.register_adapter("Here", &first);
    let proxy = world.proxy("echo @ Here");
    echo(&proxy).await.unwrap();
    assert!(proxy.ice_identity(Identity::new("any")).is_connected());
}

#[tokio::test]
async fn what_nobody_knows_is_told_with_its_name_and_who_was_asked() {
    let world = World::start().await;
    world.register_object("nil", None);
    world.register_object("circle", Some(world.proxy("circle")));
    let adapters = &world.registry.adapters;
    let aside = Some(world.proxy("dummy @ Elsewhere"));
    adapters.lock().unwrap().insert("Aside".to_owned(), aside);
    for (text, what) in [
        ("echo @ Unknown", "adapter \"Unknown\""),
        ("echo @ Aside", "adapter \"Aside\""),
        ("nobody", "object \"nobody\""),
        ("nil", "object \"nil\""),
        ("circle", "object \"circle\""),
    ] {
        let error = echo(&world.proxy(text)).await.unwrap_err();
        let InvokeError::NotDispatched(LocalError::NotRegistered { .. }) = error else {
            panic!("{text}: {error}");
        };
        let said = error.to_string();
        assert!(
            said.contains(what) && said.contains("Floe/Locator"),
            "{said}"
        );
    }
    // It may be registered later.
    let server = Server::start().await;
    world.register_adapter("Unknown", &server);
    echo(&world.proxy("echo @ Unknown")).await.unwrap();
}

#[tokio::test]
async fn without_a_locator_or_with_one_that_is_gone_nothing_is_found() {
    let alone: Proxy = Communicator::new().proxy("echo @ Here").expect("a proxy");
    let error = echo(&alone).await.unwrap_err().to_string();
    assert!(error.contains("`Settings::locator`"), "{error}");
    assert!(alone.check_endpoints().is_err());

    let world = World::start().await;
    world
        .proxy("echo")
        .check_endpoints()
        .expect("there is a locator");
    soon(world.adapter.destroy()).await;
    let error = echo(&world.proxy("echo")).await.unwrap_err();
    let InvokeError::NotDispatched(LocalError::Locator { .. }) = error else {
        panic!("{error}");
    };
    assert!(
        error.to_string().contains("cannot ask the locator"),
        "{error}"
    );

    let mut settings = Settings::default();
    settings.locator = Some("Floe/Locator @ Somewhere".parse().expect("a proxy"));
    let lost: Proxy = Communicator::with_settings(settings).proxy("echo").unwrap();
    let error = echo(&lost).await.unwrap_err().to_string();
    assert!(
        error.contains("expected endpoints, because it is the locator"),
        "{error}"
    );
}
