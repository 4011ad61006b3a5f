//! A hub that keeps topics and subscriptions on disk.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use floe::TypedProxy;
use floe_hub::{Hub, HubError, HubSettings, StoreSettings};

use crate::world::{Subscribers, World, identity, publish, publisher, soon, subscribe};

/// A directory of its own for a test; removed with it.
struct Directory(PathBuf);

impl Directory {
    fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("floe-hub-{}-{number}", std::process::id());
        Self(std::env::temp_dir().join(name))
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

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
    let topic = world.manager.retrieve("t").await.unwrap().unwrap();
    let expected = [identity("z"), identity("c/a")];
    assert_eq!(topic.get_subscribers().await.unwrap(), expected);
    let info = world.info("t").await;
    assert_eq!(info.subscribers[0].qos["retryCount"], "7");
    assert_eq!(info.subscribers[1].subscriber, Some(a.ice_oneway()));
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
    let kept = world.manager.retrieve("kept").await.unwrap().unwrap();
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
    let topic = world.manager.retrieve("t").await.unwrap().unwrap();
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
    assert!(error.to_string().contains("hub.redb"), "{error}");
}
