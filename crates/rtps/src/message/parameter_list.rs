//! Parameter lists: inline qualities of service, and the payload of discovery.
//!
//! ```text
//! 0          2             4
//! | id: u16  | length: u16 | value, padded to 4 bytes | ... | 0x0001 (sentinel) | ignored: u16 |
//! ```
//!
//! Source: DDSI-RTPS 2.5, 9.4.2.11 and 9.6.4.

use crate::codec::{ByteOrder, DecodeError, DecodeErrorKind, Decoder, Encoder};

/// The most bytes that we write as one parameter. Names of topics, types and partitions keep below.
pub const PARAMETER_LEN_MAX: usize = 8 * 1024;

/// The id of a parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ParameterId(pub u16);

/// The parameters that this crate knows. Source: DDSI-RTPS 2.5, table 9.14 to 9.18; DDS-XTypes 1.3, 7.6.3.2.2.
impl ParameterId {
    /// Nothing, to be skipped.
    pub const PAD: Self = Self(0x0000);
    /// The end of the list.
    pub const SENTINEL: Self = Self(0x0001);
    /// How long a participant lives after it was heard last.
    pub const PARTICIPANT_LEASE_DURATION: Self = Self(0x0002);
    /// The name of a topic.
    pub const TOPIC_NAME: Self = Self(0x0005);
    /// How strong an exclusive owner is.
    pub const OWNERSHIP_STRENGTH: Self = Self(0x0006);
    /// The name of a type.
    pub const TYPE_NAME: Self = Self(0x0007);
    /// The domain of a participant.
    pub const DOMAIN_ID: Self = Self(0x000f);
    /// The version of the protocol.
    pub const PROTOCOL_VERSION: Self = Self(0x0015);
    /// The implementation.
    pub const VENDOR_ID: Self = Self(0x0016);
    /// Reliable samples do not get lost.
    pub const RELIABILITY: Self = Self(0x001a);
    /// How writers show that they live.
    pub const LIVELINESS: Self = Self(0x001b);
    /// The history for late readers.
    pub const DURABILITY: Self = Self(0x001d);
    /// The writers that may write an instance.
    pub const OWNERSHIP: Self = Self(0x001f);
    /// Groups of changes.
    pub const PRESENTATION: Self = Self(0x0021);
    /// How often a sample comes at least.
    pub const DEADLINE: Self = Self(0x0023);
    /// By which time samples are ordered.
    pub const DESTINATION_ORDER: Self = Self(0x0025);
    /// How late samples may be.
    pub const LATENCY_BUDGET: Self = Self(0x0027);
    /// Names that keep endpoints of one topic apart.
    pub const PARTITION: Self = Self(0x0029);
    /// Octets of the user about an endpoint or a participant.
    pub const USER_DATA: Self = Self(0x002c);
    /// Where one endpoint is reached.
    pub const UNICAST_LOCATOR: Self = Self(0x002f);
    /// Where one endpoint is reached together with others.
    pub const MULTICAST_LOCATOR: Self = Self(0x0030);
    /// Where the samples of a participant go.
    pub const DEFAULT_UNICAST_LOCATOR: Self = Self(0x0031);
    /// Where the discovery of a participant goes.
    pub const METATRAFFIC_UNICAST_LOCATOR: Self = Self(0x0032);
    /// Where the discovery of a participant goes, with that of others.
    pub const METATRAFFIC_MULTICAST_LOCATOR: Self = Self(0x0033);
    /// How many samples of an instance are kept.
    pub const HISTORY: Self = Self(0x0040);
    /// An endpoint of ours wants inline qualities of service with each sample.
    pub const EXPECTS_INLINE_QOS: Self = Self(0x0043);
    /// Where the samples of a participant go, with those of others.
    pub const DEFAULT_MULTICAST_LOCATOR: Self = Self(0x0048);
    /// The name of a participant in octets.
    pub const PARTICIPANT_GUID: Self = Self(0x0050);
    /// The built-in endpoints that a participant has.
    pub const BUILTIN_ENDPOINT_SET: Self = Self(0x0058);
    /// The name of an endpoint in octets.
    pub const ENDPOINT_GUID: Self = Self(0x005a);
    /// The name of an entity for people.
    pub const ENTITY_NAME: Self = Self(0x0062);
    /// The instance of a sample.
    pub const KEY_HASH: Self = Self(0x0070);
    /// The end of an instance: disposed of, or unregistered.
    pub const STATUS_INFO: Self = Self(0x0071);
    /// The encodings of samples that an endpoint speaks.
    pub const DATA_REPRESENTATION: Self = Self(0x0073);
    /// A name that keeps participants of one domain apart.
    pub const DOMAIN_TAG: Self = Self(0x4014);

