//! Limits of what all clients together may make a hub keep, and of the length of its answers.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use floe::contracts::ice_storm::{
    AlreadySubscribedOrBadQoSOrInvalidSubscriberError as SubscribeError, TopicExistsError,
    TopicProxy,
};
use floe::{EncodingVersion, OperationMode, Proxy, TypedProxy};
use floe_hub::DURABLE_TOPICS;
use floe_hub::contracts::floe::{DurableTopicsProxy, HubAdminProxy};

use crate::durable::{hub_with, topic};
use crate::world::{
    Directory, Inbox, Subscribers, World, encapsulation, publisher, qos, soon, subscribe,
};

async fn refusal(
    topic: &TopicProxy,
    proxy: &Proxy,
    qos: BTreeMap<String, String>,
) -> SubscribeError {
    let subscribed = soon(topic.subscribe_and_get_publisher(&qos, Some(proxy))).await;
    subscribed.expect_err("a limit")
}

fn admin(world: &World) -> HubAdminProxy {
    HubAdminProxy::from_proxy(world.object("Floe/HubAdmin"))
}

#[tokio::test]
async fn a_quality_of_service_with_much_that_is_unknown_is_refused_by_the_name_of_the_limit() {
    let world = World::start().await;
    let topic = world.create("t").await;
    let proxy = world.client.proxy("s:tcp -h 127.0.0.1 -p 1").unwrap();
    let long = BTreeMap::from([("unknown".to_owned(), "x".repeat(1_000_000))]);
    let error = refusal(&topic, &proxy, long).await;
    let SubscribeError::BadQoS(bad) = &error else {
        panic!("expected BadQoS, got {error:?}");
    };
    assert!(
        bad.reason.contains("limits.qos-bytes") && bad.reason.contains("1000007"),
        "{}",
        bad.reason
    );
    let many = (0..65).map(|key| (key.to_string(), String::new()));
    let error = refusal(&topic, &proxy, many.collect()).await;
    assert!(
        matches!(&error, SubscribeError::BadQoS(bad) if bad.reason.contains("limits.qos-entries")),
        "{error:?}"
    );
    subscribe(&topic, &proxy, &[("unknown", "short")]).await;
}

#[tokio::test]
async fn a_proxy_with_many_endpoints_or_a_long_one_is_refused() {
    let world = World::start().await;
    let topic = world.create("t").await;
    let endpoints = ":tcp -h 127.0.0.1 -p 1".repeat(65);
    let long = "x".repeat(10_000);
    for (text, setting) in [
        (format!("s{endpoints}"), "limits.proxy-endpoints"),
        (
            format!("s -f {long}:tcp -h 127.0.0.1 -p 1"),
            "limits.proxy-bytes",
        ),
    ] {
        let proxy = world.client.proxy(&text).unwrap();
        let error = refusal(&topic, &proxy, BTreeMap::new()).await;
        let SubscribeError::InvalidSubscriber(invalid) = &error else {
            panic!("expected InvalidSubscriber, got {error:?}");
        };
        assert!(invalid.reason.contains(setting), "{}", invalid.reason);
    }
}

#[tokio::test]
async fn topics_and_subscriptions_beyond_the_limit_are_refused_until_others_are_gone() {
    let world = World::with(|settings| {
        settings.limits.topics = 2;
        settings.limits.subscriptions = 1;
        settings.limits.links = 1;
    })
    .await;
    let (a, b) = (world.create("a").await, world.create("b").await);
    let refused = soon(world.manager.create("c")).await.unwrap_err();
    let TopicExistsError::Invoke(refused) = refused else {
        panic!("expected a system exception, got {refused:?}");
    };
    assert!(refused.to_string().contains("limits.topics"), "{refused}");
    let proxy = |name: &str| {
        let text = format!("{name}:tcp -h 127.0.0.1 -p 1");
        world.client.proxy(&text).unwrap()
    };
    subscribe(&a, &proxy("s"), &[]).await;
    let refused = refusal(&b, &proxy("t"), BTreeMap::new()).await.to_string();
    assert!(refused.contains("limits.subscriptions"), "{refused}");
    soon(a.link(Some(&b), 0)).await.unwrap();
    let refused = soon(b.link(Some(&a), 0)).await.unwrap_err().to_string();
    assert!(refused.contains("limits.links"), "{refused}");
    let used = world.hub.view().limits().unwrap();
    let of_all = used.iter().filter(|it| !it.setting.ends_with("-per-user"));
    let used: Vec<_> = of_all.map(|it| (it.setting, it.used)).collect();
    let expected = [
        ("limits.topics", 2),
        ("limits.subscriptions", 1),
        ("limits.links", 1),
        ("limits.durable-topics", 0),
        ("limits.durable-subscriptions", 0),
        ("limits.queue-bytes", 0),
        ("limits.publisher-names", 0),
    ];
    assert_eq!(used, expected);

    soon(a.destroy()).await.unwrap();
    world.create("c").await;
    subscribe(&b, &proxy("t"), &[]).await;
    soon(b.unsubscribe(Some(&proxy("t")))).await.unwrap();
    subscribe(&b, &proxy("u"), &[]).await;
}

