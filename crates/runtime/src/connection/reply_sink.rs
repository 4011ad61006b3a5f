//! The recipient of a reply: a caller that waits for it, or a reply sink that gets replies where they are read.

use std::collections::HashMap;
use std::iter::Peekable;
use std::ops::Range;
use std::sync::Arc;

use floe_wire::connection::{FlushPolicy, RequestIds};
use floe_wire::encoding::{Buffer, EncodeError, EncodingVersion};
use floe_wire::message::{IncomingReply, Outcome, RequestId};

use super::appended::Appended;
use super::pending_reply::PendingReply;
use super::send_half::ConnectionState;
use super::wait::wait_depth;
use super::{ConnectionCore, reentrancy_guard};
use crate::error::{AttemptError, InvokeError, LocalError};

/// Receives the replies to events that were sent with [`Proxy::try_forward`](crate::Proxy::try_forward).
///
/// Each event that is not given up is answered exactly once. The thread or task that reads the connection calls the
/// sink, or the one that finds the connection broken. The sink must neither block nor invoke operations. No lock of the
/// connection is held during the call.
pub trait ReplySink: Send + Sync + 'static {
    /// The servant has accepted the events with these numbers and returned nothing, as in nearly every reply.
    /// Consecutive replies of one read that hold nothing else are delivered together.
    fn returned(&self, numbers: Range<u64>);

    /// Any other reply to the event with this number has come; `answer` is what
    /// [`Proxy::forward`](crate::Proxy::forward) would return. It may also say that nothing was returned.
    fn answered(&self, number: u64, answer: Result<Option<Outcome>, InvokeError>);

    /// The events with these numbers will get no reply; the errors are those of
    /// [`Proxy::invoke`](crate::Proxy::invoke). Nothing was retried. These are all events that were in flight over a
    /// connection that has ended, in the order in which they were sent, so that some can be sent again before other
    /// events. If there are several sinks, the sink whose first such event was sent first is called first.
    fn failed(&self, failures: Vec<(u64, InvokeError)>);
}

/// The recipient of the reply to a request in flight.
pub(super) enum ReplyRecipient {
    /// The caller that waits for this pending reply.
    Caller(Arc<PendingReply>),
    Sink {
        sink: Arc<dyn ReplySink>,
        /// The number by which the sink knows the request.
        number: u64,
        /// Position in the send queue at which the batch of the request starts.
        start: u64,
    },
}

impl ReplyRecipient {
    /// Returns true if it is this caller.
    pub(super) fn is_caller(&self, caller: &Arc<PendingReply>) -> bool {
        matches!(self, Self::Caller(pending) if Arc::ptr_eq(pending, caller))
    }

    /// Returns true if it is this sink with this number.
    #[inline]
    fn is_sink(&self, meant: &Arc<dyn ReplySink>, expected: u64) -> bool {
        match self {
            Self::Caller(_) => false,
            Self::Sink { sink, number, .. } => *number == expected && Arc::ptr_eq(sink, meant),
        }
    }

    /// Delivers the reply.
    pub(super) fn answer(self, reply: IncomingReply) {
        match self {
            Self::Caller(pending) => pending.answer(Ok(reply)),
            Self::Sink { sink, number, .. } => sink.answered(number, outcome_or_nothing(reply)),
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
                    number,
                    start,
                } => {
                    failure.narrow(start, taken);
                    let next = sinks.len();
                    let index = *indices.entry(Arc::as_ptr(&sink).addr()).or_insert(next);
                    if index == next {
                        sinks.push((sink, Vec::new()));
                    }
                    sinks[index].1.push((number, failure.into()));
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
        let mut count = 1;
        if let Self::Sink { sink, number, .. } = &recipient
            && rest.peek().is_some()
        {
            let mut is_next = |id| {
                let is_meant = |other: &Self| other.is_sink(sink, number + count);
                let next = machine.handle_reply(id, is_meant, queue.bytes());
                count += u64::from(next.is_some());
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
            Self::Sink { sink, number, .. } => sink.returned(number..number + count),
            caller => caller.answer(IncomingReply::of_nothing(id, encoding)),
        }
        true
    }
}

/// Sends twoway requests in one write if there is room for them. Returns `None`, with nothing sent, if there is none.
///
/// The sink gets the replies: the reply to the first request with the number `first`, and so on. It may get some before
/// this function returns. The ids of the requests are consecutive; this function returns the first.
pub(crate) fn try_send_to_sink<S: ReplySink>(
    connection: &Arc<ConnectionCore>,
    count: usize,
    (sink, first): (&Arc<S>, u64),
    write: impl Fn(&mut Buffer, RequestId, usize) -> Result<(), EncodeError>,
) -> Result<Option<RequestId>, AttemptError> {
    reentrancy_guard::check(connection, wait_depth())?;
    // All requests count from the start of the batch, because the transport gets the whole batch.
    let recipient = |at, start| ReplyRecipient::Sink {
        sink: sink.clone(),
        number: first + at as u64,
        start,
    };
    let ids = RequestIds::Next(count);
    let sent = Appended::try_requests(connection, ids, FlushPolicy::Now, write, recipient)?;
    Ok(sent.map(|sent| sent.value))
}

/// Returns the outcome in a reply to an event; `None` if nothing was returned.
fn outcome_or_nothing(reply: IncomingReply) -> Result<Option<Outcome>, InvokeError> {
    match reply.returned_nothing() {
        true => Ok(None),
        false => outcome_of_event(reply),
    }
}

/// Returns the outcome in a reply to an event. Events have no results, so any answer of the servant suffices. IceStorm
/// has the same rule: its subscribers may leave out even the empty encapsulation.
pub(crate) fn outcome_of_event(reply: IncomingReply) -> Result<Option<Outcome>, InvokeError> {
    let is_of_servant = reply.is_of_servant();
    match reply.into_outcome() {
        Ok(Outcome::System(exception)) => Err(exception.into()),
        Ok(outcome) => Ok(Some(outcome)),
        Err(_) if is_of_servant => Ok(None),
        Err(error) => Err(InvokeError::BadReply(error)),
    }
}
