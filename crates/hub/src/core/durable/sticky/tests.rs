//! Tests of sticky subscriptions.

use std::collections::BTreeMap;
use std::time::Duration;

use proptest::prelude::*;
use proptest::test_runner::TestCaseError;

use super::*;
use crate::core::durable::{NotAcknowledged, Redelivery, SavedPosition};

const RULES: Redelivery = Redelivery {
    deadline: None,
    back_off_min: Duration::from_secs(1),
    back_off_max: Duration::from_secs(4),
    attempts_max: Some(3),
};

fn position(now: Instant) -> SubscriptionPosition {
    SubscriptionPosition::restore(&SavedPosition::default(), RULES, 100, now)
}

/// Delivers what the member may get.
fn take(
    sticky: &mut Sticky,
    position: &mut SubscriptionPosition,
    member: Member,
    now: Instant,
) -> Vec<u64> {
    take_some(sticky, position, member, 100, now)
}

#[test]
fn the_key_of_an_event_is_an_entry_of_its_context() {
    let sticky = Sticky::new("k");
    let event = |value: u8| {
        [
            b"\x02op\x01\x01\x01k\x01",
            &[value][..],
            b"\x06\0\0\0\x01\x01",
        ]
        .concat()
    };
    let partition = sticky.partition_of(&event(b'a'));
    assert!(matches!(partition, Partition::Of(number) if number < PARTITIONS));
    assert_eq!(partition, sticky.partition_of(&event(b'a')));
    assert_ne!(partition, sticky.partition_of(&event(b'b')));
    let other = Sticky::new("other");
    assert_eq!(other.partition_of(&event(b'a')), Partition::Keyless);
}

#[test]
fn a_key_stays_with_its_member_one_event_at_a_time_until_the_member_leaves() {
    let now = Instant::now();
    let (mut sticky, mut position) = (Sticky::new("k"), position(now));
    let (a, b) = (Member(1), Member(2));
    for (sequence, partition) in [(0, 7), (1, 7), (2, 8), (3, 7)] {
        position.handle_held(sequence, Partition::Of(partition), now);
    }
    position.handle_held(4, Partition::Keyless, now);
    assert_eq!(sticky.poll(&position, a, 1, now), [0]);
    position.handle_delivery(0, Member(1), now);
    assert_eq!(take(&mut sticky, &mut position, b, now), [2, 4]);
    assert!(position.handle_acknowledged(0));
    assert_eq!(take(&mut sticky, &mut position, b, now), [0; 0]);
    assert_eq!(take(&mut sticky, &mut position, a, now), [1]);
    // The member is gone, and its event comes again before the next one of the key.
    sticky.leave(a);
    position.handle_undelivered(1, now);
    assert_eq!(take(&mut sticky, &mut position, b, now), [1]);
    position.handle_refused(1, now);
    let later = now + Duration::from_secs(1);
    assert_eq!(take(&mut sticky, &mut position, b, now), [0; 0], "it waits");
    assert_eq!(take(&mut sticky, &mut position, b, later), [1]);
    position.handle_acknowledged(1);
    assert_eq!(take(&mut sticky, &mut position, b, later), [3]);
}

#[test]
fn a_member_that_joins_gets_its_share_of_the_idle_partitions() {
    let now = Instant::now();
    let (mut sticky, mut position) = (Sticky::new("k"), position(now));
    for sequence in 0..10 {
        position.handle_held(sequence, Partition::Of(sequence as u16), now);
    }
    let all = take(&mut sticky, &mut position, Member(1), now);
    assert_eq!(all.len(), 10);
    for sequence in 0..4 {
        position.handle_acknowledged(sequence);
    }
    sticky.poll(&position, Member(2), 0, now);
    let of = |sticky: &Sticky, member| {
        let owners = sticky.owners.iter();
        owners
            .filter(|(_, owner)| **owner == Member(member))
            .count()
    };
    assert_eq!((of(&sticky, 1), of(&sticky, 2)), (6, 4), "six are busy");
    for sequence in 4..10 {
        position.handle_acknowledged(sequence);
    }
    sticky.poll(&position, Member(3), 0, now);
    let counts = [1, 2, 3].map(|member| of(&sticky, member));
    assert_eq!(counts, [4, 3, 3]);
}

/// A step of the simulation. Numbers choose among what there is.
#[derive(Debug, Clone)]
enum Step {
    Publish(u16),
    Join,
    Poll(usize, usize),
    Acknowledge(usize),
    Refuse(usize),
    /// The events of a member that cannot be reached are delivered again.
    Die(usize),
    Wait(u64),
    Restart,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        8 => (0..6_u16).prop_map(Step::Publish),
        1 => Just(Step::Join),
        10 => (any::<usize>(), 1..4_usize).prop_map(|(member, room)| Step::Poll(member, room)),
        8 => any::<usize>().prop_map(Step::Acknowledge),
        2 => any::<usize>().prop_map(Step::Refuse),
        1 => any::<usize>().prop_map(Step::Die),
        2 => (0..6_u64).prop_map(Step::Wait),
        1 => Just(Step::Restart),
    ]
}

/// A sticky subscription with its members, and what must be true of it.
struct Model {
    sticky: Sticky,
    position: SubscriptionPosition,
    now: Instant,
    members: Vec<Member>,
    joined: u64,
    /// The members that take part.
    polled: BTreeSet<Member>,
    /// The partition of each event of the log.
    log: Vec<u16>,
    /// Delivered and not settled, with the members that have them.
    delivered: BTreeMap<u64, Member>,
    settled: BTreeSet<u64>,
    /// The last owner of each partition since a member joined or left.
    owners: BTreeMap<u16, Member>,
}

