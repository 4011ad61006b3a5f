//! Heartbeats: a thread that looks at all connections of a communicator now and then.
//!
//! It is a thread and no task, because a pending timer makes the runtime read the clock at every
//! wake-up, and every call would pay for it. The thread sleeps nearly always.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Weak};
use std::thread;
use std::time::Duration;

use crate::communicator::Core;

/// The heartbeat of a communicator; it ends when this is dropped.
pub(crate) struct Heartbeat {
    _end: Option<Sender<()>>,
}

impl Heartbeat {
    /// Starts to look at the connections of `core` once in an interval; never if it is zero.
    pub(crate) fn start(core: &Arc<Core>, interval: Duration) -> Self {
        if interval.is_zero() {
            return Self { _end: None };
        }
        let (end, ended) = channel();
        let core = Arc::downgrade(core);
        let thread = thread::Builder::new()
            .name("floe-heartbeat".to_owned())
            .stack_size(STACK_LEN)
            .spawn(move || run(&core, &ended, interval));
        if let Err(error) = thread {
            // Calls still work; only peers that expect heartbeats may drop silent connections.
            tracing::warn!("no heartbeats are sent, for the system refused a thread: {error}");
        }
        Self { _end: Some(end) }
    }
}

/// Enough for a write and a logged line.
const STACK_LEN: usize = 128 * 1024;

fn run(core: &Weak<Core>, ended: &Receiver<()>, interval: Duration) {
    while ended.recv_timeout(interval) == Err(RecvTimeoutError::Timeout) {
        let Some(core) = core.upgrade() else { return };
        for connection in core.live_connections() {
            connection.keep_alive(interval);
        }
    }
}
