//! The servant of the facet `Metrics`.

use std::collections::BTreeMap;
use std::time::{SystemTime, UNIX_EPOCH};

use floe::{Current, InvokeError};

use crate::answer::{Answer, Pace};
use crate::contracts::ice_mx::{
    Metrics, MetricsAdmin, MetricsFailures, MetricsFailuresSeq, MetricsView as ViewObjects,
    UnknownMetricsView, UnknownMetricsViewError,
};
use crate::core::GroupMetrics;
use crate::settings::{MapKind, MetricsView};
use crate::source::{MetricsSource, Request};
use crate::views::{ViewMetrics, Views};

/// Gives the metrics of a program to monitoring programs, as the administrative objects of Ice do.
pub struct MetricsFacet<S: MetricsSource> {
    source: S,
    views: Views<S>,
}

impl<S: MetricsSource> MetricsFacet<S> {
    /// The servant for a program with these views.
    pub fn new(source: S, views: &BTreeMap<String, MetricsView>) -> Self {
        Self {
            source,
            views: Views::new(views),
        }
    }

    /// Makes the metrics objects of a view, by the names of their maps.
    async fn objects(
        &self,
        metrics: ViewMetrics,
        current: &Current,
    ) -> Result<ViewObjects, InvokeError> {
        let (mut answer, mut pace) = (Answer::new(current), Pace::default());
        let mut maps = ViewObjects::new();
        for (position, groups) in metrics.into_iter().enumerate() {
            let (Some(groups), Some(MapKind { name, .. })) = (groups, S::MAPS.get(position)) else {
                continue;
            };
            let mut objects = Vec::new();
            for group in groups {
                answer.add(group.id.len())?;
                pace.pause(OBJECT_COST + group.id.len() / BYTES_OF_LOOK)
                    .await;
                objects.push(S::metrics(position, group));
            }
            maps.insert((*name).to_owned(), objects);
        }
        Ok(maps)
    }
}

/// Making a metrics object takes as long as this many looks.
const OBJECT_COST: usize = 32;
/// Encoding this many bytes takes as long as a look.
const BYTES_OF_LOOK: usize = 16;

impl<S: MetricsSource> MetricsAdmin for MetricsFacet<S> {
    async fn get_metrics_view_names(
        &self,
        current: &Current,
    ) -> Result<(Vec<String>, Vec<String>), InvokeError> {
        self.source.check(current, Request::Read)?;
        Ok(self.views.names().await)
    }

    async fn enable_metrics_view(
        &self,
        name: String,
        current: &Current,
    ) -> Result<(), UnknownMetricsViewError> {
        self.source.check(current, Request::Change)?;
        let enabled = self.views.enable(&name, &self.source).await;
        enabled.map_err(|_| UnknownMetricsView {}.into())
    }

    async fn disable_metrics_view(
        &self,
        name: String,
        current: &Current,
    ) -> Result<(), UnknownMetricsViewError> {
        self.source.check(current, Request::Change)?;
        let disabled = self.views.disable(&name).await;
        disabled.map_err(|_| UnknownMetricsView {}.into())
    }

    async fn get_metrics_view(
        &self,
        view: String,
        current: &Current,
    ) -> Result<(ViewObjects, i64), UnknownMetricsViewError> {
        self.source.check(current, Request::Read)?;
        let read = self.views.read(&view, &self.source).await;
        let (metrics, _turn) = read.map_err(|_| UnknownMetricsView {})?;
        Ok((self.objects(metrics, current).await?, milliseconds()))
    }

    /// Always empty: Floe counts no failures here. The state of a subscriber shows them, and a failed session has ended.
    async fn get_map_metrics_failures(
        &self,
        view: String,
        _map: String,
        current: &Current,
    ) -> Result<MetricsFailuresSeq, UnknownMetricsViewError> {
        self.source.check(current, Request::Read)?;
        let read = self.views.read(&view, &self.source).await;
        read.map_err(|_| UnknownMetricsView {})?;
        Ok(MetricsFailuresSeq::new())
    }

    async fn get_metrics_failures(
        &self,
        view: String,
        map: String,
        id: String,
        current: &Current,
    ) -> Result<MetricsFailures, UnknownMetricsViewError> {
        self.source.check(current, Request::Read)?;
        let read = self.views.read(&view, &self.source).await;
        let (metrics, _turn) = read.map_err(|_| UnknownMetricsView {})?;
        let position = S::MAPS.iter().position(|kind| kind.name == map);
        let groups = position.and_then(|position| metrics.into_iter().nth(position)?);
        let is_there = groups.into_iter().flatten().any(|group| group.id == id);
        Ok(MetricsFailures {
            id: if is_there { id } else { String::new() },
            ..MetricsFailures::default()
        })
    }
}

impl From<GroupMetrics> for Metrics {
    /// The metrics that all kinds of objects have.
    fn from(group: GroupMetrics) -> Self {
        let lifetime = i64::try_from(group.lifetime.as_micros());
        Self {
            id: group.id,
            total: count(group.total),
            current: small_count(group.current),
            total_lifetime: lifetime.unwrap_or(i64::MAX),
            failures: 0,
        }
    }
}

/// A count as a `long`. Slice has no unsigned integers.
pub fn count(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// A count as an `int`.
pub fn small_count(count: u64) -> i32 {
    i32::try_from(count).unwrap_or(i32::MAX)
}

/// Milliseconds since 1970.
fn milliseconds() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| {
        i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
    })
}
