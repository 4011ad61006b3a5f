//! The status of a hub, its topics and their subscribers, in the types of its contract.

use std::sync::Arc;
use std::time::{Duration, Instant};

use floe::{AdapterCounts, Proxy};

use crate::contracts::floe::{
    Backpressure, HeldPublisher, HubStatus, SubscriberInfo, SubscriberState, SubscriberStatus,
    TopicInfo, TopicStatus, TopicTotals,
};
use crate::core::{Snapshot, SubscriptionState};
use crate::service::count::{losses, number};
use crate::service::destroyed_topics::TopicCounts;
use crate::service::registry::Registry;
use crate::service::subscriber::Subscriber;
use crate::service::topic::Topic;

/// The hub and all its topics.
pub(crate) fn of_hub(registry: &Registry) -> HubStatus {
    let topics = registry.directory().topics();
    let totals = topics.map(|topic| totals(&topic, &TopicCounts::of(&topic)));
    HubStatus {
        topics: totals.collect(),
        ..of_hub_alone(registry)
    }
}

/// The hub without its topics.
pub(crate) fn of_hub_alone(registry: &Registry) -> HubStatus {
    let counts = adapter_counts(registry);
    HubStatus {
        uptime: uptime(registry),
        connections: counts
            .iter()
            .map(|counts| number(counts.connections as u64))
            .sum(),
        connections_refused: counts.iter().map(|counts| number(counts.refused)).sum(),
        topics: Vec::new(),
    }
}

/// Connections that were refused since the hub started.
pub(crate) fn refused_count(registry: &Registry) -> u64 {
    let counts = adapter_counts(registry);
    counts.iter().map(|counts| counts.refused).sum()
}

/// The sum over all topics, destroyed ones included.
pub(crate) fn of_all(registry: &Registry) -> TopicTotals {
    topic_totals(String::new(), &registry.directory().counting().finish())
}

/// A topic and its subscribers.
pub(crate) fn of_topic(registry: &Registry, topic: &Arc<Topic>) -> TopicStatus {
    let subscribers = topic.subscribers();
    TopicStatus {
        subscribers: subscribers.map(|s| of_subscriber(registry, &s)).collect(),
        ..of_topic_alone(registry, topic, &TopicCounts::of(topic))
    }
}

/// A topic without its subscribers.
pub(crate) fn of_topic_alone(
    registry: &Registry,
    topic: &Topic,
    counts: &TopicCounts,
) -> TopicStatus {
    TopicStatus {
        uptime: uptime(registry),
        totals: totals(topic, counts),
        subscribers: Vec::new(),
    }
}

/// A topic without its subscribers, for older clients.
pub(crate) fn info_of_topic(topic: &Topic, counts: &TopicCounts) -> TopicInfo {
    let accounts = counts.totals.accounts;
    TopicInfo {
        name: topic.name().to_owned(),
        published: number(counts.published),
        forwarded: number(counts.forwarded),
        delivered: number(accounts.delivered),
        lost: losses(accounts.lost),
        subscribers: Vec::new(),
    }
}

/// How a subscriber holds publishers back; `None` if it has never done so.
pub(crate) fn backpressure_of(
    registry: &Registry,
    subscriber: &Subscriber,
) -> Option<Backpressure> {
    let snapshot = subscriber.snapshot();
    let time = snapshot.held_time(Instant::now());
    (!time.is_zero() || snapshot.held > 0).then(|| Backpressure {
        subscriber: as_shown(registry, subscriber),
        time: micros(time),
        events: number(snapshot.held),
        publishers: held_publishers(subscriber),
    })
}

fn held_publishers(subscriber: &Subscriber) -> Vec<HeldPublisher> {
    let held = subscriber.held_publishers().into_iter();
    held.map(|(publisher, since)| HeldPublisher {
        publisher: publisher.as_deref().unwrap_or_default().to_owned(),
        time: micros(since.elapsed()),
    })
    .collect()
}

/// The sum over the subscribers of a topic, which has these counts.
pub(crate) fn totals(topic: &Topic, counts: &TopicCounts) -> TopicTotals {
    topic_totals(topic.name().to_owned(), counts)
}

pub(crate) fn topic_totals(name: String, counts: &TopicCounts) -> TopicTotals {
    let totals = &counts.totals;
    TopicTotals {
        name,
        subscribers: i32::try_from(totals.subscribers).unwrap_or(i32::MAX),
        published: number(counts.published),
        forwarded: number(counts.forwarded),
        delivered: number(totals.accounts.delivered),
        lost: losses(totals.accounts.lost),
        queued: number(totals.queued),
        queued_bytes: number(totals.queued_bytes),
        outstanding: number(totals.outstanding),
        lag: lag(totals.oldest),
    }
}

/// A subscriber or link.
pub(crate) fn of_subscriber(registry: &Registry, subscriber: &Subscriber) -> SubscriberStatus {
    let snapshot = subscriber.snapshot();
    SubscriberStatus {
        info: info(registry, subscriber, &snapshot),
        lag: lag(snapshot.oldest),
    }
}

fn info(registry: &Registry, subscriber: &Subscriber, snapshot: &Snapshot) -> SubscriberInfo {
    let link = subscriber.link();
    SubscriberInfo {
        subscriber: as_shown(registry, subscriber),
        is_link: link.is_some(),
        cost: link.map_or(0, |link| link.cost().0),
        qos: subscriber.qos_text(),
        state: match snapshot.state {
            SubscriptionState::Online => SubscriberState::Online,
            SubscriptionState::Offline => SubscriberState::Offline,
            SubscriptionState::Failed | SubscriptionState::Gone => SubscriberState::Failed,
        },
        offered: number(snapshot.accounts.offered),
        delivered: number(snapshot.accounts.delivered),
        lost: losses(snapshot.accounts.lost),
        queued: number(snapshot.queued),
        queued_bytes: number(snapshot.queued_bytes),
        outstanding: number(snapshot.outstanding),
    }
}

/// The subscriber, or the topic to which a link leads.
fn as_shown(registry: &Registry, subscriber: &Subscriber) -> Proxy {
    match subscriber.link().zip(registry.adapters()) {
        Some((link, adapters)) => link.topic_from(&adapters.main),
        None => as_reported(subscriber.proxy()),
    }
}

/// The proxy of a subscriber as others may have it: one that is bound to a connection does not travel.
fn as_reported(proxy: &Proxy) -> Proxy {
    match proxy.communicator().filter(|_| proxy.is_fixed()) {
        Some(communicator) => communicator.proxy_from(proxy.reference().clone()),
        None => proxy.clone(),
    }
}

fn adapter_counts(registry: &Registry) -> Vec<AdapterCounts> {
    let Some(adapters) = registry.adapters() else {
        return Vec::new();
    };
    let all = [Some(&adapters.main), adapters.publish.as_ref()];
    all.into_iter()
        .flatten()
        .map(|adapter| adapter.counts())
        .collect()
}

fn uptime(registry: &Registry) -> i64 {
    micros(registry.uptime())
}

/// How long the oldest queued event has waited.
fn lag(oldest: Option<Instant>) -> i64 {
    oldest.map_or(0, |since| micros(since.elapsed()))
}

pub(crate) fn micros(time: Duration) -> i64 {
    i64::try_from(time.as_micros()).unwrap_or(i64::MAX)
}
