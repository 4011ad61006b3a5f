//! A session: the windows and the deliveries that its links share.

use std::collections::{BTreeMap, VecDeque};

use bytes::Bytes;

use super::event::LinkId;
use crate::performative::{Begin, Flow};

/// One session.
#[derive(Debug)]
pub(super) struct Session {
    /// True if this side has ended it, and the peer has not answered.
    pub(super) is_ending: bool,
    /// Its links by their handles.
    pub(super) handles: BTreeMap<u32, LinkId>,
    /// The highest handle that the peer takes.
    pub(super) handle_max: u32,

    /// The id of the next transfer of the peer.
    next_incoming_id: u32,
    /// How many transfers it may send before it is told of more.
    incoming_window: u32,
    window: u32,
    /// The number of the peer's next delivery, as far as is known. Its lower bits are the delivery id.
    next_incoming_delivery: u64,
    pub(super) incoming: BTreeMap<u64, Incoming>,

    /// The id of this side's next transfer.
    next_outgoing_id: u32,
    /// How many transfers the peer takes.
    remote_incoming_window: u32,
    next_outgoing_delivery: u64,
    pub(super) outgoing: BTreeMap<u64, Outgoing>,
    /// Transfers, and flows behind them, for which the peer's window has no room yet.
    pub(super) pending: VecDeque<Pending>,
}

/// A delivery of the peer that is not settled.
#[derive(Debug)]
pub(super) struct Incoming {
    pub(super) link: LinkId,
    /// True if this side has told its outcome and the peer shall settle.
    pub(super) is_told: bool,
}

/// A delivery to the peer that is not settled.
#[derive(Debug)]
pub(super) struct Outgoing {
    pub(super) link: LinkId,
}

/// Something that must be sent in its order.
#[derive(Debug)]
pub(super) enum Pending {
    /// A message, or the rest of one.
    Transfer {
        link: LinkId,
        handle: u32,
        delivery: u64,
        settled: bool,
        is_begun: bool,
        payload: Bytes,
    },
    /// The state of the link as it was when a drain ended.
    Drained {
        link: LinkId,
        handle: u32,
        delivery_count: u32,
    },
}

impl Pending {
    pub(super) fn link(&self) -> LinkId {
        match self {
            Self::Transfer { link, .. } | Self::Drained { link, .. } => *link,
        }
    }
}

/// Why a flow or a transfer breaks the rules of a session.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum WindowError {
    /// The peer expects a transfer that was never sent.
    UnknownTransfer(u32),
    /// It sent more than it may.
    Exceeded,
}

impl Session {
    /// The session that a begin of the peer asks for.
    pub(super) fn begun_by(begin: &Begin, window: u32) -> Self {
        Self {
            is_ending: false,
            handles: BTreeMap::new(),
            handle_max: begin.handle_max.unwrap_or(u32::MAX),
            next_incoming_id: begin.next_outgoing_id,
            incoming_window: window,
            window,
            next_incoming_delivery: FIRST_DELIVERY,
            incoming: BTreeMap::new(),
            next_outgoing_id: 0,
            remote_incoming_window: begin.incoming_window,
            next_outgoing_delivery: FIRST_DELIVERY,
            outgoing: BTreeMap::new(),
            pending: VecDeque::new(),
        }
    }

    /// The answer to a begin.
    pub(super) fn begin(&self, channel: u16, handle_max: u32) -> Begin {
        Begin {
            remote_channel: Some(channel),
            next_outgoing_id: self.next_outgoing_id,
            incoming_window: self.incoming_window,
            outgoing_window: OUTGOING_WINDOW,
            handle_max: Some(handle_max),
            offered_capabilities: Vec::new(),
            desired_capabilities: Vec::new(),
            properties: None,
        }
    }

    /// The part of a flow that tells of the session.
    pub(super) fn flow(&self) -> Flow {
        Flow {
            next_incoming_id: Some(self.next_incoming_id),
            incoming_window: self.incoming_window,
            next_outgoing_id: self.next_outgoing_id,
            outgoing_window: OUTGOING_WINDOW,
            ..Flow::default()
        }
    }

    /// Takes over what the peer says of its windows.
    pub(super) fn handle_flow(&mut self, flow: &Flow) -> Result<(), WindowError> {
        let next = flow.next_incoming_id.unwrap_or_default();
        let under_way = self.next_outgoing_id.wrapping_sub(next);
        if under_way > i32::MAX as u32 {
            return Err(WindowError::UnknownTransfer(next));
        }
        self.remote_incoming_window = flow.incoming_window.saturating_sub(under_way);
        Ok(())
    }

    /// Counts a transfer of the peer. Returns true if it must be told that more may come.
    pub(super) fn handle_transfer(&mut self) -> Result<bool, WindowError> {
        let left = self.incoming_window.checked_sub(1);
        self.incoming_window = left.ok_or(WindowError::Exceeded)?;
        self.next_incoming_id = self.next_incoming_id.wrapping_add(1);
        let is_low = self.incoming_window <= self.window / 2;
        if is_low {
            self.incoming_window = self.window;
        }
        Ok(is_low)
    }

    /// The number of a new delivery of the peer.
    pub(super) fn incoming_delivery(&mut self, id: u32) -> u64 {
        let number = nearest(id, self.next_incoming_delivery);
        self.next_incoming_delivery = number + 1;
        number
    }

    /// The number of a delivery of the peer that it names.
    pub(super) fn known_incoming(&self, id: u32) -> u64 {
        nearest(id, self.next_incoming_delivery)
    }

    /// The number of a delivery to the peer that it names.
    pub(super) fn known_outgoing(&self, id: u32) -> u64 {
        nearest(id, self.next_outgoing_delivery)
    }

    /// A number for a new delivery to the peer.
    pub(super) fn outgoing_delivery(&mut self) -> u64 {
        let number = self.next_outgoing_delivery;
        self.next_outgoing_delivery += 1;
        number
    }

    /// Uses a place in the peer's window; false if there is none.
    pub(super) fn take_window(&mut self) -> bool {
        let Some(left) = self.remote_incoming_window.checked_sub(1) else {
            return false;
        };
        self.remote_incoming_window = left;
        self.next_outgoing_id = self.next_outgoing_id.wrapping_add(1);
        true
    }
}

/// The number with these lower bits that is nearest to `known`.
fn nearest(id: u32, known: u64) -> u64 {
    let ahead = id.wrapping_sub(known as u32) as i32;
    known.saturating_add_signed(ahead.into())
}

/// Delivery ids are serial numbers of 32 bits; within, they go on. This leaves room for ids below the first one.
const FIRST_DELIVERY: u64 = 1 << 32;

/// This side sends no more than the peer's window allows, so it names no window of its own.
const OUTGOING_WINDOW: u32 = i32::MAX as u32;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_delivery_id_goes_on_after_its_last_number() {
        let known = FIRST_DELIVERY + u64::from(u32::MAX);
        assert_eq!(nearest(u32::MAX, known), known);
        assert_eq!(nearest(0, known), known + 1);
        assert_eq!(nearest(u32::MAX - 1, known), known - 1);
        assert_eq!(nearest(u32::MAX, FIRST_DELIVERY), FIRST_DELIVERY - 1);
    }
}
