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
const ENOUGH: usize = 64 * 1024;

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

    fn may_wait(&self, shared: &mut Shared, haste: Haste) -> bool {
        if shared.output.pending_len() >= ENOUGH {
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
            flushes().send(connection).expect("the thread never ends");
        } else {
            self.tasks.spawn(async move {
                connection.flush_burst();
                // What comes from now on makes its own task; what came meanwhile leaves with it.
                connection.lock().burst.is_flush_due = false;
                connection.flush();
            });
        }
    }

    /// Writes what came together; false, and the burst is over, if nothing did.
    fn flush_burst(self: &Arc<Self>) -> bool {
        let mut shared = self.lock();
        shared.burst.is_flush_due = shared.output.pending_len() > 0;
        if !shared.burst.is_flush_due {
            return false;
        }
        shared.burst.written = Some(Instant::now());
        let batch = shared.output.take();
        drop(shared);
        if let Some(batch) = batch {
            self.write(batch);
        }
        true
    }
}

impl Burst {
    fn follows_closely(&mut self) -> bool {
        let now = Instant::now();
        let before = self.written.replace(now);
        before.is_some_and(|before| now.duration_since(before) < GAP)
    }
}

/// Takes connections in the middle of a burst to the thread that writes them.
fn flushes() -> &'static Sender<Arc<Connection>> {
    static FLUSHES: OnceLock<Sender<Arc<Connection>>> = OnceLock::new();
    FLUSHES.get_or_init(|| {
        let (sender, receiver) = channel();
        thread::Builder::new()
            .name("floe-writer".to_owned())
            .spawn(move || flush_all(&receiver))
            .expect("the system has a thread to give");
        sender
    })
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
