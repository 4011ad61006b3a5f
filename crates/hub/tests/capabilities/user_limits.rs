//! Limits by user: what the rules know of who calls decides how much it may have.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use floe::contracts::ice_storm::TopicManagerProxy;
use floe::{Communicator, Proxy, TypedProxy};
use floe_hub::{HubLimits, HubSettings, StoreSettings};

use crate::access::{rules, token, topic};
use crate::world::{Directory, World, soon};

const BOTH_MAY: &str = "[access.tokens]\nkeys = \"keys\"\n[[access.rule]]\nusers = [\"ann\", \"bob\"]\n\
    allow = [\"create\", \"destroy\", \"subscribe\", \"observe\"]\ncallbacks = \"any\"\n";

/// A hub at which ann and bob may have as much as this.
async fn hub_with(
    limits: impl FnOnce(&mut HubLimits),
    more: impl FnOnce(&mut HubSettings),
) -> World {
    World::with(|settings| {
        settings.access = rules(BOTH_MAY);
        limits(&mut settings.limits);
        more(settings);
    })
    .await
}

fn used(world: &World, setting: &str) -> usize {
    let limits = world.hub.view().limits().expect("it runs");
    let found = limits.iter().find(|it| it.setting == setting);
    found.expect("a limit").used
}

/// How long a condition may take on a busy computer.
const PATIENCE: Duration = Duration::from_secs(60);

async fn until(mut condition: impl AsyncFnMut() -> bool) {
    let start = Instant::now();
    while !condition().await {
        assert!(start.elapsed() < PATIENCE, "it never comes true");
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_user_that_has_its_topics_creates_no_more_and_others_do() {
    let directory = Directory::new();
    let start = || {
        let store = StoreSettings::Disk(directory.0.clone());
        hub_with(|it| it.topics_per_user = 1, |it| it.store = store)
    };
    let world = start().await;
    let (ann, bob) = (token("ann"), token("bob"));
    let manager = world.manager.ice_context(ann.clone());
    soon(manager.create("a")).await.expect("the first");
    let refused = soon(manager.create("b")).await.unwrap_err().to_string();
    assert!(
        refused.contains("user \"ann\" has 1 topics, as many as limits.topics-per-user allows"),
        "{refused}"
    );
    soon(world.manager.ice_context(bob).create("b"))
        .await
        .expect("bob has none");
    assert_eq!(used(&world, "limits.topics-per-user"), 1);
    world.shut_down().await;
    // The store knows who created a topic.
    let world = start().await;
    let manager = world.manager.ice_context(ann.clone());
    soon(manager.create("c")).await.expect_err("it has one");
    soon(topic(&world, "a").ice_context(ann).destroy())
        .await
        .expect("it may");
    soon(manager.create("c")).await.expect("it has none now");
    world.shut_down().await;
}

#[tokio::test]
async fn a_user_that_has_its_subscriptions_gets_no_more_until_one_ends() {
    let directory = Directory::new();
    let start = || {
        let store = StoreSettings::Disk(directory.0.clone());
        hub_with(|it| it.subscriptions_per_user = 1, |it| it.store = store)
    };
    let world = start().await;
    let ann = token("ann");
    soon(world.manager.ice_context(ann.clone()).create("t"))
        .await
        .expect("it may");
    let subscriber = |world: &World, name: &str| -> Proxy {
        let text = format!("{name}:tcp -h 127.0.0.1 -p 1");
        world.client.proxy(&text).expect("a proxy")
    };
    let none = BTreeMap::new();
    let t = topic(&world, "t").ice_context(ann.clone());
    let one = subscriber(&world, "one");
    soon(t.subscribe_and_get_publisher(&none, Some(&one)))
        .await
        .expect("the first");
    world.shut_down().await;
    let world = start().await;
    let t = topic(&world, "t").ice_context(ann.clone());
    let two = subscriber(&world, "two");
    let refused = soon(t.subscribe_and_get_publisher(&none, Some(&two))).await;
    let refused = refused.expect_err("it has one").to_string();
    assert!(
        refused.contains("limits.subscriptions-per-user"),
        "{refused}"
    );
    assert_eq!(used(&world, "limits.subscriptions-per-user"), 1);
    soon(t.unsubscribe(Some(&subscriber(&world, "one"))))
        .await
        .expect("it may");
    soon(t.subscribe_and_get_publisher(&none, Some(&two)))
        .await
        .expect("it has none now");
    world.shut_down().await;
}

#[tokio::test]
async fn a_user_with_its_connections_is_refused_over_further_ones() {
    let world = hub_with(|it| it.connections_per_user = 1, |_| ()).await;
    let ann = token("ann");
    let manager = world.manager.ice_context(ann.clone());
    soon(manager.create("a"))
        .await
        .expect("its only connection");
    let other = Communicator::new();
    let text = world.hub.topic_manager();
    let second: TopicManagerProxy = other.proxy(&text).expect("a proxy");
    let refused = soon(second.ice_context(ann.clone()).create("b")).await;
    let refused = refused.unwrap_err().to_string();
    assert!(
        refused.contains(
            "user \"ann\" has 1 connections, as many as limits.connections-per-user allows"
        ),
        "{refused}"
    );
    assert_eq!(world.hub.view().refused(), Some(1));
    soon(second.ice_context(token("bob")).create("b"))
        .await
        .expect("bob has none");
    soon(manager.create("c"))
        .await
        .expect("its connection is as good as before");
    // When the first connection has ended, the other one counts.
    world.client.shutdown().await;
    let second = second.ice_context(ann);
    until(async || soon(second.retrieve("a")).await.is_ok()).await;
    other.shutdown().await;
}
