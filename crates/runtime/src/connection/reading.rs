//! The task that reads a connection, and dispatches requests in place.
//!
//! A dispatch is polled once where its request was found; only if it has to wait does it become a
//! task of its own. The replies of one read leave in one write.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use bytes::BytesMut;
use floe_wire::connection::Event;
use floe_wire::message::{
    IncomingRequest, Message, Outcome, ProtocolError, SystemException, reply,
};
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::{Connection, Shared, Waiter};
use crate::adapter::{DispatchFuture, Request, Response};
use crate::error::LocalError;

/// Room for a read when nothing is known of the next message.
const READ_LEN_MIN: usize = 4 * 1024;
/// The most room that is kept ready for small messages.
const READ_LEN_MAX: usize = 256 * 1024;

/// Replies of one read that are collected before they are written, in bytes.
const REPLIES_MAX: usize = 64 * 1024;

/// Reads until the connection is closed.
pub(super) async fn run(connection: Arc<Connection>, reader: Box<dyn AsyncRead + Send + Unpin>) {
    let mut reading = Reading::new(connection, reader);
    let end = reading.read_to_end().await;
    reading.connection.end(end);
}

/// How the reading of a connection ended.
enum End {
    /// A graceful close, by either side.
    Graceful,
    /// The stream ended or broke between two messages.
    Lost(String),
    /// The stream ended in the middle of a message.
    Truncated(String),
    /// The peer broke the protocol.
    Refused(ProtocolError),
}

struct Reading {
    connection: Arc<Connection>,
    reader: Box<dyn AsyncRead + Send + Unpin>,
    input: BytesMut,
    read_len: usize,
    events: Vec<Event<Waiter>>,
    replies: Vec<u8>,
    reply_count: usize,
    /// An empty buffer for the next reply, kept for its allocation.
    spare: Vec<u8>,
    dispatches: Arc<Semaphore>,
}

impl Reading {
    fn new(connection: Arc<Connection>, reader: Box<dyn AsyncRead + Send + Unpin>) -> Self {
        let dispatches = Arc::new(Semaphore::new(connection.settings.dispatch_limit));
        Self {
            connection,
            reader,
            input: BytesMut::new(),
            read_len: READ_LEN_MIN,
            events: Vec::new(),
            replies: Vec::new(),
            reply_count: 0,
            spare: Vec::new(),
            dispatches,
        }
    }

    async fn read_to_end(&mut self) -> End {
        loop {
            match self.read_some().await {
                Ok(0) => return self.end_of_stream(),
                Ok(_) => {}
                Err(end) => return end,
            }
            if let Err(error) = self.take_messages() {
                // What came before the bad message is answered first.
                self.handle_events().await;
                self.flush_replies();
                return End::Refused(error);
            }
            if self.handle_events().await {
                return End::Graceful;
            }
            self.flush_replies();
            self.connection.wait_for_room().await;
        }
    }

    async fn read_some(&mut self) -> Result<usize, End> {
        let limit = self.connection.settings.message_size_max;
        let missing = Message::needed(&self.input, limit).saturating_sub(self.input.len());
        // A header alone reserves nothing: the buffer grows with what really arrives.
        let growth_max = self.read_len.max(self.input.len());
        self.input.reserve(missing.clamp(self.read_len, growth_max));
        let room = self.input.capacity() - self.input.len();
        let count = self.reader.read_buf(&mut self.input).await;
        if count.as_ref().is_ok_and(|count| *count == room) {
            self.read_len = (self.read_len * 2).min(READ_LEN_MAX);
        }
        count.map_err(|error| End::Lost(error.to_string()))
    }

    fn end_of_stream(&self) -> End {
        match self.input.len() {
            0 if self.connection.is_closing() => End::Graceful,
            0 => End::Lost("the peer ended the stream without closing the connection".into()),
            count => {
                let needed =
                    Message::needed(&self.input, self.connection.settings.message_size_max);
                End::Truncated(format!(
                    "the peer ended the stream in the middle of a message, after {count} of {needed} bytes"
                ))
            }
        }
    }

    /// Turns all whole messages of the input into events.
    fn take_messages(&mut self) -> Result<(), ProtocolError> {
        let limit = self.connection.settings.message_size_max;
        let mut shared = self.connection.lock();
        let Shared {
            machine, output, ..
        } = &mut *shared;
        while !machine.is_closed() {
            let Some(message) = Message::split(&mut self.input, limit)? else {
                break;
            };
            match machine.handle_message(&message, output.pending())? {
                Event::Nothing => {}
                event => self.events.push(event),
            }
        }
        Ok(())
    }

    /// Handles the events; true if the peer closed the connection.
    async fn handle_events(&mut self) -> bool {
        let mut events = std::mem::take(&mut self.events);
        let mut is_closed = false;
        for event in events.drain(..) {
            match event {
                Event::Reply(waiter, reply) => {
                    // The caller may have stopped waiting this very moment.
                    let _ = waiter.send(Ok(reply));
                }
                Event::Request(request) => self.dispatch(request).await,
                Event::Batch(batch) => {
                    for request in batch {
                        self.dispatch(request).await;
                    }
                }
                Event::Validated => {
                    self.connection.settled.send_replace(true);
                }
                Event::Closed(waiters) => {
                    self.connection.refuse(waiters);
                    is_closed = true;
                }
                Event::Nothing => {}
            }
        }
        self.events = events;
        is_closed
    }

