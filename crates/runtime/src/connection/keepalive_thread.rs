//! A thread that looks at all connections of a communicator now and then: heartbeats, silence, disuse.
//!
//! It is a thread and no task, because a pending timer makes the runtime read the clock at every
//! wake-up, and every call would pay for it. The thread sleeps nearly always.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Weak};
use std::thread;
use std::time::{Duration, Instant};

use super::keepalive::Keepalive;
use super::{ConnectionCore, Connections};
use crate::liveness::TICK_MAX;

/// The thread that keeps the connections of a communicator alive; it ends when this is dropped.
pub(crate) struct KeepaliveThread {
    changes: Sender<()>,
    tick: Arc<Tick>,
}

/// Milliseconds between two looks.
struct Tick(AtomicU64);

impl KeepaliveThread {
    /// Starts to look at the connections of `all`, as often as their rules ask for.
    pub(crate) fn start(all: &Arc<Connections>) -> Self {
        let (changes, changed) = channel();
        let all = Arc::downgrade(all);
        let tick = Arc::new(Tick(AtomicU64::new(0)));
        tick.renew(&all);
        let own = tick.clone();
        let thread = thread::Builder::new()
            .name("floe-heartbeat".to_owned())
            .stack_size(STACK_LEN)
            .spawn(move || run(&all, &changed, &own));
        if let Err(error) = thread {
            // Calls still work; only peers that expect heartbeats may drop silent connections.
            tracing::warn!("no heartbeats are sent, for the system refused a thread: {error}");
        }
        Self { changes, tick }
    }

    /// A connection has these rules from now on: the next look may have to come sooner.
    pub(crate) fn follow(&self, connection: &ConnectionCore) {
        if connection.tick().is_some_and(|tick| tick < self.tick.get()) {
            // It fails only if there is no thread.
            let _ = self.changes.send(());
        }
    }
}

impl Tick {
    fn get(&self) -> Duration {
        Duration::from_millis(self.0.load(Ordering::Relaxed))
    }

    /// The shortest that any connection asks for.
    fn renew(&self, all: &Weak<Connections>) -> Duration {
        let connections = all.upgrade().map(|all| all.live());
        let ticks = connections.iter().flatten().filter_map(|c| c.tick());
        let tick = ticks.min().unwrap_or(TICK_MAX);
        self.0.store(tick.as_millis() as u64, Ordering::Relaxed);
        tick
    }
}

/// Enough for a write and a logged line.
const STACK_LEN: usize = 128 * 1024;
fn run(all: &Weak<Connections>, changed: &Receiver<()>, tick: &Tick) {
    let mut wait = tick.get();
    loop {
        match changed.recv_timeout(wait) {
            Ok(()) | Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
        // One look for all that changed at once.
        while changed.try_recv().is_ok() {}
        wait = tick.renew(all);
        let Some(all) = all.upgrade() else { return };
        let now = Instant::now();
        for connection in all.live() {
            if connection.tick().is_some() {
                Keepalive::look(&connection, now, wait);
            }
        }
    }
}
