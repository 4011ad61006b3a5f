//! A reader: its writers, the samples that have come, and what it answers.

use core::net::SocketAddr;
use std::collections::{BTreeMap, VecDeque};
use std::time::{Duration, Instant};

use bytes::Bytes;

use crate::discovery::EndpointData;
use crate::guid::{Guid, GuidPrefix};
use crate::message::{
    AckNack, Data, DataFrag, Gap, Heartbeat, HeartbeatFrag, NackFrag, Submessage,
};
use crate::qos::{History, LivelinessKind, Reliability};
use crate::sequence_number::SequenceNumber;
use crate::timestamp::Timestamp;

use super::limits::EndpointLimits;
use super::outgoing::{Datagram, Outgoing};
use super::reassembly::Reassembly;
use super::sample::{Received, Sample};
use super::writer_proxy::{Told, WriterProxy};

/// A reader of this participant.
#[derive(Debug)]
pub(crate) struct Reader {
    data: EndpointData,
    limits: EndpointLimits,
    proxies: BTreeMap<Guid, WriterProxy>,
    queue: VecDeque<Received>,
    queue_bytes: usize,
    /// How many samples of each instance are in the queue, if only some of the last are kept.
    instances: BTreeMap<Option<[u8; 16]>, u32>,
    /// The caller says what writers need not keep any more.
    acknowledges_by_call: bool,
    /// A sample had to wait because the queue was full.
    is_blocked: bool,
    events: Vec<ReaderEvent>,
}

/// Something the caller should know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReaderEvent {
    /// There are samples, where there were none.
    Readable,
    /// So many samples of this writer are lost.
    Lost(Guid, u64),
    /// This writer no longer shows that it lives, or does so again.
    Liveliness(Guid, bool),
}

impl Reader {
    pub(crate) fn new(data: EndpointData, limits: EndpointLimits) -> Self {
        Self {
            data,
            limits,
            proxies: BTreeMap::new(),
            queue: VecDeque::new(),
            queue_bytes: 0,
            instances: BTreeMap::new(),
            acknowledges_by_call: false,
            is_blocked: false,
            events: Vec::new(),
        }
    }

    pub(crate) fn data(&self) -> &EndpointData {
        &self.data
    }

    /// Leaves it to the caller what writers need not keep any more: see [`Reader::acknowledge`].
    pub(crate) fn acknowledge_by_call(&mut self) {
        self.acknowledges_by_call = true;
    }

    /// Acknowledges the samples of a writer up to this one.
    pub(crate) fn acknowledge(&mut self, writer: Guid, through: SequenceNumber, now: Instant) {
        if let Some(proxy) = self.proxies.get_mut(&writer) {
            proxy.acknowledge(through, now);
        }
    }

    pub(crate) fn writers(&self) -> impl Iterator<Item = Guid> {
        self.proxies.keys().copied()
    }

    /// The samples in the queue, and their bytes.
    pub(crate) fn kept(&self) -> (usize, usize) {
        (self.queue.len(), self.queue_bytes)
    }

    /// The bytes of samples that are not whole or whose turn has not come, about.
    pub(crate) fn held_bytes(&self) -> usize {
        self.proxies.values().map(|proxy| proxy.held_bytes).sum()
    }

    pub(crate) fn take_events(&mut self) -> Vec<ReaderEvent> {
        std::mem::take(&mut self.events)
    }

    /// Adds a writer; false if there are too many, or it is there already.
    pub(crate) fn add_writer(
        &mut self,
        guid: Guid,
        to: SocketAddr,
        lease: Option<Duration>,
        now: Instant,
    ) -> bool {
        if self.proxies.len() >= self.limits.matches_max || self.proxies.contains_key(&guid) {
            return false;
        }
        let is_reliable = self.data.qos.reliability == Reliability::Reliable;
        let proxy = WriterProxy::new(guid, to, is_reliable, lease, now);
        self.proxies.insert(guid, proxy);
        true
    }

    /// Begins with what a writer sends first, because it would send its whole history to a reader that asks for it.
    pub(crate) fn skip_history(&mut self, guid: Guid) {
        if let Some(proxy) = self.proxies.get_mut(&guid) {
            proxy.skips_history = true;
        }
    }

