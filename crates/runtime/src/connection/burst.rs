//! Bursts: many messages one after another leave in one write.
//!
//! A message that comes alone is written by whoever sends it, at once. One that follows another
//! closely is left in the output, and written together with those that come after it: by a task, as
//! soon as the sending one has to wait; in the blocking face, where nobody can know what the sender
//! does next, by a thread after a moment; and in any case by the sender when enough has come
//! together, or with the next message that must not wait.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, MutexGuard, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

use super::{Connection, Shared};

/// Messages that follow each other within this time are a burst.
const GAP: Duration = Duration::from_micros(50);
/// How long the thread of the blocking face lets messages come together; the system adds as much.
const PAUSE: Duration = Duration::from_micros(50);
/// Bytes that are worth a write of their own.
pub(super) const ENOUGH: usize = 64 * 1024;
/// The same of requests: the peer may as well begin with them.
const ENOUGH_ASKED: usize = 16 * 1024;

/// What is known of the messages sent last.
#[derive(Debug, Default)]
pub(super) struct Burst {
    /// Whether somebody will write soon what is pending.
    is_flush_due: bool,
    /// When something without a reply was written last.
    written: Option<Instant>,
}

/// Whether a message may wait for others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Haste {
    /// It may not.
    AtOnce,
    /// A request: it may if others are in flight, so that its sender does not wait for it alone.
    Request,
    /// A message without a reply: it may if it follows another one closely.
    Oneway,
}

impl Connection {
    /// Writes what is pending, or sees to it that it is written soon; whether it was written now.
    #[inline]
    pub(super) fn write_in_time(
        self: &Arc<Self>,
        mut shared: MutexGuard<'_, Shared>,
        haste: Haste,
    ) -> bool {
        if !self.may_wait(&mut shared, haste) {
            let batch = shared.output.take();
            drop(shared);
            if let Some(batch) = batch {
                self.write(batch);
            }
            return true;
        }
        let is_flush_due = std::mem::replace(&mut shared.burst.is_flush_due, true);
        drop(shared);
        if !is_flush_due {
            self.flush_soon();
        }
        false
    }

    #[inline]
    fn may_wait(&self, shared: &mut Shared, haste: Haste) -> bool {
        let enough = match haste {
            Haste::Request => ENOUGH_ASKED,
            Haste::Oneway | Haste::AtOnce => ENOUGH,
        };
        if shared.output.pending_len() >= enough {
            return false;
        }
        match haste {
            Haste::AtOnce => false,
            // A thread that sends a request is about to wait for its reply.
            Haste::Request => !self.is_blocking && shared.machine.in_flight() > 1,
            Haste::Oneway => shared.burst.is_flush_due || shared.burst.follows_closely(),
        }
    }

    fn flush_soon(self: &Arc<Self>) {
        let connection = self.clone();
        if self.is_blocking {
            if !flush_on_thread(connection) {
                // Nobody else would.
                self.lock().burst.is_flush_due = false;
                self.flush();
            }
        } else {
            self.tasks.spawn(async move {
                connection.flush_burst();
                // What comes from now on makes its own task; what came meanwhile leaves with it.
                connection.lock().burst.is_flush_due = false;
                connection.flush();
            });
        }
    }

    /// Writes what came together; false, and the burst is over, if nothing did, or if somebody else
    /// writes, who takes it along.
    fn flush_burst(self: &Arc<Self>) -> bool {
        let mut shared = self.lock();
        let batch = shared.output.take();
        shared.burst.is_flush_due = batch.is_some();
        let Some(batch) = batch else {
            return false;
        };
        shared.burst.written = Some(Instant::now());
        drop(shared);
        self.write(batch);
        true
    }
}

impl Burst {
    /// Whether what is appended now leaves soon without any doing.
    #[inline]
    pub(super) fn is_flush_due(&self) -> bool {
        self.is_flush_due
    }

    fn follows_closely(&mut self) -> bool {
        let now = Instant::now();
        let before = self.written.replace(now);
        before.is_some_and(|before| now.duration_since(before) < GAP)
    }
}

/// Takes a connection in the middle of a burst to the thread that writes it; false if there is none,
/// for the system had no thread to give.
fn flush_on_thread(connection: Arc<Connection>) -> bool {
    static FLUSHES: OnceLock<Sender<Arc<Connection>>> = OnceLock::new();
    let flushes = FLUSHES.get_or_init(|| {
        let (sender, receiver) = channel();
        // Without the thread the receiver is dropped, and nothing can be sent.
        if let Err(error) = thread::Builder::new()
            .name("floe-writer".to_owned())
            .spawn(move || flush_all(&receiver))
        {
            tracing::warn!("bursts leave message by message, for there is no thread: {error}");
        }
        sender
    });
    flushes.send(connection).is_ok()
}

fn flush_all(bursts: &Receiver<Arc<Connection>>) {
    while let Ok(first) = bursts.recv() {
        let mut connections = vec![first];
        while !connections.is_empty() {
            thread::sleep(PAUSE);
            connections.extend(bursts.try_iter());
            connections.retain(Connection::flush_burst);
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
    use crate::liveness::Liveness;
    use crate::transport::{Stream, StreamWriter};

    /// Takes nothing.
    struct Full;

    impl StreamWriter for Full {
        fn try_write(&self, _: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::WouldBlock.into())
        }

        fn poll_write_ready(&self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Pending
        }

        fn shutdown(&self) {}
    }

    #[tokio::test]
    async fn nobody_looks_again_and_again_after_a_burst_that_somebody_else_writes() {
        let (reader, _peer) = tokio::io::duplex(1);
        let stream = Stream {
            reader: Box::new(reader),
            writer: Box::new(Full),
            peer: "a peer that does not read".to_owned(),
        };
        let purpose = Purpose::Incoming(Weak::new(), Liveness::default(), None);
        let connection = Connection::start(stream, purpose, &Communicator::new());
        let mut shared = connection.lock();
        shared.output.bytes().extend_from_slice(b"messages");
        assert!(shared.output.take().is_none(), "ValidateConnection waits");
        drop(shared);
        assert!(!connection.flush_burst());
    }
}
