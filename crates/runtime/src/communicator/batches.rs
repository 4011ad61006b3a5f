//! The proxies of a communicator that have collected requests.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use crate::connection::ConnectionCore;
use crate::error::InvokeError;

/// Requests that a proxy has collected.
pub(crate) trait CollectedBatch: Send + Sync {
    fn is_empty(&self) -> bool;

    /// Marks the proxy as listed or not. Returns whether it was listed before.
    fn mark_listed(&self, is_listed: bool) -> bool;

    /// Sends the requests if they would use this connection, or any if it is `None`.
    fn flush(self: Arc<Self>, over: Option<Arc<ConnectionCore>>) -> FlushFuture;
}

/// The end of a flush.
pub(crate) type FlushFuture = Pin<Box<dyn Future<Output = Result<(), InvokeError>> + Send>>;

/// The proxies of a communicator that have collected requests.
#[derive(Default)]
pub(crate) struct Batches {
    /// Guards the list and each proxy's mark, and is never held across a wait.
    collected: Mutex<Vec<Weak<dyn CollectedBatch>>>,
}

impl Batches {
    pub(crate) fn remember<B: CollectedBatch + 'static>(&self, batch: &Arc<B>) {
        let mut collected = self.lock();
        // Before the list grows, remove the proxies that are gone or were flushed.
        if collected.len() == collected.capacity() {
            collected.retain(|known| {
                known.upgrade().is_some_and(|known| {
                    let is_kept = !known.is_empty();
                    if !is_kept {
                        known.mark_listed(false);
                    }
                    is_kept
                })
            });
        }
        if !batch.mark_listed(true) {
            let batch: Weak<B> = Arc::downgrade(batch);
            collected.push(batch);
        }
    }

    /// Sends collected requests: all, or those that would use this connection.
    ///
    /// # Errors
    /// The first failure. The other batches are sent anyway.
    pub(crate) async fn flush(
        &self,
        connection: Option<&Arc<ConnectionCore>>,
    ) -> Result<(), InvokeError> {
        let collected: Vec<_> = self.lock().iter().filter_map(Weak::upgrade).collect();
        let mut result = Ok(());
        for batch in collected {
            let flushed = batch.flush(connection.cloned()).await;
            result = result.and(flushed);
        }
        result
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Weak<dyn CollectedBatch>>> {
        self.collected
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}
