//! Events with a lifespan: those that are too old when their turn comes are not delivered, and counted.

use std::time::Duration;

use floe::hub::{HubClient, Interruption, Qos};
use floe::{Communicator, TypedProxy};
use floe_hub::DURABLE_TOPICS;
use floe_hub::contracts::floe::{DurableTopicsProxy, TopicInfo};
use floe_hub::log::Retention;

use crate::durable::{AnyEvent, DURABLE, hub_in, hub_with, publish_with, topic};
use crate::policies::Gaps;
use crate::world::{Directory, Subscribers, World, publish, publisher, qos, soon, subscribe};

const SHORT: &[(&str, &str)] = &[("floe.lifespan", "1")];
const LONG: &[(&str, &str)] = &[("floe.lifespan", "3600000")];

/// Waits until the lifespan of a millisecond is over.
async fn wait_for_the_end_of_short_events() {
    tokio::time::sleep(Duration::from_millis(5)).await;
}

#[tokio::test]
async fn a_queued_event_is_not_delivered_when_its_lifespan_is_over_and_the_subscriber_is_told() {
    let world = World::start().await;
    let topic = world.create("t").await;
    let subscribers = Subscribers::start().await;
    let (proxy, mut inbox) = subscribers.add_stuck("s");
    let mut gaps = Gaps::of(&subscribers, &proxy);
    let wishes = [("floe.outstanding", "1"), ("floe.lostFacet", "gaps")];
    subscribe(&topic, &proxy, &wishes).await;
    let publisher = publisher(&topic).await;
    publish(&publisher, "first").await;
    assert_eq!(inbox.next().await.operation, "first");
    for (operation, context) in [("a", SHORT), ("b", SHORT), ("c", LONG), ("d", &[][..])] {
        publish_with(&publisher, operation, context).await.unwrap();
    }
    let info = world.info_when("t", |info| info.lost.expired == 2).await;
    assert_eq!((info.subscribers[0].queued, info.delivered), (2, 0));
    inbox.open();
    assert_eq!(inbox.operations(2).await, ["c", "d"]);
    assert_eq!(soon(gaps.recv()).await.unwrap(), ("t".to_owned(), 2, 2));
    let info = world.info_when("t", |info| info.delivered == 3).await;
    assert_eq!((info.published, info.subscribers[0].offered), (5, 5));
}

#[tokio::test]
async fn a_topic_has_a_lifespan_for_events_without_and_a_subscriber_may_want_a_shorter_one() {
    let millisecond = Duration::from_millis(1);
    let world = World::with(|settings| {
        settings.lifespans.insert("short".to_owned(), millisecond);
    })
    .await;
    let subscribers = Subscribers::start().await;
    for (name, wish, contexts) in [
        ("short", None, [&[][..], LONG]),
        ("plain", Some(("floe.lifespan", "1")), [LONG, &[][..]]),
    ] {
        let topic = world.create(name).await;
        let (proxy, mut inbox) = subscribers.add_stuck(name);
        let wishes = [Some(("floe.outstanding", "1")), wish];
        let wishes: Vec<_> = wishes.into_iter().flatten().collect();
        subscribe(&topic, &proxy, &wishes).await;
        let publisher = publisher(&topic).await;
        publish_with(&publisher, "first", LONG).await.unwrap();
        if wish.is_none() {
            assert_eq!(inbox.next().await.operation, "first");
        }
        for context in contexts {
            publish_with(&publisher, "e", context).await.unwrap();
        }
        let is_expired = |info: &TopicInfo| info.lost.expired > 0;
        let expired = world.info_when(name, is_expired).await.lost.expired;
        wait_for_the_end_of_short_events().await;
        inbox.open();
        let settled = |info: &TopicInfo| {
            info.subscribers[0].queued == 0 && info.subscribers[0].outstanding == 0
        };
        let info = world.info_when(name, settled).await;
        match wish {
            None => assert_eq!((expired, info.lost.expired, info.delivered), (1, 1, 2)),
            // Each event but the one that is on its way is too old, whatever its publisher says.
            Some(_) => assert!(info.lost.expired >= 2 && info.delivered <= 1, "{info:?}"),
        }
    }
}

