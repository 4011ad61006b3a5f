//! A participant as a state machine, without I/O: datagrams and a time go in; datagrams, events and a deadline come out.
//!
//! ```text
//! handle_datagram --> announcements --> other participants, their endpoints --> matches
//!                 \-> samples, heartbeats, answers --> endpoints
//! write, take     --> endpoints
//! poll_transmit, poll_event, poll_timeout: what is to be done next, to be asked after each of the others
//! ```
//!
//! After each call, send all that [`Participant::poll_transmit`] gives, handle all that [`Participant::poll_event`] gives,
//! and call [`Participant::handle_timeout`] when the time of [`Participant::poll_timeout`] has come.

mod config;
mod discover;
mod event;
mod matching;
mod receive;
mod remote;
mod schedule;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::time::{Duration, Instant};

pub use config::{ANNOUNCE_TO_MAX, Config, ConfigError, FRAGMENT_ROOM, ParticipantLimits};
pub use event::{Counters, Event, LossReason, Transmit, Usage};

use crate::discovery::{EndpointData, NAME_LEN_MAX};
use crate::endpoint::{
    EndpointLimits, Outgoing, Reader, ReaderEvent, Received, Sample, WriteError, Writer,
    WriterEvent,
};
use crate::guid::{EntityId, Guid, GuidPrefix};
use crate::qos::{
    AccessScope, DestinationOrder, Durability, History, LivelinessKind, Ownership, Qos,
};
use crate::sequence_number::SequenceNumber;

use remote::RemoteParticipant;
use schedule::Schedule;

/// A participant of a domain.
#[derive(Debug)]
pub struct Participant {
    config: Config,
    outgoing: Outgoing,
    writers: BTreeMap<EntityId, Writer>,
    readers: BTreeMap<EntityId, Reader>,
    /// Readers of ours by the writers that they are matched with.
    readers_of: BTreeMap<Guid, Vec<EntityId>>,
    /// Endpoints of users that were ever made, so that no id comes twice.
    made: u32,
    remotes: BTreeMap<GuidPrefix, RemoteParticipant>,
    discovery_bytes: usize,
    schedule: Schedule,
    announce_at: Option<Instant>,
    announce_pause: Duration,
    assert_at: Option<Instant>,
    check_leases_at: Option<Instant>,
    transmits: VecDeque<Transmit>,
    events: VecDeque<Event>,
    counters: Counters,
}

/// The description of an endpoint of a user.
#[derive(Debug, Clone)]
pub struct EndpointOptions {
    /// The topic.
    pub topic: String,
    /// The type of the samples, as other implementations write it: `Module::Type`.
    pub type_name: String,
    /// Samples have a key, which makes them belong to an instance.
    pub is_keyed: bool,
    /// The qualities of service that it offers or requests.
    pub qos: Qos,
    /// How much it keeps.
    pub limits: EndpointLimits,
    /// A reader acknowledges samples to reliable writers only when [`Participant::acknowledge`] says so, and not when they have
    /// come. It must keep all.
    pub acknowledges_by_call: bool,
}

impl EndpointOptions {
    /// An endpoint without keys and with the default limits.
    pub fn new(topic: impl Into<String>, type_name: impl Into<String>, qos: Qos) -> Self {
        Self {
            topic: topic.into(),
            type_name: type_name.into(),
            is_keyed: false,
            qos,
            limits: EndpointLimits::default(),
            acknowledges_by_call: false,
        }
    }

    /// A reader whose caller acknowledges.
    #[must_use]
    pub fn acknowledged_by_call(self) -> Self {
        Self {
            acknowledges_by_call: true,
            ..self
        }
    }

    /// One with keys.
    #[must_use]
    pub fn keyed(self) -> Self {
        Self {
            is_keyed: true,
            ..self
        }
    }
}

/// An endpoint that cannot be made.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum EndpointError {
    /// A name of a topic or a type that is empty, or longer than [`NAME_LEN_MAX`], or has a zero in it.
    Name(String),
    /// A quality of service that this crate does not have.
    NotSupported(&'static str),
    /// A history that keeps nothing, or a name of a partition that is too long.
    Invalid(&'static str),
    /// So many endpoints were made that there is no id left, or their announcements wait for a peer.
    TooMany,
}

impl fmt::Display for EndpointError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => write!(
                f,
                "expected a name of a topic or a type of 1 to {NAME_LEN_MAX} bytes without a zero, got {name:?}"
            ),
            Self::NotSupported(what) => write!(f, "{what} is not supported by this release"),
            Self::Invalid(what) => write!(f, "expected {what}"),
            Self::TooMany => {
                f.write_str("too many endpoints were made; make the participant again")
            }
        }
    }
}

