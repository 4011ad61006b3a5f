//! Settings of a hub, each with its default.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use floe::AdapterSettings;
use floe_access::Access;

use crate::core::{GroupBy, QueueLimits};

/// Settings of a [`Hub`](crate::Hub).
///
/// The names of IceStorm's properties find them in this documentation.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct HubSettings {
    /// Where it listens, such as `tcp -h 127.0.0.1 -p 10000`; port 0 picks a free one. Topic
    /// manager, topics and publisher objects share the endpoints, unless
    /// [`HubSettings::publish_listen`] says otherwise. Default as in this example.
    #[doc(alias = "TopicManager.Endpoints")]
    pub listen: String,
    /// Where publishers find their objects instead. What else there is cannot be reached there: a
    /// firewall may let publishers in, and nobody else. Publisher objects and the receiving ends of links are
    /// at [`HubSettings::listen`], too, where an IceStorm has none of them then. Default: none.
    #[doc(alias = "Publish.Endpoints")]
    pub publish_listen: Option<String>,
    /// What stands in proxies instead of [`HubSettings::listen`], where clients come from the other side of a firewall, or
    /// by a host name; each with its host and its port. Default: none.
    #[doc(alias = "TopicManager.PublishedEndpoints")]
    pub published_endpoints: Option<String>,
    /// The same for [`HubSettings::publish_listen`], which it needs. Default: none.
    #[doc(alias = "Publish.PublishedEndpoints")]
    pub publish_published_endpoints: Option<String>,
    /// The id by which a locator finds topic manager and topics, with all else that is at [`HubSettings::listen`]: their
    /// proxies name it instead of endpoints, and the communicator's locator is told where it is. Default: none.
    #[doc(alias = "TopicManager.AdapterId")]
    pub adapter_id: Option<String>,
    /// The group of adapters that those proxies name instead of the id; without one it means nothing. Hubs do not
    /// replicate: one of a group runs at a time, and another may take its place. Default: none.
    #[doc(alias = "TopicManager.ReplicaGroupId")]
    pub replica_group_id: Option<String>,
    /// The same as [`HubSettings::adapter_id`] for [`HubSettings::publish_listen`], which it needs. Default: none.
    #[doc(alias = "Publish.AdapterId")]
    pub publish_adapter_id: Option<String>,
    /// The same as [`HubSettings::replica_group_id`] for [`HubSettings::publish_adapter_id`]. Default: none.
    #[doc(alias = "Publish.ReplicaGroupId")]
    pub publish_replica_group_id: Option<String>,
    /// Category of all objects but the finder; not empty. Default `IceStorm`.
    #[doc(alias = "InstanceName")]
    pub instance_name: String,
    /// Where topics, subscriptions and links are kept. Default: in memory alone.
    pub store: StoreSettings,
    /// How long events for a batch subscriber are collected; `Duration::MAX` is until there are
    /// [`HubSettings::flush_bytes`], or the queue is half full. Default 1 s, as in IceStorm.
    #[doc(alias = "Flush.Timeout")]
    pub flush_interval: Duration,
    /// Queued bytes at which a batch leaves before that; 1 at least. Default 256 KiB.
    pub flush_bytes: usize,
    /// The longest rest between two rounds of deliveries to twoway subscribers, while events of any topic come within
    /// 100 microseconds after each round: those that come meanwhile leave together, and far more come through. Zero for
    /// none. Default 1 ms. There are rests on Linux only.
    pub rest_max: Duration,
    /// How long the hub asks for more events before it sleeps, while they come within 100 microseconds after each round of
    /// deliveries to twoway subscribers, and no rest follows; at most 100 microseconds, which are the default, and zero for
    /// none. One publisher that awaits each answer and one subscriber come to twice the events. It takes a core as long
    /// as such a stream lasts, which it yields to others. In a runtime of several threads the hub always sleeps.
    pub polling: Duration,
    /// How much may wait for one subscriber, and what happens to the rest.
    #[doc(alias = "Send.QueueSizeMax")]
    pub queue_limits: QueueLimits,
    /// The same for the subscribers of single topics, by the topic's name. Default: none.
    pub topic_queue_limits: BTreeMap<String, QueueLimits>,
    /// How long the delivery of an event may take, from when it is sent, the connecting included, until a twoway subscriber has
    /// answered it, and again if it is sent once more; what it waited in its queue does not count. `None` waits for ever.
    /// Default 60 s.
    #[doc(alias = "Send.Timeout")]
    pub send_timeout: Option<Duration>,
    /// How long events are discarded after a failure that is tolerated (`retryCount`). Default 60 s;
    /// `Duration::MAX` is for ever.
    #[doc(alias = "Discard.Interval")]
    pub discard_interval: Duration,
    /// Where monitoring programs read metrics. Default: nowhere.
    #[doc(alias = "Ice.Admin.Endpoints")]
    pub admin: Option<AdminSettings>,
    /// Who may do what. Default: everyone everything.
    pub access: Arc<Access>,
    /// The file to which refusals are appended, a line of JSON each. Default: standard error.
    pub audit: Option<PathBuf>,
    /// How long a shutdown waits for the connections of its peers, and then for events that are
    /// queued. Default 2 s.
    pub drain_timeout: Duration,
}