    /// Dispatches a request: here if it is done at once, else in a task of its own.
    ///
    /// A peer that does not read its replies is not read from, so that they cannot pile up here.
    async fn dispatch(&mut self, request: IncomingRequest) {
        if self.replies.len() > REPLIES_MAX {
            self.flush_replies();
            self.connection.wait_for_room().await;
        }
        let mut future = match self.find(&request) {
            Ok(future) => future,
            Err(exception) => return self.reply(&request, Err(exception)),
        };
        let polled = poll_dispatch(&mut future, &mut Context::from_waker(Waker::noop()));
        match polled {
            Poll::Ready(result) => self.reply(&request, result),
            Poll::Pending => {
                // With too many dispatches under way, reading stops here until one is done.
                let permit = self.dispatches.clone().acquire_owned().await;
                let permit = permit.expect("the semaphore is never closed");
                let connection = self.connection.clone();
                self.connection
                    .tasks
                    .spawn(finish_dispatch(connection, request, future, permit));
            }
        }
    }

    fn find(&mut self, request: &IncomingRequest) -> Result<DispatchFuture, SystemException> {
        let Some(adapter) = &self.connection.adapter else {
            return Err(SystemException::ObjectNotExist(request.target()));
        };
        let dispatcher = adapter.find(request)?;
        let buffer = std::mem::take(&mut self.spare);
        let peer = self.connection.clone();
        let request = Request::new(request.clone(), adapter.clone(), peer, buffer);
        Ok(dispatcher.dispatch(request))
    }

    fn reply(&mut self, request: &IncomingRequest, result: Result<Response, SystemException>) {
        let mut reply = encode_reply(request, result);
        if request.id().is_oneway() {
            self.spare = reply;
            self.spare.clear();
            return;
        }
        self.reply_count += 1;
        if self.replies.is_empty() {
            std::mem::swap(&mut self.replies, &mut reply);
        } else {
            self.replies.append(&mut reply);
        }
        self.spare = reply;
    }

    /// Writes the replies of this read, or whatever else was appended meanwhile.
    fn flush_replies(&mut self) {
        let count = std::mem::take(&mut self.reply_count);
        if count > 0 {
            self.connection.send_replies(&mut self.replies, count);
        } else {
            self.connection.flush();
        }
    }
}

impl Connection {
    fn is_closing(&self) -> bool {
        self.lock().machine.is_closing()
    }

    /// The peer closed gracefully: none of these requests was executed.
    fn refuse(&self, waiters: Vec<Waiter>) {
        let failure = super::Failure {
            error: LocalError::ClosedByPeer {
                peer: self.peer.clone(),
            },
            perhaps_dispatched: false,
        };
        for waiter in waiters {
            let _ = waiter.send(Err(failure.clone()));
        }
    }

    fn end(&self, end: End) {
        let peer = self.peer.clone();
        match end {
            End::Graceful => {
                tracing::debug!("closed the connection to {peer}");
                self.fail(LocalError::ClosedByPeer { peer }, false);
            }
            End::Lost(reason) => {
                tracing::debug!("lost the connection to {peer}: {reason}");
                self.fail(LocalError::ConnectionLost { peer, reason }, true);
            }
            End::Truncated(reason) => {
                tracing::warn!("closed the connection to {peer}: {reason}");
                self.fail(LocalError::ConnectionLost { peer, reason }, true);
            }
            End::Refused(error) => {
                tracing::warn!("closed the connection to {peer}: {error}");
                self.fail(LocalError::Protocol { peer, error }, true);
            }
        }
    }
}

/// Waits for a dispatch that was not done at once, and sends its reply.
async fn finish_dispatch(
    connection: Arc<Connection>,
    request: IncomingRequest,
    mut future: DispatchFuture,
    _permit: OwnedSemaphorePermit,
) {
    let result = std::future::poll_fn(|context| poll_dispatch(&mut future, context)).await;
    let mut reply = encode_reply(&request, result);
    if !request.id().is_oneway() {
        connection.wait_for_room().await;
        connection.send_replies(&mut reply, 1);
    }
}

/// Polls a dispatch; a panic of the servant is a failure of that request alone.
fn poll_dispatch(
    future: &mut DispatchFuture,
    context: &mut Context<'_>,
) -> Poll<Result<Response, SystemException>> {
    let polled = std::panic::catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(context)));
    polled.unwrap_or_else(|panic| {
        let reason = panic_text(&*panic);
        tracing::error!("a servant panicked: {reason}");
        Poll::Ready(Err(SystemException::UnknownException(format!(
            "the servant panicked: {reason}"
        ))))
    })
}

fn panic_text(panic: &(dyn std::any::Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("no reason given")
}

/// The bytes of the reply; meaningless for a oneway request.
fn encode_reply(request: &IncomingRequest, result: Result<Response, SystemException>) -> Vec<u8> {
    let exception = match result {
        Ok(response) => return response.into_buffer(),
        Err(exception) => exception.with_target(&request.target()),
    };
    let mut buffer = Vec::new();
    let written = reply::write_outcome(&mut buffer, request.id(), &Outcome::System(exception));
    if let Err(error) = written {
        let exception = SystemException::UnknownLocalException(error.to_string());
        // A short text always has an encoding.
        let _ = reply::write_outcome(&mut buffer, request.id(), &Outcome::System(exception));
    }
    buffer
}
