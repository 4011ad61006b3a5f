//! Tests of positions.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use proptest::prelude::*;
use proptest::test_runner::TestCaseError;

use super::*;

const RULES: Redelivery = Redelivery {
    deadline: Some(Duration::from_secs(10)),
    back_off_min: Duration::from_secs(1),
    back_off_max: Duration::from_secs(4),
    attempts_max: Some(3),
};

fn new_at(next: u64, pending_max: usize, now: Instant) -> SubscriptionPosition {
    SubscriptionPosition::restore(&SavedPosition::at(next), RULES, pending_max, now)
}

#[test]
fn events_are_acknowledged_one_by_one_in_any_order_and_the_floor_follows() {
    let now = Instant::now();
    let mut position = new_at(5, 3, now);
    let new = |from, count| Some(NextEvent::New { from, count });
    assert_eq!(position.poll_next(now), new(5, 3));
    for sequence in [5, 6, 9] {
        assert_eq!(position.handle_delivery(sequence, Member(1), now), 1);
    }
    assert_eq!(position.poll_next(now), None, "the window is full");
    assert!(position.handle_acknowledged(6));
    assert!(!position.handle_acknowledged(6), "only once");
    assert!(!position.handle_acknowledged(100), "it was not delivered");
    assert_eq!(position.floor(), 5);
    assert!(position.handle_acknowledged(5));
    assert_eq!(position.floor(), 9);
    assert!(position.handle_acknowledged(9));
    assert_eq!((position.floor(), position.acknowledged()), (10, 3));
}

#[test]
fn the_next_event_is_found_without_a_look_at_those_that_are_delivered() {
    let now = Instant::now();
    let mut position = new_at(0, 10_001, now);
    for sequence in 0..10_000 {
        position.handle_delivery(sequence, Member(1), now);
    }
    let new = Some(NextEvent::New {
        from: 10_000,
        count: 1,
    });
    // A look at all of them takes a minute in all.
    let begin = Instant::now();
    for _ in 0..100_000 {
        assert_eq!(position.poll_next(now), new);
    }
    let took = begin.elapsed();
    assert!(took < Duration::from_secs(5), "it took {took:?}");
}

#[test]
fn a_cumulative_acknowledgement_includes_the_events_before_it() {
    let now = Instant::now();
    let mut position = new_at(0, 9, now);
    for sequence in 0..5 {
        position.handle_delivery(sequence, Member(1), now);
    }
    assert_eq!(position.handle_acknowledged_to(2), 3);
    assert_eq!((position.floor(), position.pending()), (3, 2));
    assert_eq!(position.handle_acknowledged_to(u64::MAX), 2);
    assert_eq!(position.floor(), 5);
}

#[test]
fn a_refused_event_is_tried_again_with_longer_waits_and_becomes_a_dead_letter() {
    let start = Instant::now();
    let seconds = |count| start + Duration::from_secs(count);
    let mut position = new_at(0, 1, start);
    assert_eq!(position.handle_delivery(0, Member(1), start), 1);
    let again = NotAcknowledged::Again { at: seconds(1) };
    assert_eq!(position.handle_refused(0, start), again);
    assert_eq!(position.poll_next(start), None, "the order is kept");
    assert_eq!(position.next_deadline(Member(1), start), Some(seconds(1)));
    assert_eq!(
        position.next_deadline(Member(1), seconds(1)),
        Some(seconds(10)),
        "its time has come; nothing is late before its first deadline"
    );
    let due = Some(NextEvent::Again { sequence: 0 });
    assert_eq!(position.poll_next(seconds(1)), due);
    assert_eq!(position.handle_delivery(0, Member(1), seconds(1)), 2);
    assert!(position.late(Member(1), seconds(10)).is_empty());
    assert_eq!(
        position.late(Member(1), seconds(11)),
        [0],
        "the deadline is over"
    );
    let again = NotAcknowledged::Again { at: seconds(13) };
    assert_eq!(position.handle_refused(0, seconds(11)), again);
    assert_eq!(position.handle_delivery(0, Member(1), seconds(13)), 3);
    let dead = NotAcknowledged::Dead { attempts: 3 };
    assert_eq!(position.handle_refused(0, seconds(13)), dead);
    assert_eq!(
        position.poll_next(seconds(99)),
        None,
        "it is not stored yet"
    );
    assert!(position.handle_acknowledged(0));
    let settled = position.handle_refused(0, seconds(99));
    assert_eq!(settled, NotAcknowledged::Settled);
}

