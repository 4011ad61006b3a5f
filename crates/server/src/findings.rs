//! The problems of a hub that an operator should look at, which the console, `floe status` and `floe doctor` list.

use std::time::Duration;

use floe_hub::contracts::floe::{
    DurableSubscriptionStatus, DurableTopicStatus, HubOverview, Losses, RecentLoss,
};

use crate::dead_letters::is_replay;
use crate::totals;
use crate::values::shown::{away_text, bytes, counted_events, lag_events, time};

/// A look at a hub.
#[derive(Debug, Clone, Default)]
pub struct Overview {
    /// The hub as a whole. From an older hub, it has no losses with their time and no dead letters.
    pub hub: HubOverview,
    /// True if the hub knows when and where events were lost, and which of them became dead letters.
    pub knows_recent: bool,
    /// Its durable topics; `None` from an older hub.
    pub durable: Option<Vec<DurableTopicStatus>>,
    /// The problems that keep the hub from storing events and changes now. An older hub tells nothing.
    pub storage_problems: Vec<String>,
    /// Problems of bridges to other worlds, each as a phrase.
    pub bridge_problems: Vec<String>,
}

/// From where on something is a problem.
#[derive(Debug, Clone, Copy)]
pub struct Thresholds {
    /// Lost events and refused connections of this time until now are a problem. Default: a minute.
    pub since: Duration,
    /// More events that a durable subscription has not acknowledged are a problem. Default: 5,000; a subscription that keeps up has up
    /// to 4,096 events under way.
    pub lag_events: i64,
    /// An event that has waited longer for its subscriber, or for a durable subscription, is a problem. Default: 10 seconds.
    pub lag_age: Duration,
}

impl Default for Thresholds {
    fn default() -> Self {
        Self {
            since: Duration::from_secs(60),
            lag_events: 5_000,
            lag_age: Duration::from_secs(10),
        }
    }
}

/// Places of losses that are named. The rest is summed up.
const PLACES_MAX: usize = 5;

/// Lists the problems of a hub.
pub fn problems(overview: &Overview, thresholds: &Thresholds) -> Vec<String> {
    let hub = &overview.hub;
    let mut problems = overview.storage_problems.clone();
    problems.extend(overview.bridge_problems.iter().cloned());
    problems.extend(match overview.knows_recent {
        true => recent_losses(&hub.losses, &hub.recently_lost),
        // An older hub knows only what was lost since it started.
        false => reasons(&hub.totals.lost)
            .into_iter()
            .filter_map(|reason| reason.is_problem.then(|| reason.text()))
            .collect(),
    });
    let waits = micros(hub.totals.lag);
    if waits > thresholds.lag_age {
        problems.push(format!(
            "an event has waited {} s for its subscriber",
            waits.as_secs()
        ));
    }
    let refused = match overview.knows_recent {
        true => hub.recently_refused,
        false => hub.connections_refused,
    };
    match refused {
        ..=0 => {}
        1 => problems.push("1 connection was refused because a limit was reached".to_owned()),
        count => problems.push(format!(
            "{count} connections were refused because a limit was reached"
        )),
    }
    for topic in overview.durable.iter().flatten() {
        problems.extend(of_log(topic));
        // Nobody reads the positions of `floe dlq replay` in between. Dead letters are counted as such.
        let all = topic
            .subscriptions
            .iter()
            .filter(|own| !is_replay(&own.name));
        problems.extend(all.filter_map(|own| of_subscription(&topic.name, own, thresholds)));
    }
    problems
}

/// Where events were lost, as far as that is a problem.
fn recent_losses(places: &[RecentLoss], sum: &Losses) -> Vec<String> {
    let all = problem_count(sum);
    let bad: Vec<_> = places
        .iter()
        .filter(|it| problem_count(&it.lost) > 0)
        .collect();
    let mut named = 0;
    let mut problems = Vec::new();
    for place in bad.iter().take(PLACES_MAX) {
        named += problem_count(&place.lost);
        let ago = time(place.age);
        for reason in reasons(&place.lost).iter().filter(|it| it.is_problem) {
            problems.push(format!(
                "{} (topic `{}`, subscriber `{}`, last {ago} ago)",
                reason.text(),
                place.topic,
                place.subscriber
            ));
        }
    }
    match all.saturating_sub(named) {
        ..=0 => {}
        1 => problems.push("1 more event was lost elsewhere".to_owned()),
        more => problems.push(format!("{more} more events were lost elsewhere")),
    }
    problems
}

fn of_log(topic: &DurableTopicStatus) -> Option<String> {
    (topic.unwritten > 0).then(|| {
        format!(
            "{} of topic `{}` accepted and not written into its log",
            counted_events(topic.unwritten),
            topic.name
        )
    })
}

