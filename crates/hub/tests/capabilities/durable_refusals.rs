//! Durable subscriptions whose logs cannot be read, and whose positions are set while they deliver.

use std::path::{Path, PathBuf};

use floe::TypedProxy;
use floe_hub::DURABLE_TOPICS;
use floe_hub::contracts::floe::DurableTopicsProxy;

use crate::durable::{DURABLE, hub_in, topic};
use crate::world::{
    Directory, Log, Subscribers, numbered, publish, publish_many, publisher, soon, subscribe,
};

#[tokio::test]
async fn an_event_that_cannot_be_read_does_not_pass_for_a_dead_letter() {
    let directory = Directory::new();
    let world = hub_in(&directory.0).await;
    let log = Log::start();
    let topic = topic(&world, "t").await;
    let subscribers = Subscribers::start().await;
    let (proxy, mut inbox) = subscribers.add_stuck("s");
    let wishes = [DURABLE, &[("floe.attempts", "1"), ("floe.backOff", "1")]].concat();
    subscribe(&topic, &proxy, &wishes).await;
    publish(&publisher(&topic).await, "throw").await;
    assert_eq!(inbox.next().await.operation, "throw");
    // The system cannot open a folder as the file that was here.
    let segment = segment_in(&directory.0);
    let away = segment.with_extension("away");
    std::fs::rename(&segment, &away).unwrap();
    std::fs::create_dir(&segment).unwrap();
    inbox.open();
    let refused = || !log.lines_with("cannot become a dead letter").is_empty();
    world.info_when("t", |_| refused()).await;
    assert_eq!(world.info("t").await.lost.failed, 0);
    std::fs::remove_dir(&segment).unwrap();
    std::fs::rename(&away, &segment).unwrap();
    // It is delivered again, refused again, and is now a dead letter.
    world.dead_letters_when("t", 1).await;
    let dead = soon(world.manager.retrieve("t.dead")).await.unwrap();
    let (proxy, mut inbox) = subscribers.add("mourner");
    subscribe(&dead, &proxy, &[("floe.from", "beginning")]).await;
    assert_eq!(inbox.next().await.operation, "throw");
}

/// The only segment of a log below this folder that has events.
fn segment_in(folder: &Path) -> PathBuf {
    let mut folders = vec![folder.to_owned()];
    let mut found = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.parent().unwrap().ends_with("log") && !path.ends_with("lock") {
                found.push(path);
            }
        }
    }
    assert_eq!(found.len(), 1, "{found:?}");
    found.remove(0)
}

#[tokio::test]
async fn a_caught_up_subscriber_gets_the_events_from_the_position_that_is_set() {
    let directory = Directory::new();
    let world = hub_in(&directory.0).await;
    let topic = topic(&world, "t").await;
    publish_many(&publisher(&topic).await, 3).await;
    let subscribers = Subscribers::start().await;
    let (proxy, mut inbox) = subscribers.add("s");
    let wishes = [DURABLE, &[("reliability", "ordered")]].concat();
    subscribe(&topic, &proxy, &wishes).await;
    let topics = DurableTopicsProxy::from_proxy(world.object(DURABLE_TOPICS));
    for _ in 0..3 {
        assert_eq!(inbox.operations(3).await, numbered(3));
        // No event is under way, and the task soon waits for the next one.
        world
            .info_when("t", |info| info.subscribers[0].outstanding == 0)
            .await;
        soon(topics.set_position("t", "d", "beginning"))
            .await
            .unwrap();
    }
    assert_eq!(inbox.operations(3).await, numbered(3));
}

#[tokio::test]
async fn a_refusal_after_the_position_has_passed_the_event_leaves_nothing_outstanding() {
    let directory = Directory::new();
    let world = hub_in(&directory.0).await;
    let topic = topic(&world, "t").await;
    let subscribers = Subscribers::start().await;
    let (proxy, mut inbox) = subscribers.add_stuck("s");
    subscribe(&topic, &proxy, DURABLE).await;
    publish(&publisher(&topic).await, "throw").await;
    assert_eq!(inbox.next().await.operation, "throw");
    let topics = DurableTopicsProxy::from_proxy(world.object(DURABLE_TOPICS));
    soon(topics.set_position("t", "d", "new")).await.unwrap();
    inbox.open();
    let is_settled =
        |info: &floe_hub::contracts::floe::TopicInfo| info.subscribers[0].outstanding == 0;
    world.info_when("t", is_settled).await;
}

#[tokio::test]
async fn events_that_are_under_way_when_the_position_is_set_leave_room_for_others() {
    let directory = Directory::new();
    let world = hub_in(&directory.0).await;
    let topic = topic(&world, "t").await;
    let publisher = publisher(&topic).await;
    let subscribers = Subscribers::start().await;
    let (proxy, mut inbox) = subscribers.add_stuck("s");
    let wishes = [DURABLE, &[("reliability", "ordered")]].concat();
    subscribe(&topic, &proxy, &wishes).await;
    publish(&publisher, "never answered").await;
    assert_eq!(inbox.next().await.operation, "never answered");
    let topics = DurableTopicsProxy::from_proxy(world.object(DURABLE_TOPICS));
    soon(topics.set_position("t", "d", "new")).await.unwrap();
    publish(&publisher, "next").await;
    assert_eq!(inbox.next().await.operation, "next");
    let info = world.info("t").await;
    assert_eq!(info.subscribers[0].outstanding, 1);
}
