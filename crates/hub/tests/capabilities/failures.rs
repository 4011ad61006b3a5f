//! Subscribers that are unreachable, failing or slow.

use std::future::ready;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use floe::contracts::ice_storm::TopicProxy;
use floe::dispatch::{DispatchFuture, DispatchSlot, Request, Requests};
use floe::pipeline::{Interceptor, Invocation, InvokeFuture, Next};
use floe::{
    Communicator, Dispatcher, EncodingVersion, InvokeError, OperationMode, Settings,
    SystemException, TypedProxy,
};
use floe_hub::WAITING_FACET;
use floe_hub::contracts::floe::{SubscriberInfo, SubscriberState, TopicInfo};

use crate::world::{
    Log, Subscribers, World, encapsulation, identity, nothing, numbered, publish, publish_many,
    publisher, soon, subscribe,
};

/// Subscribes an object of a process that ends before the first event.
async fn subscribe_dead(topic: &TopicProxy, name: &str, qos: &[(&str, &str)]) {
    let subscribers = Subscribers::start().await;
    let (proxy, _inbox) = subscribers.add(name);
    subscribe(topic, &proxy, qos).await;
    subscribers.stop().await;
}

#[tokio::test]
async fn a_dead_subscriber_is_removed_with_the_event_after_the_first_failure() {
    let world = World::start().await;
    let topic = world.create("t").await;
    subscribe_dead(&topic, "dead", &[]).await;
    let publisher = publisher(&topic).await;
    publish(&publisher, "e").await;
    let info = world.info_when("t", |i| i.lost.failed == 1).await;
    assert_eq!(info.subscribers[0].state, SubscriberState::Failed);
    assert_eq!(topic.get_subscribers().await.unwrap(), [identity("dead")]);
    publish(&publisher, "e").await;
    assert_eq!(topic.get_subscribers().await.unwrap(), []);
    let info = world.info_when("t", |i| i.subscribers.is_empty()).await;
    assert_eq!(
        (info.published, info.lost.failed, info.lost.removed),
        (2, 1, 1)
    );
}

#[tokio::test]
async fn events_for_a_dead_subscriber_alone_do_not_end_its_subscription() {
    let world = World::start().await;
    let topic = world.create("t").await;
    let subscribers = Subscribers::start().await;
    let own = subscribe(&topic, &subscribers.add("dead").0, &[]).await;
    subscribers.stop().await;
    publish(&own, "e").await;
    world.info_when("t", |i| i.lost.failed == 1).await;
    let waiting = own.ice_facet(WAITING_FACET);
    for publisher in [&own, &waiting, &own] {
        publish(publisher, "e").await;
    }
    assert_eq!(topic.get_subscribers().await.unwrap(), [identity("dead")]);
    assert_eq!(world.info("t").await.lost.removed, 3);

    publish(&publisher(&topic).await, "e").await;
    world.info_when("t", |i| i.subscribers.is_empty()).await;
    let nothing = nothing();
    let sent = own.invoke("e", OperationMode::Normal, &nothing);
    let error = soon(sent).await.unwrap_err();
    let is_gone = matches!(
        error,
        InvokeError::System(SystemException::ObjectNotExist(_))
    );
    assert!(is_gone, "{error}");
}

