//! Links of durable topics, which have a position in the log.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use floe::TypedProxy;
use floe::contracts::ice_storm::TopicProxy;
use floe_hub::contracts::floe::DurableTopicsProxy;
use floe_hub::{DURABLE_TOPICS, DurableSettings};

use crate::durable::{hub_in, hub_with, topic};
use crate::world::{Directory, World, numbered, publish, publish_many, publisher, soon};

/// The names of the events in the log of `t`.
async fn logged(world: &World) -> Vec<String> {
    logged_in(world, "t").await
}

/// The names of the events in the log of a topic.
async fn logged_in(world: &World, topic: &str) -> Vec<String> {
    let topics = DurableTopicsProxy::from_proxy(world.object(DURABLE_TOPICS));
    let (mut names, mut next) = (Vec::new(), 0);
    loop {
        let (events, after) = soon(topics.read(topic, next, 1000))
            .await
            .expect("a durable topic");
        names.extend(events.into_iter().map(|event| event.operation));
        if after == next {
            return names;
        }
        next = after;
    }
}

/// Waits until the log of a topic has these events. They count as forwarded before they are stored.
async fn has_logged(world: &World, topic: &str, expected: &[String]) {
    let logged = async {
        while logged_in(world, topic).await.len() < expected.len() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    soon(logged).await;
    assert_eq!(logged_in(world, topic).await, expected);
}

async fn link(from: &TopicProxy, to: &TopicProxy) {
    soon(from.link(Some(to), 0)).await.expect("linked");
}

/// A hub at this endpoint.
async fn hub_at(directory: &Path, endpoint: &str) -> World {
    hub_with(directory, |settings| settings.listen = endpoint.to_owned()).await
}

/// The events before a link exists are not for it. All later ones arrive, although the other hub ends three times, and this one
/// once, while events are under way.
#[tokio::test]
async fn no_event_is_lost_over_a_link_while_either_hub_ends_and_starts_again() {
    let (here_folder, there_folder) = (Directory::new(), Directory::new());
    let mut there = hub_in(&there_folder.0).await;
    let endpoint = there.hub.endpoints();
    let mut here = hub_in(&here_folder.0).await;
    publish(&publisher(&topic(&here, "t").await).await, "before").await;
    link(&topic(&here, "t").await, &topic(&there, "t").await).await;
    for round in 0..3 {
        let publisher = publisher(&topic(&here, "t").await).await;
        for number in 0..100 {
            publish(&publisher, &format!("e{}", round * 200 + number)).await;
        }
        there.shut_down().await;
        for number in 100..200 {
            publish(&publisher, &format!("e{}", round * 200 + number)).await;
        }
        if round == 1 {
            here.shut_down().await;
            here = hub_in(&here_folder.0).await;
        }
        there = hub_at(&there_folder.0, &endpoint).await;
    }
    let info = here
        .info_when("t", |info| {
            let link = &info.subscribers[0];
            link.queued == 0 && link.outstanding == 0
        })
        .await;
    let lost = &info.subscribers[0].lost;
    assert_eq!((lost.offline, lost.failed, lost.removed), (0, 0, 0));
    let arrived = logged(&there).await;
    // Those of a call whose answer did not come are there twice. Without these, they are in their order.
    let mut seen = BTreeSet::new();
    let mut first: Vec<String> = arrived.clone();
    first.retain(|name| seen.insert(name.clone()));
    assert_eq!(first, numbered(600));
    assert!(arrived.len() <= 600 + 3 * 100, "{}", arrived.len());
}

#[tokio::test]
async fn events_of_a_log_cross_one_link_only() {
    let (one, two, three) = (Directory::new(), Directory::new(), Directory::new());
    let (a, b) = (hub_in(&one.0).await, hub_in(&two.0).await);
    let c = hub_with(&three.0, |settings| {
        settings
            .durable_topics
            .insert("far".to_owned(), DurableSettings::default());
    })
    .await;
    link(&topic(&a, "t").await, &topic(&b, "t").await).await;
    link(&topic(&b, "t").await, &topic(&a, "t").await).await;
    link(&topic(&b, "t").await, &topic(&c, "far").await).await;
    publish_many(&publisher(&topic(&a, "t").await).await, 5).await;
    b.info_when("t", |info| info.forwarded == 5).await;
    publish(&publisher(&topic(&b, "t").await).await, "own").await;
    c.info_when("far", |info| info.forwarded == 1).await;
    a.info_when("t", |info| info.forwarded == 1).await;
    has_logged(&c, "far", &["own".to_owned()]).await;
    let with_own = [numbered(5), vec!["own".to_owned()]].concat();
    has_logged(&a, "t", &with_own).await;
    has_logged(&b, "t", &with_own).await;
    // The hub at the end of both links knows of each what came over a link, also after a restart.
    b.shut_down().await;
    let b = hub_in(&two.0).await;
    publish(&publisher(&topic(&b, "t").await).await, "later").await;
    a.info_when("t", |info| info.forwarded == 2).await;
    let with_later = [with_own, vec!["later".to_owned()]].concat();
    has_logged(&a, "t", &with_later).await;
}

#[tokio::test]
async fn a_link_that_is_made_again_begins_with_new_events() {
    let (one, two) = (Directory::new(), Directory::new());
    let (a, b) = (hub_in(&one.0).await, hub_in(&two.0).await);
    let (here, there) = (topic(&a, "t").await, topic(&b, "t").await);
    link(&here, &there).await;
    soon(here.unlink(Some(&there))).await.expect("there is one");
    let topics = DurableTopicsProxy::from_proxy(a.object(DURABLE_TOPICS));
    let contents = soon(topics.contents("t")).await.expect("a durable topic");
    assert!(contents.subscriptions.is_empty(), "{contents:?}");
    let publisher = publisher(&here).await;
    publish(&publisher, "between").await;
    link(&here, &there).await;
    publish(&publisher, "after").await;
    b.info_when("t", |info| info.forwarded == 1).await;
    has_logged(&b, "t", &["after".to_owned()]).await;
}
