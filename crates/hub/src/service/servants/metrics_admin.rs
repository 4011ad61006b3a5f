//! Gives metrics to monitoring programs, as the administrative object of IceStorm does.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use floe::classes::Link;
use floe::{Current, InvokeError};
use floe_access::Action;

use crate::contracts::ice_mx::{
    Metrics as MetricsObject, MetricsAdmin, MetricsFailures, MetricsFailuresSeq, MetricsView,
    SubscriberMetrics, TopicMetrics, UnknownMetricsView, UnknownMetricsViewError,
};
use crate::core::GroupMetrics;
use crate::service::count::number;
use crate::service::observe::metrics::{MetricsViews, ViewMetrics};
use crate::service::registry::Registry;

pub(super) struct MetricsAdminServant {
    registry: Arc<Registry>,
    metrics: MetricsViews,
}

impl MetricsAdminServant {
    pub(super) fn new(registry: &Arc<Registry>, metrics: MetricsViews) -> Self {
        Self {
            registry: registry.clone(),
            metrics,
        }
    }

    /// Whether the caller may do this with the hub.
    fn check(&self, current: &Current, action: Action) -> Result<(), InvokeError> {
        Ok(self.registry.guard().check(current, action, "")?)
    }

    fn read(&self, view: &str, current: &Current) -> Result<ViewMetrics, UnknownMetricsViewError> {
        self.check(current, Action::Observe)?;
        let read = self.metrics.read(view);
        read.map_err(|_| UnknownMetricsView {}.into())
    }
}

impl MetricsAdmin for MetricsAdminServant {
    async fn get_metrics_view_names(
        &self,
        current: &Current,
    ) -> Result<(Vec<String>, Vec<String>), InvokeError> {
        self.check(current, Action::Observe)?;
        Ok(self.metrics.names())
    }

    async fn enable_metrics_view(
        &self,
        name: String,
        current: &Current,
    ) -> Result<(), UnknownMetricsViewError> {
        self.check(current, Action::Admin)?;
        let enabled = self.metrics.enable(&name);
        enabled.map_err(|_| UnknownMetricsView {}.into())
    }

    async fn disable_metrics_view(
        &self,
        name: String,
        current: &Current,
    ) -> Result<(), UnknownMetricsViewError> {
        self.check(current, Action::Admin)?;
        let disabled = self.metrics.disable(&name);
        disabled.map_err(|_| UnknownMetricsView {}.into())
    }

    async fn get_metrics_view(
        &self,
        view: String,
        current: &Current,
    ) -> Result<(MetricsView, i64), UnknownMetricsViewError> {
        let ViewMetrics {
            topics,
            subscribers,
        } = self.read(&view, current)?;
        let mut maps = MetricsView::new();
        if let Some(groups) = topics {
            maps.insert(TOPIC.to_owned(), groups.into_iter().map(of_topic).collect());
        }
        if let Some(groups) = subscribers {
            let metrics = groups.into_iter().map(of_subscriber).collect();
            maps.insert(SUBSCRIBER.to_owned(), metrics);
        }
        Ok((maps, milliseconds()))
    }

    /// Always empty: a failure ends or pauses a subscription, and the state of the subscriber shows it.
    async fn get_map_metrics_failures(
        &self,
        view: String,
        _map: String,
        current: &Current,
    ) -> Result<MetricsFailuresSeq, UnknownMetricsViewError> {
        self.read(&view, current)?;
        Ok(MetricsFailuresSeq::new())
    }

    async fn get_metrics_failures(
        &self,
        view: String,
        map: String,
        id: String,
        current: &Current,
    ) -> Result<MetricsFailures, UnknownMetricsViewError> {
        let metrics = self.read(&view, current)?;
        let groups = match map.as_str() {
            TOPIC => metrics.topics,
            SUBSCRIBER => metrics.subscribers,
            _ => None,
        };
        let is_there = groups.into_iter().flatten().any(|group| group.id == id);
        Ok(MetricsFailures {
            id: if is_there { id } else { String::new() },
            ..MetricsFailures::default()
        })
    }
}

/// The names of maps.
const TOPIC: &str = "Topic";
const SUBSCRIBER: &str = "Subscriber";

fn of_topic(group: GroupMetrics) -> Link<MetricsObject> {
    let [published, forwarded] = group.counts.map(number);
    Link::new(TopicMetrics {
        base: object(group),
        published,
        forwarded,
    })
}

fn of_subscriber(group: GroupMetrics) -> Link<MetricsObject> {
    let [delivered, _] = group.counts.map(number);
    let [queued, outstanding] = group.amounts.map(small);
    Link::new(SubscriberMetrics {
        base: object(group),
        queued,
        outstanding,
        delivered,
    })
}

fn object(group: GroupMetrics) -> MetricsObject {
    let lifetime = i64::try_from(group.lifetime.as_micros());
    MetricsObject {
        id: group.id,
        total: number(group.total),
        current: small(group.current),
        total_lifetime: lifetime.unwrap_or(i64::MAX),
        failures: 0,
    }
}

fn small(count: u64) -> i32 {
    i32::try_from(count).unwrap_or(i32::MAX)
}

/// Milliseconds since 1970.
fn milliseconds() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| {
        i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
    })
}
