//! Oneway delivery: all queued events leave in one write, and no replies come.

use floe::InvokeError;
use floe::forwarding::Events;

use crate::service::subscriber::Subscriber;

/// The maximum bytes in one write: so many that the cost of the system call hardly counts, and so few that a failure
/// loses little.
const WRITE_BYTES_MAX: usize = 64 * 1024;
/// The maximum events in one write, for the same reasons.
const WRITE_EVENTS_MAX: usize = 1024;

/// Delivers until the subscription ends.
pub(super) async fn run(subscriber: &Subscriber) {
    let mut events = Vec::new();
    while subscriber.wait_for_bytes(1).await {
        send(subscriber, WRITE_EVENTS_MAX, WRITE_BYTES_MAX, &mut events).await;
        // A write that never waits must not keep other tasks from running.
        tokio::task::consume_budget().await;
    }
}

/// Sends queued events, within limits. Returns how many. `events` is an empty list, which keeps its memory.
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
    let _turn = subscriber.connect_turn().await;
    subscriber.proxy().forward_all(events).await.map(drop)
}
