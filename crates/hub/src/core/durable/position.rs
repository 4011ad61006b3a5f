//! The position of a durable subscription in the log of its topic.

use std::collections::BTreeSet;
use std::ops::Range;
use std::time::Instant;

use super::by_sequence::BySequence;
use super::redelivery::Redelivery;
use super::saved_position::SavedPosition;
use super::sticky::{Member, Partition};

/// Which events of a log a subscription has acknowledged, and which it gets next.
///
/// Each event of the log is in exactly one place:
///
/// ```text
///        acknowledged            | floor                        | next
/// -------------------------------+------------------------------+-----------------
///  acknowledged or dead letters  | each one acknowledged, or    | not yet
///                                | pending: delivered, or       | delivered
///                                | waiting for another attempt  |
/// ```
///
/// The number of pending events is limited, so that the position takes little memory and few bytes on disk.
#[derive(Debug)]
pub(crate) struct SubscriptionPosition {
    /// The sequence number of the first event that was never delivered.
    next: u64,
    /// Events that were delivered at least once and are not acknowledged.
    pending: BySequence<Pending>,
    /// The pending events that wait for another attempt. A healthy subscriber may have thousands of pending events,
    /// none of which waits, so a search for waiting events looks here only.
    waiting: BTreeSet<u64>,
    /// No delivered event has an earlier deadline. A search for late events begins only when this time has come.
    late_at: Option<Instant>,
    pending_max: usize,
    redelivery: Redelivery,
    /// Events that were acknowledged, since the position was made or restored.
    acknowledged: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Pending {
    /// The number of deliveries so far.
    attempts: u32,
    state: PendingState,
    /// Which other events it must not overtake, in a sticky subscription.
    partition: Partition,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PendingState {
    /// Delivered to this member. It is delivered again if no acknowledgement comes before the deadline.
    Delivered {
        member: Member,
        deadline: Option<Instant>,
    },
    /// It waits for its next attempt, at this time.
    Waiting { until: Instant },
    /// All attempts have failed. It waits until it is stored as a dead letter.
    Dead,
}

/// The event that a subscription gets next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NextEvent {
    /// An event that was delivered before.
    Again {
        /// Its sequence number.
        sequence: u64,
    },
    /// The first events in the log from `from` on, and at most `count` of them.
    New {
        /// The sequence number of the first.
        from: u64,
        /// How many there is room for.
        count: usize,
    },
}

/// The consequence for an event that was not acknowledged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NotAcknowledged {
    /// It is delivered again at this time.
    Again {
        /// The time.
        at: Instant,
    },
    /// It is to be stored as a dead letter, and then acknowledged.
    Dead {
        /// The number of attempts.
        attempts: u32,
    },
    /// It was acknowledged meanwhile.
    Settled,
}

impl Pending {
    /// Returns true if it waits for another attempt, whose time has come.
    fn is_due(&self, now: Instant) -> bool {
        matches!(self.state, PendingState::Waiting { until } if until <= now)
    }

    /// When it is late, if it is delivered.
    fn deadline(&self) -> Option<Instant> {
        match self.state {
            PendingState::Delivered { deadline, .. } => deadline,
            PendingState::Waiting { .. } | PendingState::Dead => None,
        }
    }

    /// When it is late, if this member or a program that pulls has got it.
    fn deadline_for(&self, looking: Member) -> Option<Instant> {
        let is_seen = |member| member == looking || member == Member::PULLING;
        match self.state {
            PendingState::Delivered { member, deadline } if is_seen(member) => deadline,
            _ => None,
        }
    }
}

impl SubscriptionPosition {
    /// A position that was saved, or a new one without pending events. Pending events are delivered again immediately, and
    /// before new ones.
    pub(crate) fn restore(
        saved: &SavedPosition,
        redelivery: Redelivery,
        pending_max: usize,
        now: Instant,
    ) -> Self {
        let pending = saved.pending().map(|(sequence, attempts)| {
            let pending = Pending {
                attempts,
                state: PendingState::Waiting { until: now },
                partition: Partition::Unknown,
            };
            (sequence, pending)
        });
        Self {
            next: saved.next,
            pending: pending.collect(),
            waiting: saved.pending().map(|(at, _)| at).collect(),
            late_at: None,
            pending_max,
            redelivery,
            acknowledged: 0,
        }
    }