#[tokio::test]
async fn dead_subscribers_of_every_mode_leave_the_others_alone() {
    let world = World::start().await;
    let topic = world.create("t").await;
    let gone = Subscribers::start().await;
    let dead = gone.add("dead").0;
    subscribe(&topic, &dead, &[]).await;
    subscribe(&topic, &gone.add("dead oneway").0.ice_oneway(), &[]).await;
    subscribe(&topic, &gone.add("dead batch").0.ice_batch_oneway(), &[]).await;
    gone.stop().await;
    let subscribers = Subscribers::start().await;
    let (proxy, mut inbox) = subscribers.add("s");
    subscribe(&topic, &proxy, &[]).await;
    let publisher = publisher(&topic).await;
    publish_many(&publisher, 20).await;
    assert_eq!(inbox.operations(20).await, numbered(20));
    // The batch fails when it is flushed. The next event then ends the subscription.
    tokio::time::timeout(Duration::from_secs(30), async {
        while topic.get_subscribers().await.unwrap().len() > 1 {
            publish(&publisher, "e").await;
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    })
    .await
    .expect("the dead ones are removed");
    let info = world
        .info_when("t", |i| {
            i.subscribers.len() == 1 && i.subscribers[0].queued == 0
        })
        .await;
    assert_eq!(info.subscribers[0].lost, Default::default());
}

#[tokio::test]
async fn a_subscriber_that_is_subscribed_again_after_a_failure_is_a_new_one() {
    let world = World::start().await;
    let topic = world.create("t").await;
    subscribe_dead(&topic, "s", &[]).await;
    let publisher = publisher(&topic).await;
    publish(&publisher, "e").await;
    world.info_when("t", |i| i.lost.failed == 1).await;
    publish(&publisher, "e").await;
    let subscribers = Subscribers::start().await;
    let (proxy, mut inbox) = subscribers.add("s");
    subscribe(&topic, &proxy, &[]).await;
    publish(&publisher, "again").await;
    assert_eq!(inbox.next().await.operation, "again");
    let info = world.info_when("t", |i| i.delivered == 1).await;
    assert_eq!(info.subscribers[0].offered, 1);
}

#[tokio::test]
async fn a_subscriber_that_may_fail_is_offline_for_a_while_and_then_comes_back() {
    // Long enough to publish another event meanwhile, even on a loaded machine.
    let discard_interval = Duration::from_secs(2);
    let world = World::with(|settings| settings.discard_interval = discard_interval).await;
    let topic = world.create("t").await;
    let gone = Subscribers::start().await;
    let endpoint = gone.adapter.endpoints()[0].to_string();
    let (proxy, _inbox) = gone.add("s");
    subscribe(&topic, &proxy, &[("retryCount", "-1")]).await;
    gone.stop().await;
    let publisher = publisher(&topic).await;
    publish(&publisher, "e").await;
    let info = world.info_when("t", |i| i.lost.failed == 1).await;
    assert_eq!(info.subscribers[0].state, SubscriberState::Offline);
    publish(&publisher, "discarded").await;
    let subscribers = Subscribers::at(&endpoint).await;
    let (_, mut inbox) = subscribers.add("s");
    tokio::time::sleep(discard_interval + Duration::from_millis(50)).await;
    publish(&publisher, "back").await;
    assert_eq!(inbox.next().await.operation, "back");
    let info = world.info_when("t", |i| i.delivered == 1).await;
    assert_eq!((info.lost.failed, info.lost.offline), (1, 1));
    assert_eq!(info.subscribers[0].state, SubscriberState::Online);
}

#[tokio::test]
async fn an_object_that_does_not_exist_is_removed_with_any_retry_count() {
    let world = World::start().await;
    let subscribers = Subscribers::start().await;
    let (proxy, _inbox) = subscribers.add("s");
    let topic = world.create("t").await;
    subscribe(&topic, &proxy, &[("retryCount", "-1")]).await;
    subscribers.adapter.remove(&identity("s"), "");
    let publisher = publisher(&topic).await;
    publish(&publisher, "e").await;
    world.info_when("t", |i| i.lost.failed == 1).await;
    publish(&publisher, "e").await;
    assert_eq!(topic.get_subscribers().await.unwrap(), []);
}

#[tokio::test]
async fn a_slow_subscriber_loses_its_own_events_and_they_are_counted() {
    let world = World::with(|settings| settings.queue_limits.events = 10).await;
    let subscribers = Subscribers::start().await;
    let ((slow, mut slow_inbox), (fast, mut fast_inbox)) =
        (subscribers.add_stuck("slow"), subscribers.add("fast"));
    let topic = world.create("t").await;
    subscribe(&topic, &slow, &[]).await;
    subscribe(&topic, &fast, &[]).await;
    let publisher = publisher(&topic).await;
    for number in 0..100 {
        publish(&publisher, &format!("e{number}")).await;
        assert_eq!(fast_inbox.next().await.operation, format!("e{number}"));
    }
    let info = world.info_when("t", |i| i.delivered == 100).await;
    let slow = &info.subscribers[0];
    assert_eq!((slow.offered, slow.delivered), (100, 0));
    assert_eq!(
        (slow.outstanding, slow.queued, slow.lost.overflow),
        (5, 10, 85)
    );
    assert_eq!(info.subscribers[1].lost, Default::default());
    slow_inbox.open();
    let expected = [&numbered(5)[..], &numbered(100)[90..]].concat();
    assert_eq!(slow_inbox.operations(15).await, expected);
    world.info_when("t", |i| i.delivered == 115).await;
}

#[tokio::test]
async fn a_oneway_subscriber_that_stops_reading_loses_its_own_events_alone() {
    let world = World::with(|settings| settings.queue_limits.events = 10).await;
    let mut settings = floe::Settings::default();
    settings.dispatch_limit = 1;
    let stuck = Subscribers::with(settings, "tcp -h 127.0.0.1 -p 0").await;
    let (stuck_proxy, stuck_inbox) = stuck.add_stuck("stuck");
    let subscribers = Subscribers::start().await;
    let (proxy, mut inbox) = subscribers.add("s");
    let topic = world.create("t").await;
    subscribe(&topic, &stuck_proxy.ice_oneway(), &[]).await;
    subscribe(&topic, &proxy.ice_oneway(), &[]).await;
    // More than all buffers between the publisher and the subscriber hold.
    let long = encapsulation(EncodingVersion::V1_1, &"long ".repeat(100_000));
    let publisher = publisher(&topic).await;
    for _ in 0..60 {
        let sent = publisher.invoke("e", OperationMode::Normal, &long);
        soon(sent).await.unwrap();
        inbox.next().await;
    }
    let info = world
        .info_when("t", |i| i.subscribers[1].delivered == 60)
        .await;
    let stuck = &info.subscribers[0];
    // The system may take more at any time, because it enlarges its buffers.
    assert!((1..=10).contains(&stuck.queued), "{stuck:?}");
    assert!(stuck.lost.overflow > 0, "{stuck:?}");
    assert_eq!(
        stuck.delivered + stuck.outstanding + stuck.queued + stuck.lost.overflow,
        60
    );
    assert_eq!(info.subscribers[1].lost, Default::default());
    stuck_inbox.open();
}

#[tokio::test]
async fn a_subscriber_that_does_not_answer_in_time_has_failed() {
    let world =
        World::with(|settings| settings.send_timeout = Some(Duration::from_millis(100))).await;
    let subscribers = Subscribers::start().await;
    let (proxy, _inbox) = subscribers.add_stuck("s");
    let topic = world.create("t").await;
    subscribe(&topic, &proxy, &[]).await;
    publish(&publisher(&topic).await, "e").await;
    let info = world.info_when("t", |i| i.lost.failed == 1).await;
    assert_eq!(info.subscribers[0].state, SubscriberState::Failed);
}

#[tokio::test]
async fn an_overflow_is_logged_when_it_begins_and_when_it_ends() {
    let log = Log::start();
    let world = World::with(|settings| settings.queue_limits.events = 10).await;
    let subscribers = Subscribers::start().await;
    let (slow, mut inbox) = subscribers.add_stuck("slow");
    let topic = world.create("t").await;
    subscribe(&topic, &slow, &[]).await;
    publish_many(&publisher(&topic).await, 100).await;
    let began = log.lines_with("loses its oldest events");
    assert_eq!(began.len(), 1, "{began:?}");
    assert!(began[0].contains(r#""slow" of topic "t""#), "{began:?}");
    assert!(log.lines_with("loses no more").is_empty());
    inbox.open();
    inbox.operations(15).await;
    let ended = log.lines_with("loses no more");
    assert_eq!(ended.len(), 1, "{ended:?}");
    assert!(ended[0].contains("85 were lost"), "{ended:?}");
}

#[tokio::test]
async fn repeated_losses_are_logged_once_and_in_a_summary_at_the_end() {
    let log = Log::start();
    let world = World::with(|settings| settings.queue_limits.bytes = 1).await;
    let subscribers = Subscribers::start().await;
    let (proxy, _inbox) = subscribers.add("s");
    let topic = world.create("t").await;
    subscribe(&topic, &proxy, &[]).await;
    let publisher = publisher(&topic).await;
    for _ in 0..3 {
        publish(&publisher, "e").await;
    }
    assert_eq!(log.lines_with("loses an event of").len(), 1);
    assert!(log.lines_with("since").is_empty());
    world.shut_down().await;
    let rest = log.lines_with("since the last line about \"s\" of topic \"t\": 2 events came");
    assert_eq!(rest.len(), 1, "{rest:?}");
}

/// Panics with the first invocation of this operation, in the task that invokes it: the delivery task.
struct PanicsOnce {
    operation: &'static str,
    has_panicked: AtomicBool,
}

impl Interceptor for PanicsOnce {
    fn invoke<'a>(&'a self, invocation: Invocation, next: Next<'a>) -> InvokeFuture<'a> {
        if invocation.operation() == self.operation {
            let has_panicked = self.has_panicked.swap(true, Ordering::Relaxed);
            assert!(has_panicked, "the test wants this");
        }
        next.invoke(invocation)
    }
}

/// A hub whose delivery tasks panic once when they invoke this operation.
async fn world_that_panics(operation: &'static str, queue_events: usize) -> World {
    let mut settings = Settings::default();
    settings.interceptors.push(PanicsOnce {
        operation,
        has_panicked: AtomicBool::new(false),
    });
    let hub_side = Communicator::with_settings(settings);
    World::of(hub_side, |settings| {
        settings.queue_limits.events = queue_events
    })
    .await
}

/// Checks that each event of a subscriber is in exactly one place.
#[track_caller]
fn assert_adds_up(info: &SubscriberInfo) {
    let lost = &info.lost;
    let lost = lost.overflow + lost.offline + lost.failed + lost.removed + lost.looped;
    let sum = info.delivered + lost + info.queued + info.outstanding;
    assert_eq!(info.offered, sum, "{info:?}");
}

#[tokio::test]
async fn a_subscriber_whose_delivery_panics_gets_queued_and_later_events() {
    let log = Log::start();
    // It panics between sent and taken events, when it notifies the subscriber of those that were lost in between.
    let world = world_that_panics("lost", 10).await;
    let subscribers = Subscribers::start().await;
    let (proxy, mut inbox) = subscribers.add_stuck("s");
    let topic = world.create("t").await;
    let wishes = [("floe.lostFacet", "lost"), ("floe.outstanding", "5")];
    subscribe(&topic, &proxy, &wishes).await;
    let publisher = publisher(&topic).await;
    publish_many(&publisher, 5).await;
    world
        .info_when("t", |i| i.subscribers[0].outstanding == 5)
        .await;
    publish_many(&publisher, 20).await;
    inbox.open();
    let is_told = || {
        log.lines_with("\"s\" of topic \"t\", whose delivery panicked")
            .len()
    };
    let info = world.info_when("t", |_| is_told() > 0).await;
    assert_adds_up(&info.subscribers[0]);
    assert_eq!(info.subscribers[0].state, SubscriberState::Online);
    publish(&publisher, "last").await;
    let is_over =
        |info: &TopicInfo| info.subscribers[0].queued + info.subscribers[0].outstanding == 0;
    let info = world.info_when("t", is_over).await;
    assert_adds_up(&info.subscribers[0]);
    assert!(info.lost.failed > 0 && info.delivered > 0, "{info:?}");
    while soon(inbox.next()).await.operation != "last" {}
    assert_eq!(is_told(), 1);
    // An orderly end has nothing to wait for.
    world.shut_down().await;
}

#[tokio::test]
async fn a_link_whose_delivery_panics_goes_on() {
    let log = Log::start();
    let world = world_that_panics("forward", 100).await;
    let far = World::start().await;
    let subscribers = Subscribers::start().await;
    let (proxy, mut inbox) = subscribers.add("s");
    let (topic, other) = (world.create("t").await, far.create("other").await);
    subscribe(&other, &proxy, &[]).await;
    soon(topic.link(Some(&other), 0)).await.expect("linked");
    let publisher = publisher(&topic).await;
    publish(&publisher, "first").await;
    let info = world.info_when("t", |i| i.lost.failed == 1).await;
    assert_adds_up(&info.subscribers[0]);
    publish(&publisher, "second").await;
    assert_eq!(soon(inbox.next()).await.operation, "second");
    let told = log.lines_with("lost 1 events for \"IceStorm/topic.other\" of topic \"t\"");
    assert_eq!(told.len(), 1, "{told:?}");
}

/// Fails as often as it is told to for each operation, and records what it receives.
struct Faulty {
    failures: usize,
    heard: Mutex<Vec<String>>,
}

impl Dispatcher for Faulty {
    fn dispatch(self: Arc<Self>, requests: Requests, slot: &mut DispatchSlot) {
        requests.each(slot, move |request| self.clone().respond(request));
    }
}

impl Faulty {
    fn respond(self: Arc<Self>, request: Request) -> DispatchFuture {
        let operation = request.operation().to_owned();
        let count = {
            let mut heard = self.heard.lock().expect("nobody has panicked");
            heard.push(operation.clone());
            heard.iter().filter(|it| **it == operation).count()
        };
        Box::pin(ready(
            match operation.starts_with("fail") && count <= self.failures {
                true => Err(SystemException::UnknownException("not yet".to_owned())),
                false => request.returned_nothing(),
            },
        ))
    }
}

/// Sends these events to a servant that fails so often for one of them. Returns the events that it receives, and the
/// counts of the hub.
async fn hear_failing(
    failures: usize,
    mode: OperationMode,
    qos: &[(&str, &str)],
) -> (Vec<String>, TopicInfo) {
    let world = World::start().await;
    let topic = world.create("t").await;
    let subscribers = Subscribers::start().await;
    let heard = Mutex::default();
    let servant = Arc::new(Faulty { failures, heard });
    let proxy = subscribers.adapter.add("f", servant.clone());
    let proxy = proxy.expect("a new identity");
    subscribe(&topic, &proxy, qos).await;
    let publisher = publisher(&topic).await;
    for operation in ["a", "fail", "b", "c", "fail too", "d"] {
        let sent = publisher.invoke(operation, mode, &nothing()).await;
        sent.expect("the hub takes it");
    }
    let info = world
        .info_when("t", |info| {
            let is_done = |it: &SubscriberInfo| it.queued == 0 && it.outstanding == 0;
            info.subscribers.iter().all(is_done)
        })
        .await;
    let heard = servant.heard.lock().expect("nobody has panicked").clone();
    (heard, info)
}

#[tokio::test]
async fn an_idempotent_event_that_failed_is_sent_once_more() {
    let ordered: &[(&str, &str)] = &[("reliability", "ordered")];
    let (heard, info) = hear_failing(1, OperationMode::Idempotent, ordered).await;
    let expected = ["a", "fail", "fail", "b", "c", "fail too", "fail too", "d"];
    assert_eq!(heard, expected);
    assert_eq!((info.delivered, info.lost.failed), (6, 0));

    let (mut heard, info) = hear_failing(1, OperationMode::Idempotent, &[]).await;
    heard.sort();
    let mut expected = expected;
    expected.sort_unstable();
    assert_eq!(heard, expected);
    assert_eq!((info.delivered, info.lost.failed), (6, 0));
}

#[tokio::test]
async fn an_event_that_fails_twice_or_is_not_idempotent_is_a_failure() {
    for (failures, mode) in [(2, OperationMode::Idempotent), (1, OperationMode::Normal)] {
        let ordered: &[(&str, &str)] = &[("reliability", "ordered")];
        let (heard, info) = hear_failing(failures, mode, ordered).await;
        assert_eq!(heard[..=failures], ["a", "fail", "fail"][..=failures]);
        assert_eq!(heard.len(), failures + 1, "{heard:?}");
        assert_eq!((info.delivered, info.lost.failed), (1, 1));
    }
}
