//! Durable subscribers whose programs have ended, and others that want their place.

use floe::TypedProxy;
use floe::contracts::ice_storm::TopicProxy;
use floe_hub::DURABLE_TOPICS;
use floe_hub::contracts::floe::{DurableTopicsProxy, SubscriberState, TopicInfo};

use crate::durable::{DURABLE, hub_in, topic};
use crate::world::{
    Directory, Subscribers, World, numbered, publish_many, publisher, qos, soon, subscribe,
};

const SHARED: &[(&str, &str)] = &[
    ("floe.durable", "d"),
    ("floe.from", "beginning"),
    ("floe.shared", "yes"),
];

/// How many subscribers are listed, and how many of them as there.
fn listed(info: &TopicInfo) -> (usize, usize) {
    let is_there = |state| state == SubscriberState::Online;
    let there = info.subscribers.iter().filter(|it| is_there(it.state));
    (info.subscribers.len(), there.count())
}

/// How many subscribers the subscription `d` has, as its position says.
async fn of_position(world: &World) -> i32 {
    let topics = DurableTopicsProxy::from_proxy(world.object(DURABLE_TOPICS));
    let contents = soon(topics.contents("t")).await.expect("a durable topic");
    contents.subscriptions[0].subscribers
}

#[tokio::test]
async fn a_subscriber_that_has_ended_is_not_shown_as_there_although_no_events_come() {
    let directory = Directory::new();
    let world = hub_in(&directory.0).await;
    let t = topic(&world, "t").await;
    let first = Subscribers::start().await;
    let (proxy, _inbox) = first.add("s");
    subscribe(&t, &proxy, DURABLE).await;
    world.info_when("t", |info| listed(info) == (1, 1)).await;
    assert_eq!(of_position(&world).await, 1);
    first.stop().await;
    world.info_when("t", |info| listed(info) == (1, 0)).await;
    assert_eq!(of_position(&world).await, 0);
    publish_many(&publisher(&t).await, 3).await;
    // It starts again under its name.
    let second = Subscribers::start().await;
    let (proxy, mut inbox) = second.add("s");
    subscribe(
        &t,
        &proxy,
        &[DURABLE, &[("reliability", "ordered")]].concat(),
    )
    .await;
    assert_eq!(inbox.operations(3).await, numbered(3));
    world.info_when("t", |info| listed(info) == (1, 1)).await;
}

#[tokio::test]
async fn members_that_have_ended_are_gone_after_a_restart_but_for_one() {
    let directory = Directory::new();
    let world = hub_in(&directory.0).await;
    let t = topic(&world, "t").await;
    for number in 0..4 {
        let member = Subscribers::start().await;
        let (proxy, _inbox) = member.add(&format!("s{number}"));
        subscribe(&t, &proxy, SHARED).await;
        member.stop().await;
    }
    publish_many(&publisher(&t).await, 5).await;
    world.info_when("t", |info| listed(info) == (4, 0)).await;
    world.shut_down().await;
    let world = hub_in(&directory.0).await;
    world.info_when("t", |info| listed(info) == (1, 0)).await;
    let member = Subscribers::start().await;
    let (proxy, mut inbox) = member.add("s0");
    subscribe(&topic(&world, "t").await, &proxy, SHARED).await;
    let mut operations = inbox.operations(5).await;
    operations.sort();
    assert_eq!(
        operations,
        numbered(5),
        "the position is that of all members"
    );
}

#[tokio::test]
async fn a_position_behind_the_end_of_the_log_is_the_end_for_every_reader() {
    let directory = Directory::new();
    let world = hub_in(&directory.0).await;
    let t = topic(&world, "t").await;
    let publisher = publisher(&t).await;
    publish_many(&publisher, 3).await;
    let subscribers = Subscribers::start().await;
    let topics = DurableTopicsProxy::from_proxy(world.object(DURABLE_TOPICS));
    let (proxy, mut inbox) = subscribers.add("s");
    let wishes = [
        ("floe.durable", "d"),
        ("floe.from", "seq:100"),
        ("reliability", "ordered"),
    ];
    subscribe(&t, &proxy, &wishes).await;
    soon(topics.set_position("t", "d", "seq:500"))
        .await
        .expect("it is the end");
    let (events, next) = soon(topics.read("t", 700, 10))
        .await
        .expect("it is the end");
    assert_eq!((events.len(), next), (0, 4));
    publish_many(&publisher, 2).await;
    assert_eq!(inbox.operations(2).await, numbered(2));
    let (events, next) = soon(topics.read("t", next, 10))
        .await
        .expect("there are two");
    assert_eq!((events.len(), next), (2, 6));
}

/// The refusal of a subscriber.
async fn refused(topic: &TopicProxy, proxy: &floe::Proxy, wishes: &[(&str, &str)]) -> String {
    let qos = qos(wishes);
    let subscribed = soon(topic.subscribe_and_get_publisher(&qos, Some(proxy))).await;
    subscribed.expect_err("another has it").to_string()
}

#[tokio::test]
async fn a_second_subscriber_of_a_name_is_refused_while_the_first_answers() {
    let directory = Directory::new();
    let world = hub_in(&directory.0).await;
    let t = topic(&world, "t").await;
    let (one, other) = (Subscribers::start().await, Subscribers::start().await);
    let (first, mut inbox) = one.add("first");
    let (second, mut second_inbox) = other.add("second");
    // No event has come, so the hub needs no connection to the first one.
    subscribe(&t, &first, DURABLE).await;
    for wishes in [DURABLE, SHARED] {
        let text = refused(&t, &second, wishes).await;
        assert!(
            text.contains("another subscriber has the durable subscription"),
            "{text}"
        );
    }
    let topics = DurableTopicsProxy::from_proxy(world.object(DURABLE_TOPICS));
    soon(topics.open_pull("t", &qos(DURABLE)))
        .await
        .expect_err("the first has it");
    let publisher = publisher(&t).await;
    publish_many(&publisher, 1).await;
    assert_eq!(inbox.operations(1).await, numbered(1));
    world
        .info_when("t", |info| info.subscribers[0].delivered == 1)
        .await;
    one.stop().await;
    subscribe(&t, &second, DURABLE).await;
    publish_many(&publisher, 1).await;
    assert_eq!(second_inbox.operations(1).await, numbered(1));
    world.info_when("t", |info| listed(info) == (1, 1)).await;
}
