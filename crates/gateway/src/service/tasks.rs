//! The tasks of a gateway.

use std::future::Future;

use tokio::runtime::Handle;
use tokio_util::task::TaskTracker;

/// The tasks of a gateway. They run on the runtime that started it, from whatever thread they are spawned: a program may
/// drop a gateway on a thread without a runtime.
#[derive(Clone)]
pub(super) struct Tasks {
    tracker: TaskTracker,
    runtime: Handle,
}

impl Tasks {
    /// Tasks on the current runtime.
    ///
    /// # Panics
    /// If there is none.
    pub(super) fn on_current_runtime() -> Self {
        Self {
            tracker: TaskTracker::new(),
            runtime: Handle::current(),
        }
    }

    pub(super) fn spawn(&self, task: impl Future<Output: Send> + Send + 'static) {
        self.tracker.spawn_on(
            async move {
                task.await;
            },
            &self.runtime,
        );
    }

    /// Waits until all tasks have ended.
    pub(super) async fn ended(&self) {
        self.tracker.close();
        self.tracker.wait().await;
    }
}
