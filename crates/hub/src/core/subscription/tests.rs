//! The rules of subscriptions, one by one. `tests/random.rs` checks them after any sequence of steps.
//!
//! - `tests/overflow.rs`: the notices of a full queue
//! - `tests/held.rs`: publishers that are held back
//! - `tests/schedules.rs`: healthy, slow and stopped subscribers, and publishers of any speed

mod held;
mod overflow;
mod random;
mod schedules;

use super::*;
use crate::core::qos::{RetryCount, TWOWAY_OUTSTANDING};

/// Events that are as long as they say; they are numbered.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Numbered(Vec<(u32, usize)>);

impl EventBatch for Numbered {
    fn len(&self) -> usize {
        self.0.len()
    }

    fn byte_len_of(&self, count: usize) -> usize {
        self.0[..count].iter().map(|(_, byte_len)| byte_len).sum()
    }

    fn split_to(&mut self, count: usize) -> Self {
        let rest = self.0.split_off(count);
        Self(std::mem::replace(&mut self.0, rest))
    }

    fn detached(self) -> Self {
        self
    }

    fn is_exclusive(&self) -> bool {
        false
    }
}

fn event(number: u32) -> Numbered {
    events(number..number + 1)
}

fn events(numbers: std::ops::Range<u32>) -> Numbered {
    Numbered(numbers.map(|number| (number, 10)).collect())
}

const TWOWAY: DeliveryMode = DeliveryMode::Twoway {
    outstanding: TWOWAY_OUTSTANDING,
    outstanding_max: TWOWAY_OUTSTANDING,
};
const DISCARD_INTERVAL: Duration = Duration::from_secs(60);

/// Limits that hold no publisher back.
fn limits(overflow: OverflowPolicy) -> QueueLimits {
    QueueLimits {
        events: 3,
        bytes: 100,
        patience: Duration::ZERO,
        overflow,
    }
}

fn subscription(retry_count: RetryCount) -> Subscription<Numbered> {
    let qos = qos(TWOWAY, retry_count);
    Subscription::new(&qos, limits(OverflowPolicy::DropOldest), DISCARD_INTERVAL)
}

fn qos(delivery: DeliveryMode, retry_count: RetryCount) -> Qos {
    Qos {
        delivery,
        is_connection_cached: None,
        locator_cache_timeout: None,
        retry_count,
        overflow: None,
        events_max: None,
        bytes_max: None,
        patience_max: None,
        lost_facet: None,
        group: 1,
        lifespan: None,
        reading: None,
    }
}

fn take(subscription: &mut Subscription<Numbered>, events_max: usize) -> Vec<u32> {
    let mut taken = Vec::new();
    if subscription.next_step(1) == DeliveryStep::Deliver {
        subscription.take(events_max, usize::MAX, &mut taken, Instant::now);
    }
    numbers(&taken)
}

fn numbers(taken: &[Numbered]) -> Vec<u32> {
    let events = taken.iter().flat_map(|batch| &batch.0);
    events.map(|(number, _)| *number).collect()
}

/// Lets a subscription fail with one event in delivery and one in the queue.
fn failed(
    retry_count: RetryCount,
    failure: DeliveryFailure,
    now: Instant,
) -> Subscription<Numbered> {
    let mut subscription = subscription(retry_count);
    subscription.handle_events(event(0), now);
    assert_eq!(take(&mut subscription, 1), [0]);
    subscription.handle_events(event(1), now);
    subscription.handle_failed(1, failure, now);
    subscription
}

#[test]
fn events_come_out_in_the_order_in_which_they_went_in() {
    let now = Instant::now();
    let mut subscription = subscription(RetryCount::Limited(0));
    for number in 0..3 {
        subscription.handle_events(event(number), now);
    }
    assert_eq!(take(&mut subscription, 2), [0, 1]);
    assert_eq!(take(&mut subscription, 2), [2]);
    subscription.handle_delivered(3);
    let snapshot = subscription.snapshot();
    assert_eq!((snapshot.accounts.delivered, snapshot.outstanding), (3, 0));
}

