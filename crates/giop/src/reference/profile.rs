//! Profiles: the ways to reach an object.

use bytes::Bytes;

use super::component::{Component, tag};
use super::corbaloc::Address;
use crate::cdr::{
    CodeSetInfo, DecodeError, DecodeErrorKind, Decoder, EncodeError, Encoder, Version,
};

/// The most components of a profile. ORBs send 1 to 5.
pub const COMPONENTS_MAX: usize = 128;

/// A way to reach an object.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Profile {
    /// Over IIOP.
    Iiop(IiopProfile),
    /// Components for all ways, with the tag [`tag::MULTIPLE_COMPONENTS`].
    Components(Vec<Component>),
    /// Of another protocol, as it came.
    Other {
        /// Its kind.
        tag: u32,
        /// Its data.
        data: Bytes,
    },
}

/// A way to reach an object over IIOP.
///
/// ```text
/// | byte order | major | minor | host | port | object key | components (from 1.1) |
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct IiopProfile {
    /// The highest version of GIOP that the server speaks. A higher one than 1.2 is read as 1.2.
    pub version: Version,
    /// The host: a name or an address.
    pub host: String,
    /// The port.
    pub port: u16,
    /// The key of the object, which means something to its server alone.
    pub key: Bytes,
    /// Further facts about the server; none in 1.0.
    pub components: Vec<Component>,
}

impl IiopProfile {
    /// A profile of version 1.2 with the code sets of this crate.
    ///
    /// # Errors
    /// None that can occur: the component has a fixed length.
    pub fn new(host: &str, port: u16, key: Bytes) -> Result<Self, EncodeError> {
        Ok(Self {
            version: Version::V1_2,
            host: host.to_owned(),
            port,
            key,
            components: vec![Component::code_sets(&CodeSetInfo::ours())?],
        })
    }

    /// The addresses of the server, in their order: that of the profile, and the alternate ones. Malformed components are
    /// passed over.
    pub fn addresses(&self) -> impl Iterator<Item = Address> {
        let first = Address {
            version: self.version,
            host: self.host.clone(),
            port: self.port,
        };
        let others = self.with_tag(tag::ALTERNATE_IIOP_ADDRESS);
        let others = others.filter_map(|component| component.to_alternate_address().ok());
        let version = self.version;
        std::iter::once(first).chain(others.map(move |other| Address { version, ..other }))
    }

    /// The code sets of the server, if it lists them.
    ///
    /// # Errors
    /// [`DecodeError`] if the component is malformed.
    pub fn code_sets(&self) -> Result<Option<CodeSetInfo>, DecodeError> {
        let component = self.with_tag(tag::CODE_SETS).next();
        component.map(Component::to_code_sets).transpose()
    }

    fn with_tag(&self, tag: u32) -> impl Iterator<Item = &Component> {
        self.components
            .iter()
            .filter(move |component| component.tag == tag)
    }

    fn decode(data: &[u8]) -> Result<Self, DecodeError> {
        let mut decoder = Decoder::encapsulation_of(data)?;
        let here = decoder.clone();
        let major = decoder.octet("version of an IIOP profile")?;
        let minor = decoder.octet("version of an IIOP profile")?;
        let version = Version::new(major, minor.min(2)).ok_or_else(|| {
            let kind = DecodeErrorKind::InvalidValue(major.into());
            here.error("version of an IIOP profile", kind)
        })?;
        let host = decoder.name("host of a profile")?;
        let port = decoder.ushort("port of a profile")?;
        let key = Bytes::copy_from_slice(decoder.octet_sequence("object key of a profile")?);
        let components = match version {
            Version::V1_0 => Vec::new(),
            _ => Component::decode_list(&mut decoder, COMPONENTS_MAX)?,
        };
        Ok(Self {
            version,
            host,
            port,
            key,
            components,
        })
    }

    fn encode(&self) -> Result<Vec<u8>, EncodeError> {
        Encoder::encapsulation_bytes(|encoder| {
            encoder.octet(1);
            encoder.octet(self.version.minor());
            encoder.name(&self.host)?;
            encoder.ushort(self.port);
            encoder.octet_sequence(&self.key)?;
            match self.version {
                Version::V1_0 => Ok(()),
                _ => Component::encode_list(&self.components, encoder),
            }
        })
    }
}

impl Profile {
    /// Reads a profile: a tag and its data.
    ///
    /// # Errors
    /// [`DecodeError`]. Its offset counts from the start of the data if that is malformed.
    pub fn decode(decoder: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        let kind = decoder.ulong("tag of a profile")?;
        let data = decoder.octet_sequence("data of a profile")?;
        match kind {
            tag::INTERNET_IOP => IiopProfile::decode(data).map(Self::Iiop),
            tag::MULTIPLE_COMPONENTS => {
                let mut inner = Decoder::encapsulation_of(data)?;
                Component::decode_list(&mut inner, COMPONENTS_MAX).map(Self::Components)
            }
            _ => Ok(Self::Other {
                tag: kind,
                data: Bytes::copy_from_slice(data),
            }),
        }
    }

    /// Appends the profile.
    ///
    /// # Errors
    /// [`EncodeError::InnerNul`] in a host, [`EncodeError::TooLong`].
    pub fn encode(&self, encoder: &mut Encoder) -> Result<(), EncodeError> {
        match self {
            Self::Iiop(profile) => {
                encoder.ulong(tag::INTERNET_IOP);
                encoder.octet_sequence(&profile.encode()?)
            }
            Self::Components(components) => {
                encoder.ulong(tag::MULTIPLE_COMPONENTS);
                let write = |encoder: &mut Encoder| Component::encode_list(components, encoder);
                encoder.octet_sequence(&Encoder::encapsulation_bytes(write)?)
            }
            Self::Other { tag, data } => {
                encoder.ulong(*tag);
                encoder.octet_sequence(data)
            }
        }
    }
}
