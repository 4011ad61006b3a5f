//! Gives metrics to monitoring programs, as the administrative object of IceStorm does.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use floe::classes::Link;
use floe::{Current, InvokeError};
use floe_access::Action;

use super::answer::Answer;
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
    metrics: Arc<MetricsViews>,
}

impl MetricsAdminServant {
    pub(super) fn new(registry: &Arc<Registry>, metrics: Arc<MetricsViews>) -> Self {
        Self {
            registry: registry.clone(),
            metrics,
        }
    }

    /// Whether the caller may do this with the hub.
    fn check(&self, current: &Current, action: Action) -> Result<(), InvokeError> {
        Ok(self.registry.guard().check(current, action, "")?)
    }

    async fn read(
        &self,
        view: &str,
        current: &Current,
    ) -> Result<ViewMetrics, UnknownMetricsViewError> {
        self.check(current, Action::Observe)?;
        let read = self.metrics.read(view).await;
        read.map_err(|_| UnknownMetricsView {}.into())
    }
}

impl MetricsAdmin for MetricsAdminServant {
    async fn get_metrics_view_names(
        &self,
        current: &Current,
    ) -> Result<(Vec<String>, Vec<String>), InvokeError> {
        self.check(current, Action::Observe)?;
        Ok(self.metrics.names().await)
    }

    async fn enable_metrics_view(
        &self,
        name: String,
        current: &Current,
    ) -> Result<(), UnknownMetricsViewError> {
        self.check(current, Action::Admin)?;
        let enabled = self.metrics.enable(&name).await;
        enabled.map_err(|_| UnknownMetricsView {}.into())
    }

    async fn disable_metrics_view(
        &self,
        name: String,
        current: &Current,
    ) -> Result<(), UnknownMetricsViewError> {
        self.check(current, Action::Admin)?;
        let disabled = self.metrics.disable(&name).await;
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
        } = self.read(&view, current).await?;
        let instead = "a view that groups by fewer ids (GroupBy)";
        let mut answer = Answer::whole(current, "groups of metrics", instead);
        let mut maps = MetricsView::new();
        if let Some(groups) = topics {
            let metrics = objects(groups, &mut answer, of_topic).await?;
            maps.insert(TOPIC.to_owned(), metrics);
        }
        if let Some(groups) = subscribers {
            let metrics = objects(groups, &mut answer, of_subscriber).await?;
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
        self.read(&view, current).await?;
        Ok(MetricsFailuresSeq::new())
    }

    async fn get_metrics_failures(
        &self,
        view: String,
        map: String,
        id: String,
        current: &Current,
    ) -> Result<MetricsFailures, UnknownMetricsViewError> {
        let metrics = self.read(&view, current).await?;
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

/// The objects of groups that fit into an answer. If they are many, other connections have their turn in between.
async fn objects(
    groups: Vec<GroupMetrics>,
    answer: &mut Answer,
    object: impl Fn(GroupMetrics) -> Link<MetricsObject>,
) -> Result<Vec<Link<MetricsObject>>, InvokeError> {
    let mut objects = Vec::new();
    for group in groups {
        answer.add_len(group.id.len() + FIELDS_LEN)?;
        objects.push(object(group));
        answer.pause().await;
    }
    Ok(objects)
}

/// The bytes of a metrics object beside its id, at least: five counts of the object, and two of its kind.
const FIELDS_LEN: usize = 8 + 4 + 8 + 4 + 8 + 8;

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
