//! The hub and the subscribers of the demo, each with connections of its own.

use std::sync::Arc;
use std::time::Duration;

use floe::contracts::ice_storm::{QoS, TopicManagerProxy, TopicProxy};
use floe::{Adapter, Communicator, InvocationMode, Proxy, TypedProxy};
use floe_hub::contracts::floe::HubAdminProxy;
use floe_hub::{HUB_ADMIN, Hub, HubSettings};
use tokio::time::Instant;

use super::tally::{Counts, Tally};
use super::telemetry::{MonitorDispatcher, MonitorProxy};
use crate::exit::{Exit, Failure};
use crate::hub;
use crate::peer;

/// Everything but the publisher's work.
pub(super) struct Stage {
    counts: Arc<Counts>,
    hub: Hub,
    /// That of the hub, that of the publisher, those of the subscribers.
    communicators: Vec<Communicator>,
    topic: TopicProxy,
    admin: HubAdminProxy,
    publisher: MonitorProxy,
    subscribers: Vec<Subscriber>,
}

/// One of the three.
pub(super) struct Subscriber {
    /// Its name.
    pub(super) mode: &'static str,
    /// A remark on what is special about it.
    pub(super) about: &'static str,
    /// The events that it got.
    pub(super) tally: Arc<Tally>,
    proxy: Proxy,
    /// Listens as long as it is not dropped.
    _adapter: Adapter,
}

/// The topic.
pub(super) const TOPIC: &str = "telemetry";

/// How long events for the batch subscriber are collected.
const FLUSH_INTERVAL: Duration = Duration::from_millis(50);

/// Bytes of events that leave at once for the batch subscriber.
const FLUSH_BYTES: usize = 16 * 1024;

/// How long a request may take on a machine that is busy with other things.
const PATIENCE: Duration = Duration::from_secs(30);

/// How long to wait at the end for events that are on their way.
const DRAIN_TIME: Duration = Duration::from_secs(5);

const SUBSCRIBERS: [(&str, InvocationMode, &str); 3] = [
    ("twoway", InvocationMode::Twoway, "answers each event"),
    ("oneway", InvocationMode::Oneway, "answers none"),
    (
        "batch",
        InvocationMode::BatchOneway,
        "gets them together, every 50 ms",
    ),
];

impl Stage {
    /// Starts the hub, makes the topic, and subscribes.
    pub(super) async fn set() -> Result<Self, Failure> {
        let for_hub = Communicator::with_settings(peer::settings(None));
        let mut settings = HubSettings::default();
        settings.listen = "tcp -h 127.0.0.1 -p 0".to_owned();
        settings.flush_interval = FLUSH_INTERVAL;
        settings.flush_bytes = FLUSH_BYTES;
        let hub = Hub::start(&for_hub, settings).await.map_err(failed)?;

        let for_publisher = peer::communicator(Some(PATIENCE));
        let manager: TopicManagerProxy = peer::proxy(&for_publisher, &hub.topic_manager())?;
        let topic = manager.create(TOPIC).await.map_err(failed)?;
        let publisher = topic.get_publisher().await.map_err(failed)?;
        let admin = HUB_ADMIN.parse().map_err(failed)?;
        let mut stage = Self {
            counts: Arc::new(Counts::new()),
            hub,
            communicators: vec![for_hub, for_publisher],
            admin: HubAdminProxy::from_proxy(manager.as_proxy().ice_identity(admin)),
            topic,
            publisher: MonitorProxy::from_proxy(publisher),
            subscribers: Vec::new(),
        };
        for (name, mode, about) in SUBSCRIBERS {
            stage.subscribe(name, mode, about).await?;
        }
        Ok(stage)
    }

    async fn subscribe(
        &mut self,
        name: &'static str,
        mode: InvocationMode,
        about: &'static str,
    ) -> Result<(), Failure> {
        let communicator = peer::communicator(Some(PATIENCE));
        let adapter = communicator
            .adapter("tcp -h 127.0.0.1 -p 0")
            .await
            .map_err(failed)?;
        let tally = Arc::new(Tally::new(self.counts.clone()));
        let servant = MonitorDispatcher::new(tally.clone());
        let proxy = adapter.add(name, servant).map_err(failed)?.ice_mode(mode);
        adapter.activate();
        let subscribed = self
            .topic
            .subscribe_and_get_publisher(&QoS::new(), Some(&proxy))
            .await;
        subscribed.map_err(failed)?;
        self.communicators.push(communicator);
        self.subscribers.push(Subscriber {
            mode: name,
            about,
            tally,
            proxy,
            _adapter: adapter,
        });
        Ok(())
    }

    /// Returns the counts of the publisher so far.
    pub(super) fn counts(&self) -> &Arc<Counts> {
        &self.counts
    }

    /// The object on which the publisher invokes its events.
    pub(super) fn publisher(&self) -> &MonitorProxy {
        &self.publisher
    }

    /// The three.
    pub(super) fn subscribers(&self) -> &[Subscriber] {
        &self.subscribers
    }

    /// Where the hub listens.
    pub(super) fn endpoints(&self) -> String {
        self.hub.endpoints()
    }

    /// Returns the losses that the hub reports for each of the subscribers; all events for one that it
    /// has given up.
    pub(super) async fn losses(&self) -> Vec<u64> {
        let published = self.counts.published();
        let Ok(info) = self.admin.topic_info(TOPIC).await else {
            return vec![0; self.subscribers.len()];
        };
        let of = |subscriber: &Subscriber| {
            let own = info
                .subscribers
                .iter()
                .find(|info| info.subscriber == subscriber.proxy);
            own.map_or(
                published.saturating_sub(subscriber.tally.delivered()),
                |own| hub::lost(&own.lost).try_into().unwrap_or(0),
            )
        };
        self.subscribers.iter().map(of).collect()
    }

    /// Waits until all that was published has arrived, or the hub has counted it as lost.
    pub(super) async fn drain(&self) {
        let deadline = Instant::now() + DRAIN_TIME;
        while Instant::now() < deadline && !self.is_drained().await {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    async fn is_drained(&self) -> bool {
        let published = self.counts.published();
        let is_here = |subscriber: &Subscriber| subscriber.tally.delivered() >= published;
        if self.subscribers.iter().all(is_here) {
            return true;
        }
        let losses = self.losses().await;
        let mut all = self.subscribers.iter().zip(losses);
        all.all(|(subscriber, lost)| subscriber.tally.delivered() + lost >= published)
    }

    /// Ends everything in order.
    pub(super) async fn strike(self) {
        for subscriber in &self.subscribers {
            // The hub ends with the process: what it does not forget now, it forgets then.
            let _ = self.topic.unsubscribe(Some(&subscriber.proxy)).await;
        }
        self.hub.shutdown().await;
        for communicator in self.communicators.iter().rev() {
            communicator.shutdown().await;
        }
    }
}

fn failed(error: impl std::fmt::Display) -> Failure {
    Failure::new(Exit::Failure, error).when("cannot set the stage")
}
