//! The end of a hub, and what it leaves behind.

use std::net::TcpListener;
use std::time::Duration;

use floe::{Communicator, OperationMode, TypedProxy};
use floe_hub::{Hub, HubError, HubSettings, StoreSettings};

use crate::world::{
    Directory, Log, Subscribers, World, nothing, publish_many, publisher, soon, subscribe,
};

fn settings_at(port: u16) -> HubSettings {
    let mut settings = HubSettings::default();
    settings.listen = format!("tcp -h 127.0.0.1 -p {port}");
    settings
}

fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port()
}

#[tokio::test]
async fn events_acknowledged_during_a_shutdown_reach_the_subscribers() {
    let limit = Duration::from_millis(500);
    let world = World::with(|settings| settings.drain_timeout = limit).await;
    let subscribers = Subscribers::start().await;
    let (healthy, mut inbox) = subscribers.add("healthy");
    let (stuck, _stuck_inbox) = subscribers.add_stuck("stuck");
    let topic = world.create("t").await;
    subscribe(&topic, &healthy, &[]).await;
    subscribe(&topic, &stuck, &[]).await;
    let publisher = publisher(&topic).await;
    let publishing = tokio::spawn(async move {
        let mut acknowledged = 0;
        let event = nothing();
        loop {
            let answer = publisher.invoke("e", OperationMode::Normal, &event).await;
            if answer.is_err() {
                return acknowledged;
            }
            acknowledged += 1;
        }
    });
    inbox.operations(10).await;
    world.shut_down().await;
    let acknowledged: usize = soon(publishing).await.unwrap();
    let received = 10 + inbox.waiting();
    assert!(acknowledged <= received, "{acknowledged} of {received}");
}

#[tokio::test]
async fn a_warning_counts_the_events_that_a_shutdown_loses() {
    let log = Log::start();
    let limit = Duration::from_millis(50);
    let world = World::with(|settings| settings.drain_timeout = limit).await;
    let subscribers = Subscribers::start().await;
    let ((stuck, _stuck_inbox), (quick, _inbox)) =
        (subscribers.add_stuck("stuck"), subscribers.add("quick"));
    let topic = world.create("t").await;
    subscribe(&topic, &stuck, &[]).await;
    subscribe(&topic, &quick, &[]).await;
    publish_many(&publisher(&topic).await, 12).await;
    world.shut_down().await;
    let lines = log.lines_with("lost at shutdown");
    assert_eq!(lines.len(), 1, "{lines:?}");
    let expected = "WARN floe_hub::service::registry::deliveries: lost at shutdown: 12 events for \"stuck\" of topic \"t\"";
    assert!(lines[0].contains(expected), "{lines:?}");
}

#[tokio::test]
async fn a_hub_that_was_shut_down_or_dropped_has_ended() {
    for is_dropped in [false, true] {
        let directory = Directory::new();
        let store = StoreSettings::Disk(directory.0.clone());
        let world = World::with(|settings| settings.store = store.clone()).await;
        let topic = world.create("t").await;
        let subscribers = Subscribers::start().await;
        let (proxy, _inbox) = subscribers.add("s");
        subscribe(&topic, &proxy, &[]).await;
        let publisher = publisher(&topic).await;
        match is_dropped {
            // On a thread that cannot wait.
            true => std::thread::spawn(|| drop(world.hub)).join().unwrap(),
            false => soon(world.hub.shutdown()).await,
        }
        let mut settings = settings_at(0);
        settings.store = store;
        let hub = soon(Hub::start(&world.hub_side, settings)).await;
        let hub = hub.expect("the store is free");
        for object in [topic.as_proxy(), &publisher, world.manager.as_proxy()] {
            soon(object.ice_ping()).await.unwrap_err();
        }
        let manager = world.client.proxy(&hub.topic_manager()).unwrap();
        let manager = floe::contracts::ice_storm::TopicManagerProxy::from_proxy(manager);
        let topic = soon(manager.retrieve("t")).await.unwrap();
        assert_eq!(topic.get_subscribers().await.unwrap().len(), 1);
    }
}

#[tokio::test]
async fn a_cancelled_shutdown_ends_the_hub_immediately() {
    let world = World::with(|settings| settings.drain_timeout = Duration::MAX).await;
    let subscribers = Subscribers::start().await;
    let (stuck, _inbox) = subscribers.add_stuck("stuck");
    let topic = world.create("t").await;
    subscribe(&topic, &stuck, &[]).await;
    publish_many(&publisher(&topic).await, 12).await;
    let limit = Duration::from_millis(100);
    let shutdown = tokio::time::timeout(limit, world.hub.shutdown());
    shutdown.await.unwrap_err();
    soon(topic.ice_ping()).await.unwrap_err();
    soon(world.hub_side.shutdown()).await;
}

#[tokio::test]
async fn a_start_that_fails_leaves_port_and_store_free() {
    let directory = Directory::new();
    std::fs::write(&directory.0, "no directory").unwrap();
    let communicator = Communicator::new();
    let port = free_port();
    let mut settings = settings_at(port);
    settings.store = StoreSettings::Disk(directory.0.clone());
    let error = Hub::start(&communicator, settings.clone()).await;
    assert!(matches!(error, Err(HubError::Store(_))), "{error:?}");
    std::fs::remove_file(&directory.0).unwrap();
    let taken = TcpListener::bind(("127.0.0.1", port)).expect("the port is free");
    let error = Hub::start(&communicator, settings.clone()).await;
    assert!(matches!(error, Err(HubError::Adapter(_))), "{error:?}");
    drop(taken);
    let hub = Hub::start(&communicator, settings).await;
    hub.expect("the store is free");
}
