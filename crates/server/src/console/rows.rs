//! The rows of a snapshot.

use floe::Proxy;
use floe::reference::Readable;
use floe_gateway::GatewayStatus;
use floe_hub::contracts::floe::{
    DurableSubscriptionStatus, DurableTopicStatus, Losses, SubscriberState, SubscriberStatus,
    TopicTotals,
};
use floe_hub::{HubLatencies, LatencyCounts};
use serde_json::{Value as Json, json};

use super::sample::Rates;
use crate::totals;
use crate::values::shown::lag_events;

/// Microseconds as seconds with three digits.
pub(super) fn seconds(micros: i64) -> Json {
    json!((micros as f64 / 1e3).round() / 1e3)
}

/// Events by the reason of their loss.
pub(super) fn losses(lost: &Losses) -> Json {
    json!({
        "total": totals::lost(lost),
        "overflow": lost.overflow,
        "offline": lost.offline,
        "failed": lost.failed,
        "removed": lost.removed,
        "looped": lost.looped,
        "expired": lost.expired,
        "retention": lost.retention,
    })
}

/// A topic, or all together.
pub(super) fn topic(topic: &TopicTotals, rates: Option<Rates>) -> Json {
    let rate = |of: fn(Rates) -> f64| rates.map(|rates| (of(rates) * 10.0).round() / 10.0);
    json!({
        "name": topic.name,
        "subscribers": topic.subscribers,
        "published": topic.published,
        "forwarded": topic.forwarded,
        "delivered": topic.delivered,
        "lost": losses(&topic.lost),
        "queued": topic.queued,
        "queued_bytes": topic.queued_bytes,
        "outstanding": topic.outstanding,
        "lag_seconds": seconds(topic.lag),
        "published_per_second": rate(|it| it.published),
        "delivered_per_second": rate(|it| it.delivered),
        "lost_per_second": rate(|it| it.lost),
    })
}

/// A proxy as people read it: without timeouts that nobody set.
pub(super) fn shown(proxy: &Proxy) -> String {
    Readable(&proxy.to_string()).to_string()
}

/// A subscriber or link.
pub(super) fn subscriber(topic: &str, status: &SubscriberStatus) -> Json {
    let info = &status.info;
    let state = match info.state {
        SubscriberState::Online => "online",
        SubscriberState::Offline => "offline",
        SubscriberState::Failed => "failed",
    };
    json!({
        "topic": topic,
        "subscriber": shown(&info.subscriber),
        "is_link": info.is_link,
        "cost": info.cost,
        "qos": info.qos,
        "state": state,
        "offered": info.offered,
        "delivered": info.delivered,
        "lost": losses(&info.lost),
        "queued": info.queued,
        "queued_bytes": info.queued_bytes,
        "outstanding": info.outstanding,
        "lag_seconds": seconds(status.lag),
    })
}

/// A durable topic, with its subscriptions.
pub(super) fn durable(topic: &DurableTopicStatus) -> Json {
    let limit = |limit: i64| (limit > 0).then_some(limit);
    json!({
        "topic": topic.name,
        "first": topic.first,
        "next": topic.next,
        "events": topic.events,
        "bytes": topic.bytes,
        "age_seconds": seconds(topic.age),
        "keeps_events": limit(topic.events_max),
        "keeps_bytes": limit(topic.bytes_max),
        "keeps_seconds": limit(topic.age_max).map(seconds),
        "unwritten": topic.unwritten,
        "dead_letters": topic.dead_letters,
        "kept_dead_letters": topic.kept_dead_letters,
        "has_more": topic.has_more,
        "subscriptions": topic.subscriptions.iter().map(subscription).collect::<Vec<_>>(),
    })
}

fn subscription(own: &DurableSubscriptionStatus) -> Json {
    let members = own.members.iter().map(
        |member| json!({ "subscriber": member.subscriber, "away_seconds": seconds(member.away) }),
    );
    json!({
        "name": own.name,
        "position": own.position,
        "pending": own.pending,
        "behind": own.behind,
        "dropped": own.dropped,
        "lag_events": lag_events(own),
        "lag_bytes": own.lag_bytes,
        "lag_seconds": seconds(own.lag_age),
        "subscribers": own.subscribers,
        "members": members.collect::<Vec<_>>(),
        "away_seconds": seconds(own.away),
        "away_since_start": own.is_away_since_start,
        "expired": own.expired,
        "dead_letter_topic": Some(&own.dead_letter_topic).filter(|name| !name.is_empty()),
    })
}

/// How long events took since the hub began to measure.
pub(super) fn latencies(latencies: &HubLatencies) -> Json {
    json!({
        "waits": latency(&latencies.waits),
        "answers": latency(&latencies.answers),
        "deliveries": latency(&latencies.deliveries),
    })
}

/// The counts by upper bound; two looks give the distribution of the time in between.
fn latency(counts: &LatencyCounts) -> Json {
    let buckets = counts.buckets.iter();
    let buckets: Vec<_> = buckets
        .map(|(bound, count)| json!([bound.as_micros() as u64, count]))
        .collect();
    let sum = counts.sum.as_secs_f64();
    json!({ "buckets_us": buckets, "longer": counts.longer, "sum_seconds": sum })
}

/// A gateway.
pub(super) fn gateway(status: &GatewayStatus) -> Json {
    json!({
        "sessions": status.sessions,
        "sessions_created": status.sessions_created,
        "logins_refused": status.logins_refused,
        "logins_slowed": status.logins_slowed,
        "requests_without_session": status.requests_without_session,
        "proxies_refused": status.proxies_refused,
        "requests_refused": status.requests_refused,
        "callbacks_refused": status.callbacks_refused,
        "routes_evicted": status.routes_evicted,
        "rate_exceeded": status.rate_exceeded,
        "memory_bytes": status.memory,
        "memory_full": status.memory_full,
        "to_servers": status.to_servers,
        "to_servers_bytes": status.to_servers_bytes,
        "to_clients": status.to_clients,
        "to_clients_bytes": status.to_clients_bytes,
        "queued": status.queued,
        "queued_bytes": status.queued_bytes,
        "overridden": status.overridden,
        "queue_full": status.queue_full,
        "lost": status.lost,
    })
}
