//! The rules of subscriptions hold after any sequence of steps.

use proptest::prelude::*;
use proptest::test_runner::TestCaseError;

use super::*;

/// A step of the test.
#[derive(Debug, Clone)]
enum Step {
    Publish {
        byte_lens: Vec<usize>,
        waits_for_room: bool,
        /// In seconds.
        lifespan: Option<u64>,
    },
    /// The time of the shell's timer has come, or has nearly.
    Time,
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
    /// Somebody looks at the accounts.
    Expire,
    /// The queues of all subscribers have too much, and this one gives way.
    Shed {
        bytes: usize,
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
        40 => (byte_lens(), any::<bool>(), prop::option::of(1..60_u64)).prop_map(
            |(byte_lens, waits_for_room, lifespan)| Step::Publish { byte_lens, waits_for_room, lifespan },
        ),
        5 => Just(Step::Expire),
        10 => Just(Step::Time),
        15 => (1..80_usize).prop_map(|bytes_min| Step::Next { bytes_min }),
        20 => (1..6_usize, 1..150_usize, any::<bool>())
            .prop_map(|(events_max, bytes_max, is_notified)| Step::Take { events_max, bytes_max, is_notified }),
        15 => (0..4_u64).prop_map(|share| Step::Delivered { share }),
        5 => (0..4_u64, failure).prop_map(|(share, failure)| Step::Failed { share, failure }),
        3 => (1..90_u64).prop_map(|seconds| Step::Wait { seconds }),
        3 => (1..100_usize).prop_map(|bytes| Step::Shed { bytes }),
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
    let delivery = prop_oneof![
        Just(DeliveryMode::Oneway),
        Just(DeliveryMode::Batch),
        Just(TWOWAY)
    ];
    let lifespan = prop::option::of((1..60_u64).prop_map(Duration::from_secs));
    let wishes = (
        retry_count,
        overflow,
        delivery,
        any::<bool>(),
        0..3_u64,
        lifespan,
    );
    wishes.prop_map(
        |(retry_count, overflow, delivery, notices_gaps, patience, lifespan)| {
            let mut qos = qos(delivery, retry_count);
            qos.lost_facet = notices_gaps.then(String::new);
            qos.lifespan = lifespan;
            let limits = QueueLimits {
                patience: Duration::from_secs(patience),
                ..limits(overflow)
            };
            Subscription::new(&qos, limits, DISCARD_INTERVAL)
        },
    )
}

fn numbered_from(first: u32, byte_lens: &[usize]) -> Numbered {
    Numbered((first..).zip(byte_lens.iter().copied()).collect())
}

/// A subscription, and what a test expects of it.
struct Model {
    subscription: Subscription<Numbered>,
    now: Instant,
    /// For each event, whether its publisher waits for room without a limit.
    waits_for_room: Vec<bool>,
    /// For each event, when its lifespan is over.
    expires: Vec<Option<Instant>>,
    /// The number of events that it counts or holds.
    known: u64,
    /// The publications that are held.
    held: Vec<Ticket>,
    /// The last event that was taken of publishers that wait without a limit, and of the others.
    last_taken: [Option<u32>; 2],
    /// The number of lost events of which the subscriber has been notified.
    notified: u64,
    /// The queued bytes at which the waiting delivery task must be woken.
    wakes_at: Option<usize>,
}

type Check = Result<(), TestCaseError>;

impl Model {
    fn apply(&mut self, step: Step) -> Check {
        let outstanding = self.subscription.snapshot().outstanding;
        let subscription = &mut self.subscription;
        match step {
            Step::Publish {
                byte_lens,
                waits_for_room,
                lifespan,
            } => return self.publish(&byte_lens, waits_for_room, lifespan),
            Step::Expire => subscription.expire(self.now),
            Step::Time => {
                let deadlines = self.held.iter().filter_map(|held| {
                    let until = subscription.held_until(*held);
                    until.flatten()
                });
                self.now = deadlines.min().unwrap_or(self.now).max(self.now);
                subscription.handle_time(self.now);
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
                let now = self.now;
                let gap = subscription.take(events_max, bytes_max, &mut taken, || now);
                match gap {
                    Some(count) if is_notified => self.notified += count,
                    Some(count) => subscription.handle_unnotified(count),
                    None => {}
                }
                for number in numbers(&taken) {
                    let lane = usize::from(self.waits_for_room[number as usize]);
                    let last = self.last_taken[lane].replace(number);
                    prop_assert!(last.is_none_or(|last| last < number));
                    let expires = self.expires[number as usize];
                    prop_assert!(expires.is_none_or(|expires| expires > now));
                }
            }
            Step::Delivered { share } => subscription.handle_delivered(share.min(outstanding)),
            Step::Failed { share, failure } => {
                let count = share.min(outstanding);
                subscription.handle_failed(count, failure, self.now);
            }
            Step::Wait { seconds } => self.now += Duration::from_secs(seconds),
            Step::Shed { bytes } => {
                let own = subscription.backlog.limits;
                let cut = QueueLimits { bytes, ..own };
                subscription.reconfigure(cut, DISCARD_INTERVAL, self.now);
                subscription.shed(self.now);
                subscription.reconfigure(own, DISCARD_INTERVAL, self.now);
            }
            Step::Drain => subscription.drain(self.now),
            Step::Remove => subscription.remove(self.now),
        }
        Ok(())
    }