impl Model {
    fn new() -> Self {
        let now = Instant::now();
        Self {
            sticky: Sticky::new("k"),
            position: position(now),
            now,
            members: Vec::new(),
            joined: 0,
            polled: BTreeSet::new(),
            log: Vec::new(),
            delivered: BTreeMap::new(),
            settled: BTreeSet::new(),
            owners: BTreeMap::new(),
        }
    }

    fn pick(&self, at: usize) -> Option<u64> {
        let count = self.delivered.len();
        (count > 0).then(|| self.delivered.keys().nth(at % count).copied())?
    }

    fn settle(&mut self, sequence: u64) -> Result<(), TestCaseError> {
        self.delivered.remove(&sequence);
        prop_assert!(self.position.handle_acknowledged(sequence));
        prop_assert!(self.settled.insert(sequence), "settled twice");
        // The events of a key are settled in their order.
        let key = self.log[sequence as usize];
        let open =
            (0..sequence).find(|at| self.log[*at as usize] == key && !self.settled.contains(at));
        prop_assert_eq!(open, None);
        Ok(())
    }

    fn poll(&mut self, member: Member, room: usize) -> Result<(), TestCaseError> {
        while let Some(sequence) = self.position.unknown_partition() {
            let partition = Partition::Of(self.log[sequence as usize]);
            self.position.set_partition(sequence, partition);
        }
        for sequence in self.position.next()..self.log.len() as u64 {
            if self.position.room() > 0 {
                let partition = Partition::Of(self.log[sequence as usize]);
                self.position.handle_held(sequence, partition, self.now);
            }
        }
        if self.polled.insert(member) {
            // It gets its share.
            self.owners.clear();
        }
        let sequences = take_some(&mut self.sticky, &mut self.position, member, room, self.now);
        prop_assert!(sequences.len() <= room);
        for sequence in sequences {
            let key = self.log[sequence as usize];
            let is_under_way = |at: &u64| self.log[*at as usize] == key;
            prop_assert!(
                !self.delivered.keys().any(is_under_way),
                "two of a key at a time"
            );
            prop_assert!(
                !self.settled.contains(&sequence),
                "delivered after it was settled"
            );
            prop_assert_eq!(*self.owners.entry(key).or_insert(member), member);
            self.delivered.insert(sequence, member);
        }
        Ok(())
    }

    fn take(&mut self, step: &Step) -> Result<(), TestCaseError> {
        match *step {
            Step::Publish(key) => self.log.push(key),
            Step::Join => {
                self.joined += 1;
                self.members.push(Member(self.joined));
            }
            Step::Poll(at, room) if !self.members.is_empty() => {
                self.poll(self.members[at % self.members.len()], room)?;
            }
            Step::Acknowledge(at) => {
                if let Some(sequence) = self.pick(at) {
                    self.settle(sequence)?;
                }
            }
            Step::Refuse(at) => {
                if let Some(sequence) = self.pick(at) {
                    self.delivered.remove(&sequence);
                    if let NotAcknowledged::Dead { .. } =
                        self.position.handle_refused(sequence, self.now)
                    {
                        self.settle(sequence)?;
                    }
                }
            }
            Step::Die(at) if !self.members.is_empty() => {
                let member = self.members.remove(at % self.members.len());
                self.sticky.leave(member);
                let had: Vec<_> = self
                    .delivered
                    .iter()
                    .filter(|(_, of)| **of == member)
                    .map(|(at, _)| *at)
                    .collect();
                for sequence in had {
                    self.delivered.remove(&sequence);
                    self.position.handle_undelivered(sequence, self.now);
                }
                self.owners.clear();
            }
            Step::Wait(seconds) => self.now += Duration::from_secs(seconds),
            Step::Restart => {
                let saved = self.position.saved();
                self.position = SubscriptionPosition::restore(&saved, RULES, 100, self.now);
                self.sticky = Sticky::new("k");
                self.delivered.clear();
                self.polled.clear();
            }
            Step::Poll(..) | Step::Die(_) => {}
        }
        Ok(())
    }
}

/// Delivers what the member may get, and at most `room`.
fn take_some(
    sticky: &mut Sticky,
    position: &mut SubscriptionPosition,
    member: Member,
    room: usize,
    now: Instant,
) -> Vec<u64> {
    let sequences = sticky.poll(position, member, room, now);
    for sequence in &sequences {
        position.handle_delivery(*sequence, Member(1), now);
    }
    sequences
}

proptest! {
    #[test]
    fn the_events_of_a_key_come_in_order_from_one_member_to_the_next_and_each_is_settled_once(
        steps in prop::collection::vec(step(), 1..300),
    ) {
        let mut model = Model::new();
        for step in &steps {
            model.take(step)?;
        }
        model.take(&Step::Join)?;
        for _ in 0..8 * (model.log.len() + 1) {
            for at in 0..model.members.len() {
                model.take(&Step::Poll(at, 3))?;
            }
            model.take(&Step::Acknowledge(0))?;
            model.take(&Step::Wait(1))?;
        }
        prop_assert_eq!(model.settled.len(), model.log.len());
        prop_assert_eq!(model.position.floor(), model.log.len() as u64);
    }
}