    /// Puts other rules in force, for later deliveries.
    pub(crate) fn reconfigure(&mut self, redelivery: Redelivery, pending_max: usize) {
        self.redelivery = redelivery;
        self.pending_max = pending_max;
    }

    /// Sets the position: all events from this one on count as never delivered, and all before it as acknowledged.
    pub(crate) fn set(&mut self, next: u64) {
        self.next = next;
        self.pending.clear();
        self.waiting.clear();
        self.late_at = None;
    }

    /// Returns the position in the form in which it is stored.
    pub(crate) fn saved(&self) -> SavedPosition {
        let mut saved = SavedPosition::at(self.next);
        for run in self.pending.runs() {
            saved.add(run.sequences(), run.value.attempts);
        }
        saved
    }

    /// The sequence number of the first event that is not acknowledged, or of the first one that was never delivered. All
    /// events before it are acknowledged.
    pub(crate) fn floor(&self) -> u64 {
        self.pending.first().unwrap_or(self.next)
    }

    /// The sequence number of the first event that was never delivered.
    pub(crate) fn next(&self) -> u64 {
        self.next
    }

    /// The number of events that were delivered and are not acknowledged.
    pub(crate) fn pending(&self) -> usize {
        self.pending.len()
    }

    /// How many events before this one wait for another attempt.
    pub(crate) fn waiting_before(&self, sequence: u64) -> usize {
        self.waiting.range(..sequence).count()
    }

    /// Returns true if an event is pending.
    pub(crate) fn is_pending(&self, sequence: u64) -> bool {
        self.pending.get(sequence).is_some()
    }

    /// The number of acknowledged events, since the position was made or restored.
    pub(crate) fn acknowledged(&self) -> u64 {
        self.acknowledged
    }

    /// Returns the next events of the subscription, if any: an event whose time has come again, or new events if there
    /// is room for them.
    ///
    /// With room for one event, events keep their order: while one waits for another attempt, no other is delivered.
    pub(crate) fn poll_next(&self, now: Instant) -> Option<NextEvent> {
        let is_due = |sequence: &&u64| {
            let pending = self.pending.get(**sequence);
            pending.is_some_and(|pending| pending.is_due(now))
        };
        if let Some(sequence) = self.waiting.iter().find(is_due) {
            return Some(NextEvent::Again {
                sequence: *sequence,
            });
        }
        let count = self.room();
        (count > 0).then_some(NextEvent::New {
            from: self.next,
            count,
        })
    }

    /// Notes that an event is being delivered to a member. Returns the number of the attempt, from 1.
    ///
    /// A new event has a sequence number of at least [`SubscriptionPosition::next`]; the log has none between these two.
    pub(crate) fn handle_delivery(&mut self, sequence: u64, member: Member, now: Instant) -> u32 {
        let deadline = self.redelivery.deadline;
        let deadline = deadline.and_then(|deadline| now.checked_add(deadline));
        let state = PendingState::Delivered { member, deadline };
        self.late_at = earlier(self.late_at, deadline);
        if sequence >= self.next {
            self.next = sequence + 1;
            let pending = Pending {
                attempts: 1,
                state,
                partition: Partition::Unknown,
            };
            self.pending.insert(sequence, pending);
            return 1;
        }
        match self.pending.get(sequence) {
            Some(pending) => {
                let attempts = pending.attempts.saturating_add(1);
                let delivered = Pending {
                    attempts,
                    state,
                    ..pending
                };
                self.pending.insert(sequence, delivered);
                self.waiting.remove(&sequence);
                attempts
            }
            // It was acknowledged before. This happens only if the caller delivers it without asking for the next
            // event.
            None => 0,
        }
    }

    /// A new event is left out: its lifespan is over.
    pub(crate) fn handle_skipped(&mut self, sequence: u64) {
        self.next = self.next.max(sequence.saturating_add(1));
    }

    /// How many more events may be pending.
    pub(crate) fn room(&self) -> usize {
        self.pending_max.saturating_sub(self.pending.len())
    }