    fn publish(
        &mut self,
        byte_lens: &[usize],
        waits_for_room: bool,
        lifespan: Option<u64>,
    ) -> Check {
        let was_gone = self.subscription.state() == SubscriptionState::Gone;
        let before = self.subscription.snapshot().accounts.lost;
        let first = self.waits_for_room.len() as u32;
        let lanes = byte_lens.iter().map(|_| waits_for_room);
        self.waits_for_room.extend(lanes);
        let timing = Timing::new(self.now, lifespan.map(Duration::from_secs));
        let expires = timing.within(self.subscription.lifespan).expires;
        self.expires.extend(byte_lens.iter().map(|_| expires));
        let batch = numbered_from(first, byte_lens);
        let held = self.subscription.publish(batch, waits_for_room, timing);
        let snapshot = self.subscription.snapshot();
        // If held events got room and one of them ended the subscription, there are fewer than before.
        let known = (snapshot.accounts.offered + snapshot.held).saturating_sub(self.known);
        // The other events came after the subscription had ended.
        let is_whole = known == byte_lens.len() as u64;
        prop_assert!(is_whole || snapshot.state == SubscriptionState::Gone);
        prop_assert!(!was_gone || known == 0);
        self.known += known;
        let after = snapshot.accounts.lost;
        // If others expired, events that were held before may have been lost in their place.
        if held.is_some() && after.expired == before.expired {
            let too_long = byte_lens.iter().filter(|byte_len| **byte_len > 100);
            let lost = after.overflow - before.overflow;
            prop_assert!(lost as usize <= too_long.count(), "what fits is held");
        }
        self.held.extend(held);
        Ok(())
    }

    /// Checks the rules that hold after each step.
    fn check(&mut self) -> Check {
        if self.subscription.poll_wake() {
            let was_waiting = self.wakes_at.take().is_some();
            prop_assert!(was_waiting, "woken although it was not parked");
        }
        let Snapshot {
            state,
            is_leaving,
            accounts,
            queued,
            queued_bytes,
            outstanding,
            oldest,
            held,
            held_bytes,
            held_since,
        } = self.subscription.snapshot();
        prop_assert!(!is_leaving || self.subscription.is_draining);
        prop_assert_eq!(oldest.is_some(), queued > 0);
        let lost = accounts.lost;
        let lost = lost.overflow + lost.offline + lost.failed + lost.removed + lost.expired;
        let elsewhere = lost + queued + outstanding;
        prop_assert_eq!(accounts.offered, accounts.delivered + elsewhere);
        let known = accounts.offered + held;
        // When a subscription ends, what was published together with the last event does not count.
        prop_assert!(known == self.known || known < self.known && state == SubscriptionState::Gone);
        self.known = known;
        let count = self.held.len();
        self.held
            .retain(|held| self.subscription.held_until(*held).is_some());
        prop_assert_eq!(self.subscription.poll_released(), self.held.len() < count);
        prop_assert_eq!(held > 0, !self.held.is_empty());
        prop_assert_eq!(held_since.is_some(), held > 0);
        prop_assert_eq!(held_bytes > 0, held > 0);
        prop_assert!(held == 0 || state == SubscriptionState::Online && queued > 0);
        let is_gone = state == SubscriptionState::Gone || self.subscription.is_draining;
        if self.subscription.notices_gaps && !is_gone {
            prop_assert_eq!(lost, self.notified + self.subscription.backlog.queue.gaps());
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
            waits_for_room: Vec::new(),
            expires: Vec::new(),
            known: 0,
            held: Vec::new(),
            last_taken: [None; 2],
            notified: 0,
            wakes_at: None,
        };
        for step in steps {
            model.apply(step)?;
            model.check()?;
        }
    }
}
