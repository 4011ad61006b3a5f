//! A writer: its history, its readers, and the datagrams that it sends them.

use core::net::SocketAddr;
use std::collections::BTreeMap;
use std::fmt;
use std::ops::Bound;
use std::time::{Duration, Instant};

use crate::discovery::EndpointData;
use crate::guid::{EntityId, Guid, GuidPrefix};
use crate::message::{AckNack, Gap, Heartbeat, NackFrag, SequenceNumberSet, Submessage};
use crate::qos::{Durability, Reliability};
use crate::sequence_number::SequenceNumber;

use super::history::WriterHistory;
use super::limits::EndpointLimits;
use super::outgoing::{Datagram, DatagramWriter, Outgoing};
use super::reader_proxy::{REPAIR_BYTES_MAX, ReaderProxy};
use super::sample::Sample;

/// A writer of this participant.
#[derive(Debug)]
pub(crate) struct Writer {
    data: EndpointData,
    limits: EndpointLimits,
    history: WriterHistory,
    proxies: BTreeMap<Guid, ReaderProxy>,
    /// The reader that got the last datagram, so that all have their turn.
    served: Option<Guid>,
    heartbeat_count: i32,
    /// A sample was refused, and nobody was told yet that there is room again.
    is_full: bool,
}

/// Something the caller should know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WriterEvent {
    /// There is room for samples again.
    Writable,
    /// A reader does not answer, so its samples are kept no longer.
    Unresponsive(Guid),
}

/// A sample that was not accepted. Nothing was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum WriteError {
    /// A reader is slow, and the history is full of what it has not acknowledged.
    /// [`Event::Writable`](crate::participant::Event::Writable) says when to try again.
    Full {
        /// The samples in the history.
        samples: usize,
        /// Their bytes.
        bytes: usize,
    },
    /// A payload above [`EndpointLimits::sample_len_max`].
    TooLong {
        /// The limit in bytes.
        limit: usize,
        /// The length in bytes.
        got: usize,
    },
    /// The participant has no such writer.
    UnknownWriter(EntityId),
}

impl fmt::Display for WriteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Full { samples, bytes } => write!(
                f,
                "a reader is slow: {samples} samples of {bytes} bytes wait for its acknowledgement; try again when \
                 the writer is writable, or raise the limits of its history"
            ),
            Self::TooLong { limit, got } => write!(
                f,
                "expected a payload of at most {limit} bytes, got {got}; raise `sample_len_max` of the writer"
            ),
            Self::UnknownWriter(id) => write!(f, "expected a writer of this participant, got {id}"),
        }
    }
}

impl std::error::Error for WriteError {}

impl Writer {
    pub(crate) fn new(data: EndpointData, limits: EndpointLimits) -> Self {
        let history = WriterHistory::new(data.qos.history);
        Self {
            data,
            limits,
            history,
            proxies: BTreeMap::new(),
            served: None,
            heartbeat_count: 0,
            is_full: false,
        }
    }

    pub(crate) fn data(&self) -> &EndpointData {
        &self.data
    }

    /// The samples in the history, and their bytes.
    pub(crate) fn kept(&self) -> (usize, usize) {
        (self.history.len(), self.history.bytes())
    }

    pub(crate) fn readers(&self) -> impl Iterator<Item = Guid> {
        self.proxies.keys().copied()
    }

    /// How many samples have not been acknowledged by each reliable reader.
    pub(crate) fn unacknowledged(&self) -> impl Iterator<Item = (Guid, u64)> {
        let last = self.history.last();
        let reliable = self.proxies.values().filter(|proxy| proxy.is_reliable);
        reliable.map(move |proxy| {
            (
                proxy.guid,
                last.0.saturating_sub(proxy.acked.0).max(0) as u64,
            )
        })
    }

