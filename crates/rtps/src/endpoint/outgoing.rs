//! A datagram that is being written.

use core::net::SocketAddr;

use crate::codec::ByteOrder;
use crate::guid::{EntityId, GuidPrefix};
use crate::message::{Data, DataFrag, Header, Submessage};
use crate::sequence_number::SequenceNumber;
use crate::timestamp::Timestamp;

use super::sample::Sample;

/// A datagram and where it goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Datagram {
    pub(crate) to: SocketAddr,
    pub(crate) bytes: Vec<u8>,
}

/// How datagrams of this participant look.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Outgoing {
    pub(crate) prefix: GuidPrefix,
    /// The most bytes of a datagram.
    pub(crate) len_max: usize,
    /// The most bytes of payload that go into one submessage; a multiple of 4.
    pub(crate) fragment_len: u16,
}

impl Outgoing {
    /// Begins a datagram for a participant.
    pub(super) fn begin(self, to: GuidPrefix) -> DatagramWriter {
        let mut bytes = Vec::with_capacity(self.len_max);
        Header::ours(self.prefix).encode(&mut bytes);
        Submessage::InfoDestination(to).encode(&mut bytes, ByteOrder::Little);
        let start = bytes.len();
        DatagramWriter {
            bytes,
            start,
            len_max: self.len_max,
            fragment_len: self.fragment_len,
            timestamp: None,
        }
    }

    /// How many fragments a payload has; `None` if it is sent whole.
    pub(super) fn fragment_count(self, payload_len: usize) -> Option<u32> {
        let len = usize::from(self.fragment_len);
        // A sample has at most 4 GiB: see `EndpointLimits::sample_len_max`, which is checked when it is written.
        (payload_len > len).then(|| u32::try_from(payload_len.div_ceil(len)).unwrap_or(u32::MAX))
    }
}

/// The datagram. It grows up to its limit; one submessage is always taken.
#[derive(Debug)]
pub(super) struct DatagramWriter {
    bytes: Vec<u8>,
    start: usize,
    len_max: usize,
    fragment_len: u16,
    /// The timestamp that holds at the end.
    timestamp: Option<Timestamp>,
}

impl DatagramWriter {
    pub(super) fn is_empty(&self) -> bool {
        self.bytes.len() == self.start
    }

    /// The length so far, in bytes.
    pub(super) fn len(&self) -> usize {
        self.bytes.len()
    }

    pub(super) fn finish(self, to: SocketAddr) -> Datagram {
        let bytes = self.bytes;
        Datagram { to, bytes }
    }

    /// Appends a submessage; false if it does not fit.
    pub(super) fn push(&mut self, submessage: &Submessage<'_>) -> bool {
        let len = self.bytes.len();
        submessage.encode(&mut self.bytes, ByteOrder::Little);
        self.keep_if_it_fits(len)
    }

    /// Appends a whole sample; false if it does not fit.
    pub(super) fn push_data(
        &mut self,
        reader: EntityId,
        writer: EntityId,
        number: SequenceNumber,
        sample: &Sample,
    ) -> bool {
        let (len, timestamp) = (self.bytes.len(), self.timestamp);
        self.push_timestamp(sample.timestamp);
        let data = Data {
            reader,
            writer,
            number,
            inline_qos: sample.inline_qos(),
            kind: sample.payload_kind,
            payload: &sample.payload,
        };
        Submessage::Data(data).encode(&mut self.bytes, ByteOrder::Little);
        self.keep_if_it_fits(len) || self.forget_timestamp(timestamp)
    }

    /// Appends a fragment of a sample, counted from 1; false if it does not fit.
    pub(super) fn push_fragment(
        &mut self,
        reader: EntityId,
        writer: EntityId,
        number: SequenceNumber,
        sample: &Sample,
        fragment: u32,
    ) -> bool {
        let (len, timestamp) = (self.bytes.len(), self.timestamp);
        self.push_timestamp(sample.timestamp);
        let fragment_len = usize::from(self.fragment_len);
        let begin = (fragment as usize - 1) * fragment_len;
        let end = (begin + fragment_len).min(sample.payload.len());
        let data = DataFrag {
            reader,
            writer,
            number,
            first: fragment,
            count: 1,
            fragment_len: self.fragment_len,
            sample_len: u32::try_from(sample.payload.len()).unwrap_or(u32::MAX),
            inline_qos: sample.inline_qos(),
            is_key: sample.payload_kind == crate::message::PayloadKind::Key,
            payload: &sample.payload[begin..end],
        };
        Submessage::DataFrag(data).encode(&mut self.bytes, ByteOrder::Little);
        self.keep_if_it_fits(len) || self.forget_timestamp(timestamp)
    }

    fn push_timestamp(&mut self, timestamp: Option<Timestamp>) {
        if timestamp != self.timestamp {
            Submessage::InfoTimestamp(timestamp).encode(&mut self.bytes, ByteOrder::Little);
            self.timestamp = timestamp;
        }
    }

    fn forget_timestamp(&mut self, before: Option<Timestamp>) -> bool {
        self.timestamp = before;
        false
    }

    /// Takes back what was written after `len` if that is too much; the first submessage stays.
    fn keep_if_it_fits(&mut self, len: usize) -> bool {
        let fits = self.bytes.len() <= self.len_max || len == self.start;
        if !fits {
            self.bytes.truncate(len);
        }
        fits
    }
}
