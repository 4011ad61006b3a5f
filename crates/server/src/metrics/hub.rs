//! The metrics of a hub, of its topics, and of their subscribers.

use std::fmt;
use std::time::Duration;

use floe_hub::contracts::floe::{
    DurableTopicStatus, HubStatus, Losses, SubscriberStatus, TopicStatus, TopicTotals,
};
use floe_hub::{HubLatencies, HubView, LimitUse};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::DescriptorEncoder;

use super::durable::SUBSCRIPTION_MAX;
use super::rows::{Labels, Rows, escaped};

/// The number of topics with rows of their own, in the order of their names. This limit keeps a client that creates topics from
/// filling the memory of the scraper. One row has the sums of the gauges of all others. It has no sums of their counters: topics
/// come and go among them, and a scraper takes a counter that falls for one that was reset. The rows of the hub count all topics.
const TOPIC_MAX: usize = 1000;
/// The number of subscribers with rows of their own. The others are left out.
const SUBSCRIBER_MAX: usize = 1000;
/// The name in the row of all topics without a row of their own. A topic whose name is empty counts among them.
const OTHERS: &str = "";

/// A hub at one moment.
#[derive(Debug, Default)]
pub(super) struct Look {
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
    /// The durable topics, with some of their subscriptions.
    durable: Vec<DurableTopicStatus>,
    /// How many things keep the hub from storing.
    storage_problems: i64,
}

impl Look {
    pub(super) fn at(view: &HubView, has_subscribers: bool) -> Option<Self> {
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
            durable: view.durable_topics(SUBSCRIPTION_MAX)?,
            storage_problems: i64::try_from(view.storage_problems()?.len()).unwrap_or(i64::MAX),
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
        crate::totals::add(&mut others, &topic);
    }
    Some(others)
}

impl Collector for Look {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let mut rows = Rows(&mut encoder);
        rows.hub(&self.hub, self.topic_count)?;
        let help = "Requests refused by the rules of access";
        rows.counter("floe_hub_requests_refused", help, self.refused)?;
        let help = "What keeps the hub from storing changes and events now; `floe status` names it";
        rows.gauge("floe_hub_storage_problems", help, self.storage_problems)?;
        rows.limits(&self.limits)?;
        rows.all(&self.all)?;
        rows.topics(&self.hub.topics, self.others.as_ref())?;
        rows.held(&self.held)?;
        if !self.durable.is_empty() {
            rows.durable(&self.durable)?;
        }
        if let Some(latencies) = &self.latencies {
            rows.latencies(latencies)?;
        }
        if !self.subscribers.is_empty() {
            rows.subscribers(&self.subscribers)?;
        }
        Ok(())
    }
}

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
        let rows = held.iter().map(|(topic, time)| (of_topic(topic), *time));
        self.times("floe_topic_held_seconds", help, rows)
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

    fn latencies(&mut self, latencies: &HubLatencies) -> fmt::Result {
        let help = "How long the oldest event waited, each time that events left a queue";
        self.histogram("floe_hub_queue_wait_seconds", help, &latencies.waits)?;
        let help = "How long twoway subscribers took to answer an event that was sent to them";
        self.histogram("floe_hub_answer_seconds", help, &latencies.answers)?;
        let help =
            "How long it took from the publisher of an event to the answer of a twoway subscriber";
        self.histogram("floe_hub_delivery_seconds", help, &latencies.deliveries)
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

fn by_reason(labels: Labels, lost: &Losses) -> [(Labels, i64); 7] {
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
        with("retention", lost.retention),
    ]
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::super::page;
    use super::*;

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
        page(
            Some(look),
            None,
            super::super::CompressedStreams::default(),
            None,
        )
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