    /// A new event was read, and waits for the member of the subscription that gets its partition.
    pub(crate) fn handle_held(&mut self, sequence: u64, partition: Partition, now: Instant) {
        self.next = sequence + 1;
        let pending = Pending {
            attempts: 0,
            state: PendingState::Waiting { until: now },
            partition,
        };
        self.pending.insert(sequence, pending);
        self.waiting.insert(sequence);
    }

    /// The first pending event whose partition is not known.
    pub(crate) fn unknown_partition(&self) -> Option<u64> {
        let mut runs = self.pending.runs();
        let unknown = runs.find(|run| run.value.partition == Partition::Unknown);
        unknown.map(|run| run.first)
    }

    /// The partition of a pending event is known.
    pub(crate) fn set_partition(&mut self, sequence: u64, partition: Partition) {
        if let Some(pending) = self.pending.get(sequence) {
            self.pending.insert(
                sequence,
                Pending {
                    partition,
                    ..pending
                },
            );
        }
    }

    /// Forgets the partitions of all pending events, because the key of an event is something else from now on.
    pub(crate) fn forget_partitions(&mut self) {
        self.pending
            .change_all(|pending| pending.partition = Partition::Unknown);
    }

    /// The partitions that have pending events.
    pub(crate) fn partitions(&self) -> BTreeSet<u16> {
        let partitions = self.pending.runs().map(|run| run.value.partition);
        partitions
            .filter_map(|partition| match partition {
                Partition::Of(number) => Some(number),
                Partition::Unknown | Partition::Keyless => None,
            })
            .collect()
    }