    /// Adds a reader; false if there are too many, or it is there already.
    pub(crate) fn add_reader(
        &mut self,
        guid: Guid,
        to: SocketAddr,
        reliability: Reliability,
    ) -> bool {
        if self.proxies.len() >= self.limits.matches_max || self.proxies.contains_key(&guid) {
            return false;
        }
        let is_reliable = reliability == Reliability::Reliable
            && self.data.qos.reliability == Reliability::Reliable;
        let start = self.history.last().next();
        let proxy = ReaderProxy::new(guid, to, is_reliable, start);
        self.proxies.insert(guid, proxy);
        true
    }

    /// Adds a reader that gets the history, too, if it wants it and this writer has one.
    pub(crate) fn add_late_reader(
        &mut self,
        guid: Guid,
        to: SocketAddr,
        wanted: &crate::qos::Qos,
    ) -> bool {
        let is_added = self.add_reader(guid, to, wanted.reliability);
        let has_history = self.data.qos.durability >= Durability::TransientLocal;
        if is_added && has_history && wanted.durability >= Durability::TransientLocal {
            let is_reliable = self.proxies[&guid].is_reliable;
            let start = self.history.first();
            let proxy = ReaderProxy::new(guid, to, is_reliable, start);
            self.proxies.insert(guid, proxy);
        }
        is_added
    }

    /// The reader is reached elsewhere now.
    pub(crate) fn move_reader(&mut self, guid: Guid, to: SocketAddr) {
        if let Some(proxy) = self.proxies.get_mut(&guid) {
            proxy.to = to;
        }
    }

    pub(crate) fn remove_reader(&mut self, guid: Guid) -> bool {
        let removed = self.proxies.remove(&guid).is_some();
        self.purge();
        removed
    }

    /// Accepts a sample.
    pub(crate) fn write(&mut self, sample: Sample) -> Result<SequenceNumber, WriteError> {
        let (limit, got) = (self.limits.sample_len_max, sample.payload.len());
        if got > limit {
            return Err(WriteError::TooLong { limit, got });
        }
        // What everybody has is kept only for readers that come later, so it gives way.
        let arrived = self.arrived();
        while !self.history.has_room(&sample, &self.limits) && self.history.first() <= arrived {
            self.history.remove(self.history.first());
        }
        if !self.history.has_room(&sample, &self.limits) {
            self.is_full = true;
            let (samples, bytes) = self.kept();
            return Err(WriteError::Full { samples, bytes });
        }
        let number = self.history.add(sample);
        self.purge();
        Ok(number)
    }

    /// The last sample up to which all readers have everything.
    fn arrived(&self) -> SequenceNumber {
        let of_reader = |proxy: &ReaderProxy| match (proxy.is_reliable, proxy.holds_back()) {
            (true, true) => proxy.acked,
            (true, false) => self.history.last(),
            (false, _) => proxy.next.previous(),
        };
        let all = self.proxies.values().map(of_reader);
        all.min().unwrap_or(self.history.last())
    }

    /// Forgets what nobody needs any more.
    fn purge(&mut self) {
        let arrived = self.arrived();
        match self.data.qos.durability {
            Durability::Volatile => self.history.remove_through(arrived),
            _ => self.history.remove_ends_through(arrived),
        }
    }

    /// Says once that there is room again.
    fn event_of_room(&mut self) -> Option<WriterEvent> {
        let limits = &self.limits;
        // Half of it, so that a writer does not wake up for each sample.
        let can_give = self.history.first() <= self.arrived();
        let has_room = self.history.len() <= limits.samples_max / 2
            && self.history.bytes() <= limits.bytes_max / 2
            || can_give;
        (self.is_full && has_room).then(|| {
            self.is_full = false;
            WriterEvent::Writable
        })
    }

    pub(crate) fn handle_acknack(
        &mut self,
        from: Guid,
        acknack: &AckNack,
        now: Instant,
    ) -> Option<WriterEvent> {
        let last = self.history.last();
        let proxy = self
            .proxies
            .get_mut(&from)
            .filter(|proxy| proxy.is_reliable)?;
        if !proxy.handle_acknack(acknack, last, now) {
            return None;
        }
        self.purge();
        self.event_of_room()
    }

