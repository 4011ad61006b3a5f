//! Subscribers that share a durable subscription.

use floe::TypedProxy;
use floe::contracts::ice_storm::AlreadySubscribedOrBadQoSOrInvalidSubscriberError as SubscribeError;
use floe_hub::DURABLE_TOPICS;
use floe_hub::contracts::floe::DurableTopicsProxy;

use crate::durable::{DURABLE, all_operations, hub_in, publish_with, topic};
use crate::world::{
    Directory, Subscribers, identity, numbered, publish, publish_many, publisher, qos, soon,
    subscribe,
};

#[tokio::test]
async fn subscribers_that_share_a_subscription_get_each_event_once() {
    let directory = Directory::new();
    let world = hub_in(&directory.0).await;
    let topic = topic(&world, "t").await;
    let subscribers = Subscribers::start().await;
    let wishes = [DURABLE, &[("floe.shared", "yes")]].concat();
    let (first, mut first_inbox) = subscribers.add_stuck("first");
    let (second, mut second_inbox) = subscribers.add_stuck("second");
    subscribe(&topic, &first, &wishes).await;
    subscribe(&topic, &second, &wishes).await;
    publish_many(&publisher(&topic).await, 100).await;
    // Each takes a few events and answers none. When the second one leaves, the first one gets them.
    second_inbox.next().await;
    first_inbox.open();
    topic.unsubscribe(Some(&second)).await.unwrap();
    let mut operations = all_operations(&world, &mut first_inbox, 100).await;
    operations.sort();
    let mut expected = numbered(100);
    expected.sort();
    assert_eq!(operations, expected);
}

#[tokio::test]
async fn the_events_of_a_key_go_to_one_of_those_that_share_and_to_another_when_it_dies() {
    let directory = Directory::new();
    let world = hub_in(&directory.0).await;
    let topic = topic(&world, "t").await;
    let sticky = [("floe.shared", "yes"), ("floe.sticky", "customer")];
    let wishes = [DURABLE, &sticky].concat();
    let dying = Subscribers::start().await;
    let staying = Subscribers::start().await;
    let (first, mut first_inbox) = dying.add_stuck("first");
    let three = [&wishes[..], &[("floe.outstanding", "3")]].concat();
    subscribe(&topic, &first, &three).await;
    let publisher = publisher(&topic).await;
    for number in 0..60 {
        let customer = format!("c{}", number % 3);
        let context = [("customer", customer.as_str())];
        let operation = format!("e{number}");
        publish_with(&publisher, &operation, &context)
            .await
            .unwrap();
    }
    // One event of each key is under way, and its member answers none: the others of its keys wait for it.
    let mut under_way = first_inbox.operations(3).await;
    under_way.sort();
    assert_eq!(under_way, ["e0", "e1", "e2"]);
    let (second, mut inbox) = staying.add("second");
    subscribe(&topic, &second, &wishes).await;
    publish(&publisher, "keyless").await;
    assert_eq!(inbox.operations(1).await, ["keyless"]);
    assert!(!first_inbox.has_more());
    dying.communicator.abort();
    let operations = inbox.operations(60).await;
    for key in 0..3 {
        let of_key = |operation: &&String| {
            let number: usize = operation[1..].parse().expect("a number");
            number % 3 == key
        };
        let of_key: Vec<_> = operations.iter().filter(of_key).cloned().collect();
        let expected: Vec<_> = (key..60).step_by(3).map(|at| format!("e{at}")).collect();
        assert_eq!(of_key, expected, "key {key}");
    }
    world
        .info_when("t", |info| info.delivered == 61 && info.published == 61)
        .await;
}

