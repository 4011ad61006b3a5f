//! The settings of a hub, with their defaults.

mod live;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use floe::settings::AdapterSettings;
use floe_access::Access;
use floe_metrics::MetricsView;

pub(crate) use live::LiveSettings;

use crate::core::log::{Level, Retention};
use crate::core::{HubLimits, QueueLimits};

/// Settings of a [`Hub`](crate::Hub).
///
/// You can search this documentation for the names of IceStorm's properties.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct HubSettings {
    /// Where the hub listens, such as `tcp -h 127.0.0.1 -p 10000`; port 0 picks a free port. Topic manager, topics and
    /// publisher objects share these endpoints, unless [`HubSettings::publish_listen`] is set. Default: as in this
    /// example.
    #[doc(alias = "TopicManager.Endpoints")]
    pub listen: String,
    /// Where publishers find publisher objects instead. No other objects are there, so that a firewall can let
    /// publishers in and keep others out. Unlike in IceStorm, publisher objects and link receivers remain at
    /// [`HubSettings::listen`] too. Default: none.
    #[doc(alias = "Publish.Endpoints")]
    pub publish_listen: Option<String>,
    /// The endpoints in proxies instead of [`HubSettings::listen`], if clients connect from outside a firewall or by a
    /// host name. Each needs a host and a port. Default: none.
    #[doc(alias = "TopicManager.PublishedEndpoints")]
    pub published_endpoints: Option<String>,
    /// The endpoints in the proxies of publisher objects; needs [`HubSettings::publish_listen`]. Default: none.
    #[doc(alias = "Publish.PublishedEndpoints")]
    pub publish_published_endpoints: Option<String>,
    /// The adapter id by which a locator finds everything at [`HubSettings::listen`]. Proxies then contain this id
    /// instead of endpoints, and the hub registers its endpoints with the communicator's locator. Default: none.
    #[doc(alias = "TopicManager.AdapterId")]
    pub adapter_id: Option<String>,
    /// The replica group that proxies name instead of the adapter id; needs [`HubSettings::adapter_id`]. Hubs do not
    /// replicate: only one hub of a group runs at a time, and another may take its place. Default: none.
    #[doc(alias = "TopicManager.ReplicaGroupId")]
    pub replica_group_id: Option<String>,
    /// The adapter id of publisher objects; needs [`HubSettings::publish_listen`]. See [`HubSettings::adapter_id`].
    /// Default: none.
    #[doc(alias = "Publish.AdapterId")]
    pub publish_adapter_id: Option<String>,
    /// The replica group of publisher objects; needs [`HubSettings::publish_adapter_id`]. Default: none.
    #[doc(alias = "Publish.ReplicaGroupId")]
    pub publish_replica_group_id: Option<String>,
    /// Category of all objects but the finder; not empty. Default `IceStorm`.
    #[doc(alias = "InstanceName")]
    pub instance_name: String,
    /// Where topics, subscriptions and links are kept. Default: only in memory.
    pub store: StoreSettings,
    /// Lets the hub start although its store on disk is damaged, with the records that verify. Damage to one of the two
    /// files of the store costs nothing and needs no acceptance. Default: false.
    pub accept_damage: bool,
    /// How long events for a batch subscriber are collected. With `Duration::MAX`, a batch leaves only when there are
    /// [`HubSettings::flush_bytes`], or the queue is half full. Default 1 s, as in IceStorm.
    #[doc(alias = "Flush.Timeout")]
    pub flush_interval: Duration,
    /// A batch leaves earlier when this many bytes are queued; at least 1. Default 256 KiB.
    pub flush_bytes: usize,
    /// The longest rest between two rounds of deliveries to twoway subscribers. The hub rests while new events of any
    /// topic keep coming within 100 microseconds after each round: events that come during a rest leave together, which
    /// raises the throughput. Zero turns rests off. Default 150 microseconds: longer rests raise the throughput further, and delay each
    /// event by about as much. Only Linux has rests.
    pub rest_max: Duration,
    /// How long the hub keeps asking for events before it sleeps, while they keep coming within 100 microseconds after
    /// each round of deliveries to twoway subscribers, and no rest follows. At most 100 microseconds, which is the
    /// default; zero turns it off. It doubles the throughput of one publisher that awaits each reply, with one
    /// subscriber. It keeps a core busy while such a stream lasts, and yields it to other threads. In a runtime with
    /// several threads the hub always sleeps.
    pub polling: Duration,
    /// How many events may be queued for one subscriber, and what happens to further ones.
    #[doc(alias = "Send.QueueSizeMax")]
    pub queue_limits: QueueLimits,
    /// How much all clients together may make the hub keep.
    pub limits: HubLimits,
    /// Queue limits for the subscribers of single topics, by the name of the topic. Default: none.
    pub topic_queue_limits: BTreeMap<String, QueueLimits>,
    /// The durable topics, by name: their events are kept on disk, and their subscribers can have positions. A topic that does
    /// not exist is created when the hub starts; needs [`StoreSettings::Disk`]. A topic that was durable once stays it.
    /// Default: none.
    pub durable_topics: BTreeMap<String, DurableSettings>,
    /// The topics that remember events in memory for subscribers that come later, by name, with what they remember. A durable
    /// topic needs none. Default: none.
    pub histories: BTreeMap<String, Retention>,
    /// The lifespans of the events of single topics, by the name of the topic, for events whose publishers give none: events
    /// that are older when their turn comes are not delivered, and counted. Default: none.
    pub lifespans: BTreeMap<String, Duration>,
    /// How long the delivery of an event may take: from the moment it is sent, including a new connection, until a
    /// twoway subscriber has answered. If the event is sent once more, it has the same time again. The time in the
    /// queue does not count. `None` waits for ever. Default 60 s.
    #[doc(alias = "Send.Timeout")]
    pub send_timeout: Option<Duration>,
    /// How long events are discarded after a failure that is tolerated (`retryCount`). `Duration::MAX` is for ever.
    /// Default 60 s.
    #[doc(alias = "Discard.Interval")]
    pub discard_interval: Duration,
    /// Where monitoring programs read metrics. Default: nowhere.
    #[doc(alias = "Ice.Admin.Endpoints")]
    pub admin: Option<AdminSettings>,
    /// The rules of access. Default: everyone may do everything.
    pub access: Arc<Access>,
    /// The file to which refusals are appended, one line of JSON for each. Default: the log of the process.
    pub audit: Option<PathBuf>,
    /// How long a shutdown waits for the connections of its peers, and then for queued events. Default 2 s.
    pub drain_timeout: Duration,
}

