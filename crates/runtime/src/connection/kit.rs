//! What the reading of a connection borrows from its thread while there is something to read.

use bytes::BytesMut;
use floe_wire::connection::Event;
use floe_wire::message::{IncomingReply, KnownHead};

use super::dispatching::{Dispatching, Equipment};
use super::spare::{self, Spare};
use super::told::Recipient;

/// What is needed while there is something to read, and by nobody who waits for it.
#[derive(Default)]
pub(super) struct Kit {
    /// Replies that were taken from the input, and are to be given to their callers.
    pub(super) replies: Vec<(Recipient, IncomingReply)>,
    /// What else was taken from it, and is to be handled.
    pub(super) event: Option<Event<Recipient>>,
    pub(super) known: KnownHead,
    /// Of the input, as long as that does not have it.
    pub(super) room: BytesMut,
    /// Of the dispatching, as long as that does not have it.
    equipment: Equipment,
    is_dispatching: bool,
}

thread_local! {
    /// Those of connections that wait.
    static KITS: Spare<Box<Kit>> = const { Spare::new(Vec::new()) };
}

impl Kit {
    /// One of this thread's.
    pub(super) fn take() -> Box<Self> {
        spare::take(&KITS).unwrap_or_default()
    }

    pub(super) fn put_back(kit: Box<Self>) {
        spare::put_back(&KITS, kit);
    }

    /// Gives the dispatching what it needs, before a request is dispatched: a connection that reads nothing but replies
    /// need not touch that.
    #[inline]
    pub(super) fn equip(&mut self, dispatching: &mut Dispatching) {
        if !std::mem::replace(&mut self.is_dispatching, true) {
            dispatching.equip(&mut self.equipment);
        }
    }

    /// Takes it back: there is nothing to read.
    #[inline]
    pub(super) fn take_back(&mut self, dispatching: &mut Dispatching) {
        if std::mem::take(&mut self.is_dispatching) {
            dispatching.rest(&mut self.equipment);
        }
    }
}