#[test]
fn a_take_is_limited_in_bytes_but_never_empty() {
    let now = Instant::now();
    let mut subscription = subscription(RetryCount::Limited(0));
    for number in 0..3 {
        subscription.handle_events(event(number), now);
    }
    let mut taken = Vec::new();
    subscription.take(usize::MAX, 25, &mut taken, Instant::now);
    assert_eq!(numbers(&taken), [0, 1]);
    taken.clear();
    subscription.take(usize::MAX, 1, &mut taken, Instant::now);
    assert_eq!(numbers(&taken), [2]);
}

#[test]
fn a_full_queue_loses_its_oldest_events_and_counts_them() {
    let now = Instant::now();
    let mut subscription = subscription(RetryCount::Limited(0));
    for number in 0..5 {
        subscription.handle_events(event(number), now);
    }
    assert_eq!(subscription.snapshot().accounts.lost.overflow, 2);
    assert_eq!(take(&mut subscription, 10), [2, 3, 4]);
}

#[test]
fn an_event_that_never_fits_is_lost_alone() {
    let now = Instant::now();
    let mut subscription = subscription(RetryCount::Limited(0));
    subscription.handle_events(event(0), now);
    let huge = Numbered(vec![(1, 101)]);
    subscription.handle_events(huge, now);
    assert_eq!(subscription.snapshot().accounts.lost.overflow, 1);
    assert_eq!(take(&mut subscription, 10), [0]);
}

#[test]
fn a_full_queue_ends_a_subscription_that_is_to_be_disconnected() {
    let now = Instant::now();
    let qos = qos(DeliveryMode::Oneway, RetryCount::Unlimited);
    let limits = limits(OverflowPolicy::Disconnect);
    let mut subscription = Subscription::new(&qos, limits, DISCARD_INTERVAL);
    subscription.handle_events(event(0), now);
    assert_eq!(subscription.next_step(100), DeliveryStep::Wait);
    let batch = events(1..6);
    subscription.handle_events(batch, now);
    assert!(subscription.poll_wake(), "woken to end");
    assert_eq!(subscription.next_step(100), DeliveryStep::End);
    let notice = Some(OverflowNotice::Disconnected);
    assert_eq!(subscription.poll_notice(), notice);
    let snapshot = subscription.snapshot();
    assert_eq!(snapshot.state, SubscriptionState::Gone);
    let accounts = snapshot.accounts;
    assert_eq!(accounts.offered, 4, "it ended before the rest came");
    assert_eq!((accounts.lost.overflow, accounts.lost.removed), (1, 3));
}

#[test]
fn a_busy_delivery_task_learns_of_the_end_although_the_queue_is_full() {
    let now = Instant::now();
    let qos = qos(TWOWAY, RetryCount::Unlimited);
    let limits = limits(OverflowPolicy::DropOldest);
    let mut subscription = Subscription::new(&qos, limits, DISCARD_INTERVAL);
    subscription.handle_events(events(0..3), now);
    assert!(!subscription.poll_end());
    assert!(!subscription.poll_wake());
    subscription.remove(now);
    assert!(subscription.poll_wake());
    assert!(subscription.poll_end());
}

#[test]
fn a_collected_batch_is_sent_when_the_subscription_is_removed() {
    let now = Instant::now();
    let qos = qos(DeliveryMode::Batch, RetryCount::Limited(0));
    let limits = limits(OverflowPolicy::DropOldest);
    let mut subscription = Subscription::new(&qos, limits, DISCARD_INTERVAL);
    subscription.handle_events(event(0), now);
    assert_eq!(subscription.next_step(100), DeliveryStep::Wait);
    subscription.remove(now);
    assert!(subscription.poll_wake(), "woken to send");
    subscription.handle_events(event(1), now);
    assert!(!subscription.poll_wake());
    assert_eq!(subscription.next_step(100), DeliveryStep::Deliver);
    assert_eq!(take(&mut subscription, 10), [0]);
    subscription.handle_delivered(1);
    assert_eq!(subscription.next_step(100), DeliveryStep::End);
    let snapshot = subscription.snapshot();
    assert_eq!(snapshot.state, SubscriptionState::Gone);
    let accounts = snapshot.accounts;
    assert_eq!((accounts.delivered, accounts.lost.removed), (1, 1));
}