#[test]
fn a_member_settles_its_own_late_events_and_those_of_programs_that_pull() {
    let start = Instant::now();
    let seconds = |count| start + Duration::from_secs(count);
    let mut position = new_at(0, 10, start);
    let (own, other) = (Member(1), Member(2));
    position.handle_delivery(0, other, start);
    position.handle_delivery(1, own, seconds(1));
    position.handle_delivery(2, Member::PULLING, seconds(2));
    assert_eq!(position.next_deadline(own, start), Some(seconds(10)));
    // The other one has a late event, which it alone settles: there is nothing to do before an own one is late.
    assert!(position.late(own, seconds(10)).is_empty());
    assert_eq!(position.next_deadline(own, seconds(10)), Some(seconds(11)));
    assert_eq!(position.late(own, seconds(12)), [1, 2]);
    assert_eq!(position.late(Member::PULLING, seconds(12)), [2]);
    assert_eq!(position.late(other, seconds(12)), [0, 2]);
    position.handle_refused(1, seconds(12));
    position.handle_refused(2, seconds(12));
    assert_eq!(position.next_deadline(own, seconds(13)), None);
    assert_eq!(
        position.next_deadline(other, seconds(13)),
        Some(seconds(10))
    );
    assert!(position.handle_acknowledged(0));
    assert_eq!(position.next_deadline(other, seconds(13)), None);
}

#[test]
fn an_absent_subscriber_costs_no_attempt() {
    let now = Instant::now();
    let mut position = new_at(0, 1, now);
    for _ in 0..9 {
        assert_eq!(position.handle_delivery(0, Member(1), now), 1);
        position.handle_undelivered(0, now);
        let due = Some(NextEvent::Again { sequence: 0 });
        assert_eq!(position.poll_next(now), due);
    }
}

#[test]
fn events_before_a_damaged_part_of_the_log_are_still_delivered_again() {
    let now = Instant::now();
    let mut position = new_at(1, 9, now);
    for sequence in 1..4 {
        position.handle_delivery(sequence, Member(1), now);
    }
    assert_eq!(position.handle_damaged(4..6), 2, "4 and 5");
    assert_eq!((position.pending(), position.next()), (3, 6));
    position.handle_undelivered(2, now);
    let again = Some(NextEvent::Again { sequence: 2 });
    assert_eq!(position.poll_next(now), again);
}

#[test]
fn an_event_becomes_one_dead_letter() {
    let now = Instant::now();
    let mut position = new_at(0, 9, now);
    for _ in 0..3 {
        position.handle_delivery(0, Member(1), now);
    }
    let dead = NotAcknowledged::Dead { attempts: 3 };
    assert_eq!(position.handle_refused(0, now), dead);
    let settled = NotAcknowledged::Settled;
    assert_eq!(position.handle_refused(0, now), settled);
}

#[test]
fn events_that_the_log_has_deleted_are_counted_as_lost() {
    let now = Instant::now();
    let mut position = new_at(0, 9, now);
    for sequence in 0..3 {
        position.handle_delivery(sequence, Member(1), now);
    }
    position.handle_acknowledged(0);
    position.handle_undelivered(1, now);
    assert_eq!(position.handle_trimmed(0..2), 1, "1 was to come again");
    assert_eq!(position.floor(), 2);
    assert_eq!(position.handle_trimmed(3..10), 7, "3 to 9 are new");
    assert_eq!((position.floor(), position.next()), (2, 10));
    assert!(position.handle_acknowledged(2), "2 was on its way");
    assert_eq!((position.floor(), position.next()), (10, 10));
    assert_eq!(position.handle_trimmed(1..4), 0);
    assert_eq!(
        position.handle_trimmed(15..18),
        3,
        "no events had the numbers 10 to 14"
    );
}

