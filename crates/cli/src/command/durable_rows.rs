//! Rows that tell of durable topics: their logs, and how far their subscriptions are behind.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use floe_hub::contracts::floe::{DurableSubscriptionStatus, DurableTopicStatus};
use serde_json::{Value as Json, json};

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

/// Events that a subscription has not acknowledged.
pub(crate) fn lag_events(own: &DurableSubscriptionStatus) -> i64 {
    own.pending.saturating_add(own.behind)
}

/// The number of events and the age of the oldest, in microseconds, of the subscriptions of a topic that are furthest behind.
pub(crate) fn largest_lag(topic: &DurableTopicStatus) -> (i64, i64) {
    let all = topic.subscriptions.iter();
    all.fold((0, 0), |(events, age), own| {
        (events.max(lag_events(own)), age.max(own.lag_age))
    })
}

/// The dead letters that are kept of all topics. Those of topics that share a topic for them count once.
pub(crate) fn kept_dead_letters(all: &[DurableTopicStatus]) -> i64 {
    let events: BTreeMap<_, _> = all.iter().map(|it| (it.name.as_str(), it.events)).collect();
    let chosen = all.iter().flat_map(|topic| &topic.subscriptions);
    let chosen = chosen.map(|own| own.dead_letter_topic.clone());
    let own = all.iter().map(|topic| format!("{}.dead", topic.name));
    let names: BTreeSet<_> = chosen.chain(own).collect();
    let kept = names.iter().filter_map(|name| events.get(name.as_str()));
    kept.fold(0, |sum, events| sum.saturating_add(*events))
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

/// For how long nobody has been there, as people say it.
pub(crate) fn away_text(own: &DurableSubscriptionStatus) -> Option<String> {
    let text = time(own.away);
    match own.away {
        ..=0 => None,
        _ if own.is_away_since_start => Some(format!(
            "nobody has been there for {text}, since the hub started or longer"
        )),
        _ => Some(format!("nobody has been there for {text}")),
    }
}

/// Microseconds as seconds with three digits.
pub(crate) fn seconds(microseconds: i64) -> Json {
    json!((microseconds as f64 / 1e3).round() / 1e3)
}

/// Microseconds as people say them, in their two largest units: `3d 4h`, `5m 6s`.
pub(crate) fn time(microseconds: i64) -> String {
    let time = Duration::from_micros(u64::try_from(microseconds).unwrap_or(0));
    let seconds = time.as_secs();
    let (days, hours) = (seconds / 86_400, seconds / 3_600 % 24);
    let (minutes, seconds) = (seconds / 60 % 60, seconds % 60);
    match (days, hours, minutes) {
        (0, 0, 0) => format!("{seconds}s"),
        (0, 0, _) => format!("{minutes}m {seconds}s"),
        (0, ..) => format!("{hours}h {minutes}m"),
        _ => format!("{days}d {hours}h"),
    }
}

/// A number of events.
pub(crate) fn counted_events(count: i64) -> String {
    match count {
        1 => "1 event".to_owned(),
        count => format!("{count} events"),
    }
}

/// Bytes as people say them.
pub(crate) fn bytes(count: i64) -> String {
    let units = [("GiB", 30), ("MiB", 20), ("KiB", 10)];
    let unit = units.into_iter().find(|(_, shift)| count >= 1 << shift);
    match unit {
        Some((unit, shift)) => format!("{:.1} {unit}", count as f64 / f64::from(1 << shift)),
        None => format!("{count} B"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_has_its_two_largest_units() {
        let texts = [5_000_000, 306_000_000, 7_260_000_000, 300_000_000_000];
        assert_eq!(texts.map(time), ["5s", "5m 6s", "2h 1m", "3d 11h"]);
    }

    #[test]
    fn topics_that_share_a_topic_for_their_dead_letters_count_them_once() {
        let topic = |name: &str, events, dead: &str| DurableTopicStatus {
            name: name.to_owned(),
            events,
            kept_dead_letters: 4,
            subscriptions: vec![DurableSubscriptionStatus {
                dead_letter_topic: dead.to_owned(),
                ..DurableSubscriptionStatus::default()
            }],
            ..DurableTopicStatus::default()
        };
        let all = [
            topic("a", 9, "shared"),
            topic("b", 9, "shared"),
            topic("c", 9, "c.dead"),
            topic("c.dead", 2, ""),
            topic("shared", 4, ""),
        ];
        assert_eq!(kept_dead_letters(&all), 6);
    }

    #[test]
    fn bytes_have_the_largest_unit_that_fits() {
        let texts = [0, 1023, 1536, 3 << 30];
        assert_eq!(texts.map(bytes), ["0 B", "1023 B", "1.5 KiB", "3.0 GiB"]);
    }
}