#[test]
fn events_behind_a_batch_that_is_being_sent_are_lost_with_the_subscription() {
    let now = Instant::now();
    let qos = qos(DeliveryMode::Batch, RetryCount::Limited(0));
    let limits = limits(OverflowPolicy::DropOldest);
    let mut subscription = Subscription::new(&qos, limits, DISCARD_INTERVAL);
    subscription.handle_events(event(0), now);
    assert_eq!(take(&mut subscription, 10), [0]);
    subscription.handle_events(event(1), now);
    subscription.remove(now);
    assert_eq!(subscription.next_step(1), DeliveryStep::End);
    subscription.handle_delivered(1);
    let accounts = subscription.snapshot().accounts;
    assert_eq!((accounts.delivered, accounts.lost.removed), (1, 1));
}

#[test]
fn the_first_failure_ends_a_subscription_with_the_next_event() {
    let now = Instant::now();
    let mut subscription = failed(RetryCount::Limited(0), DeliveryFailure::Soft, now);
    assert_eq!(subscription.snapshot().state, SubscriptionState::Failed);
    assert_eq!(subscription.next_step(1), DeliveryStep::Wait);
    subscription.handle_events(event(2), now);
    assert!(subscription.poll_wake());
    assert_eq!(subscription.next_step(1), DeliveryStep::End);
    let accounts = subscription.snapshot().accounts;
    assert_eq!((accounts.lost.failed, accounts.lost.removed), (1, 2));
    subscription.handle_events(event(3), now);
    assert!(!subscription.poll_wake());
    assert_eq!(subscription.snapshot().accounts, accounts);
}

#[test]
fn a_tolerated_failure_discards_events_for_an_interval() {
    let now = Instant::now();
    let mut subscription = failed(RetryCount::Limited(1), DeliveryFailure::Soft, now);
    let later = now + DISCARD_INTERVAL;
    subscription.handle_events(event(2), later - Duration::from_millis(1));
    let snapshot = subscription.snapshot();
    assert_eq!(snapshot.state, SubscriptionState::Offline);
    assert_eq!(snapshot.accounts.lost.offline, 2);
    subscription.handle_events(event(3), later);
    assert!(!subscription.poll_wake());
    assert_eq!(take(&mut subscription, 10), [3]);
    subscription.handle_failed(1, DeliveryFailure::Soft, later);
    assert_eq!(subscription.snapshot().state, SubscriptionState::Failed);
}

#[test]
fn an_interval_beyond_the_clock_lasts_for_ever() {
    let now = Instant::now();
    let qos = qos(TWOWAY, RetryCount::Unlimited);
    let limits = limits(OverflowPolicy::DropOldest);
    let mut subscription = Subscription::new(&qos, limits, Duration::MAX);
    subscription.handle_failed(0, DeliveryFailure::Soft, now);
    subscription.handle_events(event(2), now + Duration::from_secs(1_000_000_000));
    assert_eq!(subscription.snapshot().state, SubscriptionState::Offline);
    assert_eq!(subscription.snapshot().accounts.lost.offline, 1);
}

#[test]
fn a_reply_proves_that_a_twoway_subscriber_is_alive() {
    let now = Instant::now();
    let mut subscription = failed(RetryCount::Limited(1), DeliveryFailure::Soft, now);
    let mut now = now;
    for number in 2..5 {
        now += DISCARD_INTERVAL;
        subscription.handle_events(event(number), now);
        take(&mut subscription, 1);
        subscription.handle_delivered(1);
        subscription.handle_events(event(number), now);
        take(&mut subscription, 1);
        subscription.handle_failed(1, DeliveryFailure::Soft, now);
        assert_eq!(subscription.snapshot().state, SubscriptionState::Offline);
    }
}