/// A step of the random test.
#[derive(Debug, Clone)]
enum Step {
    Publish(u64),
    Deliver,
    Acknowledge(usize),
    AcknowledgeTo(usize),
    Refuse(usize),
    Undelivered(usize),
    Wait(u64),
    Restart,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        3 => (1..4_u64).prop_map(Step::Publish),
        10 => Just(Step::Deliver),
        6 => any::<usize>().prop_map(Step::Acknowledge),
        1 => any::<usize>().prop_map(Step::AcknowledgeTo),
        3 => any::<usize>().prop_map(Step::Refuse),
        2 => any::<usize>().prop_map(Step::Undelivered),
        3 => (0..12_u64).prop_map(Step::Wait),
        1 => Just(Step::Restart),
    ]
}

/// A subscription with its topic, and what must be true of it.
struct Model {
    position: SubscriptionPosition,
    pending_max: usize,
    now: Instant,
    /// The events of the log are all those below.
    end: u64,
    acknowledged: BTreeSet<u64>,
    dead: BTreeSet<u64>,
    /// Delivered and not settled, with their deadlines.
    delivered: BTreeMap<u64, Instant>,
    restarts: u32,
}

impl Model {
    fn new(pending_max: usize) -> Self {
        let now = Instant::now();
        Self {
            position: new_at(0, pending_max, now),
            pending_max,
            now,
            end: 0,
            acknowledged: BTreeSet::new(),
            dead: BTreeSet::new(),
            delivered: BTreeMap::new(),
            restarts: 0,
        }
    }

    /// One of the events that are delivered now.
    fn pick(&self, at: usize) -> Option<u64> {
        let count = self.delivered.len();
        (count > 0).then(|| self.delivered.keys().nth(at % count).copied())?
    }

    fn take(&mut self, step: &Step) -> Result<(), TestCaseError> {
        match *step {
            Step::Publish(count) => self.end += count,
            Step::Deliver => self.deliver()?,
            Step::Acknowledge(at) => {
                if let Some(sequence) = self.pick(at) {
                    prop_assert!(self.position.handle_acknowledged(sequence));
                    self.settle(sequence);
                    self.acknowledged.insert(sequence);
                }
            }
            Step::AcknowledgeTo(at) => {
                if let Some(sequence) = self.pick(at) {
                    let saved = self.position.saved();
                    let expected: Vec<u64> = saved
                        .pending()
                        .map(|(at, _)| at)
                        .take_while(|at| *at <= sequence)
                        .collect();
                    let count = self.position.handle_acknowledged_to(sequence);
                    prop_assert_eq!(count, expected.len() as u64);
                    for sequence in expected {
                        self.settle(sequence);
                        self.acknowledged.insert(sequence);
                    }
                }
            }
            Step::Refuse(at) => {
                if let Some(sequence) = self.pick(at) {
                    self.refuse(sequence)?;
                }
            }
            Step::Undelivered(at) => {
                if let Some(sequence) = self.pick(at) {
                    self.settle(sequence);
                    self.position.handle_undelivered(sequence, self.now);
                }
            }
            Step::Wait(seconds) => {
                self.now += Duration::from_secs(seconds);
                let late = self.delivered.iter();
                let late = late.filter(|(_, deadline)| **deadline <= self.now);
                let late: Vec<u64> = late.map(|(sequence, _)| *sequence).collect();
                prop_assert_eq!(self.position.late(Member(1), self.now), late.clone());
                for sequence in late {
                    self.refuse(sequence)?;
                }
            }
            Step::Restart => {
                let saved = self.position.saved();
                let (max, now) = (self.pending_max, self.now);
                self.position = SubscriptionPosition::restore(&saved, RULES, max, now);
                prop_assert_eq!(self.position.saved(), saved);
                self.delivered.clear();
                self.restarts += 1;
            }
        }
        self.check()
    }

