//! Events, counters and datagrams that a participant gives to its caller.

use core::net::SocketAddr;

use crate::discovery::EndpointData;
use crate::guid::{EntityId, Guid, GuidPrefix, VendorId};
use crate::qos::Policy;

/// A datagram to be sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transmit {
    /// Where to.
    pub to: SocketAddr,
    /// Its bytes.
    pub bytes: Vec<u8>,
}

/// Something that has happened.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event {
    /// Another participant is there.
    ParticipantFound {
        /// Its name in octets.
        prefix: GuidPrefix,
        /// Its name for people; may be empty.
        name: String,
        /// Its implementation.
        vendor: VendorId,
        /// Where its announcement came from.
        from: SocketAddr,
    },
    /// It is gone.
    ParticipantLost {
        /// Its name in octets.
        prefix: GuidPrefix,
        /// Why.
        reason: LossReason,
    },
    /// A participant has told of an endpoint, or of changes of it.
    EndpointFound(Box<EndpointData>),
    /// It is deleted, or its participant is gone.
    EndpointLost(Guid),
    /// Samples can flow between an endpoint of ours and another.
    Matched {
        /// Ours.
        local: EntityId,
        /// The other.
        remote: Guid,
    },
    /// They no longer can.
    Unmatched {
        /// Ours.
        local: EntityId,
        /// The other.
        remote: Guid,
    },
    /// Two endpoints have the same topic and type, and one wants more than the other offers.
    Incompatible {
        /// Ours.
        local: EntityId,
        /// The other.
        remote: Guid,
        /// The policy that does not fit.
        policy: Policy,
    },
    /// Two endpoints have the same topic, and not the same type.
    OtherType {
        /// Ours.
        local: EntityId,
        /// The other.
        remote: Guid,
        /// The type of the other.
        type_name: String,
    },
    /// A reader of ours has samples, where it had none: see
    /// [`Participant::take`](super::Participant::take).
    Readable(EntityId),
    /// A writer of ours that refused a sample has room again.
    Writable(EntityId),
    /// A reader does not answer, so our writer no longer keeps samples for it.
    Unresponsive {
        /// Our writer.
        local: EntityId,
        /// The reader.
        remote: Guid,
    },
    /// Samples have not come, and will not.
    Lost {
        /// Our reader.
        local: EntityId,
        /// The writer.
        remote: Guid,
        /// How many.
        count: u64,
    },
    /// A writer no longer shows that it lives, or does so again.
    Liveliness {
        /// Our reader.
        local: EntityId,
        /// The writer.
        remote: Guid,
        /// True if it lives again.
        is_alive: bool,
    },
    /// A participant has told of more than a limit allows. It is said once for each participant.
    LimitReached {
        /// The participant.
        prefix: GuidPrefix,
        /// The name of the limit.
        limit: &'static str,
    },
}

/// Why a participant is gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum LossReason {
    /// It said so.
    Ended,
    /// Nothing was heard of it for as long as its lease.
    LeaseExpired,
    /// It never answered, and another needed its place.
    Replaced,
}

/// Datagrams and parts of them that were not used, by reason. They only grow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Counters {
    /// Bytes that are not RTPS, or not whole. What was before them in their datagram counts.
    pub malformed: u64,
    /// Announcements of participants of other domains.
    pub other_domain: u64,
    /// Submessages of participants that are not known.
    pub unknown_participant: u64,
    /// Submessages and announcements in the name of a participant that is elsewhere.
    pub other_source: u64,
    /// Participants and endpoints that were refused because of a limit.
    pub over_limit: u64,
    /// Participants and endpoints without an address that can be reached.
    pub unreachable: u64,
    /// Datagrams that were dropped because too many events wait for the caller.
    pub events_full: u64,
}

/// The memory of a participant, in counts and bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Usage {
    /// Other participants.
    pub participants: usize,
    /// Endpoints of others.
    pub endpoints: usize,
    /// Bytes that they have told about these.
    pub discovery_bytes: usize,
    /// Samples in histories of writers and queues of readers.
    pub samples: usize,
    /// Their bytes.
    pub sample_bytes: usize,
    /// Bytes of samples that are not whole or whose turn has not come.
    pub reorder_bytes: usize,
    /// Events that wait.
    pub events: usize,
    /// Announcements that wait to be sent.
    pub transmits: usize,
}