/// The administrative object of a hub, which gives metrics as IceStorm does: its identity is `INSTANCE/admin`, its
/// facet `Metrics`, and also `IceBox.Service.SERVICE.Metrics`, as programs know it that read those of an IceStorm.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct AdminSettings {
    /// Where it listens, such as `tcp -h 127.0.0.1 -p 10003`. Nothing else is there.
    pub listen: String,
    /// The category of its identity. Default `IceStorm`.
    #[doc(alias = "Ice.Admin.InstanceName")]
    pub instance_name: String,
    /// What the service is called, as the attribute `service` of metrics says. Default `IceStorm`.
    pub service_name: String,
    /// The views by their names. Default: none.
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

/// A view of metrics: which of its maps it has.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct MetricsView {
    /// The map `Topic`, if it is there. Its attributes are [`GroupBy::OF_TOPICS`].
    pub topics: Option<MetricsMap>,
    /// The map `Subscriber`, if it is there. Its attributes are [`GroupBy::OF_SUBSCRIBERS`].
    pub subscribers: Option<MetricsMap>,
    /// Whether it measures from the start. Default: yes.
    #[doc(alias = "Disabled")]
    pub is_enabled: bool,
}

impl Default for MetricsView {
    /// Both maps, each thing by itself.
    fn default() -> Self {
        let by_id = |known| GroupBy::parse("id", known).ok().map(MetricsMap::new);
        Self {
            topics: by_id(GroupBy::OF_TOPICS),
            subscribers: by_id(GroupBy::OF_SUBSCRIBERS),
            is_enabled: true,
        }
    }
}

/// A map of a view of metrics.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct MetricsMap {
    /// How it groups.
    #[doc(alias = "GroupBy")]
    pub group_by: GroupBy,
    /// Metrics objects that are kept when nothing is left that they stand for. Default 10, as in
    /// Ice.
    #[doc(alias = "RetainDetached")]
    pub retained_max: usize,
}

impl MetricsMap {
    /// One that groups so, with defaults for all else.
    pub fn new(group_by: GroupBy) -> Self {
        Self {
            group_by,
            retained_max: 10,
        }
    }
}

/// Where topics, subscriptions and links are kept.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum StoreSettings {
    /// Nowhere: they end with the process.
    #[default]
    #[doc(alias = "Transient")]
    Memory,
    /// In a file in this directory. What was answered is on disk.
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
            flush_interval: Duration::from_secs(1),
            flush_bytes: 256 * 1024,
            rest_max: Duration::from_millis(1),
            polling: Duration::from_micros(100),
            queue_limits: QueueLimits::default(),
            topic_queue_limits: BTreeMap::new(),
            send_timeout: Some(Duration::from_secs(60)),
            discard_interval: Duration::from_secs(60),
            admin: None,
            access: Arc::default(),
            audit: None,
            drain_timeout: Duration::from_secs(2),
        }
    }
}

impl HubSettings {
    /// The settings that differ and hold only from the next start on, by the names of their fields.
    pub(crate) fn fixed_differences(&self, other: &Self) -> Vec<&'static str> {
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
            ("admin", self.admin != other.admin),
        ];
        let differing = differences.into_iter().filter(|(_, differs)| *differs);
        differing.map(|(name, _)| name).collect()
    }

    /// What the adapter of the topic manager is called.
    pub(crate) fn main_adapter(&self) -> AdapterSettings {
        called(&self.adapter_id, &self.replica_group_id)
    }

    /// What the adapter of publisher objects is called, if they have one of their own.
    pub(crate) fn publish_adapter(&self) -> AdapterSettings {
        called(&self.publish_adapter_id, &self.publish_replica_group_id)
    }

    /// Whether something is said of an adapter of publisher objects besides where it listens.
    pub(crate) fn has_publish_adapter(&self) -> bool {
        self.publish_published_endpoints.is_some() || some(&self.publish_adapter_id).is_some()
    }

    /// How much may wait for a subscriber of this topic.
    pub(crate) fn limits_of(&self, topic: &str) -> QueueLimits {
        let own = self.topic_queue_limits.get(topic);
        own.copied().unwrap_or(self.queue_limits)
    }
}

/// A name, unless it is empty.
fn some(name: &Option<String>) -> Option<String> {
    name.clone().filter(|name| !name.is_empty())
}

/// An adapter that a locator finds by these.
fn called(id: &Option<String>, replica_group_id: &Option<String>) -> AdapterSettings {
    let mut settings = AdapterSettings::default();
    settings.adapter_id = some(id);
    settings.replica_group_id = some(replica_group_id);
    settings
}
