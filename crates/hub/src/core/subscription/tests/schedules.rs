//! Publishers of any speed, and subscribers that are healthy, stop, crawl and return, over random schedules in virtual
//! time.
//!
//! A publisher publishes only when none of its publications is held: its connection is not read meanwhile.

use proptest::prelude::*;
use proptest::test_runner::TestCaseError;

use super::*;

const PATIENCE: Duration = Duration::from_secs(1);
const EVENTS_MAX: usize = 1_000;
/// The share of its queue that a healthy subscriber takes within the patience.
const SHARE: usize = EVENTS_MAX / 100;

/// The behaviour of a subscriber for a while.
#[derive(Debug, Clone, Copy)]
enum Pace {
    /// It takes `count` events every `interval`.
    Takes { count: usize, interval: Duration },
    /// It takes nothing.
    Stops,
}

#[derive(Debug, Clone)]
struct Schedule {
    /// The publishers: how many events each publishes at a time, and how often if nothing holds it back.
    publishers: Vec<(usize, Duration)>,
    /// The subscriber: its paces, and how long each lasts.
    paces: Vec<(Pace, Duration)>,
    overflow: OverflowPolicy,
}

fn micros(range: std::ops::Range<u64>) -> impl Strategy<Value = Duration> {
    range.prop_map(Duration::from_micros)
}

fn publishers() -> impl Strategy<Value = Vec<(usize, Duration)>> {
    prop::collection::vec((1..300_usize, micros(5_000..200_000)), 1..4)
}

/// A subscriber that takes its share in time, also when its pace changes.
fn healthy() -> impl Strategy<Value = Pace> {
    micros(3_000..500_000).prop_flat_map(|interval| {
        (SHARE..SHARE * 40).prop_map(move |count| Pace::Takes { count, interval })
    })
}

fn any_pace() -> impl Strategy<Value = Pace> {
    let crawls = micros(100_000..3_000_000).prop_map(|interval| Pace::Takes { count: 1, interval });
    prop_oneof![3 => healthy(), 2 => Just(Pace::Stops), 2 => crawls]
}

fn policy() -> impl Strategy<Value = OverflowPolicy> {
    prop::sample::select(vec![
        OverflowPolicy::DropOldest,
        OverflowPolicy::DropNewest,
        OverflowPolicy::Block,
    ])
}

fn schedule(
    pace: impl Strategy<Value = Pace>,
    lengths: std::ops::Range<u64>,
) -> impl Strategy<Value = Schedule> {
    let paces = prop::collection::vec((pace, micros(lengths)), 1..6);
    let all = (publishers(), paces, policy());
    all.prop_map(|(publishers, paces, overflow)| Schedule {
        publishers,
        paces,
        overflow,
    })
}

/// The totals of a schedule.
struct Outcome {
    length: Duration,
    /// How long the publishers were held back in all, while the subscriber took less than its share.
    held_in_vain: Duration,
    /// The longest that they were held back without such a share in between.
    longest: Duration,
    lost: u64,
}

struct Publisher {
    batch: usize,
    interval: Duration,
    next: Instant,
    held: Option<Ticket>,
}

