//! The servants of a subscription: one puts events into the stream, one receives notices of lost events.

use std::sync::Arc;

use floe_wire::message::OperationMode;
use tokio::sync::mpsc;

use super::arrivals::Arrivals;
use super::inbox::{InboxHandle, not_taken};
use super::{Interruption, TypedEvent};
use crate::codegen::{Answer, Answered, builtin, dispatch};
use crate::dispatch::{DispatchSlot, Dispatcher, Request, RequestTaker, Requests, Taken};

/// A dispatcher that counts its requests.
pub(super) struct CountedDispatcher<A> {
    pub(super) inner: A,
    pub(super) arrivals: Arc<Arrivals>,
}

impl<A: Answer> Answer for CountedDispatcher<A> {
    async fn answer(&self, request: Request) -> Answered {
        let _in_dispatch = InDispatch::begin(&self.arrivals);
        self.inner.answer(request).await
    }
}

/// A dispatch under way.
struct InDispatch<'a>(&'a Arrivals);

impl<'a> InDispatch<'a> {
    fn begin(arrivals: &'a Arrivals) -> Self {
        arrivals.note_deferred(1);
        arrivals.note_arrived(1);
        Self(arrivals)
    }
}

impl Drop for InDispatch<'_> {
    fn drop(&mut self) {
        self.0.note_answered(1);
    }
}

impl<A: Answer> Dispatcher for CountedDispatcher<A> {
    fn dispatch(self: Arc<Self>, requests: Requests, slot: &mut DispatchSlot) {
        dispatch(self, requests, slot);
    }
}

/// Puts events into the inbox of a stream.
pub(super) struct EventDispatcher<E: Send + 'static> {
    pub(super) inbox: Arc<InboxHandle<E>>,
}

impl<E: TypedEvent> Dispatcher for EventDispatcher<E> {
    fn dispatch(self: Arc<Self>, requests: Requests, slot: &mut DispatchSlot) {
        let inbox = self.inbox.inbox();
        if let Some(source) = requests.deferring_source().cloned() {
            let batch = inbox.begin(Some(&source), requests.len_max());
            requests.take_each(slot, batch);
        } else {
            // Something waits for the outcome of the dispatch, such as a caller in the same communicator.
            let inbox = inbox.clone();
            requests.each(slot, move |request| {
                let inbox = inbox.clone();
                async move {
                    let mut batch = inbox.begin(None, 1);
                    let taken = batch.take(&request);
                    match (taken, batch.put().waited) {
                        (Taken::Deferred, Some(waited)) => match waited.await {
                            Ok(outcome) => outcome?,
                            Err(_) => return Err(not_taken()),
                        },
                        (Taken::Answered | Taken::Deferred, _) => {}
                        (Taken::Refused(exception), _) => return Err(*exception),
                        (Taken::Builtin(_), _) => {
                            return request.builtin(E::TYPE_ID, E::TYPE_IDS);
                        }
                    }
                    request.returned_nothing()
                }
            });
        }
    }
}

/// Receives the calls of a Floe hub that has dropped events, as `::Floe::LossListener`.
pub(super) struct LossServant<T>(pub(super) T);

/// Receives interruptions.
pub(super) trait InterruptionSink: Send + Sync + 'static {
    /// Reports an interruption. Waits while the consumer is behind.
    fn report(&self, interruption: Interruption) -> impl Future<Output = ()> + Send;
}

impl<E: Send + 'static> InterruptionSink for Arc<InboxHandle<E>> {
    async fn report(&self, interruption: Interruption) {
        self.inbox().report(interruption).await;
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
