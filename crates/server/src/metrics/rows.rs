//! How rows of metrics are written.

use std::fmt;
use std::time::Duration;

use floe_hub::LatencyCounts;
use prometheus_client::encoding::{DescriptorEncoder, EncodeGaugeValue, EncodeMetric, NoLabelSet};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;

/// The labels of a row, and their values.
pub(super) type Labels = Vec<(&'static str, String)>;

/// Writes one metric after another.
pub(super) struct Rows<'a, 'b>(pub(super) &'a mut DescriptorEncoder<'b>);

impl Rows<'_, '_> {
    pub(super) fn histogram(
        &mut self,
        name: &str,
        help: &str,
        counts: &LatencyCounts,
    ) -> fmt::Result {
        let buckets = counts.buckets.iter();
        let buckets = buckets.map(|(bound, count)| (bound.as_secs_f64(), *count));
        // The encoder takes the largest number for infinity.
        let buckets: Vec<_> = buckets.chain([(f64::MAX, counts.longer)]).collect();
        let count = buckets.iter().map(|(_, count)| count).sum();
        let mut metric = self
            .0
            .encode_descriptor(name, help, None, MetricType::Histogram)?;
        metric.encode_histogram::<NoLabelSet>(counts.sum.as_secs_f64(), count, &buckets, None)
    }

    /// One without labels.
    pub(super) fn counter(&mut self, name: &str, help: &str, value: i64) -> fmt::Result {
        let metric = self
            .0
            .encode_descriptor(name, help, None, MetricType::Counter)?;
        ConstCounter::new(u64::try_from(value).unwrap_or(0)).encode(metric)
    }

    /// One without labels.
    pub(super) fn gauge(&mut self, name: &str, help: &str, value: i64) -> fmt::Result {
        let metric = self
            .0
            .encode_descriptor(name, help, None, MetricType::Gauge)?;
        ConstGauge::new(value).encode(metric)
    }

    pub(super) fn counters(
        &mut self,
        name: &str,
        help: &str,
        rows: impl IntoIterator<Item = (Labels, i64)>,
    ) -> fmt::Result {
        let mut metric = self
            .0
            .encode_descriptor(name, help, None, MetricType::Counter)?;
        for (labels, value) in rows {
            let value = u64::try_from(value).unwrap_or(0);
            ConstCounter::new(value).encode(metric.encode_family(&labels)?)?;
        }
        Ok(())
    }

    /// Counters of seconds.
    pub(super) fn times(
        &mut self,
        name: &str,
        help: &str,
        rows: impl IntoIterator<Item = (Labels, Duration)>,
    ) -> fmt::Result {
        let mut metric = self
            .0
            .encode_descriptor(name, help, None, MetricType::Counter)?;
        for (labels, time) in rows {
            ConstCounter::new(time.as_secs_f64()).encode(metric.encode_family(&labels)?)?;
        }
        Ok(())
    }

    pub(super) fn gauges<N: EncodeGaugeValue>(
        &mut self,
        name: &str,
        help: &str,
        rows: impl IntoIterator<Item = (Labels, N)>,
    ) -> fmt::Result
    where
        ConstGauge<N>: EncodeMetric,
    {
        let mut metric = self
            .0
            .encode_descriptor(name, help, None, MetricType::Gauge)?;
        for (labels, value) in rows {
            ConstGauge::new(value).encode(metric.encode_family(&labels)?)?;
        }
        Ok(())
    }
}

/// The value of a label as the text format wants it: the encoder writes it as it is.
pub(super) fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_cannot_end_its_label() {
        assert_eq!(escaped("a\"} 1\nb\\"), "a\\\"} 1\\nb\\\\");
    }
}
