//! Twoway subscribers that the delivery scheduler serves, and what their delivery tasks take over.

use std::thread::JoinHandle;
use std::time::Duration;

use floe::contracts::ice_storm::{TopicManagerProxy, TopicProxy};
use floe::{Communicator, Proxy};
use floe_hub::contracts::floe::SubscriberState;
use floe_hub::{Hub, HubSettings};
use tokio::runtime::Builder;
use tokio::sync::oneshot;

use crate::world::{
    Inbox, Subscribers, World, identity, numbered, publish, publish_many, publisher, subscribe,
};

/// A topic with a subscriber that has answered three events, one after the other.
struct Served {
    world: World,
    subscribers: Subscribers,
    inbox: Inbox,
    topic: TopicProxy,
    publisher: Proxy,
}

impl Served {
    async fn start(world: World, qos: &[(&str, &str)]) -> Self {
        let subscribers = Subscribers::start().await;
        let (proxy, mut inbox) = subscribers.add("s");
        let topic = world.create("t").await;
        subscribe(&topic, &proxy, qos).await;
        let publisher = publisher(&topic).await;
        for delivered in 1..=3 {
            publish(&publisher, "before").await;
            assert_eq!(inbox.next().await.operation, "before");
            world.info_when("t", |i| i.delivered == delivered).await;
        }
        Self {
            world,
            subscribers,
            inbox,
            topic,
            publisher,
        }
    }
}

#[tokio::test]
async fn a_subscriber_that_stops_answering_fails_in_time() {
    let limit = Some(Duration::from_millis(100));
    let world = World::with(|settings| settings.send_timeout = limit).await;
    let served = Served::start(world, &[]).await;
    // Longer than the first timer runs.
    tokio::time::sleep(Duration::from_millis(150)).await;
    served.inbox.close();
    publish(&served.publisher, "e").await;
    let info = served.world.info_when("t", |i| i.lost.failed == 1).await;
    assert_eq!(info.subscribers[0].state, SubscriberState::Failed);
    assert_eq!((info.delivered, info.subscribers[0].outstanding), (3, 0));
}

#[tokio::test]
async fn a_subscriber_that_stops_answering_gets_one_window_of_events() {
    let mut served = Served::start(World::start().await, &[]).await;
    served.inbox.close();
    publish_many(&served.publisher, 20).await;
    let info = served
        .world
        .info_when("t", |i| i.subscribers[0].queued == 15)
        .await;
    assert_eq!((info.delivered, info.subscribers[0].outstanding), (3, 5));
    served.inbox.open();
    assert_eq!(served.inbox.operations(20).await, numbered(20));
    served.world.info_when("t", |i| i.delivered == 23).await;
}

#[tokio::test]
async fn an_ordered_subscriber_still_has_one_request_at_a_time() {
    let world = World::start().await;
    let mut served = Served::start(world, &[("reliability", "ordered")]).await;
    served.inbox.close();
    publish_many(&served.publisher, 20).await;
    let info = served
        .world
        .info_when("t", |i| i.subscribers[0].queued == 19)
        .await;
    assert_eq!(info.subscribers[0].outstanding, 1);
    served.inbox.open();
    assert_eq!(served.inbox.operations(20).await, numbered(20));
}

#[tokio::test]
async fn a_user_exception_counts_as_a_delivery() {
    let mut served = Served::start(World::start().await, &[]).await;
    publish(&served.publisher, "throw").await;
    let info = served.world.info_when("t", |i| i.delivered == 4).await;
    assert_eq!(info.subscribers[0].state, SubscriberState::Online);
    publish(&served.publisher, "e").await;
    assert_eq!(served.inbox.operations(2).await, ["throw", "e"]);
}

#[tokio::test]
async fn a_subscriber_whose_object_is_gone_is_removed() {
    let served = Served::start(World::start().await, &[("retryCount", "-1")]).await;
    served.subscribers.adapter.remove(&identity("s"), "");
    publish(&served.publisher, "e").await;
    served.world.info_when("t", |i| i.lost.failed == 1).await;
    publish(&served.publisher, "e").await;
    assert_eq!(served.topic.get_subscribers().await.unwrap(), []);
}

#[tokio::test]
async fn a_subscriber_whose_process_ends_fails_with_the_next_event() {
    let served = Served::start(World::start().await, &[]).await;
    served.subscribers.stop().await;
    publish(&served.publisher, "e").await;
    let info = served.world.info_when("t", |i| i.lost.failed == 1).await;
    assert_eq!(info.subscribers[0].state, SubscriberState::Failed);
}

#[tokio::test]
async fn a_subscriber_that_leaves_gets_no_more_events_and_its_losses_are_counted() {
    let mut served = Served::start(World::start().await, &[]).await;
    served.inbox.close();
    publish_many(&served.publisher, 20).await;
    let subscriber: Proxy = served.world.client.proxy("s").expect("a proxy");
    let unsubscribed = served.topic.unsubscribe(Some(&subscriber));
    unsubscribed.await.expect("it was subscribed");
    served.inbox.open();
    let info = served.world.info_when("t", |i| i.delivered == 8).await;
    assert_eq!((info.published, info.lost.removed), (23, 15));
    assert_eq!(served.inbox.operations(5).await, numbered(5));
    assert!(!served.inbox.has_more());
}

