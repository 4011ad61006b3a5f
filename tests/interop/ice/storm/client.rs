//! `floe::hub` with a real IceStorm 3.7.8: subscriptions as streams, and what becomes of them when it restarts.

use std::time::Duration;

use floe::contracts::ice_storm::QoS;
use floe::hub::{Delivery, HubClient, HubError, Interruption, Qos, Retries, Subscription, Topic};
use floe::{Identity, TypedProxy};
use floe_tests::ice::{Ice, IceStorm, Language};
use floe_tests::ports;
use tokio::time::timeout;

use super::COUNT;
use super::contract::interop::{EventsEvent, EventsProxy, Sample};

const OFTEN: Duration = Duration::from_millis(100);

/// An IceStorm that can be started again at the same place.
fn start_storm(ice: &Ice, further: &str) -> IceStorm {
    let (manager, publish) = (ports::unclaimed(), ports::unclaimed());
    ice.start_storm_with(&format!(
        "IceStorm.TopicManager.Endpoints=tcp -h 127.0.0.1 -p {manager}\n\
         IceStorm.Publish.Endpoints=tcp -h 127.0.0.1 -p {publish}\n{further}"
    ))
}

async fn soon<T>(future: impl Future<Output = T>) -> T {
    timeout(Duration::from_secs(60), future)
        .await
        .expect("done in time")
}

async fn topic(storm: &IceStorm) -> Topic {
    let client = soon(HubClient::connect(storm.manager())).await;
    let topic = client.expect("a service").topic("weather").await;
    topic.expect("a topic")
}

async fn subscribe(topic: &Topic, qos: Qos) -> Subscription<EventsEvent> {
    let events = topic.subscribe().qos(qos).check_interval(OFTEN);
    soon(events.start()).await.expect("a subscription")
}

async fn publish(publisher: &EventsProxy, number: i64) {
    let item = Sample {
        number,
        label: format!("event {number}"),
        values: vec![0.5],
    };
    soon(publisher.sampled(&item)).await.expect("published");
}

/// The number of the next event.
async fn number(events: &mut Subscription<EventsEvent>) -> i64 {
    match soon(events.next()).await {
        Some(Ok(EventsEvent::Sampled(item))) => item.number,
        other => panic!("expected a sample, got {other:?}"),
    }
}

