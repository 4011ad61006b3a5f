//! Where publishers wait for room in the queue of a subscriber.

use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::{MutexGuard, Notify};

/// They stand one behind the other: the first waits for room, the others for the first.
#[derive(Default)]
pub(super) struct Door {
    /// How many stand there.
    count: AtomicUsize,
    first: tokio::sync::Mutex<()>,
    /// Rung when there is room.
    bell: Notify,
}

/// A publisher that stands at a door.
pub(super) struct Standing<'a>(&'a Door);

impl Door {
    /// Whether nobody stands there.
    pub(super) fn is_free(&self) -> bool {
        self.count.load(Ordering::Acquire) == 0
    }

    /// The last one in the row from now on.
    pub(super) fn stand(&self) -> Standing<'_> {
        self.count.fetch_add(1, Ordering::AcqRel);
        Standing(self)
    }

    /// The first one looks again whether there is room.
    pub(super) fn ring(&self) {
        self.bell.notify_one();
    }
}

impl<'a> Standing<'a> {
    /// Waits for its turn.
    pub(super) async fn be_first(&self) -> MutexGuard<'a, ()> {
        self.0.first.lock().await
    }

    /// Waits until the bell is rung, or was since the last wait.
    pub(super) async fn wait(&self) {
        self.0.bell.notified().await;
    }
}

impl Drop for Standing<'_> {
    fn drop(&mut self) {
        self.0.count.fetch_sub(1, Ordering::AcqRel);
    }
}
