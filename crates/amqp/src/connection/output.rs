//! Bytes on their way to the peer.

use bytes::Bytes;

use crate::codec::{Field, Writer};
use crate::frame::{FrameKind, begin_frame, end_frame};
use crate::performative::{Disposition, Outcome, Performative, Role, Transfer};
use crate::sasl::SaslFrame;

/// Bytes that wait to be sent.
#[derive(Debug, Default)]
pub(super) struct Output {
    bytes: Vec<u8>,
    /// A disposition that the next one may join.
    open: Option<OpenDisposition>,
    /// The longest frame that the peer takes.
    pub(super) frame_len_max: u32,
    /// True if a frame was longer than that, and therefore left out.
    pub(super) is_oversized: bool,
}

#[derive(Debug, PartialEq)]
struct OpenDisposition {
    channel: u16,
    role: Role,
    settled: bool,
    outcome: Option<Outcome>,
    first: u32,
    last: u32,
}

impl Output {
    pub(super) fn new(frame_len_max: u32) -> Self {
        Self {
            frame_len_max,
            ..Self::default()
        }
    }

    pub(super) fn len(&self) -> usize {
        self.bytes.len()
    }

    /// All that there is.
    pub(super) fn take(&mut self) -> Option<Bytes> {
        self.flush();
        (!self.bytes.is_empty()).then(|| std::mem::take(&mut self.bytes).into())
    }

    pub(super) fn header(&mut self, header: [u8; 8]) {
        self.bytes.extend_from_slice(&header);
    }

    pub(super) fn sasl(&mut self, frame: &SaslFrame) {
        self.frame(FrameKind::Sasl, 0, |writer| frame.encode(writer));
    }

    /// A frame that says nothing but that this side is alive.
    pub(super) fn empty(&mut self) {
        self.flush();
        self.frame(FrameKind::Amqp, 0, |_| ());
    }

    pub(super) fn performative(&mut self, channel: u16, performative: &Performative) {
        self.flush();
        let encode = |writer: &mut Writer| performative.encode(writer);
        self.frame(FrameKind::Amqp, channel, encode);
    }

    /// A transfer with as much of `payload` as a frame holds, which is taken off it.
    pub(super) fn transfer(&mut self, channel: u16, mut transfer: Transfer, payload: &mut Bytes) {
        self.flush();
        let start = begin_frame(&mut self.bytes, FrameKind::Amqp, channel);
        let mut writer = Writer::appending_to(std::mem::take(&mut self.bytes));
        transfer.more = true;
        let body_at = writer.len();
        transfer.encode(&mut writer);
        let room = (start + self.frame_len_max as usize).saturating_sub(writer.len());
        if payload.len() <= room {
            // Without `more` the head is shorter or as long.
            transfer.more = false;
            let mut bytes = writer.into_bytes();
            bytes.truncate(body_at);
            writer = Writer::appending_to(bytes);
            transfer.encode(&mut writer);
        }
        writer.encoded(&payload.split_to(payload.len().min(room)));
        self.bytes = writer.into_bytes();
        end_frame(&mut self.bytes, start);
    }

    /// A disposition of one delivery. It joins the one before if that is about the delivery before it.
    pub(super) fn disposition(
        &mut self,
        channel: u16,
        role: Role,
        id: u32,
        settled: bool,
        outcome: Option<Outcome>,
    ) {
        let next = OpenDisposition {
            channel,
            role,
            settled,
            outcome,
            first: id,
            last: id,
        };
        if let Some(open) = &mut self.open
            && open.last.wrapping_add(1) == id
            && (open.channel, open.role, open.settled) == (channel, role, settled)
            && open.outcome == next.outcome
        {
            open.last = id;
            return;
        }
        self.flush();
        self.open = Some(next);
    }

    fn flush(&mut self) {
        let Some(open) = self.open.take() else { return };
        let disposition = Performative::Disposition(Disposition {
            role: open.role,
            first: open.first,
            last: (open.last != open.first).then_some(open.last),
            settled: open.settled,
            state: open
                .outcome
                .map(crate::performative::DeliveryState::Outcome),
            batchable: false,
        });
        let encode = |writer: &mut Writer| disposition.encode(writer);
        self.frame(FrameKind::Amqp, open.channel, encode);
    }

    fn frame(&mut self, kind: FrameKind, channel: u16, encode: impl FnOnce(&mut Writer)) {
        let start = begin_frame(&mut self.bytes, kind, channel);
        let mut writer = Writer::appending_to(std::mem::take(&mut self.bytes));
        encode(&mut writer);
        self.bytes = writer.into_bytes();
        if self.bytes.len() - start > self.frame_len_max as usize {
            // The peer would close because of it, and not know why.
            self.bytes.truncate(start);
            self.is_oversized = true;
        } else {
            end_frame(&mut self.bytes, start);
        }
    }
}
