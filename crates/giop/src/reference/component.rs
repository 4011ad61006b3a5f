//! Tagged components: what a profile says beside address and key.

use bytes::Bytes;

use super::corbaloc::Address;
use crate::cdr::{CodeSetInfo, DecodeError, Decoder, EncodeError, Encoder, Version};

/// The tags of profiles and components that are known here. Source: CORBA 3.0.3, 13.6.3 and 13.6.6.
pub mod tag {
    /// A profile of IIOP.
    pub const INTERNET_IOP: u32 = 0;
    /// A profile that consists of components.
    pub const MULTIPLE_COMPONENTS: u32 = 1;
    /// A component: the ORB that made the reference.
    pub const ORB_TYPE: u32 = 0;
    /// A component: the code sets of the server.
    pub const CODE_SETS: u32 = 1;
    /// A component: another address of the server.
    pub const ALTERNATE_IIOP_ADDRESS: u32 = 3;
}

/// A tagged component.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Component {
    /// Its kind.
    pub tag: u32,
    /// An encapsulation, mostly.
    pub data: Bytes,
}

impl Component {
    /// The ORB that made the reference.
    ///
    /// # Errors
    /// None that can occur: it has a fixed length.
    pub fn orb_type(orb_type: u32) -> Result<Self, EncodeError> {
        let data = Encoder::encapsulation_bytes(|encoder| {
            encoder.ulong(orb_type);
            Ok(())
        })?;
        let tag = tag::ORB_TYPE;
        Ok(Self {
            tag,
            data: data.into(),
        })
    }

    /// The code sets of the server.
    ///
    /// # Errors
    /// [`EncodeError::TooLong`].
    pub fn code_sets(info: &CodeSetInfo) -> Result<Self, EncodeError> {
        let (tag, data) = (tag::CODE_SETS, info.encode()?.into());
        Ok(Self { tag, data })
    }

    /// Another address of the server.
    ///
    /// # Errors
    /// [`EncodeError::InnerNul`] in the host.
    pub fn alternate_address(host: &str, port: u16) -> Result<Self, EncodeError> {
        let data = Encoder::encapsulation_bytes(|encoder| {
            encoder.name(host)?;
            encoder.ushort(port);
            Ok(())
        })?;
        let tag = tag::ALTERNATE_IIOP_ADDRESS;
        Ok(Self {
            tag,
            data: data.into(),
        })
    }

    /// Reads the ORB type.
    ///
    /// # Errors
    /// [`DecodeError`].
    pub fn to_orb_type(&self) -> Result<u32, DecodeError> {
        Decoder::encapsulation_of(&self.data)?.ulong("ORB type")
    }

    /// Reads the code sets.
    ///
    /// # Errors
    /// [`DecodeError`].
    pub fn to_code_sets(&self) -> Result<CodeSetInfo, DecodeError> {
        CodeSetInfo::decode(&self.data)
    }

    /// Reads another address.
    ///
    /// # Errors
    /// [`DecodeError`].
    pub fn to_alternate_address(&self) -> Result<Address, DecodeError> {
        let mut decoder = Decoder::encapsulation_of(&self.data)?;
        Ok(Address {
            version: Version::V1_2,
            host: decoder.name("host of an alternate address")?,
            port: decoder.ushort("port of an alternate address")?,
        })
    }

    pub(super) fn decode_list(
        decoder: &mut Decoder<'_>,
        max: usize,
    ) -> Result<Vec<Self>, DecodeError> {
        let count = decoder.count(8, max, "components of a profile")?;
        let components = (0..count).map(|_| {
            let tag = decoder.ulong("tag of a component")?;
            let data = decoder.octet_sequence("data of a component")?;
            let data = Bytes::copy_from_slice(data);
            Ok(Self { tag, data })
        });
        components.collect()
    }

    pub(super) fn encode_list(list: &[Self], encoder: &mut Encoder) -> Result<(), EncodeError> {
        encoder.len_of("list of components", list.len())?;
        list.iter().try_for_each(|component| {
            encoder.ulong(component.tag);
            encoder.octet_sequence(&component.data)
        })
    }
}