    /// Returns true if a peer that does not know this parameter must not use the rest. Vendors' own are never so.
    fn must_be_understood(self) -> bool {
        self.0 & 0xc000 == 0x4000
    }

    fn is_known(self) -> bool {
        self == Self::DOMAIN_TAG
    }
}

/// One parameter.
#[derive(Debug, Clone)]
pub struct Parameter<'a> {
    /// Its id.
    pub id: ParameterId,
    /// Its value, aligned from its first byte.
    pub value: Decoder<'a>,
}

/// A list whose end was found.
#[derive(Debug, Clone)]
pub struct ParameterList<'a> {
    /// Without the sentinel.
    parameters: Decoder<'a>,
}

impl<'a> ParameterList<'a> {
    /// Takes a list, with its sentinel, off `from`.
    ///
    /// # Errors
    /// If it is not whole, or has a parameter that must be understood and is not.
    pub fn take(from: &mut Decoder<'a>) -> Result<Self, DecodeError> {
        let bytes = from.rest();
        let start = from.offset();
        loop {
            let end = from.offset() - start;
            let id = ParameterId(from.u16("parameter id")?);
            let len = from.u16("length of a parameter")?;
            if id == ParameterId::SENTINEL {
                return Ok(Self {
                    parameters: Decoder::new(&bytes[..end], from.order()),
                });
            }
            if id.must_be_understood() && !id.is_known() {
                let kind = DecodeErrorKind::NotSupported("a parameter that must be understood");
                return Err(from.error("parameter id", kind));
            }
            if len % 4 != 0 {
                return Err(from.invalid("length of a parameter", len));
            }
            from.take("parameter", usize::from(len))?;
        }
    }

    /// The parameters in their order, without padding.
    pub fn iter(&self) -> impl Iterator<Item = Parameter<'a>> {
        let mut rest = self.parameters.clone();
        std::iter::from_fn(move || {
            let id = rest.u16("parameter id").ok()?;
            let len = rest.u16("length of a parameter").ok()?;
            let value = rest.take("parameter", usize::from(len)).ok()?;
            let value = Decoder::new(value, rest.order());
            let id = ParameterId(id);
            Some(Parameter { id, value })
        })
        .filter(|parameter| parameter.id != ParameterId::PAD)
    }

    /// The first parameter of this id.
    pub fn find(&self, id: ParameterId) -> Option<Decoder<'a>> {
        self.iter()
            .find(|parameter| parameter.id == id)
            .map(|parameter| parameter.value)
    }
}

/// Writes a list.
#[derive(Debug)]
pub struct ParameterWriter<'a> {
    bytes: &'a mut Vec<u8>,
    order: ByteOrder,
}

impl<'a> ParameterWriter<'a> {
    /// Begins a list at the end of `bytes`.
    pub fn new(bytes: &'a mut Vec<u8>, order: ByteOrder) -> Self {
        Self { bytes, order }
    }

    /// Appends a parameter, whose value `write` writes.
    ///
    /// # Panics
    /// If the value is longer than 64 KiB; ours are at most [`PARAMETER_LEN_MAX`].
    pub fn parameter(&mut self, id: ParameterId, write: impl FnOnce(&mut Encoder<'_>)) {
        let mut head = Encoder::new(self.bytes, self.order);
        head.u16(id.0);
        head.u16(0);
        let mut value = Encoder::new(self.bytes, self.order);
        write(&mut value);
        value.align(4);
        let len = value.len();
        let start = self.bytes.len() - len - 2;
        let len = u16::try_from(len).expect("our parameters are short");
        let len = match self.order {
            ByteOrder::Big => len.to_be_bytes(),
            ByteOrder::Little => len.to_le_bytes(),
        };
        self.bytes[start..start + 2].copy_from_slice(&len);
    }

    /// Appends a string.
    pub fn string(&mut self, id: ParameterId, text: &str) {
        self.parameter(id, |into| into.string(text));
    }

    /// Appends the end of the list.
    pub fn end(self) {
        self.end_with_len(0);
    }

    fn end_with_len(self, len: u16) {
        let mut encoder = Encoder::new(self.bytes, self.order);
        encoder.u16(ParameterId::SENTINEL.0);
        encoder.u16(len);
    }
}
