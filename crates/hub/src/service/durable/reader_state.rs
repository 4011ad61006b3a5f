//! The state of a reader: its position, and the events that are delivered next.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use super::dead_letter_topic::DeadLetterTopic;
use super::delivery::{Batch, Delivery, ToRead};
use super::expiry_clock::ExpiryClock;
use super::feed::Feed;
use super::position_saver::PositionSaver;
use super::sticky_events::{StickyEvents, StickyTaken};
use crate::core::durable::{
    Chase, Member, Members, MissingEvents, NextEvent, Overtaking, SubscriptionPosition,
};
use crate::core::log::{Gap, GapReason};

/// The part of a reader that its lock guards.
#[derive(Debug)]
pub(super) struct ReaderState {
    pub(super) position: SubscriptionPosition,
    /// The topic for events that cannot be delivered.
    pub(super) dead_letters: Option<DeadLetterTopic>,
    /// The subscribers want no older events than this.
    pub(super) lifespan: Option<Duration>,
    /// Events that were read and not delivered yet.
    pub(super) feed: Feed,
    /// Events that wait for their members, if the events of one key go to one member.
    pub(super) sticky_events: Option<StickyEvents>,
    /// The subscribers that share the subscription.
    pub(super) members: Members,
    /// How it comes nearer to the end of the log.
    pub(super) chase: Chase,
    pub(super) saver: PositionSaver,
    /// Warns before the retention overtakes it.
    pub(super) overtaking: Overtaking,
    /// Events that were in flight when a connection ended, and were pending at the last look.
    pub(super) suspects: BTreeSet<u64>,
    /// How many events expired before they were delivered, since the hub started.
    pub(super) expired: u64,
    /// How many events became dead letters, since the hub started.
    pub(super) dead_letter_count: u64,
}

impl ReaderState {
    /// The next step of the task of a member that may deliver this many events. Events that it returns count as delivered
    /// from now on. Without `may_read`, it does not say to read new events.
    pub(super) fn poll(
        &mut self,
        member: Member,
        room: usize,
        may_read: bool,
        now: Instant,
        clock: &ExpiryClock,
    ) -> Batch {
        if self.sticky_events.is_some() {
            return self.poll_held(member, room, may_read, now, clock);
        }
        let next = (room > 0).then(|| self.position.poll_next(now)).flatten();
        match next {
            Some(NextEvent::Again { sequence }) => {
                let attempt = self.position.handle_delivery(sequence, member, now);
                return Batch::Read(ToRead::Again { sequence, attempt });
            }
            Some(NextEvent::New { .. }) if clock.is_over_first(&self.feed.events) => {
                return Batch::Expired(self.expire(clock));
            }
            Some(NextEvent::New { count, .. }) => {
                let batch = self.take_new(member, room.min(count), now, clock);
                if !batch.is_empty() {
                    return Batch::Deliver(batch);
                }
            }
            None => {}
        }
        self.read_or_wait(member, may_read && next.is_some(), now)
    }

    /// Takes new events, up to the first one that has expired. They count as delivered.
    fn take_new(
        &mut self,
        member: Member,
        count: usize,
        now: Instant,
        clock: &ExpiryClock,
    ) -> Vec<Delivery> {
        let mut taken = Vec::with_capacity(count.min(self.feed.events.len()));
        while taken.len() < count
            && !clock.is_over_first(&self.feed.events)
            && let Some((stamp, event)) = self.feed.events.pop_front()
        {
            let attempt = self.position.handle_delivery(stamp.sequence, member, now);
            self.saver.has_unsaved_attempts = true;
            taken.push(Delivery {
                sequence: stamp.sequence,
                is_forwarded: stamp.is_forwarded,
                time: stamp.time,
                attempt,
                event,
            });
        }
        taken
    }

    /// Does as [`ReaderState::poll`] for a sticky subscription, whose events wait for the members that get their keys.
    fn poll_held(
        &mut self,
        member: Member,
        room: usize,
        may_read: bool,
        now: Instant,
        clock: &ExpiryClock,
    ) -> Batch {
        let Some(waiting) = &mut self.sticky_events else {
            return Batch::Wait(None);
        };
        self.saver.is_unsaved |= waiting.fill(&mut self.feed.events, &mut self.position, now);
        match waiting.take(&mut self.position, member, room, now, clock) {
            StickyTaken::Unread {
                sequence,
                is_wanted,
            } => {
                return Batch::Read(ToRead::Sticky {
                    sequence,
                    is_wanted,
                });
            }
            StickyTaken::Events(events) if !events.is_empty() => {
                self.saver.has_unsaved_attempts = true;
                return Batch::Deliver(events);
            }
            StickyTaken::Expired(count) => {
                (self.expired, self.saver.is_unsaved) = (self.expired + count, true);
                return Batch::Expired(count);
            }
            StickyTaken::Events(_) => {}
        }
        let wants_new = may_read && room > 0 && waiting.has_room(&self.position);
        self.read_or_wait(member, wants_new, now)
    }

    /// Reads new events if they are wanted, there are none, and no other task reads.
    fn read_or_wait(&mut self, member: Member, wants_new: bool, now: Instant) -> Batch {
        let to_read = wants_new.then(|| self.feed.begin_read()).flatten();
        match to_read {
            Some(to_read) => Batch::Read(to_read),
            None => Batch::Wait(self.position.next_deadline(member, now)),
        }
    }

    /// Leaves out the next events, up to the first one that has not expired. Returns their number.
    fn expire(&mut self, clock: &ExpiryClock) -> u64 {
        let mut count = 0;
        while clock.is_over_first(&self.feed.events)
            && let Some((stamp, _)) = self.feed.events.pop_front()
        {
            self.position.handle_skipped(stamp.sequence);
            count += 1;
        }
        self.expired += count;
        self.saver.is_unsaved |= count > 0;
        count
    }

    /// The log has dropped a pending event, or the disk has lost it, as the gap that was found in its place says.
    pub(super) fn handle_missing(&mut self, sequence: u64, gap: Option<&Gap>) -> MissingEvents {
        let is_lost = self.position.handle_acknowledged(sequence);
        self.saver.is_unsaved |= is_lost;
        self.drop_settled();
        MissingEvents {
            count: is_lost.into(),
            reason: gap.map_or(GapReason::Expired, |gap| gap.reason),
        }
    }

    /// The next events are missing.
    pub(super) fn handle_gap(&mut self, gap: &Gap) -> MissingEvents {
        let count = match gap.reason {
            GapReason::Expired => self.position.handle_trimmed(gap.sequences.clone()),
            GapReason::Damaged => self.position.handle_damaged(gap.sequences.clone()),
        };
        self.saver.is_unsaved |= count > 0;
        self.drop_settled();
        MissingEvents {
            count,
            reason: gap.reason,
        }
    }

    /// Drops the events that are no longer pending.
    pub(super) fn drop_settled(&mut self) {
        if let Some(waiting) = &mut self.sticky_events {
            waiting.drop_settled(&self.position);
        }
    }
}
