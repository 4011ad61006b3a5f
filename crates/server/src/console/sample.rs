//! A look at a server: what its hub and its gateway tell of themselves at one moment.

use std::collections::HashMap;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use floe::{Communicator, Identity, Proxy, TypedProxy};
use floe_gateway::{Gateway, GatewayStatus, GatewayView};
use floe_hub::contracts::floe::{
    DurableTopicStatus, HubAdminProxy, HubOverview, SubscriberStatus, TopicTotals,
};
use floe_hub::{Hub, HubLatencies, HubView, LimitUse};

use crate::findings::Thresholds;
use crate::totals::lost;

/// The parts that are watched.
#[derive(Clone)]
pub(crate) struct Watched {
    pub(super) hub: Option<WatchedHub>,
    gateway: Option<GatewayView>,
}

/// A hub in this process.
#[derive(Clone)]
pub(super) struct WatchedHub {
    pub(super) view: HubView,
    /// Its topic manager. Calls of the same process are trusted: the gate has asked the rules before.
    pub(super) manager: Proxy,
}

/// Subscriptions of durable topics that are told of.
const SUBSCRIPTION_MAX: usize = 1000;
/// Links that are told of.
const LINK_MAX: usize = 1000;
/// An older look gives no rates: too much may have happened in between.
const RATE_AGE_MAX: Duration = Duration::from_secs(30);

impl Watched {
    pub(crate) fn new(
        communicator: &Communicator,
        hub: Option<&Hub>,
        gateway: Option<&Gateway>,
    ) -> Self {
        let of = |hub: &Hub| {
            let manager = communicator.proxy(&hub.topic_manager()).ok()?;
            let view = hub.view();
            view.measure_latencies();
            Some(WatchedHub { view, manager })
        };
        Self {
            hub: hub.and_then(of),
            gateway: gateway.map(Gateway::view),
        }
    }

    /// Looks at everything.
    pub(super) async fn look(&self, before: Option<&Sample>) -> Sample {
        let hub = match &self.hub {
            Some(hub) => hub.look().await,
            None => None,
        };
        let gateway = self.gateway.as_ref().and_then(GatewayView::status);
        let mut sample = Sample {
            taken: Instant::now(),
            unix_time: SystemTime::now()
                .duration_since(UNIX_EPOCH)
                .unwrap_or_default(),
            hub,
            gateway,
            rates: HashMap::new(),
            sum: None,
        };
        if let Some(before) = before {
            sample.rate(before);
        }
        sample
    }
}

impl WatchedHub {
    async fn look(&self) -> Option<HubLook> {
        let since = Thresholds::default().since.as_micros();
        let admin = self
            .manager
            .ice_identity(Identity::with_category("HubAdmin", "Floe"));
        let admin = HubAdminProxy::from_proxy(admin);
        let overview = admin
            .overview(i64::try_from(since).unwrap_or(i64::MAX))
            .await
            .ok()?;
        let view = self.view.clone();
        let manager = self.manager.to_string();
        // Counts of many topics take long to add up, and logs may wait for the disk.
        let look = tokio::task::spawn_blocking(move || {
            Some(HubLook {
                manager,
                overview,
                topics: view.status()?.topics,
                durable: view.durable_topics(SUBSCRIPTION_MAX)?,
                links: view.links(LINK_MAX)?,
                latencies: view.latencies()?,
                limits: view.limits()?,
                refused: view.refused()?,
                storage_problems: view.storage_problems()?,
            })
        });
        look.await.ok().flatten()
    }
}

/// A look at a hub.
#[derive(Debug, Clone)]
pub(super) struct HubLook {
    pub(super) manager: String,
    pub(super) overview: HubOverview,
    pub(super) topics: Vec<TopicTotals>,
    pub(super) durable: Vec<DurableTopicStatus>,
    pub(super) links: Vec<(String, SubscriberStatus)>,
    pub(super) latencies: HubLatencies,
    pub(super) limits: Vec<LimitUse>,
    pub(super) refused: u64,
    /// The problems that keep the hub from storing events and changes now.
    pub(super) storage_problems: Vec<String>,
}

/// A look at a server.
#[derive(Debug, Clone)]
pub(super) struct Sample {
    pub(super) taken: Instant,
    /// Since 1970.
    pub(super) unix_time: Duration,
    /// None if there is no hub, or it has ended.
    pub(super) hub: Option<HubLook>,
    pub(super) gateway: Option<GatewayStatus>,
    /// By topic; those that had nothing to do are left out.
    rates: HashMap<String, Rates>,
    /// All topics together; none in the first look.
    pub(super) sum: Option<Rates>,
}

/// Events a second, since the look before.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Rates {
    pub(super) published: f64,
    pub(super) delivered: f64,
    pub(super) lost: f64,
}

impl Rates {
    fn between(before: &TopicTotals, now: &TopicTotals, seconds: f64) -> Self {
        // Counts of a topic that was made anew begin again.
        let rate = |before: i64, now: i64| now.saturating_sub(before).max(0) as f64 / seconds;
        Self {
            published: rate(
                before.published.saturating_add(before.forwarded),
                now.published.saturating_add(now.forwarded),
            ),
            delivered: rate(before.delivered, now.delivered),
            lost: rate(lost(&before.lost), lost(&now.lost)),
        }
    }
}

impl Sample {
    pub(super) fn topics(&self) -> &[TopicTotals] {
        self.hub.as_ref().map_or(&[], |hub| &hub.topics)
    }

    /// The rates of a topic; none in the first look.
    pub(super) fn rates(&self, topic: &str) -> Option<Rates> {
        self.sum?;
        Some(self.rates.get(topic).copied().unwrap_or_default())
    }

    /// Computes the rates since a look before.
    pub(super) fn rate(&mut self, before: &Self) {
        let time = self.taken.saturating_duration_since(before.taken);
        let (Some(old), Some(new)) = (&before.hub, &self.hub) else {
            return;
        };
        if time.is_zero() || time > RATE_AGE_MAX {
            return;
        }
        let seconds = time.as_secs_f64();
        let mut rates = HashMap::new();
        let mut older = old.topics.iter().peekable();
        for topic in &new.topics {
            // Both are in the order of names.
            while older.next_if(|it| it.name < topic.name).is_some() {}
            let same = older.peek().filter(|it| it.name == topic.name);
            let of_none = TopicTotals::default();
            let of_topic = Rates::between(same.copied().unwrap_or(&of_none), topic, seconds);
            if of_topic != Rates::default() {
                rates.insert(topic.name.clone(), of_topic);
            }
        }
        let sum = Rates::between(&old.overview.totals, &new.overview.totals, seconds);
        (self.rates, self.sum) = (rates, Some(sum));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_by_the_second_and_never_negative() {
        let mut before = TopicTotals {
            published: 10,
            forwarded: 1,
            delivered: 100,
            ..TopicTotals::default()
        };
        before.lost.overflow = 3;
        let mut now = TopicTotals {
            published: 30,
            forwarded: 2,
            // The topic was made anew.
            delivered: 4,
            ..before.clone()
        };
        now.lost.failed = 4;
        let expected = Rates {
            published: 10.5,
            delivered: 0.0,
            lost: 2.0,
        };
        assert_eq!(Rates::between(&before, &now, 2.0), expected);
    }
}
