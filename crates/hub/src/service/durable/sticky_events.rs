//! The events of a sticky subscription that wait for the members that get their keys.

use std::collections::{BTreeMap, VecDeque};
use std::time::Instant;

use floe::forwarding::Event;

use super::delivery::Delivery;
use super::expiry_clock::ExpiryClock;
use crate::core::durable::{Member, Sticky, SubscriptionPosition};
use crate::core::log::Stamp;

/// Pending events that were read, and the members that get them.
#[derive(Debug)]
pub(super) struct StickyEvents {
    sticky: Sticky,
    /// The events by their sequences.
    events: BTreeMap<u64, (Stamp, Event)>,
}

/// The events for a member, or the step that must come first.
pub(super) enum StickyTaken {
    /// These events; they count as delivered from now on.
    Events(Vec<Delivery>),
    /// The lifespans of this many events were over.
    Expired(u64),
    /// This one, once it is read again.
    Unread {
        sequence: u64,
        /// True if the member gets it then. If false, its key is not known yet.
        is_wanted: bool,
    },
}

/// At most this many events wait, and one more for each member, which it gets next. While there is no room, no member
/// gets later events.
const EVENTS_MAX: usize = 256;
/// Events stop being read once those that wait have this many bytes.
const BYTES_MAX: usize = 256 * 1024;

impl StickyEvents {
    pub(super) fn new(context_key: &str) -> Self {
        Self {
            sticky: Sticky::new(context_key),
            events: BTreeMap::new(),
        }
    }

    /// The entry of the context that has the key of an event.
    pub(super) fn context_key(&self) -> &str {
        self.sticky.context_key()
    }

    /// Returns true if there is room for more events.
    pub(super) fn has_room(&self, position: &SubscriptionPosition) -> bool {
        self.has_memory() && position.room() > 0
    }

    fn has_memory(&self) -> bool {
        self.events.len() < EVENTS_MAX && self.byte_len() < BYTES_MAX
    }

    /// The bytes of the events that wait.
    pub(super) fn byte_len(&self) -> usize {
        self.events.values().map(|(_, event)| event.len()).sum()
    }

    /// Takes new events while there is room. Returns true if there were any.
    pub(super) fn fill(
        &mut self,
        feed: &mut VecDeque<(Stamp, Event)>,
        position: &mut SubscriptionPosition,
        now: Instant,
    ) -> bool {
        let before = self.events.len();
        while self.has_room(position) {
            let Some((stamp, event)) = feed.pop_front() else {
                break;
            };
            let partition = self.sticky.partition_of(event.as_bytes());
            position.handle_held(stamp.sequence, partition, now);
            // The event may wait for long, and must not keep the other events of its read alive.
            self.events
                .insert(stamp.sequence, (stamp, event.detached()));
        }
        self.events.len() > before
    }

    /// Inserts a pending event that was read again. If the keys of pending events are not known, thousands are read
    /// again, one after the other. Those that no member wants yet and for which there is no room are read once more
    /// later.
    pub(super) fn insert(
        &mut self,
        stamp: Stamp,
        event: Event,
        is_wanted: bool,
        position: &mut SubscriptionPosition,
    ) {
        let partition = self.sticky.partition_of(event.as_bytes());
        position.set_partition(stamp.sequence, partition);
        if is_wanted || self.has_memory() {
            self.events
                .insert(stamp.sequence, (stamp, event.detached()));
        }
        self.drop_settled(position);
    }

    /// The events that a member may get now, at most `room`.
    pub(super) fn take(
        &mut self,
        position: &mut SubscriptionPosition,
        member: Member,
        room: usize,
        now: Instant,
        clock: &ExpiryClock,
    ) -> StickyTaken {
        if let Some(sequence) = position.unknown_partition() {
            return StickyTaken::Unread {
                sequence,
                is_wanted: false,
            };
        }
        let (mut taken, mut expired) = (Vec::new(), 0);
        for sequence in self.sticky.poll(position, member, room, now) {
            let Some((stamp, event)) = self.events.remove(&sequence) else {
                match taken.is_empty() && expired == 0 {
                    true => {
                        return StickyTaken::Unread {
                            sequence,
                            is_wanted: true,
                        };
                    }
                    false => break,
                }
            };
            let is_over = clock.is_over(&stamp, &event);
            if is_over && taken.is_empty() {
                position.handle_acknowledged(sequence);
                expired += 1;
                continue;
            }
            if is_over || expired > 0 {
                // The members are told of expired events before they get the next ones.
                self.events.insert(sequence, (stamp, event));
                break;
            }
            taken.push(Delivery {
                sequence,
                is_forwarded: stamp.is_forwarded,
                time: stamp.time,
                attempt: position.handle_delivery(sequence, member, now),
                event,
            });
        }
        match expired {
            0 => StickyTaken::Events(taken),
            count => StickyTaken::Expired(count),
        }
    }

    /// A member has left or cannot be reached.
    pub(super) fn leave(&mut self, member: Member) {
        self.sticky.leave(member);
    }

    /// Drops the events that are no longer pending.
    pub(super) fn drop_settled(&mut self, position: &SubscriptionPosition) {
        self.events
            .retain(|sequence, _| position.is_pending(*sequence));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::durable::{Redelivery, SavedPosition};
    use crate::core::log::EventTime;
    use crate::core::tests::events_with_contexts;

    #[test]
    fn events_that_are_read_again_for_their_keys_take_no_more_memory_than_others() {
        const COUNT: u64 = 1000;
        let customers: Vec<_> = (0..COUNT).map(|at| (at % 50).to_string()).collect();
        let contexts: Vec<_> = customers.iter().map(|it| [("customer", &it[..])]).collect();
        let contexts: Vec<_> = contexts.iter().map(|it| &it[..]).collect();
        let events = events_with_contexts(&"o".repeat(4096), &contexts);
        let events: Vec<_> = events.each().collect();
        let (now, event_len) = (Instant::now(), events[0].len() + 1);
        // Another subscriber has refused all of them before the subscription became sticky.
        let saved = SavedPosition::with_pending(COUNT, (0..COUNT).map(|at| (at, 1)));
        let rules = Redelivery::default();
        let mut position = SubscriptionPosition::restore(&saved, rules, 4096, now);
        let (mut waiting, clock) = (StickyEvents::new("customer"), ExpiryClock::new(None, None));
        let mut delivered = Vec::new();
        while position.pending() > 0 {
            match waiting.take(&mut position, Member(1), 4096, now, &clock) {
                StickyTaken::Unread {
                    sequence,
                    is_wanted,
                } => {
                    let stamp = Stamp {
                        is_forwarded: false,
                        sequence,
                        time: EventTime::now(),
                        origin: None,
                    };
                    let event = events[sequence as usize].clone();
                    waiting.insert(stamp, event, is_wanted, &mut position);
                }
                StickyTaken::Events(taken) => {
                    assert!(!taken.is_empty(), "nothing is under way");
                    for delivery in taken {
                        assert!(position.handle_acknowledged(delivery.sequence));
                        delivered.push(delivery.sequence);
                    }
                }
                StickyTaken::Expired(_) => panic!("they have no lifespan"),
            }
            let (held, max) = (waiting.byte_len(), BYTES_MAX + 2 * event_len);
            assert!(held < max, "{held} bytes, at most {max}");
        }
        delivered.sort_unstable();
        assert!(delivered.into_iter().eq(0..COUNT));
    }
}
