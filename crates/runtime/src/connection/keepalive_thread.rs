//! The thread that periodically checks all connections of a communicator: heartbeats, silence and disuse.
//!
//! This is a thread and not a task: a pending timer makes the tokio runtime read the clock at every wake-up, and every
//! call would pay for it. The thread sleeps nearly all the time.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Weak};
use std::thread;
use std::time::{Duration, Instant};

use floe_wire::connection::TICK_MAX;

use super::keepalive::Keepalive;
use super::{ConnectionCore, Connections};

/// The keepalive thread of a communicator. It ends when this handle is dropped.
pub(crate) struct KeepaliveThread {
    changes: Sender<()>,
    tick: Arc<Tick>,
}

/// Milliseconds between two checks.
struct Tick(AtomicU64);

impl KeepaliveThread {
    /// Starts to check the connections of `all`, as often as their rules require.
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
            // Calls still work, but peers that expect heartbeats may drop silent connections.
            tracing::warn!("no heartbeats are sent, because the system refused a thread: {error}");
        }
        Self { changes, tick }
    }

    /// Adapts the tick to the rules of a connection: the next check may have to come sooner.
    pub(crate) fn follow(&self, connection: &ConnectionCore) {
        if connection.tick().is_some_and(|tick| tick < self.tick.get()) {
            // The send fails only if there is no thread.
            let _ = self.changes.send(());
        }
    }
}

impl Tick {
    fn get(&self) -> Duration {
        Duration::from_millis(self.0.load(Ordering::Relaxed))
    }

    /// Returns the shortest tick of any connection.
    fn renew(&self, all: &Weak<Connections>) -> Duration {
        let connections = all.upgrade().map(|all| all.live());
        let ticks = connections.iter().flatten().filter_map(|c| c.tick());
        let tick = ticks.min().unwrap_or(TICK_MAX);
        self.0.store(tick.as_millis() as u64, Ordering::Relaxed);
        tick
    }
}

/// Enough for a write and a log line.
const STACK_LEN: usize = 128 * 1024;

fn run(all: &Weak<Connections>, changed: &Receiver<()>, tick: &Tick) {
    let mut wait = tick.get();
    loop {
        match changed.recv_timeout(wait) {
            Ok(()) | Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
        // One check covers all changes that have arrived.
        while changed.try_recv().is_ok() {}
        wait = tick.renew(all);
        let Some(all) = all.upgrade() else { return };
        let now = Instant::now();
        for connection in all.live() {
            if connection.tick().is_some() {
                Keepalive::run_check(&connection, now, wait);
            }
        }
    }
}