impl std::error::Error for EndpointError {}

impl Participant {
    /// A participant that begins to announce itself.
    ///
    /// # Errors
    /// If the configuration makes no sense.
    pub fn new(config: Config, now: Instant) -> Result<Self, ConfigError> {
        config.check()?;
        let outgoing = Outgoing {
            prefix: config.prefix,
            len_max: config.datagram_len_max,
            fragment_len: config.fragment_len,
        };
        let mut participant = Self {
            config,
            outgoing,
            writers: BTreeMap::new(),
            readers: BTreeMap::new(),
            readers_of: BTreeMap::new(),
            made: 0,
            remotes: BTreeMap::new(),
            discovery_bytes: 0,
            schedule: Schedule::default(),
            announce_at: Some(now),
            announce_pause: ANNOUNCE_PAUSE_MIN,
            assert_at: None,
            check_leases_at: None,
            transmits: VecDeque::new(),
            events: VecDeque::new(),
            counters: Counters::default(),
        };
        participant.make_builtin_endpoints();
        participant.handle_timeout(now);
        Ok(participant)
    }

    /// Its name in octets.
    pub fn prefix(&self) -> GuidPrefix {
        self.config.prefix
    }

    /// Datagrams and parts of them that were not used.
    pub fn counters(&self) -> Counters {
        self.counters
    }

    /// Counts and bytes of everything that it keeps.
    pub fn usage(&self) -> Usage {
        let kept = self.writers.values().map(Writer::kept);
        let kept = kept.chain(self.readers.values().map(Reader::kept));
        let (samples, sample_bytes) =
            kept.fold((0, 0), |sum, kept| (sum.0 + kept.0, sum.1 + kept.1));
        Usage {
            participants: self.remotes.len(),
            endpoints: self
                .remotes
                .values()
                .map(|remote| remote.endpoints.len())
                .sum(),
            discovery_bytes: self.discovery_bytes,
            samples,
            sample_bytes,
            reorder_bytes: self.readers.values().map(Reader::held_bytes).sum(),
            events: self.events.len(),
            transmits: self.transmits.len(),
        }
    }

    /// Makes a writer, and announces it.
    ///
    /// # Errors
    /// If its names or qualities of service cannot be.
    pub fn create_writer(
        &mut self,
        options: EndpointOptions,
        now: Instant,
    ) -> Result<EntityId, EndpointError> {
        check_writer(&options.qos)?;
        let (id, limits) = (self.next_id(&options, true)?, options.limits);
        let data = self.endpoint_data(id, options);
        self.announce_endpoint(&data)?;
        self.writers.insert(id, Writer::new(data, limits));
        self.match_writer(id);
        self.schedule_assertions(now);
        self.settle(id);
        Ok(id)
    }

    /// Makes a reader, and announces it.
    ///
    /// # Errors
    /// If its names or qualities of service cannot be.
    pub fn create_reader(
        &mut self,
        options: EndpointOptions,
        now: Instant,
    ) -> Result<EntityId, EndpointError> {
        check_reader(&options.qos)?;
        let is_by_call = options.acknowledges_by_call;
        if is_by_call && options.qos.history != History::KeepAll {
            return Err(EndpointError::Invalid(
                "a history that keeps all, for a reader whose caller acknowledges",
            ));
        }
        let (id, limits) = (self.next_id(&options, false)?, options.limits);
        let data = self.endpoint_data(id, options);
        self.announce_endpoint(&data)?;
        let mut reader = Reader::new(data, limits);
        if is_by_call {
            reader.acknowledge_by_call();
        }
        self.readers.insert(id, reader);
        self.match_reader(id, now);
        self.settle(id);
        Ok(id)
    }

    /// Deletes a writer or a reader of a user; what it keeps is lost. False if there is none.
    pub fn delete_endpoint(&mut self, id: EntityId) -> bool {
        let is_there = self.writers.contains_key(&id) || self.readers.contains_key(&id);
        if id.is_builtin() || !is_there {
            return false;
        }
        self.writers.remove(&id);
        if self.readers.remove(&id).is_some() {
            self.readers_of.retain(|_, readers| {
                readers.retain(|reader| *reader != id);
                !readers.is_empty()
            });
        }
        self.schedule.remove(id);
        self.announce_deleted(id);
        true
    }