#[tokio::test]
async fn an_event_of_a_log_expires_while_its_subscriber_is_away_which_learns_it_when_it_is_back() {
    let directory = Directory::new();
    let world = hub_in(&directory.0).await;
    let topic = topic(&world, "t").await;
    let publisher = publisher(&topic).await;
    let gone = Subscribers::start().await;
    let endpoint = gone.adapter.endpoints()[0].to_string();
    let (proxy, _inbox) = gone.add("s");
    let wishes = [DURABLE, &[("floe.lostFacet", "gaps")]].concat();
    subscribe(&topic, &proxy, &wishes).await;
    gone.stop().await;
    for (operation, context) in [("a", SHORT), ("b", LONG), ("c", SHORT), ("d", &[][..])] {
        publish_with(&publisher, operation, context).await.unwrap();
    }
    // The other one waits behind an event that does not expire.
    world.info_when("t", |info| info.lost.expired >= 1).await;
    wait_for_the_end_of_short_events().await;
    let communicator = Communicator::new();
    let adapter = communicator.adapter(&endpoint).await.unwrap();
    let subscribers = Subscribers {
        communicator,
        adapter,
    };
    let (proxy, mut inbox) = subscribers.add("s");
    let mut gaps = Gaps::of(&subscribers, &proxy);
    subscribers.adapter.activate();
    let mut operations = inbox.operations(2).await;
    operations.sort_unstable();
    assert_eq!(operations, ["b", "d"]);
    let mut told = 0;
    while told < 2 {
        let (_, count, total) = soon(gaps.recv()).await.unwrap();
        told += count;
        assert!(told <= total && total <= 2);
    }
    let info = world.info_when("t", |info| info.delivered == 2).await;
    let settled = &info.subscribers[0];
    assert_eq!((settled.queued, settled.outstanding), (0, 0));
    assert_eq!((settled.offered, info.lost.expired), (4, 2));
}

#[tokio::test]
async fn programs_do_not_pull_expired_events_from_a_log_nor_from_a_queue() {
    let directory = Directory::new();
    let world = hub_in(&directory.0).await;
    let topics = DurableTopicsProxy::from_proxy(world.object(DURABLE_TOPICS));
    let publisher = publisher(&topic(&world, "t").await).await;
    soon(topics.open_pull("t", &qos(DURABLE))).await.unwrap();
    let queue = qos(&[("floe.pull", "p")]);
    soon(topics.open_pull("t", &queue)).await.unwrap();
    for (operation, context) in [("a", SHORT), ("b", LONG), ("c", SHORT)] {
        publish_with(&publisher, operation, context).await.unwrap();
    }
    wait_for_the_end_of_short_events().await;
    for name in ["d", "p"] {
        let pulled = soon(topics.pull("t", name, 10, 30_000)).await.unwrap();
        let operations: Vec<_> = pulled.iter().map(|event| &event.operation).collect();
        assert_eq!(operations, ["b"], "{name}");
        assert!(
            soon(topics.pull("t", name, 10, 0))
                .await
                .unwrap()
                .is_empty()
        );
    }
    let contents = soon(topics.contents("t")).await.unwrap();
    let known = &contents.subscriptions[0];
    assert_eq!((known.expired, known.behind, known.pending), (2, 0, 1));
    assert_eq!(
        contents.events, 3,
        "the log keeps them as long as it keeps others"
    );
    let (read, next) = soon(topics.read("t", 1, 10)).await.unwrap();
    let numbers: Vec<_> = read.iter().map(|event| event.number).collect();
    assert_eq!((numbers, next), (vec![2], 4));
    world.info_when("t", |info| info.lost.expired == 2).await;
}

#[tokio::test]
async fn a_late_joiner_gets_no_expired_events_of_the_history_in_memory() {
    let world = World::with(|settings| {
        let last = Retention {
            events: Some(10),
            ..Retention::default()
        };
        settings.histories.insert("t".to_owned(), last);
    })
    .await;
    let topic = world.create("t").await;
    let publisher = publisher(&topic).await;
    for (operation, context) in [("a", SHORT), ("b", LONG), ("c", SHORT)] {
        publish_with(&publisher, operation, context).await.unwrap();
    }
    wait_for_the_end_of_short_events().await;
    let subscribers = Subscribers::start().await;
    let (proxy, mut inbox) = subscribers.add("s");
    subscribe(&topic, &proxy, &[("floe.from", "beginning")]).await;
    assert_eq!(inbox.next().await.operation, "b");
    let info = world.info_when("t", |info| info.lost.expired == 2).await;
    assert_eq!(info.subscribers[0].offered, 3);
}

