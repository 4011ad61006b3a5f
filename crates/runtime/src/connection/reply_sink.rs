//! Who gets the reply to a request: a caller that waits for it, or a sink that is given replies where they are read.

use std::collections::HashMap;
use std::iter::Peekable;
use std::ops::Range;
use std::sync::Arc;

use floe_wire::encoding::EncodingVersion;
use floe_wire::message::reply::all_returned_nothing;
use floe_wire::message::{IncomingReply, Outcome, RequestId};

use super::ConnectionCore;
use super::pending_reply::PendingReply;
use super::reading::Reading;
use super::shared::Shared;
use crate::error::{AttemptError, InvokeError, LocalError};

/// Takes the replies to events that were sent with [`Proxy::forward_at_once`](crate::Proxy::forward_at_once).
///
/// Each event that is not given up is answered once, by the thread or task that reads the connection, or that finds it
/// broken. That one must not wait, and invoke nothing. No lock of the connection is held meanwhile.
pub trait ReplySink: Send + Sync + 'static {
    /// The servant has taken the events with these numbers, and returned nothing, as nearly every reply says. Replies
    /// that follow each other in a read of nothing else are given together.
    fn returned(&self, numbers: Range<u64>);

    /// Another reply to the event with this number has come: what [`Proxy::forward`](crate::Proxy::forward) would
    /// return. It may say that nothing was returned, too.
    fn answered(&self, number: u64, answer: Result<Option<Outcome>, InvokeError>);

    /// No replies to the events with these numbers will come any more, by the errors of
    /// [`Proxy::invoke`](crate::Proxy::invoke); nothing was tried again. They are all the events that were in flight over
    /// a connection that has ended, in the order in which they were sent, so that some of them can be sent again before
    /// others leave. If there are several sinks, the one whose first such event was sent first comes first.
    fn failed(&self, failures: Vec<(u64, InvokeError)>);
}

/// Who gets the reply to a request in flight.
pub(super) enum Recipient {
    /// The caller that waits for this one.
    Caller(Arc<PendingReply>),
    Sink {
        sink: Arc<dyn ReplySink>,
        /// The number that the sink knows the request by.
        number: u64,
        /// Where the batch that it was sent in starts in the send queue.
        start: u64,
    },
}

impl Recipient {
    /// Whether this caller is meant.
    pub(super) fn is_caller(&self, caller: &Arc<PendingReply>) -> bool {
        matches!(self, Self::Caller(slot) if Arc::ptr_eq(slot, caller))
    }

    /// Whether it is this sink, with this number.
    #[inline]
    fn is_sink(&self, meant: &Arc<dyn ReplySink>, expected: u64) -> bool {
        match self {
            Self::Caller(_) => false,
            Self::Sink { sink, number, .. } => *number == expected && Arc::ptr_eq(sink, meant),
        }
    }

    /// The reply has come.
    pub(super) fn answer(self, reply: IncomingReply) {
        match self {
            Self::Caller(slot) => slot.answer(Ok(reply)),
            Self::Sink { sink, number, .. } => sink.answered(number, outcome_or_nothing(reply)),
        }
    }

    /// The peer closed gracefully: none of these requests was executed.
    pub(super) fn refuse(recipients: Vec<Self>, peer: &str) {
        let failure = AttemptError::not_sent(LocalError::ClosedByPeer {
            peer: peer.to_owned(),
        });
        Self::fail(recipients, &failure, 0);
    }

