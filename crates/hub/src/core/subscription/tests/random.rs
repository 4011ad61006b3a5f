//! The rules of subscriptions, whatever happens in whatever order.

use std::collections::VecDeque;

use proptest::prelude::*;

use super::*;

/// What may happen to a subscription.
#[derive(Debug, Clone)]
enum Step {
    Events { byte_lens: Vec<usize> },
    Offer { byte_lens: Vec<usize> },
    OfferAgain,
    Turn { bytes_min: usize },
    Take { events_max: usize, bytes_max: usize },
    Delivered { share: u64 },
    Failed { share: u64, failure: Failure },
    Wait { seconds: u64 },
    Drain,
    Remove,
}

fn byte_lens() -> impl Strategy<Value = Vec<usize>> {
    prop::collection::vec(1..120_usize, 1..5)
}

fn step() -> impl Strategy<Value = Step> {
    let failure = prop_oneof![
        6 => Just(Failure::Soft),
        1 => Just(Failure::Hard),
        1 => Just(Failure::Broken),
        1 => Just(Failure::Ours),
    ];
    prop_oneof![
        30 => byte_lens().prop_map(|byte_lens| Step::Events { byte_lens }),
        10 => byte_lens().prop_map(|byte_lens| Step::Offer { byte_lens }),
        10 => Just(Step::OfferAgain),
        15 => (1..80_usize).prop_map(|bytes_min| Step::Turn { bytes_min }),
        20 => (1..6_usize, 1..150_usize)
            .prop_map(|(events_max, bytes_max)| Step::Take { events_max, bytes_max }),
        15 => (0..4_u64).prop_map(|share| Step::Delivered { share }),
        5 => (0..4_u64, failure).prop_map(|(share, failure)| Step::Failed { share, failure }),
        3 => (1..90_u64).prop_map(|seconds| Step::Wait { seconds }),
        1 => Just(Step::Drain),
        1 => Just(Step::Remove),
    ]
}

fn any_subscription() -> impl Strategy<Value = Subscription<Numbered>> {
    let retry_count = prop_oneof![
        Just(RetryCount::Unlimited),
        (0..4_u32).prop_map(RetryCount::Limited),
    ];
    let overflow = prop_oneof![
        Just(OverflowPolicy::DropOldest),
        Just(OverflowPolicy::DropNewest),
        Just(OverflowPolicy::Block),
        Just(OverflowPolicy::Disconnect),
    ];
    let delivery = prop_oneof![Just(Delivery::Oneway), Just(Delivery::Batch), Just(TWOWAY)];
    let wishes = (retry_count, overflow, delivery, any::<bool>());
    wishes.prop_map(|(retry_count, overflow, delivery, notices_gaps)| {
        let mut qos = qos(delivery, retry_count);
        qos.lost_facet = notices_gaps.then(String::new);
        Subscription::new(&qos, limits(overflow), DISCARD_INTERVAL)
    })
}

fn numbered_from(first: u32, byte_lens: &[usize]) -> Numbered {
    Numbered((first..).zip(byte_lens.iter().copied()).collect())
}

fn count(waiting: &VecDeque<Vec<usize>>) -> u64 {
    waiting.iter().map(|byte_lens| byte_lens.len() as u64).sum()
}

