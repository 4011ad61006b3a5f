//! The task that reads a connection, and hands on what arrives.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use bytes::BytesMut;
use floe_wire::compression::Decompressor;
use floe_wire::connection::Event;
use floe_wire::message::{Message, ProtocolError};
use tokio::io::{AsyncRead, AsyncReadExt};

use super::dispatching::Dispatching;
use super::{Connection, Failure, Shared, Waiter};
use crate::error::LocalError;

/// Room for a read when nothing is known of the next message.
const READ_LEN_MIN: usize = 4 * 1024;
/// The most room that is kept ready for small messages.
const READ_LEN_MAX: usize = 256 * 1024;

/// Reads until the connection is closed.
pub(super) async fn run(connection: Arc<Connection>, reader: Box<dyn AsyncRead + Send + Unpin>) {
    // The runtime may drop this task at any wait; whoever has a request in flight must hear of it.
    let mut guard = EndOnDrop {
        connection: connection.clone(),
        end: Some(End::Lost(
            "its task was dropped with its runtime".to_owned(),
        )),
    };
    let mut reading = Reading::new(connection, reader);
    guard.end = Some(reading.read_to_end().await);
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
    decompressor: Decompressor,
    events: Vec<Event<Waiter>>,
    /// Whether the state machine has appended something, such as the end of a graceful close.
    has_output: bool,
    dispatching: Dispatching,
}

impl Reading {
    fn new(connection: Arc<Connection>, reader: Box<dyn AsyncRead + Send + Unpin>) -> Self {
        Self {
            dispatching: Dispatching::new(connection.clone()),
            connection,
            reader,
            input: BytesMut::new(),
            read_len: READ_LEN_MIN,
            decompressor: Decompressor::default(),
            events: Vec::new(),
            has_output: false,
        }
    }

    async fn read_to_end(&mut self) -> End {
        loop {
            match self.read_some().await {
                Ok(0) => return self.end_of_stream(),
                Ok(_) => self.connection.has_read.store(true, Ordering::Relaxed),
                Err(error) => return End::Lost(error.to_string()),
            }
            loop {
                let taken = self.take_messages();
                // What came before a bad message is answered first.
                let is_closed = self.handle_events().await;
                self.dispatching.flush().await;
                if std::mem::take(&mut self.has_output) {
                    self.connection.flush();
                }
                match taken {
                    Err(error) => return End::Refused(error),
                    Ok(_) if is_closed => return End::Graceful,
                    Ok(true) => {}
                    Ok(false) => break,
                }
            }
        }
    }

    async fn read_some(&mut self) -> std::io::Result<usize> {
        self.make_room();
        let room = self.input.capacity() - self.input.len();
        let count = self.reader.read_buf(&mut self.input).await?;
        if count == room {
            self.read_len = (self.read_len * 2).min(READ_LEN_MAX);
        } else if count < self.read_len / 8 {
            self.read_len = (self.read_len / 2).max(READ_LEN_MIN);
        }
        Ok(count)
    }

    /// Makes room for the next read. A header alone reserves nothing: the buffer grows with what
    /// really arrives. A buffer with some room left is read into as it is, for a new one would have
    /// to be allocated as long as anybody holds a part of it.
    fn make_room(&mut self) {
        let limit = self.connection.settings.message_size_max;
        let missing = Message::needed(&self.input, limit).saturating_sub(self.input.len());
        let growth_max = self.read_len.max(self.input.len());
        let room = self.input.capacity() - self.input.len();
        if room < missing.clamp(READ_LEN_MIN / 4, growth_max) {
            self.input.reserve(missing.clamp(self.read_len, growth_max));
        }
    }

    fn end_of_stream(&self) -> End {
        let limit = self.connection.settings.message_size_max;
        match self.input.len() {
            0 if self.connection.lock().machine.is_closing() => End::Graceful,
            0 => End::Lost("the peer ended the stream without closing the connection".into()),
            count => End::Truncated(format!(
                "the peer ended the stream in the middle of a message, after {count} of {} bytes",
                Message::needed(&self.input, limit)
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
            let Some(mut message) = Message::split(&mut self.input, limit)? else {
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
            match machine.handle_message(&message, output.pending())? {
                Event::Nothing => {}
                event => self.events.push(event),
            }
        }
        self.has_output |= shared.output.end() > end;
        Ok(decompressed_len >= limit)
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
                Event::Request(request) => self.dispatching.request(request).await,
                Event::Batch(batch) => self.dispatching.batch(batch).await,
                Event::Validated => {
                    self.connection.is_active.store(true, Ordering::Relaxed);
                    self.connection.settled.send_replace(true);
                }
                Event::Closed(waiters) => {
                    self.connection.is_active.store(false, Ordering::Relaxed);
                    self.connection.refuse(waiters);
                    is_closed = true;
                }
                Event::Nothing => {}
            }
        }
        self.events = events;
        is_closed
    }
}

impl Connection {
    /// The peer closed gracefully: none of these requests was executed.
    fn refuse(&self, waiters: Vec<Waiter>) {
        for waiter in waiters {
            let _ = waiter.send(Err(Failure {
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
                tracing::warn!("closed the connection to {peer}: {reason}");
                self.fail(LocalError::ConnectionLost { peer, reason });
            }
            End::Refused(error) => {
                tracing::warn!("closed the connection to {peer}: {error}");
                self.fail(LocalError::Protocol { peer, error });
            }
        }
    }
}

/// Ends a connection together with its reading, however that comes about.
struct EndOnDrop {
    connection: Arc<Connection>,
    end: Option<End>,
}

impl Drop for EndOnDrop {
    fn drop(&mut self) {
        if let Some(end) = self.end.take() {
            self.connection.end(end);
        }
    }
}
