//! Discovery: announcing this participant and its endpoints, and keeping those of others.

use core::net::SocketAddr;
use std::time::{Duration, Instant};

use bytes::Bytes;

use crate::codec::ByteOrder;
use crate::discovery::{BuiltinEndpoints, EndpointData, LivelinessData, ParticipantData};
use crate::endpoint::{ChangeKind, EndpointLimits, Reader, Received, Sample, Writer};
use crate::guid::{EntityId, Guid, GuidPrefix, VendorId};
use crate::message::{Data, Header, InlineQos, PayloadKind, ProtocolVersion, Submessage};
use crate::qos::{History, LivelinessKind, Qos};
use crate::sequence_number::SequenceNumber;

use super::config::ANNOUNCE_TO_MAX;
use super::event::{Event, LossReason, Transmit};
use super::remote::{RemoteParticipant, discovery_bytes};
use super::{EndpointError, Participant};

impl Participant {
    pub(super) fn make_builtin_endpoints(&mut self) {
        let qos = Qos::of_reader()
            .reliable()
            .transient_local()
            .history(History::KeepLast(1));
        let matches_max = self.config.limits.participants_max;
        let writing = EndpointLimits {
            samples_max: BUILTIN_SAMPLES_MAX,
            matches_max,
            ..EndpointLimits::default()
        };
        let reading = EndpointLimits {
            samples_max: 256,
            bytes_max: 1 << 20,
            sample_len_max: ANNOUNCEMENT_LEN_MAX,
            reorder_bytes_max: 4 << 20,
            matches_max,
            ..EndpointLimits::default()
        };
        for (writer_id, reader_id) in BUILTIN {
            let data = |entity, history| EndpointData {
                guid: Guid::new(self.config.prefix, entity),
                topic: String::new(),
                type_name: String::new(),
                qos: qos.clone().history(history),
                unicast: Vec::new(),
                multicast: Vec::new(),
                expects_inline_qos: false,
            };
            let writer = Writer::new(data(writer_id, History::KeepLast(1)), writing);
            self.writers.insert(writer_id, writer);
            // It is emptied after each datagram.
            let reader = Reader::new(data(reader_id, History::KeepAll), reading);
            self.readers.insert(reader_id, reader);
        }
    }

    /// Announces this participant everywhere.
    pub(super) fn announce(&mut self, now: Instant) {
        self.announce_at = Some(now + self.announce_pause);
        self.announce_pause = (self.announce_pause * 2).min(self.config.announce_every);
        let bytes = self.announcement(Some(&self.own_data().encode()));
        let known = self
            .remotes
            .values()
            .filter_map(RemoteParticipant::metatraffic);
        let mut to: Vec<SocketAddr> = self
            .config
            .announce_to
            .iter()
            .copied()
            .chain(known)
            .collect();
        to.sort_unstable();
        to.dedup();
        to.into_iter()
            .for_each(|to| self.transmit(to, bytes.clone()));
    }

    /// Says that this participant ends. Send what is to be sent after it, and then drop it.
    pub fn close(&mut self) {
        self.transmits.clear();
        let bytes = self.announcement(None);
        let known = self
            .remotes
            .values()
            .filter_map(RemoteParticipant::metatraffic);
        let mut to: Vec<SocketAddr> = self
            .config
            .announce_to
            .iter()
            .copied()
            .chain(known)
            .collect();
        to.sort_unstable();
        to.dedup();
        to.into_iter()
            .for_each(|to| self.transmit(to, bytes.clone()));
        self.announce_at = None;
    }

    fn transmit(&mut self, to: SocketAddr, bytes: Vec<u8>) {
        if self.transmits.len() < ANNOUNCEMENTS_MAX {
            self.transmits.push_back(Transmit { to, bytes });
        }
    }

