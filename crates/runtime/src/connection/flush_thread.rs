//! The thread that writes send queues after a short delay.
//!
//! The messages of a task are written when the task waits. If it does not wait soon, this thread writes its oneways.
//!
//! With the blocking communicator the runtime cannot see when a sender waits. So messages that wait for later ones are
//! always written by this thread, with two exceptions:
//!
//! - A thread that reads a connection is seen to wait for input. The first message that it sends after that leaves
//!   immediately, because it follows no other one of the same burst.
//! - A wait for a future that begins several calls writes their requests itself when the poll ends: see
//!   [`defer_to_end_of_poll`](super::wait::defer_to_end_of_poll).

use std::cell::Cell;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

use floe_wire::connection::FlushPolicy;

use super::ConnectionCore;
use super::wait::defer_to_end_of_poll;

thread_local! {
    /// True if this thread has waited for input since it last sent a message without a reply.
    static HAS_WAITED: Cell<bool> = const { Cell::new(false) };
}

/// This thread is about to wait for input.
#[cfg(unix)]
pub(super) fn note_wait() {
    HAS_WAITED.set(true);
}

/// The flush policy of a message that a blocking thread sends. A servant that answers a message with a message without
/// a reply has nothing more to say until the peer answers, so its message leaves immediately, however fast the peer is.
/// A request leaves immediately because its sender is about to wait for the reply, unless a future begins several calls.
#[inline]
pub(super) fn policy_of_thread(
    policy: FlushPolicy,
    connection: &Arc<ConnectionCore>,
) -> FlushPolicy {
    match policy {
        FlushPolicy::Oneway if HAS_WAITED.replace(false) => FlushPolicy::Now,
        FlushPolicy::WithOthers if !defer_to_end_of_poll(connection) => FlushPolicy::Now,
        policy => policy,
    }
}

/// How long messages wait for more of them. The timer of the system adds some 50 us.
const DELAY: Duration = Duration::from_micros(20);
/// The longest delay of a sender that goes on sending.
const DELAY_MAX: Duration = Duration::from_millis(1);

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
                "the system refused the thread that writes delayed messages: a blocking program writes each of them \
                 alone, and oneways of a task leave when it waits: {error}"
            );
        }
        sender
    });
    flushes.send(connection).is_ok()
}

fn flush_all(flushes: &Receiver<Arc<ConnectionCore>>) {
    let mut all: Vec<Delayed> = Vec::new();
    loop {
        let handed = match all.iter().map(|delayed| delayed.due).min() {
            Some(due) => flushes.recv_timeout(due.saturating_duration_since(Instant::now())),
            None => flushes.recv().map_err(RecvTimeoutError::from),
        };
        match handed {
            Ok(connection) => all.push(Delayed::new(connection)),
            Err(RecvTimeoutError::Timeout) => {
                let now = Instant::now();
                all.retain_mut(|delayed| now < delayed.due || delayed.flush(now));
            }
            Err(RecvTimeoutError::Disconnected) => return,
        }
    }
}

/// A connection whose messages wait for later ones.
struct Delayed {
    connection: Arc<ConnectionCore>,
    /// The end of its send queue when the thread last looked; `None` if it has not seen it.
    end: Option<u64>,
    delay: Duration,
    /// When the thread looks again.
    due: Instant,
}

impl Delayed {
    fn new(connection: Arc<ConnectionCore>) -> Self {
        let end = connection.output.try_lock();
        let end = end.map(|shared| shared.queue.end());
        Self {
            connection,
            end,
            delay: DELAY,
            due: Instant::now() + DELAY,
        }
    }