#[tokio::test]
async fn subscribers_that_share_a_subscription_agree_about_its_key_and_programs_do_not_pull_it() {
    let directory = Directory::new();
    let world = hub_in(&directory.0).await;
    let topic = topic(&world, "t").await;
    let subscribers = Subscribers::start().await;
    let keyed =
        |key: &'static str| [DURABLE, &[("floe.shared", "yes"), ("floe.sticky", key)]].concat();
    let (first, _first) = subscribers.add("first");
    subscribe(&topic, &first, &keyed("a")).await;
    let (second, _second) = subscribers.add("second");
    for wishes in [keyed("b"), [DURABLE, &[("floe.shared", "yes")]].concat()] {
        let wishes = qos(&wishes);
        let refused = topic.subscribe_and_get_publisher(&wishes, Some(&second));
        let error = soon(refused).await.unwrap_err();
        assert!(
            matches!(&error, SubscribeError::BadQoS(refused) if refused.reason.contains("invalid floe.sticky")),
            "{error}"
        );
    }
    subscribe(&topic, &second, &keyed("a")).await;
    let topics = DurableTopicsProxy::from_proxy(world.object(DURABLE_TOPICS));
    for wishes in [keyed("a"), DURABLE.to_vec()] {
        let error = soon(topics.open_pull("t", &qos(&wishes)))
            .await
            .unwrap_err();
        assert!(error.to_string().contains("invalid floe.sticky"), "{error}");
    }
    let error = soon(topics.pull("t", "d", 1, 0)).await.unwrap_err();
    assert!(error.to_string().contains("sticky"), "{error}");
}

#[tokio::test]
async fn a_subscription_whose_only_subscriber_is_connected_is_neither_shared_nor_pulled() {
    let directory = Directory::new();
    let world = hub_in(&directory.0).await;
    let topic = topic(&world, "t").await;
    let subscribers = Subscribers::start().await;
    let rules = [("floe.backOff", "100"), ("floe.attempts", "3")];
    let ordered = [DURABLE, &[("reliability", "ordered")], &rules].concat();
    let (own, mut inbox) = subscribers.add("own");
    subscribe(&topic, &own, &ordered).await;
    let publisher = publisher(&topic).await;
    publish(&publisher, "first").await;
    assert_eq!(inbox.operations(1).await, ["first"]);
    let (other, _other) = subscribers.add("other");
    let topics = DurableTopicsProxy::from_proxy(world.object(DURABLE_TOPICS));
    let shared = qos(&[DURABLE, &[("floe.shared", "yes")]].concat());
    let subscribed = topic.subscribe_and_get_publisher(&shared, Some(&other));
    let durable = qos(DURABLE);
    let refusals = [
        soon(subscribed)
            .await
            .map(drop)
            .map_err(|it| it.to_string()),
        soon(topics.open_pull("t", &durable))
            .await
            .map_err(|it| it.to_string()),
        soon(topics.pull("t", "d", 1, 0))
            .await
            .map(drop)
            .map_err(|it| it.to_string()),
    ];
    for refusal in refusals {
        let error = refusal.expect_err("one subscriber has it for itself alone");
        let expected = "and is connected: use another name, or let both share it";
        assert!(error.contains(expected), "{error}");
    }
    // The order that it has asked for is kept.
    publish(&publisher, "throw").await;
    publish(&publisher, "after").await;
    let operations = inbox.operations(4).await;
    assert_eq!(operations, ["throw", "throw", "throw", "after"]);
}

#[tokio::test]
async fn an_only_subscriber_that_is_not_connected_gives_way_to_those_that_share_or_pull() {
    let directory = Directory::new();
    let world = hub_in(&directory.0).await;
    let topic = topic(&world, "t").await;
    let absent = |name: &str| {
        let text = format!("{name}:tcp -h 127.0.0.1 -p 1");
        world.client.proxy(&text).unwrap()
    };
    let ordered = [DURABLE, &[("reliability", "ordered")]].concat();
    let shared = [DURABLE, &[("floe.shared", "yes")]].concat();
    subscribe(&topic, &absent("former"), &ordered).await;
    for name in ["one", "another"] {
        subscribe(&topic, &absent(name), &shared).await;
    }
    let found = soon(topic.get_subscribers()).await.unwrap();
    assert_eq!(found, [identity("one"), identity("another")]);
    subscribe(&topic, &absent("former"), &ordered).await;
    let found = soon(topic.get_subscribers()).await.unwrap();
    assert_eq!(found, [identity("former")]);
    let topics = DurableTopicsProxy::from_proxy(world.object(DURABLE_TOPICS));
    soon(topics.open_pull("t", &qos(DURABLE))).await.unwrap();
    assert!(soon(topic.get_subscribers()).await.unwrap().is_empty());
}
