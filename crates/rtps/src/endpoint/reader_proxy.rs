//! A reader at the other end, as its writer knows it.

use core::net::SocketAddr;
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use crate::guid::Guid;
use crate::message::{AckNack, NackFrag};
use crate::sequence_number::SequenceNumber;

/// A reader at the other end.
#[derive(Debug)]
pub(super) struct ReaderProxy {
    pub(super) guid: Guid,
    pub(super) to: SocketAddr,
    pub(super) is_reliable: bool,
    /// The first sample that is for it: the samples in front of it were written before a volatile reader came.
    pub(super) start: SequenceNumber,
    /// All samples up to this one have arrived.
    pub(super) acked: SequenceNumber,
    /// The next sample that it has never got, and the next fragment of it.
    pub(super) next: SequenceNumber,
    pub(super) next_fragment: u32,
    /// The samples and fragments that it asked for again.
    pub(super) repairs: Repairs,
    /// It has said something, so it knows this writer.
    pub(super) has_answered: bool,
    /// It does not answer, so nobody waits for it.
    pub(super) is_unresponsive: bool,
    /// Send a heartbeat that asks for an answer.
    pub(super) heartbeat_due: bool,
    /// Send one at this time, if there was no answer before.
    pub(super) heartbeat_at: Option<Instant>,
    heartbeat_pause: Duration,
    /// Since when nothing is acknowledged, though something is to be.
    pub(super) stalled_since: Option<Instant>,
    /// The offset in the writer's bytes at which the last answer was asked for.
    pub(super) asked_at: u64,
    acknack_count: Option<i32>,
    nack_frag_count: Option<i32>,
}

/// Samples and fragments to be sent again. It never grows beyond two sets of 256 numbers and [`FRAGMENTED_MAX`] of 256 fragments.
#[derive(Debug, Default)]
pub(super) struct Repairs {
    pub(super) samples: BTreeSet<SequenceNumber>,
    pub(super) fragments: BTreeMap<SequenceNumber, BTreeSet<u32>>,
    /// A long sample that is sent again as a whole, and its next fragment.
    pub(super) whole: Option<(SequenceNumber, u32)>,
    /// Nothing is sent again before.
    pub(super) not_before: Option<Instant>,
    /// The bytes that were sent again since then.
    pub(super) bytes: usize,
}

impl Repairs {
    pub(super) fn is_empty(&self) -> bool {
        self.samples.is_empty() && self.fragments.is_empty() && self.whole.is_none()
    }

    pub(super) fn are_due(&self, now: Instant) -> bool {
        !self.is_empty() && self.not_before.is_none_or(|time| time <= now)
    }

    /// Ends a round of repairs: what was not sent is forgotten, and the reader asks for it again.
    pub(super) fn end_round(&mut self, now: Instant) {
        *self = Self {
            not_before: Some(now + REPAIR_INTERVAL),
            ..Self::default()
        };
    }

    /// Forgets what has arrived.
    fn forget_through(&mut self, number: SequenceNumber) {
        self.samples = self.samples.split_off(&number.next());
        self.fragments = self.fragments.split_off(&number.next());
        self.whole = self.whole.filter(|(whole, _)| *whole > number);
    }
}

impl ReaderProxy {
    pub(super) fn new(
        guid: Guid,
        to: SocketAddr,
        is_reliable: bool,
        start: SequenceNumber,
    ) -> Self {
        Self {
            guid,
            to,
            is_reliable,
            start,
            acked: start.previous(),
            next: start,
            next_fragment: 1,
            repairs: Repairs::default(),
            has_answered: false,
            is_unresponsive: false,
            heartbeat_due: is_reliable,
            heartbeat_at: None,
            heartbeat_pause: HEARTBEAT_PAUSE_MIN,
            stalled_since: None,
            asked_at: 0,
            acknack_count: None,
            nack_frag_count: None,
        }
    }

    /// Returns true if the writer still wants an answer: `last` is the last sample of the writer.
    pub(super) fn owes_an_answer(&self, last: SequenceNumber) -> bool {
        self.is_reliable && (!self.has_answered || self.acked < last)
    }

