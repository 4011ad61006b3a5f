//! Events that are sent without a wait, and whose replies a reply sink gets where they are read.

use std::sync::Arc;

use floe_wire::encoding::Buffer;
use floe_wire::message::RequestId;

use crate::connection::{ConnectionCore, ReplySink, try_send_to_sink};
use crate::event::Event;
use crate::proxy::Proxy;

/// An event in flight. If it is dropped before its reply has come, it is given up: the sink gets no reply, unless the
/// delivery of that reply has already begun.
#[derive(Debug)]
pub struct PendingEvent {
    /// Present until the reply has come.
    connection: Option<Arc<ConnectionCore>>,
    /// That of oneway requests, if the reply to a later event answers this one, too.
    id: RequestId,
}

/// The events of one [`Proxy::try_forward`], in order. Events that are not taken from it are given up when it is
/// dropped.
#[derive(Debug)]
pub struct PendingEvents {
    /// Present while events are left.
    connection: Option<Arc<ConnectionCore>>,
    /// The id of the next request with a reply.
    next_id: RequestId,
    left: usize,
    /// How many events of the group of the next one are left.
    left_of_group: usize,
    together: usize,
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
        self.try_forward_together(events, sink, first, behind, 1)
    }

    /// Does the same as [`Proxy::try_forward`], but only every `together`th event and the last one are twoway requests. The
    /// reply to one of them answers the events before it as well: the object must have promised that it takes the requests of
    /// a connection in their order, and answers one only when it has taken those before it.
    pub fn try_forward_together<S: ReplySink>(
        &self,
        events: &[Event],
        sink: &Arc<S>,
        first: u64,
        behind: Option<&ConnectionToken>,
        together: usize,
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
        let target = self.target();
        let together = together.max(1);
        let group = |at: usize| at * together..events.len().min((at + 1) * together);
        // If it failed, `Proxy::forward` will find the reason.
        let write = |buffer: &mut Buffer, id, at: usize| {
            let group = &events[group(at)];
            let (last, others) = group.split_last().expect("no group is empty");
            for event in others {
                target.write_event(buffer, RequestId::ONEWAY, event.as_bytes())?;
            }
            target.write_event(buffer, id, last.as_bytes())
        };
        let numbers = |at| {
            let group = group(at);
            first + group.start as u64..first + group.end as u64
        };
        let count = events.len().div_ceil(together);
        let sent = try_send_to_sink(&connection, count, sink, numbers, write);
        let next_id = sent.ok().flatten()?;
        Some(PendingEvents {
            connection: (!events.is_empty()).then_some(connection),
            next_id,
            left: events.len(),
            left_of_group: together.min(events.len()),
            together,
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
        if let Some(connection) = self.connection.take()
            && !self.id.is_oneway()
        {
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
        let id = match self.left_of_group {
            0 | 1 => {
                self.left_of_group = self.together.min(self.left);
                let id = self.next_id;
                self.next_id = RequestId(id.0.wrapping_add(1));
                id
            }
            _ => {
                self.left_of_group -= 1;
                RequestId::ONEWAY
            }
        };
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
