//! What a hub and a gateway know of themselves, in the text of OpenMetrics, which Prometheus reads.

use std::fmt;
use std::time::Duration;

use floe_gateway::{GatewayStatus, GatewayView};
use floe_hub::contracts::floe::{HubStatus, Losses, SubscriberStatus, TopicStatus, TopicTotals};
use floe_hub::{HubLatencies, HubView, LatencyCounts, LimitUse};
use hyper::StatusCode;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{
    DescriptorEncoder, EncodeGaugeValue, EncodeMetric, NoLabelSet, text,
};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::Registry;

use super::http::Answer;
use super::open_files;

/// The number of topics with rows of their own, in the order of their names. This limit keeps a client that creates topics from
/// filling the memory of the scraper. One row has the sums of the gauges of all others. It has no sums of their counters: topics
/// come and go among them, and a scraper takes a counter that falls for one that was reset. The rows of the hub count all topics.
const TOPIC_MAX: usize = 1000;
/// The number of subscribers with rows of their own. The others are left out.
const SUBSCRIBER_MAX: usize = 1000;
/// The name in the row of all topics without a row of their own. A topic whose name is empty counts among them.
const OTHERS: &str = "";

/// What the metrics tell of.
pub(super) struct Services {
    pub(super) hub: Option<HubView>,
    pub(super) gateway: Option<GatewayView>,
    /// True if they tell of each subscriber.
    pub(super) has_subscribers: bool,
}

/// What is at a path: the metrics, whether the process lives, and whether it serves.
pub(super) fn answer(services: &Services, path: &str) -> Option<Answer> {
    const TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    match path {
        PATH => Some(Answer {
            status: StatusCode::OK,
            content_type: TYPE,
            text: written(services),
        }),
        "/healthz" => Some(Answer::plain(StatusCode::OK, "ok")),
        "/readyz" => {
            let hub = services.hub.as_ref().map(HubView::is_running);
            let gateway = services.gateway.as_ref().map(GatewayView::is_running);
            Some(match (hub, gateway) {
                (Some(false), _) => {
                    Answer::plain(StatusCode::SERVICE_UNAVAILABLE, "the hub has ended")
                }
                (_, Some(false)) => {
                    Answer::plain(StatusCode::SERVICE_UNAVAILABLE, "the gateway has ended")
                }
                _ => Answer::plain(StatusCode::OK, "ready"),
            })
        }
        _ => None,
    }
}

/// Where the metrics are.
pub(super) const PATH: &str = "/metrics";

fn written(services: &Services) -> String {
    let hub = services.hub.as_ref();
    let hub = hub.and_then(|hub| Look::at(hub, services.has_subscribers));
    let gateway = services.gateway.as_ref().and_then(GatewayView::status);
    page(hub, gateway)
}

fn page(hub: Option<Look>, gateway: Option<GatewayStatus>) -> String {
    let mut registry = Registry::default();
    if hub.is_none() && gateway.is_none() {
        return String::new();
    }
    if let Some(hub) = hub {
        registry.register_collector(Box::new(hub));
    }
    if let Some(gateway) = gateway {
        registry.register_collector(Box::new(Gateway(gateway)));
    }
    registry.register_collector(Box::new(Process));
    let mut page = String::new();
    // A text takes whatever is written.
    let _ = text::encode(&mut page, &registry);
    page
}

/// A hub at one moment.
#[derive(Debug, Default)]
struct Look {
    /// Requests that the rules refused.
    refused: i64,
    /// The use of each limit.
    limits: Vec<LimitUse>,
    /// With the topics that have rows of their own.
    hub: HubStatus,
    /// The other topics together, if there are any.
    others: Option<TopicTotals>,
    /// How many topics there are, with rows or without.
    topic_count: usize,
    /// All topics together, those included that are gone.
    all: TopicTotals,
    subscribers: Vec<(String, SubscriberStatus)>,
    /// For how long the subscribers of each topic have held publishers back.
    held: Vec<(String, Duration)>,
    /// How long events take.
    latencies: Option<HubLatencies>,
}

