//! Durable subscriptions that the retention overtakes.

use std::path::Path;

use floe::TypedProxy;
use floe_hub::DURABLE_TOPICS;
use floe_hub::contracts::floe::{DurableTopicsProxy, LogContents, TopicInfo};

use crate::durable::{DURABLE, all_operations, hub_with, topic};
use crate::world::{
    Directory, Subscribers, World, numbered, publish_many, publisher, soon, subscribe,
};

/// How many events the topic `t` keeps.
const KEPT: usize = 20;

async fn hub_in(directory: &Path) -> World {
    let keep_few = |settings: &mut floe_hub::HubSettings| {
        let durable = settings.durable_topics.get_mut("t").expect("it is there");
        durable.retention.events = Some(KEPT as u64);
    };
    hub_with(directory, keep_few).await
}

async fn contents(world: &World) -> LogContents {
    let topics = DurableTopicsProxy::from_proxy(world.object(DURABLE_TOPICS));
    soon(topics.contents("t")).await.expect("a durable topic")
}

#[tokio::test]
async fn events_that_the_retention_drops_unread_are_counted_to_the_last_one() {
    let directory = Directory::new();
    let world = hub_in(&directory.0).await;
    let topic = topic(&world, "t").await;
    let publisher = publisher(&topic).await;
    let subscribers = Subscribers::start().await;
    let (proxy, inbox) = subscribers.add("s");
    subscribe(&topic, &proxy, DURABLE).await;
    // It answers no more: some events are on their way to it when the log drops them.
    inbox.close();
    publish_many(&publisher, 300).await;
    let known = contents(&world).await;
    assert_eq!((known.events, known.first, known.next), (20, 281, 301));
    assert!(known.subscriptions[0].behind <= 20, "{known:?}");
    inbox.open();
    let is_done = |info: &TopicInfo| {
        let it = &info.subscribers[0];
        it.delivered + it.lost.retention == 300 && it.queued + it.outstanding == 0
    };
    let info = world.info_when("t", is_done).await;
    let received = inbox.waiting() as i64;
    let it = &info.subscribers[0];
    assert!(received >= 20, "{info:?}");
    assert_eq!((it.delivered, it.offered), (received, 300));
    assert_eq!((it.lost.retention, it.lost.overflow), (300 - received, 0));
}

#[tokio::test]
async fn exactly_the_newest_events_are_there_after_a_restart() {
    let directory = Directory::new();
    let world = hub_in(&directory.0).await;
    let t = topic(&world, "t").await;
    let subscribers = Subscribers::start().await;
    let (proxy, mut inbox) = subscribers.add("s");
    subscribe(&t, &proxy, DURABLE).await;
    soon(t.unsubscribe(Some(&proxy)))
        .await
        .expect("it has subscribed");
    publish_many(&publisher(&t).await, 90).await;
    world.shut_down().await;
    let world = hub_in(&directory.0).await;
    let known = contents(&world).await;
    assert_eq!((known.events, known.first, known.next), (20, 71, 91));
    assert_eq!(known.subscriptions[0].behind, 20);
    let ordered = [DURABLE, &[("reliability", "ordered")]].concat();
    subscribe(&topic(&world, "t").await, &proxy, &ordered).await;
    let operations = all_operations(&world, &mut inbox, KEPT).await;
    assert_eq!(operations, numbered(90)[70..]);
    let info = world.info("t").await;
    let it = &info.subscribers[0];
    assert_eq!((it.lost.retention, it.delivered, it.offered), (70, 20, 90));
}