async fn interruption(events: &mut Subscription<EventsEvent>) -> String {
    let reason = match soon(events.next()).await {
        Some(Err(Interruption::Interrupted { reason, .. })) => reason,
        other => panic!("expected an interruption, got {other:?}"),
    };
    let again = soon(events.next()).await;
    assert!(
        matches!(again, Some(Err(Interruption::Resubscribed { .. }))),
        "{again:?}"
    );
    reason
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stream_hears_floe_publishers_in_each_way_of_delivery() {
    let Some(ice) = Ice::or_skip() else { return };
    let mut storm = start_storm(&ice, "");
    let topic = topic(&storm).await;
    let publisher: EventsProxy = soon(topic.publisher()).await.expect("a publisher");
    for delivery in [
        Delivery::Ordered,
        Delivery::Twoway,
        Delivery::Oneway,
        Delivery::Batch,
    ] {
        let qos = Qos::new().delivery(delivery).retries(Retries::Limited(1));
        let mut events = subscribe(&topic, qos).await;
        for at in 0..3 {
            publish(&publisher, at).await;
        }
        soon(publisher.flagged("last", true)).await.unwrap();
        for at in 0..3 {
            assert_eq!(number(&mut events).await, at, "{delivery:?}");
        }
        let last = soon(events.next()).await;
        let (key, value) = ("last".to_owned(), true);
        assert_eq!(last, Some(Ok(EventsEvent::Flagged { key, value })));
        soon(events.unsubscribe()).await.expect("unsubscribed");
        assert_eq!(topic.proxy().get_subscribers().await.unwrap(), []);
    }
    // It was asked for a facet and an operation that it does not have, as any Ice client may.
    let errors = storm.peer().errors();
    assert!(!errors.contains("warning"), "{errors}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stream_hears_ice_publishers() {
    let Some(ice) = Ice::or_skip() else { return };
    let storm = start_storm(&ice, "");
    let topic = topic(&storm).await;
    let mut events = subscribe(&topic, Qos::new().delivery(Delivery::Ordered)).await;
    for language in Language::ALL {
        let publisher = ice.start_publisher(language, storm.manager(), "weather", "twoway", COUNT);
        tokio::task::spawn_blocking(|| publisher.succeed())
            .await
            .expect("ended");
        for at in 0..COUNT - 1 {
            assert_eq!(number(&mut events).await, at as i64, "{language:?}");
        }
        let last = soon(events.next()).await;
        assert!(matches!(last, Some(Ok(EventsEvent::Flagged { .. }))));
    }
}

/// Subscribes an object that is nowhere.
async fn subscribe_nobody(topic: &Topic, name: &str) -> Identity {
    let identity = Identity::new(name);
    let object = topic.proxy().as_proxy().ice_identity(identity.clone());
    let (qos, topic) = (QoS::new(), topic.proxy());
    let subscribed = topic.subscribe_and_get_publisher(&qos, Some(&object));
    soon(subscribed).await.expect("subscribed");
    identity
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_subscription_outlives_a_restart_that_keeps_it_and_one_that_forgets_it() {
    let Some(ice) = Ice::or_skip() else { return };
    // The transient service forgets its topics as well, and has no finder.
    for further in ["", "IceStorm.Transient=1\n"] {
        let mut storm = start_storm(&ice, further);
        let first = topic(&storm).await;
        let mut events = subscribe(&first, Qos::new()).await;
        let publisher: EventsProxy = soon(first.publisher()).await.unwrap();
        publish(&publisher, 1).await;
        assert_eq!(number(&mut events).await, 1);
        let later = subscribe_nobody(&first, "later").await;
        let mut storm = tokio::task::spawn_blocking(move || {
            storm.restart();
            storm
        })
        .await
        .unwrap();
        let reason = interruption(&mut events).await;
        assert!(reason.contains("connection"), "{further}: {reason}");
        let again = topic(&storm).await;
        if further.is_empty() {
            // It was kept, and not made again behind the others.
            let known = again.proxy().get_subscribers().await.unwrap();
            assert_eq!(known, [events.identity().clone(), later.clone()]);
            let later = again.proxy().as_proxy().ice_identity(later);
            again.proxy().unsubscribe(Some(&later)).await.unwrap();
        }
        let publisher: EventsProxy = soon(again.publisher()).await.unwrap();
        publish(&publisher, 2).await;
        assert_eq!(number(&mut events).await, 2, "{further}");
        assert_eq!(again.proxy().get_subscribers().await.unwrap().len(), 1);
        storm.peer().kill();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_subscriber_that_icestorm_forgot_subscribes_again() {
    let Some(ice) = Ice::or_skip() else { return };
    let storm = start_storm(&ice, "");
    let topic = topic(&storm).await;
    let mut events = subscribe(&topic, Qos::new()).await;
    let myself = topic.proxy().as_proxy();
    let myself = myself.ice_identity(events.identity().clone());
    topic.proxy().unsubscribe(Some(&myself)).await.unwrap();
    interruption(&mut events).await;
    let publisher: EventsProxy = soon(topic.publisher()).await.unwrap();
    publish(&publisher, 1).await;
    assert_eq!(number(&mut events).await, 1);

    // An event that is refused ends a subscription of IceStorm.
    let bytes = [6, 0, 0, 0, 1, 1];
    let letter = publisher
        .as_proxy()
        .invoke("letter", floe::OperationMode::Normal, &bytes);
    soon(letter).await.expect("published");
    let refused = soon(events.next()).await;
    assert!(
        matches!(&refused, Some(Err(Interruption::Refused { operation, .. })) if operation == "letter"),
        "{refused:?}"
    );
    interruption(&mut events).await;
    publish(&publisher, 2).await;
    assert_eq!(number(&mut events).await, 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_icestorm_refuses_has_its_error() {
    let Some(ice) = Ice::or_skip() else { return };
    let storm = start_storm(&ice, "");
    let topic = topic(&storm).await;
    let bad = topic.subscribe::<EventsEvent>();
    let bad = bad.qos(Qos::new().entry("reliability", "best"));
    let error = soon(bad.start()).await.unwrap_err();
    assert!(matches!(error, HubError::BadQos { .. }), "{error}");
    let named = || {
        let identity: floe::Identity = "me".parse().unwrap();
        topic.subscribe::<EventsEvent>().identity(identity).start()
    };
    let _first = soon(named()).await.expect("the first one");
    let error = soon(named()).await.unwrap_err();
    assert!(
        matches!(error, HubError::AlreadySubscribed { .. }),
        "{error}"
    );
}
