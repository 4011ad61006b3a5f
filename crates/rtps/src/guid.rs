//! Names of participants and endpoints.

use std::fmt;

use crate::codec::{DecodeError, Decoder};

/// The name of a participant: 12 octets that no other participant has.
///
/// The caller chooses it, for example from random octets. The first two should be a vendor's id: see [`VendorId`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GuidPrefix(pub [u8; 12]);

impl GuidPrefix {
    /// Stands for every participant, or for none that is known.
    pub const UNKNOWN: Self = Self([0; 12]);
}

impl fmt::Display for GuidPrefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// The name of an endpoint within its participant: three octets and its kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EntityId(pub [u8; 4]);

impl EntityId {
    /// Stands for every endpoint that fits.
    pub const UNKNOWN: Self = Self([0; 4]);
    /// The participant itself.
    pub const PARTICIPANT: Self = Self([0, 0, 1, 0xc1]);
    /// Announces participants.
    pub const SPDP_WRITER: Self = Self([0, 1, 0, 0xc2]);
    /// Hears of participants.
    pub const SPDP_READER: Self = Self([0, 1, 0, 0xc7]);
    /// Announces writers.
    pub const PUBLICATIONS_WRITER: Self = Self([0, 0, 3, 0xc2]);
    /// Hears of writers.
    pub const PUBLICATIONS_READER: Self = Self([0, 0, 3, 0xc7]);
    /// Announces readers.
    pub const SUBSCRIPTIONS_WRITER: Self = Self([0, 0, 4, 0xc2]);
    /// Hears of readers.
    pub const SUBSCRIPTIONS_READER: Self = Self([0, 0, 4, 0xc7]);
    /// Asserts that its participant's writers are alive.
    pub const LIVELINESS_WRITER: Self = Self([0, 2, 0, 0xc2]);
    /// Hears that writers are alive.
    pub const LIVELINESS_READER: Self = Self([0, 2, 0, 0xc7]);

    /// The id of endpoint `number` of a user, of which 24 bits are used.
    pub(crate) fn of_user(number: u32, is_writer: bool, is_keyed: bool) -> Self {
        let [_, a, b, c] = number.to_be_bytes();
        let kind = match (is_writer, is_keyed) {
            (true, true) => 0x02,
            (true, false) => 0x03,
            (false, false) => 0x04,
            (false, true) => 0x07,
        };
        Self([a, b, c, kind])
    }

    /// Returns true if this is a writer, of a user or built in.
    pub fn is_writer(self) -> bool {
        matches!(self.0[3] & 0x3f, 2 | 3)
    }

    /// Returns true if this is a reader, of a user or built in.
    pub fn is_reader(self) -> bool {
        matches!(self.0[3] & 0x3f, 4 | 7)
    }

    /// Returns true if the samples of this endpoint have keys.
    pub fn is_keyed(self) -> bool {
        matches!(self.0[3] & 0x3f, 2 | 7)
    }

    /// Returns true if this is an endpoint of the protocol itself.
    pub fn is_builtin(self) -> bool {
        self.0[3] & 0xc0 == 0xc0
    }

    pub(crate) fn decode(from: &mut Decoder<'_>, what: &'static str) -> Result<Self, DecodeError> {
        from.array(what).map(Self)
    }
}

impl fmt::Display for EntityId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// The name of a participant or an endpoint: 16 octets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Guid {
    /// Its participant.
    pub prefix: GuidPrefix,
    /// Itself within its participant.
    pub entity: EntityId,
}

impl Guid {
    /// The endpoint `entity` of a participant.
    pub fn new(prefix: GuidPrefix, entity: EntityId) -> Self {
        Self { prefix, entity }
    }

    /// Its 16 octets, which are also the key under which discovery tells about it.
    pub fn to_bytes(self) -> [u8; 16] {
        let mut bytes = [0; 16];
        bytes[..12].copy_from_slice(&self.prefix.0);
        bytes[12..].copy_from_slice(&self.entity.0);
        bytes
    }

    pub(crate) fn from_bytes(bytes: [u8; 16]) -> Self {
        let (mut prefix, mut entity) = ([0; 12], [0; 4]);
        prefix.copy_from_slice(&bytes[..12]);
        entity.copy_from_slice(&bytes[12..]);
        Self::new(GuidPrefix(prefix), EntityId(entity))
    }
}

impl fmt::Display for Guid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.prefix, self.entity)
    }
}

/// The maker of an implementation, as the OMG lists them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct VendorId(pub [u8; 2]);

impl VendorId {
    /// No vendor that is known. We send this, because the OMG has given us no id.
    pub const UNKNOWN: Self = Self([0, 0]);
    /// Eclipse Cyclone DDS.
    pub const CYCLONE: Self = Self([1, 0x10]);
    /// eProsima Fast DDS.
    pub const FAST_DDS: Self = Self([1, 0x0f]);
}
