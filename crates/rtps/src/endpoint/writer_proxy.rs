//! A writer at the other end, as its reader knows it.

use core::net::SocketAddr;
use std::collections::{BTreeMap, VecDeque};
use std::time::{Duration, Instant};

use crate::guid::Guid;
use crate::message::{Gap, Heartbeat, NackFrag, SET_LEN_MAX, SequenceNumberSet};
use crate::sequence_number::SequenceNumber;

use super::reassembly::Reassembly;
use super::sample::Sample;

/// A writer at the other end.
#[derive(Debug)]
pub(super) struct WriterProxy {
    pub(super) guid: Guid,
    pub(super) to: SocketAddr,
    pub(super) is_reliable: bool,
    /// The next sample to be delivered. Of a best effort writer: one after the highest that has come.
    pub(super) next: SequenceNumber,
    /// Samples in front of this that have not come never will.
    pub(super) irrelevant_below: SequenceNumber,
    /// Samples whose turn has not come; `None` for those that never will.
    pub(super) pending: BTreeMap<SequenceNumber, Option<Sample>>,
    /// Samples that are not whole.
    pub(super) partial: BTreeMap<SequenceNumber, Reassembly>,
    /// The memory of both, about.
    pub(super) held_bytes: usize,
    /// Samples that were delivered and that the caller has not acknowledged, if that is up to the caller.
    pub(super) unacknowledged: VecDeque<SequenceNumber>,
    /// How many the caller has acknowledged since the last answer.
    acknowledged: usize,
    /// The base of the last answer.
    answered: SequenceNumber,
    /// The writer sends its history to every reader that asks for it, and this reader wants none, so it begins with what
    /// comes first.
    pub(super) skips_history: bool,
    /// The last sample of which the writer told, once it has told something.
    pub(super) last: Option<SequenceNumber>,
    /// Answer the writer, at this time or later.
    pub(super) answer_at: Option<Instant>,
    /// The writer knows nothing of this reader yet, as far as this reader knows.
    greeting_pause: Duration,
    acknack_count: i32,
    nack_frag_count: i32,
    last_request: Option<(Request, Instant)>,
    jump: Option<Jump>,
    contradiction: Option<Contradiction>,
    /// Old samples in a row of a best effort writer, and the number of the last one.
    old: (u32, SequenceNumber),
    pub(super) lease: Option<Duration>,
    pub(super) last_sign: Instant,
    pub(super) is_alive: bool,
}

/// The main parts of a request for what is missing, to see whether the next one is the same.
type Request = (SequenceNumber, usize, Option<u32>);

/// A heartbeat that says that samples are gone of which no heartbeat has told before.
#[derive(Debug, Clone, Copy)]
struct Jump {
    count: i32,
    first: SequenceNumber,
}

/// Heartbeats that tell of fewer samples than have been delivered.
#[derive(Debug, Clone, Copy)]
struct Contradiction {
    count: i32,
    times: u32,
    since: Instant,
}

/// The meaning of a heartbeat.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Told {
    /// It is old, or cannot be believed yet.
    Nothing,
    /// It counts; so many samples are lost.
    News { lost: u64 },
}

impl WriterProxy {
    pub(super) fn new(
        guid: Guid,
        to: SocketAddr,
        is_reliable: bool,
        lease: Option<Duration>,
        now: Instant,
    ) -> Self {
        Self {
            guid,
            to,
            is_reliable,
            next: SequenceNumber::FIRST,
            irrelevant_below: SequenceNumber::FIRST,
            pending: BTreeMap::new(),
            partial: BTreeMap::new(),
            held_bytes: 0,
            unacknowledged: VecDeque::new(),
            acknowledged: 0,
            answered: SequenceNumber::ZERO,
            skips_history: false,
            last: None,
            answer_at: is_reliable.then_some(now),
            greeting_pause: GREETING_PAUSE_MIN,
            acknack_count: 0,
            nack_frag_count: 0,
            last_request: None,
            jump: None,
            contradiction: None,
            old: (0, SequenceNumber::ZERO),
            lease,
            last_sign: now,
            is_alive: true,
        }
    }

    /// Returns true if a sample of this number is expected, now or later. Numbers far ahead are asked for when it is their
    /// turn.
    pub(super) fn expects(&mut self, number: SequenceNumber) -> bool {
        if std::mem::take(&mut self.skips_history) {
            self.next = number;
            self.irrelevant_below = number;
        }
        let ahead = number.0.saturating_sub(self.next.0);
        (0..REORDER_WINDOW).contains(&ahead)
            && number >= self.irrelevant_below
            && !self.pending.contains_key(&number)
    }