#[test]
fn failures_in_a_row_end_a_oneway_subscription_and_not_those_of_its_life() {
    let mut now = Instant::now();
    let qos = qos(DeliveryMode::Oneway, RetryCount::Limited(1));
    let limits = limits(OverflowPolicy::DropOldest);
    let mut subscription = Subscription::new(&qos, limits, DISCARD_INTERVAL);
    let mut event_comes = |subscription: &mut Subscription<_>, is_delivered: bool| {
        now += DISCARD_INTERVAL;
        subscription.handle_events(event(1), now);
        take(subscription, 1);
        match is_delivered {
            true => subscription.handle_delivered(1),
            false => subscription.handle_failed(1, DeliveryFailure::Soft, now),
        }
        subscription.snapshot().state
    };
    for _ in 0..5 {
        let state = event_comes(&mut subscription, false);
        assert_eq!(state, SubscriptionState::Offline);
        event_comes(&mut subscription, true);
    }
    event_comes(&mut subscription, false);
    let state = event_comes(&mut subscription, false);
    assert_eq!(state, SubscriptionState::Failed);
}

#[test]
fn a_batch_subscriber_that_may_fail_once_may_fail_any_number_of_times() {
    let qos = qos(DeliveryMode::Batch, RetryCount::Limited(1));
    let limits = limits(OverflowPolicy::DropOldest);
    let mut subscription = Subscription::new(&qos, limits, DISCARD_INTERVAL);
    let mut now = Instant::now();
    for number in 0..4 {
        now += DISCARD_INTERVAL;
        subscription.handle_events(event(number), now);
        let mut taken = Vec::new();
        subscription.take(1, usize::MAX, &mut taken, Instant::now);
        assert_eq!(numbers(&taken), [number]);
        subscription.handle_failed(1, DeliveryFailure::Soft, now);
        assert_eq!(subscription.state(), SubscriptionState::Offline);
    }
}

#[test]
fn an_object_that_does_not_exist_is_never_tried_again() {
    let now = Instant::now();
    let subscription = failed(RetryCount::Unlimited, DeliveryFailure::Hard, now);
    assert_eq!(subscription.snapshot().state, SubscriptionState::Failed);
}

#[test]
fn failures_of_requests_that_were_outstanding_count_once() {
    let now = Instant::now();
    let mut subscription = subscription(RetryCount::Limited(1));
    subscription.handle_events(event(0), now);
    subscription.handle_events(event(1), now);
    take(&mut subscription, 2);
    subscription.handle_failed(1, DeliveryFailure::Soft, now);
    subscription.handle_failed(1, DeliveryFailure::Soft, now);
    let snapshot = subscription.snapshot();
    assert_eq!(snapshot.state, SubscriptionState::Offline);
    assert_eq!(snapshot.accounts.lost.failed, 2);
}

#[test]
fn a_broken_connection_is_a_failure_only_if_the_next_one_breaks_too() {
    let now = Instant::now();
    let mut subscription = subscription(RetryCount::Limited(0));
    let mut deliver = |outcome: Option<DeliveryFailure>| {
        subscription.handle_events(event(0), now);
        take(&mut subscription, 1);
        match outcome {
            None => subscription.handle_delivered(1),
            Some(failure) => {
                subscription.handle_failed(1, failure, now);
            }
        }
        subscription.state()
    };
    assert_eq!(
        deliver(Some(DeliveryFailure::Broken)),
        SubscriptionState::Online
    );
    assert_eq!(deliver(None), SubscriptionState::Online);
    assert_eq!(
        deliver(Some(DeliveryFailure::Broken)),
        SubscriptionState::Online
    );
    assert_eq!(
        deliver(Some(DeliveryFailure::Broken)),
        SubscriptionState::Failed
    );
    assert_eq!(subscription.snapshot().accounts.lost.failed, 3);
}

