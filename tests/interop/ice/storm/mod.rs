//! A Floe publisher and Floe subscribers on a real IceStorm 3.7.8.

// Generated code is as its contract is.
#[allow(missing_docs, unreachable_pub, dead_code)]
mod contract {
    floe::include_contract!("Interop");
}

mod client;

use std::time::Duration;

use floe::contracts::ice_storm::{
    AlreadySubscribedOrBadQoSOrInvalidSubscriberError, NoSuchTopicError, QoS, TopicExistsError,
    TopicManagerProxy, TopicProxy,
};
use floe::{Adapter, Communicator, Current, Identity, InvokeError, Proxy, TypedProxy};
use floe_tests::ice::{Ice, Language, event_lines};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::time::timeout;

use contract::interop::{Events, EventsDispatcher, EventsProxy, Sample};

/// Events of one publisher in one test.
const COUNT: usize = 20;

/// Writes events as the Ice subscribers do.
struct Lines(UnboundedSender<String>);

impl Events for Lines {
    async fn sampled(&self, item: Sample, _: &Current) -> Result<(), InvokeError> {
        let values: Vec<_> = item.values.iter().map(f64::to_string).collect();
        let line = format!(
            "sampled {} [{}] {}",
            item.number,
            item.label,
            values.join(",")
        );
        self.0.send(line).expect("the test reads on");
        Ok(())
    }

    async fn flagged(&self, key: String, value: bool, _: &Current) -> Result<(), InvokeError> {
        self.0
            .send(format!("flagged {key} {value}"))
            .expect("the test reads on");
        Ok(())
    }
}

/// A Floe program beside an IceStorm.
struct Station {
    communicator: Communicator,
    manager: TopicManagerProxy,
    adapter: Adapter,
}

impl Station {
    async fn new(manager: &str) -> Self {
        let communicator = Communicator::new();
        let manager = communicator.proxy(manager).expect("a proxy");
        let adapter = communicator
            .adapter("tcp -h 127.0.0.1 -p 0")
            .await
            .expect("a free port");
        adapter.activate();
        Self {
            communicator,
            manager,
            adapter,
        }
    }

    async fn topic(&self, name: &str) -> TopicProxy {
        match self.manager.create(name).await {
            Ok(topic) => topic,
            Err(TopicExistsError::TopicExists(_)) => {
                self.manager.retrieve(name).await.expect("it exists")
            }
            Err(error) => panic!("cannot create {name}: {error}"),
        }
    }

    async fn subscribe(
        &self,
        topic: &TopicProxy,
        mode: &str,
    ) -> (Proxy, UnboundedReceiver<String>) {
        let (sender, lines) = unbounded_channel();
        let name = format!("subscriber {mode}");
        let proxy = self
            .adapter
            .add(name, EventsDispatcher::new(Lines(sender)))
            .expect("new");
        let mut qos = QoS::new();
        let proxy = match mode {
            "oneway" => proxy.ice_oneway(),
            "batch" => proxy.ice_batch_oneway(),
            "ordered" => {
                qos.insert("reliability".into(), "ordered".into());
                proxy
            }
            _ => proxy,
        };
        topic
            .subscribe_and_get_publisher(&qos, Some(&proxy))
            .await
            .expect("subscribed");
        (proxy, lines)
    }

    async fn publish(&self, topic: &TopicProxy, mode: &str) {
        let publisher = topic.get_publisher().await.expect("an answer");
        let events = EventsProxy::from_proxy(match mode {
            "oneway" => publisher.ice_oneway(),
            "batch" => publisher.ice_batch_oneway(),
            _ => publisher,
        });
        for number in 0..COUNT - 1 {
            let values = vec![number as f64, number as f64 / 2.0];
            let item = Sample {
                number: number as i64,
                label: format!("event {number}"),
                values,
            };
            events.sampled(&item).await.expect("published");
        }
        events.flagged("last", true).await.expect("published");
        events.ice_flush_batch().await.expect("flushed");
    }
}

/// Returns the events of a subscriber, in an order that does not depend on IceStorm's threads.
async fn received(lines: &mut UnboundedReceiver<String>, mode: &str) -> Vec<String> {
    let mut received = Vec::new();
    for _ in 0..COUNT {
        let line = timeout(Duration::from_secs(20), lines.recv()).await;
        received.push(
            line.expect("an event within 20 s")
                .expect("the subscriber lives"),
        );
    }
    if mode != "ordered" {
        received.sort();
    }
    received
}

