//! Checks that the counts of a hub add up.

use floe_hub::contracts::floe::{Losses, SubscriberInfo, TopicStatus};

use super::findings::Findings;

/// Checks what a hub tells of a topic at any moment: each event that was meant for a subscriber is in exactly one
/// place, and no queue is over its limit.
pub(super) fn check(status: &TopicStatus, queued_bytes_max: i64, findings: &Findings) {
    for subscriber in &status.subscribers {
        let info = &subscriber.info;
        let name = format!("{} of topic {}", name(info), status.totals.name);
        findings.expect(
            &format!("{name}: delivered + lost + queued + outstanding"),
            info.offered,
            info.delivered + lost(&info.lost) + info.queued + info.outstanding,
        );
        if info.queued_bytes > queued_bytes_max {
            findings.add(format!(
                "{name}: expected at most {queued_bytes_max} bytes to wait, got {}",
                info.queued_bytes
            ));
        }
    }
}

/// Checks the same when nobody publishes and nothing is under way: then the sums of the topic are those of its
/// subscribers and of those that have left.
pub(super) fn check_at_rest(status: &TopicStatus, published: i64, findings: &Findings) {
    let totals = &status.totals;
    let topic = &totals.name;
    findings.expect(
        &format!("published to topic {topic}"),
        published,
        totals.published,
    );
    findings.expect(
        &format!("queued, outstanding in topic {topic}"),
        (0, 0),
        (totals.queued, totals.outstanding),
    );
    let present = |count: fn(&SubscriberInfo) -> i64| -> i64 {
        status.subscribers.iter().map(|s| count(&s.info)).sum()
    };
    let (delivered, lost_there) = (
        present(|info| info.delivered),
        present(|info| lost(&info.lost)),
    );
    if totals.delivered < delivered || lost(&totals.lost) < lost_there {
        findings.add(format!(
            "topic {topic}: expected no less than its subscribers have, {delivered} delivered and {lost_there} lost, got \
             {} and {}",
            totals.delivered,
            lost(&totals.lost)
        ));
    }
}

/// The subscriber with an identity of this name.
pub(super) fn find<'a>(status: &'a TopicStatus, wanted: &str) -> Option<&'a SubscriberInfo> {
    let infos = status.subscribers.iter().map(|subscriber| &subscriber.info);
    infos.into_iter().find(|info| name(info) == wanted)
}

/// All losses together.
pub(super) fn lost(losses: &Losses) -> i64 {
    losses.overflow
        + losses.offline
        + losses.failed
        + losses.removed
        + losses.looped
        + losses.expired
}

fn name(info: &SubscriberInfo) -> String {
    info.subscriber.reference().identity.to_string()
}

#[cfg(test)]
mod tests {
    use floe::Communicator;
    use floe::contracts::ice_storm::QoS;
    use floe_hub::contracts::floe::{SubscriberState, SubscriberStatus, TopicTotals};

    use super::*;

    fn status(offered: i64, delivered: i64, queued: i64) -> TopicStatus {
        let info = SubscriberInfo {
            offered,
            delivered,
            queued,
            queued_bytes: queued * 10,
            subscriber: Communicator::new().proxy("subscriber").expect("a proxy"),
            is_link: false,
            cost: 0,
            qos: QoS::new(),
            state: SubscriberState::Online,
            lost: Losses::default(),
            outstanding: 0,
        };
        TopicStatus {
            totals: TopicTotals {
                published: offered,
                delivered,
                queued,
                ..TopicTotals::default()
            },
            subscribers: vec![SubscriberStatus { info, lag: 0 }],
            ..TopicStatus::default()
        }
    }

    #[test]
    fn an_event_in_no_place_and_a_queue_over_its_limit_are_found() {
        let count = |status: &TopicStatus| {
            let findings = Findings::default();
            check(status, 50, &findings);
            findings.all().1
        };
        assert_eq!(count(&status(7, 4, 3)), 0);
        assert_eq!(count(&status(7, 4, 2)), 1);
        assert_eq!(count(&status(10, 4, 6)), 1);
    }

    #[test]
    fn at_rest_nothing_waits_and_a_topic_forgets_nobody() {
        let count = |status: &TopicStatus, published| {
            let findings = Findings::default();
            check_at_rest(status, published, &findings);
            findings.all().1
        };
        assert_eq!(count(&status(7, 7, 0), 7), 0);
        assert_eq!(count(&status(7, 7, 0), 8), 1);
        assert_eq!(count(&status(7, 6, 1), 7), 1);
        let mut forgetful = status(7, 7, 0);
        forgetful.totals.delivered = 6;
        assert_eq!(count(&forgetful, 7), 1);
    }
}
