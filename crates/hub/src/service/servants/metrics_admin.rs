//! Gives metrics to monitoring programs, as the administrative object of an IceStorm does.

use std::time::{SystemTime, UNIX_EPOCH};

use floe::{Current, InvokeError, Link};

use crate::contracts::ice_mx::{
    Metrics as MetricsObject, MetricsAdmin, MetricsFailures, MetricsFailuresSeq, MetricsView,
    SubscriberMetrics, TopicMetrics, UnknownMetricsView, UnknownMetricsViewError,
};
use crate::core::Row;
use crate::service::count::number;
use crate::service::observe::metrics::{Look, Metrics};

pub(super) struct MetricsAdminServant {
    metrics: Metrics,
}

impl MetricsAdminServant {
    pub(super) fn new(metrics: Metrics) -> Self {
        Self { metrics }
    }

    fn look(&self, view: &str) -> Result<Look, UnknownMetricsView> {
        self.metrics.look(view).map_err(|_| UnknownMetricsView {})
    }
}

impl MetricsAdmin for MetricsAdminServant {
    async fn get_metrics_view_names(
        &self,
        _current: &Current,
    ) -> Result<(Vec<String>, Vec<String>), InvokeError> {
        Ok(self.metrics.names())
    }

    async fn enable_metrics_view(
        &self,
        name: String,
        _current: &Current,
    ) -> Result<(), UnknownMetricsViewError> {
        let enabled = self.metrics.enable(&name);
        enabled.map_err(|_| UnknownMetricsView {}.into())
    }

    async fn disable_metrics_view(
        &self,
        name: String,
        _current: &Current,
    ) -> Result<(), UnknownMetricsViewError> {
        let disabled = self.metrics.disable(&name);
        disabled.map_err(|_| UnknownMetricsView {}.into())
    }

    async fn get_metrics_view(
        &self,
        view: String,
        _current: &Current,
    ) -> Result<(MetricsView, i64), UnknownMetricsViewError> {
        let Look {
            topics,
            subscribers,
        } = self.look(&view)?;
        let mut maps = MetricsView::new();
        if let Some(rows) = topics {
            maps.insert(TOPIC.to_owned(), rows.into_iter().map(of_topic).collect());
        }
        if let Some(rows) = subscribers {
            let metrics = rows.into_iter().map(of_subscriber).collect();
            maps.insert(SUBSCRIBER.to_owned(), metrics);
        }
        Ok((maps, milliseconds()))
    }

    /// There are none: a failure ends a subscription or makes it pause, and is told by its state.
    async fn get_map_metrics_failures(
        &self,
        view: String,
        _map: String,
        _current: &Current,
    ) -> Result<MetricsFailuresSeq, UnknownMetricsViewError> {
        self.look(&view)?;
        Ok(MetricsFailuresSeq::new())
    }

    async fn get_metrics_failures(
        &self,
        view: String,
        map: String,
        id: String,
        _current: &Current,
    ) -> Result<MetricsFailures, UnknownMetricsViewError> {
        let look = self.look(&view)?;
        let rows = match map.as_str() {
            TOPIC => look.topics,
            SUBSCRIBER => look.subscribers,
            _ => None,
        };
        let is_there = rows.into_iter().flatten().any(|row| row.id == id);
        Ok(MetricsFailures {
            id: if is_there { id } else { String::new() },
            ..MetricsFailures::default()
        })
    }
}

/// The names of maps.
const TOPIC: &str = "Topic";
const SUBSCRIBER: &str = "Subscriber";

fn of_topic(row: Row) -> Link<MetricsObject> {
    let [published, forwarded] = row.counts.map(number);
    Link::new(TopicMetrics {
        base: object(row),
        published,
        forwarded,
    })
}

fn of_subscriber(row: Row) -> Link<MetricsObject> {
    let [delivered, _] = row.counts.map(number);
    let [queued, outstanding] = row.amounts.map(small);
    Link::new(SubscriberMetrics {
        base: object(row),
        queued,
        outstanding,
        delivered,
    })
}

fn object(row: Row) -> MetricsObject {
    let lifetime = i64::try_from(row.lifetime.as_micros());
    MetricsObject {
        id: row.id,
        total: number(row.total),
        current: small(row.current),
        total_lifetime: lifetime.unwrap_or(i64::MAX),
        failures: 0,
    }
}

fn small(count: u64) -> i32 {
    i32::try_from(count).unwrap_or(i32::MAX)
}

/// Since 1970.
fn milliseconds() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| {
        i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
    })
}
