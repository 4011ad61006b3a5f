//! The proxies of a communicator that have collected requests.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use crate::connection::ConnectionCore;
use crate::error::InvokeError;

/// Requests that a proxy has collected.
pub(crate) trait CollectedBatch: Send + Sync {
    fn is_empty(&self) -> bool;

    /// Notes that it is on the list, or not any more; whether it was.
    fn mark_listed(&self, is_listed: bool) -> bool;

    /// Sends them if they would use this connection, or any.
    fn flush(self: Arc<Self>, over: Option<Arc<ConnectionCore>>) -> FlushFuture;
}

/// The end of a flush.
pub(crate) type FlushFuture = Pin<Box<dyn Future<Output = Result<(), InvokeError>> + Send>>;

/// The proxies of a communicator that have collected requests.
#[derive(Default)]
pub(crate) struct Batches {
    /// Guards the list and what each proxy knows of being on it; never held across a wait.
    collected: Mutex<Vec<Weak<dyn CollectedBatch>>>,
}

impl Batches {
    pub(crate) fn remember<B: CollectedBatch + 'static>(&self, batch: &Arc<B>) {
        let mut collected = self.lock();
        // Those that are gone or were flushed are forgotten when the list would grow.
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

    /// Sends what is collected: all, or all that would use this connection.
    ///
    /// # Errors
    /// The first failure; the others are sent nevertheless.
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