proptest! {
    #[test]
    fn every_event_is_in_exactly_one_place(
        mut subscription in any_subscription(),
        steps in prop::collection::vec(step(), 1..200),
    ) {
        let mut now = Instant::now();
        let mut published = 0;
        // Publishers that wait, with the lengths of their events.
        let mut waiting: VecDeque<Vec<usize>> = VecDeque::new();
        let mut last_taken = None;
        // The bytes at which the delivery must have been woken.
        let mut parked_until: Option<usize> = None;
        for step in steps {
            let mut is_woken = false;
            let Snapshot { accounts: before, outstanding, .. } = subscription.snapshot();
            // Events of this step that count by now; with the subscription ends what waits.
            let offered = |subscription: &Subscription<_>, waiting: &VecDeque<Vec<_>>| {
                let lost = if subscription.is_ending() { count(waiting) } else { 0 };
                subscription.snapshot().accounts.offered - before.offered - lost
            };
            match step {
                Step::Events { byte_lens } => {
                    let was_gone = subscription.state() == State::Gone;
                    let run = numbered_from(published, &byte_lens);
                    is_woken = subscription.handle_events(run, now);
                    let offered = offered(&subscription, &waiting);
                    // The rest came after the subscription had ended.
                    let is_whole = offered == byte_lens.len() as u64;
                    prop_assert!(is_whole || subscription.state() == State::Gone);
                    prop_assert!(!was_gone || offered == 0);
                    published += offered as u32;
                }
                Step::Offer { byte_lens } if !waiting.is_empty() => {
                    match subscription.wait_behind(byte_lens.len()) {
                        true => waiting.push_back(byte_lens),
                        false => prop_assert!(false, "there are some who wait"),
                    }
                }
                Step::Offer { .. } | Step::OfferAgain => {
                    let lost_before = subscription.snapshot().accounts.lost;
                    let (byte_lens, is_again) = match (step, waiting.pop_front()) {
                        (Step::Offer { byte_lens }, _) => (byte_lens, false),
                        (_, Some(byte_lens)) => (byte_lens, true),
                        _ => continue,
                    };
                    let run = numbered_from(published, &byte_lens);
                    let rest;
                    (is_woken, rest) = match is_again {
                        true => subscription.offer_again(run, now),
                        false => subscription.offer(run, now),
                    };
                    let offered = offered(&subscription, &waiting);
                    published += offered as u32;
                    if let Some(rest) = rest {
                        prop_assert_eq!(offered as usize + rest.len(), byte_lens.len());
                        let lost = subscription.snapshot().accounts.lost;
                        let too_long = byte_lens.iter().filter(|len| **len > 100).count() as u64;
                        prop_assert!(lost.overflow - lost_before.overflow <= too_long);
                        waiting.push_front(rest.0.into_iter().map(|(_, len)| len).collect());
                    }
                }
                Step::Turn { bytes_min } => {
                    parked_until = None;
                    if subscription.turn(bytes_min) == Turn::Park {
                        parked_until = Some(bytes_min);
                    }
                }
                Step::Take { events_max, bytes_max } => {
                    let mut taken = Vec::new();
                    subscription.take(events_max, bytes_max, &mut taken);
                    for number in numbers(&taken) {
                        prop_assert!(last_taken.is_none_or(|last| last < number));
                        last_taken = Some(number);
                    }
                }
                Step::Delivered { share } => subscription.handle_delivered(share.min(outstanding)),
                Step::Failed { share, failure } => {
                    subscription.handle_failed(share.min(outstanding), failure, now);
                }
                Step::Wait { seconds } => now += Duration::from_secs(seconds),
                Step::Drain => is_woken = subscription.drain(),
                Step::Remove => is_woken = subscription.remove(),
            }
            if subscription.is_ending() {
                published += count(&waiting) as u32;
                waiting.clear();
            }
            if is_woken {
                prop_assert!(parked_until.take().is_some(), "woken although it was not parked");
            }
            let Snapshot { state, accounts, queued, queued_bytes, outstanding, oldest } = subscription.snapshot();
            prop_assert_eq!(oldest.is_some(), queued > 0);
            let lost = accounts.lost;
            let lost = lost.overflow + lost.offline + lost.failed + lost.removed;
            prop_assert_eq!(accounts.offered, accounts.delivered + lost + queued + outstanding);
            prop_assert_eq!(accounts.offered, u64::from(published));
            prop_assert!(queued <= 3 && queued_bytes <= 100);
            prop_assert!(state == State::Online || queued == 0);
            let must_be_awake = parked_until.is_some_and(|bytes| queued_bytes >= bytes as u64);
            prop_assert!(!must_be_awake, "parked although there is enough to do");
            let must_end = state == State::Gone && parked_until.is_some();
            prop_assert!(!must_end, "parked although the subscription has ended");
        }
    }
}