/// The administrative object of a hub, which gives metrics as IceStorm does. Its identity is `INSTANCE/admin`. Metrics
/// are its facet `Metrics`, and also `IceBox.Service.SERVICE.Metrics`, the name that programs know from IceStorm.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct AdminSettings {
    /// Where it listens, such as `tcp -h 127.0.0.1 -p 10003`. No other object is there.
    pub listen: String,
    /// The category of its identity. Default `IceStorm`.
    #[doc(alias = "Ice.Admin.InstanceName")]
    pub instance_name: String,
    /// The name of the service, which metrics show as the attribute `service`. Default `IceStorm`.
    pub service_name: String,
    /// The views by name, with the maps in [`METRICS_MAPS`](crate::METRICS_MAPS). Default: none.
    #[doc(alias = "IceMX.Metrics")]
    pub views: BTreeMap<String, MetricsView>,
}

impl AdminSettings {
    /// An object that listens there and has no views.
    pub fn new(listen: impl Into<String>) -> Self {
        Self {
            listen: listen.into(),
            instance_name: "IceStorm".to_owned(),
            service_name: "IceStorm".to_owned(),
            views: BTreeMap::new(),
        }
    }
}

/// How a durable topic keeps its events.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DurableSettings {
    /// How safe an event is when its publisher gets the answer, unless the publisher chooses itself. Default
    /// [`Level::Synced`].
    pub acknowledge: Level,
    /// How long events are kept. Default: for ever.
    pub retention: Retention,
}

/// Where topics, subscriptions and links are kept.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum StoreSettings {
    /// Only in memory: they end with the process.
    #[default]
    #[doc(alias = "Transient")]
    Memory,
    /// In this directory, in a file and its backup. A change is on disk before the hub answers the request for it.
    #[doc(alias = "LMDB.Path")]
    Disk(PathBuf),
}

impl Default for HubSettings {
    fn default() -> Self {
        Self {
            listen: "tcp -h 127.0.0.1 -p 10000".to_owned(),
            publish_listen: None,
            published_endpoints: None,
            publish_published_endpoints: None,
            adapter_id: None,
            replica_group_id: None,
            publish_adapter_id: None,
            publish_replica_group_id: None,
            instance_name: "IceStorm".to_owned(),
            store: StoreSettings::default(),
            accept_damage: false,
            flush_interval: Duration::from_secs(1),
            flush_bytes: 256 * 1024,
            rest_max: Duration::from_micros(150),
            polling: Duration::from_micros(100),
            queue_limits: QueueLimits::default(),
            limits: HubLimits::default(),
            topic_queue_limits: BTreeMap::new(),
            durable_topics: BTreeMap::new(),
            histories: BTreeMap::new(),
            lifespans: BTreeMap::new(),
            send_timeout: Some(Duration::from_secs(60)),
            discard_interval: Duration::from_secs(60),
            admin: None,
            access: Arc::default(),
            audit: None,
            drain_timeout: Duration::from_secs(2),
        }
    }
}

