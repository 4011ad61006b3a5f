//! Which endpoints of ours and of others belong together.

use std::time::Instant;

use crate::discovery::EndpointData;
use crate::guid::{EntityId, Guid, GuidPrefix, VendorId};
use crate::qos::{Durability, incompatible_policy, share_a_partition};

use super::Participant;
use super::event::Event;
use super::remote::RemoteParticipant;

impl Participant {
    /// Finds the readers of a new writer.
    pub(super) fn match_writer(&mut self, local: EntityId) {
        for guid in self.remote_endpoints(EntityId::is_reader) {
            self.match_with_reader(local, guid);
        }
    }

    /// Finds the writers of a new reader.
    pub(super) fn match_reader(&mut self, local: EntityId, now: Instant) {
        for guid in self.remote_endpoints(EntityId::is_writer) {
            self.match_with_writer(local, guid, now);
        }
    }

    /// Finds the endpoints of ours for one of another participant.
    pub(super) fn match_remote(&mut self, guid: Guid, now: Instant) {
        if guid.entity.is_writer() {
            let readers: Vec<_> = self
                .readers
                .keys()
                .copied()
                .filter(|id| !id.is_builtin())
                .collect();
            readers
                .into_iter()
                .for_each(|local| self.match_with_writer(local, guid, now));
        } else {
            let writers: Vec<_> = self
                .writers
                .keys()
                .copied()
                .filter(|id| !id.is_builtin())
                .collect();
            writers
                .into_iter()
                .for_each(|local| self.match_with_reader(local, guid));
        }
    }

    fn remote_endpoints(&self, is_of_kind: fn(EntityId) -> bool) -> Vec<Guid> {
        let all = self.remotes.iter().flat_map(|(prefix, remote)| {
            remote
                .endpoints
                .keys()
                .map(|entity| Guid::new(*prefix, *entity))
        });
        all.filter(|guid| is_of_kind(guid.entity)).collect()
    }

    fn match_with_reader(&mut self, local: EntityId, guid: Guid) {
        let Some((remote, theirs)) = self.remote_endpoint(guid) else {
            return;
        };
        let Some(writer) = self.writers.get(&local) else {
            return;
        };
        match fit(writer.data(), writer.data(), theirs, theirs) {
            Fit::NoMatch => {}
            Fit::Told(told) => {
                let event = told.event(local, guid);
                self.tell(event);
            }
            Fit::Match => {
                let (to, wanted) = (remote.address_of(theirs), theirs.qos.clone());
                let Some(to) = to else {
                    self.counters.unreachable += 1;
                    return;
                };
                let writer = self.writers.get_mut(&local);
                if writer.is_some_and(|writer| writer.add_late_reader(guid, to, &wanted)) {
                    self.tell(Event::Matched {
                        local,
                        remote: guid,
                    });
                } else {
                    self.refuse_match(local, guid);
                }
                self.settle(local);
            }
        }
    }

    fn match_with_writer(&mut self, local: EntityId, guid: Guid, now: Instant) {
        let Some((remote, theirs)) = self.remote_endpoint(guid) else {
            return;
        };
        let Some(reader) = self.readers.get(&local) else {
            return;
        };
        match fit(reader.data(), theirs, reader.data(), theirs) {
            Fit::NoMatch => {}
            Fit::Told(told) => {
                let event = told.event(local, guid);
                self.tell(event);
            }
            Fit::Match => {
                let (to, lease) = (remote.address_of(theirs), theirs.qos.liveliness.lease);
                // observed: Cyclone 0.10.2 leaves it to a volatile reader to skip the history; others send gaps.
                let skips_history = remote.data.vendor == VendorId::CYCLONE
                    && theirs.qos.durability > Durability::Volatile
                    && reader.data().qos.durability == Durability::Volatile;
                let Some(to) = to else {
                    self.counters.unreachable += 1;
                    return;
                };
                let Some(reader) = self.readers.get_mut(&local) else {
                    return;
                };
                if reader.add_writer(guid, to, lease, now) {
                    if skips_history {
                        reader.skip_history(guid);
                    }
                    self.readers_of.entry(guid).or_default().push(local);
                    self.tell(Event::Matched {
                        local,
                        remote: guid,
                    });
                } else {
                    self.refuse_match(local, guid);
                }
                self.settle(local);
            }
        }
    }

    /// A match was refused because of a limit, unless it is there already.
    fn refuse_match(&mut self, local: EntityId, guid: Guid) {
        if !self.matches(local).contains(&guid) {
            self.counters.over_limit += 1;
            let (prefix, limit) = (guid.prefix, "matches_max");
            self.tell(Event::LimitReached { prefix, limit });
        }
    }

