//! Limits by user: what the rules know of who calls decides how much it may have.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use floe::contracts::ice_storm::TopicManagerProxy;
use floe::{Communicator, Proxy, TypedProxy};
use floe_hub::contracts::floe::DurableTopicsProxy;
use floe_hub::{DURABLE_TOPICS, HubLimits, HubSettings, StoreSettings};

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

#[tokio::test]
async fn a_user_takes_only_its_share_of_the_durable_topics_and_subscriptions() {
    let directory = Directory::new();
    let start = || {
        let store = StoreSettings::Disk(directory.0.clone());
        let limits = |limits: &mut HubLimits| {
            limits.durable_topics_per_user = 1;
            limits.durable_subscriptions_per_user = 1;
        };
        hub_with(limits, |it| it.store = store)
    };
    let durable = |world: &World, user: &str| {
        let topics = DurableTopicsProxy::from_proxy(world.object(DURABLE_TOPICS));
        topics.ice_context(token(user))
    };
    let named = |name: &str| {
        let from = ("floe.from".to_owned(), "beginning".to_owned());
        BTreeMap::from([("floe.durable".to_owned(), name.to_owned()), from])
    };
    let world = start().await;
    let (ann, bob) = (durable(&world, "ann"), durable(&world, "bob"));
    soon(ann.create("a")).await.expect("the first");
    let refused = soon(ann.create("b")).await.unwrap_err().to_string();
    assert!(
        refused.contains(
            "user \"ann\" has 1 durable topics, as many as limits.durable-topics-per-user allows"
        ),
        "{refused}"
    );
    soon(bob.create("b")).await.expect("bob has none");
    soon(ann.open_pull("a", &named("one"))).await.expect("it");
    soon(ann.open_pull("a", &named("one")))
        .await
        .expect("again");
    soon(bob.open_pull("a", &named("bob"))).await.expect("his");
    world.shut_down().await;

    // The files of the positions know who began them.
    let world = start().await;
    let (ann, bob) = (durable(&world, "ann"), durable(&world, "bob"));
    assert_eq!(used(&world, "limits.durable-topics-per-user"), 1);
    assert_eq!(used(&world, "limits.durable-subscriptions-per-user"), 1);
    let refused = soon(ann.open_pull("b", &named("two"))).await;
    let refused = refused.unwrap_err().to_string();
    assert!(
        refused.contains("limits.durable-subscriptions-per-user"),
        "{refused}"
    );
    soon(ann.create("c")).await.expect_err("it has one");
    // The end of a topic, or of a position, gives its share back.
    soon(ann.remove_position("a", "one")).await.expect("it may");
    soon(ann.open_pull("b", &named("two"))).await.expect("it");
    let a = topic(&world, "a").ice_context(token("ann"));
    soon(a.destroy()).await.expect("it may");
    soon(ann.create("c")).await.expect("it has none now");
    soon(bob.open_pull("c", &named("bob"))).await.expect("none");
    world.shut_down().await;
}
