//! Rows that tell of durable topics: their logs, and how far their subscriptions are behind.

use floe_hub::contracts::floe::{DurableSubscriptionStatus, DurableTopicStatus};
use serde_json::{Value as Json, json};

pub(crate) use floe_server::values::shown::{bytes, counted_events, lag_events, time};

/// The columns of a table of durable subscriptions.
pub(crate) const SUBSCRIPTION_COLUMNS: [&str; 8] = [
    "topic",
    "durable_subscription",
    "lag_events",
    "lag_bytes",
    "lag_seconds",
    "dropped",
    "subscribers",
    "away_seconds",
];

/// The number of events and the age of the oldest, in microseconds, of the subscriptions of a topic that are furthest behind.
pub(crate) fn largest_lag(topic: &DurableTopicStatus) -> (i64, i64) {
    let all = topic.subscriptions.iter();
    all.fold((0, 0), |(events, age), own| {
        (events.max(lag_events(own)), age.max(own.lag_age))
    })
}

/// The log of a topic.
pub(crate) fn log(topic: &DurableTopicStatus) -> Json {
    let limit = |limit: i64| (limit > 0).then_some(limit);
    json!({
        "first": topic.first,
        "next": topic.next,
        "events": topic.events,
        "bytes": topic.bytes,
        "age_seconds": seconds(topic.age),
        "keeps_events": limit(topic.events_max),
        "keeps_bytes": limit(topic.bytes_max),
        "keeps_seconds": limit(topic.age_max).map(seconds),
        "unwritten": topic.unwritten,
    })
}

/// The log of a topic in a line.
pub(crate) fn log_text(topic: &DurableTopicStatus) -> String {
    let mut limits = Vec::new();
    if topic.events_max > 0 {
        limits.push(counted_events(topic.events_max));
    }
    if topic.bytes_max > 0 {
        limits.push(bytes(topic.bytes_max));
    }
    if topic.age_max > 0 {
        limits.push(time(topic.age_max));
    }
    let keeps = match limits.is_empty() {
        true => "it keeps all".to_owned(),
        false => format!("it keeps {}", limits.join(", ")),
    };
    let unwritten = match topic.unwritten {
        0 => String::new(),
        count => format!("; {} accepted and not written", counted_events(count)),
    };
    let old = time(topic.age);
    format!(
        "{}, {}, the oldest from {old} ago; {keeps}{unwritten}",
        counted_events(topic.events),
        bytes(topic.bytes)
    )
}

/// A row for each durable subscription of a topic.
pub(crate) fn subscriptions(topic: &DurableTopicStatus) -> impl Iterator<Item = Json> + '_ {
    let all = topic.subscriptions.iter();
    all.map(|own| subscription(&topic.name, own))
}

fn subscription(topic: &str, own: &DurableSubscriptionStatus) -> Json {
    let away = |time: i64| (time > 0).then(|| seconds(time));
    let members = own
        .members
        .iter()
        .map(|member| json!({"subscriber": member.subscriber, "away_seconds": away(member.away)}));
    json!({
        "topic": topic,
        "durable_subscription": own.name,
        "lag_events": lag_events(own),
        "lag_bytes": own.lag_bytes,
        "lag_seconds": seconds(own.lag_age),
        "dropped": own.dropped,
        "subscribers": own.subscribers,
        "away_seconds": away(own.away),
        "away_since_start": own.is_away_since_start,
        "members": members.collect::<Vec<_>>(),
        "position": own.position,
        "pending": own.pending,
        "behind": own.behind,
        "expired": own.expired,
        "dead_letter_topic": Some(&own.dead_letter_topic).filter(|name| !name.is_empty()),
    })
}

/// Microseconds as seconds with three digits.
pub(crate) fn seconds(microseconds: i64) -> Json {
    json!((microseconds as f64 / 1e3).round() / 1e3)
}
