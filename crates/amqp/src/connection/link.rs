//! One end of a link.

use bytes::BytesMut;

use super::event::SessionId;
use crate::performative::{Flow, ReceiverSettleMode, Role, SenderSettleMode};

/// One end of a link, whose other end is the peer's.
#[derive(Debug)]
pub(super) struct Link {
    pub(super) session: SessionId,
    /// The number of the link in frames of both sides: only the peer attaches, so its numbers do for both.
    pub(super) handle: u32,
    pub(super) name: String,
    /// Which end this is.
    pub(super) role: Role,
    pub(super) state: LinkState,
    /// True if the program knows of it.
    pub(super) is_shown: bool,
    /// True if the attach of the peer has been answered.
    pub(super) is_answered: bool,
    pub(super) snd_settle_mode: SenderSettleMode,
    pub(super) rcv_settle_mode: ReceiverSettleMode,
    /// How many deliveries the sending end has sent or given up.
    pub(super) delivery_count: u32,
    /// How many more it may send.
    pub(super) credit: u32,
    /// How many beyond that it may have sent before it knew that its credit was lowered.
    pub(super) credit_before: u32,
    /// True if the peer, the receiving end, asks for credit back that cannot be used.
    pub(super) drain: bool,
    /// The longest message that the receiving end takes, in bytes.
    pub(super) message_len_max: u64,
    /// A message of which parts have come.
    pub(super) partial: Option<Partial>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LinkState {
    /// The program decides, or has accepted.
    Attached,
    /// The peer has detached, and the program has not answered.
    DetachReceived,
    /// This side has detached, and the peer has not answered.
    DetachSent,
}

/// A message of which parts have come.
#[derive(Debug)]
pub(super) struct Partial {
    pub(super) delivery_id: u32,
    pub(super) sequence: u64,
    pub(super) settled: bool,
    pub(super) format: u32,
    pub(super) payload: BytesMut,
}

impl Link {
    /// Gives the peer, the sending end, this credit.
    pub(super) fn grant(&mut self, credit: u32) {
        let may_send = self.credit.saturating_add(self.credit_before);
        self.credit = credit;
        self.credit_before = may_send.saturating_sub(credit);
    }

    /// Uses credit for a delivery of the peer; false if there is none.
    pub(super) fn use_credit(&mut self) -> bool {
        let left = if self.credit > 0 {
            &mut self.credit
        } else {
            &mut self.credit_before
        };
        let is_allowed = *left > 0;
        if is_allowed {
            *left -= 1;
            self.delivery_count = self.delivery_count.wrapping_add(1);
        }
        is_allowed
    }

    /// The part of a flow that tells of this link.
    pub(super) fn describe(&self, flow: &mut Flow) {
        flow.handle = Some(self.handle);
        flow.delivery_count = Some(self.delivery_count);
        flow.link_credit = Some(self.credit);
        flow.drain = self.drain;
    }

    /// Takes over what the peer says of this link. Returns true if there is credit or a drain to tell of.
    pub(super) fn handle_flow(&mut self, flow: &Flow) -> bool {
        match self.role {
            Role::Sender => {
                let Some(credit) = flow.link_credit else {
                    return false;
                };
                let seen = flow.delivery_count.unwrap_or_default();
                // Deliveries that the peer had not seen yet have used their part. It is a serial number.
                let ahead = self.delivery_count.wrapping_sub(seen);
                let credit = credit.saturating_sub(if ahead > i32::MAX as u32 { 0 } else { ahead });
                let is_news = credit > self.credit || flow.drain;
                self.credit = credit;
                self.drain = flow.drain;
                is_news
            }
            Role::Receiver => {
                // The peer gives credit back: it counts on without having sent.
                let count = flow.delivery_count.unwrap_or(self.delivery_count);
                let given_back = count.wrapping_sub(self.delivery_count);
                if given_back <= self.credit {
                    self.delivery_count = count;
                    self.credit -= given_back;
                }
                false
            }
        }
    }
}
