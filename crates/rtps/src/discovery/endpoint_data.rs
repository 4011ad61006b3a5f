//! The announcement of a writer or a reader.

use core::net::SocketAddr;

use crate::codec::{ByteOrder, DecodeError};
use crate::guid::VendorId;
use crate::guid::{EntityId, Guid};
use crate::locator::Locator;
use crate::message::{ParameterId, ParameterWriter, ProtocolVersion};
use crate::qos::{self, Qos};

use super::participant_data::{add, guid};
use super::{PARAMETERS_LE, missing, parameters};

/// The longest name of a topic, a type or a participant, in bytes. Names of types grow with their namespaces; other
/// implementations take 256.
pub const NAME_LEN_MAX: usize = 1024;

/// A writer or a reader, as its participant announces it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EndpointData {
    /// Its name in octets.
    pub guid: Guid,
    /// The topic.
    pub topic: String,
    /// The type of the samples.
    pub type_name: String,
    /// The qualities of service that it offers or requests.
    pub qos: Qos,
    /// Where it is reached, if not where its participant is.
    pub unicast: Vec<SocketAddr>,
    /// Where it is reached together with others.
    pub multicast: Vec<SocketAddr>,
    /// A reader that wants its qualities of service inline with each sample. We do not send them.
    pub expects_inline_qos: bool,
}

impl EndpointData {
    /// Reads the payload of an announcement.
    ///
    /// # Errors
    /// If it is no announcement of an endpoint.
    pub fn decode(payload: &[u8]) -> Result<Self, DecodeError> {
        let list = parameters(payload, "announcement of an endpoint")?;
        let guid = guid(&list, ParameterId::ENDPOINT_GUID, "guid of an endpoint")?;
        let name = |id, what| {
            let mut value = list.find(id).ok_or_else(|| missing(what))?;
            Ok(value.string(what, NAME_LEN_MAX)?.to_owned())
        };
        let defaults = match guid.entity.is_writer() {
            true => Qos::of_writer(),
            false => Qos::of_reader(),
        };
        let mut data = Self {
            guid,
            topic: name(ParameterId::TOPIC_NAME, "name of a topic")?,
            type_name: name(ParameterId::TYPE_NAME, "name of a type")?,
            qos: qos::decode(&list, defaults)?,
            unicast: Vec::new(),
            multicast: Vec::new(),
            expects_inline_qos: false,
        };
        for parameter in list.iter() {
            let mut value = parameter.value;
            match parameter.id {
                ParameterId::UNICAST_LOCATOR => add(&mut data.unicast, &mut value)?,
                ParameterId::MULTICAST_LOCATOR => add(&mut data.multicast, &mut value)?,
                ParameterId::EXPECTS_INLINE_QOS => {
                    data.expects_inline_qos = value.u8("expects inline qos")? != 0;
                }
                _ => {}
            }
        }
        Ok(data)
    }

    /// Reads the name in a payload that is a key only, as that of an endpoint that is deleted.
    ///
    /// # Errors
    /// If there is none.
    pub fn decode_key(payload: &[u8]) -> Result<Guid, DecodeError> {
        let list = parameters(payload, "key of an endpoint")?;
        guid(&list, ParameterId::ENDPOINT_GUID, "guid of an endpoint")
    }

    /// The payload of an announcement.
    pub fn encode(&self) -> Vec<u8> {
        let mut payload = PARAMETERS_LE.to_vec();
        let mut list = ParameterWriter::new(&mut payload, ByteOrder::Little);
        encode_guid(&mut list, self.guid);
        list.parameter(ParameterId::PROTOCOL_VERSION, |into| {
            into.bytes(&[ProtocolVersion::OURS.major, ProtocolVersion::OURS.minor]);
        });
        list.parameter(ParameterId::VENDOR_ID, |into| {
            into.bytes(&VendorId::UNKNOWN.0)
        });
        list.string(ParameterId::TOPIC_NAME, &self.topic);
        list.string(ParameterId::TYPE_NAME, &self.type_name);
        qos::encode(&self.qos, self.guid.entity.is_writer(), &mut list);
        let locators = [
            (ParameterId::UNICAST_LOCATOR, &self.unicast),
            (ParameterId::MULTICAST_LOCATOR, &self.multicast),
        ];
        for (id, addresses) in locators {
            for address in addresses {
                list.parameter(id, |into| Locator::from(*address).encode(into));
            }
        }
        list.end();
        payload
    }

    /// The payload that says which endpoint is deleted.
    pub fn encode_key(guid: Guid) -> Vec<u8> {
        let mut payload = PARAMETERS_LE.to_vec();
        let mut list = ParameterWriter::new(&mut payload, ByteOrder::Little);
        encode_guid(&mut list, guid);
        list.end();
        payload
    }
}

fn encode_guid(list: &mut ParameterWriter<'_>, guid: Guid) {
    list.parameter(ParameterId::ENDPOINT_GUID, |into| {
        into.bytes(&guid.to_bytes());
    });
    let participant = Guid::new(guid.prefix, EntityId::PARTICIPANT);
    list.parameter(ParameterId::PARTICIPANT_GUID, |into| {
        into.bytes(&participant.to_bytes());
    });
}
