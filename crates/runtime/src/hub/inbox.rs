//! The servants of a subscription: one that puts events into the stream, and one that is told of lost events.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use floe_wire::message::{OperationMode, SystemException};
use tokio::sync::{Notify, mpsc};

use super::{Interruption, TypedEvent};
use crate::dispatch::{Answer, DispatchSlot, Dispatcher, Request, Requests, Response, dispatch};

/// What comes out of a subscription.
pub(super) type Item<E> = Result<E, Interruption>;

/// What has arrived at a subscriber: so its session knows that the hub still delivers.
#[derive(Debug, Default)]
pub(super) struct Arrivals {
    count: AtomicU64,
    /// Dispatches under way.
    held: AtomicUsize,
    changed: Notify,
}

impl Arrivals {
    /// How many requests have arrived.
    pub(super) fn count(&self) -> u64 {
        self.count.load(Ordering::Acquire)
    }

    /// Whether the consumer holds the hub up.
    pub(super) fn is_held(&self) -> bool {
        self.held.load(Ordering::Acquire) > 0
    }

    /// Waits until more than this many have arrived.
    pub(super) async fn wait_beyond(&self, count: u64) {
        loop {
            let mut changed = std::pin::pin!(self.changed.notified());
            changed.as_mut().enable();
            if self.count() > count {
                return;
            }
            changed.await;
        }
    }

    fn begin(&self) -> Held<'_> {
        self.held.fetch_add(1, Ordering::AcqRel);
        self.count.fetch_add(1, Ordering::AcqRel);
        self.changed.notify_waiters();
        Held(self)
    }
}

/// A dispatch under way.
struct Held<'a>(&'a Arrivals);

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.0.held.fetch_sub(1, Ordering::AcqRel);
    }
}

/// A dispatcher whose requests are noted.
pub(super) struct Noted<A> {
    pub(super) inner: A,
    pub(super) arrivals: Arc<Arrivals>,
}

impl<A: Answer> Answer for Noted<A> {
    async fn answer(&self, request: Request) -> Result<Response, SystemException> {
        let _held = self.arrivals.begin();
        self.inner.answer(request).await
    }
}

impl<A: Answer> Dispatcher for Noted<A> {
    fn dispatch(self: Arc<Self>, requests: Requests, slot: &mut DispatchSlot) {
        dispatch(self, requests, slot);
    }
}

/// Puts events into a stream. A request that finds it full is answered once there is room.
pub(super) struct Inbox<E>(pub(super) mpsc::Sender<Item<E>>);

impl<E: TypedEvent> Answer for Inbox<E> {
    async fn answer(&self, request: Request) -> Result<Response, SystemException> {
        match E::decode(&request) {
            Some(Ok(event)) => {
                // It fails if the subscription has just ended: then nobody wants the event.
                let _ = self.0.send(Ok(event)).await;
                request.returned_nothing()
            }
            Some(Err(exception)) => {
                self.refuse(request.operation().to_owned(), &exception)
                    .await;
                Err(exception)
            }
            None => {
                let operation = request.operation().to_owned();
                let answered = request.builtin(E::TYPE_ID, E::TYPE_IDS);
                if let Err(exception) = &answered {
                    self.refuse(operation, exception).await;
                }
                answered
            }
        }
    }
}

impl<E: Send + 'static> Inbox<E> {
    /// Tells of an event that is answered with an exception.
    async fn refuse(&self, operation: String, exception: &SystemException) {
        let reason = match exception {
            SystemException::OperationNotExist(_) => "the interface has no such operation".into(),
            exception => exception.to_string(),
        };
        let refused = Interruption::Refused { operation, reason };
        self.0.tell(refused).await;
    }
}

/// What a Floe hub calls when it has dropped events, as `::Floe::LossListener`.
pub(super) struct Losses<T>(pub(super) T);

/// Who is told of interruptions.
pub(super) trait Tell: Send + Sync + 'static {
    /// Tells of one; waits while the consumer is behind.
    fn tell(&self, interruption: Interruption) -> impl Future<Output = ()> + Send;
}

impl<E: Send + 'static> Tell for mpsc::Sender<Item<E>> {
    async fn tell(&self, interruption: Interruption) {
        // Nobody is interested any more if it fails.
        let _ = self.send(Err(interruption)).await;
    }
}

/// Tells of interruptions beside a servant, which nobody need look at.
impl Tell for mpsc::Sender<Interruption> {
    async fn tell(&self, interruption: Interruption) {
        tracing::warn!("{interruption}");
        let _ = self.try_send(interruption);
    }
}

impl<T: Tell> Answer for Losses<T> {
    async fn answer(&self, request: Request) -> Result<Response, SystemException> {
        if request.operation_bytes() != b"lost" {
            return request.builtin(LOSS_LISTENER, &["::Floe::LossListener", "::Ice::Object"]);
        }
        // The topic, the count, and four sums since the beginning.
        let count = request.decode(OperationMode::Normal, |decoder| {
            let (_topic, count): (String, i64) = (decoder.get()?, decoder.get()?);
            for _ in 0..4 {
                decoder.get::<i64>()?;
            }
            Ok(count)
        })?;
        let count = u64::try_from(count).unwrap_or(0);
        self.0.tell(Interruption::Lost { count }).await;
        request.returned_nothing()
    }
}

impl<T: Tell> Dispatcher for Losses<T> {
    fn dispatch(self: Arc<Self>, requests: Requests, slot: &mut DispatchSlot) {
        dispatch(self, requests, slot);
    }
}

const LOSS_LISTENER: &str = "::Floe::LossListener";

/// The facet of a subscriber that a Floe hub tells of lost events.
pub(super) const LOST_FACET: &str = "floe.lost";
