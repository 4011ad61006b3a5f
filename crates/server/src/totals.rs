//! Sums of what a hub counts by topic.

use floe_hub::contracts::floe::{Losses, TopicTotals};

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
