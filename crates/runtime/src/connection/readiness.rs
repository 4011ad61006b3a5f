//! Whether a connection has become usable or has ended, for callers that wait for either.

use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::Notify;

/// Woken when requests may be sent, and when the connection is closed.
///
/// A channel of tokio's would do, and take half a kilobyte of each connection.
#[derive(Debug)]
pub(super) struct Readiness {
    is_marked: AtomicBool,
    changed: Notify,
}

impl Readiness {
    pub(super) fn new(is_marked: bool) -> Self {
        Self {
            is_marked: AtomicBool::new(is_marked),
            changed: Notify::new(),
        }
    }

    /// Notes that the connection has become usable or has ended, and wakes all callers that wait.
    pub(super) fn mark(&self) {
        self.is_marked.store(true, Ordering::Release);
        self.changed.notify_waiters();
    }

    /// Waits until it is settled.
    pub(super) async fn wait(&self) {
        self.wait_for(|| self.is_marked.load(Ordering::Acquire))
            .await;
    }

    /// Waits until the condition holds; it is looked at after each change.
    pub(super) async fn wait_for(&self, holds: impl Fn() -> bool) {
        loop {
            let changed = self.changed.notified();
            tokio::pin!(changed);
            // Enabled before the look, so that no change in between is missed.
            changed.as_mut().enable();
            if holds() {
                return;
            }
            changed.await;
        }
    }
}