    /// As [`WriterProxy::expects`], of a best effort writer: what is newer than all before. Old ones in a row show that the
    /// newest number was not true, or that the writer began again.
    pub(super) fn expects_unordered(&mut self, number: SequenceNumber) -> bool {
        if number >= self.next {
            self.old = (0, SequenceNumber::ZERO);
            return true;
        }
        let (times, last) = self.old;
        self.old = match number > last {
            true => (times + 1, number),
            false => (1, number),
        };
        if self.old.0 >= OLD_SAMPLES_BELIEVED {
            self.next = number;
            self.old = (0, SequenceNumber::ZERO);
            return true;
        }
        false
    }

    /// Takes a heartbeat.
    pub(super) fn handle_heartbeat(&mut self, heartbeat: &Heartbeat, now: Instant) -> Told {
        if heartbeat.last.next() < self.next {
            self.note_contradiction(heartbeat, now);
            return Told::Nothing;
        }
        self.contradiction = None;
        if self.is_jump(heartbeat) {
            return Told::Nothing;
        }
        let is_first = self.last.is_none();
        if std::mem::take(&mut self.skips_history) {
            self.next = heartbeat.last.next();
            self.irrelevant_below = self.next;
        }
        self.last = Some(heartbeat.last);
        let mut lost = 0;
        if heartbeat.first > self.next {
            let from = self.next.max(self.irrelevant_below);
            if from < heartbeat.first {
                let missing = heartbeat.first.0 - from.0;
                let here = self.pending.range(from..heartbeat.first).count() as u64;
                // What was written before this reader came is no loss.
                lost = if is_first {
                    0
                } else {
                    missing.cast_unsigned() - here
                };
                self.irrelevant_below = heartbeat.first;
            }
        }
        let misses = !self.missing().is_empty() || self.is_partial_known();
        if !heartbeat.is_final || misses {
            self.answer_at.get_or_insert(now);
        }
        Told::News { lost }
    }

    /// Returns true if the heartbeat skips samples that no heartbeat has told of, and no other has said so before.
    ///
    /// A single datagram that is damaged or not of the writer would otherwise end delivery for good.
    fn is_jump(&mut self, heartbeat: &Heartbeat) -> bool {
        let Some(last) = self.last else {
            return false;
        };
        if heartbeat.first <= last.next().max(self.next) {
            self.jump = None;
            return false;
        }
        let Heartbeat { count, first, .. } = *heartbeat;
        let is_confirmed = self
            .jump
            .is_some_and(|jump| jump.count != count && jump.first <= first);
        self.jump = (!is_confirmed).then_some(Jump { count, first });
        !is_confirmed
    }

    /// Believes a writer that says again and again that it has written less than was delivered: then this reader was
    /// misled by a datagram that was damaged or not of the writer.
    fn note_contradiction(&mut self, heartbeat: &Heartbeat, now: Instant) {
        let count = heartbeat.count;
        let mut contradiction = self.contradiction.unwrap_or(Contradiction {
            count,
            times: 1,
            since: now,
        });
        if contradiction.count != count {
            contradiction.count = count;
            contradiction.times += 1;
        }
        let is_long = now.saturating_duration_since(contradiction.since) >= CONTRADICTION_TIME;
        self.contradiction = Some(contradiction);
        if contradiction.times >= CONTRADICTIONS_BELIEVED && is_long {
            self.contradiction = None;
            self.next = heartbeat.last.next();
            self.irrelevant_below = self.next;
            self.last = Some(heartbeat.last);
            self.forget_pending();
            self.answer_at = Some(now);
        }
    }

    fn forget_pending(&mut self) {
        self.pending.clear();
        self.partial.clear();
        self.unacknowledged.clear();
        self.held_bytes = 0;
    }

    /// Takes a gap, as far as it can be believed: what lies beyond what the writer has told of could be meant for nobody.
    pub(super) fn handle_gap(&mut self, gap: &Gap) {
        let told = self.last.unwrap_or(self.next).next();
        let bound = told.max(SequenceNumber(self.next.0 + i64::from(SET_LEN_MAX)));
        let end = gap.others.base().min(bound);
        if gap.first <= self.next.max(self.irrelevant_below) {
            self.irrelevant_below = self.irrelevant_below.max(end);
        } else {
            let window_end = SequenceNumber(self.next.0 + REORDER_WINDOW);
            for number in gap.first.0..end.min(window_end).0 {
                self.never_comes(SequenceNumber(number));
            }
        }
        for number in gap.others.iter().filter(|number| *number < bound) {
            self.never_comes(number);
        }
    }

