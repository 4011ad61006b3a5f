//! Who gets the answer to a request: a caller that waits for it, or somebody who is told where it is read.

use std::collections::HashMap;
use std::iter::Peekable;
use std::ops::Range;
use std::sync::Arc;

use floe_wire::encoding::EncodingVersion;
use floe_wire::message::reply::all_returned_nothing;
use floe_wire::message::{IncomingReply, RequestId};

use super::reading::Reading;
use super::slot::Slot;
use super::{Connection, Failure, Shared};
use crate::error::LocalError;

/// Is told of answers by whoever reads them, in place of callers that wait for them. No lock of the connection is held
/// meanwhile.
pub(crate) trait Told: Send + Sync {
    /// The requests with these numbers were executed, and returned nothing.
    fn returned(&self, numbers: Range<u64>);

    /// The answer to the request with this number has come.
    fn answered(&self, number: u64, reply: IncomingReply);

    /// No answers to the requests with these numbers will come. They are all that were in flight, in their order: who
    /// sends some of them again must know of all before anything else leaves.
    fn failed(&self, failures: Vec<(u64, Failure)>);
}

/// Who gets the answer to a request in flight.
pub(super) enum Recipient {
    /// Whoever waits at the slot.
    Caller(Arc<Slot>),
    Told {
        told: Arc<dyn Told>,
        /// Which request it is to that one.
        number: u64,
        /// Where what was sent with it starts in the output.
        start: u64,
    },
}

impl Recipient {
    /// Whether this caller is meant.
    pub(super) fn is_caller(&self, caller: &Arc<Slot>) -> bool {
        matches!(self, Self::Caller(slot) if Arc::ptr_eq(slot, caller))
    }

    /// Whether it is the same one who is told, and this number.
    #[inline]
    fn is_told(&self, meant: &Arc<dyn Told>, expected: u64) -> bool {
        match self {
            Self::Caller(_) => false,
            Self::Told { told, number, .. } => *number == expected && Arc::ptr_eq(told, meant),
        }
    }

    /// The reply has come.
    pub(super) fn answer(self, reply: IncomingReply) {
        match self {
            Self::Caller(slot) => slot.answer(Ok(reply)),
            Self::Told { told, number, .. } => told.answered(number, reply),
        }
    }

    /// The replies to these requests, which are in their order, will not come; of the output, what stands before
    /// `taken` may have reached the peer.
    pub(super) fn fail(recipients: Vec<Self>, failure: &Failure, taken: u64) {
        let mut told_failures: Vec<(Arc<dyn Told>, Vec<_>)> = Vec::new();
        let mut places = HashMap::new();
        let mut callers = Vec::new();
        for recipient in recipients {
            let mut failure = failure.clone();
            match recipient {
                // It knows itself where its request starts.
                Self::Caller(slot) => callers.push((slot, failure)),
                Self::Told {
                    told,
                    number,
                    start,
                } => {
                    failure.narrow(start, taken);
                    let next = told_failures.len();
                    let place = *places.entry(Arc::as_ptr(&told).addr()).or_insert(next);
                    if place == next {
                        told_failures.push((told, Vec::new()));
                    }
                    told_failures[place].1.push((number, failure));
                }
            }
        }
        // In the order of the first request of each.
        for (told, failures) in told_failures {
            told.failed(failures);
        }
        // After those who are told, who send again in order: a caller would send at once, and overtake them.
        for (slot, failure) in callers {
            slot.answer(Err(Box::new(failure)));
        }
    }
}

impl Reading {
    /// Gives answers to those who get them if they are all that was just read into the room, and say that nothing was
    /// returned; whether it is so. As the room is used again for what is read next, and nothing is made of the
    /// replies, an event that is acknowledged costs little more than to look at these bytes.
    #[inline]
    pub(super) fn give_returned(&mut self, count: usize) -> bool {
        let connection = &self.connection;
        let limit = connection.settings.message_size_max;
        let Some(input) = self.input.alone(count) else {
            return false;
        };
        // One that is closing looks at each message, and so does one that is not validated yet.
        let has_message = match all_returned_nothing(input, limit) {
            Some(replies) if connection.is_active() => connection.give_runs(replies.peekable()),
            _ => return false,
        };
        self.input.learn(count);
        self.connection.pulse.mark_handled(has_message);
        true
    }
}

impl Connection {
    /// The peer closed gracefully: none of these requests was executed.
    pub(super) fn refuse(&self, recipients: Vec<Recipient>) {
        let failure = Failure {
            error: LocalError::ClosedByPeer {
                peer: self.peer.clone(),
            },
            perhaps_dispatched: false,
        };
        Recipient::fail(recipients, &failure, 0);
    }

    /// Gives replies that say that nothing was returned, in their order; whether anybody got one.
    #[inline]
    fn give_runs(
        self: &Arc<Self>,
        mut replies: Peekable<impl Iterator<Item = (RequestId, EncodingVersion)>>,
    ) -> bool {
        let mut is_given = false;
        while let Some(reply) = replies.next() {
            is_given |= self.give_run(reply, &mut replies);
        }
        is_given
    }

    /// Gives a reply that says that nothing was returned, and those behind it that one and the same is told next; false
    /// if nobody waits for it.
    fn give_run(
        self: &Arc<Self>,
        (id, encoding): (RequestId, EncodingVersion),
        rest: &mut Peekable<impl Iterator<Item = (RequestId, EncodingVersion)>>,
    ) -> bool {
        let mut shared = self.lock();
        let end = shared.output.end();
        let Shared {
            machine, output, ..
        } = &mut *shared;
        let Some(recipient) = machine.handle_reply(id, |_| true, output.bytes()) else {
            // It was given up, or nobody asked for it.
            return false;
        };
        let mut count = 1;
        if let Recipient::Told { told, number, .. } = &recipient
            && rest.peek().is_some()
        {
            let mut is_next = |id| {
                let is_meant = |other: &Recipient| other.is_told(told, number + count);
                let next = machine.handle_reply(id, is_meant, output.bytes());
                count += u64::from(next.is_some());
                next.is_some()
            };
            while rest.next_if(|(id, _)| is_next(*id)).is_some() {}
        }
        let has_output = shared.output.end() > end;
        drop(shared);
        if has_output {
            // The end of a graceful close that has just begun.
            self.flush();
        }
        match recipient {
            Recipient::Told { told, number, .. } => told.returned(number..number + count),
            caller => caller.answer(IncomingReply::of_nothing(id, encoding)),
        }
        true
    }
}
