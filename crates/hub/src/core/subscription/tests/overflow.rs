//! The notices of a full queue.

use super::*;
use crate::core::OverflowSummary;

const BEGAN: OverflowNotice = OverflowNotice::Began {
    policy: OverflowPolicy::DropOldest,
};

#[test]
fn an_overflow_is_logged_when_it_begins_and_when_it_ends() {
    let now = Instant::now();
    let mut subscription = subscription(RetryCount::Limited(0));
    for number in 0..3 {
        subscription.handle_events(event(number), now);
        assert_eq!(subscription.poll_notice(), None);
    }
    subscription.handle_events(event(3), now);
    assert_eq!(subscription.poll_notice(), Some(BEGAN));
    // The subscriber is a little too slow: there is never much room.
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
fn a_failure_that_discards_events_ends_an_overflow() {
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
fn an_event_that_fits_no_queue_has_its_own_notice() {
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
fn an_event_that_is_too_long_does_not_hide_an_overflow() {
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
fn a_queue_for_no_events_is_full_and_not_too_short() {
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

/// Fills the queue, loses this many events, and empties it. Returns the notices.
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
fn a_flapping_queue_is_logged_once_and_then_in_complete_summaries() {
    let start = Instant::now();
    let mut subscription = subscription(RetryCount::Limited(0));
    let (mut lines, mut logged, mut comes_at) = (0, 0, None);
    // One minute, twenty times a second.
    for step in 0..1200 {
        let now = start + Duration::from_millis(50) * step;
        for notice in overflow(&mut subscription, 2, now) {
            lines += 1;
            assert!(step == 0, "{notice:?}");
            if let OverflowNotice::Ended { lost } = notice {
                logged += lost;
            }
            comes_at = subscription
                .await_summary()
                .map(|after| now + after)
                .or(comes_at);
        }
        if comes_at.is_some_and(|at| now >= at) {
            let summary = subscription.poll_summary(now).expect("it flaps");
            assert_eq!((summary.lost, summary.lasts), (2 * summary.count, false));
            (lines, logged) = (lines + 1, logged + summary.lost);
            comes_at = Some(now + Duration::from_secs(10));
        }
    }
    assert_eq!(lines, 2 + 5);
    let rest = subscription.poll_summary(start + Duration::from_secs(60));
    logged += rest.expect("it has flapped since").lost;
    assert_eq!(logged, subscription.snapshot().accounts.lost.overflow);
    // Then no overflow begins: the shell does not poll any more, and the next overflow is logged as the first one was.
    let later = start + Duration::from_secs(70);
    assert_eq!(subscription.poll_summary(later), None);
    let notices = overflow(&mut subscription, 1, later);
    assert_eq!(notices, [BEGAN, OverflowNotice::Ended { lost: 1 }]);
    assert_eq!(subscription.await_summary(), Some(Duration::from_secs(10)));
    assert_eq!(subscription.await_summary(), None, "somebody is to come");
}

#[test]
fn an_overflow_that_outlasts_a_summary_is_logged_when_it_ends() {
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
    subscription.remove(now);
    let ended = OverflowNotice::Ended { lost: 3 };
    assert_eq!(subscription.poll_notice(), Some(ended));
}

#[test]
fn events_that_fit_no_queue_are_logged_once_and_then_counted() {
    let now = Instant::now();
    let mut subscription = subscription(RetryCount::Unlimited);
    let too_long = OverflowNotice::TooLong { len: 101, max: 100 };
    for logged in [Some(too_long), None, None] {
        subscription.handle_events(Numbered(vec![(0, 101)]), now);
        assert_eq!(subscription.poll_notice(), logged);
    }
    // A full queue is another kind of notice.
    let notices = overflow(&mut subscription, 1, now);
    assert_eq!(notices, [BEGAN, OverflowNotice::Ended { lost: 1 }]);
    let summary = OverflowSummary {
        too_long_count: 2,
        ..OverflowSummary::default()
    };
    assert_eq!(subscription.poll_summary(now), Some(summary));
}

#[test]
fn an_overflow_that_begins_after_the_last_poll_is_logged() {
    let start = Instant::now();
    let mut subscription = subscription(RetryCount::Limited(0));
    let both = [BEGAN, OverflowNotice::Ended { lost: 1 }];
    assert_eq!(overflow(&mut subscription, 1, start), both);
    assert!(subscription.await_summary().is_some());
    let later = start + Duration::from_secs(10);
    assert_eq!(subscription.poll_summary(later), None);
    // The publisher read the clock earlier.
    let before = later - Duration::from_millis(1);
    assert_eq!(overflow(&mut subscription, 1, before), both);
    assert!(subscription.await_summary().is_some());
}

#[test]
fn if_a_summary_is_not_polled_the_shell_is_asked_again() {
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

#[test]
fn events_that_go_round_in_a_loop_are_lost_and_logged_once_in_a_while() {
    let now = Instant::now();
    let mut subscription = subscription(RetryCount::Unlimited);
    subscription.handle_looped(2, now);
    assert_eq!(subscription.poll_notice(), Some(OverflowNotice::Looped));
    subscription.handle_looped(3, now);
    assert_eq!(subscription.poll_notice(), None);
    let summary = OverflowSummary {
        looped_count: 3,
        ..OverflowSummary::default()
    };
    assert_eq!(subscription.poll_summary(now), Some(summary));
    let accounts = subscription.snapshot().accounts;
    assert_eq!((accounts.offered, accounts.lost.looped), (5, 5));
    assert_eq!(subscription.snapshot().lost(), 5);
}
