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

    fn topics(&self) -> impl Iterator<Item = MeasuredTopic> {
        self.registry
            .directory()
            .topics()
            .map(|topic| MeasuredTopic {
                topic,
                registry: self.registry.clone(),
                service_name: self.service_name.clone(),
            })
    }
}

impl MetricsSource for MeasuredHub {
    type Object = MeasuredObject;

    const MAPS: &'static [MapKind] = &METRICS_MAPS;

    fn objects(&self) -> impl Iterator<Item = (usize, MeasuredObject)> + Send {
        self.topics().flat_map(|topic| {
            let of_topic = (TOPIC, MeasuredObject::Topic(topic.clone()));
            let subscribers = topic.into_subscribers();
            subscribers
                .map(|subscriber| (SUBSCRIBER, MeasuredObject::Subscriber(subscriber)))
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
}

/// A topic to be measured.
#[derive(Clone)]
pub(crate) struct MeasuredTopic {
    topic: Arc<Topic>,
    registry: Arc<Registry>,
    service_name: Arc<str>,
}

impl MeasuredTopic {
    fn into_subscribers(self) -> impl Iterator<Item = MeasuredSubscriber> {
        let subscribers = self.topic.subscribers();
        subscribers.map(move |subscriber| MeasuredSubscriber {
            subscriber,
            topic: self.clone(),
        })
    }
}

impl Measured for MeasuredTopic {
    fn number(&self) -> usize {
        Arc::as_ptr(&self.topic) as usize
    }

    fn counts(&self) -> Values {
        [self.topic.published(), self.topic.forwarded(), 0, 0]
    }

    fn amounts(&self) -> Values {
        Values::default()
    }

    fn attribute(&self, name: &str) -> String {
        match name {
            "id" | "topic" => self.topic.name().to_owned(),
            _ => self.service_name.to_string(),
        }
    }
}

/// A subscriber or a link to be measured.
pub(crate) struct MeasuredSubscriber {
    subscriber: Arc<Subscriber>,
    topic: MeasuredTopic,
}

impl Measured for MeasuredSubscriber {
    fn number(&self) -> usize {
        Arc::as_ptr(&self.subscriber) as usize
    }

    fn counts(&self) -> Values {
        [self.subscriber.snapshot().accounts.delivered, 0, 0, 0]
    }

    fn amounts(&self) -> Values {
        let snapshot = self.subscriber.snapshot();
        [snapshot.queued, snapshot.outstanding, 0, 0]
    }

    fn attribute(&self, name: &str) -> String {
        let proxy = self.proxy();
        let reference = proxy.reference();
        match name {
            "id" | "proxy" => proxy.to_string(),
            "parent" | "topic" => self.topic.topic.name().to_owned(),
            "service" => self.topic.service_name.to_string(),
            "identity" => reference.identity.to_string(),
            "facet" => reference.facet.clone(),
            "encoding" => reference.encoding.to_string(),
            "mode" => mode(reference.mode).to_owned(),
            "link" => self
                .link()
                .map(|topic| topic.to_string())
                .unwrap_or_default(),
            "state" => state(self.subscriber.snapshot().state).to_owned(),
            _ => {
                let key = name.strip_prefix("qos.").unwrap_or_default();
                let wishes = self.subscriber.qos_text();
                // IceStorm shows `default` for a QoS that was not asked for. Observed: IceStorm 3.7.8.
                let wish = wishes.get(key).map_or("default", String::as_str);
                wish.to_owned()
            }
        }
    }
}

impl MeasuredSubscriber {
    /// The object that receives the events. A link within the hub needs none; this makes the proxy that it would have.
    fn proxy(&self) -> Proxy {
        let registry = &self.topic.registry;
        let within = self.subscriber.link().and_then(|link| link.local_name());
        match within.zip(registry.adapters()) {
            Some((name, adapters)) => {
                let category = &registry.settings().instance_name;
                let identity = Identity::with_category(receiver_name(name), category);
                adapters.publish().proxy(identity)
            }
            None => self.subscriber.proxy().clone(),
        }
    }

    /// The topic at the other end, if this is a link.
    fn link(&self) -> Option<Proxy> {
        let link = self.subscriber.link()?;
        let adapters = self.topic.registry.adapters()?;
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