fn of_subscription(
    topic: &str,
    own: &DurableSubscriptionStatus,
    thresholds: &Thresholds,
) -> Option<String> {
    let lag = lag_events(own);
    let is_late = lag > 0 && micros(own.lag_age) > thresholds.lag_age;
    if lag <= thresholds.lag_events && !is_late && own.dropped == 0 {
        return None;
    }
    let dropped = match own.dropped {
        0 => String::new(),
        count => format!(
            "; the log has dropped {} that it never got",
            counted_events(count)
        ),
    };
    let away = away_text(own).map_or(String::new(), |text| format!("; {text}"));
    Some(format!(
        "durable subscription `{}` of topic `{topic}` is {} ({}) behind, the oldest from {} ago{dropped}{away}",
        own.name,
        counted_events(lag),
        bytes(own.lag_bytes),
        time(own.lag_age)
    ))
}

/// Lost events of one reason.
pub struct LossReason {
    /// Events that waited when a subscriber left are its own affair, as are those that were too old for it.
    pub is_problem: bool,
    count: i64,
    why: &'static str,
}

impl LossReason {
    /// The loss in words.
    pub fn text(&self) -> String {
        let events = match self.count {
            1 => "event was",
            _ => "events were",
        };
        format!("{} {events} lost {}", self.count, self.why)
    }
}

/// Sorts lost events by their reason.
pub fn reasons(lost: &Losses) -> Vec<LossReason> {
    let full = "because the queue of a subscriber was full";
    let overtaken = "because the retention of a topic overtook a subscriber";
    let left = "when their subscriber left before it had received them";
    let all = [
        (true, lost.overflow, full),
        (true, lost.offline, "while a subscriber was offline"),
        (true, lost.failed, "because delivery failed"),
        (true, lost.looped, "in a loop of hubs"),
        (true, lost.retention, overtaken),
        (false, lost.removed, left),
        (false, lost.expired, "because their lifespan was over"),
    ];
    let lost = all.into_iter().filter(|(_, count, _)| *count != 0);
    lost.map(|(is_problem, count, why)| LossReason {
        is_problem,
        count,
        why,
    })
    .collect()
}

fn problem_count(lost: &Losses) -> i64 {
    let own_affair = lost.removed.saturating_add(lost.expired);
    totals::lost(lost).saturating_sub(own_affair)
}

fn micros(time: i64) -> Duration {
    Duration::from_micros(u64::try_from(time).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn overview(hub: HubOverview, durable: Vec<DurableTopicStatus>) -> Overview {
        Overview {
            hub,
            knows_recent: true,
            durable: Some(durable),
            storage_problems: Vec::new(),
            bridge_problems: Vec::new(),
        }
    }

    #[test]
    fn losses_are_a_problem_only_for_a_while_and_have_a_place() {
        let mut hub = HubOverview::default();
        (hub.totals.lost.overflow, hub.connections_refused) = (9, 9);
        let thresholds = Thresholds::default();
        assert!(problems(&overview(hub.clone(), Vec::new()), &thresholds).is_empty());
        let mut loss = RecentLoss::default();
        (loss.topic, loss.subscriber) = ("t".to_owned(), "s".to_owned());
        (loss.lost.overflow, loss.lost.removed, loss.age) = (1, 7, 4_000_000);
        (hub.recently_lost.overflow, hub.recently_lost.removed) = (3, 7);
        (hub.recently_refused, hub.totals.lag) = (2, 11_000_000);
        hub.losses = vec![loss];
        assert_eq!(
            problems(&overview(hub.clone(), Vec::new()), &thresholds),
            [
                "1 event was lost because the queue of a subscriber was full (topic `t`, subscriber `s`, \
                 last 4s ago)",
                "2 more events were lost elsewhere",
                "an event has waited 11 s for its subscriber",
                "2 connections were refused because a limit was reached",
            ]
        );
        // What it cannot store comes first.
        let mut full = overview(hub.clone(), Vec::new());
        full.storage_problems = vec!["the disk is full".to_owned()];
        assert_eq!(problems(&full, &thresholds)[0], "the disk is full");
        // An older hub does not know when, and so all count.
        let older = Overview {
            knows_recent: false,
            ..overview(hub, Vec::new())
        };
        assert_eq!(problems(&older, &thresholds).len(), 3);
    }

    #[test]
    fn a_durable_subscription_is_a_problem_by_its_events_and_by_their_age() {
        let own = DurableSubscriptionStatus {
            name: "d".to_owned(),
            behind: 5_010,
            lag_bytes: 2048,
            lag_age: 2_000_000,
            away: 61_000_000,
            ..DurableSubscriptionStatus::default()
        };
        let mut topic = DurableTopicStatus {
            name: "t".to_owned(),
            subscriptions: vec![own],
            ..DurableTopicStatus::default()
        };
        let found = |topic: &DurableTopicStatus| {
            let hub = HubOverview::default();
            problems(&overview(hub, vec![topic.clone()]), &Thresholds::default())
        };
        let expected = "durable subscription `d` of topic `t` is 5010 events (2.0 KiB) behind, the oldest from 2s ago; nobody has \
                        been there for 1m 1s";
        assert_eq!(found(&topic), [expected]);
        topic.subscriptions[0].behind = 1;
        assert!(found(&topic).is_empty());
        topic.subscriptions[0].lag_age = 11_000_000;
        assert_eq!(found(&topic).len(), 1);
        (
            topic.subscriptions[0].behind,
            topic.subscriptions[0].dropped,
        ) = (0, 3);
        assert_eq!(found(&topic).len(), 1);
    }
}
