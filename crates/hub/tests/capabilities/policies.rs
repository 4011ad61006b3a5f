//! Policies for events that do not fit into a queue, and the notices about them.

use std::time::Duration;

use floe::{Current, InvokeError, Proxy, TypedProxy};
use floe_hub::contracts::floe::{LossListener, LossListenerDispatcher, Losses, TopicInfo};
use floe_hub::{HubSettings, OverflowPolicy, QueueLimits, WAITING_FACET};
use tokio::sync::mpsc;

use crate::world::{
    Inbox, Log, Subscribers, World, numbered, publish, publish_many, publisher, qos, soon,
    subscribe,
};

/// A hub, a topic, and a subscriber that does not answer yet.
struct Stuck {
    world: World,
    subscribers: Subscribers,
    publisher: Proxy,
    inbox: Inbox,
}

impl Stuck {
    async fn with_qos(qos: &[(&str, &str)]) -> Self {
        let world = World::start().await;
        let subscribers = Subscribers::start().await;
        let (proxy, inbox) = subscribers.add_stuck("s");
        let topic = world.create("t").await;
        subscribe(&topic, &proxy, qos).await;
        let publisher = publisher(&topic).await;
        Self {
            world,
            subscribers,
            publisher,
            inbox,
        }
    }
}

/// The number of unanswered events of a stuck twoway subscriber.
const OUTSTANDING: usize = 5;

#[tokio::test]
async fn the_newest_events_are_lost_if_the_subscriber_chooses_that() {
    let wishes = [("floe.overflow", "drop-newest"), ("floe.queueEvents", "10")];
    let mut stuck = Stuck::with_qos(&wishes).await;
    publish_many(&stuck.publisher, OUTSTANDING).await;
    stuck.inbox.operations(OUTSTANDING).await;
    publish_many(&stuck.publisher, 20).await;
    let info = stuck.world.info("t").await;
    assert_eq!(info.lost.overflow, 10);
    stuck.inbox.open();
    assert_eq!(stuck.inbox.operations(10).await, numbered(10));
    let info = stuck
        .world
        .info_when("t", |info| info.delivered == 15)
        .await;
    assert_eq!(info.published, 25);
}

#[tokio::test]
async fn a_full_queue_ends_a_subscription_if_the_subscriber_chooses_that() {
    let wishes = [("floe.overflow", "disconnect"), ("floe.queueEvents", "10")];
    let mut stuck = Stuck::with_qos(&wishes).await;
    publish_many(&stuck.publisher, OUTSTANDING).await;
    stuck.inbox.operations(OUTSTANDING).await;
    publish_many(&stuck.publisher, 10).await;
    assert_eq!(stuck.world.info("t").await.subscribers.len(), 1);
    publish(&stuck.publisher, "one too many").await;
    let info = stuck.world.info("t").await;
    assert!(info.subscribers.is_empty());
    assert_eq!((info.lost.overflow, info.lost.removed), (1, 10));
    stuck.inbox.open();
    let delivered = OUTSTANDING as i64;
    let all = |info: &TopicInfo| info.delivered == delivered;
    stuck.world.info_when("t", all).await;
    assert!(!stuck.inbox.has_more());
}

#[tokio::test]
async fn as_many_events_are_unanswered_as_the_subscriber_asked_for() {
    let mut stuck = Stuck::with_qos(&[("floe.outstanding", "20")]).await;
    publish_many(&stuck.publisher, 30).await;
    assert_eq!(stuck.inbox.operations(20).await, numbered(20));
    let info = stuck.world.info("t").await;
    let subscriber = &info.subscribers[0];
    assert_eq!((subscriber.outstanding, subscriber.queued), (20, 10));
    stuck.inbox.open();
    stuck.inbox.operations(10).await;
    let info = stuck
        .world
        .info_when("t", |info| info.delivered == 30)
        .await;
    assert_eq!(info.lost, Losses::default());
}

#[tokio::test]
async fn the_window_of_a_subscriber_that_keeps_answering_grows() {
    let world = World::start().await;
    let subscribers = Subscribers::start().await;
    let (proxy, mut inbox) = subscribers.add("s");
    let topic = world.create("t").await;
    subscribe(&topic, &proxy, &[]).await;
    let publisher = publisher(&topic).await.ice_oneway();
    let published = async |count: usize, sum: &mut i64| {
        publish_many(&publisher, count).await;
        *sum += count as i64;
    };
    let mut sum = 0;
    let growing = async {
        loop {
            published(500, &mut sum).await;
            assert_eq!(inbox.operations(500).await, numbered(500));
            world.info_when("t", |info| info.delivered == sum).await;
            inbox.close();
            published(50, &mut sum).await;
            let all_here = |info: &TopicInfo| {
                let subscriber = &info.subscribers[0];
                let under_way = subscriber.queued + subscriber.outstanding;
                info.published == sum && under_way == 50 && subscriber.outstanding >= 5
            };
            let info = world.info_when("t", all_here).await;
            inbox.open();
            assert_eq!(inbox.operations(50).await, numbered(50));
            if info.subscribers[0].outstanding > 5 {
                return;
            }
        }
    };
    soon(growing).await;
}

