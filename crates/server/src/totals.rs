//! Sums of what a hub counts by topic.

use std::collections::{BTreeMap, BTreeSet};

use floe_hub::contracts::floe::{DurableTopicStatus, Losses, TopicTotals};

/// Adds the counts of a topic to those of others; the lag is the longest. Counts are whatever a hub says.
pub fn add(total: &mut TopicTotals, topic: &TopicTotals) {
    total.subscribers = total.subscribers.saturating_add(topic.subscribers);
    let (losses, lost) = (&mut total.lost, &topic.lost);
    for (sum, count) in [
        (&mut total.published, topic.published),
        (&mut total.delivered, topic.delivered),
        (&mut losses.overflow, lost.overflow),
        (&mut losses.offline, lost.offline),
        (&mut losses.failed, lost.failed),
        (&mut losses.removed, lost.removed),
        (&mut losses.looped, lost.looped),
        (&mut losses.expired, lost.expired),
        (&mut losses.retention, lost.retention),
        (&mut total.queued, topic.queued),
        (&mut total.queued_bytes, topic.queued_bytes),
        (&mut total.outstanding, topic.outstanding),
    ] {
        *sum = sum.saturating_add(count);
    }
    total.lag = total.lag.max(topic.lag);
}

/// All losses together.
pub fn lost(losses: &Losses) -> i64 {
    let Losses {
        overflow,
        offline,
        failed,
        removed,
        looped,
        expired,
        retention,
        ..
    } = *losses;
    let all = [
        overflow, offline, failed, removed, looped, expired, retention,
    ];
    all.into_iter().fold(0, i64::saturating_add)
}

/// The dead letters that are kept of all topics. Those of topics that share a topic for them count once.
pub fn kept_dead_letters(all: &[DurableTopicStatus]) -> i64 {
    let events: BTreeMap<_, _> = all.iter().map(|it| (it.name.as_str(), it.events)).collect();
    let chosen = all.iter().flat_map(|topic| &topic.subscriptions);
    let chosen = chosen.map(|own| own.dead_letter_topic.clone());
    let own = all.iter().map(|topic| format!("{}.dead", topic.name));
    let names: BTreeSet<_> = chosen.chain(own).collect();
    let kept = names.iter().filter_map(|name| events.get(name.as_str()));
    kept.fold(0, |sum, events| sum.saturating_add(*events))
}

#[cfg(test)]
mod tests {
    use floe_hub::contracts::floe::DurableSubscriptionStatus;

    use super::*;

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
}
