//! What people are told of a full queue.

use super::*;
use crate::core::OverflowSummary;

const BEGAN: OverflowNotice = OverflowNotice::Began {
    policy: OverflowPolicy::DropOldest,
};

#[test]
fn an_overflow_is_told_of_when_it_begins_and_when_there_is_room_again() {
    let now = Instant::now();
    let mut subscription = subscription(RetryCount::Limited(0));
    for number in 0..3 {
        subscription.handle_events(event(number), now);
        assert_eq!(subscription.poll_notice(), None);
    }
    subscription.handle_events(event(3), now);
    assert_eq!(subscription.poll_notice(), Some(BEGAN));
    // It is a little too slow: there is never much room.
    for number in 4..8 {
        assert_eq!(take(&mut subscription, 1).len(), 1);
        subscription.handle_events(event(number), now);
        subscription.handle_events(event(number), now);
        assert_eq!(subscription.poll_notice(), None);
    }
    take(&mut subscription, 2);
    let ended = OverflowNotice::Ended { lost: 5 };
    assert_eq!(subscription.poll_notice(), Some(ended));
    assert_eq!(subscription.poll_notice(), None);
}

#[test]
fn an_overflow_ends_with_the_events_that_are_discarded_after_a_failure() {
    let now = Instant::now();
    let mut subscription = subscription(RetryCount::Limited(1));
    for number in 0..4 {
        subscription.handle_events(event(number), now);
    }
    assert_eq!(subscription.poll_notice(), Some(BEGAN));
    subscription.handle_failed(0, DeliveryFailure::Soft, now);
    let ended = OverflowNotice::Ended { lost: 1 };
    assert_eq!(subscription.poll_notice(), Some(ended));
}

#[test]
fn an_event_that_no_queue_has_room_for_is_told_as_such() {
    let now = Instant::now();
    for overflow in [OverflowPolicy::DropOldest, OverflowPolicy::DropNewest] {
        let qos = qos(TWOWAY, RetryCount::Unlimited);
        let mut subscription = Subscription::new(&qos, limits(overflow), DISCARD_INTERVAL);
        subscription.handle_events(Numbered(vec![(0, 101)]), now);
        let too_long = OverflowNotice::TooLong { len: 101, max: 100 };
        assert_eq!(subscription.poll_notice(), Some(too_long));
        assert_eq!(subscription.snapshot().accounts.lost.overflow, 1);
        // The queue is not full.
        subscription.handle_events(event(1), now);
        assert_eq!(subscription.poll_notice(), None);
        assert_eq!(take(&mut subscription, 10), [1]);
    }
}

#[test]
fn an_event_that_is_too_long_hides_no_overflow() {
    let now = Instant::now();
    let batches = [
        (vec![(0, 10), (1, 10), (2, 10), (3, 10), (4, 101)], 2),
        (vec![(0, 101), (1, 10), (2, 10), (3, 10), (4, 10)], 1),
    ];
    let summary = OverflowSummary {
        too_long_count: 1,
        ..OverflowSummary::default()
    };
    for (batch, lost) in batches {
        let mut subscription = subscription(RetryCount::Unlimited);
        subscription.handle_events(Numbered(batch), now);
        assert_eq!(subscription.poll_notice(), Some(BEGAN));
        take(&mut subscription, 10);
        let ended = OverflowNotice::Ended { lost };
        assert_eq!(subscription.poll_notice(), Some(ended));
        assert_eq!(subscription.poll_summary(now), Some(summary));
    }
}

#[test]
fn a_queue_for_no_events_is_full_and_blames_no_bytes() {
    let qos = qos(TWOWAY, RetryCount::Unlimited);
    let limits = QueueLimits {
        events: 0,
        ..limits(OverflowPolicy::DropOldest)
    };
    let mut subscription = Subscription::new(&qos, limits, DISCARD_INTERVAL);
    subscription.handle_events(event(0), Instant::now());
    assert_eq!(subscription.poll_notice(), Some(BEGAN));
    assert_eq!(subscription.snapshot().accounts.lost.overflow, 1);
}

/// Fills the queue, loses this many events, and empties it; what people are told.
fn overflow(
    subscription: &mut Subscription<Numbered>,
    lost: u32,
    now: Instant,
) -> Vec<OverflowNotice> {
    let mut notices = Vec::new();
    for number in 0..3 + lost {
        subscription.handle_events(event(number), now);
        notices.extend(subscription.poll_notice());
    }
    take(subscription, 3);
    notices.extend(subscription.poll_notice());
    notices
}