    /// The datagram that announces this participant, or without a payload the one that says that it ends.
    fn announcement(&self, payload: Option<&[u8]>) -> Vec<u8> {
        let prefix = self.config.prefix;
        let key = ParticipantData::encode_key(prefix);
        let ends = payload.is_none();
        let data = Data {
            reader: EntityId::UNKNOWN,
            writer: EntityId::SPDP_WRITER,
            number: SequenceNumber(1 + i64::from(ends)),
            inline_qos: InlineQos {
                key_hash: ends.then(|| Guid::new(prefix, EntityId::PARTICIPANT).to_bytes()),
                is_disposed: ends,
                is_unregistered: ends,
            },
            kind: match ends {
                true => PayloadKind::Key,
                false => PayloadKind::Value,
            },
            payload: payload.unwrap_or(&key),
        };
        let mut bytes = Vec::new();
        Header::ours(prefix).encode(&mut bytes);
        Submessage::Data(data).encode(&mut bytes, ByteOrder::Little);
        bytes
    }

    fn own_data(&self) -> ParticipantData {
        let config = &self.config;
        ParticipantData {
            prefix: config.prefix,
            version: ProtocolVersion::OURS,
            vendor: VendorId::UNKNOWN,
            domain: Some(config.domain),
            domain_tag: config.domain_tag.clone(),
            name: config.name.clone(),
            lease: Some(config.lease),
            builtin: BuiltinEndpoints::OURS,
            metatraffic_unicast: config.metatraffic_unicast.clone(),
            metatraffic_multicast: config.metatraffic_multicast.clone(),
            default_unicast: config.default_unicast.clone(),
            default_multicast: Vec::new(),
        }
    }

    pub(super) fn announce_endpoint(&mut self, data: &EndpointData) -> Result<(), EndpointError> {
        let sample = Sample {
            key_hash: Some(data.guid.to_bytes()),
            ..Sample::written(data.encode())
        };
        self.write_builtin(announcer_of(data.guid.entity), sample)
    }

    pub(super) fn announce_deleted(&mut self, id: EntityId) {
        let guid = Guid::new(self.config.prefix, id);
        let key = EndpointData::encode_key(guid);
        let kind = ChangeKind::DisposedAndUnregistered;
        let sample = Sample::ended(kind, Some(guid.to_bytes()), key);
        // It replaces the announcement of the endpoint, so there is room.
        let _ = self.write_builtin(announcer_of(id), sample);
    }

    fn write_builtin(&mut self, id: EntityId, sample: Sample) -> Result<(), EndpointError> {
        let written = self.writers.get_mut(&id).map(|writer| writer.write(sample));
        self.settle(id);
        match written {
            Some(Ok(_)) => Ok(()),
            _ => Err(EndpointError::TooMany),
        }
    }

    /// Takes what the built-in readers have got.
    pub(super) fn handle_discovery(&mut self, now: Instant) {
        for (_, reader) in BUILTIN {
            while let Some(received) = self
                .readers
                .get_mut(&reader)
                .and_then(|reader| reader.take(now))
            {
                if let Some(remote) = self.remotes.get_mut(&received.writer.prefix) {
                    remote.is_proven = true;
                    match reader {
                        EntityId::LIVELINESS_READER => self.handle_sign_of_life(&received, now),
                        _ => self.handle_endpoint(&received, reader, now),
                    }
                }
            }
        }
    }

    /// Takes an announcement of a participant.
    pub(super) fn handle_participant(
        &mut self,
        source: GuidPrefix,
        from: SocketAddr,
        data: &Data<'_>,
        now: Instant,
    ) {
        if data.inline_qos.is_disposed || data.inline_qos.is_unregistered {
            return self.handle_end_of_participant(source, from, data);
        }
        let Ok(announced) = ParticipantData::decode(data.payload) else {
            self.counters.malformed += 1;
            return;
        };
        let config = &self.config;
        let is_other_domain = announced
            .domain
            .is_some_and(|domain| domain != config.domain)
            || announced.domain_tag != config.domain_tag;
        if announced.prefix != source {
            self.counters.other_source += 1;
        } else if is_other_domain {
            self.counters.other_domain += 1;
        } else if self.remotes.contains_key(&source) {
            self.update_participant(announced, from, now);
        } else {
            self.add_participant(announced, from, now);
        }
    }

