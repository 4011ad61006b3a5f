//! How a communicator ends: in order, at a signal, or immediately.

use std::io;

use tokio::task::JoinSet;
use tokio::time::{timeout, timeout_at};

use crate::adapter::Adapter;
use crate::communicator::Communicator;
use crate::deadline;
use crate::signals::Signals;

impl Communicator {
    /// Begins the shutdown, and returns without a wait. Adapters stop accepting, connections finish their requests and
    /// close, and then servants are released. A servant may call it. Unflushed batches are lost, and adapters stay
    /// registered with a locator; [`Communicator::shutdown`] takes care of both.
    pub fn begin_shutdown(&self) {
        let was_shut_down = self.core().environment().mark_shut_down();
        for adapter in self.core().adapters().iter() {
            adapter.deactivate();
        }
        for connection in self.core().connections().live() {
            connection.close();
        }
        self.core().environment().tracker().close();
        match self.core().environment().runtime() {
            // Accepted requests must still find their servants.
            Some(runtime) if !was_shut_down => {
                let (core, limit) = (self.core().clone(), self.core().settings().close_timeout);
                runtime.spawn(async move {
                    let _ =
                        timeout(limit.saturating_mul(2), core.environment().tracker().wait()).await;
                    core.end_adapters();
                });
            }
            Some(_) => {}
            None => self.core().end_adapters(),
        }
    }

    /// Shuts down in order: adapters stop accepting, batches are flushed, connections finish what they have begun in
    /// both directions and close, dispatches end, and servants are released. The flush may take the close timeout, and
    /// the rest twice that. Before, registered adapters are unregistered from the locator, which may take the close
    /// timeout, too. A servant must not wait for the shutdown, because the shutdown waits for the servant.
    pub async fn shutdown(&self) {
        self.unregister_adapters().await;
        for adapter in self.core().adapters().iter() {
            adapter.deactivate();
        }
        let limit = self.core().settings().close_timeout;
        match timeout(limit, self.flush_batches()).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => {
                tracing::warn!("could not flush batches before the shutdown: {error}")
            }
            Err(_) => {
                tracing::warn!("could not flush batches within {limit:?} before the shutdown")
            }
        }
        self.begin_shutdown();
        self.finish_shutdown().await;
    }

    /// Waits until the communicator is shut down by any task, and the shutdown is complete.
    #[doc(alias = "waitForShutdown")]
    pub async fn wait_for_shutdown(&self) {
        self.core().environment().shut_down().await;
        self.finish_shutdown().await;
    }

    /// Drops all connections immediately: requests in flight fail, and accepted requests may stay unanswered. Use it
    /// when [`Communicator::shutdown`] takes too long.
    pub fn abort(&self) {
        self.begin_shutdown();
        for connection in self.core().connections().live() {
            connection.abort("the communicator was aborted".to_owned());
        }
        self.core().end_adapters();
    }

    /// Shuts the communicator down at the first signal that asks for it (SIGINT, SIGTERM; Ctrl-C), and aborts it at the
    /// second. When the call returns, it listens for signals, and it does so as long as the runtime lives. Wait for the
    /// end with [`Communicator::wait_for_shutdown`].
    ///
    /// # Errors
    /// The system does not deliver signals.
    ///
    /// # Panics
    /// Outside of a tokio runtime, unless the communicator is blocking.
    pub fn shutdown_on_signals(&self) -> io::Result<()> {
        let tasks = self.core().environment().tasks();
        let _entered = tasks.enter();
        let mut signals = Signals::new()?;
        let communicator = self.clone();
        tokio::spawn(async move {
            tokio::select! {
                signal = signals.next() => {
                    tracing::info!("shutting down on {signal}");
                }
                () = communicator.wait_for_shutdown() => return,
            }
            tokio::select! {
                () = communicator.shutdown() => {}
                signal = signals.next() => {
                    tracing::warn!("aborting on {signal}, before the shutdown was done");
                    communicator.abort();
                }
            }
        });
        Ok(())
    }

    /// Unregisters all registered adapters from the locator.
    async fn unregister_adapters(&self) {
        let cores = self.core().adapters().clone();
        let mut ends = JoinSet::new();
        for core in cores.into_iter().filter(|core| core.names.is_some()) {
            let adapter = Adapter::from_core(core, self.clone());
            ends.spawn(async move { adapter.unregister().await });
        }
        while ends.join_next().await.is_some() {}
    }

    async fn finish_shutdown(&self) {
        let deadline = deadline::after(self.core().settings().close_timeout.saturating_mul(2));
        for connection in self.core().connections().live() {
            if timeout_at(deadline, connection.closed()).await.is_err() {
                connection.abort("the communicator was shut down".to_owned());
            }
        }
        self.core().environment().tracker().close();
        if timeout_at(deadline, self.core().environment().tracker().wait())
            .await
            .is_err()
        {
            tracing::warn!(
                "{} tasks still run after the shutdown",
                self.core().environment().tracker().len()
            );
        }
        self.core().end_adapters();
    }
}
