//! The rules of subscriptions hold after any sequence of steps.

use std::collections::VecDeque;

use proptest::prelude::*;
use proptest::test_runner::TestCaseError;

use super::*;

/// A step of the test.
#[derive(Debug, Clone)]
enum Step {
    Events {
        byte_lens: Vec<usize>,
    },
    Offer {
        byte_lens: Vec<usize>,
    },
    OfferAgain,
    Next {
        bytes_min: usize,
    },
    Take {
        events_max: usize,
        bytes_max: usize,
        is_notified: bool,
    },
    Delivered {
        share: u64,
    },
    Failed {
        share: u64,
        failure: DeliveryFailure,
    },
    Wait {
        seconds: u64,
    },
    Drain,
    Remove,
}

fn byte_lens() -> impl Strategy<Value = Vec<usize>> {
    prop::collection::vec(1..120_usize, 1..5)
}

fn step() -> impl Strategy<Value = Step> {
    let failure = prop_oneof![
        6 => Just(DeliveryFailure::Soft),
        1 => Just(DeliveryFailure::Hard),
        1 => Just(DeliveryFailure::Broken),
        1 => Just(DeliveryFailure::Ours),
    ];
    prop_oneof![
        30 => byte_lens().prop_map(|byte_lens| Step::Events { byte_lens }),
        10 => byte_lens().prop_map(|byte_lens| Step::Offer { byte_lens }),
        10 => Just(Step::OfferAgain),
        15 => (1..80_usize).prop_map(|bytes_min| Step::Next { bytes_min }),
        20 => (1..6_usize, 1..150_usize, any::<bool>())
            .prop_map(|(events_max, bytes_max, is_notified)| Step::Take { events_max, bytes_max, is_notified }),
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

/// A subscription, and what a test expects of it.
struct Model {
    subscription: Subscription<Numbered>,
    now: Instant,
    /// The number of events that it counts, including those that were lost while they waited for room.
    published: u32,
    /// The lengths of the events of each waiting publisher.
    waiting: VecDeque<Vec<usize>>,
    last_taken: Option<u32>,
    /// The number of lost events of which the subscriber has been notified.
    notified: u64,
    /// The queued bytes at which the waiting delivery task must be woken.
    wakes_at: Option<usize>,
}

type Check<T = ()> = Result<T, TestCaseError>;
/// [`Subscription::offer`] or [`Subscription::offer_again`].
type Offer = fn(&mut Subscription<Numbered>, Numbered, Instant) -> (bool, Option<Numbered>);

impl Model {
    /// Applies a step. Returns whether the delivery task is woken.
    fn apply(&mut self, step: Step) -> Check<bool> {
        let outstanding = self.subscription.snapshot().outstanding;
        let subscription = &mut self.subscription;
        match step {
            Step::Events { byte_lens } => return self.publish(&byte_lens),
            Step::Offer { byte_lens } if self.waiting.is_empty() => {
                return self.offer(&byte_lens, Subscription::offer);
            }
            Step::Offer { byte_lens } => {
                prop_assert!(subscription.wait_behind(byte_lens.len()), "as the first");
                self.waiting.push_back(byte_lens);
            }
            Step::OfferAgain => {
                if let Some(byte_lens) = self.waiting.pop_front() {
                    return self.offer(&byte_lens, Subscription::offer_again);
                }
            }
            Step::Next { bytes_min } => {
                let waits = subscription.next_step(bytes_min) == DeliveryStep::Wait;
                self.wakes_at = waits.then_some(bytes_min);
            }
            Step::Take {
                events_max,
                bytes_max,
                is_notified,
            } => {
                let mut taken = Vec::new();
                let gap = subscription.take(events_max, bytes_max, &mut taken);
                match gap {
                    Some(count) if is_notified => self.notified += count,
                    Some(count) => subscription.handle_unnotified(count),
                    None => {}
                }
                for number in numbers(&taken) {
                    prop_assert!(self.last_taken.is_none_or(|last| last < number));
                    self.last_taken = Some(number);
                }
            }
            Step::Delivered { share } => subscription.handle_delivered(share.min(outstanding)),
            Step::Failed { share, failure } => {
                subscription.handle_failed(share.min(outstanding), failure, self.now);
            }
            Step::Wait { seconds } => self.now += Duration::from_secs(seconds),
            Step::Drain => return Ok(subscription.drain()),
            Step::Remove => return Ok(subscription.remove()),
        }
        Ok(false)
    }

    fn publish(&mut self, byte_lens: &[usize]) -> Check<bool> {
        let was_gone = self.subscription.state() == SubscriptionState::Gone;
        let before = self.subscription.snapshot().accounts;
        let batch = numbered_from(self.published, byte_lens);
        let is_woken = self.subscription.handle_events(batch, self.now);
        let offered = self.offered_since(&before);
        // The other events came after the subscription had ended.
        let is_whole = offered == byte_lens.len();
        prop_assert!(is_whole || self.subscription.state() == SubscriptionState::Gone);
        prop_assert!(!was_gone || offered == 0);
        self.published += offered as u32;
        Ok(is_woken)
    }

    fn offer(&mut self, byte_lens: &[usize], offer: Offer) -> Check<bool> {
        let before = self.subscription.snapshot().accounts;
        let batch = numbered_from(self.published, byte_lens);
        let (is_woken, rest) = offer(&mut self.subscription, batch, self.now);
        let offered = self.offered_since(&before);
        self.published += offered as u32;
        if let Some(rest) = rest {
            prop_assert_eq!(offered + rest.len(), byte_lens.len());
            let lost = self.subscription.snapshot().accounts.lost.overflow - before.lost.overflow;
            let too_long = byte_lens.iter().filter(|byte_len| **byte_len > 100);
            prop_assert!(lost as usize <= too_long.count(), "what fits waits");
            let rest = rest.0.into_iter().map(|(_, byte_len)| byte_len);
            self.waiting.push_front(rest.collect());
        }
        Ok(is_woken)
    }

    /// The events of this step that count by now, without those that waited and were lost with the subscription.
    fn offered_since(&self, before: &Accounts) -> usize {
        let offered = self.subscription.snapshot().accounts.offered - before.offered;
        match self.subscription.is_ending() {
            true => offered as usize - self.waiting_count(),
            false => offered as usize,
        }
    }

    fn waiting_count(&self) -> usize {
        self.waiting.iter().map(Vec::len).sum()
    }

    /// Checks the rules that hold after each step.
    fn check(&mut self, is_woken: bool) -> Check {
        if self.subscription.is_ending() {
            self.published += self.waiting_count() as u32;
            self.waiting.clear();
        }
        if is_woken {
            let was_waiting = self.wakes_at.take().is_some();
            prop_assert!(was_waiting, "woken although it was not parked");
        }
        let Snapshot {
            state,
            accounts,
            queued,
            queued_bytes,
            outstanding,
            oldest,
        } = self.subscription.snapshot();
        prop_assert_eq!(oldest.is_some(), queued > 0);
        let lost = accounts.lost;
        let lost = lost.overflow + lost.offline + lost.failed + lost.removed;
        let elsewhere = lost + queued + outstanding;
        prop_assert_eq!(accounts.offered, accounts.delivered + elsewhere);
        prop_assert_eq!(accounts.offered, u64::from(self.published));
        if self.subscription.notices_gaps && !self.subscription.is_ending() {
            prop_assert_eq!(lost, self.notified + self.subscription.queue.gaps());
        }
        prop_assert!(queued <= 3 && queued_bytes <= 100);
        prop_assert!(state == SubscriptionState::Online || queued == 0);
        let is_due = |bytes: usize| queued_bytes >= bytes as u64;
        let must_be_awake = self.wakes_at.is_some_and(is_due);
        prop_assert!(!must_be_awake, "parked although there is enough to do");
        let must_end = state == SubscriptionState::Gone && self.wakes_at.is_some();
        prop_assert!(!must_end, "parked although the subscription has ended");
        Ok(())
    }
}

proptest! {
    #[test]
    fn every_event_is_in_exactly_one_place(
        subscription in any_subscription(),
        steps in prop::collection::vec(step(), 1..200),
    ) {
        let mut model = Model {
            subscription,
            now: Instant::now(),
            published: 0,
            waiting: VecDeque::new(),
            last_taken: None,
            notified: 0,
            wakes_at: None,
        };
        for step in steps {
            let is_woken = model.apply(step)?;
            model.check(is_woken)?;
        }
    }
}