    fn handle_end_of_participant(&mut self, source: GuidPrefix, from: SocketAddr, data: &Data<'_>) {
        let of_payload = || ParticipantData::decode_key(data.payload).ok();
        let of_hash = data
            .inline_qos
            .key_hash
            .map(|hash| Guid::from_bytes(hash).prefix);
        let ended = of_hash.or_else(of_payload);
        if ended.is_some_and(|ended| ended != source) || !self.is_from(source, from) {
            self.counters.other_source += 1;
        } else if ended.is_some() && self.remotes.contains_key(&source) {
            self.lose_participant(source, LossReason::Ended);
        }
    }

    fn update_participant(&mut self, announced: ParticipantData, from: SocketAddr, now: Instant) {
        let prefix = announced.prefix;
        if !self.is_from(prefix, from) {
            self.counters.other_source += 1;
            return;
        }
        let Some(remote) = self.remotes.get_mut(&prefix) else {
            return;
        };
        remote.last_heard = now;
        if remote.update(announced) {
            self.move_participant(prefix);
            self.match_builtin(prefix, now);
        }
        let kind = LivelinessKind::Automatic;
        self.note_lives(prefix, kind, now);
    }

    fn add_participant(&mut self, announced: ParticipantData, from: SocketAddr, now: Instant) {
        let prefix = announced.prefix;
        let remote = RemoteParticipant::new(announced, from.ip(), now);
        let Some(to) = remote.metatraffic() else {
            self.counters.unreachable += 1;
            return;
        };
        if self.remotes.len() >= self.config.limits.participants_max && !self.give_way() {
            self.counters.over_limit += 1;
            return;
        }
        let end = remote.end_of_lease(self.config.limits.lease_max);
        self.check_leases_at = Some(self.check_leases_at.map_or(end, |time| time.min(end)));
        self.tell(Event::ParticipantFound {
            prefix,
            name: remote.data.name.clone(),
            vendor: remote.data.vendor,
            from,
        });
        self.remotes.insert(prefix, remote);
        // It may have begun after our last announcement.
        let bytes = self.announcement(Some(&self.own_data().encode()));
        self.transmit(to, bytes);
        self.match_builtin(prefix, now);
    }

    /// Gives up the oldest participant that has never answered; false if all have.
    fn give_way(&mut self) -> bool {
        let silent = self.remotes.iter().filter(|(_, remote)| !remote.is_proven);
        let oldest = silent.min_by_key(|(_, remote)| remote.since());
        let Some(prefix) = oldest.map(|(prefix, _)| *prefix) else {
            return false;
        };
        self.lose_participant(prefix, LossReason::Replaced);
        true
    }

    /// Connects our built-in endpoints with those of a participant.
    fn match_builtin(&mut self, prefix: GuidPrefix, now: Instant) {
        let Some(remote) = self.remotes.get(&prefix) else {
            return;
        };
        let Some(to) = remote.metatraffic() else {
            return;
        };
        let bits = remote.data.builtin;
        let wanted = Qos::of_reader().reliable().transient_local();
        for (index, (writer_id, reader_id)) in BUILTIN.into_iter().enumerate() {
            let (writes, reads) = BUILTIN_BITS[index];
            let their_reader = Guid::new(prefix, reader_id);
            let their_writer = Guid::new(prefix, writer_id);
            if bits.contains(reads)
                && let Some(writer) = self.writers.get_mut(&writer_id)
            {
                writer.add_late_reader(their_reader, to, &wanted);
            }
            if bits.contains(writes)
                && let Some(reader) = self.readers.get_mut(&reader_id)
                && reader.add_writer(their_writer, to, None, now)
            {
                self.readers_of
                    .entry(their_writer)
                    .or_default()
                    .push(reader_id);
            }
            self.settle(writer_id);
            self.settle(reader_id);
        }
    }

    pub(super) fn lose_participant(&mut self, prefix: GuidPrefix, reason: LossReason) {
        let Some(remote) = self.remotes.remove(&prefix) else {
            return;
        };
        self.discovery_bytes -= remote.discovery_bytes;
        for (entity, _) in remote.endpoints {
            let guid = Guid::new(prefix, entity);
            self.unmatch(guid);
            self.tell(Event::EndpointLost(guid));
        }
        for (writer, reader) in BUILTIN {
            self.unmatch(Guid::new(prefix, writer));
            self.unmatch(Guid::new(prefix, reader));
        }
        self.tell(Event::ParticipantLost { prefix, reason });
    }