    fn never_comes(&mut self, number: SequenceNumber) {
        if self.expects(number) {
            self.pending.insert(number, None);
            self.drop_partial(number);
        }
    }

    /// Moves on to the next sample that can be delivered, past those that never will come.
    pub(super) fn advance(&mut self) {
        loop {
            if let Some(None) = self.pending.get(&self.next) {
                self.pending.remove(&self.next);
                self.next = self.next.next();
            } else if self.pending.contains_key(&self.next) || self.next >= self.irrelevant_below {
                break;
            } else {
                let next = self.pending.keys().next().copied();
                let next = next.unwrap_or(self.irrelevant_below);
                self.next = next.min(self.irrelevant_below).max(self.next.next());
            }
        }
        while let Some((number, _)) = self.partial.first_key_value()
            && *number < self.next
        {
            self.drop_partial(*number);
        }
    }

    /// Keeps a sample until its turn.
    pub(super) fn hold(&mut self, number: SequenceNumber, sample: Sample) {
        self.held_bytes += pending_bytes(&sample);
        self.pending.insert(number, Some(sample));
    }

    /// Takes the sample whose turn it is, if it is here.
    pub(super) fn release(&mut self) -> Option<Sample> {
        let entry = self
            .pending
            .first_entry()
            .filter(|entry| *entry.key() == self.next)?;
        let sample = entry.remove()?;
        self.held_bytes -= pending_bytes(&sample);
        self.next = self.next.next();
        Some(sample)
    }

    /// The caller acknowledges the samples up to this one. The writer is told at once if it waits for nothing else, and else
    /// now and then.
    pub(super) fn acknowledge(&mut self, through: SequenceNumber, now: Instant) {
        while self
            .unacknowledged
            .front()
            .is_some_and(|number| *number <= through)
        {
            self.unacknowledged.pop_front();
            self.acknowledged += 1;
        }
        let is_all = self.unacknowledged.is_empty();
        if self.acknowledged >= ACKNOWLEDGED_MAX || is_all && self.acknowledged > 0 {
            self.acknowledged = 0;
            self.answer_at = Some(now);
        }
    }

    /// The first sample that the writer must keep.
    fn base(&self) -> SequenceNumber {
        let first = self.unacknowledged.front().copied();
        first.map_or(self.next, |first| first.min(self.next))
    }

    /// Length of the payload whose turn it is, if it is here.
    pub(super) fn ready_len(&self) -> Option<usize> {
        let sample = self.pending.get(&self.next)?.as_ref()?;
        Some(sample.payload.len())
    }

    pub(super) fn drop_partial(&mut self, number: SequenceNumber) {
        if let Some(partial) = self.partial.remove(&number) {
            self.held_bytes -= partial.held_bytes();
        }
    }

    /// Forgets the highest number that is held, to be asked for again when its turn comes.
    pub(super) fn drop_highest(&mut self) {
        let pending = self
            .pending
            .iter()
            .rev()
            .find(|(_, sample)| sample.is_some());
        let pending = pending.map(|(number, _)| *number);
        let partial = self.partial.keys().next_back().copied();
        if partial >= pending
            && let Some(number) = partial
        {
            self.drop_partial(number);
        } else if let Some(number) = pending
            && let Some(Some(sample)) = self.pending.remove(&number)
        {
            self.held_bytes -= pending_bytes(&sample);
        }
    }

    /// The samples of which nothing has come though the writer has told of them.
    pub(super) fn missing(&self) -> SequenceNumberSet {
        let last = self.last.unwrap_or(SequenceNumber::ZERO);
        let end = last.0.min(self.next.0 + i64::from(SET_LEN_MAX) - 1);
        let numbers = (self.next.0..=end).map(SequenceNumber);
        let base = self.base();
        let missing = numbers.filter(|number| {
            *number >= self.irrelevant_below
                && !self.pending.contains_key(number)
                && !self.partial.contains_key(number)
        });
        SequenceNumberSet::of(base, missing)
    }

    /// Returns true if a sample is not whole of which the writer has told, so that all of its fragments were sent.
    fn is_partial_known(&self) -> bool {
        let first = self.partial.keys().next();
        first.is_some_and(|number| Some(*number) <= self.last)
    }