    /// The replies to these requests, which are in their order, will not come; of the output, what stands before
    /// `taken` may have reached the peer.
    pub(super) fn fail(recipients: Vec<Self>, failure: &AttemptError, taken: u64) {
        let mut sinks: Vec<(Arc<dyn ReplySink>, Vec<_>)> = Vec::new();
        let mut places = HashMap::new();
        let mut callers = Vec::new();
        for recipient in recipients {
            let mut failure = failure.clone();
            match recipient {
                // It knows where its request starts, and narrows the failure itself.
                Self::Caller(slot) => callers.push((slot, failure)),
                Self::Sink {
                    sink,
                    number,
                    start,
                } => {
                    failure.narrow(start, taken);
                    let next = sinks.len();
                    let place = *places.entry(Arc::as_ptr(&sink).addr()).or_insert(next);
                    if place == next {
                        sinks.push((sink, Vec::new()));
                    }
                    sinks[place].1.push((number, failure.into()));
                }
            }
        }
        // In the order of the first request of each.
        for (sink, failures) in sinks {
            sink.failed(failures);
        }
        // After the sinks, which send again in order: a caller would send immediately, and overtake them.
        for (slot, failure) in callers {
            slot.answer(Err(Box::new(failure)));
        }
    }
}

impl Reading {
    /// Gives replies to their recipients if they are all that was just read into the room, and say that nothing was
    /// returned; whether it is so. The room is used again for the next read, and nothing is made of the replies, so that
    /// an event that is acknowledged costs little more than a look at these bytes.
    #[inline]
    pub(super) fn give_returned(&mut self, count: usize) -> bool {
        let connection = &self.connection;
        let limit = connection.settings().message_size_max;
        let Some(input) = self.input.alone(count) else {
            return false;
        };
        // One that is closing looks at each message, and so does one that is not validated yet.
        let has_message = match all_returned_nothing(input, limit) {
            Some(replies) if connection.is_active() => {
                Self::give_runs(connection, replies.peekable())
            }
            _ => return false,
        };
        self.input.learn(count);
        self.connection.keepalive.mark_handled(has_message);
        true
    }

    /// Gives replies that say that nothing was returned, in their order; whether anybody got one.
    #[inline]
    fn give_runs(
        connection: &Arc<ConnectionCore>,
        mut replies: Peekable<impl Iterator<Item = (RequestId, EncodingVersion)>>,
    ) -> bool {
        let mut is_given = false;
        while let Some(reply) = replies.next() {
            is_given |= Self::give_run(connection, reply, &mut replies);
        }
        is_given
    }

    /// Gives a reply that says that nothing was returned, and those behind it that the same sink gets next; false
    /// if nobody waits for it.
    fn give_run(
        connection: &Arc<ConnectionCore>,
        (id, encoding): (RequestId, EncodingVersion),
        rest: &mut Peekable<impl Iterator<Item = (RequestId, EncodingVersion)>>,
    ) -> bool {
        let mut shared = connection.lock();
        let end = shared.output.end();
        let Shared {
            machine, output, ..
        } = &mut *shared;
        let Some(recipient) = machine.handle_reply(id, |_| true, output.bytes()) else {
            // It was given up, or nobody asked for it.
            return false;
        };
        let mut count = 1;
        if let Recipient::Sink { sink, number, .. } = &recipient
            && rest.peek().is_some()
        {
            let mut is_next = |id| {
                let is_meant = |other: &Recipient| other.is_sink(sink, number + count);
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
            connection.flush();
        }
        match recipient {
            Recipient::Sink { sink, number, .. } => sink.returned(number..number + count),
            caller => caller.answer(IncomingReply::of_nothing(id, encoding)),
        }
        true
    }
}

/// The outcome that a reply to an event holds; `None` if nothing was returned.
fn outcome_or_nothing(reply: IncomingReply) -> Result<Option<Outcome>, InvokeError> {
    match reply.returned_nothing() {
        true => Ok(None),
        false => outcome_of_event(reply),
    }
}

/// The outcome that a reply to an event holds. Events have no results: it is enough that the servant has answered, as it
/// is for IceStorm, whose subscribers may leave out even the encapsulation of nothing.
pub(crate) fn outcome_of_event(reply: IncomingReply) -> Result<Option<Outcome>, InvokeError> {
    let is_of_servant = reply.is_of_servant();
    match reply.into_outcome() {
        Ok(Outcome::System(exception)) => Err(exception.into()),
        Ok(outcome) => Ok(Some(outcome)),
        Err(_) if is_of_servant => Ok(None),
        Err(error) => Err(InvokeError::BadReply(error)),
    }
}
