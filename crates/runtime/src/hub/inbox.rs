//! The servants of a subscription: one puts events into the stream, one receives notices of lost events.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use floe_wire::message::{OperationMode, SystemException};
use tokio::sync::{Notify, mpsc, oneshot};

use super::{Interruption, TypedEvent};
use crate::codegen::{Answer, dispatch};
use crate::codegen::{Answered, builtin};
use crate::condition::wait_for;
use crate::dispatch::{DispatchSlot, Dispatcher, Request, Requests};

/// An item of a subscription's stream.
pub(super) type Item<E> = Result<E, Interruption>;

/// An item on its way to the consumer of a stream.
pub(super) struct Arrival<E> {
    pub(super) item: Item<E>,
    /// Learns that the consumer is done with the event, if the hub is to know.
    pub(super) done: Option<oneshot::Sender<()>>,
}

impl<E> Arrival<E> {
    fn interruption(interruption: Interruption) -> Self {
        Self {
            item: Err(interruption),
            done: None,
        }
    }
}

/// Counts the requests that arrived at a subscriber, so that its session knows whether the hub still delivers.
#[derive(Debug, Default)]
pub(super) struct Arrivals {
    count: AtomicU64,
    /// Dispatches under way.
    dispatching: AtomicUsize,
    changed: Notify,
}

impl Arrivals {
    /// How many requests have arrived.
    pub(super) fn count(&self) -> u64 {
        self.count.load(Ordering::Acquire)
    }

    /// Returns true if a request is in dispatch: then the consumer may delay the hub.
    pub(super) fn is_dispatching(&self) -> bool {
        self.dispatching.load(Ordering::Acquire) > 0
    }

    /// Waits until more than this many have arrived.
    pub(super) async fn wait_beyond(&self, count: u64) {
        wait_for(&self.changed, || self.count() > count).await;
    }

    fn begin(&self) -> InDispatch<'_> {
        self.dispatching.fetch_add(1, Ordering::AcqRel);
        self.count.fetch_add(1, Ordering::AcqRel);
        self.changed.notify_waiters();
        InDispatch(self)
    }
}

/// A dispatch under way.
struct InDispatch<'a>(&'a Arrivals);

impl Drop for InDispatch<'_> {
    fn drop(&mut self) {
        self.0.dispatching.fetch_sub(1, Ordering::AcqRel);
    }
}

/// A dispatcher that counts its requests.
pub(super) struct CountedDispatcher<A> {
    pub(super) inner: A,
    pub(super) arrivals: Arc<Arrivals>,
}

impl<A: Answer> Answer for CountedDispatcher<A> {
    async fn answer(&self, request: Request) -> Answered {
        let _in_dispatch = self.arrivals.begin();
        self.inner.answer(request).await
    }
}

impl<A: Answer> Dispatcher for CountedDispatcher<A> {
    fn dispatch(self: Arc<Self>, requests: Requests, slot: &mut DispatchSlot) {
        dispatch(self, requests, slot);
    }
}

/// Puts events into a stream. If the stream is full, the request is answered once there is room.
pub(super) struct EventServant<E> {
    pub(super) events: mpsc::Sender<Arrival<E>>,
    /// True if a request is answered only when the consumer is done with its event: the answer acknowledges it.
    pub(super) awaits_consumer: bool,
}

impl<E: TypedEvent> Answer for EventServant<E> {
    async fn answer(&self, request: Request) -> Answered {
        match E::decode(&request) {
            Some(Ok(event)) => {
                let (sender, done) = oneshot::channel();
                let arrival = Arrival {
                    item: Ok(event),
                    done: self.awaits_consumer.then_some(sender),
                };
                // Sending fails if the subscription has just ended. Then no consumer wants the event.
                let _ = self.events.send(arrival).await;
                if self.awaits_consumer && done.await.is_err() {
                    // The hub keeps the event for the next subscriber.
                    let not_taken = SystemException::ObjectNotExist(Default::default());
                    return Err(not_taken.into());
                }
                Ok(request.returned_nothing()?)
            }
            Some(Err(exception)) => {
                self.refuse(request.operation().to_owned(), &exception)
                    .await;
                Err(exception.into())
            }
            None => {
                let operation = request.operation().to_owned();
                let answered = builtin(request, E::TYPE_ID, E::TYPE_IDS);
                if let Err(exception) = &answered {
                    self.refuse(operation, exception).await;
                }
                answered
            }
        }
    }
}

impl<E: Send + 'static> EventServant<E> {
    /// Reports an event that is answered with an exception.
    async fn refuse(&self, operation: String, exception: &SystemException) {
        let reason = match exception {
            SystemException::OperationNotExist(_) => "the interface has no such operation".into(),
            exception => exception.to_string(),
        };
        let refused = Interruption::Refused { operation, reason };
        self.events.report(refused).await;
    }
}

/// Receives the calls of a Floe hub that has dropped events, as `::Floe::LossListener`.
pub(super) struct LossServant<T>(pub(super) T);

/// Receives interruptions.
pub(super) trait InterruptionSink: Send + Sync + 'static {
    /// Reports an interruption. Waits while the consumer is behind.
    fn report(&self, interruption: Interruption) -> impl Future<Output = ()> + Send;
}

impl<E: Send + 'static> InterruptionSink for mpsc::Sender<Arrival<E>> {
    async fn report(&self, interruption: Interruption) {
        // Sending fails if the subscription has ended.
        let _ = self.send(Arrival::interruption(interruption)).await;
    }
}

/// Reports the interruptions of a servant's subscription. The program need not read them.
impl InterruptionSink for mpsc::Sender<Interruption> {
    async fn report(&self, interruption: Interruption) {
        tracing::warn!("{interruption}");
        let _ = self.try_send(interruption);
    }
}

impl<T: InterruptionSink> Answer for LossServant<T> {
    async fn answer(&self, request: Request) -> Answered {
        if request.operation_bytes() != b"lost" {
            return builtin(
                request,
                LOSS_LISTENER,
                &["::Floe::LossListener", "::Ice::Object"],
            );
        }
        // The topic and the count. The totals follow; later hubs may have more of them.
        let count = request.decode(OperationMode::Normal, |decoder| {
            let (_topic, count): (String, i64) = (decoder.get()?, decoder.get()?);
            while decoder.remaining() >= size_of::<i64>() {
                decoder.get::<i64>()?;
            }
            Ok(count)
        })?;
        let count = u64::try_from(count).unwrap_or(0);
        self.0.report(Interruption::Lost { count }).await;
        Ok(request.returned_nothing()?)
    }
}

impl<T: InterruptionSink> Dispatcher for LossServant<T> {
    fn dispatch(self: Arc<Self>, requests: Requests, slot: &mut DispatchSlot) {
        dispatch(self, requests, slot);
    }
}

const LOSS_LISTENER: &str = "::Floe::LossListener";

/// The facet of a subscriber at which a Floe hub reports lost events.
pub(super) const LOST_FACET: &str = "floe.lost";
