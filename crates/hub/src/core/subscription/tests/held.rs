//! Publishers that are held back.

use super::*;

const PATIENCE: Duration = Duration::from_secs(1);

fn patient(overflow: OverflowPolicy) -> Subscription<Numbered> {
    let qos = qos(TWOWAY, RetryCount::Limited(0));
    let limits = QueueLimits {
        patience: PATIENCE,
        ..limits(overflow)
    };
    Subscription::new(&qos, limits, DISCARD_INTERVAL)
}

/// A full queue, and a publication of two events that is held. It waits without a limit if the policy is `block`.
fn full(overflow: OverflowPolicy, now: Instant) -> (Subscription<Numbered>, Ticket) {
    let mut subscription = patient(overflow);
    let held = subscription.publish(events(0..5), true, now);
    (subscription, held.expect("there is no room"))
}

fn take_at(subscription: &mut Subscription<Numbered>, events_max: usize, now: Instant) -> Vec<u32> {
    let mut taken = Vec::new();
    subscription.take(events_max, usize::MAX, &mut taken, || now);
    numbers(&taken)
}

#[test]
fn events_without_room_are_held_and_none_is_lost() {
    let now = Instant::now();
    let (mut subscription, ticket) = full(OverflowPolicy::DropOldest, now);
    let snapshot = subscription.snapshot();
    assert_eq!((snapshot.queued, snapshot.held), (3, 2));
    assert_eq!(subscription.held_until(ticket), Some(Some(now + PATIENCE)));
    assert_eq!(take_at(&mut subscription, 1, now), [0]);
    assert!(
        subscription.held_until(ticket).is_some(),
        "one event is still held"
    );
    let later = now + PATIENCE / 2;
    assert_eq!(take_at(&mut subscription, 1, later), [1]);
    assert_eq!(subscription.held_until(ticket), None);
    assert!(subscription.poll_released());
    assert_eq!(take_at(&mut subscription, 10, later), [2, 3, 4]);
    let snapshot = subscription.snapshot();
    assert_eq!((snapshot.accounts.offered, snapshot.lost()), (5, 0));
    assert_eq!(snapshot.accounts.held, PATIENCE / 2);
}

#[test]
fn each_share_that_is_taken_begins_the_patience_anew() {
    let now = Instant::now();
    let (mut subscription, ticket) = full(OverflowPolicy::DropOldest, now);
    let later = now + PATIENCE / 2;
    take_at(&mut subscription, 1, later);
    let deadline = later + PATIENCE;
    assert_eq!(subscription.held_until(ticket), Some(Some(deadline)));
    subscription.handle_time(now + PATIENCE);
    assert!(!subscription.poll_wake());
    assert!(subscription.held_until(ticket).is_some());
}

#[test]
fn the_policy_decides_when_the_patience_is_over() {
    let now = Instant::now();
    let (mut subscription, ticket) = full(OverflowPolicy::DropOldest, now);
    let over = now + PATIENCE;
    subscription.handle_time(over);
    assert_eq!(subscription.held_until(ticket), None);
    assert_eq!(subscription.publish(event(5), false, over), None);
    assert_eq!(subscription.snapshot().accounts.lost.overflow, 3);
    assert_eq!(take_at(&mut subscription, 10, over), [3, 4, 5]);
}

#[test]
fn a_later_publication_does_not_overtake_a_held_one() {
    let now = Instant::now();
    let mut subscription = patient(OverflowPolicy::DropOldest);
    subscription.publish(Numbered(vec![(0, 50), (1, 50)]), false, now);
    let long = Numbered(vec![(2, 90)]);
    assert!(subscription.publish(long, false, now).is_some());
    take_at(&mut subscription, 1, now);
    let short = subscription.publish(Numbered(vec![(3, 10)]), false, now);
    assert!(
        short.is_some(),
        "there would be room, but the first one waits"
    );
    assert_eq!(take_at(&mut subscription, 10, now), [1]);
    assert_eq!(take_at(&mut subscription, 10, now), [2, 3]);
}

#[test]
fn a_publisher_that_asked_waits_beyond_the_patience_and_others_do_not() {
    let now = Instant::now();
    let (mut subscription, asked) = full(OverflowPolicy::Block, now);
    assert_eq!(subscription.held_until(asked), Some(None));
    let other = subscription.publish(event(5), false, now);
    let other = other.expect("it is held, too");
    subscription.handle_time(now + PATIENCE);
    assert_eq!(subscription.held_until(other), None);
    assert_eq!(subscription.held_until(asked), Some(None));
    assert_eq!(subscription.snapshot().accounts.lost.overflow, 1);
    take_at(&mut subscription, 10, now);
    assert_eq!(take_at(&mut subscription, 10, now), [3, 4]);
}

