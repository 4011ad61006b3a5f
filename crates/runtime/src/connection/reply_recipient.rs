//! The recipient of a reply: a caller that waits for it, or a reply sink that gets replies where they are read.

use std::collections::HashMap;
use std::iter::Peekable;
use std::ops::Range;
use std::sync::Arc;

use floe_wire::encoding::EncodingVersion;
use floe_wire::message::{IncomingReply, Outcome, RequestId};

use super::ConnectionCore;
use super::pending_reply::PendingReply;
use super::reply_sink::{ReplySink, outcome_of_event};
use super::send_half::ConnectionState;
use crate::error::{AttemptError, InvokeError, LocalError};

/// The recipient of the reply to a request in flight.
pub(super) enum ReplyRecipient {
    /// The caller that waits for this pending reply.
    Caller(Arc<PendingReply>),
    Sink {
        sink: Arc<dyn ReplySink>,
        /// The numbers by which the sink knows the events that the reply answers; never empty.
        numbers: Range<u64>,
        /// Position in the send queue at which the batch of the request starts.
        start: u64,
    },
}

impl ReplyRecipient {
    /// Returns true if it is this caller.
    pub(super) fn is_caller(&self, caller: &Arc<PendingReply>) -> bool {
        matches!(self, Self::Caller(pending) if Arc::ptr_eq(pending, caller))
    }

    /// Returns true if it is this sink, and its numbers begin with this one.
    #[inline]
    fn is_sink(&self, meant: &Arc<dyn ReplySink>, expected: u64) -> bool {
        match self {
            Self::Caller(_) => false,
            Self::Sink { sink, numbers, .. } => {
                numbers.start == expected && Arc::ptr_eq(sink, meant)
            }
        }
    }

    /// The number after the last one of a sink.
    #[inline]
    fn end(&self) -> u64 {
        match self {
            Self::Caller(_) => 0,
            Self::Sink { numbers, .. } => numbers.end,
        }
    }

    /// Delivers the reply.
    pub(super) fn answer(self, reply: IncomingReply) {
        match self {
            Self::Caller(pending) => pending.answer(Ok(reply)),
            Self::Sink { sink, numbers, .. } => {
                sink.answered(numbers, outcome_or_nothing(reply));
            }
        }
    }

    /// Fails these requests after the peer closed gracefully. None of them was executed.
    pub(super) fn refuse(recipients: Vec<Self>, peer: &str) {
        let failure = AttemptError::not_sent(LocalError::ClosedByPeer {
            peer: peer.to_owned(),
        });
        Self::fail(recipients, &failure, 0);
    }

    /// Fails these requests, which are in the order in which they were sent. Output before the position `taken` may
    /// have reached the peer.
    pub(super) fn fail(recipients: Vec<Self>, failure: &AttemptError, taken: u64) {
        let mut sinks: Vec<(Arc<dyn ReplySink>, Vec<_>)> = Vec::new();
        let mut indices = HashMap::new();
        let mut callers = Vec::new();
        for recipient in recipients {
            let mut failure = failure.clone();
            match recipient {
                // The caller knows the position of its request, and narrows the failure itself.
                Self::Caller(pending) => callers.push((pending, failure)),
                Self::Sink {
                    sink,
                    numbers,
                    start,
                } => {
                    failure.narrow(start, taken);
                    let next = sinks.len();
                    let index = *indices.entry(Arc::as_ptr(&sink).addr()).or_insert(next);
                    if index == next {
                        sinks.push((sink, Vec::new()));
                    }
                    sinks[index].1.push((numbers, failure.into()));
                }
            }
        }
        // In the order of each sink's first request.
        for (sink, failures) in sinks {
            sink.failed(failures);
        }
        // Callers come after the sinks. A caller would send again immediately, and overtake the events that a sink
        // sends again in order.
        for (pending, failure) in callers {
            pending.answer(Err(Box::new(failure)));
        }
    }

    /// Delivers replies that returned nothing, in order. Returns true if any recipient got one.
    #[inline]
    pub(super) fn deliver_returned(
        connection: &Arc<ConnectionCore>,
        mut replies: Peekable<impl Iterator<Item = (RequestId, EncodingVersion)>>,
    ) -> bool {
        let mut is_given = false;
        while let Some(reply) = replies.next() {
            is_given |= Self::deliver_batch(connection, reply, &mut replies);
        }
        is_given
    }

    /// Delivers a reply that returned nothing, together with the next ones for the same sink. Returns false if it has
    /// no recipient.
    fn deliver_batch(
        connection: &Arc<ConnectionCore>,
        (id, encoding): (RequestId, EncodingVersion),
        rest: &mut Peekable<impl Iterator<Item = (RequestId, EncodingVersion)>>,
    ) -> bool {
        let mut shared = connection.lock();
        let end = shared.queue.end();
        let ConnectionState { machine, queue, .. } = &mut *shared;
        let Some(recipient) = machine.handle_reply(id, |_| true, queue.bytes()) else {
            // The request was given up, or never sent.
            return false;
        };
        let mut end_number = recipient.end();
        if let Self::Sink { sink, .. } = &recipient
            && rest.peek().is_some()
        {
            let mut is_next = |id| {
                let is_meant = |other: &Self| other.is_sink(sink, end_number);
                let next = machine.handle_reply(id, is_meant, queue.bytes());
                if let Some(next) = &next {
                    end_number = next.end();
                }
                next.is_some()
            };
            while rest.next_if(|(id, _)| is_next(*id)).is_some() {}
        }
        let has_output = shared.queue.end() > end;
        drop(shared);
        if has_output {
            // The state machine may have appended the end of a graceful close.
            connection.flush();
        }
        match recipient {
            Self::Sink { sink, numbers, .. } => sink.returned(numbers.start..end_number),
            caller => caller.answer(IncomingReply::of_nothing(id, encoding)),
        }
        true
    }
}

/// Returns the outcome in a reply to an event; `None` if nothing was returned.
fn outcome_or_nothing(reply: IncomingReply) -> Result<Option<Outcome>, InvokeError> {
    match reply.returned_nothing() {
        true => Ok(None),
        false => outcome_of_event(reply),
    }
}