    pub(crate) fn handle_nack_frag(&mut self, from: Guid, nack: &NackFrag) {
        if let Some(proxy) = self
            .proxies
            .get_mut(&from)
            .filter(|proxy| proxy.is_reliable)
        {
            proxy.handle_nack_frag(nack);
        }
    }

    /// The time at which [`Writer::handle_timeout`] wants to be called.
    pub(crate) fn timeout(&self) -> Option<Instant> {
        let of_reader = |proxy: &ReaderProxy| {
            let is_waited_for = !proxy.is_unresponsive;
            let silence = proxy.stalled_since.filter(|_| is_waited_for);
            let repair = proxy
                .repairs
                .not_before
                .filter(|_| !proxy.repairs.is_empty());
            let times = [
                proxy.heartbeat_at,
                silence.map(|since| since + patience(proxy)),
                repair,
            ];
            times.into_iter().flatten().min()
        };
        let reliable = self.proxies.values().filter(|proxy| proxy.is_reliable);
        reliable.filter_map(of_reader).min()
    }

    pub(crate) fn handle_timeout(&mut self, now: Instant) -> Vec<WriterEvent> {
        let mut events = Vec::new();
        for proxy in self.proxies.values_mut().filter(|proxy| proxy.is_reliable) {
            if proxy.heartbeat_at.is_some_and(|time| time <= now) {
                match proxy.owes_an_answer(proxy.next.previous()) {
                    true => proxy.repeat_heartbeat(now),
                    false => proxy.heartbeat_at = None,
                }
            }
            let patience = patience(proxy);
            let is_silent = proxy
                .stalled_since
                .is_some_and(|since| since + patience <= now);
            if is_silent && !proxy.is_unresponsive {
                proxy.is_unresponsive = true;
                events.push(WriterEvent::Unresponsive(proxy.guid));
            }
        }
        if !events.is_empty() {
            self.purge();
            events.extend(self.event_of_room());
        }
        events
    }

    /// The next datagram, if there is something to send now.
    pub(crate) fn poll_datagram(&mut self, outgoing: Outgoing, now: Instant) -> Option<Datagram> {
        let after = self.served.map_or(Bound::Unbounded, Bound::Excluded);
        let later = self.proxies.range((after, Bound::Unbounded));
        let order: Vec<Guid> = later.chain(&self.proxies).map(|(guid, _)| *guid).collect();
        let count = self.proxies.len();
        for guid in order.into_iter().take(count) {
            if let Some(datagram) = self.datagram_for(guid, outgoing, now) {
                self.served = Some(guid);
                return Some(datagram);
            }
        }
        None
    }

    fn datagram_for(&mut self, guid: Guid, outgoing: Outgoing, now: Instant) -> Option<Datagram> {
        let proxy = self.proxies.get_mut(&guid)?;
        let mut turn = Turn {
            writer: self.data.guid.entity,
            history: &self.history,
            limits: &self.limits,
            heartbeat_count: &mut self.heartbeat_count,
            datagram: outgoing.begin(guid.prefix),
            outgoing,
            proxy,
            now,
        };
        turn.fill();
        let (datagram, to) = (turn.datagram, turn.proxy.to);
        if datagram.is_empty() {
            return None;
        }
        let is_best_effort = !self.proxies[&guid].is_reliable;
        if is_best_effort {
            self.purge();
        }
        Some(datagram.finish(to))
    }

    /// True if the datagrams to the participant go elsewhere than before.
    pub(crate) fn has_readers_of(&self, prefix: GuidPrefix) -> bool {
        self.proxies.keys().any(|guid| guid.prefix == prefix)
    }
}

/// The filling of one datagram for one reader.
struct Turn<'a> {
    writer: EntityId,
    history: &'a WriterHistory,
    limits: &'a EndpointLimits,
    heartbeat_count: &'a mut i32,
    datagram: DatagramWriter,
    outgoing: Outgoing,
    proxy: &'a mut ReaderProxy,
    now: Instant,
}

