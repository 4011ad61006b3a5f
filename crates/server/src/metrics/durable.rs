//! The metrics of durable topics: their logs, and how far their subscriptions are behind.

use std::fmt;

use floe_hub::contracts::floe::{DurableSubscriptionStatus, DurableTopicStatus};

use super::rows::{Labels, Rows, escaped};

/// Durable topics with rows of their own, in the order of their names. Like the limit of all topics, it keeps clients from filling
/// the memory of the scraper.
pub(super) const TOPIC_MAX: usize = 1000;
/// Durable subscriptions with rows of their own. The others are left out.
pub(super) const SUBSCRIPTION_MAX: usize = 1000;

impl Rows<'_, '_> {
    pub(super) fn durable(&mut self, topics: &[DurableTopicStatus]) -> fmt::Result {
        let topics = &topics[..topics.len().min(TOPIC_MAX)];
        self.logs(topics)?;
        self.log_limits(topics)?;
        self.subscriptions(topics)
    }

    fn logs(&mut self, topics: &[DurableTopicStatus]) -> fmt::Result {
        let rows = |value: fn(&DurableTopicStatus) -> i64| {
            topics.iter().map(move |it| (of_topic(&it.name), value(it)))
        };
        self.gauges(
            "floe_log_events",
            "Events in the log of a topic",
            rows(|it| it.events),
        )?;
        self.gauges("floe_log_bytes", "Bytes of these", rows(|it| it.bytes))?;
        let age = rows(|it| it.age).map(in_seconds);
        self.gauges("floe_log_age_seconds", "Age of the oldest of these", age)?;
        let help = "Events that were accepted and could not be written into the log";
        self.counters("floe_log_unwritten", help, rows(|it| it.unwritten))?;
        let help = "Events of a topic that became dead letters; they are kept in another topic";
        self.counters("floe_topic_dead_letters", help, rows(|it| it.dead_letters))?;
        let help = "Dead letters of a topic that are kept";
        self.gauges(
            "floe_topic_kept_dead_letters",
            help,
            rows(|it| it.kept_dead_letters),
        )
    }

    /// Only logs with a limit have rows.
    fn log_limits(&mut self, topics: &[DurableTopicStatus]) -> fmt::Result {
        let rows = |value: fn(&DurableTopicStatus) -> i64| {
            let limited = topics.iter().filter(move |it| value(it) > 0);
            limited.map(move |it| (of_topic(&it.name), value(it)))
        };
        let help = "The log may drop its oldest events if it has more";
        self.gauges("floe_log_events_limit", help, rows(|it| it.events_max))?;
        let help = "The log may drop its oldest events if it has more bytes";
        self.gauges("floe_log_bytes_limit", help, rows(|it| it.bytes_max))?;
        let help = "The log may drop events that are older";
        let ages = rows(|it| it.age_max).map(in_seconds);
        self.gauges("floe_log_age_limit_seconds", help, ages)
    }

    fn subscriptions(&mut self, topics: &[DurableTopicStatus]) -> fmt::Result {
        let all = topics
            .iter()
            .flat_map(|topic| topic.subscriptions.iter().map(|own| (&*topic.name, own)));
        let all: Vec<_> = all.take(SUBSCRIPTION_MAX).collect();
        let rows = |value: fn(&DurableSubscriptionStatus) -> i64| {
            let row = move |(topic, own): &(&str, &DurableSubscriptionStatus)| {
                (of_subscription(topic, &own.name), value(own))
            };
            all.iter().map(row)
        };
        let help = "Events that a durable subscription has not acknowledged";
        let lag = rows(|own| own.pending.saturating_add(own.behind));
        self.gauges("floe_durable_lag_events", help, lag)?;
        let help = "Bytes of these in the log";
        self.gauges("floe_durable_lag_bytes", help, rows(|own| own.lag_bytes))?;
        let age = rows(|own| own.lag_age).map(in_seconds);
        self.gauges(
            "floe_durable_lag_seconds",
            "Age of the oldest of these",
            age,
        )?;
        let help =
            "Events that a durable subscription never got, and that the log has not any more";
        self.gauges("floe_durable_dropped_events", help, rows(|own| own.dropped))?;
        let help = "Subscribers of a durable subscription";
        let subscribers = rows(|own| own.subscribers.into());
        self.gauges("floe_durable_subscribers", help, subscribers)?;
        let help = "How long nobody has been there to receive the events of a durable subscription; 0 if somebody is";
        let away = rows(|own| own.away).map(in_seconds);
        self.gauges("floe_durable_away_seconds", help, away)
    }
}

fn in_seconds((labels, microseconds): (Labels, i64)) -> (Labels, f64) {
    (labels, microseconds as f64 / 1e6)
}

fn of_topic(name: &str) -> Labels {
    vec![("topic", escaped(name))]
}

fn of_subscription(topic: &str, name: &str) -> Labels {
    vec![("topic", escaped(topic)), ("subscription", escaped(name))]
}