/// Runs a schedule to its end, from one thing that happens to the next.
fn run(schedule: &Schedule) -> Result<Outcome, TestCaseError> {
    let limits = QueueLimits {
        events: EVENTS_MAX,
        bytes: usize::MAX,
        patience: PATIENCE,
        overflow: schedule.overflow,
    };
    let qos = qos(TWOWAY, RetryCount::Unlimited);
    let mut subscription = Subscription::new(&qos, limits, DISCARD_INTERVAL);
    let began = Instant::now();
    let mut now = began;
    let publisher = |&(batch, interval): &(usize, Duration)| Publisher {
        batch,
        interval,
        next: began,
        held: None,
    };
    let mut publishers: Vec<_> = schedule.publishers.iter().map(publisher).collect();
    let batch_max = publishers.iter().map(|p| p.batch as u64).sum::<u64>();
    let mut published = 0_u32;
    let mut last_taken = None;
    let (mut held_in_vain, mut longest) = (Duration::ZERO, Duration::ZERO);
    // Since when publishers have been held back without a share that was taken.
    let mut in_vain_since: Option<Instant> = None;
    let mut taken_since = 0;
    for &(pace, length) in &schedule.paces {
        let end = now + length;
        let interval = match pace {
            Pace::Takes { interval, .. } => interval,
            Pace::Stops => length * 2,
        };
        let mut takes_at = now + interval;
        while now < end {
            let free = publishers
                .iter()
                .filter(|publisher| publisher.held.is_none());
            let publishes_at = free.map(|publisher| publisher.next).min();
            let held = publishers.iter().find_map(|publisher| publisher.held);
            let deadline = held.and_then(|held| subscription.held_until(held).flatten());
            prop_assert!(held.is_none() || deadline.is_some());
            let times = [publishes_at, deadline, Some(takes_at), Some(end)];
            now = times.into_iter().flatten().min().unwrap_or(end).max(now);
            if deadline.is_some_and(|deadline| now >= deadline) {
                subscription.handle_time(now);
            } else if now >= takes_at
                && let Pace::Takes { count, interval } = pace
            {
                takes_at = now + interval;
                let mut taken = Vec::new();
                if subscription.next_step(1) == DeliveryStep::Deliver {
                    subscription.take(count, usize::MAX, &mut taken, || now);
                }
                let taken = numbers(&taken);
                for number in &taken {
                    let last = last_taken.replace(*number);
                    prop_assert!(last.is_none_or(|last| last < *number));
                }
                subscription.handle_delivered(taken.len() as u64);
                taken_since += taken.len();
                if taken_since >= SHARE {
                    taken_since = 0;
                    in_vain_since = in_vain_since.map(|_| now);
                }
            }
            for publisher in &mut publishers {
                publisher.held = publisher
                    .held
                    .filter(|held| subscription.held_until(*held).is_some());
                if publisher.held.is_none() && now >= publisher.next {
                    let numbers = published..published + publisher.batch as u32;
                    published = numbers.end;
                    publisher.held = subscription.publish(events(numbers), false, now);
                    publisher.next = now + publisher.interval;
                }
            }
            let snapshot = subscription.snapshot();
            let known = snapshot.accounts.offered + snapshot.held;
            prop_assert_eq!(known, u64::from(published));
            let elsewhere = snapshot.lost() + snapshot.queued + snapshot.outstanding;
            prop_assert_eq!(
                snapshot.accounts.offered,
                snapshot.accounts.delivered + elsewhere
            );
            prop_assert!(snapshot.queued <= EVENTS_MAX as u64);
            prop_assert!(
                snapshot.held <= batch_max,
                "each publisher has one publication held"
            );
            match (snapshot.held > 0, in_vain_since) {
                (true, None) => in_vain_since = Some(now),
                (false, Some(since)) => {
                    held_in_vain += now - since;
                    longest = longest.max(now - since);
                    in_vain_since = None;
                }
                _ => {}
            }
        }
    }
    if let Some(since) = in_vain_since {
        held_in_vain += now - since;
        longest = longest.max(now - since);
    }
    Ok(Outcome {
        length: now - began,
        held_in_vain,
        longest,
        lost: subscription.snapshot().lost(),
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn a_healthy_subscriber_loses_nothing_whatever_the_publishers_do(
        schedule in schedule(healthy(), 1_000_000..4_000_000),
    ) {
        prop_assert_eq!(run(&schedule)?.lost, 0);
    }

    #[test]
    fn a_stopped_subscriber_delays_publishers_for_one_patience(
        schedule in schedule(Just(Pace::Stops), 2_000_000..6_000_000),
    ) {
        let outcome = run(&schedule)?;
        prop_assert!(outcome.held_in_vain <= PATIENCE, "{:?}", outcome.held_in_vain);
    }

    #[test]
    fn subscribers_that_stop_crawl_and_return_delay_publishers_seldom_and_never_for_long(
        schedule in schedule(any_pace(), 100_000..8_000_000),
    ) {
        let outcome = run(&schedule)?;
        prop_assert!(outcome.longest <= PATIENCE, "{:?}", outcome.longest);
    }
}

#[test]
fn a_subscriber_that_stops_again_and_again_delays_publishers_for_a_twentieth_of_the_time() {
    let fast = Pace::Takes {
        count: EVENTS_MAX,
        interval: Duration::from_millis(5),
    };
    let seconds = |count: u64| Duration::from_secs(count);
    for stops in [2, 3, 7, 30] {
        let cycle = [
            (Pace::Stops, seconds(stops)),
            (fast, Duration::from_millis(500)),
        ];
        let schedule = Schedule {
            publishers: vec![(50, Duration::from_millis(50)); 2],
            paces: cycle.repeat(30),
            overflow: OverflowPolicy::DropOldest,
        };
        let outcome = run(&schedule).expect("the accounts are exact");
        assert!(outcome.lost > 0, "it has stopped");
        assert!(outcome.longest <= PATIENCE);
        let allowed = PATIENCE + outcome.length / 20;
        assert!(
            outcome.held_in_vain <= allowed,
            "{:?} of {:?}",
            outcome.held_in_vain,
            outcome.length
        );
    }
}