/// A history without a limit in bytes has at most this many.
const HISTORY_BYTES_DEFAULT: u64 = 64 << 20;

impl HubSettings {
    /// The names of the fields that differ and take effect only at the next start.
    pub fn fixed_differences(&self, other: &Self) -> Vec<&'static str> {
        let differences = [
            ("listen", self.listen != other.listen),
            (
                "publish_listen",
                self.publish_listen != other.publish_listen,
            ),
            (
                "published_endpoints",
                self.published_endpoints != other.published_endpoints,
            ),
            (
                "publish_published_endpoints",
                self.publish_published_endpoints != other.publish_published_endpoints,
            ),
            ("adapter_id", self.adapter_id != other.adapter_id),
            (
                "replica_group_id",
                self.replica_group_id != other.replica_group_id,
            ),
            (
                "publish_adapter_id",
                self.publish_adapter_id != other.publish_adapter_id,
            ),
            (
                "publish_replica_group_id",
                self.publish_replica_group_id != other.publish_replica_group_id,
            ),
            ("instance_name", self.instance_name != other.instance_name),
            ("store", self.store != other.store),
            (
                "durable_topics",
                self.durable_topics.keys().ne(other.durable_topics.keys()),
            ),
            (
                "histories",
                self.histories.keys().ne(other.histories.keys()),
            ),
            ("admin", self.admin != other.admin),
        ];
        let differing = differences.into_iter().filter(|(_, differs)| *differs);
        differing.map(|(name, _)| name).collect()
    }

    /// The names of the adapter of the topic manager.
    pub(crate) fn main_adapter(&self) -> AdapterSettings {
        called(&self.adapter_id, &self.replica_group_id)
    }

    /// The names of the adapter of publisher objects, if they have their own.
    pub(crate) fn publish_adapter(&self) -> AdapterSettings {
        called(&self.publish_adapter_id, &self.publish_replica_group_id)
    }

    /// Returns true if a setting needs an adapter of publisher objects.
    pub(crate) fn has_publish_adapter(&self) -> bool {
        self.publish_published_endpoints.is_some() || some(&self.publish_adapter_id).is_some()
    }

    /// How this topic keeps its events, if it is durable.
    pub(crate) fn durable_of(&self, topic: &str) -> DurableSettings {
        self.durable_topics.get(topic).cloned().unwrap_or_default()
    }

    /// The lifespan of the events of this topic, if their publishers give none.
    pub(crate) fn lifespan_of(&self, topic: &str) -> Option<Duration> {
        self.lifespans
            .get(topic)
            .copied()
            .filter(|it| !it.is_zero())
    }

    /// Returns how long this topic remembers its events in memory, if it is not durable.
    pub(crate) fn history_of(&self, topic: &str) -> Option<DurableSettings> {
        let mut retention = self.histories.get(topic)?.clone();
        // Peers choose how many keys there are.
        retention.bytes.get_or_insert(HISTORY_BYTES_DEFAULT);
        Some(DurableSettings {
            retention,
            ..DurableSettings::default()
        })
    }

    /// Returns these settings with queues of at most this many bytes, for the time while all queues together hold too much.
    pub(crate) fn with_shorter_queues(&self, len_max: usize) -> Self {
        let mut settings = self.clone();
        let own = settings.topic_queue_limits.values_mut();
        for limits in own.chain([&mut settings.queue_limits]) {
            limits.bytes = limits.bytes.min(len_max);
            limits.patience = Duration::ZERO;
        }
        settings
    }

    /// The queue limits of a subscriber of this topic.
    pub(crate) fn limits_of(&self, topic: &str) -> QueueLimits {
        let own = self.topic_queue_limits.get(topic);
        own.copied().unwrap_or(self.queue_limits)
    }
}

/// A name, unless it is empty.
fn some(name: &Option<String>) -> Option<String> {
    name.clone().filter(|name| !name.is_empty())
}

/// The settings of an adapter with these names.
fn called(id: &Option<String>, replica_group_id: &Option<String>) -> AdapterSettings {
    let mut settings = AdapterSettings::default();
    settings.adapter_id = some(id);
    settings.replica_group_id = some(replica_group_id);
    settings
}
