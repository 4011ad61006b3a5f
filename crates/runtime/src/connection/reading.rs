//! What is read on a connection, and what becomes of it. Who reads is another question: see
//! `driver.rs`.

use std::collections::VecDeque;
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll, Waker};

use floe_wire::compression::Decompressor;
use floe_wire::connection::Event;
use floe_wire::message::ProtocolError;
use tokio::io::{AsyncRead, ReadBuf};

use super::dispatching::Dispatching;
use super::input::Input;
use super::slot::Slot;
use super::spare::{self, Spare};
use super::{Connection, Failure, Shared};
use crate::blocking::Wait;
use crate::error::LocalError;
use crate::polling::Polling;

/// How the reading of a connection ended.
pub(super) enum End {
    /// A graceful close, by either side.
    Graceful,
    /// The stream ended or broke between two messages.
    Lost(String),
    /// The stream ended in the middle of a message.
    Truncated(String),
    /// The peer broke the protocol.
    Refused(ProtocolError),
}

/// What has been read and is to be handled.
type Events = VecDeque<Event<Arc<Slot>>>;

thread_local! {
    /// Empty ones, of connections that wait.
    static EVENTS: Spare<Events> = const { Spare::new(Vec::new()) };
}

/// The reading half of a connection, which one thread or task at a time uses.
///
/// The connection ends with it, however that comes about: requests in flight must hear of it.
pub(super) struct Reading {
    pub(super) connection: Arc<Connection>,
    pub(super) polling: Polling,
    input: Input,
    decompressor: Decompressor,
    events: Events,
    /// Whether the state machine has appended something, such as the end of a graceful close.
    has_output: bool,
    dispatching: Dispatching,
    has_ended: bool,
}

impl Reading {
    pub(super) fn new(connection: Arc<Connection>) -> Self {
        Self {
            dispatching: Dispatching::new(connection.clone()),
            connection,
            polling: Polling::default(),
            input: Input::default(),
            decompressor: Decompressor::default(),
            events: Events::new(),
            has_output: false,
            has_ended: false,
        }
    }

    /// Where to read to.
    pub(super) fn room(&mut self) -> &mut [u8] {
        let limit = self.connection.settings.message_size_max;
        self.input.room(limit)
    }

    /// Reads into the room, of which it needs none while it waits.
    pub(super) async fn read<R>(&mut self, reader: &mut R) -> std::io::Result<usize>
    where
        R: AsyncRead + Unpin + ?Sized,
    {
        poll_fn(|context| {
            let mut room = ReadBuf::new(self.room());
            let polled = Pin::new(&mut *reader).poll_read(context, &mut room);
            let count = room.filled().len();
            if polled.is_pending() {
                self.rest();
            }
            polled.map_ok(|()| count)
        })
        .await
    }

    /// Nothing is there to read: gives what is needed only then to this thread.
    fn rest(&mut self) {
        self.input.rest();
        if self.events.capacity() > 0 && self.events.is_empty() {
            spare::put_back(&EVENTS, std::mem::take(&mut self.events));
        }
    }

    /// Gives the buffer of the last long message to this thread.
    pub(super) fn rest_long(&mut self) {
        self.input.rest_long();
    }

    /// Whether it keeps such a buffer.
    #[cfg(unix)]
    pub(super) fn has_long(&self) -> bool {
        self.input.has_long()
    }

    /// Keeps no such buffer any longer.
    #[cfg(unix)]
    pub(super) fn drop_long(&mut self) {
        self.input.drop_long();
    }

    /// Handles what a read into the room gave, and answers it; false when the connection has ended.
    pub(super) async fn handle(&mut self, read: std::io::Result<usize>) -> bool {
        let end = match read {
            Ok(0) => Some(self.end_of_stream()),
            Ok(count) => {
                let connection = self.connection.clone();
                connection.handling(pin!(self.handle_bytes(count))).await
            }
            Err(error) => Some(End::Lost(error.to_string())),
        };
        match end {
            Some(end) => {
                self.end(end);
                false
            }
            None => true,
        }
    }

    /// The same on this thread, which waits if it has to.
    pub(super) fn handle_here(&mut self, read: std::io::Result<usize>) -> bool {
        let mut handling = pin!(self.handle(read));
        match handling
            .as_mut()
            .poll(&mut Context::from_waker(Waker::noop()))
        {
            Poll::Ready(is_open) => is_open,
            // The output or the dispatches under way are at their limit: a rare thing.
            Poll::Pending => handling.wait(),
        }
    }

    async fn handle_bytes(&mut self, count: usize) -> Option<End> {
        self.connection.pulse.mark_handling();
        self.input.filled(count);
        if self.events.capacity() == 0 {
            self.events = spare::take(&EVENTS).unwrap_or_default();
        }
        let mut has_message = false;
        let end = loop {
            let taken = self.take_messages();
            has_message |= self
                .events
                .iter()
                .any(|event| !matches!(event, Event::Heartbeat));
            // What came before a bad message is answered first.
            let is_closed = self.handle_events().await;
            self.dispatching.finish_read().await;
            if std::mem::take(&mut self.has_output) {
                self.connection.flush();
            }
            match taken {
                Err(error) => break Some(End::Refused(error)),
                Ok(_) if is_closed => break Some(End::Graceful),
                Ok(true) => {}
                Ok(false) => break None,
            }
        };
        self.connection.pulse.mark_handled(has_message);
        end
    }

