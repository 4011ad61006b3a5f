//! The announcement of a participant.

use core::net::SocketAddr;
use std::time::Duration;

use crate::codec::{ByteOrder, DecodeError, Decoder};
use crate::guid::{EntityId, Guid, GuidPrefix, VendorId};
use crate::locator::Locator;
use crate::message::{ParameterId, ParameterList, ParameterWriter, ProtocolVersion};
use crate::timestamp::{decode_span, encode_span};

use super::{PARAMETERS_LE, endpoint_data::NAME_LEN_MAX, missing, parameters};

/// The most locators of one kind that are kept of a participant; a host rarely has more networks.
pub const LOCATORS_MAX: usize = 8;

/// The built-in endpoints that a participant has, as bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct BuiltinEndpoints(pub u32);

impl BuiltinEndpoints {
    /// Announces itself.
    pub const PARTICIPANT_WRITER: Self = Self(1);
    /// Hears of others.
    pub const PARTICIPANT_READER: Self = Self(1 << 1);
    /// Announces its writers.
    pub const PUBLICATIONS_WRITER: Self = Self(1 << 2);
    /// Hears of writers.
    pub const PUBLICATIONS_READER: Self = Self(1 << 3);
    /// Announces its readers.
    pub const SUBSCRIPTIONS_WRITER: Self = Self(1 << 4);
    /// Hears of readers.
    pub const SUBSCRIPTIONS_READER: Self = Self(1 << 5);
    /// Says that its writers live.
    pub const LIVELINESS_WRITER: Self = Self(1 << 10);
    /// Hears that writers live.
    pub const LIVELINESS_READER: Self = Self(1 << 11);
    /// All that this crate has.
    pub const OURS: Self = Self(0x3f | 1 << 10 | 1 << 11);

    /// Returns true if all of `other` are among these.
    pub fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }
}

/// A participant, as it announces itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParticipantData {
    /// Its name in octets.
    pub prefix: GuidPrefix,
    /// The version of the protocol that it speaks.
    pub version: ProtocolVersion,
    /// Its implementation.
    pub vendor: VendorId,
    /// Its domain, if it says so.
    pub domain: Option<u32>,
    /// A name that keeps participants of one domain apart; mostly empty.
    pub domain_tag: String,
    /// Its name for people; mostly empty.
    pub name: String,
    /// How long it lives after it was heard last; `None` for ever.
    pub lease: Option<Duration>,
    /// The built-in endpoints that it has.
    pub builtin: BuiltinEndpoints,
    /// Where discovery reaches it.
    pub metatraffic_unicast: Vec<SocketAddr>,
    /// Where discovery reaches it and others.
    pub metatraffic_multicast: Vec<SocketAddr>,
    /// Where samples reach it.
    pub default_unicast: Vec<SocketAddr>,
    /// Where samples reach it and others.
    pub default_multicast: Vec<SocketAddr>,
}

impl ParticipantData {
    /// Reads the payload of an announcement.
    ///
    /// # Errors
    /// If it is no announcement of a participant.
    pub fn decode(payload: &[u8]) -> Result<Self, DecodeError> {
        let list = parameters(payload, "announcement of a participant")?;
        let prefix = guid(
            &list,
            ParameterId::PARTICIPANT_GUID,
            "guid of a participant",
        )?
        .prefix;
        let mut data = Self {
            prefix,
            version: ProtocolVersion::OURS,
            vendor: VendorId::UNKNOWN,
            domain: None,
            domain_tag: String::new(),
            name: String::new(),
            lease: Some(DEFAULT_LEASE),
            builtin: BuiltinEndpoints(0),
            metatraffic_unicast: Vec::new(),
            metatraffic_multicast: Vec::new(),
            default_unicast: Vec::new(),
            default_multicast: Vec::new(),
        };
        for parameter in list.iter() {
            data.take(parameter.id, parameter.value)?;
        }
        Ok(data)
    }

