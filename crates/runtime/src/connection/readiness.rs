//! Readiness of a connection: wakes callers when it becomes usable or ends.

use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::Notify;

/// Wakes callers when requests may be sent, and when the connection is closed.
///
/// It replaces a channel of tokio, which would take half a kilobyte of each connection.
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

    /// Marks that the connection has become usable or has ended, and wakes all waiting callers.
    pub(super) fn mark(&self) {
        self.is_marked.store(true, Ordering::Release);
        self.changed.notify_waiters();
    }

    /// Waits until the connection is usable or has ended.
    pub(super) async fn wait(&self) {
        self.wait_for(|| self.is_marked.load(Ordering::Acquire))
            .await;
    }

    /// Waits until the condition holds. The condition is evaluated again after each change.
    pub(super) async fn wait_for(&self, holds: impl Fn() -> bool) {
        loop {
            let changed = self.changed.notified();
            tokio::pin!(changed);
            // The notification is enabled before the condition is evaluated, so that no change is missed.
            changed.as_mut().enable();
            if holds() {
                return;
            }
            changed.await;
        }
    }
}