    /// The writer is reached elsewhere now.
    pub(crate) fn move_writer(&mut self, guid: Guid, to: SocketAddr) {
        if let Some(proxy) = self.proxies.get_mut(&guid) {
            proxy.to = to;
        }
    }

    /// Removes a writer. Samples of it that are in the queue stay; those that still wait for others are lost.
    pub(crate) fn remove_writer(&mut self, guid: Guid) -> bool {
        self.proxies.remove(&guid).is_some()
    }

    /// Takes the next sample off the queue.
    pub(crate) fn take(&mut self, now: Instant) -> Option<Received> {
        let received = self.pop()?;
        if self.is_blocked && self.queue.len() <= self.limits.samples_max / 2 {
            self.is_blocked = false;
            let guids: Vec<_> = self.proxies.keys().copied().collect();
            for guid in guids {
                self.deliver(guid);
                if let Some(proxy) = self
                    .proxies
                    .get_mut(&guid)
                    .filter(|proxy| proxy.is_reliable)
                {
                    proxy.answer_at = Some(now);
                }
            }
        }
        Some(received)
    }

    fn pop(&mut self) -> Option<Received> {
        let received = self.queue.pop_front()?;
        self.forget(&received.sample);
        Some(received)
    }

    fn forget(&mut self, sample: &Sample) {
        self.queue_bytes -= sample.payload.len();
        if let Some(count) = self.instances.get_mut(&sample.key_hash) {
            *count -= 1;
            if *count == 0 {
                self.instances.remove(&sample.key_hash);
            }
        }
    }

    pub(crate) fn handle_data(
        &mut self,
        writer: Guid,
        data: &Data<'_>,
        timestamp: Option<Timestamp>,
        payload: &Bytes,
        now: Instant,
    ) {
        if data.payload.len() > self.limits.sample_len_max {
            return;
        }
        self.note_life(writer, now);
        let sample = Sample::from_wire(data.inline_qos, timestamp, data.kind, payload.clone());
        self.accept(writer, data.number, sample);
    }

    pub(crate) fn handle_fragment(
        &mut self,
        writer: Guid,
        frag: &DataFrag<'_>,
        timestamp: Option<Timestamp>,
        now: Instant,
    ) {
        if frag.sample_len as usize > self.limits.sample_len_max {
            return;
        }
        self.note_life(writer, now);
        let Some(proxy) = self.proxies.get_mut(&writer) else {
            return;
        };
        let is_expected = match proxy.is_reliable {
            true => proxy.expects(frag.number),
            false => {
                proxy.partial.contains_key(&frag.number) || proxy.expects_unordered(frag.number)
            }
        };
        if !is_expected {
            return;
        }
        if !proxy
            .partial
            .get(&frag.number)
            .is_none_or(|partial| partial.fits(frag))
        {
            // One of the two is damaged or not of the writer. The next fragments show which.
            proxy.drop_partial(frag.number);
        }
        let partial = proxy
            .partial
            .entry(frag.number)
            .or_insert_with(|| Reassembly::new(frag, timestamp));
        let before = match partial.is_new() {
            true => 0,
            false => partial.held_bytes(),
        };
        partial.add(frag);
        proxy.held_bytes += partial.held_bytes() - before;
        if let Some(sample) = partial.whole() {
            proxy.drop_partial(frag.number);
            self.accept(writer, frag.number, sample);
        } else if !proxy.is_reliable && proxy.partial.len() > UNORDERED_PARTS_MAX {
            let oldest = proxy.partial.keys().next().copied();
            oldest
                .into_iter()
                .for_each(|number| proxy.drop_partial(number));
        }
        self.make_room();
    }

