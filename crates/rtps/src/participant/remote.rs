//! Another participant.

use core::net::{IpAddr, SocketAddr};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use crate::discovery::{EndpointData, ParticipantData};
use crate::guid::EntityId;

/// Another participant, as far as it is known.
#[derive(Debug)]
pub(super) struct RemoteParticipant {
    pub(super) data: ParticipantData,
    /// Where its first announcement came from.
    pub(super) from: IpAddr,
    pub(super) last_heard: Instant,
    /// It has answered us, so it is more than an announcement that anybody can send.
    pub(super) is_proven: bool,
    pub(super) endpoints: BTreeMap<EntityId, EndpointData>,
    pub(super) discovery_bytes: usize,
    /// The caller was told of a limit.
    pub(super) is_over_limit: bool,
    /// A changed announcement that waits for its confirmation.
    changed: Option<ParticipantData>,
    since: Instant,
}

impl RemoteParticipant {
    pub(super) fn new(data: ParticipantData, from: IpAddr, now: Instant) -> Self {
        Self {
            data,
            from,
            last_heard: now,
            is_proven: false,
            endpoints: BTreeMap::new(),
            discovery_bytes: 0,
            is_over_limit: false,
            changed: None,
            since: now,
        }
    }

    pub(super) fn since(&self) -> Instant {
        self.since
    }

    /// Returns true if a datagram from this address can be of this participant.
    pub(super) fn is_at(&self, from: IpAddr) -> bool {
        let lists = [&self.data.metatraffic_unicast, &self.data.default_unicast];
        self.from == from
            || lists
                .into_iter()
                .flatten()
                .any(|address| address.ip() == from)
    }

    /// Takes an announcement; true if something has changed. A change is believed when it is said twice, so that a single
    /// datagram that is damaged does not send samples elsewhere.
    pub(super) fn update(&mut self, data: ParticipantData) -> bool {
        if self.data == data {
            self.changed = None;
            return false;
        }
        if self.changed.as_ref() != Some(&data) {
            self.changed = Some(data);
            return false;
        }
        self.changed = None;
        self.data = data;
        true
    }

    /// When it is given up, if nothing is heard of it.
    pub(super) fn end_of_lease(&self, lease_max: Duration) -> Instant {
        let lease = self.data.lease.unwrap_or(lease_max);
        // The lower bound is here because a lease of nothing would end it between two announcements.
        self.last_heard + lease.min(lease_max).max(LEASE_MIN)
    }

    /// Where discovery reaches it.
    pub(super) fn metatraffic(&self) -> Option<SocketAddr> {
        self.nearest(
            &self.data.metatraffic_unicast,
            &self.data.metatraffic_multicast,
        )
    }

    /// Where samples reach an endpoint of it.
    pub(super) fn address_of(&self, endpoint: &EndpointData) -> Option<SocketAddr> {
        self.nearest(&endpoint.unicast, &endpoint.multicast)
            .or_else(|| self.nearest(&self.data.default_unicast, &self.data.default_multicast))
    }

    /// Of several addresses, that from which it came can surely be reached; then one of the same family.
    fn nearest(&self, unicast: &[SocketAddr], multicast: &[SocketAddr]) -> Option<SocketAddr> {
        let find =
            |fits: &dyn Fn(&SocketAddr) -> bool| unicast.iter().find(|address| fits(address));
        find(&|address| address.ip() == self.from)
            .or_else(|| find(&|address| address.is_ipv4() == self.from.is_ipv4()))
            .or_else(|| unicast.first())
            .or_else(|| multicast.first())
            .copied()
    }
}

/// The memory that an endpoint's description takes, about.
pub(super) fn discovery_bytes(data: &EndpointData) -> usize {
    let partitions = data.qos.partitions.iter();
    let partitions: usize = partitions
        .map(|name| name.len() + size_of::<String>())
        .sum();
    size_of::<EndpointData>()
        + data.topic.len()
        + data.type_name.len()
        + partitions
        + size_of_val(&data.unicast[..])
        + size_of_val(&data.multicast[..])
}

/// The shortest lease that is believed.
const LEASE_MIN: Duration = Duration::from_secs(1);
