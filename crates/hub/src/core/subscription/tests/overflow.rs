//! What people are told of a full queue.

use super::*;

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
    subscription.handle_failed(0, Failure::Soft, now);
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
    let runs = [
        (vec![(0, 10), (1, 10), (2, 10), (3, 10), (4, 101)], 2),
        (vec![(0, 101), (1, 10), (2, 10), (3, 10), (4, 10)], 1),
    ];
    for (run, lost) in runs {
        let mut subscription = subscription(RetryCount::Unlimited);
        subscription.handle_events(Numbered(run), now);
        assert_eq!(subscription.poll_notice(), Some(BEGAN));
        take(&mut subscription, 10);
        let ended = OverflowNotice::Ended { lost };
        assert_eq!(subscription.poll_notice(), Some(ended));
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
