//! Sends queued events to a subscriber that does not answer, for `oneway.rs` and `batched.rs`.

use floe::InvokeError;
use floe::forwarding::Events;

use crate::service::subscriber::Subscriber;

/// Sends queued events, within limits. Returns their number. `events` is an empty list, which keeps its memory.
pub(super) async fn send(
    subscriber: &Subscriber,
    events_max: usize,
    bytes_max: usize,
    events: &mut Vec<Events>,
) -> usize {
    let count = subscriber.take(events_max, bytes_max, events).await;
    if count > 0 {
        // Boxed, because it takes 2 kB, which an idle subscriber should not hold.
        let result = Box::pin(forward(subscriber, events)).await;
        events.clear();
        subscriber.settle(count, result);
    }
    count
}

async fn forward(subscriber: &Subscriber, events: &[Events]) -> Result<(), InvokeError> {
    let _permit = subscriber.connect_permit().await;
    subscriber.proxy().forward_all(events).await.map(drop)
}
