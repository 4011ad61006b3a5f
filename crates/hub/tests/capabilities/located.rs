//! Subscribers without endpoints, which a locator finds.

use std::sync::Arc;
use std::time::Duration;

use floe::Proxy;
use floe_hub::contracts::floe::SubscriberState;

use crate::locator::{self, Registry};
use crate::world::{Subscribers, World, publish, publisher, soon, subscribe};

/// A locator, and a hub that uses it.
async fn start() -> (Arc<Registry>, Subscribers, World) {
    let (registry, locators, hub_side) = locator::start(Duration::ZERO).await;
    (registry, locators, World::of(hub_side, |_| ()).await)
}

#[tokio::test]
async fn a_subscriber_that_moves_with_its_adapter_keeps_its_subscription() {
    let (registry, _locators, world) = start().await;
    let topic = world.create("t").await;
    let publisher = publisher(&topic).await;
    for mode in ["", " -o", " -O"] {
        let text = format!("s{mode} @ Place");
        let subscriber: Proxy = world.client.proxy(&text).unwrap();
        let own = [("retryCount", "-1"), ("locatorCacheTimeout", "3600")];
        subscribe(&topic, &subscriber, &own).await;
        for event in ["before", "after"] {
            let place = Subscribers::start().await;
            let (proxy, mut inbox) = place.add("s");
            registry.place("Place", proxy);
            publish(&publisher, event).await;
            assert_eq!(inbox.operations(1).await, [event], "{mode}");
            place.stop().await;
        }
        let left = topic.unsubscribe(Some(&subscriber));
        soon(left).await.expect("it is subscribed");
    }
}

#[tokio::test]
async fn a_subscriber_that_the_locator_does_not_know_loses_its_subscription() {
    let (_registry, _locators, world) = start().await;
    let topic = world.create("t").await;
    let publisher = publisher(&topic).await;
    let subscriber: Proxy = world.client.proxy("s @ Nowhere").unwrap();
    subscribe(&topic, &subscriber, &[("retryCount", "-1")]).await;
    publish(&publisher, "e").await;
    let failed = |state| state == SubscriberState::Failed;
    world
        .info_when("t", |i| i.subscribers.iter().any(|s| failed(s.state)))
        .await;
    publish(&publisher, "e").await;
    let info = world.info_when("t", |i| i.subscribers.is_empty()).await;
    assert_eq!((info.lost.failed, info.lost.removed), (1, 1));
}
