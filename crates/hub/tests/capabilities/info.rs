//! The status and counts that a hub shows.

use std::time::Duration;

use floe::TypedProxy;
use floe_hub::HUB_ADMIN;
use floe_hub::contracts::floe::{
    HubAdminProxy, IceStormNoSuchTopicError, Losses, TopicInfo, TopicStatus,
};

use crate::world::{Subscribers, World, publish, publish_many, publisher, soon, subscribe};

fn total(lost: &Losses) -> i64 {
    lost.overflow + lost.offline + lost.failed + lost.removed + lost.looped + lost.retention
}

fn adds_up(info: &TopicInfo) {
    for subscriber in &info.subscribers {
        let known = subscriber.delivered + total(&subscriber.lost);
        let under_way = subscriber.queued + subscriber.outstanding;
        assert_eq!(subscriber.offered, known + under_way, "{subscriber:?}");
    }
}

#[tokio::test]
async fn an_unknown_topic_has_no_info() {
    let world = World::start().await;
    let admin = HubAdminProxy::from_proxy(world.object(HUB_ADMIN));
    let error = soon(admin.topic_info("t")).await.unwrap_err();
    assert!(
        matches!(&error, IceStormNoSuchTopicError::NoSuchTopic(e) if e.name == "t"),
        "{error}"
    );
}

#[tokio::test]
async fn the_info_of_a_subscriber_has_its_proxy_and_quality_of_service() {
    let world = World::start().await;
    let subscribers = Subscribers::start().await;
    let (proxy, _inbox) = subscribers.add("s");
    let topic = world.create("t").await;
    subscribe(&topic, &proxy.ice_oneway(), &[("retryCount", "3")]).await;
    let info = world.info("t").await;
    assert_eq!(info.subscribers[0].subscriber, proxy.ice_oneway());
    assert_eq!(info.subscribers[0].qos["retryCount"], "3");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn accounts_add_up_at_any_time_while_subscribers_come_and_go() {
    let world = World::with(|settings| {
        settings.queue_limits.events = 20;
        settings.flush_interval = Duration::from_millis(5);
        settings.discard_interval = Duration::from_millis(5);
    })
    .await;
    let topic = world.create("t").await;
    let publisher = publisher(&topic).await;
    let oneway = publisher.ice_oneway();
    let publishing = tokio::spawn(async move {
        for _ in 0..20 {
            publish_many(&oneway, 200).await;
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    });
    let mut inboxes = Vec::new();
    for round in 0..6 {
        let subscribers = Subscribers::start().await;
        let (quick, quick_inbox) = subscribers.add(&format!("quick{round}"));
        let (stuck, stuck_inbox) = subscribers.add_stuck(&format!("stuck{round}"));
        subscribe(&topic, &quick.ice_oneway(), &[("retryCount", "-1")]).await;
        subscribe(&topic, &stuck, &[]).await;
        adds_up(&world.info("t").await);
        tokio::time::sleep(Duration::from_millis(20)).await;
        if round % 2 == 0 {
            topic.unsubscribe(Some(&stuck)).await.unwrap();
            stuck_inbox.open();
            subscribers.stop().await;
        }
        inboxes.extend([quick_inbox, stuck_inbox]);
        adds_up(&world.info("t").await);
    }
    publishing.await.unwrap();
    publish(&publisher, "last").await;
    inboxes.iter().for_each(|inbox| inbox.open());
    let info = world
        .info_when("t", |i| {
            i.subscribers.iter().all(|s| s.queued + s.outstanding == 0)
        })
        .await;
    adds_up(&info);
    assert_eq!(info.published, 4_001);
}

#[tokio::test]
async fn totals_include_subscribers_that_have_left() {
    let world = World::start().await;
    let topic = world.create("t").await;
    let publisher = publisher(&topic).await;
    for round in 1..=3 {
        let subscribers = Subscribers::start().await;
        let (proxy, mut inbox) = subscribers.add("s");
        subscribe(&topic, &proxy, &[]).await;
        publish_many(&publisher, 10).await;
        inbox.operations(10).await;
        world.info_when("t", |i| i.delivered == 10 * round).await;
        topic.unsubscribe(Some(&proxy)).await.unwrap();
    }
    let info = world.info("t").await;
    assert_eq!(
        (info.published, info.delivered, total(&info.lost)),
        (30, 30, 0)
    );
}

#[tokio::test]
async fn the_status_has_the_lag_of_a_subscriber_and_the_uptime_of_the_hub() {
    let world = World::start().await;
    let subscribers = Subscribers::start().await;
    let (stuck, inbox) = subscribers.add_stuck("stuck");
    let topic = world.create("t").await;
    world.create("a").await;
    subscribe(&topic, &stuck, &[("reliability", "ordered")]).await;
    publish_many(&publisher(&topic).await, 10).await;
    let admin = HubAdminProxy::from_proxy(world.object(HUB_ADMIN));
    let first = soon(admin.topic_status("t")).await.expect("it is there");
    tokio::time::sleep(Duration::from_millis(20)).await;
    let second = soon(admin.topic_status("t")).await.expect("it is there");
    let lag = |status: &TopicStatus| status.subscribers[0].lag;
    assert!(lag(&second) >= lag(&first) + 20_000, "{first:?} {second:?}");
    assert_eq!(second.totals.lag / 1_000_000, lag(&second) / 1_000_000);
    assert!(second.uptime >= first.uptime + 20_000);
    let totals = &second.totals;
    assert_eq!((totals.published, totals.subscribers), (10, 1));
    assert_eq!(totals.queued + totals.outstanding + totals.delivered, 10);
    let hub = soon(admin.status()).await.expect("it answers");
    let names: Vec<_> = hub.topics.iter().map(|topic| topic.name.as_str()).collect();
    assert_eq!(names, ["a", "t"]);
    assert!(hub.connections >= 1);
    inbox.open();
}

#[tokio::test]
async fn an_unknown_topic_has_no_status() {
    let world = World::start().await;
    let admin = HubAdminProxy::from_proxy(world.object(HUB_ADMIN));
    let error = soon(admin.topic_status("t")).await.unwrap_err();
    assert!(
        matches!(&error, IceStormNoSuchTopicError::NoSuchTopic(e) if e.name == "t"),
        "{error}"
    );
}
