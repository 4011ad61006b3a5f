//! When messages that were appended to the send queue are written.
//!
//! A message that comes alone is written immediately by its sender. A message that follows another one closely stays in
//! the send queue, and leaves together with those behind it. Three parties may write them. A task does as soon as the
//! sender waits. With the blocking communicator nothing shows what the sender does next, so that a thread writes
//! after a moment. And the sender itself writes when enough has come together, or when a message must not wait.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

use super::ConnectionCore;
use super::state::ConnectionState;

/// A message that follows another one within this time may wait for more.
const GAP: Duration = Duration::from_micros(50);
/// How long the thread of the blocking communicator lets messages come together; the system adds as much.
const PAUSE: Duration = Duration::from_micros(50);
/// Bytes that are worth a write of their own.
const ENOUGH: usize = 64 * 1024;
/// The same for requests, which the peer may as well begin to dispatch.
const ENOUGH_REQUESTS: usize = 16 * 1024;

/// What the flush policy knows of the messages that were sent last.
#[derive(Debug, Default)]
pub(super) struct FlushState {
    /// Whether a task or a thread will soon write the send queue.
    pub(super) is_flush_due: bool,
    /// When something without a reply was written last.
    pub(super) written: Option<Instant>,
}

/// When a batch of messages is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FlushPolicy {
    /// Immediately.
    Now,
    /// Together with others if there are other requests in flight: then its sender does not wait for this one alone.
    /// It is for twoway requests.
    WithOthers,
    /// Together with others if it follows another one closely. It is for messages without a reply.
    Oneway,
}

impl FlushPolicy {
    /// Whether what was just appended to the send queue may wait for more.
    #[inline]
    pub(super) fn may_wait(self, shared: &mut ConnectionState, is_blocking: bool) -> bool {
        let enough = match self {
            Self::WithOthers => ENOUGH_REQUESTS,
            Self::Oneway | Self::Now => ENOUGH,
        };
        if shared.queue.pending_len() >= enough {
            return false;
        }
        match self {
            Self::Now => false,
            // A thread that sends a request is about to wait for its reply.
            Self::WithOthers => !is_blocking && shared.machine.in_flight() > 1,
            Self::Oneway => shared.flush.is_flush_due || shared.flush.follows_closely(),
        }
    }
}

impl FlushState {
    fn follows_closely(&mut self) -> bool {
        let now = Instant::now();
        let before = self.written.replace(now);
        before.is_some_and(|before| now.duration_since(before) < GAP)
    }
}

/// Gives a connection to the thread that writes its send queue after a moment; false if the system refused that thread.
pub(super) fn flush_on_thread(connection: Arc<ConnectionCore>) -> bool {
    static FLUSHES: OnceLock<Sender<Arc<ConnectionCore>>> = OnceLock::new();
    let flushes = FLUSHES.get_or_init(|| {
        let (sender, receiver) = channel();
        // Without the thread the receiver is dropped, and nothing can be sent.
        if let Err(error) = thread::Builder::new()
            .name("floe-writer".to_owned())
            .spawn(move || flush_all(&receiver))
        {
            tracing::warn!(
                "messages leave one by one, for there is no thread to write them: {error}"
            );
        }
        sender
    });
    flushes.send(connection).is_ok()
}

fn flush_all(flushes: &Receiver<Arc<ConnectionCore>>) {
    while let Ok(first) = flushes.recv() {
        let mut connections = vec![first];
        while !connections.is_empty() {
            thread::sleep(PAUSE);
            connections.extend(flushes.try_iter());
            connections.retain(|connection| connection.output.flush_joined(connection));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::sync::Weak;
    use std::task::{Context, Poll};

    use super::*;
    use crate::communicator::Communicator;
    use crate::connection::Purpose;
    use crate::transport::{Stream, StreamWriter};

    /// Takes nothing.
    struct FullTransport;

    impl StreamWriter for FullTransport {
        fn try_write(&self, _: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::WouldBlock.into())
        }

        fn poll_write_ready(&self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Pending
        }

        fn shutdown(&self) {}
    }

    #[tokio::test]
    async fn messages_that_another_writer_takes_along_are_not_looked_for_again() {
        let (reader, _peer) = tokio::io::duplex(1);
        let stream = Stream {
            reader: Box::new(reader),
            writer: Box::new(FullTransport),
            peer: "a peer that does not read".to_owned(),
        };
        let purpose = Purpose::Incoming(Weak::new(), Arc::default(), None);
        let communicator = Communicator::new();
        let connection = ConnectionCore::start(stream, purpose, communicator.core().connections());
        let mut shared = connection.lock();
        shared.queue.bytes().extend_from_slice(b"messages");
        assert!(shared.queue.take().is_none(), "ValidateConnection waits");
        drop(shared);
        assert!(!connection.output.flush_joined(&connection));
    }
}
