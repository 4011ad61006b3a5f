//! Events that leave without any wait, and their answers, which are told where they are read.

use std::ops::Range;
use std::sync::Arc;

use floe_wire::message::{IncomingReply, Outcome, RequestId};

use super::Proxy;
use super::invoke::returned;
use crate::connection::{Connection, Failure, Told};
use crate::error::InvokeError;
use crate::event::Event;

/// Takes the answers to events that were sent with [`Proxy::forward_at_once`].
///
/// Each event that is not given up is answered once, by whoever reads the connection, or finds it broken: that must not
/// wait, and invoke nothing.
pub trait AnswerSink: Send + Sync + 'static {
    /// The servant has taken the events with these numbers, and returned nothing: what nearly every answer says. Those
    /// that follow each other in a read of nothing else are told together.
    fn returned(&self, numbers: Range<u64>);

    /// Another answer to the event with this number has come: what [`Proxy::forward`] would give. It may be that nothing
    /// was returned all the same.
    fn answered(&self, number: u64, answer: Result<Option<Outcome>, InvokeError>);

    /// No answers to the events with these numbers will come any more, by the errors of [`Proxy::invoke`]; nothing was
    /// tried again. They are all that were under way over a connection that has ended, in the order in which they were
    /// sent: who sends some of them again knows of all before others leave. Several sinks are told in the order in
    /// which the first such event of each was sent.
    fn failed(&self, failures: Vec<(u64, InvokeError)>);
}

/// An event that was sent, until it is answered. Dropped before, it is given up: its answer is not told any
/// more, unless that is being done already.
pub struct Forwarding {
    /// There until it is answered.
    connection: Option<Arc<Connection>>,
    id: RequestId,
}

/// The events of one [`Proxy::forward_at_once`], in their order. Those that are not taken are given up when it is
/// dropped.
pub struct Forwardings {
    /// There while one is left.
    connection: Option<Arc<Connection>>,
    next_id: RequestId,
    left: usize,
}

/// The connection that an event left over. What leaves over it later arrives behind that event.
#[derive(Clone)]
pub struct Way(Arc<Connection>);

impl Proxy {
    /// Sends events to this object as twoway requests, in one write, if nothing has to be waited for
    /// but their answers: if the proxy has a connection, which has room, and they are not more than 4096. `None`, and
    /// nothing is sent, if they must go by [`Proxy::forward`]. The sink is given the answers, that to the first event
    /// with the number `first`; some may come before this returns. If there are events `behind` which these are to arrive,
    /// they leave by the same way or not at all. The timeout of the proxy does not end these: whoever waits for many
    /// answers keeps the time for all.
    pub fn forward_at_once<S: AnswerSink>(
        &self,
        events: &[Event],
        sink: &Arc<S>,
        first: u64,
        behind: Option<&Way>,
    ) -> Option<Forwardings> {
        let found = self.known_connection()?;
        if behind.is_some_and(|way| !Arc::ptr_eq(&way.0, &found.connection)) {
            return None;
        }
        if self.compressor(&found).is_some() {
            return None;
        }
        let connection = found.connection;
        connection.set_polling(self.polling());
        let target = self.target();
        // Why it failed is found out by whoever sends them the long way.
        let sent = connection.requests_at_once(events.len(), (sink, first), |buffer, id, at| {
            target.write_event(buffer, id, events[at].as_bytes())
        });
        let next_id = sent.ok().flatten()?;
        Some(Forwardings {
            connection: (!events.is_empty()).then_some(connection),
            next_id,
            left: events.len(),
        })
    }
}

impl Way {
    /// Whether it still takes events. If not, the answers to those under way may have come, or be errors, that are
    /// not told yet.
    pub fn is_open(&self) -> bool {
        self.0.is_active()
    }
}

impl Forwarding {
    /// How the event left; `None` if it has ended.
    #[inline]
    pub fn way(&self) -> Option<Way> {
        self.connection.clone().map(Way)
    }

    /// The sink was given the answer.
    #[inline]
    pub fn end(mut self) {
        self.connection = None;
    }
}

impl Drop for Forwarding {
    #[inline]
    fn drop(&mut self) {
        if let Some(connection) = self.connection.take() {
            connection.give_up(self.id);
        }
    }
}

impl Iterator for Forwardings {
    type Item = Forwarding;

    #[inline]
    fn next(&mut self) -> Option<Forwarding> {
        let connection = match self.left {
            0 | 1 => self.connection.take(),
            _ => self.connection.clone(),
        };
        let id = self.next_id;
        self.left = self.left.saturating_sub(1);
        self.next_id = RequestId(id.0.wrapping_add(1));
        connection.map(|connection| Forwarding {
            connection: Some(connection),
            id,
        })
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl ExactSizeIterator for Forwardings {}

impl Drop for Forwardings {
    #[inline]
    fn drop(&mut self) {
        if self.left > 0 {
            self.for_each(drop);
        }
    }
}

impl<S: AnswerSink> Told for S {
    fn returned(&self, numbers: Range<u64>) {
        AnswerSink::returned(self, numbers);
    }

    fn answered(&self, number: u64, reply: IncomingReply) {
        AnswerSink::answered(self, number, meaning(reply));
    }

    fn failed(&self, failures: Vec<(u64, Failure)>) {
        let failures = failures.into_iter();
        let failures = failures.map(|(number, failure)| (number, failure.into()));
        AnswerSink::failed(self, failures.collect());
    }
}

/// What a reply says: an outcome, unless it is that nothing was returned.
fn meaning(reply: IncomingReply) -> Result<Option<Outcome>, InvokeError> {
    match reply.returned_nothing() {
        true => Ok(None),
        false => answer_to_event(reply),
    }
}

/// What a reply to an event says. Events have no results: that the servant has answered is enough, as it is for IceStorm,
/// whose subscribers may leave out even the encapsulation of nothing.
pub(super) fn answer_to_event(reply: IncomingReply) -> Result<Option<Outcome>, InvokeError> {
    let is_of_servant = reply.is_of_servant();
    match reply.into_outcome() {
        Ok(outcome) => returned(outcome),
        Err(_) if is_of_servant => Ok(None),
        Err(error) => Err(InvokeError::BadReply(error)),
    }
}

impl std::fmt::Debug for Way {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Way")
            .field("is_open", &self.is_open())
            .finish_non_exhaustive()
    }
}

impl std::fmt::Debug for Forwarding {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Forwarding").finish_non_exhaustive()
    }
}

impl std::fmt::Debug for Forwardings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let left = &self.left;
        f.debug_struct("Forwardings")
            .field("left", left)
            .finish_non_exhaustive()
    }
}
