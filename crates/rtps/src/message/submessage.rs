//! Submessages: what each begins with, and all of their kinds.

use crate::codec::{ByteOrder, DecodeError, DecodeErrorKind, Decoder, Encoder};
use crate::guid::{GuidPrefix, VendorId};
use crate::locator::Locator;
use crate::timestamp::Timestamp;

use super::data::{Data, DataFrag};
use super::header::ProtocolVersion;
use super::reliability::{AckNack, Gap, Heartbeat, HeartbeatFrag, NackFrag};

/// The length of what every submessage begins with.
///
/// ```text
/// 0    1       2             4
/// | id | flags | length: u16 | body ...
/// ```
///
/// The lowest flag is the byte order. A length of 0 in the last submessage means: to the end of the message.
pub const SUBMESSAGE_HEADER_LEN: usize = 4;

/// The most locators of an INFO_REPLY, which is more than a host has addresses.
const REPLY_LOCATORS_MAX: u32 = 64;

/// A submessage.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Submessage<'a> {
    /// Nothing.
    Pad,
    /// A reader says what it has.
    AckNack(AckNack),
    /// A writer says what it has.
    Heartbeat(Heartbeat),
    /// A writer says what will not come.
    Gap(Gap),
    /// The time at which the samples that follow were written; `None` if it is not known.
    InfoTimestamp(Option<Timestamp>),
    /// The participant of which what follows comes.
    InfoSource(ProtocolVersion, VendorId, GuidPrefix),
    /// The participant for which what follows is; unknown if it is for all.
    InfoDestination(GuidPrefix),
    /// Where answers should go. We check it and do not follow it, because it would let anybody send our samples anywhere.
    InfoReply {
        /// How many unicast locators there are.
        unicast: u32,
        /// How many multicast locators there are.
        multicast: u32,
    },
    /// A reader says which parts it misses.
    NackFrag(NackFrag),
    /// A writer says which parts it has.
    HeartbeatFrag(HeartbeatFrag),
    /// A sample.
    Data(Data<'a>),
    /// Parts of a sample.
    DataFrag(DataFrag<'a>),
    /// A kind that is not known here, with its id. It is skipped.
    Unknown(u8),
}

impl Submessage<'_> {
    /// Appends the submessage; its length must fit 64 KiB.
    ///
    /// # Panics
    /// If it is longer, or is one of those that we never write: a reply and an unknown one.
    pub fn encode(&self, bytes: &mut Vec<u8>, order: ByteOrder) {
        let start = bytes.len();
        bytes.extend_from_slice(&[0; SUBMESSAGE_HEADER_LEN]);
        let (id, flags) = self.encode_body(bytes, order);
        while !bytes.len().is_multiple_of(4) {
            bytes.push(0);
        }
        let len = u16::try_from(bytes.len() - start - SUBMESSAGE_HEADER_LEN)
            .expect("a submessage of ours fits a datagram");
        bytes[start] = id;
        bytes[start + 1] = flags | u8::from(order == ByteOrder::Little);
        let len = match order {
            ByteOrder::Big => len.to_be_bytes(),
            ByteOrder::Little => len.to_le_bytes(),
        };
        bytes[start + 2..start + 4].copy_from_slice(&len);
    }

    fn encode_body(&self, bytes: &mut Vec<u8>, order: ByteOrder) -> (u8, u8) {
        let mut into = Encoder::new(bytes, order);
        match self {
            Self::Pad => (PAD, 0),
            Self::AckNack(body) => (ACKNACK, body.encode(&mut into)),
            Self::Heartbeat(body) => (HEARTBEAT, body.encode(&mut into)),
            Self::Gap(body) => (GAP, body.encode(&mut into)),
            Self::InfoTimestamp(None) => (INFO_TS, FLAG_INVALIDATE),
            Self::InfoTimestamp(Some(timestamp)) => {
                timestamp.encode(&mut into);
                (INFO_TS, 0)
            }
            Self::InfoSource(version, vendor, prefix) => {
                into.u32(0);
                into.bytes(&[version.major, version.minor]);
                into.bytes(&vendor.0);
                into.bytes(&prefix.0);
                (INFO_SRC, 0)
            }
            Self::InfoDestination(prefix) => {
                into.bytes(&prefix.0);
                (INFO_DST, 0)
            }
            Self::NackFrag(body) => (NACK_FRAG, body.encode(&mut into)),
            Self::HeartbeatFrag(body) => (HEARTBEAT_FRAG, body.encode(&mut into)),
            Self::Data(body) => (DATA, body.encode(bytes, order)),
            Self::DataFrag(body) => (DATA_FRAG, body.encode(bytes, order)),
            Self::InfoReply { .. } | Self::Unknown(_) => {
                panic!("expected a submessage that we write, got {self:?}")
            }
        }
    }
}