    /// The answer to be given now: the base and the missing samples, and whether the writer must answer in turn; then the missing
    /// fragments. `None` if it is not yet time, or there is nothing to be said that was not said just now.
    pub(super) fn answer(
        &mut self,
        can_take: bool,
        now: Instant,
    ) -> Option<(SequenceNumberSet, bool, i32, Vec<NackFrag>)> {
        self.answer_at.filter(|time| *time <= now)?;
        self.answer_at = None;
        let base = self.base();
        let missing = match can_take {
            true => self.missing(),
            false => SequenceNumberSet::new(base),
        };
        // observed: to Cyclone 0.10.2, an empty set from 1 comes from a reader that knows nothing of it yet.
        let missing = match missing.is_empty() && base < self.next {
            true => SequenceNumberSet::without_first(base),
            false => missing,
        };
        let fragments = match can_take {
            true => self.missing_fragments(),
            false => Vec::new(),
        };
        let count = missing.iter().count();
        let first_fragment = fragments.first().map(|nack| nack.missing.base());
        let request = (self.next, count, first_fragment);
        if let Some((last, at)) = self.last_request
            && (count > 0 || first_fragment.is_some())
            && last == request
            && now < at + REQUEST_PAUSE
        {
            // What was asked for is probably under way.
            self.answer_at = Some(at + REQUEST_PAUSE);
            return None;
        }
        let is_waiting = !self.unacknowledged.is_empty() && base <= self.answered;
        if let Some((_, at)) = self.last_request
            && is_waiting
            && count == 0
            && first_fragment.is_none()
            && now < at + WAITING_PAUSE
        {
            // It has this answer already. The next one comes when the caller has acknowledged something.
            self.answer_at = Some(at + WAITING_PAUSE);
            return None;
        }
        self.answered = base;
        self.last_request = Some((request, now));
        let is_greeting = self.last.is_none();
        if is_greeting {
            self.answer_at = Some(now + self.greeting_pause);
            self.greeting_pause = (self.greeting_pause * 2).min(GREETING_PAUSE_MAX);
        }
        self.acknack_count = self.acknack_count.wrapping_add(1);
        Some((missing, is_greeting, self.acknack_count, fragments))
    }

    fn missing_fragments(&mut self) -> Vec<NackFrag> {
        let known = self
            .partial
            .iter()
            .filter(|(number, _)| Some(**number) <= self.last);
        let mut requests = Vec::new();
        for (number, partial) in known.take(FRAGMENTED_MAX) {
            self.nack_frag_count = self.nack_frag_count.wrapping_add(1);
            requests.push(NackFrag {
                // Both are set by the reader, which knows them.
                reader: crate::guid::EntityId::UNKNOWN,
                writer: self.guid.entity,
                number: *number,
                missing: partial.missing(),
                count: self.nack_frag_count,
            });
        }
        requests
    }

    /// When it counts as dead, if it does not show that it lives.
    pub(super) fn death(&self) -> Option<Instant> {
        let lease = self.lease.filter(|_| self.is_alive)?;
        self.last_sign.checked_add(lease)
    }
}

fn pending_bytes(sample: &Sample) -> usize {
    sample.payload.len() + PENDING_OVERHEAD
}

/// How many samples ahead of the next one are kept. Four sets of a request: what lies beyond is asked for later.
const REORDER_WINDOW: i64 = 1024;
/// After how many samples that the caller acknowledges the writer is told of it, though more are to come.
const ACKNOWLEDGED_MAX: usize = 64;
/// How often a writer that asks hears that the caller has acknowledged nothing more: it sees that the reader lives.
const WAITING_PAUSE: Duration = Duration::from_millis(500);
/// How many samples a reader asks fragments of at once.
const FRAGMENTED_MAX: usize = 4;
/// The memory of a sample that is held, beside its payload.
const PENDING_OVERHEAD: usize = 128;
/// How long the same request is not repeated.
const REQUEST_PAUSE: Duration = Duration::from_millis(10);
/// How long a reader waits for the first heartbeat before it asks again; the wait doubles.
const GREETING_PAUSE_MIN: Duration = Duration::from_millis(100);
const GREETING_PAUSE_MAX: Duration = Duration::from_secs(5);
/// After how many ascending samples in a row that seem old they are believed to be new.
const OLD_SAMPLES_BELIEVED: u32 = 4;
/// After how many heartbeats, and how long, a writer is believed that seems to have written less than was delivered. Old
/// heartbeats that come late are neither so many nor so late.
const CONTRADICTIONS_BELIEVED: u32 = 3;
const CONTRADICTION_TIME: Duration = Duration::from_secs(2);
