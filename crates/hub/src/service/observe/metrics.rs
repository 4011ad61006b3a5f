//! The metrics views of a hub, with the metrics of topics and subscribers that IceStorm has.
//!
//! MetricsViews are measured when a program reads them. A subscriber that comes and goes between two reads is not measured.

use std::collections::BTreeMap;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use floe::{Identity, InvocationMode, Proxy};
use tokio::sync::Mutex;

use crate::core::{
    GroupMetrics, GroupedMetrics, Measured, MetricsReading, SubscriptionState, receiver_name,
};
use crate::service::pace::{Pace, STEP};
use crate::service::registry::Registry;
use crate::service::subscriber::Subscriber;
use crate::service::topic::Topic;
use crate::settings::{AdminSettings, MetricsMap, MetricsView};

/// The views of a hub.
pub(crate) struct MetricsViews {
    registry: Arc<Registry>,
    service_name: Arc<str>,
    /// The lock is held for a reading, which takes many steps if there are many objects.
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

/// How long objects that are gone are kept if no program reads a view.
const RELEASE_INTERVAL: Duration = Duration::from_secs(60);

/// The hub has no such view.
pub(crate) struct NoSuchView;

impl MetricsViews {
    pub(crate) fn new(registry: &Arc<Registry>, settings: &AdminSettings) -> Self {
        let view = |(name, settings): (&String, &MetricsView)| {
            let view = ViewState {
                settings: settings.clone(),
                // The counts of restored topics begin at zero, so that there is nothing to subtract.
                maps: settings.is_enabled.then(|| Maps::new(settings)),
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
    pub(crate) async fn names(&self) -> (Vec<String>, Vec<String>) {
        let views = self.views.lock().await;
        let names_of = |is_enabled: bool| {
            let named = views
                .iter()
                .filter(|(_, view)| view.maps.is_some() == is_enabled);
            named.map(|(name, _)| name.clone()).collect()
        };
        (names_of(true), names_of(false))
    }

    /// Enables a view: it measures from now on.
    pub(crate) async fn enable(&self, name: &str) -> Result<(), NoSuchView> {
        let mut views = self.views.lock().await;
        let view = views.get_mut(name).ok_or(NoSuchView)?;
        if view.maps.is_none() {
            let mut maps = Maps::new(&view.settings);
            maps.start_with(self.topics(), Instant::now()).await;
            view.maps = Some(maps);
        }
        Ok(())
    }

    /// Disables a view: it forgets what it has measured.
    pub(crate) async fn disable(&self, name: &str) -> Result<(), NoSuchView> {
        let mut views = self.views.lock().await;
        views.get_mut(name).ok_or(NoSuchView)?.maps = None;
        Ok(())
    }

    /// What a view has measured; nothing if it is disabled. If there are many objects, other tasks run in between.
    pub(crate) async fn read(&self, name: &str) -> Result<ViewMetrics, NoSuchView> {
        let mut views = self.views.lock().await;
        let view = views.get_mut(name).ok_or(NoSuchView)?;
        match &mut view.maps {
            Some(maps) => Ok(maps.read(self.topics(), Instant::now()).await),
            None => Ok(ViewMetrics {
                topics: None,
                subscribers: None,
            }),
        }
    }

    /// Lets go of topics and subscribers that are gone, although no program reads the views. Runs until the views are gone.
    pub(crate) async fn release(views: Weak<Self>) {
        loop {
            tokio::time::sleep(RELEASE_INTERVAL).await;
            let Some(own) = views.upgrade() else {
                return;
            };
            own.release_gone().await;
        }
    }

    /// Adds up the counts of objects that are gone, and keeps them no longer.
    async fn release_gone(&self) {
        let (enabled, _) = self.names().await;
        for name in enabled {
            // A reading does all that, and its result is of no use.
            let _ = self.read(&name).await;
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

impl Maps {
    fn new(settings: &MetricsView) -> Self {
        Self {
            topics: settings.topics.as_ref().map(measured),
            subscribers: settings.subscribers.as_ref().map(measured),
        }
    }

    /// Subtracts what these topics and their subscribers have counted so far.
    async fn start_with(&mut self, topics: impl Iterator<Item = MeasuredTopic>, now: Instant) {
        let mut pace = Pace::default();
        for topic in topics {
            if let Some(map) = &mut self.subscribers {
                for subscriber in topic.subscribers() {
                    map.start_with(subscriber, now);
                    pace.pause(MEASURE_COST).await;
                }
            }
            if let Some(map) = &mut self.topics {
                map.start_with(topic, now);
            }
            pace.pause(MEASURE_COST).await;
        }
    }

    async fn read(
        &mut self,
        topics: impl Iterator<Item = MeasuredTopic>,
        now: Instant,
    ) -> ViewMetrics {
        let mut pace = Pace::default();
        let of_topics = self.topics.as_mut().map(GroupedMetrics::begin_reading);
        let of_subscribers = self.subscribers.as_mut().map(GroupedMetrics::begin_reading);
        for topic in topics {
            if let Some(map) = &mut self.subscribers {
                for subscriber in topic.subscribers() {
                    map.see(subscriber, now);
                    pace.pause(MEASURE_COST).await;
                }
            }
            if let Some(map) = &mut self.topics {
                map.see(topic, now);
            }
            pace.pause(MEASURE_COST).await;
        }
        ViewMetrics {
            topics: finish(&mut self.topics, of_topics, &mut pace, now).await,
            subscribers: finish(&mut self.subscribers, of_subscribers, &mut pace, now).await,
        }
    }
}

/// A measurement makes texts and looks into maps: it takes as long as this many looks.
const MEASURE_COST: usize = 8;

/// Brings a reading to its end.
async fn finish<T: Measured>(
    map: &mut Option<GroupedMetrics<T>>,
    reading: Option<MetricsReading>,
    pace: &mut Pace,
    now: Instant,
) -> Option<Vec<GroupMetrics>> {
    let (map, mut reading) = map.as_mut().zip(reading)?;
    while map.go_on(&mut reading, STEP, now) {
        pace.pause(STEP * MEASURE_COST).await;
    }
    Some(reading.finish())
}

fn measured<T: Measured>(settings: &MetricsMap) -> GroupedMetrics<T> {
    GroupedMetrics::new(settings.group_by.clone(), settings.retained_max)
}

/// A topic to be measured.
#[derive(Clone)]
struct MeasuredTopic {
    topic: Arc<Topic>,
    registry: Arc<Registry>,
    service_name: Arc<str>,
}

impl MeasuredTopic {
    fn subscribers(&self) -> impl Iterator<Item = MeasuredSubscriber> {
        let subscribers = self.topic.subscribers();
        subscribers.map(|subscriber| MeasuredSubscriber {
            subscriber,
            topic: self.clone(),
        })
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::service::pace::LOOKED_AT_MAX;
    use crate::service::pace::tests::pauses;
    use crate::service::registry::tests::World;
    use crate::service::subscriber::ReadyQueue;

    #[tokio::test]
    async fn other_tasks_run_while_a_view_of_many_topics_or_subscribers_is_read() {
        let world = World::new();
        let ready = Arc::<ReadyQueue>::default();
        let many = world.create("many");
        let count = LOOKED_AT_MAX / MEASURE_COST;
        for number in 0..count {
            many.add(Subscriber::unreachable(&ready));
            world.create(&number.to_string());
        }
        let view = MetricsView {
            is_enabled: false,
            ..MetricsView::default()
        };
        let mut settings = AdminSettings::new("tcp");
        settings.views.insert("v".to_owned(), view);
        let views = MetricsViews::new(&world.registry, &settings);
        let given_way = pauses(views.enable("v")).await;
        assert!(given_way >= 2, "{given_way}");
        let mut read = None;
        // All are seen, then added up, then told of by group.
        let given_way = pauses(async { read = views.read("v").await.ok() }).await;
        assert!(given_way >= 4, "{given_way}");
        let present = |groups: Option<Vec<GroupMetrics>>| -> u64 {
            let groups = groups.expect("the view has the map");
            groups.iter().map(|group| group.current).sum()
        };
        let read = read.expect("there is the view");
        assert_eq!(present(read.topics), count as u64 + 1);
        assert_eq!(present(read.subscribers), count as u64);
    }

    #[tokio::test]
    async fn a_destroyed_topic_is_kept_no_longer_although_no_program_reads_the_view() {
        let world = World::new();
        let topic = world.create("t");
        let mut settings = AdminSettings::new("tcp");
        settings
            .views
            .insert("v".to_owned(), MetricsView::default());
        let views = MetricsViews::new(&world.registry, &settings);
        let _ = views.read("v").await;
        let weak = Arc::downgrade(&topic);
        world.registry.destroy(topic).await.expect("it is there");
        views.release_gone().await;
        // Reading the counts releases topics that nothing else refers to.
        world.registry.directory().counting().finish();
        assert!(weak.upgrade().is_none());
        let topics = views.read("v").await.ok().and_then(|read| read.topics);
        let topics = topics.expect("the view has the map");
        assert_eq!((topics[0].total, topics[0].current), (1, 0));
    }
}
