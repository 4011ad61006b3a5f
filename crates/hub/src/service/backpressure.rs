//! Makes publishers wait for room in the queue of a subscriber.

use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::{Mutex, MutexGuard, Notify};

/// Publishers that wait, in order. The first one waits for room; the others wait for the first.
#[derive(Default)]
pub(super) struct Backpressure {
    /// How many publishers wait.
    waiter_count: AtomicUsize,
    first: Mutex<()>,
    room: Notify,
}

/// A publisher that waits.
pub(super) struct Waiter<'a>(&'a Backpressure);

impl Backpressure {
    /// Whether no publisher waits.
    pub(super) fn is_free(&self) -> bool {
        self.waiter_count.load(Ordering::Acquire) == 0
    }

    /// Adds a waiter. It takes the last place when [`Waiter::acquire`] is polled.
    pub(super) fn join(&self) -> Waiter<'_> {
        self.waiter_count.fetch_add(1, Ordering::AcqRel);
        Waiter(self)
    }

    /// Makes the first waiter look again whether there is room.
    pub(super) fn notify(&self) {
        self.room.notify_one();
    }
}

impl<'a> Waiter<'a> {
    /// Waits until this waiter is the first. It stays the first while the guard lives.
    pub(super) async fn acquire(&self) -> MutexGuard<'a, ()> {
        self.0.first.lock().await
    }

    /// Waits for a notification. Returns immediately if one came since the last wait.
    pub(super) async fn wait(&self) {
        self.0.room.notified().await;
    }
}

impl Drop for Waiter<'_> {
    fn drop(&mut self) {
        self.0.waiter_count.fetch_sub(1, Ordering::AcqRel);
    }
}