impl Look {
    fn at(view: &HubView, has_subscribers: bool) -> Option<Self> {
        let mut hub = view.status()?;
        let all = view.totals()?;
        let refused = i64::try_from(view.refused()?).unwrap_or(i64::MAX);
        let limits = view.limits()?;
        let mut subscribers = Vec::new();
        if has_subscribers {
            let names = hub.topics.iter().map(|topic| &topic.name);
            let topics = names.filter_map(|name| view.topic_status(name));
            let all = topics.flat_map(|topic| {
                let TopicStatus {
                    totals,
                    subscribers,
                    ..
                } = topic;
                subscribers
                    .into_iter()
                    .map(move |own| (totals.name.clone(), own))
            });
            subscribers = all.take(SUBSCRIBER_MAX).collect();
        }
        let topic_count = hub.topics.len();
        let others = take_others(&mut hub.topics);
        let topics = hub.topics.iter();
        let held =
            topics.filter_map(|topic| Some((topic.name.clone(), view.held_time(&topic.name)?)));
        Some(Self {
            held: held.collect(),
            latencies: view.latencies(),
            refused,
            limits,
            hub,
            others,
            topic_count,
            all,
            subscribers,
        })
    }
}

/// Takes out and adds up what is too much.
fn take_others(topics: &mut Vec<TopicTotals>) -> Option<TopicTotals> {
    if topics.len() <= TOPIC_MAX {
        return None;
    }
    let mut others = TopicTotals::default();
    OTHERS.clone_into(&mut others.name);
    let nameless = topics.iter().position(|topic| topic.name == OTHERS);
    let nameless = nameless.map(|at| topics.remove(at));
    for topic in topics.drain(TOPIC_MAX..).chain(nameless) {
        crate::hub::add(&mut others, &topic);
    }
    Some(others)
}

impl Collector for Look {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let mut rows = Rows(&mut encoder);
        rows.hub(&self.hub, self.topic_count)?;
        let help = "Requests refused by the rules of access";
        rows.counter("floe_hub_requests_refused", help, self.refused)?;
        rows.limits(&self.limits)?;
        rows.all(&self.all)?;
        rows.topics(&self.hub.topics, self.others.as_ref())?;
        rows.held(&self.held)?;
        if let Some(latencies) = &self.latencies {
            rows.latencies(latencies)?;
        }
        if !self.subscribers.is_empty() {
            rows.subscribers(&self.subscribers)?;
        }
        Ok(())
    }
}

/// A gateway at one moment.
#[derive(Debug)]
struct Gateway(GatewayStatus);

impl Collector for Gateway {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let status = &self.0;
        let number = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
        let mut rows = Rows(&mut encoder);
        let sessions = i64::try_from(status.sessions).unwrap_or(i64::MAX);
        rows.gauge("floe_gateway_sessions", "Sessions", sessions)?;
        let help = "Sessions created";
        rows.counter(
            "floe_gateway_sessions_created",
            help,
            number(status.sessions_created),
        )?;
        let help = "What was refused or made to wait, by what it was";
        let refused = [
            ("login", status.logins_refused),
            ("slowed-login", status.logins_slowed),
            ("rate", status.rate_exceeded),
            ("without-session", status.requests_without_session),
            ("proxy", status.proxies_refused),
            ("request", status.requests_refused),
            ("callback", status.callbacks_refused),
        ];
        let refused = refused.map(|(what, count)| (labelled("what", what), number(count)));
        rows.counters("floe_gateway_refused", help, refused)?;
        let help = "Objects that routing tables had no room for any more";
        let evicted = number(status.routes_evicted);
        rows.counter("floe_gateway_routes_evicted", help, evicted)?;
        let ways = |to_servers, to_clients| {
            let ways = [("servers", to_servers), ("clients", to_clients)];
            ways.map(|(to, count)| (labelled("to", to), number(count)))
        };
        let requests = ways(status.to_servers, status.to_clients);
        rows.counters("floe_gateway_forwarded", "Requests forwarded", requests)?;
        let bytes = ways(status.to_servers_bytes, status.to_clients_bytes);
        rows.counters("floe_gateway_forwarded_bytes", "Bytes of these", bytes)?;
        rows.gauge(
            "floe_gateway_queued",
            "Requests that wait",
            number(status.queued),
        )?;
        let help = "Bytes of these";
        rows.gauge(
            "floe_gateway_queued_bytes",
            help,
            number(status.queued_bytes),
        )?;
        let help = "Requests that a later one replaced in a queue";
        rows.counter("floe_gateway_overridden", help, number(status.overridden))?;
        let help = "Requests that were not forwarded, by reason";
        let lost = [("full", status.queue_full), ("failed", status.lost)];
        let lost = lost.map(|(reason, count)| (labelled("reason", reason), number(count)));
        rows.counters("floe_gateway_lost", help, lost)
    }
}

