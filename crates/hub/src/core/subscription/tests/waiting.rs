//! Publishers that wait for room.

use super::*;

#[test]
fn a_waiting_publisher_gets_back_events_without_room_and_loses_none() {
    let now = Instant::now();
    let qos = qos(TWOWAY, RetryCount::Limited(0));
    let limits = limits(OverflowPolicy::Block);
    let mut subscription = Subscription::new(&qos, limits, DISCARD_INTERVAL);
    let (_, rest) = subscription.offer(events(0..5), now);
    assert_eq!(rest, Some(events(3..5)));
    assert!(!subscription.is_roomy());
    assert_eq!(take(&mut subscription, 2), [0, 1]);
    assert!(subscription.is_roomy());
    assert_eq!(subscription.offer_again(events(3..5), now).1, None);
    assert_eq!(take(&mut subscription, 10), [2, 3, 4]);
    let snapshot = subscription.snapshot();
    assert_eq!((snapshot.accounts.offered, snapshot.lost()), (5, 0));
}

#[test]
fn publishers_do_not_wait_if_the_event_could_never_be_queued() {
    let now = Instant::now();
    let qos = qos(TWOWAY, RetryCount::Limited(0));
    let full = || {
        let limits = limits(OverflowPolicy::Block);
        let mut subscription = Subscription::new(&qos, limits, DISCARD_INTERVAL);
        subscription.handle_events(events(0..3), now);
        subscription
    };
    let mut failed = full();
    failed.handle_failed(0, DeliveryFailure::Hard, now);
    assert!(failed.is_roomy());
    assert_eq!(failed.offer(event(3), now).1, None);
    let mut removed = full();
    removed.remove();
    assert_eq!(removed.offer(event(3), now).1, None);
    let mut draining = full();
    draining.drain();
    assert_eq!(draining.offer(event(3), now).1, None);
    let mut huge = full();
    assert_eq!(huge.offer(Numbered(vec![(3, 101)]), now).1, None);
    assert_eq!(huge.snapshot().accounts.lost.overflow, 1);
}

#[test]
fn events_behind_one_that_never_fits_still_wait() {
    let now = Instant::now();
    let (mut subscription, _) = waited_for();
    let batch = Numbered(vec![(3, 101), (4, 10), (5, 101), (6, 10)]);
    let (_, rest) = subscription.offer(batch, now);
    let rest = rest.expect("what can fit waits");
    assert_eq!(numbers(std::slice::from_ref(&rest)), [4, 5, 6]);
    assert_eq!(take(&mut subscription, 3), [0, 1, 2]);
    assert_eq!(subscription.offer_again(rest, now).1, None);
    assert_eq!(take(&mut subscription, 3), [4, 6]);
    assert_eq!(subscription.snapshot().accounts.lost.overflow, 2);
}

/// A full queue for which publishers wait. One of them waits with two events.
fn waited_for() -> (Subscription<Numbered>, Numbered) {
    let qos = qos(TWOWAY, RetryCount::Limited(0));
    let limits = limits(OverflowPolicy::Block);
    let mut subscription = Subscription::new(&qos, limits, DISCARD_INTERVAL);
    subscription.handle_events(events(0..3), Instant::now());
    let (_, rest) = subscription.offer(events(3..5), Instant::now());
    (subscription, rest.expect("there is no room"))
}

#[test]
fn publishers_that_wait_are_not_overtaken_under_another_policy() {
    let now = Instant::now();
    let (mut subscription, first) = waited_for();
    subscription.reconfigure(limits(OverflowPolicy::DropOldest), DISCARD_INTERVAL);
    assert!(subscription.wait_behind(1));
    assert_eq!(subscription.offer_again(first, now).1, None);
    assert!(subscription.wait_behind(1), "the second still waits");
    assert_eq!(subscription.offer_again(event(5), now).1, None);
    assert_eq!(subscription.offer_again(event(6), now).1, None);
    assert!(!subscription.wait_behind(1));
    assert_eq!(take(&mut subscription, 10), [4, 5, 6]);
    let accounts = subscription.snapshot().accounts;
    assert_eq!((accounts.offered, accounts.lost.overflow), (7, 4));
}

#[test]
fn events_that_wait_for_room_are_lost_and_counted_with_the_subscription() {
    let now = Instant::now();
    let ends: [fn(&mut Subscription<Numbered>) -> bool; 2] =
        [Subscription::remove, Subscription::drain];
    for end in ends {
        let (mut subscription, first) = waited_for();
        assert!(subscription.wait_behind(4));
        assert_eq!(subscription.snapshot().accounts.offered, 3);
        let removed = subscription.snapshot().queued;
        end(&mut subscription);
        let after = subscription.snapshot();
        let removed = removed - after.queued + 2 + 4;
        assert_eq!(
            (after.accounts.offered, after.accounts.lost.removed),
            (9, removed)
        );
        // The publishers learn of it later.
        assert_eq!(subscription.offer_again(first, now), (false, None));
        assert_eq!(subscription.offer_again(events(5..9), now), (false, None));
        assert_eq!(subscription.snapshot(), after);
        assert!(!subscription.wait_behind(1), "nobody waits any more");
    }
}
