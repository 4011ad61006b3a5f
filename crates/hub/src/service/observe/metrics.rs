//! The views of metrics of a hub: topics and subscribers as IceStorm measures them.
//!
//! They are measured when somebody looks. What comes and goes between two looks is not seen.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use floe::{Identity, InvocationMode, Proxy};

use crate::core::{Map, Row, SubscriptionState, Thing, receiver_name};
use crate::service::registry::Registry;
use crate::service::subscriber::Subscriber;
use crate::service::topic::Topic;
use crate::settings::{AdminSettings, MetricsMap, MetricsView};

/// The views of a hub.
pub(crate) struct Metrics {
    registry: Arc<Registry>,
    service_name: Arc<str>,
    views: Mutex<BTreeMap<String, View>>,
}

/// A view, and what it measures if it is enabled.
struct View {
    settings: MetricsView,
    maps: Option<Maps>,
}

struct Maps {
    topics: Option<Map<TopicThing>>,
    subscribers: Option<Map<SubscriberThing>>,
}

/// What was measured, by map.
pub(crate) struct Look {
    /// `published` and `forwarded` count.
    pub(crate) topics: Option<Vec<Row>>,
    /// `delivered` counts; `queued` and `outstanding` are amounts.
    pub(crate) subscribers: Option<Vec<Row>>,
}

/// There is no such view.
pub(crate) struct NoSuchView;

impl Metrics {
    pub(crate) fn new(registry: &Arc<Registry>, settings: &AdminSettings) -> Self {
        let view = |(name, settings): (&String, &MetricsView)| {
            let view = View {
                settings: settings.clone(),
                // Nothing has been counted yet but what a store brought back, so nothing is left out.
                maps: settings.is_enabled.then(|| Maps::new(settings, Vec::new())),
            };
            (name.clone(), view)
        };
        Self {
            registry: registry.clone(),
            service_name: settings.service_name.as_str().into(),
            views: Mutex::new(settings.views.iter().map(view).collect()),
        }
    }

    /// The names of views that measure, and of those that do not.
    pub(crate) fn names(&self) -> (Vec<String>, Vec<String>) {
        let views = self.lock();
        let names_of = |is_enabled: bool| {
            let named = views
                .iter()
                .filter(|(_, view)| view.maps.is_some() == is_enabled);
            named.map(|(name, _)| name.clone()).collect()
        };
        (names_of(true), names_of(false))
    }

    /// Lets a view measure from now on.
    pub(crate) fn enable(&self, name: &str) -> Result<(), NoSuchView> {
        let topics = self.topics();
        let mut views = self.lock();
        let view = views.get_mut(name).ok_or(NoSuchView)?;
        if view.maps.is_none() {
            view.maps = Some(Maps::new(&view.settings, topics));
        }
        Ok(())
    }

    /// Lets a view measure no more, and forget.
    pub(crate) fn disable(&self, name: &str) -> Result<(), NoSuchView> {
        let mut views = self.lock();
        views.get_mut(name).ok_or(NoSuchView)?.maps = None;
        Ok(())
    }

    /// What a view has measured; nothing if it is disabled.
    pub(crate) fn look(&self, name: &str) -> Result<Look, NoSuchView> {
        let topics = self.topics();
        let mut views = self.lock();
        let view = views.get_mut(name).ok_or(NoSuchView)?;
        let now = Instant::now();
        let Some(maps) = &mut view.maps else {
            return Ok(Look {
                topics: None,
                subscribers: None,
            });
        };
        let subscribers = maps.subscribers.as_mut();
        let subscribers = subscribers.map(|map| map.look(subscribers_of(&topics), now));
        let topics = maps.topics.as_mut().map(|map| map.look(topics, now));
        Ok(Look {
            topics,
            subscribers,
        })
    }

    fn topics(&self) -> Vec<TopicThing> {
        let thing = |topic: Arc<Topic>| TopicThing {
            topic,
            registry: self.registry.clone(),
            service_name: self.service_name.clone(),
        };
        self.registry
            .directory()
            .topics()
            .into_iter()
            .map(thing)
            .collect()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, View>> {
        self.views.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Maps {
    /// Maps that do not count what these have counted.
    fn new(settings: &MetricsView, topics: Vec<TopicThing>) -> Self {
        let now = Instant::now();
        let subscribers = settings.subscribers.as_ref();
        let subscribers = subscribers.map(|map| measured(map, subscribers_of(&topics), now));
        let map = settings.topics.as_ref();
        Self {
            topics: map.map(|map| measured(map, topics, now)),
            subscribers,
        }
    }
}

fn measured<T: Thing>(settings: &MetricsMap, things: Vec<T>, now: Instant) -> Map<T> {
    let group_by = settings.group_by.clone();
    Map::new(group_by, settings.retained_max, things, now)
}

fn subscribers_of(topics: &[TopicThing]) -> Vec<SubscriberThing> {
    let of_topic = |topic: &TopicThing| {
        let topic = topic.clone();
        let subscribers = topic.topic.subscribers().into_iter();
        subscribers.map(move |subscriber| SubscriberThing {
            subscriber,
            topic: topic.clone(),
        })
    };
    topics.iter().flat_map(of_topic).collect()
}

/// A topic as it is measured.
#[derive(Clone)]
struct TopicThing {
    topic: Arc<Topic>,
    registry: Arc<Registry>,
    service_name: Arc<str>,
}

impl Thing for TopicThing {
    fn number(&self) -> usize {
        Arc::as_ptr(&self.topic) as usize
    }

    fn counts(&self) -> [u64; 2] {
        [self.topic.published(), self.topic.forwarded()]
    }

    fn amounts(&self) -> [u64; 2] {
        [0, 0]
    }

    fn attribute(&self, name: &str) -> String {
        match name {
            "id" | "topic" => self.topic.name().to_owned(),
            _ => self.service_name.to_string(),
        }
    }
}

/// A subscriber or a link as it is measured.
struct SubscriberThing {
    subscriber: Arc<Subscriber>,
    topic: TopicThing,
}

impl Thing for SubscriberThing {
    fn number(&self) -> usize {
        Arc::as_ptr(&self.subscriber) as usize
    }

    fn counts(&self) -> [u64; 2] {
        [self.subscriber.snapshot().accounts.delivered, 0]
    }

    fn amounts(&self) -> [u64; 2] {
        let snapshot = self.subscriber.snapshot();
        [snapshot.queued, snapshot.outstanding]
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
                // What was not asked for is told so. Observed: IceStorm 3.7.8.
                let wish = wishes.get(key).map_or("default", String::as_str);
                wish.to_owned()
            }
        }
    }
}

impl SubscriberThing {
    /// Where its events go. A link within the hub has no such proxy; it is told as if it had.
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

    /// The topic that it leads to, if it is a link.
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
