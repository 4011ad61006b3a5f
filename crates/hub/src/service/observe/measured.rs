//! Topics and subscribers, as the metrics views of a hub measure them. The metrics are those that IceStorm has.

use std::sync::Arc;

use floe::classes::Link;
use floe::{Current, Identity, InvocationMode, InvokeError, Proxy};
use floe_access::Action;
use floe_metrics::contracts::ice_mx::{Metrics, SubscriberMetrics, TopicMetrics};
use floe_metrics::{
    GroupMetrics, MapKind, Measured, MetricsSource, Request, Values, count, small_count,
};

use crate::core::{SubscriptionState, receiver_name};
use crate::service::last_counts::CountedObject;
use crate::service::registry::Registry;
use crate::service::subscriber::Subscriber;
use crate::service::topic::Topic;
use crate::settings::AdminSettings;

/// The maps that a metrics view of a hub can have.
pub const METRICS_MAPS: [MapKind; 2] = [TOPICS, SUBSCRIBERS];

const TOPICS: MapKind = MapKind {
    name: "Topic",
    attributes: &["id", "parent", "none", "topic", "service"],
};

/// The attribute `qos.` with a key is a QoS that the subscriber asked for.
const SUBSCRIBERS: MapKind = MapKind {
    name: "Subscriber",
    attributes: &[
        "id", "parent", "none", "topic", "service", "identity", "facet", "encoding", "mode",
        "proxy", "link", "state", "qos.*",
    ],
};

/// The positions of the maps.
const TOPIC: usize = 0;
const SUBSCRIBER: usize = 1;

/// A hub whose metrics are read.
pub(crate) struct MeasuredHub {
    registry: Arc<Registry>,
    service_name: Arc<str>,
}

impl MeasuredHub {
    pub(crate) fn new(registry: &Arc<Registry>, settings: &AdminSettings) -> Self {
        Self {
            registry: registry.clone(),
            service_name: settings.service_name.as_str().into(),
        }
    }

    fn topic(&self, topic: &Arc<Topic>) -> MeasuredTopic {
        MeasuredTopic {
            topic: topic.counted(),
            name: topic.shared_name().clone(),
            service_name: self.service_name.clone(),
        }
    }

    fn subscriber(&self, topic: &Arc<Topic>, subscriber: &Arc<Subscriber>) -> MeasuredSubscriber {
        MeasuredSubscriber {
            subscriber: subscriber.counted(),
            topic_name: topic.shared_name().clone(),
            registry: self.registry.clone(),
            service_name: self.service_name.clone(),
        }
    }
}

impl MetricsSource for MeasuredHub {
    type Object = MeasuredObject;

    const MAPS: &'static [MapKind] = &METRICS_MAPS;

    fn objects(&self) -> impl Iterator<Item = (usize, MeasuredObject)> + Send {
        self.registry.directory().topics().flat_map(move |topic| {
            let of_topic = (TOPIC, MeasuredObject::Topic(self.topic(&topic)));
            let subscribers = topic.subscribers();
            subscribers
                .map(move |subscriber| {
                    let measured = self.subscriber(&topic, &subscriber);
                    (SUBSCRIBER, MeasuredObject::Subscriber(measured))
                })
                .chain([of_topic])
        })
    }

    fn metrics(map: usize, group: GroupMetrics) -> Link<Metrics> {
        match map {
            TOPIC => {
                let [published, forwarded, ..] = group.counts.map(count);
                Link::new(TopicMetrics {
                    base: group.into(),
                    published,
                    forwarded,
                })
            }
            _ => {
                let [delivered, ..] = group.counts.map(count);
                let [queued, outstanding, ..] = group.amounts.map(small_count);
                Link::new(SubscriberMetrics {
                    base: group.into(),
                    queued,
                    outstanding,
                    delivered,
                })
            }
        }
    }

    fn check(&self, current: &Current, request: Request) -> Result<(), InvokeError> {
        let action = match request {
            Request::Read => Action::Observe,
            Request::Change => Action::Admin,
        };
        Ok(self.registry.guard().check(current, action, "")?)
    }
}

/// A topic, a subscriber or a link to be measured.
pub(crate) enum MeasuredObject {
    Topic(MeasuredTopic),
    Subscriber(MeasuredSubscriber),
}

impl MeasuredObject {
    fn measured(&self) -> &dyn Measured {
        match self {
            Self::Topic(topic) => topic,
            Self::Subscriber(subscriber) => subscriber,
        }
    }
}

impl Measured for MeasuredObject {
    fn number(&self) -> usize {
        self.measured().number()
    }

    fn counts(&self) -> Values {
        self.measured().counts()
    }

    fn amounts(&self) -> Values {
        self.measured().amounts()
    }

    fn attribute(&self, name: &str) -> String {
        self.measured().attribute(name)
    }

    fn release(&mut self) {
        match self {
            Self::Topic(topic) => topic.topic.release(),
            Self::Subscriber(subscriber) => subscriber.subscriber.release(),
        }
    }
}

/// A topic to be measured.
pub(crate) struct MeasuredTopic {
    topic: CountedObject<Topic>,
    name: Arc<str>,
    service_name: Arc<str>,
}

impl Measured for MeasuredTopic {
    fn number(&self) -> usize {
        self.topic.number()
    }

    fn counts(&self) -> Values {
        self.topic.counts(Topic::counts)
    }

    fn amounts(&self) -> Values {
        Values::default()
    }