#[test]
fn a_connection_after_an_interval_offline_may_break_as_the_first_did() {
    let now = Instant::now();
    let mut subscription = failed(RetryCount::Limited(1), DeliveryFailure::Broken, now);
    subscription.handle_failed(0, DeliveryFailure::Soft, now);
    assert_eq!(subscription.state(), SubscriptionState::Offline);
    let later = now + DISCARD_INTERVAL;
    subscription.handle_events(event(2), later);
    assert_eq!(take(&mut subscription, 10), [2]);
    subscription.handle_failed(1, DeliveryFailure::Broken, later);
    assert_eq!(subscription.state(), SubscriptionState::Online);
}

#[test]
fn a_shutdown_of_the_hub_is_no_failure_of_the_subscriber() {
    let now = Instant::now();
    let subscription = failed(RetryCount::Limited(0), DeliveryFailure::Ours, now);
    assert_eq!(subscription.snapshot().state, SubscriptionState::Online);
}

#[test]
fn draining_delivers_queued_events_and_accepts_no_new_ones() {
    let now = Instant::now();
    let mut subscription = subscription(RetryCount::Limited(0));
    subscription.handle_events(event(0), now);
    assert_eq!(subscription.next_step(1_000), DeliveryStep::Wait);
    subscription.drain(now);
    assert!(subscription.poll_wake());
    subscription.handle_events(event(1), now);
    assert_eq!(subscription.next_step(1_000), DeliveryStep::Deliver);
    assert_eq!(take(&mut subscription, 10), [0]);
    assert_eq!(subscription.next_step(1_000), DeliveryStep::End);
    assert_eq!(subscription.snapshot().accounts.lost.removed, 1);
}

#[test]
fn a_waiting_delivery_is_woken_once_and_only_for_enough_bytes() {
    let now = Instant::now();
    let mut subscription = long_subscription();
    subscription.handle_events(event(0), now);
    assert!(!subscription.poll_wake(), "it is not parked");
    assert_eq!(subscription.next_step(25), DeliveryStep::Wait);
    subscription.handle_events(event(1), now);
    assert!(!subscription.poll_wake(), "20 of 25 bytes");
    subscription.handle_events(event(2), now);
    assert!(subscription.poll_wake());
    subscription.handle_events(event(3), now);
    assert!(!subscription.poll_wake(), "it is woken already");
}

#[test]
fn a_half_full_queue_is_delivered_whatever_its_bytes() {
    let now = Instant::now();
    let mut subscription = long_subscription();
    assert_eq!(subscription.next_step(1_000), DeliveryStep::Wait);
    subscription.handle_events(events(0..4), now);
    assert!(!subscription.poll_wake());
    assert_eq!(
        subscription.next_step(1_000),
        DeliveryStep::Wait,
        "just half of it"
    );
    subscription.handle_events(event(4), now);
    assert!(subscription.poll_wake());
    assert_eq!(subscription.next_step(1_000), DeliveryStep::Deliver);
}

/// One in which 8 events may wait.
fn long_subscription() -> Subscription<Numbered> {
    let limits = QueueLimits {
        events: 8,
        bytes: 1_000,
        patience: Duration::ZERO,
        overflow: OverflowPolicy::DropOldest,
    };
    let qos = qos(TWOWAY, RetryCount::Limited(0));
    Subscription::new(&qos, limits, DISCARD_INTERVAL)
}

#[test]
fn events_that_came_together_are_separated_only_where_they_must_be() {
    let now = Instant::now();
    let mut subscription = subscription(RetryCount::Limited(0));
    subscription.handle_events(events(0..3), now);
    let mut taken = Vec::new();
    subscription.take(2, usize::MAX, &mut taken, Instant::now);
    subscription.take(usize::MAX, usize::MAX, &mut taken, Instant::now);
    assert_eq!(taken, [events(0..2), events(2..3)]);
    subscription.handle_events(events(3..8), now);
    assert_eq!(take(&mut subscription, 10), [5, 6, 7]);
    assert_eq!(subscription.snapshot().accounts.lost.overflow, 2);
}