fn expected(mode: &str) -> Vec<String> {
    let mut lines = event_lines(COUNT);
    if mode != "ordered" {
        lines.sort();
    }
    lines
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn floe_publishes_and_subscribes_in_every_mode() {
    let Some(ice) = Ice::or_skip() else { return };
    let storm = ice.start_storm();
    let station = Station::new(storm.manager()).await;
    for (mode, publish) in [
        ("twoway", "twoway"),
        ("ordered", "twoway"),
        ("oneway", "oneway"),
        ("batch", "batch"),
    ] {
        let topic = station.topic(mode).await;
        let (subscriber, mut lines) = station.subscribe(&topic, mode).await;
        station.publish(&topic, publish).await;
        assert_eq!(received(&mut lines, mode).await, expected(mode), "{mode}");
        topic
            .unsubscribe(Some(&subscriber))
            .await
            .expect("unsubscribed");
        assert_eq!(topic.get_subscribers().await.expect("an answer"), []);
    }
    station.communicator.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_floe_publisher_reaches_ice_subscribers() {
    let Some(ice) = Ice::or_skip() else { return };
    let storm = ice.start_storm();
    let station = Station::new(storm.manager()).await;
    for language in Language::ALL {
        let name = format!("to {language:?}");
        let subscriber = ice.start_subscriber(language, storm.manager(), &name, "ordered", COUNT);
        station.publish(&station.topic(&name).await, "twoway").await;
        let mut lines = tokio::task::spawn_blocking(|| subscriber.succeed())
            .await
            .expect("ended");
        assert_eq!(lines.pop(), Some(format!("received {COUNT}")));
        assert_eq!(lines, event_lines(COUNT), "{language:?}");
    }
    station.communicator.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_floe_subscriber_hears_ice_publishers() {
    let Some(ice) = Ice::or_skip() else { return };
    let storm = ice.start_storm();
    let station = Station::new(storm.manager()).await;
    let topic = station.topic("from ice").await;
    let (_, mut lines) = station.subscribe(&topic, "ordered").await;
    for language in Language::ALL {
        let publisher = ice.start_publisher(language, storm.manager(), "from ice", "twoway", COUNT);
        tokio::task::spawn_blocking(|| publisher.succeed())
            .await
            .expect("ended");
        assert_eq!(
            received(&mut lines, "ordered").await,
            event_lines(COUNT),
            "{language:?}"
        );
    }
    station.communicator.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn failures_of_ice_storm_have_their_types() {
    let Some(ice) = Ice::or_skip() else { return };
    let storm = ice.start_storm();
    let station = Station::new(storm.manager()).await;
    let missing = station.manager.retrieve("missing").await;
    assert!(
        matches!(&missing, Err(NoSuchTopicError::NoSuchTopic(error)) if error.name == "missing"),
        "{missing:?}"
    );
    let topic = station.topic("weather").await;
    let again = station.manager.create("weather").await;
    assert!(
        matches!(again, Err(TopicExistsError::TopicExists(_))),
        "{again:?}"
    );
    assert_eq!(topic.get_name().await.expect("a name"), "weather");

    let (subscriber, _lines) = station.subscribe(&topic, "twoway").await;
    let twice = topic
        .subscribe_and_get_publisher(&QoS::new(), Some(&subscriber))
        .await;
    assert!(
        matches!(
            twice,
            Err(AlreadySubscribedOrBadQoSOrInvalidSubscriberError::AlreadySubscribed(_))
        ),
        "{twice:?}"
    );
    let bad = QoS::from([("reliability".into(), "best".into())]);
    let other = subscriber.ice_identity(Identity::new("other"));
    let bad = topic.subscribe_and_get_publisher(&bad, Some(&other)).await;
    assert!(
        matches!(
            bad,
            Err(AlreadySubscribedOrBadQoSOrInvalidSubscriberError::BadQoS(_))
        ),
        "{bad:?}"
    );
    let topics = station.manager.retrieve_all().await.expect("an answer");
    assert_eq!(topics.keys().collect::<Vec<_>>(), ["weather"]);
    topic.destroy().await.expect("destroyed");
    assert!(
        station
            .manager
            .retrieve_all()
            .await
            .expect("an answer")
            .is_empty()
    );
    station.communicator.shutdown().await;
}
