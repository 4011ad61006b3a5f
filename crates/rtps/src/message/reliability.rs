//! Submessages by which writers and readers agree about what has arrived.

use crate::codec::{DecodeError, Decoder, Encoder};
use crate::guid::EntityId;
use crate::sequence_number::SequenceNumber;

use super::number_set::{FragmentNumberSet, SequenceNumberSet};

/// A writer says which samples it has.
///
/// ```text
/// 0        4        8       16     24
/// | reader | writer | first | last | count: i32 |
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Heartbeat {
    /// The reader it is for; unknown if it is for all of them.
    pub reader: EntityId,
    /// The writer.
    pub writer: EntityId,
    /// The first sample that it has; one above `last` if it has none.
    pub first: SequenceNumber,
    /// The last sample that it has written; 0 if there never was one.
    pub last: SequenceNumber,
    /// A number that grows with each heartbeat of the writer.
    pub count: i32,
    /// False if the reader must answer even if nothing is missing.
    pub is_final: bool,
    /// True if the writer asserts that it is alive.
    pub is_liveliness: bool,
}

/// A reader says which samples it has, and which it misses.
///
/// ```text
/// 0        4        8         8 + length of the set
/// | reader | writer | missing | count: i32 |
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AckNack {
    /// The reader.
    pub reader: EntityId,
    /// The writer.
    pub writer: EntityId,
    /// Everything below its base has arrived; what is in the set is missing.
    pub missing: SequenceNumberSet,
    /// A number that grows with each answer of the reader.
    pub count: i32,
    /// False if the writer must answer with a heartbeat.
    pub is_final: bool,
}

/// A writer says which samples will never come: from `first` to below the base of `others`, and those in `others`.
///
/// ```text
/// 0        4        8       16
/// | reader | writer | first | others |
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Gap {
    /// The reader it is for; unknown if it is for all of them.
    pub reader: EntityId,
    /// The writer.
    pub writer: EntityId,
    /// The first sample that will not come.
    pub first: SequenceNumber,
    /// More of them.
    pub others: SequenceNumberSet,
}

/// A writer says how many parts of a sample it has.
///
/// ```text
/// 0        4        8        16                   20
/// | reader | writer | number | last fragment: u32 | count: i32 |
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HeartbeatFrag {
    /// The reader it is for; unknown if it is for all of them.
    pub reader: EntityId,
    /// The writer.
    pub writer: EntityId,
    /// The sample.
    pub number: SequenceNumber,
    /// The last part that can be had, from 1.
    pub last_fragment: u32,
    /// A number that grows with each of these.
    pub count: i32,
}

/// A reader says which parts of a sample it misses.
///
/// ```text
/// 0        4        8        16        16 + length of the set
/// | reader | writer | number | missing | count: i32 |
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NackFrag {
    /// The reader.
    pub reader: EntityId,
    /// The writer.
    pub writer: EntityId,
    /// The sample.
    pub number: SequenceNumber,
    /// The parts that are missing.
    pub missing: FragmentNumberSet,
    /// A number that grows with each of these.
    pub count: i32,
}

impl Heartbeat {
    pub(super) fn decode(flags: u8, from: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        let heartbeat = Self {
            reader: EntityId::decode(from, "reader of HEARTBEAT")?,
            writer: EntityId::decode(from, "writer of HEARTBEAT")?,
            first: SequenceNumber::decode(from, "first sample of HEARTBEAT", 1)?,
            last: SequenceNumber::decode(from, "last sample of HEARTBEAT", 0)?,
            count: from.i32("count of HEARTBEAT")?,
            is_final: flags & FLAG_FINAL != 0,
            is_liveliness: flags & FLAG_LIVELINESS != 0,
        };
        if heartbeat.last < heartbeat.first.previous() {
            return Err(from.invalid("last sample of HEARTBEAT", heartbeat.last.0));
        }
        Ok(heartbeat)
    }

    pub(super) fn encode(&self, into: &mut Encoder<'_>) -> u8 {
        into.bytes(&self.reader.0);
        into.bytes(&self.writer.0);
        self.first.encode(into);
        self.last.encode(into);
        into.i32(self.count);
        let liveliness = if self.is_liveliness {
            FLAG_LIVELINESS
        } else {
            0
        };
        liveliness | if self.is_final { FLAG_FINAL } else { 0 }
    }
}

impl AckNack {
    pub(super) fn decode(flags: u8, from: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        Ok(Self {
            reader: EntityId::decode(from, "reader of ACKNACK")?,
            writer: EntityId::decode(from, "writer of ACKNACK")?,
            // Some peers say 0 if they know nothing of the writer yet.
            missing: SequenceNumberSet::decode(from, 0)?,
            count: from.i32("count of ACKNACK")?,
            is_final: flags & FLAG_FINAL != 0,
        })
    }

    pub(super) fn encode(&self, into: &mut Encoder<'_>) -> u8 {
        into.bytes(&self.reader.0);
        into.bytes(&self.writer.0);
        self.missing.encode(into);
        into.i32(self.count);
        if self.is_final { FLAG_FINAL } else { 0 }
    }
}

impl Gap {
    pub(super) fn decode(from: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        let gap = Self {
            reader: EntityId::decode(from, "reader of GAP")?,
            writer: EntityId::decode(from, "writer of GAP")?,
            first: SequenceNumber::decode(from, "first sample of GAP", 1)?,
            others: SequenceNumberSet::decode(from, 1)?,
        };
        if gap.others.base() < gap.first {
            return Err(from.invalid("set of GAP", gap.others.base().0));
        }
        Ok(gap)
    }

    pub(super) fn encode(&self, into: &mut Encoder<'_>) -> u8 {
        into.bytes(&self.reader.0);
        into.bytes(&self.writer.0);
        self.first.encode(into);
        self.others.encode(into);
        0
    }
}

impl HeartbeatFrag {
    pub(super) fn decode(from: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        let heartbeat = Self {
            reader: EntityId::decode(from, "reader of HEARTBEAT_FRAG")?,
            writer: EntityId::decode(from, "writer of HEARTBEAT_FRAG")?,
            number: SequenceNumber::decode(from, "sequence number of HEARTBEAT_FRAG", 1)?,
            last_fragment: from.u32("last fragment of HEARTBEAT_FRAG")?,
            count: from.i32("count of HEARTBEAT_FRAG")?,
        };
        if heartbeat.last_fragment == 0 {
            return Err(from.invalid("last fragment of HEARTBEAT_FRAG", 0));
        }
        Ok(heartbeat)
    }

    pub(super) fn encode(&self, into: &mut Encoder<'_>) -> u8 {
        into.bytes(&self.reader.0);
        into.bytes(&self.writer.0);
        self.number.encode(into);
        into.u32(self.last_fragment);
        into.i32(self.count);
        0
    }
}

impl NackFrag {
    pub(super) fn decode(from: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        Ok(Self {
            reader: EntityId::decode(from, "reader of NACK_FRAG")?,
            writer: EntityId::decode(from, "writer of NACK_FRAG")?,
            number: SequenceNumber::decode(from, "sequence number of NACK_FRAG", 1)?,
            missing: FragmentNumberSet::decode(from)?,
            count: from.i32("count of NACK_FRAG")?,
        })
    }

    pub(super) fn encode(&self, into: &mut Encoder<'_>) -> u8 {
        into.bytes(&self.reader.0);
        into.bytes(&self.writer.0);
        self.number.encode(into);
        self.missing.encode(into);
        into.i32(self.count);
        0
    }
}

const FLAG_FINAL: u8 = 0x02;
const FLAG_LIVELINESS: u8 = 0x04;
