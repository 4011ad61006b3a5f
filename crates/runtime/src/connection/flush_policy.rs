//! The flush policy: when messages in the send queue are written.
//!
//! The sender writes a message immediately if it comes alone. A message that closely follows another one stays in the
//! send queue and leaves together with later ones. One of three parties then writes the queue. A task writes it as soon
//! as the sender waits. With the blocking communicator the runtime cannot see when the sender waits, so a thread writes
//! it after a short delay. The sender itself writes it when enough bytes are queued, or when a message must not wait.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

use super::ConnectionCore;
use super::state::ConnectionState;

/// A message that follows another one within this time may wait for later ones.
const GAP: Duration = Duration::from_micros(50);
/// How long the thread of the blocking communicator waits for more messages. The timer of the system adds about as
/// much.
const FLUSH_DELAY: Duration = Duration::from_micros(50);
/// A queue of this many bytes is written without further delay.
const FLUSH_LEN: usize = 64 * 1024;
/// The same limit for requests. It is lower, because the peer can begin to dispatch them meanwhile.
const FLUSH_LEN_REQUESTS: usize = 16 * 1024;

/// The flush policy's record of the last messages.
#[derive(Debug, Default)]
pub(super) struct FlushState {
    /// True if a task or a thread will soon write the send queue.
    pub(super) is_flush_due: bool,
    /// When a message without a reply was last written.
    pub(super) written: Option<Instant>,
}

/// When a batch of messages is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FlushPolicy {
    /// Immediately.
    Now,
    /// Together with later messages if other requests are in flight, because then the sender does not wait for this
    /// reply alone. For twoway requests.
    WithOthers,
    /// Together with later messages if it closely follows another one. For messages without a reply.
    Oneway,
}

impl FlushPolicy {
    /// Returns true if the messages just appended to the send queue may wait for more.
    #[inline]
    pub(super) fn may_wait(self, shared: &mut ConnectionState, is_blocking: bool) -> bool {
        let enough = match self {
            Self::WithOthers => FLUSH_LEN_REQUESTS,
            Self::Oneway | Self::Now => FLUSH_LEN,
        };
        if shared.queue.pending_len() >= enough {
            return false;
        }
        match self {
            Self::Now => false,
            // A blocking sender is about to wait for this reply.
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

/// Hands a connection to the thread that writes its send queue after a short delay. Returns false if the system refused
/// that thread.
pub(super) fn flush_on_thread(connection: Arc<ConnectionCore>) -> bool {
    static FLUSHES: OnceLock<Sender<Arc<ConnectionCore>>> = OnceLock::new();
    let flushes = FLUSHES.get_or_init(|| {
        let (sender, receiver) = channel();
        // If the thread cannot start, the receiver is dropped, and every send fails.
        if let Err(error) = thread::Builder::new()
            .name("floe-writer".to_owned())
            .spawn(move || flush_all(&receiver))
        {
            tracing::warn!(
                "each message is written alone, because the system refused a thread for batches: {error}"
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
            thread::sleep(FLUSH_DELAY);
            connections.extend(flushes.try_iter());
            connections.retain(|connection| connection.output.flush_collected(connection));
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

    /// A transport that accepts no bytes.
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
    async fn messages_that_another_writer_takes_along_are_not_collected_again() {
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
        assert!(!connection.output.flush_collected(&connection));
    }
}
