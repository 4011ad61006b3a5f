//! Datagrams: from bytes to the endpoints that they are for.

use core::net::SocketAddr;
use std::time::Instant;

use bytes::Bytes;

use crate::endpoint::Reader;
use crate::guid::{EntityId, Guid, GuidPrefix};
use crate::message::{Data, DataFrag, Header, Submessage, Submessages};
use crate::timestamp::Timestamp;

use super::Participant;

/// The context that earlier submessages of a message give to later ones.
#[derive(Debug)]
struct Context {
    source: GuidPrefix,
    /// False if what follows is for another participant.
    is_for_us: bool,
    timestamp: Option<Timestamp>,
    from: SocketAddr,
    now: Instant,
}

impl Participant {
    /// Handles a datagram that came from an address.
    ///
    /// Bytes that make no sense are counted ([`Participant::counters`]) and otherwise ignored.
    pub fn handle_datagram(&mut self, now: Instant, from: SocketAddr, bytes: &[u8]) {
        if self.events.len() >= EVENTS_MAX {
            // All that matters is sent again.
            self.counters.events_full += 1;
            return;
        }
        let Ok((header, rest)) = Header::split(bytes) else {
            self.counters.malformed += 1;
            return;
        };
        let mut context = Context {
            source: header.prefix,
            is_for_us: true,
            timestamp: None,
            from,
            now,
        };
        for submessage in Submessages::new(rest) {
            match submessage {
                Ok(submessage) => self.handle_submessage(&mut context, submessage),
                Err(_) => self.counters.malformed += 1,
            }
        }
        self.handle_discovery(now);
    }

    fn handle_submessage(&mut self, context: &mut Context, submessage: Submessage<'_>) {
        match &submessage {
            Submessage::InfoSource(_, _, prefix) => {
                context.source = *prefix;
                context.is_for_us = true;
                context.timestamp = None;
            }
            Submessage::InfoDestination(prefix) => {
                context.is_for_us = *prefix == self.config.prefix || *prefix == GuidPrefix::UNKNOWN;
            }
            Submessage::InfoTimestamp(timestamp) => context.timestamp = *timestamp,
            Submessage::Data(data) if data.writer == EntityId::SPDP_WRITER => {
                self.handle_announcement(context, data);
            }
            Submessage::Pad | Submessage::InfoReply { .. } | Submessage::Unknown(_) => {}
            _ if context.is_for_us && self.hears(context) => {
                self.handle_entity_submessage(context, &submessage)
            }
            _ => {}
        }
    }

    /// Takes an announcement of another participant, if it is for us.
    fn handle_announcement(&mut self, context: &Context, data: &Data<'_>) {
        if context.is_for_us && context.source != self.config.prefix {
            self.handle_participant(context.source, context.from, data, context.now);
        }
    }

    /// Returns true if a participant that is known is at the address; it lives.
    fn hears(&mut self, context: &Context) -> bool {
        let Some(remote) = self.remotes.get_mut(&context.source) else {
            // Our own multicasts come back, which is nothing to count.
            let is_own = context.source == self.config.prefix;
            self.counters.unknown_participant += u64::from(!is_own);
            return false;
        };
        if self.config.checks_sources && !remote.is_at(context.from.ip()) {
            self.counters.other_source += 1;
            return false;
        }
        remote.last_heard = context.now;
        true
    }

    /// Returns true if a participant can be at the address, because it is not known or has announced it.
    pub(super) fn is_from(&self, prefix: GuidPrefix, from: SocketAddr) -> bool {
        let remote = self.remotes.get(&prefix);
        !self.config.checks_sources || remote.is_none_or(|remote| remote.is_at(from.ip()))
    }

    fn handle_entity_submessage(&mut self, context: &Context, submessage: &Submessage<'_>) {
        let guid = |entity| Guid::new(context.source, entity);
        let now = context.now;
        match submessage {
            Submessage::Data(data) => self.handle_data(context, data),
            Submessage::DataFrag(frag) => self.handle_fragment(context, frag),
            Submessage::Heartbeat(heartbeat) => {
                let writer = guid(heartbeat.writer);
                self.for_readers(writer, heartbeat.reader, |reader| {
                    reader.handle_heartbeat(writer, heartbeat, now);
                });
            }
            Submessage::HeartbeatFrag(heartbeat) => {
                let writer = guid(heartbeat.writer);
                self.for_readers(writer, heartbeat.reader, |reader| {
                    reader.handle_heartbeat_frag(writer, heartbeat, now);
                });
            }
            Submessage::Gap(gap) => {
                let writer = guid(gap.writer);
                self.for_readers(writer, gap.reader, |reader| reader.handle_gap(writer, gap));
            }
            Submessage::AckNack(acknack) => {
                let id = acknack.writer;
                let Some(writer) = self.writers.get_mut(&id) else {
                    return;
                };
                let event = writer.handle_acknack(guid(acknack.reader), acknack, now);
                if id.is_builtin()
                    && let Some(remote) = self.remotes.get_mut(&context.source)
                {
                    remote.is_proven = true;
                }
                event
                    .into_iter()
                    .for_each(|event| self.tell_of_writer(id, event));
                self.settle(id);
            }
            Submessage::NackFrag(nack) => {
                if let Some(writer) = self.writers.get_mut(&nack.writer) {
                    writer.handle_nack_frag(guid(nack.reader), nack);
                    self.settle(nack.writer);
                }
            }
            _ => {}
        }
    }

    fn handle_data(&mut self, context: &Context, data: &Data<'_>) {
        let writer = Guid::new(context.source, data.writer);
        let mut payload = None;
        let (timestamp, now) = (context.timestamp, context.now);
        self.for_readers(writer, data.reader, |reader| {
            let payload = payload.get_or_insert_with(|| Bytes::copy_from_slice(data.payload));
            reader.handle_data(writer, data, timestamp, payload, now);
        });
    }

    fn handle_fragment(&mut self, context: &Context, frag: &DataFrag<'_>) {
        let writer = Guid::new(context.source, frag.writer);
        let (timestamp, now) = (context.timestamp, context.now);
        self.for_readers(writer, frag.reader, |reader| {
            reader.handle_fragment(writer, frag, timestamp, now);
        });
    }

    /// Calls `handle` with the readers that are matched with a writer: with one, or with all if that is not known.
    fn for_readers(&mut self, writer: Guid, reader: EntityId, mut handle: impl FnMut(&mut Reader)) {
        let matched = self.readers_of.get(&writer).cloned().unwrap_or_default();
        for id in matched {
            if reader != EntityId::UNKNOWN && reader != id {
                continue;
            }
            if let Some(reader) = self.readers.get_mut(&id) {
                handle(reader);
                self.settle(id);
            }
        }
    }
}

/// The most events that wait for the caller, who takes them after each call; datagrams are dropped beyond.
const EVENTS_MAX: usize = 4096;