    fn remote_endpoint(&self, guid: Guid) -> Option<(&RemoteParticipant, &EndpointData)> {
        let remote = self.remotes.get(&guid.prefix)?;
        Some((remote, remote.endpoints.get(&guid.entity)?))
    }

    /// Ends all matches of another's endpoint.
    pub(super) fn unmatch(&mut self, guid: Guid) {
        self.unmatch_where(guid, |_| true);
    }

    /// Ends the matches of an endpoint that has changed and no longer fits.
    pub(super) fn unmatch_unfit(&mut self, theirs: &EndpointData) {
        let is_writer = theirs.guid.entity.is_writer();
        self.unmatch_where(theirs.guid, |ours| {
            let (offers, requests) = match is_writer {
                true => (theirs, ours),
                false => (ours, theirs),
            };
            !matches!(fit(ours, offers, requests, theirs), Fit::Match)
        });
    }

    fn unmatch_where(&mut self, guid: Guid, ends: impl Fn(&EndpointData) -> bool) {
        let mut ended = Vec::new();
        if guid.entity.is_writer() {
            let readers = self.readers_of.remove(&guid).unwrap_or_default();
            let (gone, kept): (Vec<_>, Vec<_>) = readers.into_iter().partition(|id| {
                self.readers
                    .get(id)
                    .is_none_or(|reader| ends(reader.data()))
            });
            if !kept.is_empty() {
                self.readers_of.insert(guid, kept);
            }
            for id in gone {
                if self
                    .readers
                    .get_mut(&id)
                    .is_some_and(|reader| reader.remove_writer(guid))
                {
                    ended.push(id);
                }
            }
        } else {
            for (id, writer) in &mut self.writers {
                if ends(writer.data()) && writer.remove_reader(guid) {
                    ended.push(*id);
                }
            }
        }
        for local in ended {
            if !local.is_builtin() {
                self.tell(Event::Unmatched {
                    local,
                    remote: guid,
                });
            }
            self.settle(local);
        }
    }

    /// Sends to another address of a participant from now on.
    pub(super) fn move_participant(&mut self, prefix: GuidPrefix) {
        let Some(remote) = self.remotes.get(&prefix) else {
            return;
        };
        let metatraffic = remote.metatraffic();
        let address = |guid: &Guid| match guid.entity.is_builtin() {
            true => metatraffic,
            false => remote.address_of(remote.endpoints.get(&guid.entity)?),
        };
        for writer in self
            .writers
            .values_mut()
            .filter(|writer| writer.has_readers_of(prefix))
        {
            let readers: Vec<_> = writer
                .readers()
                .filter(|guid| guid.prefix == prefix)
                .collect();
            for guid in readers {
                if let Some(to) = address(&guid) {
                    writer.move_reader(guid, to);
                }
            }
        }
        for reader in self
            .readers
            .values_mut()
            .filter(|reader| reader.has_writers_of(prefix))
        {
            let writers: Vec<_> = reader
                .writers()
                .filter(|guid| guid.prefix == prefix)
                .collect();
            for guid in writers {
                if let Some(to) = address(&guid) {
                    reader.move_writer(guid, to);
                }
            }
        }
    }
}

/// How two endpoints fit.
enum Fit {
    /// They have nothing to do with each other.
    NoMatch,
    /// They nearly fit, which is worth telling.
    Told(Misfit),
    Match,
}

enum Misfit {
    Type(String),
    Policy(crate::qos::Policy),
}

impl Misfit {
    fn event(self, local: EntityId, remote: Guid) -> Event {
        match self {
            Self::Type(type_name) => Event::OtherType {
                local,
                remote,
                type_name,
            },
            Self::Policy(policy) => Event::Incompatible {
                local,
                remote,
                policy,
            },
        }
    }
}

/// Compares an endpoint of `ours` with one of `theirs`; one of them offers and the other requests.
fn fit(
    ours: &EndpointData,
    offers: &EndpointData,
    requests: &EndpointData,
    theirs: &EndpointData,
) -> Fit {
    if offers.topic != requests.topic
        || !share_a_partition(&offers.qos.partitions, &requests.qos.partitions)
    {
        return Fit::NoMatch;
    }
    let is_same_kind = ours.guid.entity.is_keyed() == theirs.guid.entity.is_keyed();
    if ours.type_name != theirs.type_name || !is_same_kind {
        let mut type_name = theirs.type_name.clone();
        if !is_same_kind {
            type_name.push_str(match theirs.guid.entity.is_keyed() {
                true => " with a key",
                false => " without a key",
            });
        }
        return Fit::Told(Misfit::Type(type_name));
    }
    match incompatible_policy(&offers.qos, &requests.qos) {
        Some(policy) => Fit::Told(Misfit::Policy(policy)),
        None => Fit::Match,
    }
}
