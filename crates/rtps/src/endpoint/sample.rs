//! A sample, as callers give and get it.

use bytes::Bytes;

use crate::guid::Guid;
use crate::message::{InlineQos, PayloadKind};
use crate::sequence_number::SequenceNumber;
use crate::timestamp::Timestamp;

/// A change of an instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ChangeKind {
    /// It gets a new value.
    Written,
    /// It is no more.
    Disposed,
    /// Its writer writes it no more.
    Unregistered,
    /// Both of these.
    DisposedAndUnregistered,
}

/// A value of an instance, or the end of one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sample {
    /// The change of its instance.
    pub kind: ChangeKind,
    /// The instance, if it is known. This crate knows no types, so it does not compute it.
    pub key_hash: Option<[u8; 16]>,
    /// When it was written, if its writer says so.
    pub timestamp: Option<Timestamp>,
    /// The payload is a value or a key.
    pub payload_kind: PayloadKind,
    /// The payload as it is on the wire: 4 bytes that say how it is encoded
    /// ([`Representation`](crate::payload::Representation)), and the value. One that has come may end with up to three
    /// zeros, because submessages are padded.
    pub payload: Bytes,
}

impl Sample {
    /// A value.
    pub fn written(payload: impl Into<Bytes>) -> Self {
        Self {
            kind: ChangeKind::Written,
            key_hash: None,
            timestamp: None,
            payload_kind: PayloadKind::Value,
            payload: payload.into(),
        }
    }

    /// The end of an instance, whose key is the payload.
    pub fn ended(kind: ChangeKind, key_hash: Option<[u8; 16]>, key: impl Into<Bytes>) -> Self {
        let payload = key.into();
        Self {
            kind,
            key_hash,
            timestamp: None,
            payload_kind: match payload.is_empty() {
                true => PayloadKind::Nothing,
                false => PayloadKind::Key,
            },
            payload,
        }
    }

    pub(crate) fn inline_qos(&self) -> InlineQos {
        InlineQos {
            key_hash: self.key_hash,
            is_disposed: matches!(
                self.kind,
                ChangeKind::Disposed | ChangeKind::DisposedAndUnregistered
            ),
            is_unregistered: matches!(
                self.kind,
                ChangeKind::Unregistered | ChangeKind::DisposedAndUnregistered
            ),
        }
    }

    pub(crate) fn from_wire(
        qos: InlineQos,
        timestamp: Option<Timestamp>,
        payload_kind: PayloadKind,
        payload: Bytes,
    ) -> Self {
        Self {
            kind: match (qos.is_disposed, qos.is_unregistered) {
                (false, false) => ChangeKind::Written,
                (true, false) => ChangeKind::Disposed,
                (false, true) => ChangeKind::Unregistered,
                (true, true) => ChangeKind::DisposedAndUnregistered,
            },
            key_hash: qos.key_hash,
            timestamp,
            payload_kind,
            payload,
        }
    }
}

/// A sample that has come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Received {
    /// Its writer.
    pub writer: Guid,
    /// Its number within its writer.
    pub number: SequenceNumber,
    /// Itself.
    pub sample: Sample,
}
