//! Which member of a shared subscription gets the events of a key.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use super::position::SubscriptionPosition;
use crate::core::context::value_of;

/// Gives the events of one key to one member of a shared subscription, in their order.
///
/// Keys are hashed into partitions, and a partition belongs to the member that first takes one of its events. It changes
/// hands only if its owner leaves, or if a member joins and no event of the partition is pending. Only one event of a
/// partition is delivered at a time, so that a refused event does not come behind later ones of its key.
#[derive(Debug)]
pub(crate) struct Sticky {
    /// The entry of an event's context whose value is the key of the event.
    context_key: String,
    /// The owner of each partition that has one.
    owners: BTreeMap<u16, Member>,
    members: BTreeSet<Member>,
}

/// A member of a shared subscription. Each one has another number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Member(pub(crate) u64);

impl Member {
    /// Programs that pull are one member: the hub does not tell them apart. No delivery task looks after its events.
    pub(crate) const PULLING: Self = Self(0);
}

/// The partition of a pending event, as far as it is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Partition {
    /// Nothing: the event was delivered without regard to its key, or before the hub started.
    Unknown,
    /// The event has no key. Any member may get it at any time.
    Keyless,
    /// Its key is in this partition.
    Of(u16),
}

/// The number of partitions: enough to share them out evenly among some hundred members.
const PARTITIONS: u16 = 1024;

impl Sticky {
    pub(crate) fn new(context_key: &str) -> Self {
        Self {
            context_key: context_key.to_owned(),
            owners: BTreeMap::new(),
            members: BTreeSet::new(),
        }
    }

    /// The entry of the context that has the key.
    pub(crate) fn context_key(&self) -> &str {
        &self.context_key
    }

    /// The partition of an event.
    pub(crate) fn partition_of(&self, event: &[u8]) -> Partition {
        match value_of(event, &self.context_key) {
            None => Partition::Keyless,
            Some(key) => Partition::Of((hash(key) % u64::from(PARTITIONS)) as u16),
        }
    }

    /// Returns the events that this member may get now, at most `room`, in the order of the log. The caller must
    /// deliver all of them, or not at all: the member owns their partitions from now on.
    ///
    /// All pending events must have known partitions: see [`SubscriptionPosition::unknown_partition`].
    pub(crate) fn poll(
        &mut self,
        position: &SubscriptionPosition,
        member: Member,
        room: usize,
        now: Instant,
    ) -> Vec<u64> {
        if self.members.insert(member) {
            self.share_out(position, member);
        }
        let mut may_get = |partition| match partition {
            Partition::Of(number) => *self.owners.entry(number).or_insert(member) == member,
            Partition::Unknown | Partition::Keyless => true,
        };
        let mut sequences = Vec::new();
        for (sequence, partition) in position.first_of_partitions(now) {
            if sequences.len() == room {
                break;
            }
            if may_get(partition) {
                sequences.push(sequence);
            }
        }
        sequences
    }

    /// A member has left, or cannot be reached. Others get its partitions.
    pub(crate) fn leave(&mut self, member: Member) {
        self.members.remove(&member);
        self.owners.retain(|_, owner| *owner != member);
    }

    /// Gives a new member its share of the partitions, taken one by one from the members that have most. Partitions with
    /// pending events stay where they are.
    fn share_out(&mut self, position: &SubscriptionPosition, member: Member) {
        let busy = position.partitions();
        let share = self.owners.len() / self.members.len();
        let mut idle: BTreeMap<Member, Vec<u16>> = BTreeMap::new();
        let mut counts: BTreeMap<Member, usize> = BTreeMap::new();
        for (number, owner) in &self.owners {
            *counts.entry(*owner).or_default() += 1;
            if !busy.contains(number) {
                idle.entry(*owner).or_default().push(*number);
            }
        }
        for _ in 0..share {
            let candidates = idle.iter().filter(|(_, numbers)| !numbers.is_empty());
            let richest = candidates.map(|(owner, _)| *owner);
            let Some(richest) = richest.max_by_key(|owner| counts[owner]) else {
                return;
            };
            if counts[&richest] <= share {
                return;
            }
            let number = idle.get_mut(&richest).and_then(Vec::pop);
            let number = number.expect("it has an idle partition");
            *counts.get_mut(&richest).expect("it owns partitions") -= 1;
            self.owners.insert(number, member);
        }
    }
}

/// FNV-1a. Publishers choose keys, but can only achieve that their keys share a partition.
fn hash(key: &[u8]) -> u64 {
    key.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests;
