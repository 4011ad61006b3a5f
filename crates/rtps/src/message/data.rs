//! Submessages that carry samples, and parts of them.

use crate::codec::{ByteOrder, DecodeError, DecodeErrorKind, Decoder, Encoder};
use crate::guid::EntityId;
use crate::sequence_number::SequenceNumber;

use super::parameter_list::{ParameterId, ParameterList, ParameterWriter};

/// The kind of the payload of a sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PayloadKind {
    /// There is none.
    Nothing,
    /// A whole value.
    Value,
    /// The key of an instance alone, with a change of its state.
    Key,
}

/// The inline qualities of service that matter here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct InlineQos {
    /// The instance.
    pub key_hash: Option<[u8; 16]>,
    /// The instance is disposed of.
    pub is_disposed: bool,
    /// The writer writes the instance no more.
    pub is_unregistered: bool,
}

impl InlineQos {
    fn decode(list: &ParameterList<'_>) -> Result<Self, DecodeError> {
        let mut qos = Self::default();
        if let Some(mut value) = list.find(ParameterId::KEY_HASH) {
            qos.key_hash = Some(value.array("key hash")?);
        }
        if let Some(mut value) = list.find(ParameterId::STATUS_INFO) {
            // Always big-endian: the flags are in the last octet.
            let [.., flags] = value.array::<4>("status info")?;
            qos.is_disposed = flags & 1 != 0;
            qos.is_unregistered = flags & 2 != 0;
        }
        Ok(qos)
    }

    fn is_empty(self) -> bool {
        self == Self::default()
    }

    fn encode(self, bytes: &mut Vec<u8>, order: ByteOrder) {
        let mut list = ParameterWriter::new(bytes, order);
        if let Some(hash) = self.key_hash {
            list.parameter(ParameterId::KEY_HASH, |into| into.bytes(&hash));
        }
        let flags = u8::from(self.is_disposed) | u8::from(self.is_unregistered) << 1;
        if flags != 0 {
            list.parameter(ParameterId::STATUS_INFO, |into| {
                into.bytes(&[0, 0, 0, flags])
            });
        }
        list.end();
    }
}

/// A sample.
///
/// ```text
/// 0             2                4        8        12                16
/// | extra flags | to inline qos  | reader | writer | sequence number | inline qos | payload
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Data<'a> {
    /// The reader it is for; unknown if it is for all of them.
    pub reader: EntityId,
    /// Its writer.
    pub writer: EntityId,
    /// Its number.
    pub number: SequenceNumber,
    /// Its instance, and the end of it.
    pub inline_qos: InlineQos,
    /// The kind of the payload.
    pub kind: PayloadKind,
    /// The payload, with the header that says how it is encoded.
    pub payload: &'a [u8],
}

/// Consecutive parts of a sample that is too long for one datagram.
///
/// ```text
/// 0 ... 20 as DATA   24                 28             30                  32
/// |                  | first: u32       | count: u16   | fragment len: u16 | sample len: u32 | inline qos | payload
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DataFrag<'a> {
    /// The reader it is for; unknown if it is for all of them.
    pub reader: EntityId,
    /// Its writer.
    pub writer: EntityId,
    /// Its number.
    pub number: SequenceNumber,
    /// The first part that is here, from 1.
    pub first: u32,
    /// How many parts are here.
    pub count: u16,
    /// The length of every part but the last.
    pub fragment_len: u16,
    /// The length of the whole payload.
    pub sample_len: u32,
    /// Its instance, and the end of it.
    pub inline_qos: InlineQos,
    /// True if the whole payload is a key.
    pub is_key: bool,
    /// The parts.
    pub payload: &'a [u8],
}

impl<'a> Data<'a> {
    pub(super) fn decode(flags: u8, from: &mut Decoder<'a>) -> Result<Self, DecodeError> {
        let mut skipped = after_qos_offset(from)?;
        let reader = EntityId::decode(from, "reader of DATA")?;
        let writer = EntityId::decode(from, "writer of DATA")?;
        let number = SequenceNumber::decode(from, "sequence number of DATA", 1)?;
        let inline_qos = inline_qos(flags, &mut skipped)?;
        let kind = match (flags & FLAG_DATA != 0, flags & FLAG_KEY != 0) {
            (false, false) => PayloadKind::Nothing,
            (true, false) => PayloadKind::Value,
            (false, true) => PayloadKind::Key,
            (true, true) => return Err(from.invalid("flags of DATA", flags)),
        };
        refuse_other_payload(flags & FLAG_OTHER_PAYLOAD, from)?;
        let payload = match kind {
            PayloadKind::Nothing => &[],
            _ => skipped.rest(),
        };
        Ok(Self {
            reader,
            writer,
            number,
            inline_qos,
            kind,
            payload,
        })
    }