    fn settle(&mut self, sequence: u64) {
        self.delivered.remove(&sequence);
    }

    fn refuse(&mut self, sequence: u64) -> Result<(), TestCaseError> {
        self.settle(sequence);
        match self.position.handle_refused(sequence, self.now) {
            NotAcknowledged::Again { at } => prop_assert!(at > self.now),
            NotAcknowledged::Dead { attempts } => {
                prop_assert!(attempts >= 3);
                prop_assert!(self.position.handle_acknowledged(sequence));
                self.dead.insert(sequence);
            }
            NotAcknowledged::Settled => prop_assert!(false, "it was not settled"),
        }
        Ok(())
    }

    fn deliver(&mut self) -> Result<(), TestCaseError> {
        let sequence = match self.position.poll_next(self.now) {
            Some(NextEvent::Again { sequence }) => sequence,
            Some(NextEvent::New { from, count }) => {
                prop_assert!(count >= 1);
                if from >= self.end {
                    return Ok(());
                }
                from
            }
            None => return Ok(()),
        };
        let attempt = self.position.handle_delivery(sequence, Member(1), self.now);
        // A restart gives an event that was under way one more attempt.
        prop_assert!(
            (1..=3 + self.restarts).contains(&attempt),
            "attempt {attempt}"
        );
        let deadline = RULES.deadline.map(|deadline| self.now + deadline);
        let before = self
            .delivered
            .insert(sequence, deadline.expect("they have one"));
        prop_assert!(before.is_none(), "delivered twice at a time");
        prop_assert!(
            !self.acknowledged.contains(&sequence),
            "it was acknowledged"
        );
        prop_assert!(!self.dead.contains(&sequence), "it is a dead letter");
        Ok(())
    }

    /// Each event of the log is in exactly one place.
    fn check(&self) -> Result<(), TestCaseError> {
        let saved = self.position.saved();
        let pending_count = saved.pending().count();
        prop_assert!(pending_count <= self.pending_max);
        prop_assert!(
            self.delivered
                .keys()
                .all(|at| self.position.is_pending(*at))
        );
        if let Some(first) = self.delivered.values().min() {
            let wake_at = self.position.next_deadline(Member(1), self.now);
            prop_assert!(wake_at.is_some_and(|at| at <= *first), "{wake_at:?}");
        }
        let settled = (self.acknowledged.len() + self.dead.len()) as u64;
        prop_assert_eq!(settled + pending_count as u64, saved.next);
        let first_open =
            (0..).find(|at| !self.acknowledged.contains(at) && !self.dead.contains(at));
        prop_assert_eq!(Some(self.position.floor()), first_open);
        let pending = self.position.pending.iter();
        let waits = |(sequence, pending): (u64, Pending)| {
            matches!(pending.state, PendingState::Waiting { .. }).then_some(sequence)
        };
        let waiting: BTreeSet<u64> = pending.filter_map(waits).collect();
        prop_assert_eq!(&self.position.waiting, &waiting);
        Ok(())
    }
}

proptest! {
    #[test]
    fn each_event_is_delivered_until_it_is_acknowledged_or_a_dead_letter(
        pending_max in 1..5_usize,
        steps in prop::collection::vec(step(), 1..200),
    ) {
        let mut model = Model::new(pending_max);
        for step in &steps {
            model.take(step)?;
        }
        // In the end everything is delivered and acknowledged.
        for _ in 0..8 * (model.end + 1) {
            model.take(&Step::Deliver)?;
            model.take(&Step::Acknowledge(0))?;
            model.take(&Step::Wait(1))?;
        }
        prop_assert_eq!(model.position.floor(), model.end);
    }
}