impl Turn<'_> {
    fn fill(&mut self) {
        if self.proxy.repairs.are_due(self.now) {
            self.push_repairs();
        }
        let has_sent = self.push_fresh();
        if self.proxy.is_reliable {
            self.push_heartbeat(has_sent);
        }
    }

    /// Appends what the reader asked for again, as far as there is room.
    fn push_repairs(&mut self) {
        let before = self.datagram.len();
        while self.push_repair() {}
        self.proxy.repairs.bytes += self.datagram.len() - before;
        let is_enough = self.proxy.repairs.bytes >= REPAIR_BYTES_MAX;
        if is_enough || self.proxy.repairs.is_empty() {
            self.proxy.repairs.end_round(self.now);
            // It should say soon what it still misses.
            self.proxy.heartbeat_due = true;
        }
    }

    /// Appends one of them; false if there is none, or no room.
    fn push_repair(&mut self) -> bool {
        let repairs = &self.proxy.repairs;
        if let Some((number, fragment)) = repairs.whole {
            return self.push_whole(number, fragment);
        }
        if let Some(number) = repairs.samples.first().copied() {
            return self.push_sample(number);
        }
        let first = repairs.fragments.first_key_value();
        let Some((number, fragments)) = first.map(|(number, set)| (*number, set.first().copied()))
        else {
            return false;
        };
        let Some(fragment) = fragments else {
            self.proxy.repairs.fragments.remove(&number);
            return true;
        };
        let Some(count) = self.fragment_count(number) else {
            self.proxy.repairs.fragments.remove(&number);
            return self.push_gap(number);
        };
        let is_pushed = fragment > count || self.push_fragment(number, fragment);
        if is_pushed && let Some(set) = self.proxy.repairs.fragments.get_mut(&number) {
            set.remove(&fragment);
        }
        is_pushed
    }

    fn push_whole(&mut self, number: SequenceNumber, fragment: u32) -> bool {
        let Some(count) = self.fragment_count(number) else {
            self.proxy.repairs.whole = None;
            return self.push_gap(number);
        };
        let is_pushed = self.push_fragment(number, fragment);
        if is_pushed {
            let rest = (fragment < count).then_some((number, fragment + 1));
            self.proxy.repairs.whole = rest;
        }
        is_pushed
    }

    fn push_sample(&mut self, number: SequenceNumber) -> bool {
        let kept = self
            .history
            .get(number)
            .filter(|_| number >= self.proxy.start);
        let Some(sample) = kept else {
            let is_pushed = self.push_gap(number);
            if is_pushed {
                let end = self.gap_end(number);
                self.proxy.repairs.samples = self.proxy.repairs.samples.split_off(&end);
            }
            return is_pushed;
        };
        let is_long = self.outgoing.fragment_count(sample.payload.len()).is_some();
        let reader = self.proxy.guid.entity;
        let is_pushed = is_long || self.datagram.push_data(reader, self.writer, number, sample);
        if is_pushed {
            self.proxy.repairs.samples.remove(&number);
            if is_long {
                self.proxy.repairs.whole = Some((number, 1));
                // The whole sample comes anyway.
                self.proxy.repairs.fragments.remove(&number);
            }
        }
        is_pushed
    }

    fn push_fragment(&mut self, number: SequenceNumber, fragment: u32) -> bool {
        let reader = self.proxy.guid.entity;
        let sample = self.history.get(number);
        sample.is_some_and(|sample| {
            self.datagram
                .push_fragment(reader, self.writer, number, sample, fragment)
        })
    }

    /// The fragments of a sample that this reader may have; `None` if there is none.
    fn fragment_count(&self, number: SequenceNumber) -> Option<u32> {
        let sample = self.history.get(number)?;
        let is_for_it = number >= self.proxy.start;
        is_for_it.then(|| self.outgoing.fragment_count(sample.payload.len()))?
    }

    /// The first sample after `number`, which is gone, that this reader can have.
    fn gap_end(&self, number: SequenceNumber) -> SequenceNumber {
        let from = number.next().max(self.proxy.start);
        let kept = self.history.at_or_after(from);
        kept.unwrap_or_else(|| self.history.last().next().max(from))
    }

    /// Says that `number`, and what follows up to the next sample that is kept, will not come.
    fn push_gap(&mut self, number: SequenceNumber) -> bool {
        let end = self.gap_end(number);
        self.datagram.push(&Submessage::Gap(Gap {
            reader: self.proxy.guid.entity,
            writer: self.writer,
            first: number,
            others: SequenceNumberSet::new(end),
        }))
    }

    /// Appends samples that the reader never got, in their order; returns true if one is sent completely.
    fn push_fresh(&mut self) -> bool {
        let mut has_sent = false;
        while self.proxy.next <= self.history.last() {
            let number = self.proxy.next;
            let Some(sample) = self.history.get(number) else {
                if self.proxy.is_reliable && !self.push_gap(number) {
                    break;
                }
                self.proxy.next = self.gap_end(number);
                self.proxy.next_fragment = 1;
                has_sent = true;
                continue;
            };
            let count = self.outgoing.fragment_count(sample.payload.len());
            let fragment = self.proxy.next_fragment;
            if fragment == 1 && !self.is_window_open(sample) {
                break;
            }
            let reader = self.proxy.guid.entity;
            let is_pushed = match count {
                None => self.datagram.push_data(reader, self.writer, number, sample),
                Some(_) => self.push_fragment(number, fragment),
            };
            if !is_pushed {
                break;
            }
            if count.is_some_and(|count| fragment < count) {
                self.proxy.next_fragment += 1;
            } else {
                self.proxy.next = number.next();
                self.proxy.next_fragment = 1;
                has_sent = true;
            }
        }
        has_sent
    }

    /// A reliable reader gets new samples as long as it acknowledges old ones.
    fn is_window_open(&self, sample: &Sample) -> bool {
        let in_flight = self.in_flight(self.history.offset(self.proxy.acked.next()));
        let len = sample.payload.len() as u64;
        !self.proxy.is_reliable || in_flight == 0 || in_flight + len <= self.limits.send_window
    }

    /// The bytes that were sent after this offset.
    fn in_flight(&self, after: u64) -> u64 {
        self.history.offset(self.proxy.next).saturating_sub(after)
    }

    fn push_heartbeat(&mut self, has_sent: bool) {
        let sent = self.history.offset(self.proxy.next);
        let is_much = sent.saturating_sub(self.proxy.asked_at) > self.limits.send_window / 2;
        let asks = self.proxy.heartbeat_due || has_sent && is_much;
        if !asks && !has_sent {
            return;
        }
        let last = self.proxy.next.previous();
        let first = self
            .history
            .first()
            .max(self.proxy.start)
            .min(self.proxy.next);
        let heartbeat = Heartbeat {
            reader: self.proxy.guid.entity,
            writer: self.writer,
            first,
            last,
            count: self.heartbeat_count.wrapping_add(1),
            is_final: !asks,
            is_liveliness: false,
        };
        if self.datagram.push(&Submessage::Heartbeat(heartbeat)) {
            *self.heartbeat_count = heartbeat.count;
            if asks {
                self.proxy.heartbeat_due = false;
                self.proxy.asked_at = sent;
            }
        } else if asks {
            self.proxy.heartbeat_due = true;
        }
        self.proxy.schedule_heartbeat(self.now);
    }
}

/// How long a reader may hold the writer back without an answer. Anybody can announce a reader, and one that lives answers the
/// first heartbeat.
fn patience(proxy: &ReaderProxy) -> Duration {
    match proxy.has_answered {
        true => UNRESPONSIVE_AFTER,
        false => NEVER_ANSWERED_AFTER,
    }
}

/// As [`UNRESPONSIVE_AFTER`], of a reader that has never answered.
const NEVER_ANSWERED_AFTER: Duration = Duration::from_secs(10);
/// After how long without any answer a reader no longer holds a writer back. As long as a TCP connection takes to give up
/// on a peer that is gone; a participant that dies is mostly noticed sooner, by its lease.
const UNRESPONSIVE_AFTER: Duration = Duration::from_secs(60);