#[test]
fn queued_events_stay_if_the_newest_are_dropped() {
    let now = Instant::now();
    for overflow in [OverflowPolicy::DropNewest, OverflowPolicy::Block] {
        let qos = qos(TWOWAY, RetryCount::Limited(0));
        let mut subscription = Subscription::new(&qos, limits(overflow), DISCARD_INTERVAL);
        subscription.handle_events(events(0..5), now);
        assert_eq!(subscription.snapshot().accounts.lost.overflow, 2);
        assert_eq!(take(&mut subscription, 10), [0, 1, 2]);
    }
}

/// Takes events of a subscriber that wants to know of gaps: each batch with what was lost before it.
fn take_with_gaps(subscription: &mut Subscription<Numbered>) -> Vec<(Option<u64>, Vec<u32>)> {
    let mut all = Vec::new();
    while subscription.next_step(1) == DeliveryStep::Deliver {
        let mut taken = Vec::new();
        let gap = subscription.take(usize::MAX, usize::MAX, &mut taken, Instant::now);
        all.push((gap, numbers(&taken)));
    }
    all
}

#[test]
fn a_subscriber_is_notified_of_a_gap_where_it_is() {
    let now = Instant::now();
    let mut qos = qos(TWOWAY, RetryCount::Limited(1));
    qos.lost_facet = Some("gaps".to_owned());
    let new = |overflow| Subscription::new(&qos, limits(overflow), DISCARD_INTERVAL);

    let mut oldest = new(OverflowPolicy::DropOldest);
    oldest.handle_events(events(0..5), now);
    assert_eq!(take_with_gaps(&mut oldest), [(Some(2), vec![2, 3, 4])]);
    oldest.handle_events(event(5), now);
    assert_eq!(take_with_gaps(&mut oldest), [(None, vec![5])]);

    let mut newest = new(OverflowPolicy::DropNewest);
    newest.handle_events(events(0..5), now);
    let mut first = Vec::new();
    assert_eq!(newest.take(1, usize::MAX, &mut first, Instant::now), None);
    newest.handle_events(event(5), now);
    let expected = [(None, vec![1, 2]), (Some(2), vec![5])];
    assert_eq!(take_with_gaps(&mut newest), expected);

    let mut offline = new(OverflowPolicy::DropOldest);
    offline.handle_events(events(0..2), now);
    offline.handle_failed(0, DeliveryFailure::Soft, now);
    offline.handle_events(events(2..5), now);
    offline.handle_events(event(5), now + DISCARD_INTERVAL);
    assert_eq!(take_with_gaps(&mut offline), [(Some(5), vec![5])]);
}

#[test]
fn a_subscriber_is_notified_of_events_whose_delivery_failed() {
    let now = Instant::now();
    let mut qos = qos(TWOWAY, RetryCount::Unlimited);
    qos.lost_facet = Some("gaps".to_owned());
    let new = || Subscription::new(&qos, limits(OverflowPolicy::DropOldest), DISCARD_INTERVAL);

    let mut behind = new();
    behind.handle_events(events(0..2), now);
    let mut first = Vec::new();
    assert_eq!(behind.take(1, usize::MAX, &mut first, Instant::now), None);
    behind.handle_failed(1, DeliveryFailure::Ours, now);
    assert_eq!(take_with_gaps(&mut behind), [(Some(1), vec![1])]);

    let mut offline = new();
    offline.handle_events(event(0), now);
    assert_eq!(take_with_gaps(&mut offline), [(None, vec![0])]);
    offline.handle_failed(1, DeliveryFailure::Soft, now);
    offline.handle_events(event(1), now);
    offline.handle_events(event(2), now + DISCARD_INTERVAL);
    assert_eq!(take_with_gaps(&mut offline), [(Some(2), vec![2])]);
}