    fn next_id(
        &mut self,
        options: &EndpointOptions,
        is_writer: bool,
    ) -> Result<EntityId, EndpointError> {
        for name in [&options.topic, &options.type_name] {
            if name.is_empty() || name.len() > NAME_LEN_MAX || name.contains('\0') {
                return Err(EndpointError::Name(name.chars().take(100).collect()));
            }
        }
        if self.made >= ENDPOINTS_MADE_MAX {
            return Err(EndpointError::TooMany);
        }
        self.made += 1;
        Ok(EntityId::of_user(self.made, is_writer, options.is_keyed))
    }

    fn endpoint_data(&self, id: EntityId, options: EndpointOptions) -> EndpointData {
        EndpointData {
            guid: Guid::new(self.config.prefix, id),
            topic: options.topic,
            type_name: options.type_name,
            qos: options.qos,
            unicast: Vec::new(),
            multicast: Vec::new(),
            expects_inline_qos: false,
        }
    }

    /// Gives a sample to a writer.
    ///
    /// # Errors
    /// [`WriteError::Full`] if a reliable reader is slow and the history must keep everything; nothing is lost, try again.
    pub fn write(
        &mut self,
        writer: EntityId,
        sample: Sample,
    ) -> Result<SequenceNumber, WriteError> {
        let found = self
            .writers
            .get_mut(&writer)
            .filter(|_| !writer.is_builtin());
        let written = found
            .ok_or(WriteError::UnknownWriter(writer))?
            .write(sample);
        self.settle(writer);
        written
    }

    /// Takes the next sample that a reader has got. A reliable reader that keeps all stops its writers when it is full, so
    /// take what is there.
    pub fn take(&mut self, reader: EntityId, now: Instant) -> Option<Received> {
        if reader.is_builtin() {
            return None;
        }
        let received = self.readers.get_mut(&reader)?.take(now)?;
        self.settle(reader);
        Some(received)
    }

    /// Acknowledges the samples up to `through` that a reader has taken of a writer, if it was made with
    /// [`EndpointOptions::acknowledges_by_call`].
    ///
    /// Until then a reliable writer keeps them, and one that keeps all waits when it is full. Acknowledge every sample that is
    /// taken, whatever becomes of it, in the order in which it came. What got lost is asked for again only within 256 samples after
    /// the first that is not acknowledged.
    pub fn acknowledge(
        &mut self,
        reader: EntityId,
        writer: Guid,
        through: SequenceNumber,
        now: Instant,
    ) {
        if let Some(found) = self.readers.get_mut(&reader) {
            found.acknowledge(writer, through, now);
            self.settle(reader);
        }
    }

    /// The reliable readers of a writer, each with the count of samples that it has not acknowledged.
    pub fn unacknowledged(&self, writer: EntityId) -> impl Iterator<Item = (Guid, u64)> {
        let writer = self.writers.get(&writer);
        writer.into_iter().flat_map(Writer::unacknowledged)
    }

    /// The endpoints that a writer or a reader is matched with.
    pub fn matches(&self, endpoint: EntityId) -> Vec<Guid> {
        let readers = self
            .writers
            .get(&endpoint)
            .into_iter()
            .flat_map(Writer::readers);
        let writers = self
            .readers
            .get(&endpoint)
            .into_iter()
            .flat_map(Reader::writers);
        readers.chain(writers).collect()
    }

    /// The other participants.
    pub fn participants(&self) -> impl Iterator<Item = GuidPrefix> {
        self.remotes.keys().copied()
    }

    /// Handles that the time of [`Participant::poll_timeout`] has come. An early call does no harm.
    pub fn handle_timeout(&mut self, now: Instant) {
        if self.announce_at.is_some_and(|time| time <= now) {
            self.announce(now);
        }
        if self.check_leases_at.is_some_and(|time| time <= now) {
            self.check_leases(now);
        }
        if self.assert_at.is_some_and(|time| time <= now) {
            self.assert_liveliness(now);
        }
        for id in self.schedule.due(now) {
            if let Some(writer) = self.writers.get_mut(&id) {
                let events = writer.handle_timeout(now);
                events
                    .into_iter()
                    .for_each(|event| self.tell_of_writer(id, event));
            }
            if let Some(reader) = self.readers.get_mut(&id) {
                reader.handle_timeout(now);
            }
            self.settle(id);
        }
    }

    /// The time at which [`Participant::handle_timeout`] wants to be called.
    pub fn poll_timeout(&self) -> Option<Instant> {
        let times = [
            self.schedule.next_time(),
            self.announce_at,
            self.check_leases_at,
            self.assert_at,
        ];
        times.into_iter().flatten().min()
    }

