//! Links between topics of one hub and of two.

use std::time::Duration;

use floe::contracts::ice_storm::{
    LinkExistsError, NoSuchLinkError, TopicInternalProxy, TopicLinkProxy, TopicProxy,
};
use floe::{Context, InvokeError, OperationMode, Proxy, SystemException, TypedProxy};
use floe_hub::StoreSettings;

use crate::world::{
    Directory, Inbox, Subscribers, World, identity, nothing, numbered, publish, publish_many,
    publisher, soon, subscribe,
};

/// A topic with a subscriber.
async fn topic(world: &World, subscribers: &Subscribers, name: &str) -> (TopicProxy, Inbox) {
    let topic = world.create(name).await;
    let (proxy, inbox) = subscribers.add(&format!("to {name}"));
    let qos = [("reliability", "ordered")];
    subscribe(&topic, &proxy, &qos).await;
    (topic, inbox)
}

async fn link(from: &TopicProxy, to: &TopicProxy, cost: i32) {
    soon(from.link(Some(to), cost)).await.expect("linked");
}

async fn links(topic: &TopicProxy) -> Vec<(String, i32)> {
    let infos = soon(topic.get_link_info_seq()).await.expect("links");
    let pairs = infos.into_iter().map(|info| (info.name, info.cost));
    pairs.collect()
}

async fn publish_at_cost(publisher: &Proxy, operation: &str, cost: &str) {
    let context = Context::from([("cost".to_owned(), cost.to_owned())]);
    publish(&publisher.ice_context(context), operation).await;
}

/// Checks what links to a topic of the same hub and to one of another hub have in common.
async fn carries_events_one_hop_at_their_cost(here: &World, there: &World) {
    let subscribers = Subscribers::start().await;
    let (a, mut in_a) = topic(here, &subscribers, "a").await;
    let (b, mut in_b) = topic(there, &subscribers, "b").await;
    let (c, mut in_c) = topic(here, &subscribers, "c").await;
    link(&a, &b, 5).await;
    link(&b, &c, 0).await;
    let publisher = publisher(&a).await;
    publish(&publisher, "free").await;
    publish_at_cost(&publisher, "dear", "6").await;
    publish_at_cost(&publisher, "fair", "5").await;
    assert_eq!(in_a.operations(3).await, ["free", "dear", "fair"]);
    assert_eq!(in_b.next().await.operation, "free");
    let fair = in_b.next().await;
    assert_eq!(fair.operation, "fair");
    assert_eq!(fair.context["cost"], "5");
    assert_eq!(fair.parameters, nothing());
    publish(&self::publisher(&b).await, "own").await;
    assert_eq!(in_c.next().await.operation, "own");
    assert!(!in_c.has_more(), "events go one hop");
    let info = there.info("b").await;
    assert_eq!((info.published, info.forwarded), (1, 2));
    let info = here.info_when("a", |info| info.delivered == 5).await;
    let link = &info.subscribers[1];
    assert!(link.is_link && link.cost == 5);
    assert_eq!((link.offered, link.delivered), (2, 2));
}

#[tokio::test]
async fn events_pass_to_a_topic_of_the_same_hub() {
    let world = World::start().await;
    carries_events_one_hop_at_their_cost(&world, &world).await;
}

#[tokio::test]
async fn events_pass_to_a_topic_of_another_hub() {
    let (here, there) = (World::start().await, World::start().await);
    carries_events_one_hop_at_their_cost(&here, &there).await;
}