    fn accept(&mut self, writer: Guid, number: SequenceNumber, sample: Sample) {
        let Some(proxy) = self.proxies.get_mut(&writer) else {
            return;
        };
        if !proxy.is_reliable {
            if !proxy.expects_unordered(number) {
                return;
            }
            let lost = (number.0 - proxy.next.0).cast_unsigned();
            let is_first = proxy.last.is_none();
            proxy.next = number.next();
            proxy.last = Some(number);
            if lost > 0 && !is_first {
                self.events.push(ReaderEvent::Lost(writer, lost));
            }
            match self.has_room(sample.payload.len()) {
                true => self.push(writer, number, sample),
                false => self.events.push(ReaderEvent::Lost(writer, 1)),
            }
            return;
        }
        if proxy.expects(number) {
            proxy.drop_partial(number);
            proxy.hold(number, sample);
            self.deliver(writer);
            self.make_room();
        }
    }

    /// Delivers the samples of a writer whose turn has come, as long as there is room in the queue.
    fn deliver(&mut self, writer: Guid) {
        loop {
            let Some(proxy) = self.proxies.get_mut(&writer) else {
                return;
            };
            proxy.advance();
            let Some(len) = proxy.ready_len() else {
                return;
            };
            let number = proxy.next;
            if !self.has_room(len) {
                self.is_blocked = true;
                return;
            }
            let Some(proxy) = self.proxies.get_mut(&writer) else {
                return;
            };
            let Some(sample) = proxy.release() else {
                continue;
            };
            if self.acknowledges_by_call {
                proxy.unacknowledged.push_back(number);
            }
            self.push(writer, number, sample);
        }
    }

    /// Returns true if the queue takes a sample. One that keeps the last always does.
    fn has_room(&self, len: usize) -> bool {
        let limits = &self.limits;
        self.queue.is_empty()
            || self.depth().is_some()
            || self.queue.len() < limits.samples_max && self.queue_bytes + len <= limits.bytes_max
    }

    fn depth(&self) -> Option<u32> {
        match self.data.qos.history {
            History::KeepLast(depth) => Some(depth),
            History::KeepAll => None,
        }
    }

    fn push(&mut self, writer: Guid, number: SequenceNumber, sample: Sample) {
        if let Some(depth) = self.depth() {
            self.replace(&sample, depth);
        }
        if self.queue.is_empty() {
            self.events.push(ReaderEvent::Readable);
        }
        self.queue_bytes += sample.payload.len();
        self.queue.push_back(Received {
            writer,
            number,
            sample,
        });
    }

    /// Makes room for a sample by those that it replaces. Without a key hash the instance of a sample with a key is not
    /// known, so only the limits of the queue replace it.
    fn replace(&mut self, sample: &Sample, depth: u32) {
        let is_instance_known = sample.key_hash.is_some() || !self.data.guid.entity.is_keyed();
        if is_instance_known {
            let count = self.instances.get(&sample.key_hash).copied().unwrap_or(0);
            let of_instance = |kept: &Received| kept.sample.key_hash == sample.key_hash;
            if count >= depth
                && let Some(at) = self.queue.iter().position(of_instance)
                && let Some(replaced) = self.queue.remove(at)
            {
                self.forget(&replaced.sample);
            }
            *self.instances.entry(sample.key_hash).or_default() += 1;
        }
        let limits = self.limits;
        while !self.queue.is_empty()
            && (self.queue.len() >= limits.samples_max
                || self.queue_bytes + sample.payload.len() > limits.bytes_max)
        {
            if let Some(replaced) = self.pop() {
                self.events.push(ReaderEvent::Lost(replaced.writer, 1));
            }
        }
    }

    /// Forgets what takes too much memory, of the writer of which most is held, and of that what is needed last.
    fn make_room(&mut self) {
        let mut held = self.held_bytes();
        while held > self.limits.reorder_bytes_max {
            let most = self
                .proxies
                .values_mut()
                .max_by_key(|proxy| proxy.held_bytes);
            let Some(proxy) = most else { return };
            let before = proxy.held_bytes;
            proxy.drop_highest();
            if proxy.held_bytes == before {
                return;
            }
            held -= before - proxy.held_bytes;
        }
    }