/// The submessages of a message, in their order. After an error there are no more.
#[derive(Debug, Clone)]
pub struct Submessages<'a> {
    rest: &'a [u8],
}

impl<'a> Submessages<'a> {
    /// The submessages in what follows a header.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    fn take(&mut self) -> Result<Submessage<'a>, DecodeError> {
        let mut head = Decoder::new(self.rest, ByteOrder::Little);
        let id = head.u8("submessage id")?;
        let flags = head.u8("flags of a submessage")?;
        let order = match flags & 1 {
            0 => ByteOrder::Big,
            _ => ByteOrder::Little,
        };
        let [a, b] = head.array("length of a submessage")?;
        let len = match order {
            ByteOrder::Big => u16::from_be_bytes([a, b]),
            ByteOrder::Little => u16::from_le_bytes([a, b]),
        };
        let is_to_the_end = len == 0 && id != PAD && id != INFO_TS;
        let len = match is_to_the_end {
            true => head.remaining(),
            false => usize::from(len),
        };
        let body = head.take("submessage", len)?;
        self.rest = head.rest();
        decode_body(id, flags, Decoder::new(body, order))
    }
}

impl<'a> Iterator for Submessages<'a> {
    type Item = Result<Submessage<'a>, DecodeError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let taken = self.take();
        if taken.is_err() {
            self.rest = &[];
        }
        Some(taken)
    }
}

fn decode_body(id: u8, flags: u8, mut body: Decoder<'_>) -> Result<Submessage<'_>, DecodeError> {
    let from = &mut body;
    Ok(match id {
        PAD => Submessage::Pad,
        ACKNACK => Submessage::AckNack(AckNack::decode(flags, from)?),
        HEARTBEAT => Submessage::Heartbeat(Heartbeat::decode(flags, from)?),
        GAP => Submessage::Gap(Gap::decode(from)?),
        INFO_TS if flags & FLAG_INVALIDATE != 0 => Submessage::InfoTimestamp(None),
        INFO_TS => Submessage::InfoTimestamp(Some(Timestamp::decode(from)?)),
        INFO_SRC => {
            from.u32("unused part of INFO_SRC")?;
            let [major, minor] = from.array("version of INFO_SRC")?;
            let vendor = VendorId(from.array("vendor of INFO_SRC")?);
            let prefix = GuidPrefix(from.array("guid prefix of INFO_SRC")?);
            Submessage::InfoSource(ProtocolVersion { major, minor }, vendor, prefix)
        }
        INFO_DST => Submessage::InfoDestination(GuidPrefix(from.array("prefix of INFO_DST")?)),
        INFO_REPLY => {
            let unicast = skip_locators(from)?;
            let multicast = match flags & FLAG_MULTICAST {
                0 => 0,
                _ => skip_locators(from)?,
            };
            Submessage::InfoReply { unicast, multicast }
        }
        INFO_REPLY_IP4 => {
            from.array::<8>("address of INFO_REPLY_IP4")?;
            let multicast = u32::from(flags & FLAG_MULTICAST != 0);
            if multicast != 0 {
                from.array::<8>("multicast address of INFO_REPLY_IP4")?;
            }
            let unicast = 1;
            Submessage::InfoReply { unicast, multicast }
        }
        NACK_FRAG => Submessage::NackFrag(NackFrag::decode(from)?),
        HEARTBEAT_FRAG => Submessage::HeartbeatFrag(HeartbeatFrag::decode(from)?),
        DATA => Submessage::Data(Data::decode(flags, from)?),
        DATA_FRAG => Submessage::DataFrag(DataFrag::decode(flags, from)?),
        _ => Submessage::Unknown(id),
    })
}

fn skip_locators(from: &mut Decoder<'_>) -> Result<u32, DecodeError> {
    let count = from.u32("locators of INFO_REPLY")?;
    if count > REPLY_LOCATORS_MAX {
        let (limit, got) = (REPLY_LOCATORS_MAX as usize, count as usize);
        return Err(from.error(
            "locators of INFO_REPLY",
            DecodeErrorKind::TooLong { limit, got },
        ));
    }
    for _ in 0..count {
        Locator::decode(from)?;
    }
    Ok(count)
}

const PAD: u8 = 0x01;
const ACKNACK: u8 = 0x06;
const HEARTBEAT: u8 = 0x07;
const GAP: u8 = 0x08;
const INFO_TS: u8 = 0x09;
const INFO_SRC: u8 = 0x0c;
const INFO_REPLY_IP4: u8 = 0x0d;
const INFO_DST: u8 = 0x0e;
const INFO_REPLY: u8 = 0x0f;
const NACK_FRAG: u8 = 0x12;
const HEARTBEAT_FRAG: u8 = 0x13;
const DATA: u8 = 0x15;
const DATA_FRAG: u8 = 0x16;

const FLAG_INVALIDATE: u8 = 0x02;
const FLAG_MULTICAST: u8 = 0x02;
