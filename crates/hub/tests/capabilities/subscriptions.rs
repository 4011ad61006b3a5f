//! Subscribing and unsubscribing.

use floe::contracts::ice_storm::AlreadySubscribedOrBadQoSOrInvalidSubscriberError as SubscribeError;
use floe::{InvokeError, SystemException, TypedProxy};

use floe_hub::contracts::floe::TopicInfo;

use crate::world::{Log, Subscribers, World, identity, publish, publisher, qos, soon, subscribe};

#[tokio::test]
async fn a_subscriber_is_known_by_its_identity() {
    let world = World::start().await;
    let subscribers = Subscribers::start().await;
    let (proxy, mut inbox) = subscribers.add("c/s");
    let topic = world.create("t").await;
    subscribe(&topic, &proxy, &[]).await;
    let oneway = proxy.ice_oneway();
    let again = soon(topic.subscribe_and_get_publisher(&qos(&[]), Some(&oneway)))
        .await
        .unwrap_err();
    assert!(
        matches!(again, SubscribeError::AlreadySubscribed(_)),
        "{again}"
    );
    topic.unsubscribe(Some(&oneway)).await.unwrap();
    subscribe(&topic, &oneway, &[]).await;
    publish(&publisher(&topic).await, "e").await;
    assert!(inbox.next().await.is_oneway);
}

#[tokio::test]
async fn subscribers_are_listed_in_the_order_in_which_they_came() {
    let world = World::start().await;
    let subscribers = Subscribers::start().await;
    let topic = world.create("t").await;
    for name in ["z", "a/x", "m"] {
        subscribe(&topic, &subscribers.add(name).0, &[]).await;
    }
    let expected = ["z", "a/x", "m"].map(identity);
    assert_eq!(topic.get_subscribers().await.unwrap(), expected);
}

#[tokio::test]
async fn an_unsubscribed_object_gets_no_more_events() {
    let world = World::start().await;
    let subscribers = Subscribers::start().await;
    let topic = world.create("t").await;
    let ((gone, gone_inbox), (proxy, mut inbox)) = (subscribers.add("gone"), subscribers.add("s"));
    let to_gone = subscribe(&topic, &gone, &[]).await;
    subscribe(&topic, &proxy, &[]).await;
    soon(topic.unsubscribe(Some(&gone))).await.unwrap();
    publish(&publisher(&topic).await, "e").await;
    inbox.next().await;
    assert!(!gone_inbox.has_more());
    assert_eq!(topic.get_subscribers().await.unwrap(), [identity("s")]);
    let error = to_gone.ice_ping().await.unwrap_err();
    assert!(
        matches!(
            error,
            InvokeError::System(SystemException::ObjectNotExist(_))
        ),
        "{error}"
    );
    topic.unsubscribe(Some(&gone)).await.unwrap();
}

#[tokio::test]
async fn queued_events_of_a_subscription_that_ends_are_counted() {
    let world = World::start().await;
    let subscribers = Subscribers::start().await;
    let (proxy, inbox) = subscribers.add_stuck("s");
    let topic = world.create("t").await;
    subscribe(&topic, &proxy, &[]).await;
    crate::world::publish_many(&publisher(&topic).await, 12).await;
    world.info_when("t", |i| i.subscribers[0].queued == 7).await;
    soon(topic.unsubscribe(Some(&proxy))).await.unwrap();
    assert_eq!(world.info("t").await.lost.removed, 7);
    inbox.open();
    let info = world.info_when("t", |i| i.delivered == 5).await;
    assert_eq!((info.published, info.lost.removed), (12, 7));
    assert!(info.subscribers.is_empty());
}

#[tokio::test]
async fn the_publisher_of_a_subscriber_reaches_no_other() {
    let world = World::start().await;
    let subscribers = Subscribers::start().await;
    let topic = world.create("t").await;
    let ((one, mut one_inbox), (two, mut two_inbox)) =
        (subscribers.add("one"), subscribers.add("c/two"));
    subscribe(&topic, &one, &[]).await;
    let to_two = subscribe(&topic, &two, &[]).await;
    let expected = "topic.t.publish.c/two";
    assert_eq!(to_two.reference().identity.name, expected);
    publish(&to_two, "private").await;
    publish(&publisher(&topic).await, "public").await;
    assert_eq!(two_inbox.operations(2).await, ["private", "public"]);
    assert_eq!(one_inbox.operations(1).await, ["public"]);
    assert_eq!(world.info("t").await.published, 1);
}

#[tokio::test]
async fn an_impossible_quality_of_service_is_refused() {
    let world = World::start().await;
    let subscribers = Subscribers::start().await;
    let (proxy, _inbox) = subscribers.add("s");
    let topic = world.create("t").await;
    let reason = async |subscriber: &floe::Proxy, pairs: &[(&str, &str)]| {
        let qos = qos(pairs);
        let subscribed = topic.subscribe_and_get_publisher(&qos, Some(subscriber));
        match soon(subscribed).await {
            Err(SubscribeError::BadQoS(refused)) => refused.reason,
            other => panic!("expected BadQoS, got {other:?}"),
        }
    };
    let ordered = [("reliability", "ordered")];
    assert_eq!(
        reason(&proxy, &[("reliability", "sometimes")]).await,
        "invalid reliability: sometimes"
    );
    assert_eq!(
        reason(&proxy.ice_oneway(), &ordered).await,
        "ordered reliability requires a twoway proxy"
    );
    let several = [("reliability", "ordered"), ("connectionCached", "often")];
    assert_eq!(
        reason(&proxy.ice_oneway(), &several).await,
        "invalid connection cached setting (numeric value required): often"
    );
    assert_eq!(topic.get_subscribers().await.unwrap(), []);
}

