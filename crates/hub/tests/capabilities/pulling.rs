//! Programs that pull events, of durable topics and of others.

use std::future::IntoFuture;
use std::pin::pin;
use std::time::Duration;

use floe::{Communicator, TypedProxy};
use floe_hub::DURABLE_TOPICS;
use floe_hub::contracts::floe::{DurableTopicsProxy, LogContents, LoggedEvent, TopicInfo};
use tokio::task::JoinSet;
use tokio::time::sleep;

use crate::durable::{DURABLE, hub_in, topic};
use crate::world::{
    Directory, Subscribers, World, publish, publish_many, publisher, qos, soon, subscribe,
};

#[tokio::test]
async fn events_are_pulled_acknowledged_and_refused() {
    let directory = Directory::new();
    let world = hub_in(&directory.0).await;
    let publisher = publisher(&topic(&world, "t").await).await;
    publish_many(&publisher, 5).await;
    let topics = DurableTopicsProxy::from_proxy(world.object(DURABLE_TOPICS));
    let wishes = qos(&[DURABLE, &[("floe.backOff", "1")]].concat());
    soon(topics.open_pull("t", &wishes)).await.unwrap();
    let numbers = |events: &[LoggedEvent]| events.iter().map(|e| e.number).collect::<Vec<_>>();
    let pull = async |count| soon(topics.pull("t", "d", count, 10_000)).await.unwrap();
    let events = pull(3).await;
    assert_eq!(numbers(&events), [1, 2, 3]);
    assert_eq!((events[0].operation.as_str(), events[0].attempt), ("e0", 1));
    topics.acknowledge("t", "d", &[2]).await.unwrap();
    topics.refuse("t", "d", &[1]).await.unwrap();
    // The refused event comes again, and the others after it or before it.
    let mut rest = Vec::new();
    while rest.len() < 3 {
        rest.extend(numbers(&pull(10).await));
    }
    rest.sort_unstable();
    assert_eq!(rest, [1, 4, 5]);
    topics.acknowledge_to("t", "d", 4).await.unwrap();
    let position = |contents: LogContents| {
        let of_d = &contents.subscriptions[0];
        (of_d.position, of_d.pending, of_d.behind)
    };
    assert_eq!(position(topics.contents("t").await.unwrap()), (5, 1, 0));
    assert!(topics.pull("t", "d", 10, 0).await.unwrap().is_empty());
    // A waiting program gets an event as soon as it comes.
    let waiting = pull(1);
    let (pulled, ()) = tokio::join!(waiting, publish(&publisher, "late"));
    assert_eq!(pulled[0].operation, "late");
    world.shut_down().await;

    let world = hub_in(&directory.0).await;
    let topics = DurableTopicsProxy::from_proxy(world.object(DURABLE_TOPICS));
    let mut again = Vec::new();
    while again.len() < 2 {
        let pulled = soon(topics.pull("t", "d", 10, 10_000)).await.unwrap();
        again.extend(pulled.iter().map(|event| (event.number, event.attempt)));
    }
    again.sort_unstable();
    assert_eq!(again, [(5, 2), (6, 2)], "they were not acknowledged");
    let error = topics.pull("t", "other", 1, 0).await.unwrap_err();
    assert!(error.to_string().contains("NoSuchSubscription"), "{error}");
}

#[tokio::test]
async fn a_waiting_pull_gets_an_event_that_comes_again_and_a_pull_without_a_wait_gets_what_there_is()
 {
    let directory = Directory::new();
    let world = hub_in(&directory.0).await;
    let publisher = publisher(&topic(&world, "t").await).await;
    let topics = DurableTopicsProxy::from_proxy(world.object(DURABLE_TOPICS));
    let rules = [("floe.backOff", "300"), ("floe.deadline", "500")];
    let wishes = qos(&[DURABLE, &rules].concat());
    soon(topics.open_pull("t", &wishes)).await.unwrap();
    publish(&publisher, "e").await;
    let attempts = async |wait| {
        let pulled = soon(topics.pull("t", "d", 10, wait)).await.unwrap();
        pulled.iter().map(|event| event.attempt).collect::<Vec<_>>()
    };
    assert_eq!(attempts(0).await, [1]);
    soon(topics.refuse("t", "d", &[1])).await.unwrap();
    // It comes again after its back-off.
    assert_eq!(attempts(30_000).await, [2]);
    // Nothing acknowledges it, so it comes again after its deadline and its back-off.
    assert_eq!(attempts(30_000).await, [3]);
    // Another program refuses it while one waits.
    let refuse = async {
        topics.refuse("t", "d", &[1]).await.unwrap();
    };
    let (again, ()) = tokio::join!(attempts(30_000), refuse);
    assert_eq!(again, [4]);
    soon(topics.acknowledge("t", "d", &[1])).await.unwrap();
    assert!(attempts(0).await.is_empty());
}

