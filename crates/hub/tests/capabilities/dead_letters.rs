//! Events of durable topics that are delivered again, and dead letters.

use floe::contracts::ice_storm::AlreadySubscribedOrBadQoSOrInvalidSubscriberError as Error;

use crate::durable::{DURABLE, all_operations, hub_in, topic};
use crate::world::{Directory, Subscribers, publish, publisher, qos, soon, subscribe};

#[tokio::test]
async fn a_refused_event_comes_again_and_then_becomes_a_dead_letter() {
    let directory = Directory::new();
    let world = hub_in(&directory.0).await;
    let topic = topic(&world, "t").await;
    let publisher = publisher(&topic).await;
    let subscribers = Subscribers::start().await;
    let (proxy, mut inbox) = subscribers.add("s");
    let wishes = [
        DURABLE,
        &[
            ("reliability", "ordered"),
            ("floe.attempts", "3"),
            ("floe.backOff", "1"),
            ("floe.stamps", "yes"),
        ],
    ]
    .concat();
    subscribe(&topic, &proxy, &wishes).await;
    for operation in ["before", "throw", "after"] {
        publish(&publisher, operation).await;
    }
    let expected = [
        ("before", "1", "1"),
        ("throw", "2", "1"),
        ("throw", "2", "2"),
        ("throw", "2", "3"),
        ("after", "3", "1"),
    ];
    for (operation, sequence, attempt) in expected {
        let received = inbox.next().await;
        assert_eq!(received.operation, operation);
        assert_eq!(received.context["floe.sequence"], sequence);
        assert_eq!(received.context["floe.attempt"], attempt);
        assert!(received.context["floe.time"].parse::<u64>().is_ok());
    }
    let dead = soon(world.manager.retrieve("t.dead")).await.unwrap();
    let (proxy, mut inbox) = subscribers.add("mourner");
    subscribe(&dead, &proxy, &[("floe.from", "beginning")]).await;
    let letter = inbox.next().await;
    assert_eq!(letter.operation, "throw");
    let entry = |key: &str| letter.context[key].as_str();
    assert_eq!(entry("floe.deadTopic"), "t");
    assert_eq!(entry("floe.deadSubscription"), "d");
    assert_eq!(entry("floe.deadSequence"), "2");
    assert_eq!(entry("floe.deadAttempts"), "3");
    assert!(entry("floe.deadReason").contains("user exception"));
    world.info_when("t", |info| info.delivered == 2).await;
    world.dead_letters_when("t", 1).await;
}

#[tokio::test]
async fn an_event_whose_acknowledgement_is_late_comes_again() {
    let directory = Directory::new();
    let world = hub_in(&directory.0).await;
    let topic = topic(&world, "t").await;
    let subscribers = Subscribers::start().await;
    let (proxy, mut inbox) = subscribers.add_stuck("s");
    let wishes = [
        DURABLE,
        &[
            ("floe.deadline", "50"),
            ("floe.backOff", "1"),
            ("floe.stamps", "yes"),
        ],
    ]
    .concat();
    subscribe(&topic, &proxy, &wishes).await;
    publish(&publisher(&topic).await, "e").await;
    for attempt in ["1", "2", "3"] {
        assert_eq!(inbox.next().await.context["floe.attempt"], attempt);
    }
    inbox.open();
    world.info_when("t", |info| info.delivered == 1).await;
}

#[tokio::test]
async fn a_dead_letter_of_a_dead_letter_does_not_go_round_for_ever() {
    let directory = Directory::new();
    let world = hub_in(&directory.0).await;
    let topic = topic(&world, "t").await;
    let subscribers = Subscribers::start().await;
    let (proxy, mut inbox) = subscribers.add("s");
    let own_topic = [("floe.attempts", "1"), ("floe.deadLetters", "t")];
    subscribe(&topic, &proxy, &[DURABLE, &own_topic].concat()).await;
    let publisher = publisher(&topic).await;
    publish(&publisher, "throw").await;
    // Once as an event, and three times as a dead letter.
    assert_eq!(inbox.operations(4).await, vec!["throw".to_owned(); 4]);
    publish(&publisher, "last").await;
    assert_eq!(
        all_operations(&world, &mut inbox, 1).await,
        ["last".to_owned()]
    );
}

/// Each letter goes to both subscriptions, and both refuse it.
#[tokio::test]
async fn dead_letters_that_come_back_to_their_topic_end_after_a_few_rounds() {
    let directory = Directory::new();
    let world = hub_in(&directory.0).await;
    let topic = topic(&world, "t").await;
    let subscribers = Subscribers::start().await;
    let wishes = |name| {
        [
            ("floe.durable", name),
            ("floe.attempts", "1"),
            ("floe.deadLetters", "t"),
        ]
    };
    let (one, mut inbox) = subscribers.add("one");
    let (other, mut other_inbox) = subscribers.add("other");
    subscribe(&topic, &one, &wishes("one")).await;
    subscribe(&topic, &other, &wishes("other")).await;
    let publisher = publisher(&topic).await;
    publish(&publisher, "throw").await;
    // One event, and 2, 4 and 8 dead letters.
    for inbox in [&mut inbox, &mut other_inbox] {
        assert_eq!(inbox.operations(15).await, vec!["throw".to_owned(); 15]);
    }
    publish(&publisher, "last").await;
    for inbox in [&mut inbox, &mut other_inbox] {
        assert_eq!(inbox.operations(1).await, ["last".to_owned()]);
    }
}

#[tokio::test]
async fn a_subscription_that_is_refused_creates_no_topic_for_dead_letters() {
    let directory = Directory::new();
    let world = hub_in(&directory.0).await;
    let topic = topic(&world, "t").await;
    let subscribers = Subscribers::start().await;
    let (proxy, _inbox) = subscribers.add("s");
    subscribe(&topic, &proxy, &[]).await;
    let wishes = qos(&[DURABLE, &[("floe.attempts", "3")]].concat());
    let refused = soon(topic.subscribe_and_get_publisher(&wishes, Some(&proxy))).await;
    assert!(matches!(refused, Err(Error::AlreadySubscribed(_))));
    assert!(soon(world.manager.retrieve("t.dead")).await.is_err());
    assert!(soon(topic.get_subscribers()).await.unwrap().len() == 1);
}