#[tokio::test]
async fn a_second_subscription_is_refused_before_its_quality_of_service_is_checked() {
    let world = World::start().await;
    let subscribers = Subscribers::start().await;
    let (proxy, _inbox) = subscribers.add("s");
    let topic = world.create("t").await;
    subscribe(&topic, &proxy, &[]).await;
    for pairs in [
        ("reliability", "sometimes"),
        ("reliability", "ordered"),
        ("locatorCacheTimeout", "-5"),
    ] {
        let (qos, oneway) = (qos(&[pairs]), proxy.ice_oneway());
        let again = soon(topic.subscribe_and_get_publisher(&qos, Some(&oneway))).await;
        assert!(
            matches!(again, Err(SubscribeError::AlreadySubscribed(_))),
            "{again:?}"
        );
    }
}

#[tokio::test]
async fn a_subscriber_that_cannot_be_reached_fails_with_its_first_event() {
    let world = World::start().await;
    let log = Log::start();
    let topic = world.create("t").await;
    let publisher = publisher(&topic).await;
    for (text, why) in [
        ("s", "expected endpoints, or a locator to ask"),
        ("s @ adapter", "expected endpoints, or a locator to ask"),
        (
            "s -s:tcp -h 127.0.0.1 -p 1",
            "expected an ssl or wss endpoint",
        ),
        ("s -d:tcp -h 127.0.0.1 -p 1", "expected a udp endpoint"),
    ] {
        let subscriber: floe::Proxy = world.client.proxy(text).unwrap();
        subscribe(&topic, &subscriber, &[]).await;
        let warnings = log.lines_with("the first event will fail");
        assert!(
            warnings.last().is_some_and(|line| line.contains(why)),
            "{warnings:?}"
        );
        publish(&publisher, "first").await;
        let failed = |info: &TopicInfo| info.subscribers[0].lost.failed == 1;
        world.info_when("t", failed).await;
        publish(&publisher, "second").await;
        assert_eq!(topic.get_subscribers().await.unwrap(), [], "{text}");
        let tolerant = [("retryCount", "-1")];
        subscribe(&topic, &subscriber, &tolerant).await;
        publish(&publisher, "third").await;
        world.info_when("t", failed).await;
        publish(&publisher, "fourth").await;
        let identities = topic.get_subscribers().await.unwrap();
        assert_eq!(identities, [floe::Identity::new("s")], "{text}");
        soon(topic.unsubscribe(Some(&subscriber))).await.unwrap();
    }
}

#[tokio::test]
async fn the_nil_proxy_is_no_subscriber() {
    let world = World::start().await;
    let topic = world.create("t").await;
    let error = soon(topic.subscribe_and_get_publisher(&qos(&[]), None))
        .await
        .unwrap_err();
    assert!(
        matches!(&error, SubscribeError::InvalidSubscriber(e) if e.reason == "subscriber is a null proxy"),
        "{error}"
    );
    assert!(topic.unsubscribe(None).await.is_err());
}

#[tokio::test]
async fn an_identity_that_icestorm_cannot_store_is_refused() {
    let world = World::start().await;
    let subscribers = Subscribers::start().await;
    let (proxy, _inbox) = subscribers.add(&"s".repeat(512));
    let topic = world.create("t").await;
    let error = soon(topic.subscribe_and_get_publisher(&qos(&[]), Some(&proxy)))
        .await
        .unwrap_err();
    assert!(
        matches!(
            error,
            SubscribeError::Invoke(InvokeError::System(SystemException::UnknownException(_)))
        ),
        "{error}"
    );
}

#[tokio::test]
async fn a_locator_cache_timeout_below_minus_one_is_an_unknown_exception_as_with_icestorm() {
    let world = World::start().await;
    let subscribers = Subscribers::start().await;
    let (proxy, _inbox) = subscribers.add("s");
    let topic = world.create("t").await;
    let qos = qos(&[("locatorCacheTimeout", "-5")]);
    let error = soon(topic.subscribe_and_get_publisher(&qos, Some(&proxy)))
        .await
        .unwrap_err();
    assert!(
        matches!(
            &error,
            SubscribeError::Invoke(InvokeError::System(SystemException::UnknownException(text)))
                if text.contains("got -5")
        ),
        "{error}"
    );
}

#[tokio::test]
async fn two_subscribers_never_share_a_publisher() {
    let world = World::start().await;
    let subscribers = Subscribers::start().await;
    let ((one, mut inbox), (two, _inbox)) = (subscribers.add("b.publish.c"), subscribers.add("c"));
    let (a, b) = (world.create("a").await, world.create("a.publish.b").await);
    let to_one = subscribe(&a, &one, &[]).await;
    let error = soon(b.subscribe_and_get_publisher(&qos(&[]), Some(&two)))
        .await
        .unwrap_err();
    assert!(error.to_string().contains("topic.a.publish.b.publish.c"));
    soon(b.unsubscribe(Some(&two))).await.unwrap();
    publish(&to_one, "e").await;
    assert_eq!(inbox.next().await.operation, "e");
    assert_eq!(b.get_subscribers().await.unwrap(), []);
}