    /// The first pending event of each partition, if its time has come to be delivered, and all such events without a key.
    pub(crate) fn first_of_partitions(
        &self,
        now: Instant,
    ) -> impl Iterator<Item = (u64, Partition)> + '_ {
        let mut seen = BTreeSet::new();
        self.pending.iter().filter_map(move |(sequence, pending)| {
            let is_first = match pending.partition {
                Partition::Of(number) => seen.insert(number),
                Partition::Unknown | Partition::Keyless => true,
            };
            (is_first && pending.is_due(now)).then_some((sequence, pending.partition))
        })
    }

    /// An event was acknowledged. Returns false if it was acknowledged before, or not delivered yet.
    pub(crate) fn handle_acknowledged(&mut self, sequence: u64) -> bool {
        let is_first = self.pending.remove(sequence).is_some();
        self.waiting.remove(&sequence);
        self.acknowledged += u64::from(is_first);
        is_first
    }

    /// Notes that an event, and all delivered events before it, were acknowledged. Returns their number.
    pub(crate) fn handle_acknowledged_to(&mut self, sequence: u64) -> u64 {
        // No event has the highest number of all.
        let count = self.forget_before(sequence.saturating_add(1));
        self.acknowledged += count;
        count
    }

    /// The subscriber refused an event, or did not answer in time.
    pub(crate) fn handle_refused(&mut self, sequence: u64, now: Instant) -> NotAcknowledged {
        let pending = self.pending.get(sequence);
        // A dead one is being stored already.
        let Some(pending) = pending.filter(|it| it.state != PendingState::Dead) else {
            return NotAcknowledged::Settled;
        };
        let attempts = pending.attempts;
        match self.redelivery.wait_after(attempts) {
            Some(wait) => {
                let at = now.checked_add(wait).unwrap_or(now);
                self.wait(sequence, pending, at);
                NotAcknowledged::Again { at }
            }
            None => {
                let state = PendingState::Dead;
                self.pending.insert(sequence, Pending { state, ..pending });
                self.waiting.remove(&sequence);
                NotAcknowledged::Dead { attempts }
            }
        }
    }

    /// The connection ended before the answer to an event. The attempt counts, and the event is delivered again as soon as the
    /// subscriber is there, before later ones. If others were in flight beside it, it may be none of its fault, and so this
    /// is not its last attempt.
    pub(crate) fn handle_broken(
        &mut self,
        sequence: u64,
        is_alone: bool,
        now: Instant,
    ) -> NotAcknowledged {
        let pending = self.pending.get(sequence);
        let Some(mut pending) = pending.filter(|it| it.state != PendingState::Dead) else {
            return NotAcknowledged::Settled;
        };
        if let Some(max) = self.redelivery.attempts_max
            && pending.attempts >= max
        {
            if is_alone {
                return self.handle_refused(sequence, now);
            }
            pending.attempts = max.saturating_sub(1);
        }
        self.wait(sequence, pending, now);
        NotAcknowledged::Again { at: now }
    }

    /// A delivery did not happen. The attempt does not count, and the event is delivered again as soon as the subscriber is
    /// there.
    pub(crate) fn handle_undelivered(&mut self, sequence: u64, now: Instant) {
        self.give_back(sequence, now);
    }

    /// An event could not be stored as a dead letter. It is tried again at this time.
    pub(crate) fn handle_undead(&mut self, sequence: u64, until: Instant) {
        self.give_back(sequence, until);
    }

    /// An attempt does not count, and the next one is at this time.
    fn give_back(&mut self, sequence: u64, until: Instant) {
        if let Some(mut pending) = self.pending.get(sequence) {
            pending.attempts = pending.attempts.saturating_sub(1);
            self.wait(sequence, pending, until);
        }
    }

    /// A pending event waits for its next attempt.
    fn wait(&mut self, sequence: u64, pending: Pending, until: Instant) {
        let state = PendingState::Waiting { until };
        self.pending.insert(sequence, Pending { state, ..pending });
        self.waiting.insert(sequence);
    }

    /// The events whose deadline is over, of those that this member or programs that pull have got. The caller refuses
    /// each of them. Other members look after their own.
    pub(crate) fn late(&mut self, member: Member, now: Instant) -> Vec<u64> {
        if self.late_at.is_none_or(|at| at > now) {
            return Vec::new();
        }
        self.late_at = None;
        let mut late = Vec::new();
        for run in self.pending.runs() {
            self.late_at = earlier(self.late_at, run.value.deadline());
            let deadline = run.value.deadline_for(member);
            if deadline.is_some_and(|deadline| deadline <= now) {
                late.extend(run.sequences());
            }
        }
        late
    }

    /// The time at which this member looks for late events, or delivers one again, unless an event changes that before.
    /// It may be the deadline of an event that was acknowledged since, or of another member's event.
    pub(crate) fn next_deadline(&self, member: Member, now: Instant) -> Option<Instant> {
        let waiting = self.waiting.iter().filter_map(|sequence| {
            match self.pending.get(*sequence)?.state {
                // If its time has come, it waits for room, or for an acknowledgement of another one.
                PendingState::Waiting { until } => (until > now).then_some(until),
                PendingState::Delivered { .. } | PendingState::Dead => None,
            }
        });
        let late_at = match self.late_at.filter(|_| self.pending.len() > 0) {
            // It may be one that another member has not settled yet.
            Some(at) if at <= now => {
                let runs = self.pending.runs();
                runs.filter_map(|run| run.value.deadline_for(member)).min()
            }
            late_at => late_at,
        };
        waiting.chain(late_at).min()
    }

    /// The log has no events in this range any more, nor before it. Returns how many are lost for the subscription: the new ones,
    /// and those that wait for another attempt. An event that is being delivered may still be acknowledged; if it is not, it
    /// is missing at its next attempt.
    pub(crate) fn handle_trimmed(&mut self, gap: Range<u64>) -> u64 {
        let waiting: Vec<u64> = self.waiting.range(..gap.end).copied().collect();
        for sequence in &waiting {
            self.pending.remove(*sequence);
            self.waiting.remove(sequence);
        }
        waiting.len() as u64 + self.handle_damaged(gap)
    }

    /// The log has lost the events in this range, but perhaps none of the pending ones. Returns the number of new events that
    /// are lost for the subscription.
    pub(crate) fn handle_damaged(&mut self, gap: Range<u64>) -> u64 {
        let skipped = gap.end.saturating_sub(self.next.max(gap.start));
        self.next = self.next.max(gap.end);
        skipped
    }

    /// The events before this sequence are not pending any more. Returns how many were.
    fn forget_before(&mut self, first: u64) -> u64 {
        self.waiting = self.waiting.split_off(&first);
        self.pending.remove_before(first) as u64
    }
}

/// The earlier of two times, if there are any.
fn earlier(one: Option<Instant>, other: Option<Instant>) -> Option<Instant> {
    one.into_iter().chain(other).min()
}

#[cfg(test)]
mod tests;