#[tokio::test]
async fn a_publisher_that_asked_waits_for_room_and_nothing_is_lost() {
    let wishes = [
        ("floe.overflow", "block"),
        ("floe.queueEvents", "10"),
        ("reliability", "ordered"),
    ];
    let mut stuck = Stuck::with_qos(&wishes).await;
    let waiting = stuck.publisher.ice_facet(WAITING_FACET);
    let publishing = tokio::spawn(async move { publish_many(&waiting, 100).await });
    let info = stuck
        .world
        .info_when("t", |info| info.subscribers[0].queued == 10)
        .await;
    assert_eq!(info.lost, Losses::default());
    assert!(!publishing.is_finished());
    stuck.inbox.open();
    assert_eq!(stuck.inbox.operations(100).await, numbered(100));
    soon(publishing).await.unwrap();
    let info = stuck
        .world
        .info_when("t", |info| info.delivered == 100)
        .await;
    assert_eq!(info.lost, Losses::default());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn batches_of_a_publisher_that_waits_come_in_their_order_and_nothing_is_lost() {
    const BATCHES: usize = 10;
    const EVENTS: usize = 30;
    let wishes = [
        ("floe.overflow", "block"),
        ("floe.queueEvents", "10"),
        ("reliability", "ordered"),
    ];
    let mut stuck = Stuck::with_qos(&wishes).await;
    let waiting = stuck.publisher.ice_facet(WAITING_FACET).ice_batch_oneway();
    let mut expected = Vec::new();
    for batch in 0..BATCHES {
        for _ in 0..EVENTS {
            publish(&waiting, &format!("e{batch}")).await;
            expected.push(format!("e{batch}"));
        }
        soon(waiting.flush_batch()).await.unwrap();
    }
    let full = |info: &floe_hub::contracts::floe::TopicInfo| {
        let subscriber = &info.subscribers[0];
        info.published == expected.len() as i64 && subscriber.queued == 10
    };
    let info = stuck.world.info_when("t", full).await;
    assert_eq!(info.lost, Losses::default());
    stuck.inbox.open();
    assert_eq!(stuck.inbox.operations(expected.len()).await, expected);
    let delivered =
        |info: &floe_hub::contracts::floe::TopicInfo| info.delivered == expected.len() as i64;
    let info = stuck.world.info_when("t", delivered).await;
    assert_eq!(info.lost, Losses::default());
}

#[tokio::test]
async fn a_waiting_publisher_keeps_neither_other_subscribers_nor_other_publishers_waiting() {
    let wishes = [("floe.overflow", "block"), ("floe.queueEvents", "1")];
    let mut stuck = Stuck::with_qos(&wishes).await;
    let topic = stuck.world.manager.retrieve("t").await.unwrap();
    let (fast, mut fast_inbox) = stuck.subscribers.add("fast");
    subscribe(&topic, &fast, &[]).await;
    let waiting = stuck.publisher.ice_facet(WAITING_FACET).ice_oneway();
    publish_many(&waiting, 20).await;
    assert_eq!(fast_inbox.operations(20).await, numbered(20));
    publish(&stuck.publisher, "other").await;
    assert_eq!(fast_inbox.next().await.operation, "other");
    let info = stuck.world.info("t").await;
    assert_eq!(
        info.subscribers[0].lost.overflow, 1,
        "of the one that does not wait"
    );
    stuck.inbox.open();
    assert_eq!(stuck.inbox.operations(20).await, numbered(20));
}

#[tokio::test]
async fn an_event_that_waits_for_one_subscriber_waits_for_all_others_too() {
    let wishes = [
        ("floe.overflow", "block"),
        ("floe.queueEvents", "1"),
        ("reliability", "ordered"),
    ];
    let mut stuck = Stuck::with_qos(&wishes).await;
    let topic = stuck.world.manager.retrieve("t").await;
    let topic = topic.expect("a topic");
    let (proxy, mut well) = stuck.subscribers.add("well");
    subscribe(&topic, &proxy, &wishes).await;
    let waiting = stuck.publisher.ice_facet(WAITING_FACET);
    let publishing = tokio::spawn(async move { publish_many(&waiting, 5).await });
    // One event is with the stuck subscriber, one is in its queue, and the third waits for room.
    assert_eq!(well.operations(3).await, numbered(3));
    assert!(!publishing.is_finished());
    stuck.inbox.open();
    assert_eq!(stuck.inbox.operations(5).await, numbered(5));
    soon(publishing).await.expect("no panic");
}

#[tokio::test]
async fn a_publisher_does_not_wait_for_a_subscriber_that_leaves() {
    let wishes = [("floe.overflow", "block"), ("floe.queueEvents", "1")];
    let stuck = Stuck::with_qos(&wishes).await;
    let waiting = stuck.publisher.ice_facet(WAITING_FACET);
    let publishing = tokio::spawn(async move { publish_many(&waiting, 20).await });
    let full = |info: &floe_hub::contracts::floe::TopicInfo| info.subscribers[0].queued == 1;
    stuck.world.info_when("t", full).await;
    let topic = stuck.world.manager.retrieve("t").await.unwrap();
    let subscriber = stuck.world.info("t").await.subscribers.remove(0).subscriber;
    soon(topic.unsubscribe(Some(&subscriber))).await.unwrap();
    soon(publishing).await.unwrap();
}

#[tokio::test]
async fn events_whose_publishers_wait_when_the_topic_is_destroyed_are_lost_and_counted() {
    const QUEUED: usize = 10;
    const ACCEPTED: usize = OUTSTANDING + QUEUED;
    let wishes = [("floe.overflow", "block"), ("floe.queueEvents", "10")];
    let stuck = Stuck::with_qos(&wishes).await;
    let publish = |count: usize| {
        let waiting = stuck.publisher.ice_facet(WAITING_FACET);
        tokio::spawn(async move { publish_many(&waiting, count).await })
    };
    let published = async |count: usize| {
        let are_there = |info: &TopicInfo| info.published == count as i64;
        stuck.world.info_when("t", are_there).await;
    };
    let first = publish(ACCEPTED + 1);
    published(ACCEPTED + 1).await;
    let second = publish(1);
    published(ACCEPTED + 2).await;
    assert!(!first.is_finished() && !second.is_finished());
    let topic = stuck.world.manager.retrieve("t").await.unwrap();
    soon(topic.destroy()).await.unwrap();
    for publishing in [first, second] {
        soon(publishing).await.unwrap();
    }
    let totals = stuck.world.hub.view().totals().expect("it runs");
    let lost = totals.lost.removed;
    assert_eq!(
        (totals.published, lost),
        (ACCEPTED as i64 + 2, QUEUED as i64 + 2)
    );
    assert_eq!(totals.outstanding, OUTSTANDING as i64);
}

#[tokio::test]
async fn a_larger_queue_limit_ends_an_overflow() {
    let log = Log::start();
    let stuck = Stuck::with_qos(&[("floe.overflow", "drop-newest")]).await;
    let reconfigure = async |events: usize| {
        let mut settings = HubSettings::default();
        settings.queue_limits.events = events;
        stuck.world.hub.reconfigure(settings).await;
    };
    reconfigure(10).await;
    publish_many(&stuck.publisher, OUTSTANDING + 20).await;
    assert_eq!(log.lines_with("loses the newest events").len(), 1);
    reconfigure(1000).await;
    assert_eq!(log.lines_with("loses no more events").len(), 1);
}

#[tokio::test]
async fn a_topic_may_have_limits_of_its_own() {
    let world = World::with(|settings| {
        let limits = QueueLimits {
            events: 3,
            overflow: OverflowPolicy::DropNewest,
            ..QueueLimits::default()
        };
        settings
            .topic_queue_limits
            .insert("small".to_owned(), limits);
    })
    .await;
    let subscribers = Subscribers::start().await;
    for (topic, lost) in [("small", 7), ("other", 0)] {
        let (proxy, _inbox) = subscribers.add_stuck(topic);
        let topic = world.create(topic).await;
        subscribe(&topic, &proxy, &[("reliability", "ordered")]).await;
        publish_many(&publisher(&topic).await, 11).await;
        let info = world.info(&soon(topic.get_name()).await.unwrap()).await;
        let subscriber = &info.subscribers[0];
        assert_eq!(subscriber.offered, 11);
        // One event may or may not be on its way.
        let lost_or_late = lost..=lost + i64::from(lost > 0);
        assert!(lost_or_late.contains(&subscriber.lost.overflow), "{info:?}");
    }
}

#[tokio::test]
async fn an_invalid_quality_of_service_is_refused() {
    let world = World::start().await;
    let subscribers = Subscribers::start().await;
    let (proxy, _inbox) = subscribers.add("s");
    let topic = world.create("t").await;
    let qos = qos(&[("floe.overflow", "explode")]);
    let refused = topic.subscribe_and_get_publisher(&qos, Some(&proxy)).await;
    let reason = refused.unwrap_err().to_string();
    assert!(reason.contains("expected block, drop-oldest"), "{reason}");
}

/// Sends each notification to a channel: the topic, the number of events, and all losses so far.
pub(crate) struct Gaps(mpsc::UnboundedSender<(String, i64, i64)>);

impl Gaps {
    /// Listens to the notifications for the subscriber `proxy` at its facet `gaps`.
    pub(crate) fn of(
        subscribers: &Subscribers,
        proxy: &Proxy,
    ) -> mpsc::UnboundedReceiver<(String, i64, i64)> {
        let (sender, gaps) = mpsc::unbounded_channel();
        let listener = LossListenerDispatcher::new(Self(sender));
        let identity = proxy.reference().identity.clone();
        subscribers
            .adapter
            .add_facet(identity, "gaps", listener)
            .unwrap();
        gaps
    }
}

impl LossListener for Gaps {
    async fn lost(
        &self,
        topic: String,
        count: i64,
        total: Losses,
        _current: &Current,
    ) -> Result<(), InvokeError> {
        let total = total.overflow
            + total.offline
            + total.failed
            + total.removed
            + total.looped
            + total.expired
            + total.retention;
        let _ = self.0.send((topic, count, total));
        Ok(())
    }
}

#[tokio::test]
async fn a_subscriber_is_notified_of_losses_before_the_next_event() {
    for mode in ["-t", "-o"] {
        let world = World::start().await;
        let mut settings = floe::Settings::default();
        settings.dispatch_limit = 1;
        let subscribers = Subscribers::with(settings, "tcp -h 127.0.0.1 -p 0").await;
        let (proxy, mut inbox) = subscribers.add_stuck("s");
        let mut gaps = Gaps::of(&subscribers, &proxy);
        let topic = world.create("t").await;
        let wishes = [("floe.lostFacet", "gaps"), ("floe.queueEvents", "10")];
        let proxy = match mode {
            "-o" => proxy.ice_oneway(),
            _ => proxy,
        };
        subscribe(&topic, &proxy, &wishes).await;
        let publisher = publisher(&topic).await;
        // More than what is on the way while the subscriber does not read.
        let long = crate::world::encapsulation(floe::EncodingVersion::V1_1, &"x".repeat(200_000));
        for _ in 0..100 {
            let sent = publisher.invoke("e", floe::OperationMode::Normal, &long);
            soon(sent).await.unwrap();
        }
        let info = world.info_when("t", |info| info.lost.overflow > 0).await;
        let lost = info.lost.overflow;
        inbox.open();
        inbox.operations(100 - lost as usize).await;
        let told = soon(gaps.recv()).await.unwrap();
        assert_eq!(told, ("t".to_owned(), lost, lost), "{mode}");
        tokio::time::sleep(Duration::from_millis(1)).await;
        assert!(gaps.try_recv().is_err(), "once is enough");
    }
}

#[tokio::test]
async fn a_subscriber_is_notified_of_losses_while_it_was_unreachable() {
    let discard_interval = Duration::from_millis(500);
    let world = World::with(|settings| settings.discard_interval = discard_interval).await;
    let topic = world.create("t").await;
    let gone = Subscribers::start().await;
    let endpoint = gone.adapter.endpoints()[0].to_string();
    let (proxy, _inbox) = gone.add("s");
    let wishes = [("floe.lostFacet", "gaps"), ("retryCount", "-1")];
    subscribe(&topic, &proxy, &wishes).await;
    gone.stop().await;
    let publisher = publisher(&topic).await;
    // Each event is tried, and so is the notification of those before it.
    for failed in 1..=3 {
        publish(&publisher, "fails").await;
        let is_lost = |info: &TopicInfo| info.lost.failed == failed;
        world.info_when("t", is_lost).await;
        tokio::time::sleep(discard_interval + Duration::from_millis(50)).await;
    }
    let subscribers = Subscribers::at(&endpoint).await;
    let (proxy, mut inbox) = subscribers.add("s");
    let mut gaps = Gaps::of(&subscribers, &proxy);
    publish(&publisher, "back").await;
    assert_eq!(inbox.next().await.operation, "back");
    assert_eq!(soon(gaps.recv()).await.unwrap(), ("t".to_owned(), 3, 3));
}