#[tokio::test]
async fn a_program_that_has_gone_takes_no_event_from_those_that_wait() {
    let directory = Directory::new();
    let world = hub_in(&directory.0).await;
    world.create("live").await;
    let of_log = ("t", "d", qos(DURABLE));
    let of_queue = ("live", "p", qos(&[("floe.pull", "p")]));
    for (topic_name, name, wishes) in [of_log, of_queue] {
        let topics = DurableTopicsProxy::from_proxy(world.object(DURABLE_TOPICS));
        soon(topics.open_pull(topic_name, &wishes)).await.unwrap();
        let client = Communicator::new();
        let object = world.object(DURABLE_TOPICS).to_string();
        let others: DurableTopicsProxy = client.proxy(&object).unwrap();
        // The hub handles the ping after the pull, so the program waits.
        let mut waiting = pin!(others.pull(topic_name, name, 1, 30_000).into_future());
        let pinged = async { soon(others.ice_ping()).await.unwrap() };
        tokio::select! {
            biased;
            _ = &mut waiting => panic!("there is no event"),
            () = pinged => {}
        }
        others.as_proxy().ice_cached_connection().unwrap().abort();
        assert!(soon(waiting).await.is_err());
        // The hub reads the end of that connection before what comes later.
        sleep(Duration::from_millis(50)).await;
        let publisher = publisher(&topic(&world, topic_name).await).await;
        publish(&publisher, "e").await;
        let pulled = soon(topics.pull(topic_name, name, 1, 10_000)).await;
        assert_eq!(pulled.unwrap()[0].operation, "e", "{topic_name}");
    }
}

#[tokio::test]
async fn events_of_a_topic_without_a_log_are_pulled_from_a_queue_whose_losses_count() {
    let world = World::start().await;
    let topic = world.create("live").await;
    let topics = DurableTopicsProxy::from_proxy(world.object(DURABLE_TOPICS));
    let wishes = qos(&[
        ("floe.pull", "p"),
        ("floe.queueEvents", "3"),
        ("floe.patience", "0"),
    ]);
    for _ in 0..2 {
        soon(topics.open_pull("live", &wishes)).await.unwrap();
    }
    let pull = async |count, wait| {
        let pulled = soon(topics.pull("live", "p", count, wait)).await.unwrap();
        let operations = pulled.into_iter().map(|event| event.operation);
        operations.collect::<Vec<_>>()
    };
    assert!(pull(10, 0).await.is_empty());
    let publisher = publisher(&topic).await;
    publish_many(&publisher, 5).await;
    let info = world
        .info_when("live", |info| info.lost.overflow == 2)
        .await;
    assert_eq!((info.published, info.subscribers.len()), (5, 1));
    // The queue has room for three, and drops the oldest ones.
    assert_eq!(pull(2, 0).await, ["e2", "e3"]);
    assert_eq!(pull(2, 0).await, ["e4"]);
    // A waiting program gets an event as soon as it comes.
    let (pulled, ()) = tokio::join!(pull(9, 30_000), publish(&publisher, "late"));
    assert_eq!(pulled, ["late"]);
    let info = world.info_when("live", |info| info.delivered == 4).await;
    assert_eq!((info.lost.overflow, info.lost.removed), (2, 0));

    publish(&publisher, "left").await;
    let object = world.client.proxy("floe.pull/p").unwrap();
    topic.unsubscribe(Some(&object)).await.unwrap();
    let error = soon(topics.pull("live", "p", 1, 0)).await.unwrap_err();
    assert!(error.to_string().contains("NoSuchSubscription"), "{error}");
    world.info_when("live", |info| info.lost.removed == 1).await;
}