#[tokio::test]
async fn a_link_is_listed_and_removed_by_its_topic() {
    let world = World::start().await;
    let subscribers = Subscribers::start().await;
    let (a, _in_a) = topic(&world, &subscribers, "a").await;
    let b = world.create("b").await;
    link(&a, &b, 3).await;
    let again = soon(a.link(Some(&b), 0)).await.unwrap_err();
    assert!(matches!(&again, LinkExistsError::LinkExists(e) if e.name == "b"));
    assert_eq!(links(&a).await, [("b".to_owned(), 3)]);
    let expected = [identity("to a"), identity("IceStorm/topic.b")];
    assert_eq!(soon(a.get_subscribers()).await.unwrap(), expected);
    let info = soon(a.get_link_info_seq()).await.unwrap();
    assert_eq!(info[0].the_topic, b);
    soon(a.unlink(Some(&b))).await.unwrap();
    let again = soon(a.unlink(Some(&b))).await.unwrap_err();
    assert!(matches!(&again, NoSuchLinkError::NoSuchLink(e) if e.name == "b"));
    assert_eq!(links(&a).await, []);
    link(&a, &b, 0).await;
    soon(a.unsubscribe(Some(b.as_proxy()))).await.unwrap();
    assert_eq!(links(&a).await, [], "as IceStorm removes it");
}

#[tokio::test]
async fn a_topic_proxy_without_endpoints_means_a_topic_of_the_hub() {
    let (world, subscribers) = (World::start().await, Subscribers::start().await);
    let a = world.create("a").await;
    let (b, mut inbox) = topic(&world, &subscribers, "b").await;
    let nowhere = world.client.proxy("IceStorm/topic.b").unwrap();
    link(&a, &TopicProxy::from_proxy(nowhere), 0).await;
    publish(&publisher(&a).await, "e").await;
    assert_eq!(inbox.next().await.operation, "e");
    soon(a.unlink(Some(&b))).await.unwrap();
    assert_eq!(links(&a).await, []);
}

#[tokio::test]
async fn a_link_to_an_object_that_is_no_topic_is_refused_with_the_reason() {
    let world = World::start().await;
    let a = world.create("a").await;
    let link_to = async |proxy: Proxy| {
        let topic = TopicProxy::from_proxy(proxy);
        match soon(a.link(Some(&topic), 0)).await.unwrap_err() {
            LinkExistsError::Invoke(error) => error,
            error => panic!("{error}"),
        }
    };
    let none = link_to(world.object("IceStorm/topic.none")).await;
    let InvokeError::System(SystemException::ObjectNotExist(missing)) = &none else {
        panic!("{none}");
    };
    assert_eq!(missing.identity, identity("IceStorm/topic.none"));
    let manager = link_to(world.object("IceStorm/TopicManager")).await;
    assert!(matches!(
        manager,
        InvokeError::System(SystemException::OperationNotExist(_))
    ));
    let nobody = world.client.proxy("t:tcp -h 127.0.0.1 -p 1").unwrap();
    let nobody = link_to(nobody).await;
    assert!(
        matches!(&nobody, InvokeError::System(SystemException::UnknownLocalException(text)) if text.contains("-p 1")),
        "{nobody}"
    );
    let b = world.create("b").await.as_proxy().clone();
    let oneway = link_to(b.ice_oneway()).await;
    assert!(
        matches!(&oneway, InvokeError::System(SystemException::UnknownLocalException(text)) if text.contains("twoway")),
        "{oneway}"
    );
    let faceted = link_to(b.ice_facet("f")).await;
    let InvokeError::System(SystemException::FacetNotExist(missing)) = &faceted else {
        panic!("{faceted}");
    };
    assert_eq!(missing.facet, "f");
    let nil = soon(a.link(None, 0)).await.unwrap_err();
    assert!(nil.to_string().contains("nil proxy"), "{nil}");
    assert_eq!(links(&a).await, []);
}

