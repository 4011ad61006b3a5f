//! A hub that keeps topics and subscriptions on disk.

use std::path::Path;

use floe::TypedProxy;
use floe_hub::{Hub, HubError, HubSettings, StoreSettings};

use crate::world::{Directory, Subscribers, World, identity, publish, publisher, soon, subscribe};

async fn hub_in(directory: &Path) -> World {
    let store = StoreSettings::Disk(directory.to_owned());
    World::with(|settings| settings.store = store).await
}

#[tokio::test]
async fn topics_and_subscriptions_survive_a_restart_in_their_order() {
    let directory = Directory::new();
    let subscribers = Subscribers::start().await;
    let ((z, mut z_inbox), (a, mut a_inbox)) = (subscribers.add("z"), subscribers.add("c/a"));
    let world = hub_in(&directory.0).await;
    let topic = world.create("t").await;
    world.create("empty").await;
    subscribe(
        &topic,
        &z,
        &[("reliability", "ordered"), ("retryCount", "7")],
    )
    .await;
    subscribe(&topic, &a.ice_oneway(), &[]).await;
    world.shut_down().await;

    let world = hub_in(&directory.0).await;
    let topics = world.manager.retrieve_all().await.unwrap();
    assert_eq!(topics.keys().collect::<Vec<_>>(), ["empty", "t"]);
    let topic = world.manager.retrieve("t").await.unwrap();
    let expected = [identity("z"), identity("c/a")];
    assert_eq!(topic.get_subscribers().await.unwrap(), expected);
    let info = world.info("t").await;
    assert_eq!(info.subscribers[0].qos["retryCount"], "7");
    assert_eq!(info.subscribers[1].subscriber, a.ice_oneway());
    publish(&publisher(&topic).await, "e").await;
    assert!(!z_inbox.next().await.is_oneway);
    assert!(a_inbox.next().await.is_oneway);
}

#[tokio::test]
async fn what_was_removed_stays_removed() {
    let directory = Directory::new();
    let subscribers = Subscribers::start().await;
    let (proxy, _inbox) = subscribers.add("s");
    let (dead, _inbox) = subscribers.add("dead");
    let world = hub_in(&directory.0).await;
    let (kept, destroyed) = (world.create("kept").await, world.create("destroyed").await);
    for topic in [&kept, &destroyed] {
        subscribe(topic, &proxy, &[]).await;
    }
    subscribe(&kept, &dead, &[]).await;
    kept.unsubscribe(Some(&proxy)).await.unwrap();
    destroyed.destroy().await.unwrap();
    subscribers.adapter.remove(&identity("dead"), "");
    let publisher = publisher(&kept).await;
    publish(&publisher, "e").await;
    world.info_when("kept", |i| i.lost.failed == 1).await;
    publish(&publisher, "e").await;
    world.info_when("kept", |i| i.subscribers.is_empty()).await;
    world.shut_down().await;

    let world = hub_in(&directory.0).await;
    let topics = world.manager.retrieve_all().await.unwrap();
    assert_eq!(topics.keys().collect::<Vec<_>>(), ["kept"]);
    let topic = world.create("destroyed").await;
    assert_eq!(topic.get_subscribers().await.unwrap(), []);
    let kept = world.manager.retrieve("kept").await.unwrap();
    assert_eq!(kept.get_subscribers().await.unwrap(), []);
}

#[tokio::test]
async fn a_subscription_outlives_a_shutdown_that_could_not_deliver() {
    let directory = Directory::new();
    let subscribers = Subscribers::start().await;
    let (proxy, _inbox) = subscribers.add_stuck("s");
    let store = StoreSettings::Disk(directory.0.clone());
    let world = World::with(|settings| {
        settings.store = store;
        settings.drain_timeout = std::time::Duration::from_millis(50);
    })
    .await;
    let topic = world.create("t").await;
    subscribe(&topic, &proxy, &[]).await;
    crate::world::publish_many(&publisher(&topic).await, 10).await;
    world.shut_down().await;

    let world = hub_in(&directory.0).await;
    let topic = world.manager.retrieve("t").await.unwrap();
    assert_eq!(topic.get_subscribers().await.unwrap(), [identity("s")]);
}

#[tokio::test]
async fn a_directory_serves_one_hub_at_a_time() {
    let directory = Directory::new();
    let _world = hub_in(&directory.0).await;
    let mut settings = HubSettings::default();
    settings.listen = "tcp -h 127.0.0.1 -p 0".to_owned();
    settings.store = StoreSettings::Disk(directory.0.clone());
    let communicator = floe::Communicator::new();
    let error = soon(Hub::start(&communicator, settings)).await.unwrap_err();
    assert!(matches!(&error, HubError::Store(_)), "{error}");
    assert!(
        error.to_string().contains("belongs to another hub"),
        "{error}"
    );
}

#[cfg(unix)]
#[tokio::test]
async fn a_hub_that_does_not_start_leaves_neither_a_socket_nor_a_store() {
    let (directory, sockets) = (Directory::new(), Directory::new());
    std::fs::create_dir_all(&sockets.0).unwrap();
    let socket = sockets.0.join("hub");
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = format!("tcp -h 127.0.0.1 -p {}", taken.local_addr().unwrap().port());
    let mut settings = HubSettings::default();
    settings.listen = format!("unix -f \"{}\"", socket.display());
    let communicator = floe::Communicator::new();
    let start = async |settings: HubSettings| soon(Hub::start(&communicator, settings)).await;

    let mut deaf = settings.clone();
    deaf.publish_listen = Some(taken);
    deaf.store = StoreSettings::Disk(directory.0.clone());
    let error = start(deaf).await.unwrap_err();
    assert!(matches!(&error, HubError::Adapter(_)), "{error}");
    assert!(!directory.0.exists() && !socket.exists());

    std::fs::write(&directory.0, "").unwrap();
    let mut homeless = settings.clone();
    homeless.store = StoreSettings::Disk(directory.0.clone());
    let error = start(homeless).await.unwrap_err();
    std::fs::remove_file(&directory.0).unwrap();
    assert!(matches!(&error, HubError::Store(_)), "{error}");
    assert!(!socket.exists());

    settings.store = StoreSettings::Disk(directory.0.clone());
    start(settings).await.unwrap().shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn clients_that_create_a_topic_at_the_same_time_all_get_it() {
    let directory = Directory::new();
    let world = hub_in(&directory.0).await;
    for round in 0..5 {
        let name = format!("t{round}");
        let callers: Vec<_> = (0..16)
            .map(|_| {
                let (manager, name) = (world.manager.clone(), name.clone());
                tokio::spawn(async move { manager.create_or_retrieve(&name).await })
            })
            .collect();
        for caller in callers {
            let topic = soon(caller).await.unwrap().expect("no error");
            assert_eq!(topic.get_name().await.unwrap(), name);
        }
    }
}