#[tokio::test]
async fn a_queue_that_no_program_pulls_for_long_ends_and_one_of_a_durable_topic_needs_no_position()
{
    let directory = Directory::new();
    let world = hub_in(&directory.0).await;
    let publisher = publisher(&topic(&world, "t").await).await;
    let topics = DurableTopicsProxy::from_proxy(world.object(DURABLE_TOPICS));
    let named = ("floe.pull", "p");
    soon(topics.open_pull("t", &qos(&[named]))).await.unwrap();
    publish(&publisher, "e").await;
    let pulled = soon(topics.pull("t", "p", 1, 30_000)).await.unwrap();
    assert_eq!((pulled[0].operation.as_str(), pulled[0].number), ("e", 0));
    let contents = soon(topics.contents("t")).await.unwrap();
    assert!(contents.subscriptions.is_empty());
    let short = qos(&[("floe.pull", "short"), ("floe.idle", "1")]);
    soon(topics.open_pull("t", &short)).await.unwrap();
    world
        .info_when("t", |info| info.subscribers.len() == 1)
        .await;
    for (wishes, expected) in [
        (
            &[("floe.pull", "")][..],
            "expected a name of 1 to 200 bytes",
        ),
        (
            &[named, ("floe.from", "new")],
            "expected neither floe.durable nor floe.from",
        ),
        (
            &[("floe.stamps", "yes")],
            "expected floe.durable or floe.from",
        ),
        (&[], "as floe.durable or floe.pull, got neither"),
    ] {
        let error = soon(topics.open_pull("t", &qos(wishes))).await.unwrap_err();
        assert!(error.to_string().contains(expected), "{error}");
    }
}

#[tokio::test]
async fn a_subscription_never_takes_the_position_of_another_one() {
    // Both are too long for the name of a file, and the ends of their files' names are the same, for an attacker has searched
    // for them.
    let names = ["1371838", "2000402"].map(|end| format!("{}{end}", ".".repeat(90)));
    let directory = Directory::new();
    let world = hub_in(&directory.0).await;
    publish_many(&publisher(&topic(&world, "t").await).await, 3).await;
    let topics = DurableTopicsProxy::from_proxy(world.object(DURABLE_TOPICS));
    for (name, acknowledged) in names.iter().zip([2, 1]) {
        let wishes = qos(&[("floe.durable", name), ("floe.from", "beginning")]);
        soon(topics.open_pull("t", &wishes)).await.unwrap();
        soon(topics.pull("t", name, 3, 0)).await.unwrap();
        let acknowledged = soon(topics.acknowledge_to("t", name, acknowledged));
        acknowledged.await.unwrap();
    }
    world.shut_down().await;

    let world = hub_in(&directory.0).await;
    let topics = DurableTopicsProxy::from_proxy(world.object(DURABLE_TOPICS));
    let positions = async || {
        let contents = soon(topics.contents("t")).await.unwrap();
        let positions = contents.subscriptions.into_iter();
        positions
            .map(|it| (it.name, it.position))
            .collect::<Vec<_>>()
    };
    let [first, second] = names.clone();
    let expected = [(first.clone(), 3), (second.clone(), 2)];
    assert_eq!(positions().await, expected);
    soon(topics.remove_position("t", &first)).await.unwrap();
    world.shut_down().await;

    let world = hub_in(&directory.0).await;
    let topics = DurableTopicsProxy::from_proxy(world.object(DURABLE_TOPICS));
    let contents = soon(topics.contents("t")).await.unwrap();
    assert_eq!(contents.subscriptions.len(), 1);
    assert_eq!(contents.subscriptions[0].name, second);
}

#[tokio::test]
async fn the_quality_of_service_of_a_pulled_subscription_has_limits() {
    let world = World::start().await;
    world.create("live").await;
    let topics = DurableTopicsProxy::from_proxy(world.object(DURABLE_TOPICS));
    let long = "x".repeat(5000);
    let wishes = qos(&[("floe.pull", "p"), ("unknown", &long)]);
    let error = soon(topics.open_pull("live", &wishes)).await.unwrap_err();
    assert!(error.to_string().contains("limits.qos-bytes"), "{error}");
    assert!(world.info("live").await.subscribers.is_empty());
}

