//! Events that leave without a wait, and whose replies a sink gets where they are read.

use std::sync::Arc;

use floe_wire::message::RequestId;

use super::Proxy;
use crate::connection::{ConnectionCore, ReplySink};
use crate::event::Event;

/// An event that was sent, until it is answered. Dropped before, it is given up: the sink does not get its reply any
/// more, unless it is being given it already.
pub struct PendingEvent {
    /// There until it is answered.
    connection: Option<Arc<ConnectionCore>>,
    id: RequestId,
}

/// The events of one [`Proxy::forward_at_once`], in their order. Those that are not taken are given up when it is
/// dropped.
pub struct PendingEvents {
    /// There while one is left.
    connection: Option<Arc<ConnectionCore>>,
    next_id: RequestId,
    left: usize,
}

/// The connection that an event left over. What leaves over it later arrives behind that event.
#[derive(Clone)]
pub struct ConnectionToken(Arc<ConnectionCore>);

impl Proxy {
    /// Sends events to this object as twoway requests, in one write, if nothing has to be waited for
    /// but their answers: if the proxy has a connection, which has room, and they are not more than 4096. `None`, and
    /// nothing is sent, if they must go by [`Proxy::forward`]. The sink gets the replies, that to the first event
    /// with the number `first`; it may get some before this returns. If there are events `behind` which these are to arrive,
    /// they leave over the same connection or not at all. The timeout of the proxy does not end them: the sender keeps the
    /// time for all.
    pub fn forward_at_once<S: ReplySink>(
        &self,
        events: &[Event],
        sink: &Arc<S>,
        first: u64,
        behind: Option<&ConnectionToken>,
    ) -> Option<PendingEvents> {
        let found = self.known_connection()?;
        if behind.is_some_and(|token| !Arc::ptr_eq(&token.0, &found.connection)) {
            return None;
        }
        if self.compressor(&found).is_some() {
            return None;
        }
        let connection = found.connection;
        connection.set_polling(self.polling());
        let target = self.target();
        // If it failed, `Proxy::forward` will find out why.
        let sent = connection.try_send_to_sink(events.len(), (sink, first), |buffer, id, at| {
            target.write_event(buffer, id, events[at].as_bytes())
        });
        let next_id = sent.ok().flatten()?;
        Some(PendingEvents {
            connection: (!events.is_empty()).then_some(connection),
            next_id,
            left: events.len(),
        })
    }
}

impl ConnectionToken {
    /// Whether it still takes events. If not, the answers to those under way may have come, or be errors, that are
    /// not told yet.
    pub fn is_open(&self) -> bool {
        self.0.is_active()
    }
}

impl PendingEvent {
    /// The connection that the event left over; `None` if it has ended.
    #[inline]
    pub fn token(&self) -> Option<ConnectionToken> {
        self.connection.clone().map(ConnectionToken)
    }

    /// The sink was given the answer.
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
        let id = self.next_id;
        self.left = self.left.saturating_sub(1);
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

impl std::fmt::Debug for ConnectionToken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ConnectionToken")
            .field("is_open", &self.is_open())
            .finish_non_exhaustive()
    }
}

impl std::fmt::Debug for PendingEvent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PendingEvent").finish_non_exhaustive()
    }
}

impl std::fmt::Debug for PendingEvents {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let left = &self.left;
        f.debug_struct("PendingEvents")
            .field("left", left)
            .finish_non_exhaustive()
    }
}