    fn take(&mut self, id: ParameterId, mut value: Decoder<'_>) -> Result<(), DecodeError> {
        let from = &mut value;
        match id {
            ParameterId::PROTOCOL_VERSION => {
                let [major, minor] = from.array("protocol version")?;
                self.version = ProtocolVersion { major, minor };
            }
            ParameterId::VENDOR_ID => self.vendor = VendorId(from.array("vendor id")?),
            ParameterId::DOMAIN_ID => self.domain = Some(from.u32("domain")?),
            ParameterId::DOMAIN_TAG => {
                self.domain_tag = from.string("domain tag", NAME_LEN_MAX)?.to_owned();
            }
            ParameterId::ENTITY_NAME => {
                // A name is for people: one that is too long or strange is no reason to refuse its participant.
                let name = from.string("name of a participant", NAME_LEN_MAX);
                self.name = name.unwrap_or_default().to_owned();
            }
            ParameterId::PARTICIPANT_LEASE_DURATION => {
                self.lease = decode_span(from, "lease of a participant")?;
            }
            ParameterId::BUILTIN_ENDPOINT_SET => {
                self.builtin = BuiltinEndpoints(from.u32("built-in endpoints")?);
            }
            ParameterId::METATRAFFIC_UNICAST_LOCATOR => add(&mut self.metatraffic_unicast, from)?,
            ParameterId::METATRAFFIC_MULTICAST_LOCATOR => {
                add(&mut self.metatraffic_multicast, from)?;
            }
            ParameterId::DEFAULT_UNICAST_LOCATOR => add(&mut self.default_unicast, from)?,
            ParameterId::DEFAULT_MULTICAST_LOCATOR => add(&mut self.default_multicast, from)?,
            _ => {}
        }
        Ok(())
    }

    /// Reads the name in a payload that is a key only, as that of a participant that ends.
    ///
    /// # Errors
    /// If there is none.
    pub fn decode_key(payload: &[u8]) -> Result<GuidPrefix, DecodeError> {
        let list = parameters(payload, "key of a participant")?;
        let guid = guid(
            &list,
            ParameterId::PARTICIPANT_GUID,
            "guid of a participant",
        )?;
        Ok(guid.prefix)
    }

    /// The payload that says which participant ends.
    pub fn encode_key(prefix: GuidPrefix) -> Vec<u8> {
        let mut payload = PARAMETERS_LE.to_vec();
        let mut list = ParameterWriter::new(&mut payload, ByteOrder::Little);
        let guid = Guid::new(prefix, EntityId::PARTICIPANT);
        list.parameter(ParameterId::PARTICIPANT_GUID, |into| {
            into.bytes(&guid.to_bytes());
        });
        list.end();
        payload
    }

    /// The payload of an announcement.
    pub fn encode(&self) -> Vec<u8> {
        let mut payload = PARAMETERS_LE.to_vec();
        let mut list = ParameterWriter::new(&mut payload, ByteOrder::Little);
        list.parameter(ParameterId::PROTOCOL_VERSION, |into| {
            into.bytes(&[self.version.major, self.version.minor]);
        });
        list.parameter(ParameterId::VENDOR_ID, |into| into.bytes(&self.vendor.0));
        let guid = Guid::new(self.prefix, EntityId::PARTICIPANT);
        list.parameter(ParameterId::PARTICIPANT_GUID, |into| {
            into.bytes(&guid.to_bytes());
        });
        if let Some(domain) = self.domain {
            list.parameter(ParameterId::DOMAIN_ID, |into| into.u32(domain));
        }
        if !self.domain_tag.is_empty() {
            list.string(ParameterId::DOMAIN_TAG, &self.domain_tag);
        }
        if !self.name.is_empty() {
            list.string(ParameterId::ENTITY_NAME, &self.name);
        }
        list.parameter(ParameterId::PARTICIPANT_LEASE_DURATION, |into| {
            encode_span(self.lease, into);
        });
        list.parameter(ParameterId::BUILTIN_ENDPOINT_SET, |into| {
            into.u32(self.builtin.0);
        });
        let locators = [
            (
                ParameterId::METATRAFFIC_UNICAST_LOCATOR,
                &self.metatraffic_unicast,
            ),
            (
                ParameterId::METATRAFFIC_MULTICAST_LOCATOR,
                &self.metatraffic_multicast,
            ),
            (ParameterId::DEFAULT_UNICAST_LOCATOR, &self.default_unicast),
            (
                ParameterId::DEFAULT_MULTICAST_LOCATOR,
                &self.default_multicast,
            ),
        ];
        for (id, addresses) in locators {
            for address in addresses {
                list.parameter(id, |into| Locator::from(*address).encode(into));
            }
        }
        list.end();
        payload
    }
}

/// Takes a locator, and keeps it if it can be used and is among the first [`LOCATORS_MAX`].
pub(super) fn add(
    addresses: &mut Vec<SocketAddr>,
    from: &mut Decoder<'_>,
) -> Result<(), DecodeError> {
    let locator = Locator::decode(from)?;
    if let Some(address) = locator.address()
        && addresses.len() < LOCATORS_MAX
        && !addresses.contains(&address)
    {
        addresses.push(address);
    }
    Ok(())
}

pub(super) fn guid(
    list: &ParameterList<'_>,
    id: ParameterId,
    what: &'static str,
) -> Result<Guid, DecodeError> {
    let mut value = list.find(id).ok_or_else(|| missing(what))?;
    Ok(Guid::from_bytes(value.array(what)?))
}

/// Source: DDSI-RTPS 2.5, table 9.13.
const DEFAULT_LEASE: Duration = Duration::from_secs(100);