#[tokio::test]
async fn a_shutdown_delivers_events_that_wait_for_room() {
    let mut served = Served::start(World::start().await, &[]).await;
    served.inbox.close();
    publish_many(&served.publisher, 20).await;
    served.inbox.open();
    served.world.shut_down().await;
    assert_eq!(served.inbox.operations(20).await, numbered(20));
}

#[tokio::test]
async fn more_subscribers_than_one_poll_serves_get_all_events_in_order() {
    let world = World::start().await;
    let subscribers = Subscribers::start().await;
    let topic = world.create("t").await;
    let mut inboxes = Vec::new();
    for number in 0..150 {
        let (proxy, inbox) = subscribers.add(&format!("s{number}"));
        subscribe(&topic, &proxy, &[]).await;
        inboxes.push(inbox);
    }
    publish_many(&publisher(&topic).await, 20).await;
    for inbox in &mut inboxes {
        assert_eq!(inbox.operations(20).await, numbered(20));
    }
    world.info_when("t", |i| i.delivered == 150 * 20).await;
}

/// A hub in a thread of its own.
struct HubThread {
    hub: Hub,
    stop: oneshot::Sender<()>,
    thread: JoinHandle<()>,
}

impl HubThread {
    fn start(communicator: Communicator) -> Self {
        let mut settings = HubSettings::default();
        settings.listen = "tcp -h 127.0.0.1 -p 0".to_owned();
        let (sender, receiver) = std::sync::mpsc::channel();
        let (stop, stopped) = oneshot::channel();
        let thread = std::thread::spawn(move || {
            let home = Builder::new_current_thread().enable_all().build().unwrap();
            home.block_on(async {
                sender
                    .send(Hub::start(&communicator, settings).await.unwrap())
                    .unwrap();
                let _ = stopped.await;
            });
        });
        let hub = receiver.recv().unwrap();
        Self { hub, stop, thread }
    }

    async fn create(&self, name: &str) -> TopicProxy {
        let client = Communicator::new();
        let manager: TopicManagerProxy = client.proxy(&self.hub.topic_manager()).unwrap();
        manager.create(name).await.unwrap()
    }

    fn stop(self) {
        drop(self.hub);
        self.stop.send(()).unwrap();
        self.thread.join().unwrap();
    }
}

#[tokio::test]
async fn a_stream_of_events_comes_in_order_and_its_last_events_do_not_wait() {
    let hub = HubThread::start(Communicator::new());
    let topic = hub.create("t").await;
    let subscribers = Subscribers::start().await;
    let mut inboxes = Vec::new();
    for (number, outstanding) in ["1000", "1000", "5"].iter().enumerate() {
        let (proxy, inbox) = subscribers.add(&format!("s{number}"));
        subscribe(&topic, &proxy, &[("floe.outstanding", outstanding)]).await;
        inboxes.push(inbox);
    }
    let publishers = [
        publisher(&topic).await,
        publisher(&topic).await,
        publisher(&topic).await,
    ];
    // Each time, the last events come during a rest, and no events follow.
    for _ in 0..20 {
        let [first, second, third] = &publishers;
        tokio::join!(
            publish_many(first, 50),
            publish_many(second, 50),
            publish_many(third, 50)
        );
        for inbox in &mut inboxes {
            let operations = inbox.operations(150).await;
            for number in 0..50 {
                let name = format!("e{number}");
                assert_eq!(operations.iter().filter(|o| **o == name).count(), 3);
            }
            // The events of each publisher come in order, so the first events of each name do.
            let first_at = |number| operations.iter().position(|o| *o == format!("e{number}"));
            let starts: Vec<_> = (0..50).map(first_at).collect();
            assert!(starts.is_sorted(), "{operations:?}");
        }
    }
    hub.stop();
}

#[tokio::test]
async fn a_small_queue_does_not_overflow_in_a_rest() {
    let hub = HubThread::start(Communicator::new());
    let topic = hub.create("t").await;
    let subscribers = Subscribers::start().await;
    let mut inboxes = Vec::new();
    for number in 0..3 {
        let (proxy, inbox) = subscribers.add(&format!("s{number}"));
        let qos = [
            ("floe.outstanding", "1000"),
            ("floe.queueEvents", "8"),
            ("floe.overflow", "drop-newest"),
        ];
        subscribe(&topic, &proxy, &qos).await;
        inboxes.push(inbox);
    }
    // At most as many events come together as there are publishers: four are unanswered and three are queued, which
    // wakes the delivery task.
    let first = publisher(&topic).await;
    let (second, third) = (publisher(&topic).await, publisher(&topic).await);
    tokio::join!(
        publish_many(&first, 2000),
        publish_many(&second, 2000),
        publish_many(&third, 2000)
    );
    for inbox in &mut inboxes {
        let operations = inbox.operations(6000).await;
        let last = |o: &&String| **o == "e1999";
        assert_eq!(operations.iter().filter(last).count(), 3);
    }
    hub.stop();
}

#[tokio::test]
async fn a_hub_whose_connections_have_threads_of_their_own_keeps_events_in_order() {
    let blocking = floe::blocking::Communicator::new();
    let hub = HubThread::start(blocking.as_async().clone());
    let topic = hub.create("t").await;
    let subscribers = Subscribers::start().await;
    let (proxy, mut inbox) = subscribers.add("s");
    subscribe(&topic, &proxy, &[]).await;
    let publisher = publisher(&topic).await;
    for _ in 0..20 {
        publish_many(&publisher, 50).await;
        assert_eq!(inbox.operations(50).await, numbered(50));
    }
    hub.stop();
}