    fn end_of_stream(&mut self) -> End {
        let limit = self.connection.settings.message_size_max;
        match self.input.len() {
            // What came since then was not looked at.
            _ if self.connection.lock().machine.is_closed() => End::Graceful,
            0 if self.connection.lock().machine.is_closing() => End::Graceful,
            0 if self.connection.lock().machine.is_validating() => End::Lost(
                "the peer ended the stream before it validated the connection: it is shutting down, or \
                 at its limit of connections, or speaks another protocol; see its log"
                    .into(),
            ),
            0 => End::Lost("the peer ended the stream without closing the connection".into()),
            count => End::Truncated(format!(
                "the peer ended the stream in the middle of a message, after {count} of {} bytes",
                self.input.needed(limit)
            )),
        }
    }

    /// Turns whole messages of the input into events: all, or as many as were compressed and are
    /// as long as one may be. True if more may be there.
    fn take_messages(&mut self) -> Result<bool, ProtocolError> {
        let limit = self.connection.settings.message_size_max;
        let mut decompressed_len = 0;
        let mut shared = self.connection.lock();
        let end = shared.output.end();
        while !shared.machine.is_closed() && decompressed_len < limit {
            match shared.machine.take_requests(self.input.bytes(), limit) {
                None => {}
                Some(Event::Nothing) => continue,
                Some(event) => {
                    self.events.push_back(event);
                    continue;
                }
            }
            let Some(mut message) = self.input.split(limit)? else {
                break;
            };
            if message.is_compressed() {
                // It takes a while: others may send meanwhile.
                drop(shared);
                message = self.decompressor.decompress(message, limit)?;
                decompressed_len += message.bytes.len();
                shared = self.connection.lock();
            }
            let Shared {
                machine, output, ..
            } = &mut *shared;
            match machine.handle_message(message, output.pending())? {
                Event::Nothing => {}
                event => self.events.push_back(event),
            }
        }
        self.has_output |= shared.output.end() > end;
        Ok(decompressed_len >= limit)
    }

    /// Handles the events; true if the peer closed the connection.
    async fn handle_events(&mut self) -> bool {
        let mut is_closed = false;
        // One by one: what is left when this is dropped is still to be answered.
        while let Some(event) = self.events.pop_front() {
            match event {
                Event::Reply(slot, reply) => slot.answer(Ok(reply)),
                Event::Request(request) => self.dispatching.run(request.into()).await,
                Event::Run(run) => self.dispatching.run(run).await,
                Event::Batch(batch) => Box::pin(self.dispatching.batch(batch)).await,
                Event::Validated => {
                    self.connection.is_active.store(true, Ordering::Relaxed);
                    self.connection.settled.settle();
                }
                Event::Closed(slots) => {
                    self.connection.is_active.store(false, Ordering::Relaxed);
                    self.connection.refuse(&slots);
                    is_closed = true;
                }
                Event::Heartbeat => self.connection.tell_heartbeat(),
                Event::Nothing => {}
            }
        }
        is_closed
    }

    /// Gives replies that have come to their callers. The state machine does not know of them any more, so that
    /// nobody else would.
    fn answer_rest(&mut self) {
        for event in self.events.drain(..) {
            match event {
                Event::Reply(slot, reply) => slot.answer(Ok(reply)),
                Event::Closed(slots) => self.connection.refuse(&slots),
                _ => {}
            }
        }
    }

    fn end(&mut self, end: End) {
        if !std::mem::replace(&mut self.has_ended, true) {
            self.connection.end(end);
        }
    }
}

impl Drop for Reading {
    fn drop(&mut self) {
        self.answer_rest();
        self.end(End::Lost(
            "its task was dropped with its runtime".to_owned(),
        ));
    }
}

impl Connection {
    /// The peer closed gracefully: none of these requests was executed.
    fn refuse(&self, slots: &[Arc<Slot>]) {
        for slot in slots {
            slot.answer(Err(Failure {
                error: LocalError::ClosedByPeer {
                    peer: self.peer.clone(),
                },
                perhaps_dispatched: false,
            }));
        }
    }

    fn end(&self, end: End) {
        let peer = self.peer.clone();
        match end {
            End::Graceful => {
                tracing::debug!("closed the connection to {peer}");
                self.fail(LocalError::ClosedByPeer { peer });
            }
            End::Lost(reason) => {
                tracing::debug!("lost the connection to {peer}: {reason}");
                self.fail(LocalError::ConnectionLost { peer, reason });
            }
            End::Truncated(reason) => {
                self.complain(|| format!("closed the connection to {peer}: {reason}"));
                self.fail(LocalError::ConnectionLost { peer, reason });
            }
            End::Refused(error) => {
                self.complain(|| format!("closed the connection to {peer}: {error}"));
                self.fail(LocalError::Protocol { peer, error });
            }
        }
    }
}