    pub(super) fn encode(&self, bytes: &mut Vec<u8>, order: ByteOrder) -> u8 {
        let mut into = Encoder::new(bytes, order);
        into.u16(0);
        into.u16(16);
        into.bytes(&self.reader.0);
        into.bytes(&self.writer.0);
        self.number.encode(&mut into);
        let mut flags = match self.kind {
            PayloadKind::Nothing => 0,
            PayloadKind::Value => FLAG_DATA,
            PayloadKind::Key => FLAG_KEY,
        };
        if !self.inline_qos.is_empty() {
            flags |= FLAG_INLINE_QOS;
            self.inline_qos.encode(bytes, order);
        }
        bytes.extend_from_slice(self.payload);
        flags
    }
}

impl<'a> DataFrag<'a> {
    pub(super) fn decode(flags: u8, from: &mut Decoder<'a>) -> Result<Self, DecodeError> {
        let mut skipped = after_qos_offset(from)?;
        let reader = EntityId::decode(from, "reader of DATA_FRAG")?;
        let writer = EntityId::decode(from, "writer of DATA_FRAG")?;
        let number = SequenceNumber::decode(from, "sequence number of DATA_FRAG", 1)?;
        let first = from.u32("first fragment of DATA_FRAG")?;
        let count = from.u16("count of DATA_FRAG")?;
        let fragment_len = from.u16("fragment length of DATA_FRAG")?;
        let sample_len = from.u32("sample length of DATA_FRAG")?;
        let inline_qos = inline_qos(flags, &mut skipped)?;
        refuse_other_payload(flags & FLAG_FRAG_OTHER_PAYLOAD, from)?;
        let frag = Self {
            reader,
            writer,
            number,
            first,
            count,
            fragment_len,
            sample_len,
            inline_qos,
            is_key: flags & FLAG_FRAG_KEY != 0,
            payload: skipped.rest(),
        };
        frag.checked(from)
    }

    /// Makes sure that the parts lie within the sample, and takes off what is behind them.
    fn checked(mut self, from: &Decoder<'_>) -> Result<Self, DecodeError> {
        if self.fragment_len == 0 || self.count == 0 || self.first == 0 {
            return Err(from.invalid("fragments of DATA_FRAG", 0));
        }
        // All are below 2^32, so their products and sums fit 64 bits.
        let fragment_len = u64::from(self.fragment_len);
        let sample_len = u64::from(self.sample_len);
        let begin = u64::from(self.first - 1) * fragment_len;
        let end = begin + u64::from(self.count) * fragment_len;
        if begin >= sample_len || end >= sample_len + fragment_len {
            return Err(from.invalid("fragments of DATA_FRAG", self.first));
        }
        let needed = (end.min(sample_len) - begin) as usize;
        let remaining = self.payload.len();
        self.payload = self.payload.get(..needed).ok_or_else(|| {
            from.error(
                "payload of DATA_FRAG",
                DecodeErrorKind::EndOfData { needed, remaining },
            )
        })?;
        Ok(self)
    }

    pub(super) fn encode(&self, bytes: &mut Vec<u8>, order: ByteOrder) -> u8 {
        let mut into = Encoder::new(bytes, order);
        into.u16(0);
        into.u16(28);
        into.bytes(&self.reader.0);
        into.bytes(&self.writer.0);
        self.number.encode(&mut into);
        into.u32(self.first);
        into.u16(self.count);
        into.u16(self.fragment_len);
        into.u32(self.sample_len);
        let mut flags = 0;
        if self.is_key {
            flags |= FLAG_FRAG_KEY;
        }
        if !self.inline_qos.is_empty() {
            flags |= FLAG_INLINE_QOS;
            self.inline_qos.encode(bytes, order);
        }
        bytes.extend_from_slice(self.payload);
        flags
    }
}

/// Takes the extra flags and the offset; returns a decoder at the inline qualities of service, or at the payload.
fn after_qos_offset<'a>(from: &mut Decoder<'a>) -> Result<Decoder<'a>, DecodeError> {
    from.u16("extra flags")?;
    let offset = from.u16("offset of inline qos")?;
    let mut skipped = from.clone();
    skipped.take("fields in front of inline qos", usize::from(offset))?;
    Ok(skipped)
}

fn inline_qos(flags: u8, from: &mut Decoder<'_>) -> Result<InlineQos, DecodeError> {
    if flags & FLAG_INLINE_QOS == 0 {
        return Ok(InlineQos::default());
    }
    InlineQos::decode(&ParameterList::take(from)?)
}

fn refuse_other_payload(flag: u8, from: &Decoder<'_>) -> Result<(), DecodeError> {
    if flag == 0 {
        return Ok(());
    }
    let kind =
        DecodeErrorKind::NotSupported("a payload that is protected or otherwise not standard");
    Err(from.error("flags", kind))
}

const FLAG_INLINE_QOS: u8 = 0x02;
const FLAG_DATA: u8 = 0x04;
const FLAG_KEY: u8 = 0x08;
const FLAG_OTHER_PAYLOAD: u8 = 0x10;
const FLAG_FRAG_KEY: u8 = 0x04;
const FLAG_FRAG_OTHER_PAYLOAD: u8 = 0x08;
