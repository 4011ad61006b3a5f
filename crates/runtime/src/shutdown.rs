//! How a communicator ends: in order, at a signal, or at once.

use std::io;

use tokio::task::JoinSet;
use tokio::time::{timeout, timeout_at};

use crate::adapter::Adapter;
use crate::communicator::Communicator;
use crate::deadline;
use crate::signals::Signals;

impl Communicator {
    /// Starts to end everything, and waits for nothing: adapters accept no more, connections finish
    /// what they have and close, and then servants go. A servant may call it. Batches that nobody
    /// flushed are lost, and a locator is not told that adapters end; [`Communicator::shutdown`] sees to both.
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
            // What was accepted still finds its servants.
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

    /// Ends everything in order: adapters accept no more, batches leave, connections finish what
    /// they have begun in both directions and close, dispatches end, servants go. The flush may take
    /// the close timeout, and the rest twice that; a locator that knows of the adapters is told before,
    /// which may take the close timeout, too. A servant must not wait for it, for it waits for the servant.
    pub async fn shutdown(&self) {
        self.unregister_adapters().await;
        for adapter in self.core().adapters().iter() {
            adapter.deactivate();
        }
        let limit = self.core().settings().close_timeout;
        match timeout(limit, self.flush_batches()).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::warn!("could not flush before the shutdown: {error}"),
            Err(_) => tracing::warn!("could not flush within {limit:?} before the shutdown"),
        }
        self.begin_shutdown();
        self.finish_shutdown().await;
    }

    /// Waits until somebody shuts the communicator down, and until that is done.
    #[doc(alias = "waitForShutdown")]
    pub async fn wait_for_shutdown(&self) {
        self.core().environment().shut_down().await;
        self.finish_shutdown().await;
    }

    /// Drops all connections at once: requests in flight fail, and what was accepted may end
    /// unanswered. For when a [`Communicator::shutdown`] takes too long.
    pub fn abort(&self) {
        self.begin_shutdown();
        for connection in self.core().connections().live() {
            connection.abort("the communicator was aborted".to_owned());
        }
        self.core().end_adapters();
    }

    /// Shuts the communicator down at the first signal that asks for it (SIGINT, SIGTERM; Ctrl-C),
    /// and aborts it at the second. It listens for signals when this returns, and for as long as the
    /// runtime lives. Wait for the end with [`Communicator::wait_for_shutdown`].
    ///
    /// # Errors
    /// The system does not hand signals out.
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

    /// Tells the locator of all adapters that it knows.
    async fn unregister_adapters(&self) {
        let cores = self.core().adapters().clone();
        let mut ends = JoinSet::new();
        for core in cores.into_iter().filter(|core| core.has_id()) {
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