#[tokio::test]
async fn many_subscribers_are_told_of_in_pages_and_too_long_answers_name_them() {
    let world = World::start().await;
    let topic = world.create("t").await;
    let proxy = |number: usize| {
        let text = format!("{number:0>400}:tcp -h 127.0.0.1 -p 1");
        world.client.proxy(&text).unwrap()
    };
    let qos = [("unknown", &"x".repeat(4_000)[..])];
    const COUNT: usize = 3_000;
    for number in 0..COUNT {
        let qos = if number < 200 { &qos[..] } else { &[] };
        subscribe(&topic, &proxy(number), qos).await;
    }
    let admin = admin(&world);
    let mut names = Vec::new();
    let mut next = 0;
    let mut pages = 0;
    loop {
        let page = soon(admin.topic_page("t", next)).await.unwrap();
        // They are counted for the first page only.
        let counted = if next == 0 { COUNT as i32 } else { 0 };
        assert_eq!(page.status.totals.subscribers, counted);
        for subscriber in page.status.subscribers {
            let proxy = subscriber.info.subscriber;
            names.push(proxy.reference().identity.name.clone());
        }
        pages += 1;
        next = page.next;
        if next == 0 {
            break;
        }
    }
    assert!(pages > 4, "{pages}");
    let expected: Vec<_> = (0..COUNT).map(|number| format!("{number:0>400}")).collect();
    assert_eq!(names, expected);
    let errors = [
        soon(admin.topic_status("t")).await.unwrap_err().to_string(),
        soon(admin.topic_info("t")).await.unwrap_err().to_string(),
        soon(topic.get_subscribers()).await.unwrap_err().to_string(),
    ];
    for error in errors {
        assert!(
            error.contains("topicPage") && error.contains("Ice.MessageSizeMax"),
            "{error}"
        );
    }
    soon(topic.unsubscribe(Some(&proxy(7)))).await.unwrap();
    let page = soon(admin.topic_page("t", 0)).await.unwrap();
    assert_eq!(page.status.totals.subscribers, COUNT as i32 - 1);
}

#[tokio::test]
async fn many_topics_are_told_of_in_pages() {
    let world = World::start().await;
    let name = |number: usize| format!("{number:0>400}");
    const COUNT: usize = 1_500;
    for number in 0..COUNT {
        world.create(&name(number)).await;
    }
    let admin = admin(&world);
    let mut names: Vec<String> = Vec::new();
    loop {
        let last = names.last().map_or("", String::as_str);
        let page = soon(admin.topics_after(last)).await.unwrap();
        if page.is_empty() {
            break;
        }
        names.extend(page.into_iter().map(|topic| topic.name));
    }
    assert_eq!(names, (0..COUNT).map(name).collect::<Vec<_>>());
    let error = soon(world.manager.retrieve_all()).await.unwrap_err();
    assert!(error.to_string().contains("topicsAfter"), "{error}");
    soon(world.manager.retrieve(&names[3])).await.unwrap();
}

#[tokio::test]
async fn the_longest_queues_give_way_when_all_have_too_much() {
    let limit = 2_000_000;
    let world = World::with(|settings| settings.limits.queue_bytes = limit).await;
    let subscribers = Subscribers::start().await;
    let parameters = encapsulation(EncodingVersion::V1_1, &"x".repeat(10_000));
    let mut inboxes = Vec::new();
    for (name, count) in [("long", 300), ("longer", 400), ("short", 20)] {
        let topic = world.create(name).await;
        for number in 0..2 {
            let (stuck, inbox) = subscribers.add_stuck(&format!("{name}{number}"));
            subscribe(&topic, &stuck, &[("floe.overflow", "drop-oldest")]).await;
            inboxes.push(inbox);
        }
        let publisher = publisher(&topic).await;
        for _ in 0..count {
            let published = publisher.invoke("e", OperationMode::Normal, &parameters);
            soon(published).await.unwrap();
        }
    }
    let begun = Instant::now();
    loop {
        let mut all = 0;
        let mut lost = Vec::new();
        for name in ["long", "longer", "short"] {
            let info = world.info(name).await;
            for subscriber in &info.subscribers {
                let places = subscriber.queued + subscriber.outstanding + subscriber.lost.overflow;
                assert_eq!(subscriber.offered, places);
            }
            all += info.subscribers[0].queued_bytes;
            lost.push(info.lost.overflow);
        }
        assert_eq!(lost[2], 0, "the short queue stays as it is");
        if all <= limit as i64 && lost[0] > 0 && lost[1] > 0 {
            break;
        }
        assert!(begun.elapsed() < Duration::from_secs(60), "{all}: {lost:?}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    inboxes.iter().for_each(Inbox::open);
}

#[tokio::test]
async fn durable_topics_and_subscriptions_beyond_the_limit_are_refused_by_its_name() {
    let directory = Directory::new();
    let limited = || {
        hub_with(&directory.0, |settings| {
            settings.limits.durable_topics = 2;
            settings.limits.durable_subscriptions = 1;
        })
    };
    let durable = |world: &World| DurableTopicsProxy::from_proxy(world.object(DURABLE_TOPICS));
    let named = |name| qos(&[("floe.durable", name), ("floe.from", "beginning")]);

    let world = limited().await;
    let topics = durable(&world);
    soon(topics.create("u")).await.unwrap();
    let refused = soon(topics.create("v")).await.unwrap_err().to_string();
    assert!(refused.contains("limits.durable-topics"), "{refused}");
    soon(topics.open_pull("t", &named("a"))).await.unwrap();
    soon(topics.open_pull("t", &named("a"))).await.unwrap();
    let refused = soon(topics.open_pull("u", &named("b"))).await;
    let refused = refused.unwrap_err().to_string();
    assert!(
        refused.contains("limits.durable-subscriptions"),
        "{refused}"
    );
    world.shut_down().await;

    // Things on disk count after a restart, unless they are removed.
    let world = limited().await;
    let topics = durable(&world);
    soon(topics.open_pull("u", &named("b"))).await.unwrap_err();
    soon(topics.remove_position("t", "a")).await.unwrap();
    soon(topics.open_pull("u", &named("b"))).await.unwrap();
    soon(topic(&world, "u").await.destroy()).await.unwrap();
    soon(topics.create("v")).await.unwrap();
    soon(topics.open_pull("v", &named("c"))).await.unwrap();
}