#[tokio::test]
async fn a_stream_in_rust_tells_of_expired_events_before_the_next_one() {
    let directory = Directory::new();
    let world = hub_in(&directory.0).await;
    let publisher = publisher(&topic(&world, "t").await).await;
    for (operation, context) in [("a", SHORT), ("b", SHORT), ("c", LONG)] {
        publish_with(&publisher, operation, context).await.unwrap();
    }
    wait_for_the_end_of_short_events().await;
    let client = HubClient::connect(&world.hub.topic_manager())
        .await
        .unwrap();
    let qos = Qos::new().durable("d").begin_at("beginning");
    let qos = qos.lifespan(Duration::from_secs(3600));
    let subscribe = client.topic("t").await.unwrap().subscribe::<AnyEvent>();
    let mut events = soon(subscribe.qos(qos).start()).await.unwrap();
    match soon(events.next()).await.unwrap() {
        Err(Interruption::Lost { count }) => assert_eq!(count, 2),
        other => panic!("{:?}", other.map(|event| event.0)),
    }
    assert_eq!(soon(events.next()).await.unwrap().unwrap().0, "c");
}

#[tokio::test]
async fn an_event_that_is_refused_expires_before_its_next_attempt_and_a_dead_letter_never_does() {
    let directory = Directory::new();
    let world = hub_with(&directory.0, |settings| {
        let default = settings.durable_topics["t"].clone();
        settings.durable_topics.insert("t.dead".to_owned(), default);
    })
    .await;
    let topics = DurableTopicsProxy::from_proxy(world.object(DURABLE_TOPICS));
    let publisher = publisher(&topic(&world, "t").await).await;
    let wishes = [DURABLE, &[("floe.attempts", "1"), ("floe.backOff", "1")]].concat();
    soon(topics.open_pull("t", &qos(&wishes))).await.unwrap();
    let lifespan = &[("floe.lifespan", "60000")];
    publish_with(&publisher, "dies", lifespan).await.unwrap();
    let pulled = soon(topics.pull("t", "d", 1, 30_000)).await.unwrap();
    soon(topics.refuse("t", "d", &[pulled[0].number]))
        .await
        .unwrap();
    let (dead, _) = soon(topics.read("t.dead", 1, 10)).await.unwrap();
    assert_eq!(dead[0].operation, "dies");
    assert!(!dead[0].context.contains_key("floe.lifespan"), "{dead:?}");

    let patient = qos(&[
        ("floe.durable", "p"),
        ("floe.from", "new"),
        ("floe.backOff", "50"),
    ]);
    soon(topics.open_pull("t", &patient)).await.unwrap();
    let lifespan = Duration::from_secs(2);
    let millis = lifespan.as_millis().to_string();
    publish_with(&publisher, "late", &[("floe.lifespan", &millis)])
        .await
        .unwrap();
    let pulled = soon(topics.pull("t", "p", 1, 30_000)).await.unwrap();
    tokio::time::sleep(lifespan).await;
    for event in &pulled {
        soon(topics.refuse("t", "p", &[event.number]))
            .await
            .unwrap();
    }
    assert!(
        soon(topics.pull("t", "p", 1, 200))
            .await
            .unwrap()
            .is_empty()
    );
    let contents = soon(topics.contents("t")).await.unwrap();
    let known = contents
        .subscriptions
        .iter()
        .find(|known| known.name == "p")
        .unwrap();
    assert_eq!((known.expired, known.pending, known.behind), (1, 0, 0));
}

#[tokio::test]
async fn a_wrong_lifespan_is_refused_by_a_durable_topic_and_counts_as_none_in_others() {
    let directory = Directory::new();
    let world = hub_in(&directory.0).await;
    let wrong = [("floe.lifespan", "soon")];
    let durable = publisher(&topic(&world, "t").await).await;
    let error = publish_with(&durable, "e", &wrong).await.unwrap_err();
    let expected = "invalid floe.lifespan: expected milliseconds, at least 1, got";
    assert!(error.to_string().contains(expected), "{error}");

    let topic = world.create("live").await;
    let subscribers = Subscribers::start().await;
    let (proxy, mut inbox) = subscribers.add("s");
    subscribe(&topic, &proxy, &[]).await;
    publish_with(&publisher(&topic).await, "e", &wrong)
        .await
        .unwrap();
    assert_eq!(inbox.next().await.context["floe.lifespan"], "soon");
    let (other, _inbox) = subscribers.add("other");
    let wishes = qos(&wrong);
    let refused = topic.subscribe_and_get_publisher(&wishes, Some(&other));
    let error = soon(refused).await.unwrap_err().to_string();
    assert!(
        error.contains("floe.lifespan: expected milliseconds"),
        "{error}"
    );
}
