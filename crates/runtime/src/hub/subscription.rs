//! What a program holds of a subscription: a stream of events, or the end of one that a servant has.

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};

use floe_wire::reference::Identity;
use futures_core::Stream;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::inbox::Item;
use super::{HubError, Interruption, TypedEvent};
use crate::connection::wait::Wait;

/// A subscription: a stream of events, with an [`Interruption`] wherever events may be missing.
///
/// It ends with the communicator. Dropped, it unsubscribes in the background.
#[must_use = "it unsubscribes when it is dropped"]
pub struct Subscription<E> {
    items: mpsc::Receiver<Item<E>>,
    keeping: Keeping,
}

/// A subscription of a servant. Dropped, it unsubscribes in the background.
#[must_use = "it unsubscribes when it is dropped"]
pub struct ServantSubscription {
    interruptions: mpsc::Receiver<Interruption>,
    keeping: Keeping,
}

/// The task that keeps a subscription.
pub(super) struct Keeping {
    pub(super) identity: Identity,
    pub(super) stop: CancellationToken,
    /// There until somebody waits for it.
    pub(super) task: Option<JoinHandle<Result<(), HubError>>>,
}

impl<E: TypedEvent> Subscription<E> {
    pub(super) fn new(items: mpsc::Receiver<Item<E>>, keeping: Keeping) -> Self {
        Self { items, keeping }
    }

    /// The next event or interruption; `None` when the communicator is shut down. May be cancelled.
    pub async fn next(&mut self) -> Option<Result<E, Interruption>> {
        self.items.recv().await
    }

    /// The same for programs without async: an iterator that waits for each event.
    pub fn blocking_iter(&mut self) -> BlockingEvents<'_, E> {
        BlockingEvents(self)
    }

    /// The identity of the subscriber.
    pub fn identity(&self) -> &Identity {
        &self.keeping.identity
    }

    /// Unsubscribes, and waits until the hub knows. Events that nobody has taken are lost.
    ///
    /// # Errors
    /// [`HubError::Hub`] if the hub could not be told; it will notice when it delivers.
    pub async fn unsubscribe(mut self) -> Result<(), HubError> {
        self.items.close();
        self.keeping.end().await
    }
}

impl ServantSubscription {
    pub(super) fn new(interruptions: mpsc::Receiver<Interruption>, keeping: Keeping) -> Self {
        Self {
            interruptions,
            keeping,
        }
    }

    /// The next interruption; `None` when the communicator is shut down. They are logged as well, and only some are
    /// kept if nobody asks for them. May be cancelled.
    pub async fn next_interruption(&mut self) -> Option<Interruption> {
        self.interruptions.recv().await
    }

    /// The identity of the subscriber.
    pub fn identity(&self) -> &Identity {
        &self.keeping.identity
    }

    /// As [`Subscription::unsubscribe`].
    ///
    /// # Errors
    /// As [`Subscription::unsubscribe`].
    pub async fn unsubscribe(mut self) -> Result<(), HubError> {
        self.keeping.end().await
    }
}

impl Keeping {
    async fn end(&mut self) -> Result<(), HubError> {
        self.stop.cancel();
        match self.task.take() {
            // A runtime that ends has dropped the task, and the connection with it.
            Some(task) => task.await.unwrap_or(Ok(())),
            None => Ok(()),
        }
    }
}

impl Drop for Keeping {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

impl<E: TypedEvent> Stream for Subscription<E> {
    type Item = Result<E, Interruption>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.items.poll_recv(context)
    }
}

/// The events of a subscription, each waited for: see [`Subscription::blocking_iter`].
#[derive(Debug)]
pub struct BlockingEvents<'a, E>(&'a mut Subscription<E>);

impl<E: TypedEvent> Iterator for BlockingEvents<'_, E> {
    type Item = Result<E, Interruption>;

    fn next(&mut self) -> Option<Self::Item> {
        self.0.next().wait()
    }
}

impl<E> fmt::Debug for Subscription<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Subscription")
            .field("identity", &self.keeping.identity)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for ServantSubscription {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServantSubscription")
            .field("identity", &self.keeping.identity)
            .finish_non_exhaustive()
    }
}