    /// Gives up the participants of which nothing is heard.
    pub(super) fn check_leases(&mut self, now: Instant) {
        let lease_max = self.config.limits.lease_max;
        let ends = self
            .remotes
            .iter()
            .map(|(prefix, remote)| (*prefix, remote.end_of_lease(lease_max)));
        let expired: Vec<_> = ends.filter(|(_, end)| *end <= now).collect();
        for (prefix, _) in expired {
            self.lose_participant(prefix, LossReason::LeaseExpired);
        }
        let ends = self
            .remotes
            .values()
            .map(|remote| remote.end_of_lease(lease_max));
        self.check_leases_at = ends.min();
    }

    fn handle_endpoint(&mut self, received: &Received, reader: EntityId, now: Instant) {
        let prefix = received.writer.prefix;
        let sample = &received.sample;
        let is_end = sample.kind != ChangeKind::Written;
        let announced = match is_end {
            true => {
                let of_hash = sample.key_hash.map(Guid::from_bytes).map(Ok);
                let guid = of_hash.unwrap_or_else(|| EndpointData::decode_key(&sample.payload));
                guid.map(|guid| (guid, None))
            }
            false => EndpointData::decode(&sample.payload).map(|data| (data.guid, Some(data))),
        };
        let Ok((guid, data)) = announced else {
            self.counters.malformed += 1;
            return;
        };
        let is_of_kind = match reader {
            EntityId::PUBLICATIONS_READER => guid.entity.is_writer(),
            _ => guid.entity.is_reader(),
        };
        // Nobody tells of the endpoints of others.
        if guid.prefix != prefix || !is_of_kind || guid.entity.is_builtin() {
            self.counters.other_source += 1;
            return;
        }
        match data {
            Some(data) => self.add_endpoint(data, now),
            None => self.lose_endpoint(guid),
        }
    }

    fn lose_endpoint(&mut self, guid: Guid) {
        let Some(remote) = self.remotes.get_mut(&guid.prefix) else {
            return;
        };
        let Some(data) = remote.endpoints.remove(&guid.entity) else {
            return;
        };
        let bytes = discovery_bytes(&data);
        remote.discovery_bytes -= bytes;
        self.discovery_bytes -= bytes;
        self.unmatch(guid);
        self.tell(Event::EndpointLost(guid));
    }

    fn add_endpoint(&mut self, data: EndpointData, now: Instant) {
        let (guid, bytes) = (data.guid, discovery_bytes(&data));
        let limits = self.config.limits;
        let Some(remote) = self.remotes.get_mut(&guid.prefix) else {
            return;
        };
        let known = remote.endpoints.get(&guid.entity);
        if known == Some(&data) {
            return;
        }
        let replaced = known.map_or(0, discovery_bytes);
        let count = remote.endpoints.len() + usize::from(known.is_none());
        let total = self.discovery_bytes - replaced + bytes;
        let limit = match (
            count > limits.endpoints_max,
            total > limits.discovery_bytes_max,
        ) {
            (true, _) => Some("endpoints_max"),
            (_, true) => Some("discovery_bytes_max"),
            _ => None,
        };
        if let Some(limit) = limit {
            self.counters.over_limit += 1;
            let is_first = !std::mem::replace(&mut remote.is_over_limit, true);
            if is_first {
                let prefix = guid.prefix;
                self.tell(Event::LimitReached { prefix, limit });
            }
            return;
        }
        remote.discovery_bytes = remote.discovery_bytes - replaced + bytes;
        self.discovery_bytes = total;
        remote.endpoints.insert(guid.entity, data.clone());
        self.unmatch_unfit(&data);
        self.tell(Event::EndpointFound(Box::new(data)));
        self.match_remote(guid, now);
    }

