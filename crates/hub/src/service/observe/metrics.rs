//! The metrics views of a hub, with the metrics of topics and subscribers that IceStorm has.
//!
//! MetricsViews are measured when a program reads them. A subscriber that comes and goes between two reads is not measured.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use floe::{Identity, InvocationMode, Proxy};

use crate::core::{GroupMetrics, GroupedMetrics, Measured, SubscriptionState, receiver_name};
use crate::service::registry::Registry;
use crate::service::subscriber::Subscriber;
use crate::service::topic::Topic;
use crate::settings::{AdminSettings, MetricsMap, MetricsView};

/// The views of a hub.
pub(crate) struct MetricsViews {
    registry: Arc<Registry>,
    service_name: Arc<str>,
    views: Mutex<BTreeMap<String, ViewState>>,
}

/// A view, with its maps if it is enabled.
struct ViewState {
    settings: MetricsView,
    maps: Option<Maps>,
}

struct Maps {
    topics: Option<GroupedMetrics<MeasuredTopic>>,
    subscribers: Option<GroupedMetrics<MeasuredSubscriber>>,
}

/// What a view has measured, by map.
pub(crate) struct ViewMetrics {
    /// Counts `published` and `forwarded`.
    pub(crate) topics: Option<Vec<GroupMetrics>>,
    /// Counts `delivered`; `queued` and `outstanding` are amounts.
    pub(crate) subscribers: Option<Vec<GroupMetrics>>,
}

/// The hub has no such view.
pub(crate) struct NoSuchView;

impl MetricsViews {
    pub(crate) fn new(registry: &Arc<Registry>, settings: &AdminSettings) -> Self {
        let view = |(name, settings): (&String, &MetricsView)| {
            let view = ViewState {
                settings: settings.clone(),
                // The counts of restored topics begin at zero, so that there is nothing to subtract.
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

    /// The names of the enabled views, and of the disabled ones.
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

    /// Enables a view: it measures from now on.
    pub(crate) fn enable(&self, name: &str) -> Result<(), NoSuchView> {
        let topics = self.topics();
        let mut views = self.lock();
        let view = views.get_mut(name).ok_or(NoSuchView)?;
        if view.maps.is_none() {
            view.maps = Some(Maps::new(&view.settings, topics));
        }
        Ok(())
    }

    /// Disables a view: it forgets what it has measured.
    pub(crate) fn disable(&self, name: &str) -> Result<(), NoSuchView> {
        let mut views = self.lock();
        views.get_mut(name).ok_or(NoSuchView)?.maps = None;
        Ok(())
    }

    /// What a view has measured; nothing if it is disabled.
    pub(crate) fn read(&self, name: &str) -> Result<ViewMetrics, NoSuchView> {
        let topics = self.topics();
        let mut views = self.lock();
        let view = views.get_mut(name).ok_or(NoSuchView)?;
        let now = Instant::now();
        let Some(maps) = &mut view.maps else {
            return Ok(ViewMetrics {
                topics: None,
                subscribers: None,
            });
        };
        let subscribers = maps.subscribers.as_mut();
        let subscribers = subscribers.map(|map| map.read(subscribers_of(&topics), now));
        let topics = maps.topics.as_mut().map(|map| map.read(topics, now));
        Ok(ViewMetrics {
            topics,
            subscribers,
        })
    }

    fn topics(&self) -> Vec<MeasuredTopic> {
        let measure = |topic: Arc<Topic>| MeasuredTopic {
            topic,
            registry: self.registry.clone(),
            service_name: self.service_name.clone(),
        };
        self.registry
            .directory()
            .topics()
            .into_iter()
            .map(measure)
            .collect()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, ViewState>> {
        self.views.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Maps {
    /// Creates maps that subtract what these topics have counted so far.
    fn new(settings: &MetricsView, topics: Vec<MeasuredTopic>) -> Self {
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

fn measured<T: Measured>(
    settings: &MetricsMap,
    objects: Vec<T>,
    now: Instant,
) -> GroupedMetrics<T> {
    let group_by = settings.group_by.clone();
    GroupedMetrics::new(group_by, settings.retained_max, objects, now)
}

fn subscribers_of(topics: &[MeasuredTopic]) -> Vec<MeasuredSubscriber> {
    let of_topic = |topic: &MeasuredTopic| {
        let topic = topic.clone();
        let subscribers = topic.topic.subscribers().into_iter();
        subscribers.map(move |subscriber| MeasuredSubscriber {
            subscriber,
            topic: topic.clone(),
        })
    };
    topics.iter().flat_map(of_topic).collect()
}

/// A topic to be measured.
#[derive(Clone)]
struct MeasuredTopic {
    topic: Arc<Topic>,
    registry: Arc<Registry>,
    service_name: Arc<str>,
}

impl Measured for MeasuredTopic {
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

/// A subscriber or a link to be measured.
struct MeasuredSubscriber {
    subscriber: Arc<Subscriber>,
    topic: MeasuredTopic,
}

impl Measured for MeasuredSubscriber {
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
