//! Handles of subscriptions: a stream of events, or the handle of a servant's subscription.

use std::fmt;
use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll};

use floe_wire::reference::Identity;
use futures_core::Stream;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::inbox::Reader;
use super::{HubError, Interruption, TypedEvent};
use crate::connection::wait::Wait;

/// A subscription: a stream of events, with an [`Interruption`] at each place where events may be missing.
///
/// It ends with the communicator. When it is dropped, it unsubscribes in the background.
///
/// The events of each publisher come in the order in which it published them, as long as the hub delivers them over one
/// connection after another. That holds for each [`Delivery`](super::Delivery), however slow the program is.
///
/// In a durable subscription ([`Qos::durable`](super::Qos::durable)), an event is acknowledged when the program calls
/// [`Subscription::acknowledge`], asks for the next one, or unsubscribes. An event that the program has when it ends otherwise comes again.
#[must_use = "it unsubscribes when it is dropped"]
pub struct Subscription<E: Send + 'static> {
    reader: Reader<E>,
    task: SubscriptionTask,
}

/// The subscription of a servant. When it is dropped, it unsubscribes in the background.
#[must_use = "it unsubscribes when it is dropped"]
pub struct ServantSubscription {
    interruptions: mpsc::Receiver<Interruption>,
    task: SubscriptionTask,
}

/// The task that keeps a subscription alive. Dropping the value stops the task.
pub(super) struct SubscriptionTask {
    pub(super) identity: Identity,
    pub(super) stop: CancellationToken,
    /// `None` once the task is awaited.
    pub(super) task: Option<JoinHandle<Result<(), HubError>>>,
}

impl<E: TypedEvent> Subscription<E> {
    pub(super) fn new(reader: Reader<E>, task: SubscriptionTask) -> Self {
        Self { reader, task }
    }

    /// The next event or interruption; `None` when the communicator is shut down. May be cancelled.
    pub async fn next(&mut self) -> Option<Result<E, Interruption>> {
        poll_fn(|context| self.reader.poll_next(context)).await
    }

    /// All events and interruptions that are there, in their order. Waits until there is at least one; `None` when the
    /// communicator is shut down. May be cancelled.
    ///
    /// The program has all of them then: in a durable subscription, they are acknowledged together.
    pub async fn next_batch(&mut self) -> Option<Vec<Result<E, Interruption>>> {
        poll_fn(|context| self.reader.poll_batch(context)).await
    }

    /// Acknowledges what the program has, if the subscription is durable. To ask for the next event or batch does the
    /// same: this is for a program that does something else first.
    pub fn acknowledge(&mut self) {
        self.reader.finish();
    }

    /// Iterates over the events without async: the iterator blocks until the next event.
    pub fn blocking_iter(&mut self) -> BlockingEvents<'_, E> {
        BlockingEvents(self)
    }

    /// The identity of the subscriber.
    pub fn identity(&self) -> &Identity {
        &self.task.identity
    }

    /// Unsubscribes, and waits until the hub has ended the subscription. Events that were not read are lost; those of a
    /// durable subscription come again when it goes on.
    ///
    /// # Errors
    /// [`HubError::Hub`] if the hub could not be reached. It then notices at its next delivery.
    pub async fn unsubscribe(mut self) -> Result<(), HubError> {
        self.acknowledge();
        let Self { reader, mut task } = self;
        // Its requests must end, because the connection waits for these before it closes.
        drop(reader);
        task.end().await
    }
}

impl ServantSubscription {
    pub(super) fn new(interruptions: mpsc::Receiver<Interruption>, task: SubscriptionTask) -> Self {
        Self {
            interruptions,
            task,
        }
    }

    /// The next interruption; `None` when the communicator is shut down. Interruptions are logged as well, and only
    /// some are kept until they are read. May be cancelled.
    pub async fn next_interruption(&mut self) -> Option<Interruption> {
        self.interruptions.recv().await
    }

    /// The identity of the subscriber.
    pub fn identity(&self) -> &Identity {
        &self.task.identity
    }

    /// Unsubscribes: see [`Subscription::unsubscribe`].
    ///
    /// # Errors
    /// See [`Subscription::unsubscribe`].
    pub async fn unsubscribe(mut self) -> Result<(), HubError> {
        self.task.end().await
    }
}

impl SubscriptionTask {
    async fn end(&mut self) -> Result<(), HubError> {
        self.stop.cancel();
        match self.task.take() {
            // When the runtime ends, it drops the task and the connection.
            Some(task) => task.await.unwrap_or(Ok(())),
            None => Ok(()),
        }
    }
}

impl Drop for SubscriptionTask {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

impl<E: TypedEvent> Stream for Subscription<E> {
    type Item = Result<E, Interruption>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.reader.poll_next(context)
    }
}

/// A blocking iterator over the events of a subscription: see [`Subscription::blocking_iter`].
#[derive(Debug)]
pub struct BlockingEvents<'a, E: Send + 'static>(&'a mut Subscription<E>);

impl<E: TypedEvent> Iterator for BlockingEvents<'_, E> {
    type Item = Result<E, Interruption>;

    fn next(&mut self) -> Option<Self::Item> {
        self.0.next().wait()
    }
}

impl<E: Send + 'static> fmt::Debug for Subscription<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Subscription")
            .field("identity", &self.task.identity)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for ServantSubscription {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServantSubscription")
            .field("identity", &self.task.identity)
            .finish_non_exhaustive()
    }
}