/// Publishes until the topic has no links: an event ends a failed link.
async fn publish_until_unlinked(topic: &TopicProxy) {
    let publisher = publisher(topic).await;
    while !soon(topic.get_subscribers()).await.unwrap().is_empty() {
        publish(&publisher, "e").await;
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn events_end_a_link_to_a_destroyed_topic() {
    let (here, there) = (World::start().await, World::start().await);
    let a = here.create("a").await;
    for world in [&here, &there] {
        let b = world.create("b").await;
        link(&a, &b, 0).await;
        soon(b.destroy()).await.unwrap();
        assert_eq!(links(&a).await.len(), 1, "no event has told of it");
        publish(&publisher(&a).await, "e").await;
        here.info_when("a", |i| i.subscribers[0].lost.failed == 1)
            .await;
        assert_eq!(links(&a).await, [], "a failed link is not told");
        soon(publish_until_unlinked(&a)).await;
    }
}

#[tokio::test]
async fn a_link_to_a_hub_that_is_down_is_kept_and_tried_again() {
    let here = World::with(|settings| settings.discard_interval = Duration::from_millis(50)).await;
    let a = here.create("a").await;
    let there = World::start().await;
    let endpoint = there.hub.endpoints();
    link(&a, &there.create("b").await, 0).await;
    there.shut_down().await;
    let publisher = publisher(&a).await;
    publish(&publisher, "lost").await;
    here.info_when("a", |i| i.subscribers[0].lost.failed == 1)
        .await;
    assert_eq!(links(&a).await.len(), 1);
    let there = World::with(|settings| settings.listen = endpoint).await;
    let subscribers = Subscribers::start().await;
    let (_b, mut in_b) = topic(&there, &subscribers, "b").await;
    let arrived = async {
        while !in_b.has_more() {
            publish(&publisher, "again").await;
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    soon(arrived).await;
    assert_eq!(in_b.next().await.operation, "again");
}

#[tokio::test]
async fn a_topic_of_the_hub_is_known_by_any_name_of_this_computer() {
    let directory = Directory::new();
    let store = || StoreSettings::Disk(directory.0.clone());
    let subscribers = Subscribers::start().await;
    let world = World::with(|settings| settings.store = store()).await;
    let a = world.create("a").await;
    let (b, mut in_b) = topic(&world, &subscribers, "b").await;
    let text = b.as_proxy().to_string().replace("127.0.0.1", "localhost");
    let other_name = world.client.proxy(&text).unwrap();
    link(&a, &TopicProxy::from_proxy(other_name), 0).await;
    world.shut_down().await;

    // The address is not the same any more, and does not matter.
    let world = World::with(|settings| settings.store = store()).await;
    let a = soon(world.manager.retrieve("a")).await.unwrap();
    publish(&publisher(&a).await, "e").await;
    assert_eq!(in_b.next().await.operation, "e");
}

#[tokio::test]
async fn links_survive_a_restart_on_another_port_in_their_order() {
    let directory = Directory::new();
    let store = || StoreSettings::Disk(directory.0.clone());
    let subscribers = Subscribers::start().await;
    let there = World::start().await;
    let (far, mut in_far) = topic(&there, &subscribers, "far").await;
    let world = World::with(|settings| settings.store = store()).await;
    let (a, _in_a) = topic(&world, &subscribers, "a").await;
    let (b, mut in_b) = topic(&world, &subscribers, "b").await;
    link(&a, &b, 7).await;
    link(&a, &far, 0).await;
    link(&b, &a, 0).await;
    soon(b.unlink(Some(&a))).await.unwrap();
    world.shut_down().await;

    let world = World::with(|settings| settings.store = store()).await;
    let retrieve = async |name: &str| soon(world.manager.retrieve(name)).await.unwrap();
    let (a, b) = (retrieve("a").await, retrieve("b").await);
    let expected = [("b".to_owned(), 7), ("far".to_owned(), 0)];
    assert_eq!(links(&a).await, expected);
    assert_eq!(links(&b).await, []);
    let names = soon(a.get_subscribers()).await.unwrap();
    assert_eq!(names[0], identity("to a"));
    let told = soon(a.get_link_info_seq()).await.unwrap();
    let topic = &told[0].the_topic;
    assert_eq!(soon(topic.get_name()).await.unwrap(), "b", "it listens now");
    publish(&publisher(&a).await, "e").await;
    assert_eq!(in_b.next().await.operation, "e");
    assert_eq!(in_far.next().await.operation, "e");
}

#[tokio::test]
async fn many_events_of_any_size_cross_a_link_in_order() {
    let (here, there) = (World::start().await, World::start().await);
    let subscribers = Subscribers::start().await;
    let a = here.create("a").await;
    let (b, mut in_b) = topic(&there, &subscribers, "b").await;
    link(&a, &b, 0).await;
    let publisher = publisher(&a).await.ice_oneway();
    publish_many(&publisher, 3_000).await;
    let mut long = nothing();
    long.extend(vec![7; 600_000]);
    let len = u32::try_from(long.len()).unwrap();
    long[..4].copy_from_slice(&len.to_le_bytes());
    for _ in 0..3 {
        let sent = publisher.invoke("long", OperationMode::Normal, &long);
        soon(sent).await.unwrap();
    }
    assert_eq!(in_b.operations(3_000).await, numbered(3_000));
    for _ in 0..3 {
        assert_eq!(in_b.next().await.parameters, long);
    }
}

#[tokio::test]
async fn published_events_cross_links_within_the_hub_before_it_ends() {
    let subscribers = Subscribers::start().await;
    let world = World::start().await;
    let a = world.create("a").await;
    let (b, mut in_b) = topic(&world, &subscribers, "b").await;
    link(&a, &b, 0).await;
    publish_many(&publisher(&a).await, 500).await;
    world.shut_down().await;
    assert_eq!(in_b.operations(500).await, numbered(500));
}

#[tokio::test]
async fn the_link_receiver_has_its_type_id_and_takes_only_events() {
    let world = World::start().await;
    let a = world.create("a").await;
    let internal = TopicInternalProxy::from_proxy(a.as_proxy().clone());
    let receiver: TopicLinkProxy = soon(internal.get_link_proxy()).await.unwrap();
    let reference = receiver.as_proxy().reference();
    assert_eq!(reference.identity, identity("IceStorm/a.link"));
    let ids = soon(receiver.ice_ids()).await.unwrap();
    assert_eq!(ids, ["::Ice::Object", "::IceStorm::TopicLink"]);
    soon(receiver.forward(&Vec::new())).await.unwrap();
    let short = [&8_u32.to_le_bytes()[..], &[1, 1, 1, 0]].concat();
    let call = receiver.as_proxy();
    let error = soon(call.invoke("forward", OperationMode::Normal, &short)).await;
    assert!(
        matches!(
            &error,
            Err(InvokeError::System(SystemException::UnknownLocalException(
                _
            )))
        ),
        "{error:?}"
    );
    assert_eq!(world.info("a").await.forwarded, 0);
}

#[tokio::test]
async fn events_that_hubs_send_in_a_circle_come_to_an_end() {
    let (a, b) = (World::start().await, World::start().await);
    let (topic_a, topic_b) = (a.create("a").await, b.create("b").await);
    let (publisher_a, publisher_b) = (publisher(&topic_a).await, publisher(&topic_b).await);
    // The wire gives each hub a proxy of its own.
    subscribe(&topic_a, &publisher_b, &[]).await;
    subscribe(&topic_b, &publisher_a, &[]).await;
    let subscribers = Subscribers::start().await;
    let (plain, mut inbox) = subscribers.add("s");
    subscribe(&topic_b, &plain, &[]).await;
    for round in 1..=2 {
        publish(&publisher_a, "e").await;
        // Each event comes back 8 times, and is sent there 8 times.
        let all = a.info_when("a", |info| info.published == 9 * round).await;
        assert_eq!(all.subscribers.len(), 1);
        b.info_when("b", |info| info.published == 8 * round).await;
        b.info_when("b", |info| info.delivered == 16 * round).await;
        let a = a.info_when("a", |info| info.delivered == 8 * round).await;
        let [back] = &a.subscribers[..] else {
            panic!("{:?}", a.subscribers);
        };
        assert_eq!((back.lost.looped, a.lost.looped), (round, round));
        assert_eq!(back.offered, 9 * round);
    }
    for _ in 0..16 {
        let received = inbox.next().await;
        assert!(received.context.len() <= 1, "{:?}", received.context);
    }
    assert!(!inbox.has_more());
    assert_eq!(a.info("a").await.published, 18);
    assert_eq!(b.info("b").await.published, 16);
}