#[test]
fn a_queue_that_flaps_is_told_of_at_first_and_then_in_summaries_that_miss_nothing() {
    let start = Instant::now();
    let mut subscription = subscription(RetryCount::Limited(0));
    let (mut lines, mut told, mut comes_at) = (0, 0, None);
    // A minute, twenty times a second.
    for step in 0..1200 {
        let now = start + Duration::from_millis(50) * step;
        for notice in overflow(&mut subscription, 2, now) {
            lines += 1;
            assert!(step == 0, "{notice:?}");
            if let OverflowNotice::Ended { lost } = notice {
                told += lost;
            }
            comes_at = subscription
                .await_summary()
                .map(|after| now + after)
                .or(comes_at);
        }
        if comes_at.is_some_and(|at| now >= at) {
            let summary = subscription.poll_summary(now).expect("it flaps");
            assert_eq!((summary.lost, summary.lasts), (2 * summary.count, false));
            (lines, told) = (lines + 1, told + summary.lost);
            comes_at = Some(now + Duration::from_secs(10));
        }
    }
    assert_eq!(lines, 2 + 5);
    let rest = subscription.poll_summary(start + Duration::from_secs(60));
    told += rest.expect("it has flapped since").lost;
    assert_eq!(told, subscription.snapshot().accounts.lost.overflow);
    // Then it is calm: nobody is to come any more, and the next one is told of as the first.
    let later = start + Duration::from_secs(70);
    assert_eq!(subscription.poll_summary(later), None);
    let notices = overflow(&mut subscription, 1, later);
    assert_eq!(notices, [BEGAN, OverflowNotice::Ended { lost: 1 }]);
    assert_eq!(subscription.await_summary(), Some(Duration::from_secs(10)));
    assert_eq!(subscription.await_summary(), None, "somebody is to come");
}

#[test]
fn an_overflow_that_lasts_when_a_summary_tells_of_it_is_told_of_when_it_ends() {
    let now = Instant::now();
    let mut subscription = subscription(RetryCount::Limited(0));
    overflow(&mut subscription, 1, now);
    for number in 0..5 {
        subscription.handle_events(event(number), now);
    }
    assert_eq!(subscription.poll_notice(), None);
    let summary = OverflowSummary {
        count: 1,
        lost: 2,
        lasts: true,
        ..OverflowSummary::default()
    };
    let later = now + Duration::from_secs(10);
    assert_eq!(subscription.poll_summary(later), Some(summary));
    subscription.handle_events(events(5..8), later);
    subscription.remove();
    let ended = OverflowNotice::Ended { lost: 3 };
    assert_eq!(subscription.poll_notice(), Some(ended));
}

#[test]
fn events_that_no_queue_has_room_for_are_told_of_once_and_then_counted() {
    let now = Instant::now();
    let mut subscription = subscription(RetryCount::Unlimited);
    let too_long = OverflowNotice::TooLong { len: 101, max: 100 };
    for told in [Some(too_long), None, None] {
        subscription.handle_events(Numbered(vec![(0, 101)]), now);
        assert_eq!(subscription.poll_notice(), told);
    }
    // It is another thing that the queue is full.
    let notices = overflow(&mut subscription, 1, now);
    assert_eq!(notices, [BEGAN, OverflowNotice::Ended { lost: 1 }]);
    let summary = OverflowSummary {
        too_long_count: 2,
        ..OverflowSummary::default()
    };
    assert_eq!(subscription.poll_summary(now), Some(summary));
}

#[test]
fn what_begins_when_nobody_is_to_come_any_more_is_told_of() {
    let start = Instant::now();
    let mut subscription = subscription(RetryCount::Limited(0));
    let both = [BEGAN, OverflowNotice::Ended { lost: 1 }];
    assert_eq!(overflow(&mut subscription, 1, start), both);
    assert!(subscription.await_summary().is_some());
    let later = start + Duration::from_secs(10);
    assert_eq!(subscription.poll_summary(later), None);
    // A publisher looked at the clock before.
    let before = later - Duration::from_millis(1);
    assert_eq!(overflow(&mut subscription, 1, before), both);
    assert!(subscription.await_summary().is_some());
}

#[test]
fn where_nobody_comes_for_the_summary_somebody_else_is_asked() {
    let start = Instant::now();
    let mut subscription = subscription(RetryCount::Limited(0));
    let both = [BEGAN, OverflowNotice::Ended { lost: 1 }];
    assert_eq!(overflow(&mut subscription, 1, start), both);
    assert!(subscription.await_summary().is_some());
    assert_eq!(overflow(&mut subscription, 1, start), []);
    let later = start + Duration::from_secs(20);
    assert_eq!(overflow(&mut subscription, 1, later), both);
    assert!(subscription.await_summary().is_some());
    let summary = OverflowSummary {
        count: 1,
        lost: 1,
        ..OverflowSummary::default()
    };
    assert_eq!(subscription.poll_summary(later), Some(summary));
}