#[test]
fn a_wait_without_a_limit_ends_with_the_policy_that_allowed_it() {
    let now = Instant::now();
    let (mut subscription, asked) = full(OverflowPolicy::Block, now);
    let limits = QueueLimits {
        patience: PATIENCE,
        ..limits(OverflowPolicy::DropOldest)
    };
    subscription.reconfigure(limits, DISCARD_INTERVAL, now);
    assert_eq!(subscription.held_until(asked), Some(Some(now + PATIENCE)));
    let limits = QueueLimits {
        patience: Duration::ZERO,
        ..limits
    };
    subscription.reconfigure(limits, DISCARD_INTERVAL, now);
    assert_eq!(subscription.held_until(asked), None);
}

#[test]
fn the_time_for_which_publishers_were_held_counts_when_the_subscription_ends() {
    let ends: [fn(&mut Subscription<Numbered>, Instant); 3] = [
        |subscription, now| subscription.handle_failed(0, DeliveryFailure::Hard, now),
        |subscription, now| subscription.remove(now),
        |subscription, now| subscription.drain(now),
    ];
    for end in ends {
        let now = Instant::now();
        let (mut subscription, _) = full(OverflowPolicy::Block, now);
        end(&mut subscription, now + PATIENCE / 2);
        let snapshot = subscription.snapshot();
        assert_eq!(snapshot.accounts.held, PATIENCE / 2);
        assert_eq!(snapshot.held_time(now + PATIENCE), PATIENCE / 2);
    }
}

#[test]
fn nothing_is_held_that_could_never_be_queued() {
    let now = Instant::now();
    let stops: [fn(&mut Subscription<Numbered>, Instant); 3] = [
        |subscription, now| subscription.handle_failed(0, DeliveryFailure::Hard, now),
        |subscription, now| subscription.remove(now),
        |subscription, now| subscription.drain(now),
    ];
    for stop in stops {
        let (mut subscription, ticket) = full(OverflowPolicy::Block, now);
        stop(&mut subscription, now);
        assert!(!subscription.poll_wake());
        assert_eq!(subscription.held_until(ticket), None);
        assert_eq!(subscription.publish(event(5), true, now), None);
        let snapshot = subscription.snapshot();
        let elsewhere = snapshot.lost() + snapshot.queued;
        assert_eq!((snapshot.held, snapshot.accounts.offered), (0, elsewhere));
        assert!(snapshot.accounts.offered >= 5);
    }
    let (mut huge, _) = full(OverflowPolicy::DropOldest, now);
    take(&mut huge, 10);
    take(&mut huge, 10);
    assert_eq!(huge.publish(Numbered(vec![(5, 101)]), false, now), None);
    assert_eq!(huge.snapshot().accounts.lost.overflow, 1);
}

#[test]
fn events_behind_one_that_never_fits_are_still_held() {
    let now = Instant::now();
    let mut subscription = patient(OverflowPolicy::DropOldest);
    subscription.publish(events(0..3), false, now);
    let batch = Numbered(vec![(3, 101), (4, 10), (5, 101), (6, 10)]);
    assert!(subscription.publish(batch, false, now).is_some());
    assert_eq!(subscription.snapshot().held, 3);
    assert_eq!(take(&mut subscription, 3), [0, 1, 2]);
    assert_eq!(take(&mut subscription, 3), [4, 6]);
    assert_eq!(subscription.snapshot().accounts.lost.overflow, 2);
}

#[test]
fn an_offline_subscriber_holds_nobody_back() {
    let now = Instant::now();
    let qos = qos(TWOWAY, RetryCount::Limited(1));
    let limits = QueueLimits {
        patience: PATIENCE,
        ..limits(OverflowPolicy::DropOldest)
    };
    let mut subscription = Subscription::new(&qos, limits, DISCARD_INTERVAL);
    let ticket = subscription.publish(events(0..5), false, now);
    subscription.handle_failed(0, DeliveryFailure::Soft, now);
    assert_eq!(subscription.held_until(ticket.expect("it is held")), None);
    assert_eq!(subscription.snapshot().accounts.lost.offline, 5);
}

#[test]
fn a_queue_that_gives_way_drops_what_it_has_and_keeps_what_is_held() {
    let now = Instant::now();
    let mut subscription = patient(OverflowPolicy::DropOldest);
    subscription.publish(Numbered(vec![(0, 60)]), false, now);
    let ticket = subscription.publish(Numbered(vec![(1, 50), (2, 50)]), false, now);
    let limits = QueueLimits {
        bytes: 50,
        ..subscription.backlog.limits
    };
    subscription.reconfigure(limits, DISCARD_INTERVAL, now);
    subscription.shed(now);
    assert!(
        subscription
            .held_until(ticket.expect("it is held"))
            .is_some()
    );
    let snapshot = subscription.snapshot();
    assert_eq!((snapshot.queued, snapshot.held), (1, 1));
    assert_eq!(
        (snapshot.accounts.offered, snapshot.accounts.lost.overflow),
        (2, 1)
    );
    assert_eq!(take_at(&mut subscription, 1, now), [1]);
    assert!(subscription.poll_released());
    assert_eq!(take_at(&mut subscription, 1, now), [2]);
}
