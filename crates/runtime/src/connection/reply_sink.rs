//! Reply sinks get the replies to the events that they sent, where the replies are read.

use std::ops::Range;
use std::sync::Arc;

use floe_wire::connection::{FlushPolicy, RequestIds};
use floe_wire::encoding::{Buffer, EncodeError};
use floe_wire::message::{IncomingReply, Outcome, RequestId};

use super::appended::Appended;
use super::reply_recipient::ReplyRecipient;
use super::wait::wait_depth;
use super::{ConnectionCore, reentrancy_guard};
use crate::error::{AttemptError, InvokeError};

/// Receives the replies to events that were sent with [`Proxy::try_forward`](crate::Proxy::try_forward).
///
/// Each event that is not given up is answered exactly once. One reply answers the events of a run, whose numbers are
/// consecutive. The thread or task that reads the connection calls the
/// sink, or the one that finds the connection broken. The sink must neither block nor invoke operations. No lock of the
/// connection is held during the call.
pub trait ReplySink: Send + Sync + 'static {
    /// The servant has accepted the events with these numbers and returned nothing, as in nearly every reply.
    /// Consecutive replies of one read that hold nothing else are delivered together.
    fn returned(&self, numbers: Range<u64>);

    /// Any other reply to the events with these numbers has come; `answer` is what
    /// [`Proxy::forward`](crate::Proxy::forward) would return. It may also say that nothing was returned. It is the answer to
    /// the last of the events. The servant has accepted those before it.
    fn answered(&self, numbers: Range<u64>, answer: Result<Option<Outcome>, InvokeError>);

    /// The events with these numbers will get no reply; the errors are those of
    /// [`Proxy::invoke`](crate::Proxy::invoke). Nothing was retried. These are all events that were in flight over a
    /// connection that has ended, in the order in which they were sent, so that some can be sent again before other
    /// events. If there are several sinks, the sink whose first such event was sent first is called first.
    fn failed(&self, failures: Vec<(Range<u64>, InvokeError)>);
}

/// Sends runs of events in one write if there is room for them. Returns `None`, with nothing sent, if there is none. `write`
/// appends a run, whose last event is a request with the given id and gets a reply.
///
/// The sink gets the replies: `numbers` is called for one run after the other, and returns those that its reply answers. The
/// sink may get some before this function returns. The ids of the runs are consecutive; this function returns the first.
pub(crate) fn try_send_to_sink<S: ReplySink>(
    connection: &Arc<ConnectionCore>,
    count: usize,
    sink: &Arc<S>,
    mut numbers: impl FnMut(usize) -> Range<u64>,
    write: impl Fn(&mut Buffer, RequestId, usize) -> Result<(), EncodeError>,
) -> Result<Option<RequestId>, AttemptError> {
    reentrancy_guard::check(connection, wait_depth())?;
    // All requests count from the start of the batch, because the transport gets the whole batch.
    let recipient = |at, start| ReplyRecipient::Sink {
        sink: sink.clone(),
        numbers: numbers(at),
        start,
    };
    let ids = RequestIds::Next(count);
    let sent = Appended::try_requests(connection, ids, FlushPolicy::Now, write, recipient)?;
    Ok(sent.map(|sent| sent.value))
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