    /// Returns true if the history must keep what this reader has not acknowledged.
    pub(super) fn holds_back(&self) -> bool {
        self.is_reliable && !self.is_unresponsive
    }

    /// Notes that something was sent that the reader has to acknowledge some time.
    pub(super) fn schedule_heartbeat(&mut self, now: Instant) {
        if self.heartbeat_at.is_none() {
            self.heartbeat_at = Some(now + self.heartbeat_pause);
        }
        self.stalled_since.get_or_insert(now);
    }

    /// The time for a heartbeat has come.
    pub(super) fn repeat_heartbeat(&mut self, now: Instant) {
        self.heartbeat_due = true;
        self.heartbeat_pause = (self.heartbeat_pause * 2).min(HEARTBEAT_PAUSE_MAX);
        self.heartbeat_at = Some(now + self.heartbeat_pause);
    }

    /// Takes an answer; false if it is a duplicate or speaks of samples that were never written.
    ///
    /// An answer may take back what an earlier one acknowledged: then the earlier one was wrong or not of this reader.
    /// The samples that it asks for are sent as far as they are still kept.
    pub(super) fn handle_acknack(
        &mut self,
        acknack: &AckNack,
        last: SequenceNumber,
        now: Instant,
    ) -> bool {
        let base = acknack.missing.base();
        if base > last.next() || self.acknack_count == Some(acknack.count) {
            return false;
        }
        self.acknack_count = Some(acknack.count);
        self.has_answered = true;
        self.is_unresponsive = false;
        let acked = base.previous().max(SequenceNumber::ZERO);
        if acked > self.acked {
            self.acked = acked;
            self.heartbeat_pause = HEARTBEAT_PAUSE_MIN;
            self.stalled_since = None;
            // It may have got from elsewhere what we have not sent yet, for example before we knew it.
            if self.next <= acked {
                self.next = acked.next();
                self.next_fragment = 1;
            }
        }
        self.repairs.forget_through(acked);
        for number in acknack.missing.iter() {
            let is_under_way = self.repairs.whole.is_some_and(|(whole, _)| whole == number);
            // What was not sent yet is sent anyway.
            if number < self.next && !is_under_way && self.repairs.samples.len() < REPAIRS_MAX {
                self.repairs.samples.insert(number);
            }
        }
        if !acknack.is_final {
            self.heartbeat_due = true;
        }
        self.heartbeat_at = None;
        if self.owes_an_answer(self.next.previous()) {
            self.schedule_heartbeat(now);
        } else {
            self.stalled_since = None;
        }
        true
    }

    /// Takes a request for fragments; false if it is a duplicate or about a sample that was not sent.
    pub(super) fn handle_nack_frag(&mut self, nack: &NackFrag) -> bool {
        if nack.number >= self.next || self.nack_frag_count == Some(nack.count) {
            return false;
        }
        self.nack_frag_count = Some(nack.count);
        self.has_answered = true;
        let is_known = self.repairs.fragments.contains_key(&nack.number);
        if is_known || self.repairs.fragments.len() < FRAGMENTED_MAX {
            let fragments = nack.missing.iter().collect();
            self.repairs.fragments.insert(nack.number, fragments);
        }
        true
    }
}

/// The most samples to be sent again; a set of a message has as many.
const REPAIRS_MAX: usize = 256;
/// The most samples of which fragments are to be sent again; readers ask for one after the other.
const FRAGMENTED_MAX: usize = 16;
/// How long a writer waits for an answer before it asks; the wait doubles up to [`HEARTBEAT_PAUSE_MAX`].
///
/// This is how late a sample comes whose only datagram was lost and that no other follows.
const HEARTBEAT_PAUSE_MIN: Duration = Duration::from_millis(10);
/// How often a reader is asked that never answers.
const HEARTBEAT_PAUSE_MAX: Duration = Duration::from_secs(1);
/// How often a reader can make a writer send what it asks for.
const REPAIR_INTERVAL: Duration = Duration::from_millis(2);
/// How much is sent again in [`REPAIR_INTERVAL`], so that a request of a hundred bytes does not cause a history of
/// megabytes. It is about what the receive buffer of a Linux socket holds; more would be lost there.
pub(super) const REPAIR_BYTES_MAX: usize = 128 << 10;