    pub(crate) fn handle_heartbeat(&mut self, writer: Guid, heartbeat: &Heartbeat, now: Instant) {
        if heartbeat.is_liveliness {
            self.note_life(writer, now);
        }
        let Some(proxy) = self
            .proxies
            .get_mut(&writer)
            .filter(|proxy| proxy.is_reliable)
        else {
            return;
        };
        if let Told::News { lost } = proxy.handle_heartbeat(heartbeat, now) {
            if lost > 0 {
                self.events.push(ReaderEvent::Lost(writer, lost));
            }
            self.deliver(writer);
        }
    }

    pub(crate) fn handle_heartbeat_frag(
        &mut self,
        writer: Guid,
        heartbeat: &HeartbeatFrag,
        now: Instant,
    ) {
        let Some(proxy) = self
            .proxies
            .get_mut(&writer)
            .filter(|proxy| proxy.is_reliable)
        else {
            return;
        };
        // A writer that is in the middle of a sample. What is missing is asked for with the heartbeat at its end, unless
        // that has come already.
        if proxy.partial.contains_key(&heartbeat.number) && Some(heartbeat.number) <= proxy.last {
            proxy.answer_at.get_or_insert(now);
        }
    }

    pub(crate) fn handle_gap(&mut self, writer: Guid, gap: &Gap) {
        let Some(proxy) = self
            .proxies
            .get_mut(&writer)
            .filter(|proxy| proxy.is_reliable)
        else {
            return;
        };
        proxy.handle_gap(gap);
        self.deliver(writer);
    }

    /// A writer shows that it lives.
    fn note_life(&mut self, writer: Guid, now: Instant) {
        if let Some(proxy) = self.proxies.get_mut(&writer) {
            proxy.last_sign = now;
            if !proxy.is_alive {
                proxy.is_alive = true;
                self.events.push(ReaderEvent::Liveliness(writer, true));
            }
        }
    }

    /// A participant shows that its writers of a kind live.
    pub(crate) fn note_lives(
        &mut self,
        prefix: GuidPrefix,
        is_of_kind: impl Fn(Guid) -> Option<LivelinessKind>,
        kind: LivelinessKind,
        now: Instant,
    ) {
        let guids = self.proxies.keys().copied();
        let of_kind = guids.filter(|guid| guid.prefix == prefix && is_of_kind(*guid) == Some(kind));
        for guid in of_kind.collect::<Vec<_>>() {
            self.note_life(guid, now);
        }
    }

    /// The time at which [`Reader::handle_timeout`] wants to be called.
    pub(crate) fn timeout(&self) -> Option<Instant> {
        let of_writer = |proxy: &WriterProxy| [proxy.answer_at, proxy.death()];
        let times = self.proxies.values().flat_map(of_writer);
        times.flatten().min()
    }

    pub(crate) fn handle_timeout(&mut self, now: Instant) {
        for proxy in self.proxies.values_mut() {
            if proxy.death().is_some_and(|time| time <= now) {
                proxy.is_alive = false;
                self.events.push(ReaderEvent::Liveliness(proxy.guid, false));
            }
        }
    }

    /// The next datagram, if there is an answer to be given now.
    pub(crate) fn poll_datagram(&mut self, outgoing: Outgoing, now: Instant) -> Option<Datagram> {
        let can_take = !self.is_blocked;
        let reader = self.data.guid.entity;
        for proxy in self.proxies.values_mut() {
            let Some((missing, is_greeting, count, fragments)) = proxy.answer(can_take, now) else {
                continue;
            };
            let mut datagram = outgoing.begin(proxy.guid.prefix);
            datagram.push(&Submessage::AckNack(AckNack {
                reader,
                writer: proxy.guid.entity,
                missing,
                count,
                is_final: !is_greeting,
            }));
            for nack in fragments {
                datagram.push(&Submessage::NackFrag(NackFrag { reader, ..nack }));
            }
            return Some(datagram.finish(proxy.to));
        }
        None
    }

    /// True if a writer of the participant is matched.
    pub(crate) fn has_writers_of(&self, prefix: GuidPrefix) -> bool {
        self.proxies.keys().any(|guid| guid.prefix == prefix)
    }
}

/// How many samples of a best effort writer may be incomplete at a time. Fragments rarely overtake each other.
const UNORDERED_PARTS_MAX: usize = 4;