fn labelled(name: &'static str, value: &str) -> Labels {
    vec![(name, value.to_owned())]
}

/// The process at one moment.
#[derive(Debug)]
struct Process;

impl Collector for Process {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let mut rows = Rows(&mut encoder);
        let build = vec![("version", env!("CARGO_PKG_VERSION").to_owned())];
        rows.gauges("floe_build_info", "The version of Floe", [(build, 1)])?;
        rows.process()
    }
}

type Labels = Vec<(&'static str, String)>;

/// Writes one metric after another.
struct Rows<'a, 'b>(&'a mut DescriptorEncoder<'b>);

impl Rows<'_, '_> {
    fn hub(&mut self, hub: &HubStatus, topic_count: usize) -> fmt::Result {
        let topics = i64::try_from(topic_count).unwrap_or(i64::MAX);
        let uptime = [(Labels::new(), seconds(hub.uptime))];
        self.gauges("floe_hub_uptime_seconds", "How long the hub runs", uptime)?;
        self.gauge("floe_hub_topics", "Topics", topics)?;
        self.gauge(
            "floe_hub_connections",
            "Open connections of peers",
            hub.connections,
        )?;
        let help = "Connections refused because a limit was reached";
        self.counter(
            "floe_hub_connections_refused",
            help,
            hub.connections_refused,
        )
    }

    fn limits(&mut self, limits: &[LimitUse]) -> fmt::Result {
        let row = |value: fn(&LimitUse) -> usize| {
            move |limit: &LimitUse| {
                let labels = vec![("limit", limit.setting.to_owned())];
                (labels, i64::try_from(value(limit)).unwrap_or(i64::MAX))
            }
        };
        let help =
            "How much of a limit of the hub is used; of a limit by user, by the user who has most";
        self.gauges(
            "floe_hub_limit_used",
            help,
            limits.iter().map(row(|it| it.used)),
        )?;
        let help = "How much of it may be used";
        self.gauges(
            "floe_hub_limit",
            help,
            limits.iter().map(row(|it| it.limit)),
        )
    }

    fn all(&mut self, all: &TopicTotals) -> fmt::Result {
        let help = "Events published, topics that are gone included";
        self.counter("floe_hub_published", help, all.published)?;
        let help = "Deliveries, topics that are gone included";
        self.counter("floe_hub_delivered", help, all.delivered)?;
        let lost = by_reason(Labels::new(), &all.lost);
        let help = "Events not delivered, by reason, topics that are gone included";
        self.counters("floe_hub_lost", help, lost)
    }

    fn topics(&mut self, own: &[TopicTotals], others: Option<&TopicTotals>) -> fmt::Result {
        let row = |value: fn(&TopicTotals) -> i64| {
            move |topic: &TopicTotals| (of_topic(&topic.name), value(topic))
        };
        let counted = |value| own.iter().map(row(value));
        let rows = |value| own.iter().chain(others).map(row(value));
        self.counters(
            "floe_topic_published",
            "Events published",
            counted(|t| t.published),
        )?;
        self.counters(
            "floe_topic_delivered",
            "Deliveries",
            counted(|t| t.delivered),
        )?;
        let lost = own
            .iter()
            .flat_map(|t| by_reason(of_topic(&t.name), &t.lost));
        self.counters("floe_topic_lost", "Events not delivered, by reason", lost)?;
        self.gauges(
            "floe_topic_subscribers",
            "Subscribers",
            rows(|t| t.subscribers.into()),
        )?;
        self.gauges("floe_topic_queued", "Events that wait", rows(|t| t.queued))?;
        self.gauges(
            "floe_topic_queued_bytes",
            "Bytes of these",
            rows(|t| t.queued_bytes),
        )?;
        self.gauges(
            "floe_topic_outstanding",
            "Events under way",
            rows(|t| t.outstanding),
        )?;
        let lag = "Age of the event that waits longest";
        let rows = rows(|t| t.lag).map(|(labels, lag)| (labels, seconds(lag)));
        self.gauges("floe_topic_lag_seconds", lag, rows)
    }

    fn held(&mut self, held: &[(String, Duration)]) -> fmt::Result {
        let help = "How long publishers were held back, summed over the subscribers whose queues were full";
        let mut metric =
            self.0
                .encode_descriptor("floe_topic_held_seconds", help, None, MetricType::Counter)?;
        for (topic, time) in held {
            let labels = of_topic(topic);
            ConstCounter::new(time.as_secs_f64()).encode(metric.encode_family(&labels)?)?;
        }
        Ok(())
    }

    fn subscribers(&mut self, subscribers: &[(String, SubscriberStatus)]) -> fmt::Result {
        let rows = |value: fn(&SubscriberStatus) -> i64| {
            let row = move |(topic, own): &(String, SubscriberStatus)| {
                (of_subscriber(topic, own), value(own))
            };
            subscribers.iter().map(row)
        };
        self.counters(
            "floe_subscriber_offered",
            "Events meant for it",
            rows(|s| s.info.offered),
        )?;
        self.counters(
            "floe_subscriber_delivered",
            "Deliveries",
            rows(|s| s.info.delivered),
        )?;
        let lost = subscribers
            .iter()
            .flat_map(|(topic, own)| by_reason(of_subscriber(topic, own), &own.info.lost));
        self.counters(
            "floe_subscriber_lost",
            "Events not delivered, by reason",
            lost,
        )?;
        self.gauges(
            "floe_subscriber_queued",
            "Events that wait",
            rows(|s| s.info.queued),
        )?;
        let outstanding = rows(|s| s.info.outstanding);
        self.gauges(
            "floe_subscriber_outstanding",
            "Events under way",
            outstanding,
        )?;
        let lag = "Age of the event that waits longest";
        let rows = rows(|s| s.lag).map(|(labels, lag)| (labels, seconds(lag)));
        self.gauges("floe_subscriber_lag_seconds", lag, rows)
    }

    fn process(&mut self) -> fmt::Result {
        if let Some(bytes) = resident_bytes() {
            self.gauge("process_resident_memory_bytes", "Memory in use", bytes)?;
        }
        let Some((open, max)) = open_files::count() else {
            return Ok(());
        };
        let number = |count| i64::try_from(count).unwrap_or(i64::MAX);
        let help = "Open descriptors; each connection is one";
        self.gauge("process_open_fds", help, number(open))?;
        let help = "The limit of open descriptors; at the limit, the hub accepts no connections and makes none to subscribers";
        self.gauge("process_max_fds", help, number(max))
    }

    fn latencies(&mut self, latencies: &HubLatencies) -> fmt::Result {
        let help = "How long the oldest event waited, each time that events left a queue";
        self.histogram("floe_hub_queue_wait_seconds", help, &latencies.waits)?;
        let help = "How long twoway subscribers took to answer an event that was sent to them";
        self.histogram("floe_hub_answer_seconds", help, &latencies.answers)?;
        let help =
            "How long it took from the publisher of an event to the answer of a twoway subscriber";
        self.histogram("floe_hub_delivery_seconds", help, &latencies.deliveries)
    }

    fn histogram(&mut self, name: &str, help: &str, counts: &LatencyCounts) -> fmt::Result {
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
    fn counter(&mut self, name: &str, help: &str, value: i64) -> fmt::Result {
        let metric = self
            .0
            .encode_descriptor(name, help, None, MetricType::Counter)?;
        ConstCounter::new(u64::try_from(value).unwrap_or(0)).encode(metric)
    }

    /// One without labels.
    fn gauge(&mut self, name: &str, help: &str, value: i64) -> fmt::Result {
        let metric = self
            .0
            .encode_descriptor(name, help, None, MetricType::Gauge)?;
        ConstGauge::new(value).encode(metric)
    }

    fn counters(
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

    fn gauges<N: EncodeGaugeValue>(
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

/// Microseconds, in the unit that Prometheus wants.
fn seconds(microseconds: i64) -> f64 {
    microseconds as f64 / 1e6
}

fn of_topic(name: &str) -> Labels {
    vec![("topic", escaped(name))]
}

fn of_subscriber(topic: &str, subscriber: &SubscriberStatus) -> Labels {
    let identity = &subscriber.info.subscriber.reference().identity;
    let identity = escaped(&identity.to_string());
    vec![("topic", escaped(topic)), ("subscriber", identity)]
}

fn by_reason(labels: Labels, lost: &Losses) -> [(Labels, i64); 6] {
    let with = |reason: &str, count| {
        let mut labels = labels.clone();
        labels.push(("reason", reason.to_owned()));
        (labels, count)
    };
    [
        with("overflow", lost.overflow),
        with("offline", lost.offline),
        with("failed", lost.failed),
        with("removed", lost.removed),
        with("looped", lost.looped),
        with("expired", lost.expired),
    ]
}

/// The value of a label as the text format wants it: the encoder writes it as it is.
fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('\n', "\\n")
}

/// Memory of this process, where the system tells it as Linux does.
fn resident_bytes() -> Option<i64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kilobytes = line.trim().strip_suffix("kB")?.trim().parse::<i64>().ok()?;
    kilobytes.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    #[test]
    fn a_name_cannot_end_its_label() {
        assert_eq!(escaped("a\"} 1\nb\\"), "a\\\"} 1\\nb\\\\");
    }

    fn topic(number: usize) -> TopicTotals {
        let mut topic = TopicTotals::default();
        (topic.name, topic.queued) = (format!("t{number:04}"), 1);
        (topic.published, topic.delivered, topic.lost.failed) = (1, 1, 1);
        topic
    }

    /// The page of a hub with these topics.
    fn page_of(mut topics: Vec<TopicTotals>) -> String {
        let others = take_others(&mut topics);
        let mut look = Look {
            others,
            ..Look::default()
        };
        look.hub.topics = topics;
        page(Some(look), None)
    }

    #[test]
    fn what_topics_beyond_the_limit_have_now_is_added_up() {
        let page = page_of((0..TOPIC_MAX + 5).map(topic).collect());
        assert!(page.contains("floe_topic_queued{topic=\"\"} 5\n"));
        let rows = |name| page.lines().filter(|line| line.starts_with(name)).count();
        assert_eq!(rows("floe_topic_queued{"), TOPIC_MAX + 1);
        assert_eq!(rows("floe_topic_published_total{"), TOPIC_MAX);
    }

    #[test]
    fn no_counter_falls_when_a_topic_gets_a_row_or_leaves() {
        let counters = |page: &str| -> HashMap<String, u64> {
            let rows = page.lines().filter(|line| line.contains("_total"));
            let rows = rows.filter_map(|line| line.rsplit_once(' '));
            rows.map(|(name, count)| (name.to_owned(), count.parse().expect("it is a number")))
                .collect()
        };
        let before = counters(&page_of((0..TOPIC_MAX + 5).map(topic).collect()));
        let after = counters(&page_of((1..TOPIC_MAX + 4).map(topic).collect()));
        for (name, count) in &before {
            let later = after.get(name);
            assert!(
                later.is_none_or(|later| later >= count),
                "{name} {count} {later:?}"
            );
        }
    }

    #[test]
    fn a_topic_without_a_name_has_no_row_beside_that_of_others() {
        let mut topics = vec![TopicTotals::default()];
        topics.extend((1..=TOPIC_MAX).map(topic));
        topics[0].queued = 7;
        let page = page_of(topics);
        let of_others = page.lines().filter(|line| line.contains("topic=\"\""));
        let queued: Vec<_> = of_others
            .filter(|line| line.starts_with("floe_topic_queued{"))
            .collect();
        assert_eq!(queued, ["floe_topic_queued{topic=\"\"} 7"]);
    }
}