    /// The next datagram to be sent, if there is one. All endpoints have their turn.
    pub fn poll_transmit(&mut self, now: Instant) -> Option<Transmit> {
        if let Some(transmit) = self.transmits.pop_front() {
            return Some(transmit);
        }
        while let Some(id) = self.schedule.turn() {
            let outgoing = self.outgoing;
            let datagram = if let Some(writer) = self.writers.get_mut(&id) {
                writer.poll_datagram(outgoing, now)
            } else if let Some(reader) = self.readers.get_mut(&id) {
                reader.poll_datagram(outgoing, now)
            } else {
                None
            };
            self.settle(id);
            match datagram {
                Some(datagram) => {
                    let (to, bytes) = (datagram.to, datagram.bytes);
                    return Some(Transmit { to, bytes });
                }
                None => self.schedule.rest(id),
            }
        }
        None
    }

    /// The next event, if there is one.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// After something happened to an endpoint: tells its events, sets its timer, and lets it send.
    fn settle(&mut self, id: EntityId) {
        let time = if let Some(writer) = self.writers.get(&id) {
            writer.timeout()
        } else if let Some(reader) = self.readers.get_mut(&id) {
            let events = reader.take_events();
            let time = reader.timeout();
            if !id.is_builtin() {
                events
                    .into_iter()
                    .for_each(|event| self.tell_of_reader(id, event));
            }
            time
        } else {
            return;
        };
        self.schedule.set(id, time);
        self.schedule.make_ready(id);
    }

    fn tell(&mut self, event: Event) {
        self.events.push_back(event);
    }

    fn tell_of_writer(&mut self, local: EntityId, event: WriterEvent) {
        if local.is_builtin() {
            return;
        }
        self.tell(match event {
            WriterEvent::Writable => Event::Writable(local),
            WriterEvent::Unresponsive(remote) => Event::Unresponsive { local, remote },
        });
    }

    fn tell_of_reader(&mut self, local: EntityId, event: ReaderEvent) {
        self.tell(match event {
            ReaderEvent::Readable => Event::Readable(local),
            ReaderEvent::Lost(remote, count) => Event::Lost {
                local,
                remote,
                count,
            },
            ReaderEvent::Liveliness(remote, is_alive) => Event::Liveliness {
                local,
                remote,
                is_alive,
            },
        });
    }
}

fn check_writer(qos: &Qos) -> Result<(), EndpointError> {
    if qos.liveliness.kind != LivelinessKind::Automatic {
        return Err(EndpointError::NotSupported(
            "a writer whose liveliness is not automatic",
        ));
    }
    if qos.presentation.scope == AccessScope::Group || qos.presentation.is_coherent {
        return Err(EndpointError::NotSupported("a writer of coherent groups"));
    }
    check_endpoint(qos)
}

fn check_reader(qos: &Qos) -> Result<(), EndpointError> {
    if qos.ownership == Ownership::Exclusive {
        return Err(EndpointError::NotSupported(
            "a reader with exclusive ownership",
        ));
    }
    if qos.destination_order == DestinationOrder::BySource {
        return Err(EndpointError::NotSupported(
            "a reader in the order of writing",
        ));
    }
    if qos.presentation.is_coherent {
        return Err(EndpointError::NotSupported("a reader of coherent groups"));
    }
    check_endpoint(qos)
}

fn check_endpoint(qos: &Qos) -> Result<(), EndpointError> {
    if qos.durability > Durability::TransientLocal {
        return Err(EndpointError::NotSupported(
            "durability beyond transient-local, which needs a service that keeps samples,",
        ));
    }
    if qos.history == History::KeepLast(0) {
        return Err(EndpointError::Invalid("a history of at least 1 sample"));
    }
    let is_too_long =
        |name: &String| name.len() > crate::qos::PARTITION_LEN_MAX || name.contains('\0');
    if qos.partitions.len() > crate::qos::PARTITIONS_MAX || qos.partitions.iter().any(is_too_long) {
        return Err(EndpointError::Invalid(
            "at most 64 partitions with names of at most 256 bytes without a zero",
        ));
    }
    if qos.representations.is_empty() || qos.representations.len() > 3 {
        return Err(EndpointError::Invalid("one to three data representations"));
    }
    Ok(())
}

/// Ids of endpoints have 24 bits.
const ENDPOINTS_MADE_MAX: u32 = (1 << 24) - 1;
/// The first pause between two announcements; it doubles up to [`Config::announce_every`], so that those that begin together
/// find each other at once.
const ANNOUNCE_PAUSE_MIN: Duration = Duration::from_millis(100);