#[tokio::test]
async fn of_many_programs_that_wait_each_gets_an_event() {
    // The connection of the publisher has room for as many calls and one more.
    const COUNT: usize = 8;
    let directory = Directory::new();
    let world = hub_in(&directory.0).await;
    let publisher = publisher(&topic(&world, "t").await).await;
    let topics = DurableTopicsProxy::from_proxy(world.object(DURABLE_TOPICS));
    soon(topics.open_pull("t", &qos(DURABLE))).await.unwrap();
    let mut waiting = JoinSet::new();
    for _ in 0..COUNT {
        let topics = topics.clone();
        waiting.spawn(async move { topics.pull("t", "d", 1, 30_000).await.unwrap() });
    }
    // The turns of others do not make a program wait longer than it asked for.
    assert!(soon(topics.pull("t", "d", 1, 1)).await.unwrap().is_empty());
    publish_many(&publisher, COUNT).await;
    let pulled = soon(waiting.join_all()).await;
    let mut numbers: Vec<_> = pulled.iter().flatten().map(|event| event.number).collect();
    numbers.sort_unstable();
    assert_eq!(numbers, (1..=COUNT as i64).collect::<Vec<_>>());
}

#[tokio::test]
async fn an_event_that_a_program_has_pulled_and_not_acknowledged_goes_to_a_subscriber_after_its_deadline()
 {
    let directory = Directory::new();
    let world = hub_in(&directory.0).await;
    let topic = topic(&world, "t").await;
    let publisher = publisher(&topic).await;
    let topics = DurableTopicsProxy::from_proxy(world.object(DURABLE_TOPICS));
    let rules = [("floe.backOff", "10"), ("floe.deadline", "300")];
    let wishes = [DURABLE, &rules].concat();
    soon(topics.open_pull("t", &qos(&wishes))).await.unwrap();
    publish_many(&publisher, 2).await;
    let pulled = soon(topics.pull("t", "d", 1, 10_000)).await.unwrap();
    assert_eq!(pulled[0].operation, "e0");
    let subscribers = Subscribers::start().await;
    let (proxy, mut inbox) = subscribers.add("s");
    let ordered = [
        &wishes[..],
        &[("reliability", "ordered"), ("floe.stamps", "yes")],
    ]
    .concat();
    subscribe(&topic, &proxy, &ordered).await;
    let again = inbox.next().await;
    assert_eq!(
        (
            again.operation.as_str(),
            again.context["floe.attempt"].as_str()
        ),
        ("e0", "2")
    );
    assert_eq!(inbox.operations(1).await, ["e1"]);
    let is_delivered = |info: &TopicInfo| info.delivered == 2;
    let info = world.info_when("t", is_delivered).await;
    let of_s = &info.subscribers[0];
    assert_eq!((of_s.offered, of_s.outstanding), (2, 0));
}

#[tokio::test]
async fn a_program_does_not_wait_for_an_event_of_a_topic_that_is_destroyed() {
    let directory = Directory::new();
    let world = hub_in(&directory.0).await;
    let topics = DurableTopicsProxy::from_proxy(world.object(DURABLE_TOPICS));
    soon(topics.open_pull("t", &qos(DURABLE))).await.unwrap();
    let mut waiting = JoinSet::new();
    for _ in 0..2 {
        let topics = topics.clone();
        waiting.spawn(async move { topics.pull("t", "d", 1, 30_000).await });
    }
    // The hub handles the ping after the pulls.
    tokio::task::yield_now().await;
    soon(topics.ice_ping()).await.unwrap();
    let topic = topic(&world, "t").await;
    soon(topic.destroy()).await.unwrap();
    let ended = tokio::time::timeout(Duration::from_secs(10), waiting.join_all()).await;
    for pulled in ended.expect("they wait no longer") {
        assert!(pulled.unwrap().is_empty());
    }
    let error = soon(topics.pull("t", "d", 1, 30_000)).await.unwrap_err();
    assert!(error.to_string().contains("NoSuchTopic"), "{error}");
}