    fn handle_sign_of_life(&mut self, received: &Received, now: Instant) {
        let Ok(sign) = LivelinessData::decode(&received.sample.payload) else {
            self.counters.malformed += 1;
            return;
        };
        if sign.prefix != received.writer.prefix {
            self.counters.other_source += 1;
        } else if let Some(kind) = sign.kind {
            self.note_lives(sign.prefix, kind, now);
        }
    }

    fn note_lives(&mut self, prefix: GuidPrefix, kind: LivelinessKind, now: Instant) {
        let Some(remote) = self.remotes.get(&prefix) else {
            return;
        };
        let kind_of = |guid: Guid| {
            let data = remote.endpoints.get(&guid.entity)?;
            Some(data.qos.liveliness.kind)
        };
        let mut noted = Vec::new();
        for (id, reader) in &mut self.readers {
            if !id.is_builtin() && reader.has_writers_of(prefix) {
                reader.note_lives(prefix, kind_of, kind, now);
                noted.push(*id);
            }
        }
        noted.into_iter().for_each(|id| self.settle(id));
    }

    /// Begins to show that our writers live, as soon as one has promised to.
    pub(super) fn schedule_assertions(&mut self, now: Instant) {
        if self.assert_at.is_none() && self.shortest_lease().is_some() {
            self.assert_at = Some(now);
        }
    }

    fn shortest_lease(&self) -> Option<Duration> {
        let writers = self.writers.values();
        writers
            .filter_map(|writer| writer.data().qos.liveliness.lease)
            .min()
    }

    pub(super) fn assert_liveliness(&mut self, now: Instant) {
        let lease = self.shortest_lease();
        // Three times in a lease, so that two may be lost; a lease of nothing is no reason to do nothing else.
        self.assert_at = lease.map(|lease| now + (lease / 3).max(ASSERTION_PAUSE_MIN));
        if lease.is_none() {
            return;
        }
        let payload = LivelinessData::encode_automatic(self.config.prefix);
        let mut key_hash = [0; 16];
        key_hash.copy_from_slice(&payload[4..20]);
        let sample = Sample {
            key_hash: Some(key_hash),
            ..Sample::written(Bytes::from(payload))
        };
        // It replaces the last one, so there is room.
        let _ = self.write_builtin(EntityId::LIVELINESS_WRITER, sample);
    }
}

/// The built-in writer that tells of an endpoint.
fn announcer_of(id: EntityId) -> EntityId {
    match id.is_writer() {
        true => EntityId::PUBLICATIONS_WRITER,
        false => EntityId::SUBSCRIPTIONS_WRITER,
    }
}

/// The reliable built-in writers, each with the reader at the other end.
pub(super) const BUILTIN: [(EntityId, EntityId); 3] = [
    (EntityId::PUBLICATIONS_WRITER, EntityId::PUBLICATIONS_READER),
    (
        EntityId::SUBSCRIPTIONS_WRITER,
        EntityId::SUBSCRIPTIONS_READER,
    ),
    (EntityId::LIVELINESS_WRITER, EntityId::LIVELINESS_READER),
];

/// The bits by which participants say that they have them.
const BUILTIN_BITS: [(BuiltinEndpoints, BuiltinEndpoints); 3] = [
    (
        BuiltinEndpoints::PUBLICATIONS_WRITER,
        BuiltinEndpoints::PUBLICATIONS_READER,
    ),
    (
        BuiltinEndpoints::SUBSCRIPTIONS_WRITER,
        BuiltinEndpoints::SUBSCRIPTIONS_READER,
    ),
    (
        BuiltinEndpoints::LIVELINESS_WRITER,
        BuiltinEndpoints::LIVELINESS_READER,
    ),
];

/// The most announcements that wait to be sent; a driver sends them at once.
const ANNOUNCEMENTS_MAX: usize = 4 * ANNOUNCE_TO_MAX;
/// The longest announcement of an endpoint: names, partitions, and information about types, which we skip.
const ANNOUNCEMENT_LEN_MAX: usize = 256 << 10;
/// The most endpoints of ours that are announced at a time.
const BUILTIN_SAMPLES_MAX: usize = 65_536;
/// The shortest time between two signs of life.
const ASSERTION_PAUSE_MIN: Duration = Duration::from_millis(10);