    fn attribute(&self, name: &str) -> String {
        match name {
            "id" | "topic" => self.name.to_string(),
            _ => self.service_name.to_string(),
        }
    }
}

/// A subscriber or a link to be measured.
pub(crate) struct MeasuredSubscriber {
    subscriber: CountedObject<Subscriber>,
    topic_name: Arc<str>,
    registry: Arc<Registry>,
    service_name: Arc<str>,
}

impl Measured for MeasuredSubscriber {
    fn number(&self) -> usize {
        self.subscriber.number()
    }

    fn counts(&self) -> Values {
        self.subscriber.counts(Subscriber::counts)
    }

    fn amounts(&self) -> Values {
        let Some(subscriber) = self.subscriber.get() else {
            return Values::default();
        };
        let snapshot = subscriber.snapshot();
        [snapshot.queued, snapshot.outstanding, 0, 0]
    }

    fn attribute(&self, name: &str) -> String {
        let Some(subscriber) = self.subscriber.get() else {
            // Views ask only while it is held.
            return String::new();
        };
        let proxy = self.proxy(&subscriber);
        let reference = proxy.reference();
        match name {
            "id" | "proxy" => proxy.to_string(),
            "parent" | "topic" => self.topic_name.to_string(),
            "service" => self.service_name.to_string(),
            "identity" => reference.identity.to_string(),
            "facet" => reference.facet.clone(),
            "encoding" => reference.encoding.to_string(),
            "mode" => mode(reference.mode).to_owned(),
            "link" => self
                .link(&subscriber)
                .map(|topic| topic.to_string())
                .unwrap_or_default(),
            "state" => state(subscriber.snapshot().state).to_owned(),
            _ => {
                let key = name.strip_prefix("qos.").unwrap_or_default();
                // IceStorm shows `default` for a QoS that was not asked for. Observed: IceStorm 3.7.8.
                subscriber.wish(key).unwrap_or("default").to_owned()
            }
        }
    }
}

impl MeasuredSubscriber {
    /// The object that receives the events. A link within the hub needs none; this makes the proxy that it would have.
    fn proxy(&self, subscriber: &Subscriber) -> Proxy {
        let registry = &self.registry;
        let within = subscriber.link().and_then(|link| link.local_name());
        match within.zip(registry.adapters()) {
            Some((name, adapters)) => {
                let category = &registry.settings().instance_name;
                let identity = Identity::with_category(receiver_name(name), category);
                adapters.publish().proxy(identity)
            }
            None => subscriber.proxy().clone(),
        }
    }

    /// The topic at the other end, if this is a link.
    fn link(&self, subscriber: &Subscriber) -> Option<Proxy> {
        let link = subscriber.link()?;
        let adapters = self.registry.adapters()?;
        Some(link.topic_from(&adapters.main))
    }
}

fn mode(mode: InvocationMode) -> &'static str {
    match mode {
        InvocationMode::Twoway => "twoway",
        InvocationMode::Oneway => "oneway",
        InvocationMode::BatchOneway => "batch-oneway",
        InvocationMode::Datagram => "datagram",
        InvocationMode::BatchDatagram => "batch-datagram",
    }
}

fn state(state: SubscriptionState) -> &'static str {
    match state {
        SubscriptionState::Online => "online",
        SubscriptionState::Offline => "offline",
        SubscriptionState::Failed | SubscriptionState::Gone => "error",
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;
    use crate::service::destroyed_topics::tests::events;
    use crate::service::registry::tests::World;

    #[tokio::test]
    async fn a_view_that_is_not_read_holds_no_topic_that_was_destroyed_and_still_has_its_counts() {
        const COUNT: usize = 40;
        let world = World::new();
        let hub = MeasuredHub::new(&world.registry, &AdminSettings::new("tcp"));
        let topics: Vec<_> = (0..COUNT)
            .map(|at| world.create(&format!("t{at}")))
            .collect();
        for topic in &topics {
            let subscriber = world.subscribe(topic, "s");
            subscriber.lock().subscription.handle_read(2, 20);
            subscriber.settle_delivered(2);
            topic.publish(events(3), false, Instant::now());
        }
        // So a view keeps the objects of a reading.
        let kept: Vec<_> = hub
            .objects()
            .map(|(position, mut object)| {
                object.release();
                (position, object)
            })
            .collect();
        let (mut dropped, mut subscribers) = (Vec::new(), Vec::new());
        for topic in topics {
            topic.publish(events(2), false, Instant::now());
            dropped.push(Arc::downgrade(&topic));
            subscribers.extend(topic.all_subscribers().map(|it| Arc::downgrade(&it)));
            world.registry.destroy(topic).await.unwrap();
        }
        // The deliveries end. Further topics come and go, and the hub counts its events meanwhile.
        for at in 0..2 * COUNT {
            let topic = world.create(&format!("u{at}"));
            world.registry.destroy(topic).await.unwrap();
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
        let held = dropped.iter().filter(|it| it.strong_count() > 0).count();
        assert!(held <= 1, "{held} destroyed topics are held");
        let held = subscribers.iter().filter(|it| it.strong_count() > 0);
        assert_eq!(held.count(), 0);
        for (position, object) in kept {
            let count = if position == TOPIC { 5 } else { 2 };
            assert_eq!(object.counts(), [count, 0, 0, 0]);
            assert_eq!(object.amounts(), [0; 4]);
        }
    }
}