    /// Writes the messages of a sender that has sent nothing during the delay. Returns false if there were none.
    ///
    /// A sender that goes on is told to write them itself, because a write of this thread would make it wait for the
    /// lock. Looking takes time from it, too, so the delay doubles: it is hardly longer than the burst has lasted.
    fn flush(&mut self, now: Instant) -> bool {
        // If the lock is taken, a sender goes on, or somebody writes.
        let shared = self.connection.output.try_lock();
        let end = shared.as_ref().map(|shared| shared.queue.end());
        if end.is_some() && end == self.end {
            drop(shared);
            (self.delay, self.due) = (DELAY, now + DELAY);
            return self.connection.output.flush_scheduled(&self.connection);
        }
        if let Some(mut shared) = shared {
            shared.queue.mark_overdue();
        }
        self.end = end;
        self.delay = (self.delay * 2).min(DELAY_MAX);
        self.due = now + self.delay;
        true
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;
    use std::io;
    use std::sync::Weak;
    use std::task::{Context, Poll};

    use floe_wire::connection::Flush;
    use tokio::io::DuplexStream;
    use tokio::runtime::Runtime;

    use super::*;
    use crate::communicator::Communicator;
    use crate::connection::Purpose;
    use crate::connection::wait::{Wait, wait_for_reply};
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

    /// A connection that can send nothing, and what keeps it open.
    fn connection() -> (Arc<ConnectionCore>, Communicator, DuplexStream) {
        let (reader, peer) = tokio::io::duplex(1);
        let stream = Stream {
            reader: Box::new(reader),
            writer: Box::new(FullTransport),
            peer: "a peer that does not read".to_owned(),
        };
        let purpose = Purpose::incoming(Weak::new(), Arc::default(), None);
        let communicator = Communicator::new();
        let connection = ConnectionCore::start(stream, purpose, communicator.core().connections());
        (connection, communicator, peer)
    }

    #[cfg(unix)]
    #[tokio::test]
    async fn the_first_message_after_a_wait_leaves_immediately_and_others_of_its_burst_may_wait() {
        let (connection, _communicator, _peer) = connection();
        let sent = || policy_of_thread(FlushPolicy::Oneway, &connection);
        assert_eq!(sent(), FlushPolicy::Oneway);
        note_wait();
        // A request does not end the burst: its sender waits for the reply anyway.
        assert_eq!(
            policy_of_thread(FlushPolicy::WithOthers, &connection),
            FlushPolicy::Now
        );
        assert_eq!([sent(), sent()], [FlushPolicy::Now, FlushPolicy::Oneway]);
    }

    #[cfg(unix)]
    #[test]
    fn the_requests_that_a_future_begins_after_its_first_may_leave_together() {
        let runtime = Runtime::new().unwrap();
        let _entered = runtime.enter();
        let ((connection, ..), (other, ..)) = (connection(), connection());
        let sent = |connection| policy_of_thread(FlushPolicy::WithOthers, connection);
        let future = poll_fn(|context| {
            assert_eq!(sent(&connection), FlushPolicy::Now);
            wait_for_reply(&connection, context.waker());
            assert_eq!(sent(&connection), FlushPolicy::WithOthers);
            assert_eq!(sent(&other), FlushPolicy::Now);
            Poll::Ready(())
        });
        future.wait();
        assert_eq!(sent(&connection), FlushPolicy::Now);
    }

    #[tokio::test]
    async fn a_sender_that_goes_on_is_told_to_write_and_looked_at_less_often() {
        let (connection, _communicator, _peer) = connection();
        let mut delayed = Delayed::new(connection.clone());
        let now = Instant::now();
        for factor in [2, 4, 8] {
            connection
                .lock()
                .queue
                .bytes()
                .extend_from_slice(b"message");
            assert!(delayed.flush(now));
            assert_eq!(delayed.due, now + DELAY * factor);
            let flush = connection
                .lock()
                .queue
                .flush(FlushPolicy::WithOthers, 2, || now);
            assert!(matches!(flush, Flush::Busy), "it must not wait: {flush:?}");
        }
        let held = connection.lock();
        assert!(delayed.flush(now), "somebody has the lock");
        drop(held);
        assert!(delayed.flush(now), "the end is unknown");
        assert!(
            !delayed.flush(now),
            "another writer takes the messages along"
        );
    }

    #[tokio::test]
    async fn messages_that_another_writer_takes_along_are_not_collected_again() {
        let (connection, _communicator, _peer) = connection();
        let mut shared = connection.lock();
        shared.queue.bytes().extend_from_slice(b"messages");
        assert!(shared.queue.take().is_none(), "ValidateConnection waits");
        drop(shared);
        assert!(!connection.output.flush_scheduled(&connection));
    }
}
