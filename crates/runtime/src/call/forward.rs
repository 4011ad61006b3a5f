//! Events that are sent without a wait, and whose replies a reply sink gets where they are read.

use std::sync::Arc;

use floe_wire::encoding::{Buffer, EncodeError};
use floe_wire::message::RequestId;

use crate::connection::{ConnectionCore, ReplySink, try_send_to_sink};
use crate::event::{Event, Events};
use crate::proxy::Proxy;

/// An event in flight, or a run of them that one reply answers. If it is dropped before its reply has come, it is given up:
/// the sink gets no reply, unless the delivery of that reply has already begun.
#[derive(Debug)]
pub struct PendingEvent {
    /// Present until the reply has come.
    connection: Option<Arc<ConnectionCore>>,
    id: RequestId,
}

/// The events of one [`Proxy::try_forward`], or the runs of one [`Proxy::try_forward_runs`], in order. Those that are not
/// taken from it are given up when it is dropped.
#[derive(Debug)]
pub struct PendingEvents {
    /// Present while events are left.
    connection: Option<Arc<ConnectionCore>>,
    next_id: RequestId,
    left: usize,
}

/// Identifies the connection that an event was sent over. An event sent later over the same connection arrives after
/// it.
#[derive(Debug, Clone)]
pub struct ConnectionToken(Arc<ConnectionCore>);

impl Proxy {
    /// Sends events to this object as twoway requests in one write, if that needs no wait. The proxy must have a
    /// connection with room, and there must be at most 4096 events. Otherwise it returns `None`, with nothing sent, and
    /// the events must be sent by [`Proxy::forward`].
    ///
    /// The sink gets the replies: the reply to the first event with the number `first`, and so on. It may get some
    /// before this method returns. If these events must arrive `behind` earlier ones, they are sent over the same
    /// connection or not at all. The timeout of the proxy does not apply; the sender limits the time for all events
    /// itself.
    pub fn try_forward<S: ReplySink>(
        &self,
        events: &[Event],
        sink: &Arc<S>,
        first: u64,
        behind: Option<&ConnectionToken>,
    ) -> Option<PendingEvents> {
        // If it failed, `Proxy::forward` will find the reason.
        let write = |buffer: &mut Buffer, id, event: &Event| {
            self.target().write_event(buffer, id, event.as_bytes())
        };
        self.try_send_each(events, |_| 1, write, sink, first, behind)
    }

    /// Does the same as [`Proxy::try_forward`] with runs of events, at most 4096 of them. The last event of a run is a twoway
    /// request, and its reply answers the whole run. Those before it are sent as a batch. The object must have promised that
    /// it takes the requests of a connection in their order, and answers one only when it has taken those before it.
    pub fn try_forward_runs<S: ReplySink>(
        &self,
        runs: &[Events],
        sink: &Arc<S>,
        first: u64,
        behind: Option<&ConnectionToken>,
    ) -> Option<PendingEvents> {
        let len = |run: &Events| run.len() as u64;
        let write = |buffer: &mut Buffer, id, run: &Events| {
            if run.len() > 1 {
                self.write_batches(buffer, std::iter::once((run, run.len() - 1)))?;
            }
            self.target().write_event(buffer, id, run.last())
        };
        self.try_send_each(runs, len, write, sink, first, behind)
    }

    /// Sends requests in one write, each of which has a reply that answers `len` events, if that needs no wait.
    fn try_send_each<T, S: ReplySink>(
        &self,
        runs: &[T],
        len: impl Fn(&T) -> u64,
        write: impl Fn(&mut Buffer, RequestId, &T) -> Result<(), EncodeError>,
        sink: &Arc<S>,
        first: u64,
        behind: Option<&ConnectionToken>,
    ) -> Option<PendingEvents> {
        let routed = self.ready_connection()?;
        if behind.is_some_and(|token| !Arc::ptr_eq(&token.0, &routed.connection)) {
            return None;
        }
        if self.compressor(&routed).is_some() {
            return None;
        }
        let connection = routed.connection;
        connection.set_polling(self.polling());
        let mut next = first;
        let numbers = |at: usize| {
            let start = next;
            next += len(&runs[at]);
            start..next
        };
        let write = |buffer: &mut Buffer, id, at: usize| write(buffer, id, &runs[at]);
        let sent = try_send_to_sink(&connection, runs.len(), sink, numbers, write);
        let next_id = sent.ok().flatten()?;
        Some(PendingEvents {
            connection: (!runs.is_empty()).then_some(connection),
            next_id,
            left: runs.len(),
        })
    }
}

impl ConnectionToken {
    /// Returns true while the connection is open. Once it is closed, replies or failures of events in flight may still
    /// be on their way to the sink.
    pub fn is_open(&self) -> bool {
        self.0.is_active()
    }
}

impl PendingEvent {
    /// Returns the token of the connection that the event was sent over; `None` if that has ended.
    #[inline]
    pub fn token(&self) -> Option<ConnectionToken> {
        self.connection.clone().map(ConnectionToken)
    }

    /// Ends the event after the sink got its reply.
    #[inline]
    pub fn end(mut self) {
        self.connection = None;
    }
}

impl Drop for PendingEvent {
    #[inline]
    fn drop(&mut self) {
        if let Some(connection) = self.connection.take() {
            connection.give_up(self.id);
        }
    }
}

impl Iterator for PendingEvents {
    type Item = PendingEvent;

    #[inline]
    fn next(&mut self) -> Option<PendingEvent> {
        let connection = match self.left {
            0 | 1 => self.connection.take(),
            _ => self.connection.clone(),
        };
        self.left = self.left.saturating_sub(1);
        let id = self.next_id;
        self.next_id = RequestId(id.0.wrapping_add(1));
        connection.map(|connection| PendingEvent {
            connection: Some(connection),
            id,
        })
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl ExactSizeIterator for PendingEvents {}

impl Drop for PendingEvents {
    #[inline]
    fn drop(&mut self) {
        if self.left > 0 {
            self.for_each(drop);
        }
    }
}
